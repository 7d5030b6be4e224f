"""Sparse word vectors with one number for each context word, such as the rows of positive PMI.

    similarity(a, b) = sum_j a[j] b[j] / (|a| |b|)

Such a vector has as many numbers as there are words, and nearly all are zero. So rows stay in their sparse
form on disk, and only cells that two words share are multiplied. Unlike the numbers of dense vectors, these
have a meaning, which `contexts` shows.

A row without cells has no direction: its word has no neighbours and is not a neighbour of any word.
"""

import functools
import os
from collections.abc import Callable, Sequence

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.cells.sparse_rows import (
    SparseRows,
    cuts,
    fill_cosines,
    fill_dots,
    fill_lengths,
    fill_pair_dots,
    rows_of,
)
from unhot.errors import DataError, whole
from unhot.index.exact import usable_cores
from unhot.index.lengths import directed, rounded, unit
from unhot.threads import in_order
from unhot.types import Doubles, Floats, Ids
from unhot.vectors.queries import KEYS, Key, Neighbours, Query, best_candidates, named, weighted
from unhot.vectors.word_rows import KeyedWords


class SparseVectors(KeyedWords):
    """The rows of cells, used as word vectors.

    >>> from unhot.vocab.vocabulary import Vocabulary
    >>> starts, columns, values = [0, 2, 4, 5], [1, 2, 1, 2, 0], [1.0, 2.0, 1.0, 1.0, 3.0]
    >>> cells = Cells.from_arrays(Vocabulary(["a", "b", "c"], [3, 2, 1]), starts, columns, values)
    >>> round(SparseVectors(cells).similarity("a", "b"), 4)
    0.9487
    """

    def __init__(self, cells: Cells) -> None:
        """Take cells whose rows make words comparable, such as positive PMI."""
        self.cells = cells
        self.words = cells.vocabulary.words
        self.counts = cells.vocabulary.counts
        self.threads = usable_cores()

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> "SparseVectors":
        """Open a directory of cells."""
        return cls(Cells.open(directory))

    def __repr__(self) -> str:
        """Show the number of words and cells."""
        return f"SparseVectors({len(self)} words, {len(self.cells)} cells)"

    @functools.cached_property
    def key_to_index(self) -> dict[str, int]:
        """A dictionary from each word to its row."""
        return self.cells.vocabulary.index

    @functools.cached_property
    def norms(self) -> Doubles:
        """The length of each row."""
        out = np.zeros(len(self))
        self._on_threads(lambda begin, end: fill_lengths(self._rows, begin, end, out), 0, len(self))
        return out

    def get_vector(self, key: Key) -> Floats:
        """Return the row of a word as a dense vector [words]."""
        vector = np.zeros(len(self), np.float32)
        columns, values = self.cells.row(self.id(key))
        with np.errstate(over="ignore"):  # a value beyond float32 becomes infinite
            vector[columns] = values
        return vector

    def contexts(self, key: Key, topn: int = 10) -> Neighbours:
        """Return the contexts with the largest numbers in a word's vector, as (context, number)."""
        columns, values = self.cells.row(self.id(key))
        found = best_candidates(values, whole("topn", topn, 1))
        return named(self.words, columns[found], values[found])

    def similarity(self, w1: Key, w2: Key) -> float:
        """Return the cosine of two words' rows; 0 if one of the rows is empty."""
        a, b = np.array([[self.id(w1)], [self.id(w2)]], np.int32)
        return float(self.pair_cosines(a, b)[0])

    def most_similar(
        self,
        positive: Query | Sequence[Query] | None = None,
        negative: Query | Sequence[Query] | None = None,
        topn: int = 10,
        restrict_vocab: int | None = None,
    ) -> Neighbours:
        """Find the words nearest to the mean of the query's words, without the query's own words.

        Return (word, cosine), best first. Each word contributes its unit vector, with weight 1 in `positive`
        and -1 in `negative`, or with the weight of a pair (word, weight). Only the first `restrict_vocab`
        words are searched.
        """
        items, weights = weighted(positive, negative)
        if not items:
            raise DataError("most_similar got no word: give at least one in positive or negative")
        mean, own = np.zeros(len(self)), []
        for item, weight in zip(items, weights, strict=True):
            if not isinstance(item, KEYS):
                raise DataError(
                    f"a query has type {type(item).__name__}: sparse vectors can be searched only with "
                    "words; give words"
                )
            own.append(self.id(item))
            columns, values = self.cells.row(own[-1])
            mean[columns] += weight * unit(values)
        wanted = len(self) if restrict_vocab is None else whole("restrict_vocab", restrict_vocab, 1)
        last = min(wanted, len(self))
        query, lengths = unit(mean), self.norms[:last]
        products = np.zeros(last)
        self._on_threads(lambda begin, end: fill_dots(self._rows, query, begin, end, products), 0, last)
        cosines = rounded(np.divide(products, lengths, out=np.full(last, -np.inf), where=directed(lengths)))
        cosines[[row for row in own if row < last]] = -np.inf
        found = best_candidates(cosines, whole("topn", topn, 1))
        return named(self.words, found, cosines[found]) if query.any() else []

    def pair_cosines(self, a: Ids, b: Ids) -> Doubles:
        """Return the cosine of row a[n] and row b[n], for each n; 0 if one of them is empty."""
        products = np.zeros(len(a))
        with np.errstate(over="ignore"):
            lengths = self.norms[a] * self.norms[b]
        fill_pair_dots(self._rows, np.ascontiguousarray(a), np.ascontiguousarray(b), products)
        return np.divide(products, lengths, out=np.zeros(len(a)), where=directed(lengths))

    def cosines_with(self, rows: Ids) -> Callable[[int, int], Floats]:
        """Return a function (first, last) -> cosines of `rows` with rows first .. last - 1.

        Its result is [rows, last - first]; a row without a direction has NaN.
        """
        queries = self._by_columns(rows)

        def cosines(first: int, last: int) -> Floats:
            out = np.empty((len(rows), last - first), np.float32)

            def work(begin: int, end: int) -> None:
                fill_cosines(self._rows, self.norms, queries, begin, end, first, np.zeros(len(rows)), out)

            self._on_threads(work, first, last)
            return out

        return cosines

    def _by_columns(self, rows: Ids) -> SparseRows:
        """Return the unit vectors of some rows, transposed: row j lists those with a cell in column j."""
        parts = [self.cells.row(row) for row in rows.tolist()]
        columns = np.concatenate([columns for columns, _ in parts])
        numbers = np.repeat(np.arange(len(rows), dtype=np.int32), [columns.size for columns, _ in parts])
        order = np.argsort(columns, kind="stable")
        starts = np.zeros(len(self) + 1, np.int64)
        starts[1:] = np.bincount(columns, minlength=len(self)).cumsum()
        return rows_of(starts, numbers[order], np.concatenate([unit(values) for _, values in parts])[order])

    @functools.cached_property
    def _rows(self) -> SparseRows:
        return rows_of(self.cells.starts, self.cells.columns, self.cells.values)

    def _on_threads(self, work: Callable[[int, int], None], first: int, last: int) -> None:
        """Call work(begin, end) in threads, for parts of the rows first .. last - 1."""
        parts = cuts(self.cells.starts, whole("threads", self.threads, 1), first, last)
        list(in_order(parts, lambda part: work(*part), self.threads))
