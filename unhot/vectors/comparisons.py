"""Compare words with each other: cosines, distances, ranks.

    similarity(a, b) = a . b / (|a| |b|)          distance(a, b) = 1 - similarity(a, b)

The names are gensim's. A vector of length zero has no direction: its similarity to everything is 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhot.errors import DataError
from unhot.index.lengths import rounded, unit, units
from unhot.types import Doubles, Floats
from unhot.vectors.transport import movers_distance
from unhot.vectors.word_rows import KEYS, Key, KeyedRows


class ComparedRows(KeyedRows):
    """Words with vectors that can be compared."""

    def similarity(self, w1: Key, w2: Key) -> float:
        """Return the cosine of the angle between two words' vectors."""
        return float(unit(self.get_vector(w1)) @ unit(self.get_vector(w2)))

    def distance(self, w1: Key, w2: Key) -> float:
        """1 - similarity."""
        return 1.0 - self.similarity(w1, w2)

    def distances(self, word_or_vector: Key | ArrayLike, other_words: Sequence[Key] = ()) -> Floats:
        """1 - cosine between a word or vector and each of the other words; without these, and all words."""
        unit_query = unit(self._vector(word_or_vector))
        if len(other_words):
            return (1.0 - units(self[other_words]) @ unit_query).astype(np.float32)
        return np.float32(1.0) - self._cosines(unit_query)

    def n_similarity(self, ws1: Sequence[Key], ws2: Sequence[Key]) -> float:
        """The cosine between the mean vectors of two lists of words; unknown words are left out."""
        means = []
        for words in (ws1, ws2):
            if not any(word in self for word in words):
                raise DataError(
                    f"none of the words {list(words)[:5]} has a vector: give at least one that has"
                )
            means.append(unit(self._mean(words, None, pre_normalize=False, ignore_missing=True)))
        return float(means[0] @ means[1])

    @staticmethod
    def cosine_similarities(vector_1: ArrayLike, vectors_all: ArrayLike) -> Floats:
        """The cosines between a vector and each row of a matrix."""
        return (units(vectors_all) @ unit(vector_1)).astype(np.float32)

    def get_mean_vector(
        self,
        keys: Sequence[Key | Floats],
        weights: ArrayLike | None = None,
        pre_normalize: bool = True,
        post_normalize: bool = False,
        ignore_missing: bool = True,
    ) -> Floats:
        """The mean of words' vectors, divided by their lengths before if `pre_normalize`.

        Vectors among the keys are taken as they are.

        With weights w_i: sum w_i v_i / sum |w_i|. All zeros if no word is known.
        """
        mean = self._mean(keys, weights, pre_normalize, ignore_missing)
        return (unit(mean) if post_normalize else mean).astype(np.float32)

    def _mean(
        self,
        keys: Sequence[Key | Floats],
        weights: ArrayLike | None,
        pre_normalize: bool,
        ignore_missing: bool,
    ) -> Doubles:
        factors = np.ones(len(keys)) if weights is None else np.asarray(weights, dtype=np.float64)
        if len(keys) == 0:
            raise DataError("no words for a mean: give at least one")
        if factors.shape != (len(keys),):
            raise DataError(
                f"{len(keys)} words and weights of shape {factors.shape}: give one weight for each word"
            )
        mean, total = np.zeros(self.vector_size), 0.0
        for key, weight in zip(keys, factors.tolist(), strict=True):
            if isinstance(key, KEYS):
                if ignore_missing and key not in self:
                    continue
                vector = (
                    unit(self.get_vector(key)) if pre_normalize else self.get_vector(key).astype(np.float64)
                )
            else:
                vector = self._vector(key).astype(np.float64)
            mean += weight * vector
            total += abs(weight)
        return mean / total if total > 0 else mean

    def rank_by_centrality(self, words: Sequence[Key], use_norm: bool = True) -> list[tuple[float, Key]]:
        """(similarity to the mean of all, word), the most similar first; unknown words are left out."""
        known = [word for word in words if word in self]
        if not known:
            raise DataError(f"none of the words {list(words)[:5]} has a vector: give at least one that has")
        rows = units(self[known]) if use_norm else self[known].astype(np.float64)
        cosines = (rows @ unit(rows.mean(axis=0))).astype(np.float32).tolist()
        return sorted(zip(cosines, known, strict=True), reverse=True)

    def doesnt_match(self, words: Sequence[Key]) -> Key:
        """The word farthest from the mean of all; unknown words are left out."""
        return self.rank_by_centrality(words)[-1][1]

    def closer_than(self, key1: Key, key2: Key) -> list[str]:
        """All words that are closer to `key1` than `key2` is."""
        query, other = unit(self.get_vector(key1)), self.get_vector(key2)
        cosines, limit = self._cosines(query), rounded(units(other[None]) @ query)
        # where float32 products could not tell, in float64: equal rows are equally close
        margin = (self.vector_size + 8) * 2.0**-22
        near = np.flatnonzero(np.abs(cosines - limit) <= margin)
        cosines[near] = rounded(units(self.vectors[near]) @ query)
        own = self._find(key1)
        return [self.words[row] for row in np.flatnonzero(cosines > limit).tolist() if row != own]

    def rank(self, key1: Key, key2: Key) -> int:
        """How many words are closer to `key1` than `key2` is, plus one."""
        return len(self.closer_than(key1, key2)) + 1

    def wmdistance(self, document1: Sequence[Key], document2: Sequence[Key], norm: bool = True) -> float:
        """Word mover's distance between two lists of words (needs the extra `wmd`).

        Unknown words are left out, inf if none is known.
        """
        sides = []
        for document in (document1, document2):
            # a word and the number of its row are the same
            times = Counter(
                word if (row := self._find(word)) is None else row for word in document if word in self
            )
            if not times:
                return float("inf")
            vectors, counts = self._several(list(times)), np.array(list(times.values()))
            sides.append((units(vectors) if norm else vectors.astype(np.float64), counts / counts.sum()))
        return movers_distance(*sides[0], *sides[1])

    def _vector(self, item: Key | ArrayLike) -> NDArray[np.floating]:
        """A word's vector, or a vector, checked."""
        if isinstance(item, KEYS):
            return self.get_vector(item)
        vector = np.asarray(item)
        if vector.shape != (self.vector_size,) or vector.dtype.kind not in "fiu":
            raise DataError(
                f"a query of type {type(item).__name__} and shape {vector.shape}: give a word or "
                f"{self.vector_size} numbers"
            )
        return vector

    def _cosines(self, unit_query: Doubles, first: int = 0, last: int | None = None) -> Floats:
        """The cosine of every row of a range with a unit vector, by one product in float32.

        0 for rows without a direction.
        """
        rows, lengths = self.vectors[first:last], self.norms[first:last]
        usual = (lengths > 1e-15) & (lengths < 1e15)  # float32 neither overflows nor loses digits
        with np.errstate(all="ignore"):
            products = rows @ unit_query.astype(np.float32)
        cosines = np.divide(products, lengths, out=np.zeros(len(rows)), where=usual).astype(np.float32)
        odd = np.flatnonzero(~usual)
        cosines[odd] = (units(rows[odd]) @ unit_query).astype(np.float32)
        return cosines
