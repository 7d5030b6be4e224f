"""Write a fastText file: whole or not at all, and in chunks, so that matrices need not be in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from unhot.atomic import replacing
from unhot.errors import ConfigError
from unhot.vectors.formats.fasttext.dictionary import dictionary_chunks
from unhot.vectors.formats.fasttext.matrix import dense_chunks
from unhot.vectors.formats.fasttext.model_file import FastTextFile, Matrix, check_shapes
from unhot.vectors.formats.fasttext.quantized import QuantizedMatrix, quantized_chunks


def write_fasttext(path: str | Path, file: FastTextFile) -> None:
    """Write a `.bin`, or a `.ftz` where the input matrix is quantised.

    What was read is written as the same bytes.
    """
    check_shapes(file)
    if isinstance(file.output_matrix, QuantizedMatrix) != (file.quantized and file.quantized_output):
        raise ConfigError(
            f"quantized_output={file.quantized_output}: must say whether the output is quantised, which "
            "needs quantised input"
        )
    if file.dictionary.pruned is not None and not file.quantized:
        raise ConfigError("a prune index: fastText accepts one with quantised input rows only")
    with replacing(Path(path)) as out:
        out.write(file.header.pack())
        out.writelines(dictionary_chunks(file.dictionary))
        out.write(bytes([file.quantized]))
        out.writelines(_chunks(file.input_matrix))
        out.write(bytes([file.quantized_output]))
        out.writelines(_chunks(file.output_matrix))


def _chunks(matrix: Matrix) -> Iterator[bytes]:
    return quantized_chunks(matrix) if isinstance(matrix, QuantizedMatrix) else dense_chunks(matrix)
