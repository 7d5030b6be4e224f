"""Read and write fastText's files as tables.

Reading composes the vectors of the words. Writing makes a model without n-grams.
"""

from pathlib import Path

import numpy as np

from unhot.errors import ConfigError
from unhot.types import Floats
from unhot.vectors.formats.fasttext.model_file import (
    FastTextFile,
    matrix_rows,
    new_file,
    output_shape,
    read_fasttext,
    write_fasttext,
)
from unhot.vectors.formats.table import (
    ALL,
    Options,
    Table,
    check_growth,
    file_size,
    treat_bad_utf8,
)
from unhot.vocab.subwords import Subwords


def read(path: Path, options: Options = ALL) -> Table:
    """Read the words of a model and compose their vectors from rows and n-grams; labels are left out."""
    file = read_fasttext(path)
    rows = options.rows(len(file.dictionary.words))
    check_growth(path, (rows, file.header.dim), file_size(path))  # quantised rows may be small
    counts = file.dictionary.word_counts[:rows]
    words = file.dictionary.words[:rows]
    vectors = _output(path, file, rows) if options.which == "out" else _input(file, words)
    words = treat_bad_utf8(words, path, options.bad_utf8)  # only now: n-grams need the bytes of the file
    return Table(words, vectors, counts if file.dictionary.tokens else None)


def _input(file: FastTextFile, words: list[str]) -> Floats:
    if file.header.subwords.maxn:
        return file.rows().vectors(words)
    # copy the rows bit for bit: a sum would lose -0.0
    return matrix_rows(file.input_matrix, np.arange(len(words)))


def _output(path: Path, file: FastTextFile, rows: int) -> Floats:
    header = file.header
    if (
        header.supervised
        or header.loss == "hs"
        or file.output_matrix.shape != output_shape(header, file.dictionary)
    ):
        raise ConfigError(
            f"which='out': {path}: the {file.output_matrix.shape[0]} output rows of a model {header.model!r} "
            f"with loss {header.loss!r} are not vectors of words; read this model with which='in'"
        )
    return matrix_rows(file.output_matrix, np.arange(rows))


def write(path: Path, table: Table) -> None:
    """Write the vectors as a model without n-grams and without an output layer."""
    none = Subwords(minn=0, maxn=0, buckets=0)
    file = new_file(table.words, table.counts, none, table.vectors, loss="softmax", min_count=1)
    write_fasttext(path, file)
