"""Which row a word of a question has.

Test sets and vectors often differ in case, so `case` says when a spelling counts as the same word:

    exact    only the very spelling
    prefer   the very spelling if it is there, else the first row with any case of it
    ignore   the first row with any case of it, though the very spelling may stand further down; so does
             gensim by default

Two spellings are cases of one word if `str.upper` makes them equal. The first row is that of the most
frequent word in most files. A vector whose length is zero or not finite has no direction: its word counts as
unknown and is never an answer. Only rows that are asked for are read, so a big memory-mapped model is opened
quickly.

With `unseen`, a word that is not found is made of its n-grams as it is spelled, where the vectors have
n-grams. It gets a number behind the last row. So more questions are asked, and harder ones: figures of others
leave such words out unless they say so.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from unhot.errors import ConfigError, one_of, whole
from unhot.types import Doubles, Floats, Ids
from unhot.vectors.sparse_vectors import SparseVectors
from unhot.vectors.store import Vectors

CASES = ("exact", "prefer", "ignore")


class Known(Protocol):
    """Words with rows of numbers, of whatever kind."""

    threads: int

    @property
    def words(self) -> list[str]:
        """The words in the order of the rows."""

    @property
    def key_to_index(self) -> dict[str, int]:
        """The row of each word."""


class WordLookup(ABC):
    """Rows of words; only the first `restrict_vocab` words are known, all if None.

    How rows are compared, a kind of vectors says itself.
    """

    def __init__(self, vectors: Known, *, restrict_vocab: int | None = None, case: str = "prefer") -> None:
        one_of("case", case, CASES)
        limit = len(vectors.words) if restrict_vocab is None else whole("restrict_vocab", restrict_vocab, 1)
        self.vectors = vectors
        self.case = case
        self.size = min(limit, len(vectors.words))  # words that are known

    @property
    def threads(self) -> int:
        """How many threads may compare."""
        return self.vectors.threads

    def row(self, word: str) -> int:
        """The row of a word, -1 if it is unknown."""
        row = -1 if self.case == "ignore" else int(self.vectors.key_to_index.get(word, -1))
        if not 0 <= row < self.size and self.case != "exact":
            row = self._first.get(word.upper(), -1)
        if 0 <= row < self.size:
            return row if self.directed(row) else -1
        return self.unseen_row(word)

    @abstractmethod
    def directed(self, row: int) -> bool:
        """Whether a row has a direction."""

    def unseen_row(self, word: str) -> int:
        """The number of a word that is not in the vocabulary, -1 if it is unknown."""
        return -1

    @abstractmethod
    def pair_cosines(self, a: Ids, b: Ids) -> Doubles:
        """The cosine of row a[n] with row b[n], for each n."""

    @abstractmethod
    def cosines_with(self, rows: Ids) -> Callable[[int, int], Floats]:
        """A function (first, last) -> cosines of some rows with rows first .. last - 1, [rows, last - first].

        They are NaN where a row has no direction.
        """

    @functools.cached_property
    def _first(self) -> dict[str, int]:
        """Spelling in upper case (as it is, if that matters) -> its first row."""
        # from behind: the first row of a spelling is written last
        return {self._folded[row]: row for row in range(self.size - 1, -1, -1)}

    @functools.cached_property
    def _folded(self) -> list[str]:
        words = self.vectors.words[: self.size]
        return words if self.case == "exact" else [word.upper() for word in words]

    @functools.cached_property
    def names(self) -> Ids:
        """What each row is called where words are compared: the first row of its spelling."""
        first = self._first
        return np.array([first[word] for word in self._folded], np.int32)


class Lookup(WordLookup):
    """Rows of words with vectors.

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
                "unseen=True: these vectors have no n-grams to make unseen words of; "
                "leave it out, or give a fastText model"
            )
        self.unseen = unseen
        self._made = dict[str, int]()  # the number of each word that is made of its n-grams
        self._vectors = list[Floats]()  # and their vectors

    def directed(self, row: int) -> bool:
        """Whether a row has a direction."""
        return _directed(self.vectors.get_vector(row))

    def unseen_row(self, word: str) -> int:
        """The number of a word that is made of its n-grams, -1 if it has none."""
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
        """The cosine of row a[n] with row b[n], for each n."""
        return np.asarray(np.einsum("ij,ij->i", self.units(a), self.units(b)))

    def cosines_with(self, rows: Ids) -> Callable[[int, int], Floats]:
        """A function (first, last) -> cosines; see `WordLookup.cosines_with`."""
        units = self.units(rows).astype(np.float32)  # [rows, dim]

        def cosines(first: int, last: int) -> Floats:
            block = self.units(slice(first, last)).astype(np.float32)  # [candidates, dim]
            with np.errstate(invalid="ignore"):  # rows without a direction are NaN
                return np.asarray(units @ block.T)

        return cosines

    def units(self, rows: Ids | NDArray[np.int64] | slice) -> Doubles:
        """Vectors divided by their lengths, NaN where they have no direction.

        In float64, where squares neither overflow nor vanish.
        """
        units: Doubles = self._rows(rows).astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            lengths = np.sqrt(np.einsum("ij,ij->i", units, units))
            lengths[~((lengths > 0) & (lengths < np.inf))] = np.nan
            units /= lengths[:, None]
        return units

    def _rows(self, rows: Ids | NDArray[np.int64] | slice) -> Floats:
        if isinstance(rows, slice) or not self._made:
            return self.vectors.vectors[: self.size][rows]
        found = np.array(self._vectors)[np.maximum(rows - self.size, 0)]
        seen = rows < self.size
        found[seen] = self.vectors.vectors[rows[seen]]
        return found


class SparseLookup(WordLookup):
    """Rows of words with sparse vectors."""

    vectors: SparseVectors

    def directed(self, row: int) -> bool:
        """Whether a row has a direction."""
        return bool(self.vectors.norms[row] > 0)

    def pair_cosines(self, a: Ids, b: Ids) -> Doubles:
        """The cosine of row a[n] with row b[n], for each n."""
        return self.vectors.pair_cosines(a, b)

    def cosines_with(self, rows: Ids) -> Callable[[int, int], Floats]:
        """A function (first, last) -> cosines; see `WordLookup.cosines_with`."""
        return self.vectors.cosines_with(rows)


def look_up(
    vectors: Vectors | SparseVectors, *, restrict_vocab: int | None, case: str, unseen: bool = False
) -> WordLookup:
    """The look-up of either kind of vectors."""
    if isinstance(vectors, Vectors):
        return Lookup(vectors, restrict_vocab=restrict_vocab, case=case, unseen=unseen)
    if not isinstance(vectors, SparseVectors):
        raise ConfigError(
            f"vectors of type {type(vectors).__name__}: must be Vectors or SparseVectors; "
            "a model has .vectors, cells are SparseVectors(cells)"
        )
    if unseen:
        raise ConfigError("unseen=True: sparse vectors have no n-grams to make unseen words of; leave it out")
    return SparseLookup(vectors, restrict_vocab=restrict_vocab, case=case)


def _directed(vector: Floats) -> bool:
    return bool(vector.any() and np.isfinite(vector).all())
