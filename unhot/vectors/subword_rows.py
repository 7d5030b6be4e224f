"""Vectors of words from rows of their pieces.

    vector(word) = 1/n (row of the word, if it has one + sum of the rows of its n-grams' buckets)

where n is how many rows these are.

A matrix holds all rows; where the row of a word and that of a bucket are in it is said by arrays, since the
files differ: fastText's .bin has all words and then all buckets, a pruned .ftz some of both, floret buckets
alone, a model of unhot only the rows that its words use. A bucket without a row is a row of zeros that
counts, or, in a pruned file, a piece that is left out.

Sums are in float32, in the order of the pieces, as fastText's: its vectors come out to the last bit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unhot.errors import DataError
from unhot.index.exact import usable_cores
from unhot.types import Counts, Floats, Ids
from unhot.vocab.subwords import Subwords

if TYPE_CHECKING:
    from unhot.vectors.row_means import Halves, Singles

BLOCK_PIECES = 1 << 15  # n-grams of words that a thread composes at once: some 1,000 usual words
BLOCK_ROWS = 1 << 13
SPARSE = 8  # buckets for each row above which rows are found by bisection: a table would be bigger than they
SMALL_TABLE = 1 << 18  # buckets whose table is small, whatever there is in it


class Matrix(Protocol):
    """Rows of numbers that are kept in a form of their own, e.g. quantised."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and numbers in each."""

    def rows(self, ids: Ids | Counts) -> Floats:
        """Some of the rows [ids, dim]."""


AnyMatrix: TypeAlias = NDArray[np.float32] | NDArray[np.float16] | Matrix


class Piece(NamedTuple):
    """A part of a word."""

    text: str
    buckets: list[int]  # none: it is the word itself, with a row of its own
    rows: list[int]  # -1: that bucket has none
    vector: Floats


