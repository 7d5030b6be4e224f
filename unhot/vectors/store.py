"""Word vectors in memory (or memory-mapped): look up, compare, find neighbours.

    similarity(a, b) = a . b / (|a| |b|)

The names are gensim's. A vector of length zero has no direction: its similarity to everything is 0.0, and it is
nobody's neighbour and has none.
"""

from __future__ import annotations

import difflib
import functools
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from unhot.errors import DataError
from unhot.types import Counts, Doubles, Floats
from unhot.vectors.formats import Table, find_format
from unhot.vocab.vocabulary import UnknownWord

Query: TypeAlias = str | tuple[str, float] | Floats  # a word, a word with its weight, or a vector

NORM_ROWS = 1 << 14  # rows squared at once, so that norms of a memory-mapped matrix need little memory
SPELLINGS = 5_000  # words that are compared letter by letter with an unknown one: some 0.1 s


class Vectors:
    """Words and their vectors, row by row.

    >>> vectors = Vectors(["king", "queen", "apple"], np.array([[1, 2], [1, 1.5], [-1, 0]], dtype=np.float32))
    >>> vectors.most_similar("king", topn=1)[0][0]
    'queen'
    """

    def __init__(self, words: Sequence[str], vectors: Floats, counts: Counts | None = None) -> None:
        """Take words, a matrix [words, dim] (kept as it is if float32, memory-mapped or not) and the words' counts, if known."""
        if vectors.ndim != 2 or len(vectors) != len(words):
            raise DataError(f"{len(words)} words and vectors of shape {vectors.shape}: give one row for each word")
        if counts is not None and len(counts) != len(words):
            raise DataError(f"{len(words)} words and {len(counts)} counts: give one count for each word")
        self.words = list(words)
        self.vectors: Floats = vectors.astype(np.float32, copy=False)
        self.counts = counts
        self.key_to_index = {word: row for row, word in enumerate(self.words)}
        if len(self.key_to_index) < len(self.words):
            twice = next(word for row, word in enumerate(self.words) if self.key_to_index[word] != row)
            raise DataError(f"the word {twice!r} is there more than once: words must be different")

    @classmethod
    def load(cls, path: str | Path, format: str | None = None) -> Vectors:
        """Open a model folder (memory-mapped) or read a file, by its ending or as the format that is named."""
        path = Path(path)
        if not path.exists():
            raise DataError(f"{path}: there is no such file or folder")
        return cls(*find_format(path, format).reader(path))

    def save(self, path: str | Path, format: str | None = None) -> dict[str, str]:
        """Write a file or folder, by its ending or in the format named; return the words it cannot hold -> what it holds instead."""
        return find_format(Path(path), format).writer(Path(path), Table(self.words, self.vectors, self.counts))

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Tell whether a word has a vector."""
        return word in self.key_to_index

    def __repr__(self) -> str:
        """Show the number of words and the dimension."""
        return f"Vectors({len(self)} words, dim {self.vectors.shape[1]})"

    def __getitem__(self, word: str | Sequence[str]) -> Floats:
        """Return the vector of a word [dim], or of several [words, dim]."""
        ids = self.id(word) if isinstance(word, str) else np.array([self.id(each) for each in word], dtype=np.intp)
        rows: Floats = self.vectors[ids]
        return rows

    @property
    def index_to_key(self) -> list[str]:
        """The words in the order of the rows."""
        return self.words

    @functools.cached_property
    def norms(self) -> Doubles:
        """The length of each vector; in float64, where squares of float32 neither overflow nor vanish."""
        norms = np.empty(len(self), np.float64)
        for first in range(0, len(self), NORM_ROWS):
            rows = self.vectors[first : first + NORM_ROWS].astype(np.float64)
            norms[first : first + NORM_ROWS] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        return norms

    def id(self, word: str) -> int:
        """Return the row of a word; an unknown one raises `UnknownWord` with similar spellings."""
        row = self.key_to_index.get(word)
        if row is None:
            similar = self._similar_spellings(word)
            advice = f"did you mean {', '.join(map(repr, similar))}?" if similar else "check its spelling and case"
            raise UnknownWord(f"{word!r} is not among the {len(self)} words: {advice}")
        return row

    def similarity(self, a: str, b: str) -> float:
        """Return the cosine of the angle between two words' vectors."""
        return float(_unit(self[a]) @ _unit(self[b]))

    def most_similar(
        self, positive: Query | Sequence[Query] | None = None, negative: Query | Sequence[Query] | None = None, topn: int = 10
    ) -> list[tuple[str, float]]:
        """Find the words nearest to the mean of the query's unit vectors: (word, cosine), best first, without the query's own words.

        Words in `positive` have weight 1, in `negative` -1; in a pair (word, weight) the weight is what it says, in either.
        Words of equal similarity come in the order of their rows.
        """
        weighted = [_weighted(item, 1.0) for item in _listed(positive)] + [_weighted(item, -1.0) for item in _listed(negative)]
        if not weighted:
            raise DataError("most_similar without a word: give at least one in positive or negative")
        asked = [self.id(item) for item, _ in weighted if isinstance(item, str)]
        # the sum instead of the mean: only its direction matters
        mean = _unit(np.sum([weight * _unit(self._vector(item)) for item, weight in weighted], axis=0))
        scores = self._similarities(mean)
        scores[asked] = -np.inf
        return [(self.words[row], float(scores[row])) for row in _best(scores, topn)] if mean.any() else []

    def _vector(self, item: str | Floats) -> Floats:
        vector = self[item] if isinstance(item, str) else np.asarray(item)
        if vector.shape != self.vectors.shape[1:]:
            raise DataError(f"a query vector of shape {vector.shape}: it must have {self.vectors.shape[1]} numbers")
        return vector

    def _similarities(self, unit: Doubles) -> Doubles:
        """Return the cosine of every row with a unit vector; -inf for rows of length zero."""
        products = self.vectors @ unit.astype(np.float32)  # in float32: a memory-mapped matrix is not copied
        scores = np.full(len(self), -np.inf)
        np.divide(products, self.norms, out=scores, where=self.norms > 0)
        return scores

    def _similar_spellings(self, word: object) -> list[str]:
        if not isinstance(word, str) or not word:
            return []
        folded = word.casefold()
        near = (each for each in self.words if abs(len(each) - len(word)) <= 2 and each[:1].casefold() == folded[:1])
        spelled: dict[str, str] = {}
        for each in itertools.islice(near, SPELLINGS):
            spelled.setdefault(each.casefold(), each)
        return [spelled[each] for each in difflib.get_close_matches(folded, spelled, n=3, cutoff=0.75)]


