"""Words and vectors as tables of other libraries. `Vectors` has these functions as methods.

    pandas            a row for each word (the index `word`) and a column for each number: 0 .. dim - 1
    polars, arrow     the columns word, count (int64, if known) and vector (fixed-size list of float32)

The columns of polars and arrow are those of the parquet format. The numbers are not copied if the matrix is
contiguous: a memory-mapped matrix stays mapped. Such a table is read-only, and it changes if the vectors are
changed in place.

These libraries hold only valid UTF-8. Bytes of a word that are not UTF-8 become U+FFFD, and `_` is added at
the end of a word that would then equal another (formats/table.py).
"""

from typing import Any

import numpy as np

from unhot.errors import DataError, extra
from unhot.types import Floats
from unhot.vectors.formats.parquet import arrow_table
from unhot.vectors.formats.table import SURROGATES, writable_words
from unhot.vectors.word_rows import WordRows


def to_pandas(vectors: WordRows, *, counts: bool = False) -> Any:
    """Return a pandas DataFrame: the index is the word, the columns are 0 .. dim - 1 (extra `pandas`).

    With `counts`, the first column is `count`. The numbers are shared and read-only; `.copy()` returns a
    DataFrame that can be changed.
    """
    pandas = extra("pandas", "pandas", "to_pandas")
    index = pandas.Index(_words(vectors), name="word")
    frame = pandas.DataFrame(_matrix(vectors), index=index, copy=False)
    if counts:
        if vectors.counts is None:
            raise DataError("counts=True: these vectors have no counts; leave counts out")
        frame.insert(0, "count", vectors.counts)
    return frame


def to_polars(vectors: WordRows) -> Any:
    """Return a polars DataFrame with the columns word, count (if known) and vector (extra `polars`)."""
    polars = extra("polars", "polars", "to_polars")
    columns = {"word": polars.Series(_words(vectors), dtype=polars.String)}
    if vectors.counts is not None:
        columns["count"] = polars.Series(vectors.counts)
    columns["vector"] = polars.Series(_matrix(vectors))
    return polars.DataFrame(columns)


def to_arrow(vectors: WordRows) -> Any:
    """Return an Arrow table with the columns word, count (if known) and vector."""
    return arrow_table(_words(vectors), _matrix(vectors), vectors.counts)


def _words(vectors: WordRows) -> list[str]:
    return writable_words(vectors.words, SURROGATES)[0]


def _matrix(vectors: WordRows) -> Floats:
    """Return the matrix as a contiguous read-only array, which is a view if possible."""
    matrix: Floats = np.ascontiguousarray(vectors.vectors, np.float32).view(np.ndarray)
    matrix.flags.writeable = False
    return matrix