@dataclasses.dataclass(frozen=True, eq=False)
class SubwordRows:
    """Where the parts of words' vectors are.

    >>> cut, own = Subwords(minn=3, maxn=3, buckets=4), np.array([0], np.int32)
    >>> rows = SubwordRows(cut, np.eye(5, dtype=np.float32), own, first_bucket=1)
    >>> rows.vector("a", 0).tolist(), rows.vector("a").tolist()
    ([0.5, 0.5, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0])
    """

    subwords: Subwords
    matrix: AnyMatrix  # [rows, dim] float32 or float16, in memory or mapped; or one with `rows(ids)`
    word_rows: Ids  # [words] the row of each word; empty: words have none (floret)
    # [buckets] the row of each bucket, -1: none; None: bucket b is row first_bucket + b
    bucket_rows: Ids | None = None
    first_bucket: int = 0
    skips: bool = False  # buckets without a row are left out of the mean; or count as zeros
    # sorted: bucket_rows are those of these buckets, and no other has one; None: of all
    bucket_ids: Ids | None = None

    def __post_init__(self) -> None:
        """Check that no row is outside of the matrix: compiled code does not look."""
        shape, buckets = self.matrix.shape, self.subwords.buckets
        if len(shape) != 2 or (
            isinstance(self.matrix, np.ndarray) and self.matrix.dtype not in (np.float32, np.float16)
        ):
            raise DataError(f"a matrix of shape {shape}: give float32 or float16 numbers [rows, dim]")
        rows = shape[0]
        _check_rows("word", self.word_rows, 0, rows)
        if self.bucket_rows is None:
            if not 0 <= self.first_bucket <= rows - buckets:
                raise DataError(
                    f"{buckets} buckets from row {self.first_bucket} on, but the matrix has {rows} rows"
                )
            return
        _check_rows("bucket", self.bucket_rows, -1, rows)
        if self.bucket_ids is None and len(self.bucket_rows) != buckets:
            raise DataError(
                f"rows of {len(self.bucket_rows)} buckets: give one for each of the {buckets} buckets, -1 "
                "for none"
            )
        if self.bucket_ids is not None and (
            len(self.bucket_ids) != len(self.bucket_rows)
            or not (np.diff(self.bucket_ids.astype(np.int64)) > 0).all()
        ):
            raise DataError(
                f"{len(self.bucket_ids)} buckets with {len(self.bucket_rows)} rows: give a row for each, "
                "buckets rising"
            )

    @classmethod
    def of_keys(cls, subwords: Subwords, matrix: AnyMatrix, keys: Counts, words: int) -> SubwordRows:
        """The rows of a model of unhot: the key of a row is its bucket, or -1 - the id of its word.

        Every word must be there once.
        """
        if len(keys) != matrix.shape[0]:
            raise DataError(f"{len(keys)} keys for {matrix.shape[0]} rows: give one for each row")
        of_words, of_buckets = np.flatnonzero(keys < 0), np.flatnonzero(keys >= 0)
        word_order, bucket_order = np.argsort(-1 - keys[of_words]), np.argsort(keys[of_buckets])
        expected = words if subwords.own_rows else 0
        if not np.array_equal(-1 - keys[of_words][word_order], np.arange(expected)):
            raise DataError(f"{len(of_words)} keys of words: each of {expected} words must have one row")
        buckets = keys[of_buckets][bucket_order]
        if buckets.size and (buckets[-1] >= subwords.buckets or not (np.diff(buckets) > 0).all()):
            raise DataError(
                f"keys of buckets up to {buckets[-1]}: they must be different, and below {subwords.buckets}"
            )
        word_rows = of_words[word_order].astype(np.int32)
        bucket_rows = of_buckets[bucket_order].astype(np.int32)
        if subwords.buckets > SPARSE * len(keys) + SMALL_TABLE:
            return cls(subwords, matrix, word_rows, bucket_rows, bucket_ids=buckets.astype(np.int32))
        table = np.full(subwords.buckets, -1, np.int32)
        table[buckets] = bucket_rows
        return cls(subwords, matrix, word_rows, table)

    def keys(self) -> Counts:
        """What each row is, as `of_keys` takes it.

        A row of none of these words and buckets has the number of buckets.
        """
        buckets = np.arange(self.subwords.buckets) if self.bucket_ids is None else self.bucket_ids
        keys = np.full(self.matrix.shape[0], self.subwords.buckets, np.int64)
        keys[self.word_rows] = -1 - np.arange(len(self.word_rows))
        if self.bucket_rows is None:
            keys[self.first_bucket + buckets] = buckets
            return keys
        there = self.bucket_rows >= 0
        keys[self.bucket_rows[there]] = buckets[there]
        if np.count_nonzero(keys < self.subwords.buckets) < len(self.word_rows) + np.count_nonzero(there):
            raise DataError(
                "words or buckets share a row: such a model cannot be written with a key for each row"
            )
        return keys

    @property
    def dim(self) -> int:
        """Numbers in a vector."""
        return int(self.matrix.shape[1])

    @property
    def used_buckets(self) -> int:
        """How many buckets have a row."""
        if self.bucket_rows is None:
            return self.subwords.buckets
        return int(np.count_nonzero(self.bucket_rows >= 0))

    def rows_of(self, buckets: Ids) -> Counts:
        """The row of each bucket, -1 where it has none."""
        if self.bucket_rows is None:
            return buckets.astype(np.int64) + self.first_bucket
        if self.bucket_ids is None:
            return self.bucket_rows[buckets].astype(np.int64)
        if len(self.bucket_ids) == 0:
            return np.full(len(buckets), -1, np.int64)
        at = np.minimum(np.searchsorted(self.bucket_ids, buckets), len(self.bucket_ids) - 1)
        return np.where(self.bucket_ids[at] == buckets, self.bucket_rows[at], -1).astype(np.int64)

    def take(self, rows: Counts) -> Floats:
        """Some rows of the matrix in float32, zeros for -1."""
        if len(rows) == 0 or self.matrix.shape[0] == 0:
            return np.zeros((len(rows), self.dim), np.float32)
        found = self.matrix[rows] if isinstance(self.matrix, np.ndarray) else self.matrix.rows(rows)
        taken: Floats = np.asarray(found, dtype=np.float32)
        if rows.min() < 0:
            taken[rows < 0] = 0
        return taken

    def parts(self, word: str, id: int | None = None) -> Counts:
        """The rows that a word's vector is the mean of, -1 for zeros.

        `id`: where the word stands in the vocabulary, if it does.
        """
        rows = self.rows_of(self.subwords.ids(word))
        if self.skips:
            rows = rows[rows >= 0]
        return rows if id is None else np.concatenate([self.word_rows[id : id + 1].astype(np.int64), rows])

    def vector(self, word: str, id: int | None = None) -> Floats:
        """The mean of a word's row, if it has one, and those of its n-grams; zeros if there is none."""
        return self.mean(self.parts(word, id))

    def mean(self, parts: Counts) -> Floats:
        """The mean of some rows, -1 for zeros."""
        total = np.zeros(self.dim, np.float32)
        for first in range(0, len(parts), BLOCK_ROWS):  # a word may be a megabyte
            rows = self.take(parts[first : first + BLOCK_ROWS])
            rows[0] += total
            # one row after the other; of a single column, NumPy would sum the halves first
            total = np.add.reduce(rows, axis=0) if self.dim > 1 else np.add.accumulate(rows, axis=0)[-1]
        return np.asarray(total * np.float32(1.0 / max(1, len(parts))))

    def vectors(self, words: Sequence[str], first: int = 0, threads: int | None = None) -> Floats:
        """`vector` for the words of the vocabulary from the first-th on [words, dim]."""
        from unhot.threads import in_order
        from unhot.vectors.row_means import flat  # needs the compiler, which takes a while to load

        out = np.zeros((len(words), self.dim), np.float32)
        matrix = flat(self.matrix) if isinstance(self.matrix, np.ndarray) else None
        edges = self._edges(words)

        def fill(at: int) -> None:
            begin, end = edges[at : at + 2]
            self._fill(matrix, words[begin:end], first + begin, out[begin:end])

        list(in_order(range(len(edges) - 1), fill, 1 if len(edges) < 3 else threads or usable_cores()))
        return out

    def _edges(self, words: Sequence[str]) -> list[int]:
        """Where blocks of words begin that have some BLOCK_PIECES n-grams, and the end."""
        ends = np.cumsum(self.subwords.most_pieces(np.fromiter(map(len, words), np.int64, len(words))) + 1)
        block = ends // BLOCK_PIECES
        return [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(words)]

    def _fill(self, matrix: Singles | Halves | None, words: Sequence[str], first: int, out: Floats) -> None:
        from unhot.vectors.row_means import fill_means, flat

        bags = self.subwords.bags(words)
        own = np.full(len(words), -1, np.int64)
        if len(self.word_rows):
            own[:] = self.word_rows[first : first + len(words)]
        pieces = self.rows_of(bags.ids)
        if matrix is None:  # rows that must be made first: those that are needed, each once
            needed, places = np.unique(np.concatenate([own, pieces]), return_inverse=True)
            none = int(bool(len(needed)) and needed[0] < 0)
            matrix = flat(self.take(needed[none:]))
            own, pieces = np.split(places - none, [len(own)])
        fill_means(matrix, own, bags.starts, pieces, self.skips, out)

    def pieces(self, word: str, id: int | None = None) -> list[Piece]:
        """What a word is made of: the word first, if it has a row, then its n-grams that count."""
        own = [] if id is None else self.word_rows[id : id + 1].tolist()
        found = [Piece(word, [], [row], self.take(np.array([row]))[0]) for row in own]
        buckets = self.subwords.ids(word).reshape(-1, self.subwords.hashes)
        for ngram, some in zip(self.subwords.ngrams(word), buckets, strict=True):
            rows = self.rows_of(some)
            if not self.skips or (rows >= 0).any():
                found.append(Piece(ngram, some.tolist(), rows.tolist(), self.mean(rows)))
        return found

    def expanded(self) -> Iterator[Floats]:
        """Blocks of the rows in fastText's order: those of words, then of all buckets, zeros for none."""
        for first in range(0, len(self.word_rows), BLOCK_ROWS):
            yield self.take(self.word_rows[first : first + BLOCK_ROWS].astype(np.int64))
        for first in range(0, self.subwords.buckets, BLOCK_ROWS):
            last = min(first + BLOCK_ROWS, self.subwords.buckets)
            yield self.take(self.rows_of(np.arange(first, last, dtype=np.int32)))


def _check_rows(what: str, rows: Ids, low: int, count: int) -> None:
    if len(rows) and not low <= rows.min() <= rows.max() < count:
        raise DataError(f"rows {rows.min()} to {rows.max()} of {what}s: the matrix has {count} rows")
