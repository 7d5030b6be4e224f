"""The parts of a fastText model, whether it was read from a file or trained by unhot (training.py).

fastText numbers the rows so that row i belongs to word i, and row words + b to bucket b; in a pruned file, to
the b-th bucket that was kept. A model of unhot keeps only the rows that are used, in another order. Here its
rows have fastText's numbers, too.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unhot.errors import ConfigError, DataError, FormatError
from unhot.types import Counts, Floats, Ids
from unhot.vectors.formats.fasttext import Dictionary, FastTextFile, Header, read_fasttext, write_fasttext
from unhot.vectors.formats.fasttext.header import MAGIC, SIGNATURE
from unhot.vectors.formats.fasttext.model_file import Matrix
from unhot.vectors.subword_rows import SubwordRows

LONG_MODELS = {"sg": "skipgram", "cbow": "cbow", "sup": "supervised"}


class Parts(NamedTuple):
    """The settings, words and rows of a model, and a function that writes it."""

    header: Header
    dictionary: Dictionary
    rows: SubwordRows
    output: Matrix
    write: Callable[[Path], object]

    @property
    def _as_in_file(self) -> bool:
        """Whether the rows of the matrix are in fastText's order."""
        return self.rows.bucket_rows is None or self.rows.skips

    @property
    def input_rows(self) -> int:
        """The number of input rows in fastText's numbering."""
        trained = len(self.dictionary.words) + self.header.bucket
        return int(self.rows.matrix.shape[0]) if self._as_in_file else trained

    def numbers(self, buckets: Ids) -> Counts:
        """Return the row numbers of buckets; -1 for a bucket that was pruned."""
        trained = buckets.astype(np.int64) + len(self.dictionary.words)
        return self.rows.rows_of(buckets) if self._as_in_file else trained

    def input_row(self, number: int) -> Floats:
        """Return the row with a given number."""
        if not 0 <= number < self.input_rows:
            raise ConfigError(f"row {number}: the rows of the input matrix are 0 to {self.input_rows - 1}")
        rows, words = np.array([number], np.int64), len(self.dictionary.words)
        if not self._as_in_file and number < words:
            rows = self.rows.word_rows[rows].astype(np.int64)
        elif not self._as_in_file:
            rows = self.rows.rows_of((rows - words).astype(np.int32))
        return np.asarray(self.rows.take(rows)[0])

    def input_matrix(self) -> Floats:
        """Return all input rows; those of a file are mapped, and a change of them never reaches the file."""
        if self._as_in_file and isinstance(self.rows.matrix, np.ndarray):
            return np.asarray(self.rows.matrix)
        return np.concatenate([np.empty((0, self.header.dim), np.float32), *self.rows.expanded()])


def open_parts(path: Path) -> Parts:
    """Open a fastText file, memory-mapped, and return its parts."""
    _check_kind(path)
    file: FastTextFile = read_fasttext(path)
    return Parts(
        header=file.header,
        dictionary=file.dictionary,
        rows=file.rows(),
        output=file.output_matrix,
        write=functools.partial(write_fasttext, file=file),
    )


def _check_kind(path: Path) -> None:
    """Raise an error with advice if a path is not a fastText model."""
    advice = "open vectors in other formats with unhot.Vectors.load, or query them with: unhot neighbors"
    if path.is_dir():
        raise DataError(f"{path}: this is a folder, but fastText models are files (.bin, .ftz); {advice}")
    if not path.exists():
        raise DataError(f"{path}: there is no such file")
    with path.open("rb") as file:
        if file.read(len(SIGNATURE)) != SIGNATURE:
            raise FormatError(
                f"{path}: byte 0: this is not a fastText model (.bin, .ftz), "
                f"which begins with the number {MAGIC}; {advice}"
            )
