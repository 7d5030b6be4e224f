"""Look up the row of a word in a question.

Test sets and vectors often differ in case, so `case` says which spellings count as the same word:

    exact    only the exact spelling
    prefer   the exact spelling if it exists, else the first row that differs only in case
    ignore   the first row that differs at most in case, even if the exact spelling comes later; gensim's
             default

Two spellings differ only in case if `str.upper` makes them equal. In most files the first row is that of the
most frequent spelling. A vector whose length is zero or not finite has no direction: its word counts as
unknown and is never an answer. Only rows that are needed are read, so a big mapped model opens quickly.

With `unseen`, a word that is not found is composed of the n-grams of its spelling, if the vectors have
n-grams. It gets a number after the last row. So more and harder questions are asked; published figures leave
such words out unless they say so.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unhot.errors import ConfigError, one_of, whole
from unhot.index.lengths import units
from unhot.types import Doubles, Floats, Ids
from unhot.vectors.store import Vectors
from unhot.vectors.word_rows import KeyedWords

CASES = ("exact", "prefer", "ignore")


class WordLookup:
    """Look up rows of words; only the first `restrict_vocab` words are known (None: all).

    Sparse vectors compare their rows themselves; `Lookup` compares those of dense vectors.
    """

    vectors: Any  # SparseVectors, or those of a subclass

    def __init__(
        self, vectors: KeyedWords, *, restrict_vocab: int | None = None, case: str = "prefer"
    ) -> None:
        one_of("case", case, CASES)
        limit = len(vectors.words) if restrict_vocab is None else whole("restrict_vocab", restrict_vocab, 1)
        self.vectors = vectors
        self.case = case
        self.size = min(limit, len(vectors.words))  # number of known words

    def row(self, word: str) -> int:
        """Return the row of a word; -1 if it is unknown."""
        row = -1 if self.case == "ignore" else int(self.vectors.key_to_index.get(word, -1))
        if not 0 <= row < self.size and self.case != "exact":
            row = self._first.get(word.upper(), -1)
        if 0 <= row < self.size:
            return row if self.directed(row) else -1
        return self.unseen_row(word)

    def directed(self, row: int) -> bool:
        """Return whether a row has a direction."""
        return bool(self.vectors.norms[row] > 0)

    def unseen_row(self, word: str) -> int:
        """Return the number of a word that is not in the vocabulary; -1 if it is unknown."""
        return -1

    def pair_cosines(self, a: Ids, b: Ids) -> Doubles:
        """Return the cosine of row a[n] and row b[n], for each n."""
        return np.asarray(self.vectors.pair_cosines(a, b))

    def cosines_with(self, rows: Ids) -> Callable[[int, int], Floats]:
        """Return a function (first, last) -> cosines of `rows` with rows first .. last - 1.

        Its result is [rows, last - first]; a row without a direction has NaN.
        """
        cosines: Callable[[int, int], Floats] = self.vectors.cosines_with(rows)
        return cosines

    @functools.cached_property
    def _first(self) -> dict[str, int]:
        """A dictionary from each spelling (in upper case, unless case is exact) to its first row."""
        # backwards, so that the first row of a spelling is written last
        return {self._folded[row]: row for row in range(self.size - 1, -1, -1)}

    @functools.cached_property
    def _folded(self) -> list[str]:
        words = self.vectors.words[: self.size]
        return words if self.case == "exact" else [word.upper() for word in words]

    @functools.cached_property
    def names(self) -> Ids:
        """The name of each row: the first row of its spelling, so that spellings of a word share a name."""
        first = self._first
        return np.array([first[word] for word in self._folded], np.int32)


class Lookup(WordLookup):
    """Look up rows of words with dense vectors.

    >>> vectors = Vectors(["us", "US", "the"], np.eye(3, dtype=np.float32))
    >>> [Lookup(vectors, case=case).row("US") for case in CASES]
    [1, 1, 0]
    >>> Lookup(vectors).row("The"), Lookup(vectors, restrict_vocab=2).row("The")
    (2, -1)
    """

    vectors: Vectors

    def __init__(
        self,
        vectors: Vectors,
        *,
        restrict_vocab: int | None = None,
        case: str = "prefer",
        unseen: bool = False,
    ) -> None:
        super().__init__(vectors, restrict_vocab=restrict_vocab, case=case)
        if unseen and vectors.subwords is None:
            raise ConfigError(
                "unseen=True: these vectors have no n-grams to compose unseen words of; "
                "leave unseen out, or give a fastText model"
            )
        self.unseen = unseen
        self._made = dict[str, int]()  # the number of each word that is composed of its n-grams
        self._vectors = list[Floats]()  # the vectors of these words

    def directed(self, row: int) -> bool:
        """Return whether a row has a direction."""
        return _directed(self.vectors.get_vector(row))

    def unseen_row(self, word: str) -> int:
        """Return the number of a word that is composed of its n-grams; -1 if that is not possible."""
        if (
            self.unseen
            and word not in self._made
            and (vector := self.vectors._unseen(word)) is not None
            and _directed(vector)
        ):
            self._made[word] = self.size + len(self._vectors)
            self._vectors.append(vector)
        return self._made.get(word, -1)

    def pair_cosines(self, a: Ids, b: Ids) -> Doubles:
        """Return the cosine of row a[n] and row b[n], for each n."""
        return np.asarray(np.einsum("ij,ij->i", self.units(a), self.units(b)))

    def cosines_with(self, rows: Ids) -> Callable[[int, int], Floats]:
        """Return a function (first, last) -> cosines; see `WordLookup.cosines_with`."""
        units = self.units(rows).astype(np.float32)  # [rows, dim]

        def cosines(first: int, last: int) -> Floats:
            block = self.units(slice(first, last)).astype(np.float32)  # [candidates, dim]
            with np.errstate(invalid="ignore"):  # rows without a direction give NaN
                return np.asarray(units @ block.T)

        return cosines

    def units(self, rows: Ids | NDArray[np.int64] | slice) -> Doubles:
        """Return rows divided by their lengths, in float64; a row without a direction becomes NaN."""
        found = units(self._rows(rows))
        found[~found.any(axis=1)] = np.nan
        return found

    def _rows(self, rows: Ids | NDArray[np.int64] | slice) -> Floats:
        if isinstance(rows, slice) or not self._made:
            return self.vectors.vectors[: self.size][rows]
        found = np.array(self._vectors)[np.maximum(rows - self.size, 0)]
        seen = rows < self.size
        found[seen] = self.vectors.vectors[rows[seen]]
        return found


def look_up(
    vectors: KeyedWords, *, restrict_vocab: int | None, case: str, unseen: bool = False
) -> WordLookup:
    """Return the look-up for dense or sparse vectors."""
    if isinstance(vectors, Vectors):
        return Lookup(vectors, restrict_vocab=restrict_vocab, case=case, unseen=unseen)
    if not isinstance(vectors, KeyedWords):
        raise ConfigError(
            f"vectors has type {type(vectors).__name__}: it must be Vectors or SparseVectors; "
            "for a model give model.vectors, for cells SparseVectors(cells)"
        )
    if unseen:
        raise ConfigError(
            "unseen=True: sparse vectors have no n-grams to compose unseen words of; leave unseen out"
        )
    return WordLookup(vectors, restrict_vocab=restrict_vocab, case=case)


def _directed(vector: Floats) -> bool:
    return bool(vector.any() and np.isfinite(vector).all())
