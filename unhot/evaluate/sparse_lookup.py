"""Questions to sparse rows, as to vectors."""

from __future__ import annotations

from collections.abc import Callable

from unhot.evaluate.lookup import WordLookup
from unhot.types import Doubles, Floats, Ids
from unhot.vectors.sparse_vectors import SparseVectors


class SparseLookup(WordLookup):
    """Rows of words with sparse vectors."""

    def __init__(self, vectors: SparseVectors, *, restrict_vocab: int | None = None, case: str = "prefer") -> None:
        super().__init__(vectors, restrict_vocab, case)
        self.vectors = vectors

    def directed(self, row: int) -> bool:
        """Whether a row has a direction."""
        return bool(self.vectors.norms[row] > 0)

    def pair_cosines(self, a: Ids, b: Ids) -> Doubles:
        """The cosine of row a[n] with row b[n], for each n."""
        return self.vectors.pair_cosines(a, b)

    def cosines_with(self, rows: Ids) -> Callable[[int, int], Floats]:
        """A function (first, last) -> their cosines with rows first .. last - 1, [rows, last - first]; NaN without a direction."""
        return self.vectors.cosines_with(rows)
