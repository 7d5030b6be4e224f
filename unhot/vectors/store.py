"""Word vectors in memory or memory-mapped: load, save, compare, search. The names are gensim's.

    similarity(a, b) = a . b / (|a| |b|)          distance(a, b) = 1 - similarity(a, b)

word_rows.py defines keys, and how rows are looked up and changed. A vector of length zero has no direction:
its word has no neighbours, is not a neighbour of any word, and its similarity to every word is 0. A vector
with a number that is not finite is not a neighbour of any word either, its similarities are NaN, and a search
for its neighbours is an error.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhot.errors import ConfigError, DataError, extra, whole
from unhot.index.exact import Exact, usable_cores
from unhot.index.hnsw import Hnsw, HnswSettings
from unhot.index.lengths import cosines_with, directed, rounded, unit, units
from unhot.types import Counts, Doubles, Floats
from unhot.vectors.formats import Table, existing_format, read_table, write_table
from unhot.vectors.formats.remote_folder import local_copy, saved_at
from unhot.vectors.formats.table import Options, check_options
from unhot.vectors.frames import to_arrow, to_pandas, to_polars
from unhot.vectors.indexer import WordIndex, open_hnsw
from unhot.vectors.queries import (
    KEYS,
    Indexer,
    Key,
    Neighbours,
    Query,
    best_candidates,
    listed,
    named,
    weighted,
)
from unhot.vectors.sentences import document_similarity, sentence_vector, sentence_vectors
from unhot.vectors.word_rows import WordRows

MULTIPLIED_FLOOR = 1e-6  # keeps a quotient of cosines finite; gensim's value
# formats that can hold n-grams -> the function that opens them: as `SubwordVectors` if the file has n-grams,
# else as the class given. subword_vectors.py registers these functions
KEEPING: dict[str, Callable[[type[Vectors], Path, Options], Vectors]] = {}


class Vectors(WordRows):
    """Words and their vectors, one row for each word.

    >>> vectors = Vectors(["king", "queen", "apple"], np.array([[1, 2], [1, 1.5], [-1, 0]], dtype=np.float32))
    >>> vectors.most_similar("king", topn=1)[0][0]
    'queen'
    """

    def _take(self, words: list[str], vectors: Floats, counts: Counts | None) -> None:
        super()._take(words, vectors, counts)
        self.threads = usable_cores()  # for searches

    @classmethod
    def load(
        cls,
        path: str | Path,
        format: str | None = None,
        *,
        limit: int | None = None,
        bad_utf8: str = "escape",
        which: str = "in",
    ) -> Vectors:
        """Open a model folder (memory-mapped) or read a file; `format` or the file itself tells the format.

        `limit` reads only the first words; `which` ("in" or "out") chooses the vectors of a model folder;
        `bad_utf8` ("escape", "error", "replace" or "ignore") says how to read words that are not valid UTF-8.
        A model with n-grams, such as fastText's, is opened as `SubwordVectors`, which also have vectors for
        unseen words. The exception is `bad_utf8` "replace" or "ignore", which change words, while n-grams
        belong to the original words.
        """
        path, options = local_copy(path), check_options(limit, bad_utf8, which)
        if path.exists() and which == "in" and bad_utf8 in ("escape", "error"):
            opens = KEEPING.get(existing_format(path, format))
            if opens is not None:
                try:
                    return opens(cls, path, options)
                except OSError as error:
                    raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
        return cls.of_table(*read_table(path, format, limit=limit, bad_utf8=bad_utf8, which=which))

    def save(self, path: str | Path, format: str | None = None) -> dict[str, str]:
        """Write a file or folder, in the given format or the one that the path's ending stands for.

        Return a dictionary of words that the format cannot hold -> what was written instead.
        """
        with saved_at(path) as place:
            return write_table(place, Table(self.words, self.vectors, self.counts), format)

    def similarity(self, w1: Key, w2: Key) -> float:
        """Return the cosine of two words' vectors."""
        return float(unit(self.get_vector(w1)) @ unit(self.get_vector(w2)))

    def distance(self, w1: Key, w2: Key) -> float:
        """Return 1 - similarity."""
        return 1.0 - self.similarity(w1, w2)

    def distances(self, word_or_vector: Key | ArrayLike, other_words: Sequence[Key] = ()) -> Floats:
        """Return 1 - cosine of a word or vector and each of the other words (default: all words)."""
        unit_query = unit(_vector(self, word_or_vector))
        if len(other_words):
            return (1.0 - units(self[other_words]) @ unit_query).astype(np.float32)
        return np.float32(1.0) - cosines_with(unit_query, self.vectors, self.norms)

    def n_similarity(self, ws1: Sequence[Key], ws2: Sequence[Key]) -> float:
        """Return the cosine of the mean vectors of two lists of words; unknown words are left out."""
        means = [unit(self._mean(_known(self, words), None, pre_normalize=False)) for words in (ws1, ws2)]
        return float(means[0] @ means[1])

    @staticmethod
    def cosine_similarities(vector_1: ArrayLike, vectors_all: ArrayLike) -> Floats:
        """Return the cosine of a vector and each row of a matrix."""
        return (units(vectors_all) @ unit(vector_1)).astype(np.float32)

    def get_mean_vector(
        self,
        keys: Sequence[Key | Floats],
        weights: ArrayLike | None = None,
        pre_normalize: bool = True,
        post_normalize: bool = False,
        ignore_missing: bool = True,
    ) -> Floats:
        """Return the mean of words' vectors; with `pre_normalize`, of their unit vectors.

        With weights w_i the mean is sum w_i v_i / sum |w_i|. Vectors among the keys are not normalized. If no
        word is known, the result is all zeros.
        """
        mean = self._mean(keys, weights, pre_normalize, ignore_missing)
        return (unit(mean) if post_normalize else mean).astype(np.float32)

    def rank_by_centrality(self, words: Sequence[Key], use_norm: bool = True) -> list[tuple[float, Key]]:
        """Rank words by similarity to their mean: (similarity, word), best first, without unknown words."""
        known = _known(self, words)
        rows = units(self[known]) if use_norm else self[known].astype(np.float64)
        cosines = (rows @ unit(rows.mean(axis=0))).astype(np.float32).tolist()
        return sorted(zip(cosines, known, strict=True), reverse=True)

    def doesnt_match(self, words: Sequence[Key]) -> Key:
        """Return the word farthest from the mean of all given words; unknown words are left out."""
        return self.rank_by_centrality(words)[-1][1]

    def closer_than(self, key1: Key, key2: Key) -> list[str]:
        """Return all words that are closer to `key1` than `key2` is."""
        query, other = unit(self.get_vector(key1)), self.get_vector(key2)
        cosines = cosines_with(query, self.vectors, self.norms)
        limit = rounded(units(other[None]) @ query)
        # recompute cosines near the limit in float64, so that equal rows are equally close
        margin = (self.vector_size + 8) * 2.0**-22
        near = np.flatnonzero(np.abs(cosines - limit) <= margin)
        cosines[near] = rounded(units(self.vectors[near]) @ query)
        own = self._find(key1)
        return [self.words[row] for row in np.flatnonzero(cosines > limit).tolist() if row != own]

    def rank(self, key1: Key, key2: Key) -> int:
        """Return how many words are closer to `key1` than `key2` is, plus one."""
        return len(self.closer_than(key1, key2)) + 1

    def wmdistance(self, document1: Sequence[Key], document2: Sequence[Key], norm: bool = True) -> float:
        """Return the word mover's distance between two lists of words (needs the extra `wmd`).

        Unknown words are left out. If a list has no known word, the distance is inf.
        """
        sides = []
        for document in (document1, document2):
            # count a word and its row number as the same key
            times = Counter(
                word if (row := self._find(word)) is None else row for word in document if word in self
            )
            if not times:
                return float("inf")
            vectors, counts = self._several(list(times)), np.array(list(times.values()))
            sides.append((units(vectors) if norm else vectors.astype(np.float64), counts / counts.sum()))
        return movers_distance(*sides[0], *sides[1])

    to_arrow = to_arrow
    to_pandas = to_pandas
    to_polars = to_polars
    sentence_vector = sentence_vector
    sentence_vectors = sentence_vectors
    document_similarity = document_similarity

    @overload
    def most_similar(
        self,
        positive: Query | Sequence[Query] | None = ...,
        negative: Query | Sequence[Query] | None = ...,
        topn: int = ...,
        clip_start: int = ...,
        clip_end: int | None = ...,
        restrict_vocab: int | None = ...,
        indexer: Indexer | None = ...,
    ) -> Neighbours: ...
    @overload
    def most_similar(
        self,
        positive: Query | Sequence[Query] | None = ...,
        negative: Query | Sequence[Query] | None = ...,
        *,
        topn: None,
        clip_start: int = ...,
        clip_end: int | None = ...,
        restrict_vocab: int | None = ...,
        indexer: Indexer | None = ...,
    ) -> Floats: ...
    def most_similar(
        self,
        positive: Query | Sequence[Query] | None = None,
        negative: Query | Sequence[Query] | None = None,
        topn: int | None = 10,
        clip_start: int = 0,
        clip_end: int | None = None,
        restrict_vocab: int | None = None,
        indexer: Indexer | None = None,
    ) -> Neighbours | Floats:
        """Find the words nearest to the mean of the query's vectors, without the query's own words.

        Return (word, cosine), best first.

        Each word contributes its unit vector, with weight 1 in `positive` and -1 in `negative`; vectors are
        not normalized. A pair (word, weight) gives its own weight, in either list. Words of equal cosine are
        ordered by their rows. Only the rows from `clip_start` to `clip_end`, or the first `restrict_vocab`
        rows, are searched. An `indexer` replaces the exact search. `topn=None` returns the cosines of all
        rows instead.
        """
        items, weights = weighted(positive, negative)
        if not items:
            raise DataError("most_similar got no word: give at least one in positive or negative")
        mean, own = _finite(unit(self._mean(items, weights))), self._own(items)
        rows = _range(self, clip_start, clip_end, restrict_vocab)
        if topn is None:
            return cosines_with(mean, self.vectors[rows], self.norms[rows])
        topn = _topn(self, topn)
        if indexer is None:
            ids, cosines = _search(self).search_units(mean[None], topn, exclude=[own], rows=rows)
            return named(self.words, ids[0], cosines[0])
        if rows != slice(0, len(self)):
            raise ConfigError(
                "indexer given together with restrict_vocab, clip_start or clip_end: an indexer searches all "
                "words; leave one of them out"
            )
        mine = {self.words[row] for row in own}
        found = indexer.most_similar(mean.astype(np.float32), topn + len(mine))
        return [pair for pair in found if pair[0] not in mine][:topn]

    def similar_by_word(self, word: Key, topn: int = 10, restrict_vocab: int | None = None) -> Neighbours:
        """Return the words nearest to a word."""
        return self.most_similar(word, topn=topn, restrict_vocab=restrict_vocab)

    def similar_by_key(self, key: Key, topn: int = 10, restrict_vocab: int | None = None) -> Neighbours:
        """Return the words nearest to a word."""
        return self.most_similar(key, topn=topn, restrict_vocab=restrict_vocab)

    def similar_by_vector(
        self, vector: Floats, topn: int = 10, restrict_vocab: int | None = None
    ) -> Neighbours:
        """Return the words nearest to a vector."""
        return self.most_similar([vector], topn=topn, restrict_vocab=restrict_vocab)

    def most_similar_cosmul(
        self,
        positive: Query | Sequence[Query] | None = None,
        negative: Query | Sequence[Query] | None = None,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
    ) -> Neighbours | Floats:
        """Find words by a product of cosines; return (word, score), best first, without the query's words.

        score = product over positive of (1 + cos) / 2, divided by (the product over negative of (1 + cos) / 2
        plus 1e-6) (Levy & Goldberg 2014).
        """
        above, below = listed(positive), listed(negative)
        if not above:
            raise DataError("most_similar_cosmul got no positive word: give at least one")
        rows = _range(self, 0, None, restrict_vocab)
        lengths = self.norms[rows]
        cosines = np.array(
            [
                cosines_with(_finite(unit(_vector(self, item))), self.vectors[rows], lengths)
                for item in [*above, *below]
            ],
            np.float64,
        )
        shares = (1.0 + cosines) / 2.0
        scores = shares[: len(above)].prod(axis=0) / (shares[len(above) :].prod(axis=0) + MULTIPLIED_FLOOR)
        if topn is None:
            return np.asarray(scores, dtype=np.float32)
        scores[~directed(lengths)] = -np.inf
        scores[[row for row in self._own([*above, *below]) if row < rows.stop]] = -np.inf
        found = best_candidates(scores, whole("topn", topn, 1))
        return named(self.words, found, scores[found])

    def nearest(
        self,
        queries: Sequence[Key] | NDArray[np.floating[Any]],
        k: int = 10,
        *,
        restrict_vocab: int | None = None,
    ) -> tuple[Counts, Floats]:
        """Return the k rows nearest to each word, or to each row of a matrix, and their cosines.

        Both results are [queries, k], filled with -1 and -inf if there are fewer, and with -1 and NaN for a
        query that is not finite. A word is not its own neighbour. Many queries at once are much faster than
        one by one.
        """
        rows = _range(self, 0, None, restrict_vocab)
        if len(queries) and not isinstance(queries[0], KEYS):
            return _search(self).search(np.asarray(queries), k, rows=rows)
        keys: list[Any] = [queries] if isinstance(queries, str) else list(queries)
        own = np.array([-1 if (row := self._find(key)) is None else row for key in keys], np.int64)
        return _search(self).search(self._several(keys), k, exclude=own[:, None], rows=rows)

    def most_similar_each(
        self,
        queries: Sequence[Key] | NDArray[np.floating[Any]],
        topn: int = 10,
        restrict_vocab: int | None = None,
    ) -> list[Neighbours]:
        """Return `most_similar` for each word, or for each row of a matrix, all at once."""
        ids, cosines = self.nearest(queries, _topn(self, topn), restrict_vocab=restrict_vocab)
        _finite(np.where(np.isnan(cosines), cosines, 0.0))
        return [named(self.words, *line) for line in zip(ids, cosines, strict=True)]

    def build_index(self, path: str | Path | None = None, **settings: int) -> WordIndex:
        """Build a graph for approximate search (needs the extra `ann`): an `indexer` for `most_similar`.

        With a path, the graph is saved to a file and loaded from it as long as the vectors are the same. The
        settings are those of `HnswSettings`. Vectors added later are not in the graph.
        """
        chosen = HnswSettings(**settings)
        if path is None:
            return WordIndex(self.words, Hnsw.build(self.vectors, chosen, self.threads))
        return WordIndex(self.words, open_hnsw(Path(path), self.vectors, chosen, self.threads))

    @functools.cached_property
    def _exact(self) -> Exact:
        return Exact(self.vectors, self.norms)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and copied: all but the search, whose arrays must be aligned."""
        return {name: value for name, value in self.__dict__.items() if name != "_exact"}

    def _changed(self) -> None:
        super()._changed()
        self.__dict__.pop("_exact", None)

    def _mean(
        self,
        keys: Sequence[Key | Floats],
        weights: ArrayLike | None,
        pre_normalize: bool = True,
        ignore_missing: bool = False,
    ) -> Doubles:
        factors = np.ones(len(keys)) if weights is None else np.asarray(weights, dtype=np.float64)
        if len(keys) == 0:
            raise DataError("the mean of no words is not defined: give at least one word")
        if factors.shape != (len(keys),):
            raise DataError(
                f"there are {len(keys)} words, but weights has shape {factors.shape}: give one weight for "
                "each word"
            )
        mean, total = np.zeros(self.vector_size), 0.0
        for key, weight in zip(keys, factors.tolist(), strict=True):
            is_key = isinstance(key, KEYS)
            if is_key and ignore_missing and key not in self:
                continue
            vector = _vector(self, key)
            mean += weight * (unit(vector) if is_key and pre_normalize else vector.astype(np.float64))
            total += abs(weight)
        return mean / total if total > 0 else mean


def _finite(query: Doubles) -> Doubles:
    """Return the directions of queries; raise a `DataError` if one is NaN."""
    if np.isnan(query).any():
        raise DataError(
            "the vector of a query has numbers that are not finite (NaN or inf), so nothing is near it: "
            "give another word or vector"
        )
    return query


def _topn(vectors: Vectors, topn: int) -> int:
    """Return the checked number of neighbours to look for: at most the number of words."""
    return min(whole("topn", topn, 1), max(1, len(vectors)))


def _range(vectors: Vectors, start: int, end: int | None, restrict_vocab: int | None) -> slice:
    """Return the rows to search; `restrict_vocab` overrides `start` and `end`."""
    if restrict_vocab is not None:
        return slice(0, min(whole("restrict_vocab", restrict_vocab, 1), len(vectors)))
    first = min(whole("clip_start", start, 0), len(vectors))
    last = len(vectors) if end is None else min(whole("clip_end", end, 0), len(vectors))
    return slice(first, max(first, last))


def _known(vectors: Vectors, words: Sequence[Key]) -> list[Key]:
    """Return those words that have a vector; raise a `DataError` if none has."""
    known = [word for word in words if word in vectors]
    if not known:
        raise DataError(f"none of the words {list(words)[:5]} has a vector: give at least one known word")
    return known


def _search(vectors: Vectors) -> Exact:
    """Return the exact search over these vectors."""
    vectors._exact.threads = whole("threads", vectors.threads, 1)
    return vectors._exact


def _vector(vectors: Vectors, item: Key | ArrayLike) -> NDArray[np.floating]:
    """Return the vector of a word, or the given vector after checking its shape."""
    if isinstance(item, KEYS):
        return vectors.get_vector(item)
    vector = np.asarray(item)
    if vector.shape != (vectors.vector_size,) or vector.dtype.kind not in "fiu":
        raise DataError(
            f"a query has type {type(item).__name__} and shape {vector.shape}: give a word or a vector "
            f"of {vectors.vector_size} numbers"
        )
    return vector


def movers_distance(x: Doubles, p: Doubles, y: Doubles, q: Doubles) -> float:
    """Return the word mover's distance: the least cost of moving vectors x with shares p to y with shares q.

        min over T >= 0 of sum_ij T_ij |x_i - y_j|    with sum_j T_ij = p_i, sum_i T_ij = q_j

    Reference: Kusner et al., From Word Embeddings To Document Distances, 2015.
    """
    ot = extra("ot", "wmd", "the word mover's distance")
    costs = np.array([np.sqrt(np.square(y - row).sum(axis=1)) for row in x])  # [x, y]
    return float(ot.emd2(p, q, costs)) if costs.any() else 0.0
