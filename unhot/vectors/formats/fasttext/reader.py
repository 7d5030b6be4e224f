"""Read a fastText file: memory-mapped, so that only the dictionary takes time."""

from __future__ import annotations

from pathlib import Path

from unhot.errors import one_of
from unhot.types import Floats
from unhot.vectors.formats.fasttext.cursor import Cursor
from unhot.vectors.formats.fasttext.dictionary import Dictionary, read_dictionary
from unhot.vectors.formats.fasttext.header import Header, read_header
from unhot.vectors.formats.fasttext.matrix import read_dense
from unhot.vectors.formats.fasttext.model_file import FastTextFile, input_shape, output_shape
from unhot.vectors.formats.fasttext.quantized import QuantizedMatrix, read_quantized
from unhot.vectors.formats.table import BAD_UTF8


def read_fasttext(path: str | Path, bad_utf8: str = "escape") -> FastTextFile:
    """Open a `.bin` or `.ftz` file. The matrices are mapped, and read when they are looked at.

    `bad_utf8`: what becomes of bytes in words that are not UTF-8: escape (they come back when the word is
    written), error, replace or ignore.
    """
    one_of("bad_utf8", bad_utf8, BAD_UTF8)
    cursor = Cursor(Path(path))
    header = read_header(cursor)
    dictionary = read_dictionary(cursor, header, bad_utf8)
    at = cursor.at
    quantized = cursor.flag("whether the input is quantised")
    if dictionary.pruned is not None and not quantized:
        raise cursor.error(
            at, "a prune index, but input rows that are not quantised: only quantised models are pruned"
        )
    shape = input_shape(header, dictionary)
    input_matrix = (read_quantized if quantized else read_dense)(cursor, shape, "input")
    quantized_output = cursor.flag("whether the output is quantised")
    output_matrix = _read_output(cursor, header, dictionary, quantized and quantized_output)
    if cursor.at < cursor.size:
        raise cursor.error(
            cursor.at,
            f"the model ends here, but the file has {cursor.size - cursor.at} bytes more; it is damaged",
        )
    return FastTextFile(header, dictionary, input_matrix, output_matrix, quantized_output)


def _read_output(
    cursor: Cursor, header: Header, dictionary: Dictionary, quantized: bool
) -> Floats | QuantizedMatrix:
    shape = output_shape(header, dictionary)
    if quantized:
        return read_quantized(cursor, shape, "output")
    if not header.supervised and cursor.map[cursor.at : cursor.at + 8] == bytes(8):
        shape = (0, header.dim)  # vectors without an output layer
    return read_dense(cursor, shape, "output")
