"""Compose the vectors of words from the rows of their pieces.

    vector(word) = 1/n (row of the word, if it has one + sum of the rows of its n-grams' buckets)

where n is the number of these rows. If the n-grams have combine="sum", which only models of unhot have, 1/n
is left out, and a row that the word has several times counts once.

One matrix holds all rows. Arrays say which row belongs to which word or bucket, because files differ:
fastText's .bin has all words and then all buckets, a pruned .ftz has some of both, floret has only buckets,
and a model of unhot has only the rows that its words use. A bucket without a row counts as a row of zeros;
in a pruned file it is left out of the mean. (A sum is the same either way.)

Sums are computed in float32, in the order of the pieces, as in fastText. So the vectors equal fastText's to
the last bit.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unhot.errors import DataError
from unhot.index.exact import usable_cores
from unhot.types import Counts, Floats, Ids
from unhot.vocab.subwords import Subwords

BLOCK_PIECES = 1 << 15  # n-grams that a thread composes at a time: about 1,000 usual words
BLOCK_ROWS = 1 << 13
SPARSE = 8  # with more buckets per row than this, rows are found by bisection: a table would be too big
SMALL_TABLE = 1 << 18  # up to this many buckets, a table is small enough in any case


class Matrix(Protocol):
    """A matrix in another form than an array, e.g. quantised."""

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and of numbers in each row."""

    def rows(self, ids: Ids | Counts) -> Floats:
        """Return some rows [ids, dim]."""


AnyMatrix: TypeAlias = NDArray[np.float32] | NDArray[np.float16] | Matrix


class Piece(NamedTuple):
    """A piece of a word, with its vector."""

    text: str
    buckets: list[int]  # empty: this is the word itself, which has its own row
    rows: list[int]  # the row of each bucket; -1: none
    vector: Floats