def _listed(items: Query | Sequence[Query] | None) -> list[Query]:
    """One word, pair or vector as a list of one; the rows of a matrix as vectors."""
    if items is None:
        return []
    if isinstance(items, str) or (isinstance(items, np.ndarray) and items.ndim == 1) or _is_pair(items):
        return [items]  # type: ignore[list-item]
    return list(items)


def _is_pair(item: object) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and not isinstance(item[1], (str, tuple))


def _weighted(item: Query, weight: float) -> tuple[str | Floats, float]:
    return (item[0], float(item[1])) if isinstance(item, tuple) else (item, weight)


def _unit(vector: Floats | Doubles) -> Doubles:
    """Return the vector divided by its length, in float64; zero stays zero."""
    wide = np.asarray(vector, dtype=np.float64)
    norm = float(np.sqrt(wide @ wide))
    return wide / norm if norm > 0 else wide


def _best(scores: Doubles, topn: int) -> NDArray[np.intp]:
    """Return the rows of the topn highest scores, highest first, equal ones by row; -inf is never among them."""
    n = min(topn, int(np.count_nonzero(scores > -np.inf)))
    if n < 1:
        return np.empty(0, np.intp)
    least = scores[np.argpartition(-scores, n - 1)[n - 1]]
    above = np.flatnonzero(scores > least)
    chosen = np.concatenate([above, np.flatnonzero(scores == least)[: n - len(above)]])
    return chosen[np.lexsort((chosen, -scores[chosen]))]
