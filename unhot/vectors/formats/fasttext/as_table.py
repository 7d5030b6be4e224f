"""fastText's files as tables.

The composed vectors of the words are read; a model without n-grams is written.
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
    """Read the words of a model and the vectors that their rows and n-grams make; labels are left out."""
    file = read_fasttext(path)
    rows = options.rows(len(file.dictionary.words))
    check_growth(path, (rows, file.header.dim), file_size(path))  # quantised rows may be small
    counts = file.dictionary.word_counts[:rows]
    words = file.dictionary.words[:rows]
    vectors = _output(path, file, rows) if options.which == "out" else _input(file, words)
    words = treat_bad_utf8(words, path, options.bad_utf8)  # n-grams are those of the bytes in the file
    return Table(words, vectors, counts if file.dictionary.tokens else None)


def _input(file: FastTextFile, words: list[str]) -> Floats:
    if file.header.subwords.maxn:
        return file.rows().vectors(words)
    # as they are, bit for bit: a sum would lose -0.0
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
            f"with loss {header.loss!r} do not stand for words; only which='in' can be read from this model"
        )
    return matrix_rows(file.output_matrix, np.arange(rows))


def write(path: Path, table: Table) -> None:
    """Write a model without n-grams and without an output layer, whose vectors are the given ones."""
    none = Subwords(minn=0, maxn=0, buckets=0)
    file = new_file(table.words, table.counts, none, table.vectors, loss="softmax", min_count=1)
    write_fasttext(path, file)