@dataclasses.dataclass(frozen=True, eq=False)
class SubwordRows:
    """The rows from which the vectors of words are composed.

    >>> cut, own = Subwords(minn=3, maxn=3, buckets=4), np.array([0], np.int32)
    >>> rows = SubwordRows(cut, np.eye(5, dtype=np.float32), own, first_bucket=1)
    >>> rows.vector("a", 0).tolist(), rows.vector("a").tolist()
    ([0.5, 0.5, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0])
    """

    subwords: Subwords
    matrix: AnyMatrix  # [rows, dim] float32 or float16, in memory or mapped; or one with `rows(ids)`
    word_rows: Ids  # [words] the row of each word; empty: words have no rows (floret)
    # [buckets] the row of each bucket, -1: none; None: bucket b is row first_bucket + b
    bucket_rows: Ids | None = None
    first_bucket: int = 0
    skips: bool = False  # True: buckets without a row are left out of the mean; False: they count as zeros
    # the buckets that have rows, sorted: bucket_rows has an entry for each; None: an entry for every bucket
    bucket_ids: Ids | None = None

    def __post_init__(self) -> None:
        """Check that all rows are inside the matrix, because compiled code does not check."""
        shape, buckets = self.matrix.shape, self.subwords.buckets
        if len(shape) != 2 or (
            isinstance(self.matrix, np.ndarray) and self.matrix.dtype not in (np.float32, np.float16)
        ):
            raise DataError(f"matrix has shape {shape}: give float32 or float16 numbers [rows, dim]")
        rows = shape[0]
        _check_rows("word", self.word_rows, 0, rows)
        if self.bucket_rows is None:
            if not 0 <= self.first_bucket <= rows - buckets:
                raise DataError(
                    f"{buckets} buckets from row {self.first_bucket} on do not fit a matrix of {rows} rows"
                )
            return
        _check_rows("bucket", self.bucket_rows, -1, rows)
        if self.bucket_ids is None and len(self.bucket_rows) != buckets:
            raise DataError(
                f"bucket_rows has {len(self.bucket_rows)} entries: give one for each of the {buckets} "
                "buckets, -1 for none"
            )
        if self.bucket_ids is not None and (
            len(self.bucket_ids) != len(self.bucket_rows)
            or not (np.diff(self.bucket_ids.astype(np.int64)) > 0).all()
        ):
            raise DataError(
                f"bucket_ids has {len(self.bucket_ids)} entries, bucket_rows {len(self.bucket_rows)}: give "
                "one row for each bucket, and buckets in rising order"
            )

    @classmethod
    def of_keys(cls, subwords: Subwords, matrix: AnyMatrix, keys: Counts, words: int) -> Self:
        """Make the rows of an unhot model: the key of a row is its bucket, or -1 - the id of its word.

        Every word must have exactly one row.
        """
        if len(keys) != matrix.shape[0]:
            raise DataError(f"there are {len(keys)} keys for {matrix.shape[0]} rows: give one for each row")
        of_words, of_buckets = np.flatnonzero(keys < 0), np.flatnonzero(keys >= 0)
        word_order, bucket_order = np.argsort(-1 - keys[of_words]), np.argsort(keys[of_buckets])
        expected = words if subwords.own_rows else 0
        if not np.array_equal(-1 - keys[of_words][word_order], np.arange(expected)):
            raise DataError(
                f"{len(of_words)} keys belong to words: each of {expected} words must have exactly one row"
            )
        buckets = keys[of_buckets][bucket_order]
        if buckets.size and (buckets[-1] >= subwords.buckets or not (np.diff(buckets) > 0).all()):
            raise DataError(
                f"the keys of buckets go up to {buckets[-1]}: they must be different, and below "
                f"{subwords.buckets}"
            )
        word_rows = of_words[word_order].astype(np.int32)
        bucket_rows = of_buckets[bucket_order].astype(np.int32)
        if subwords.buckets > SPARSE * len(keys) + SMALL_TABLE:
            return cls(subwords, matrix, word_rows, bucket_rows, bucket_ids=buckets.astype(np.int32))
        table = np.full(subwords.buckets, -1, np.int32)
        table[buckets] = bucket_rows
        return cls(subwords, matrix, word_rows, table)

    def keys(self) -> Counts:
        """Return the key of each row, as `of_keys` takes them.

        A row that belongs to no word or bucket gets the number of buckets as its key.
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
                "some words or buckets share a row: the format unhot, with one key for each row, cannot hold "
                "such a model; choose another format"
            )
        return keys

    @property
    def dim(self) -> int:
        """The number of numbers in a vector."""
        return int(self.matrix.shape[1])

    @property
    def used_buckets(self) -> int:
        """The number of buckets that have a row."""
        if self.bucket_rows is None:
            return self.subwords.buckets
        return int(np.count_nonzero(self.bucket_rows >= 0))

    def rows_of(self, buckets: Ids) -> Counts:
        """Return the row of each bucket; -1 if it has none."""
        if self.bucket_rows is None:
            return buckets.astype(np.int64) + self.first_bucket
        if self.bucket_ids is None:
            return self.bucket_rows[buckets].astype(np.int64)
        if len(self.bucket_ids) == 0:
            return np.full(len(buckets), -1, np.int64)
        at = np.minimum(np.searchsorted(self.bucket_ids, buckets), len(self.bucket_ids) - 1)
        return np.where(self.bucket_ids[at] == buckets, self.bucket_rows[at], -1).astype(np.int64)

    def take(self, rows: Counts) -> Floats:
        """Return some rows of the matrix in float32; a row of -1 gives zeros."""
        if len(rows) == 0 or self.matrix.shape[0] == 0:
            return np.zeros((len(rows), self.dim), np.float32)
        found = self.matrix[rows] if isinstance(self.matrix, np.ndarray) else self.matrix.rows(rows)
        taken: Floats = np.asarray(found, dtype=np.float32)
        if rows.min() < 0:
            taken[rows < 0] = 0
        return taken

    def block(self, first: int, last: int) -> Floats:
        """Return rows first .. last - 1 of the matrix, in any of the types of matrices."""
        if isinstance(self.matrix, np.ndarray):
            return np.asarray(self.matrix[first:last])
        return self.take(np.arange(first, last))

    def parts(self, word: str, id: int | None = None) -> Counts:
        """Return the rows whose mean or sum is a word's vector; -1 stands for zeros.

        `id`: the word's id in the vocabulary; None if it is not there.
        """
        rows = self.rows_of(self.subwords.ids(word))
        if self.skips:
            rows = rows[rows >= 0]
        return rows if id is None else np.concatenate([self.word_rows[id : id + 1].astype(np.int64), rows])

    def vector(self, word: str, id: int | None = None) -> Floats:
        """Return the vector of a word, made of its own row, if any, and those of its n-grams."""
        return self.composed(self.parts(word, id))

    def composed(self, parts: Counts) -> Floats:
        """Return the mean or the sum of some rows, as the n-grams' `combine` says; -1 stands for zeros."""
        total = np.zeros(self.dim, np.float32)
        for first in range(0, len(parts), BLOCK_ROWS):  # in blocks, because a word may have a megabyte
            rows = self.take(parts[first : first + BLOCK_ROWS])
            with np.errstate(over="ignore", invalid="ignore"):  # a file may hold infinite numbers
                rows[0] += total
                # add row after row, in order; for a single column, NumPy's sum would change the order
                total = np.add.reduce(rows, axis=0) if self.dim > 1 else np.add.accumulate(rows, axis=0)[-1]
        count = len(parts) if self.subwords.combine == "mean" else 1
        return np.asarray(total * np.float32(1.0 / max(1, count)))

    def vectors(self, words: Sequence[str], first: int = 0, threads: int | None = None) -> Floats:
        """Return the vectors of words [words, dim]; their ids in the vocabulary are first, first + 1, ..."""
        from unhot.threads import in_order
        from unhot.vectors.row_sums import (  # need the compiler, which takes a while to load
            fill_vectors,
            flat,
        )

        out = np.zeros((len(words), self.dim), np.float32)
        matrix = flat(self.matrix) if isinstance(self.matrix, np.ndarray) else None
        edges, mean = self._edges(words), self.subwords.combine == "mean"

        def fill(at: int) -> None:
            begin, end = edges[at : at + 2]
            bags = self.subwords.bags(words[begin:end])
            own = np.full(end - begin, -1, np.int64)
            if len(self.word_rows):
                own[:] = self.word_rows[first + begin : first + end]
            pieces, rows = self.rows_of(bags.ids), matrix
            if rows is None:  # the matrix is not an array: make the rows that are needed, each once
                needed, places = np.unique(np.concatenate([own, pieces]), return_inverse=True)
                none = int(bool(len(needed)) and needed[0] < 0)
                rows = flat(self.take(needed[none:]))
                own, pieces = np.split(places - none, [len(own)])
            fill_vectors(rows, own, bags.starts, pieces, self.skips, mean, out[begin:end])

        list(in_order(range(len(edges) - 1), fill, 1 if len(edges) < 3 else threads or usable_cores()))
        return out

    def _edges(self, words: Sequence[str]) -> list[int]:
        """Return where blocks of words with about BLOCK_PIECES n-grams begin, and the number of words."""
        ends = np.cumsum(self.subwords.most_pieces(np.fromiter(map(len, words), np.int64, len(words))) + 1)
        block = ends // BLOCK_PIECES
        return [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(words)]

    def pieces(self, word: str, id: int | None = None) -> list[Piece]:
        """Return the pieces of a word: the word itself, if it has a row, then its n-grams that count."""
        own = [] if id is None else self.word_rows[id : id + 1].tolist()
        found = [Piece(word, [], [row], self.take(np.array([row]))[0]) for row in own]
        for ngram, some in self.subwords.cut(word):
            rows = self.rows_of(some)
            if not self.skips or (rows >= 0).any():
                found.append(Piece(ngram, some.tolist(), rows.tolist(), self.composed(rows)))
        return found

    def expanded(self) -> Iterator[Floats]:
        """Yield blocks of rows in fastText's order: all words, then all buckets (zeros without a row)."""
        for first in range(0, len(self.word_rows), BLOCK_ROWS):
            yield self.take(self.word_rows[first : first + BLOCK_ROWS].astype(np.int64))
        for first in range(0, self.subwords.buckets, BLOCK_ROWS):
            last = min(first + BLOCK_ROWS, self.subwords.buckets)
            yield self.take(self.rows_of(np.arange(first, last, dtype=np.int32)))


def _check_rows(what: str, rows: Ids, low: int, count: int) -> None:
    if len(rows) and not low <= rows.min() <= rows.max() < count:
        raise DataError(f"rows {rows.min()} to {rows.max()} are given for {what}s, but there are {count}")
