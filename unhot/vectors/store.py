"""Word vectors in memory (or memory-mapped): load, save, find neighbours. The names are gensim's.

What a key is and how rows are changed is in keyed.py, what compares words in compared.py. A vector of length
zero, or with a number in it that is not finite, has no direction: it is nobody's neighbour and has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from unhot.errors import ConfigError, DataError, whole
from unhot.index.exact import Exact, usable_cores
from unhot.index.hnsw import Hnsw, HnswSettings
from unhot.index.lengths import unit
from unhot.types import Counts, Floats
from unhot.vectors.comparisons import ComparedRows
from unhot.vectors.formats import WORDLESS, Table, existing_format, format_name, read_table, write_table
from unhot.vectors.formats.directory import read_config
from unhot.vectors.formats.model_folder import has_ngrams
from unhot.vectors.formats.table import check_options
from unhot.vectors.indexer import WordIndex, open_hnsw
from unhot.vectors.queries import Query, listed, weighted
from unhot.vectors.word_rows import KEYS, Key

KEEPING = ("unhot", "fasttext", "floret")  # formats that keep n-grams
MULTIPLIED_FLOOR = 1e-6  # keeps a quotient of cosines finite; gensim's value

Neighbours = list[tuple[str, float]]  # (word, cosine), best first


def saved_format(path: Path, format: str | None) -> str:
    """The format to write, also one that has no words.

    The one named, or the one that the path's ending stands for.
    """
    ending = next(
        (name for name, ending in WORDLESS.items() if path.suffix.lower() == ending and not path.is_dir()),
        None,
    )
    if format in WORDLESS or (format is None and ending is not None):
        return str(format or ending)
    return format_name(path, format)


class Indexer(Protocol):
    """Whatever finds words near a vector."""

    def most_similar(self, vector: Floats, num_neighbors: int) -> Neighbours:
        """The words nearest to a vector."""


class Vectors(ComparedRows):
    """Words and their vectors, row by row.

    >>> vectors = Vectors(["king", "queen", "apple"], np.array([[1, 2], [1, 1.5], [-1, 0]], dtype=np.float32))
    >>> vectors.most_similar("king", topn=1)[0][0]
    'queen'
    """

    def _take(self, words: list[str], vectors: Floats, counts: Counts | None) -> None:
        super()._take(words, vectors, counts)
        self.threads = usable_cores()  # for searches
        self._exact: Exact | None = None

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
        """Open a model folder (memory-mapped) or read a file, by its ending, its content or as the format that is named.

        `limit` reads the first words only; `which` ("in" or "out") chooses the vectors of a model folder;
        `bad_utf8` ("escape", "error", "replace" or "ignore") says what becomes of words that are not valid
        UTF-8. What has n-grams, as a fastText model, is opened as `SubwordVectors`, which know unseen words,
        too; unless words are to be replaced, since n-grams are those of the words as they are.
        """
        path = Path(path)
        name = (
            existing_format(path, format)
            if path.exists() and which == "in" and bad_utf8 in ("escape", "error")
            else None
        )
        if name in KEEPING and (name != "unhot" or has_ngrams(read_config(path))):
            from unhot.vectors.subword_vectors import open_subwords

            return open_subwords(path, str(name), check_options(limit, bad_utf8, which))
        return cls.of_table(*read_table(path, format, limit=limit, bad_utf8=bad_utf8, which=which))

    def save(self, path: str | Path, format: str | None = None) -> dict[str, str]:
        """Write a file or folder, by its ending or in the format named.

        Return the words it cannot hold -> what it holds instead.
        """
        return write_table(Path(path), Table(self.words, self.vectors, self.counts), format)

    @overload
    def most_similar(
        self, positive: Query | Sequence[Query] | None = ..., negative: Query | Sequence[Query] | None = ..., topn: int = ...,
        clip_start: int = ..., clip_end: int | None = ..., restrict_vocab: int | None = ..., indexer: Indexer | None = ...,
    ) -> Neighbours: ...  # fmt: skip
    @overload
    def most_similar(
        self, positive: Query | Sequence[Query] | None = ..., negative: Query | Sequence[Query] | None = ..., *, topn: None,
        clip_start: int = ..., clip_end: int | None = ..., restrict_vocab: int | None = ..., indexer: Indexer | None = ...,
    ) -> Floats: ...  # fmt: skip
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
        """Find the words nearest to the mean of the query's vectors.

        (word, cosine), best first, without the query's own words.

        Words count by their unit vectors, with weight 1 in `positive` and -1 in `negative`; vectors are taken
        as they are. In a pair (word, weight) the weight is what it says, in either. Words of equal cosine
        come in the order of their rows. Only the rows from `clip_start` to `clip_end`, or the first
        `restrict_vocab`, are searched. An `indexer` searches in its own way. `topn=None` gives the cosines of
        all rows instead.
        """
        items, weights = weighted(positive, negative)
        if not items:
            raise DataError("most_similar without a word: give at least one in positive or negative")
        mean = unit(self._mean(items, weights, pre_normalize=True, ignore_missing=False))
        own = self._own(items)
        first, last = self._range(clip_start, clip_end, restrict_vocab)
        if topn is None:
            return self._cosines(mean, first, last)
        topn = min(whole("topn", topn, 1), max(1, len(self)))
        if indexer is not None:
            if (first, last) != (0, len(self)):
                raise ConfigError(
                    "indexer with restrict_vocab or a clip: an indexer searches all words; leave one of "
                    "them out"
                )
            mine = {self.words[row] for row in own}
            return [
                pair
                for pair in indexer.most_similar(mean.astype(np.float32), topn + len(mine))
                if pair[0] not in mine
            ][:topn]
        ids, cosines = self._index().search_units(mean[None], topn, exclude=[own], rows=slice(first, last))
        return self._named(ids, cosines)[0]

    def similar_by_word(self, word: Key, topn: int = 10, restrict_vocab: int | None = None) -> Neighbours:
        """The words nearest to a word."""
        return self.most_similar(word, topn=topn, restrict_vocab=restrict_vocab)

    def similar_by_key(self, key: Key, topn: int = 10, restrict_vocab: int | None = None) -> Neighbours:
        """The words nearest to a word."""
        return self.most_similar(key, topn=topn, restrict_vocab=restrict_vocab)

    def similar_by_vector(
        self, vector: Floats, topn: int = 10, restrict_vocab: int | None = None
    ) -> Neighbours:
        """The words nearest to a vector."""
        return self.most_similar([vector], topn=topn, restrict_vocab=restrict_vocab)

    def most_similar_cosmul(
        self,
        positive: Query | Sequence[Query] | None = None,
        negative: Query | Sequence[Query] | None = None,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
    ) -> Neighbours | Floats:
        """Find words by a product instead of a sum: (word, score), best first, without the query's own words.

        score = product over positive of (1 + cos) / 2, divided by the product over negative of the same +
        1e-6 (Levy & Goldberg 2014).
        """
        above, below = listed(positive), listed(negative)
        if not above:
            raise DataError("most_similar_cosmul without a positive word: give at least one")
        first, last = self._range(0, None, restrict_vocab)
        shares = [
            (1.0 + self._cosines(unit(self._vector(item)), first, last).astype(np.float64)) / 2.0
            for item in [*above, *below]
        ]
        scores = np.prod(shares[: len(above)], axis=0) / (
            np.prod(shares[len(above) :], axis=0) + MULTIPLIED_FLOOR
        )
        if topn is None:
            return np.asarray(scores, dtype=np.float32)
        scores[~((self.norms[first:last] > 0) & (self.norms[first:last] < np.inf))] = -np.inf
        scores[[row for row in self._own([*above, *below]) if row < last]] = -np.inf
        return [
            (self.words[row], float(scores[row])) for row in best(scores, whole("topn", topn, 1)).tolist()
        ]

    def nearest(
        self,
        queries: Sequence[Key] | NDArray[np.floating[Any]],
        k: int = 10,
        *,
        restrict_vocab: int | None = None,
    ) -> tuple[Counts, Floats]:
        """The k rows nearest to each word or each row of a matrix, and their cosines.

        Both [queries, k], -1 and -inf where there are fewer.

        A word is not its own neighbour. Many queries at once are much quicker than one by one.
        """
        first, last = self._range(0, None, restrict_vocab)
        if len(queries) and not isinstance(queries[0], KEYS):
            return self._index().search(np.asarray(queries), k, rows=slice(first, last))
        keys: list[Any] = [queries] if isinstance(queries, str) else list(queries)
        own = [-1 if (row := self._find(key)) is None else row for key in keys]
        return self._index().search(
            self._several(keys), k, exclude=np.array(own, np.int64)[:, None], rows=slice(first, last)
        )

    def most_similar_each(
        self,
        queries: Sequence[Key] | NDArray[np.floating[Any]],
        topn: int = 10,
        restrict_vocab: int | None = None,
    ) -> list[Neighbours]:
        """`most_similar` for each word or each row of a matrix, all at once."""
        topn = min(whole("topn", topn, 1), max(1, len(self)))
        return self._named(*self.nearest(queries, topn, restrict_vocab=restrict_vocab))

    def build_index(self, path: str | Path | None = None, **settings: int) -> WordIndex:
        """A graph for approximate search (needs the extra `ann`), to be given to `most_similar` as `indexer`.

        With a path it is kept in a file there, and found again as long as the vectors are the same. The
        settings are those of `HnswSettings`. Vectors that are added later are not in it.
        """
        chosen = HnswSettings(**settings)
        index = (
            Hnsw.build(self.vectors, chosen, self.threads)
            if path is None
            else open_hnsw(Path(path), self.vectors, chosen, self.threads)
        )
        return WordIndex(self.words, index)

    def _index(self) -> Exact:
        """The exact search over these vectors."""
        if self._exact is None:
            self._exact = Exact(self.vectors, self.norms)
        self._exact.threads = whole("threads", self.threads, 1)
        return self._exact

    def _changed(self) -> None:
        super()._changed()
        self._exact = None

    def _range(self, start: int, end: int | None, restrict_vocab: int | None) -> tuple[int, int]:
        """The rows to search; `restrict_vocab` goes before the clip."""
        if restrict_vocab is not None:
            return 0, min(whole("restrict_vocab", restrict_vocab, 1), len(self))
        first = min(whole("clip_start", start, 0), len(self))
        last = len(self) if end is None else min(whole("clip_end", end, 0), len(self))
        return first, max(first, last)

    def _named(self, ids: Counts, cosines: Floats) -> list[Neighbours]:
        """Rows as words; places where nothing was found are left out."""
        words = self.words
        return [
            [(words[row], cosine) for row, cosine in zip(*line, strict=True) if row >= 0]
            for line in zip(ids.tolist(), cosines.tolist(), strict=True)
        ]


def best(scores: NDArray[np.floating[Any]], topn: int) -> NDArray[np.intp]:
    """The places of the topn highest scores, highest first, equal ones in their order.

    -inf is never among them.
    """
    n = min(topn, int(np.count_nonzero(scores > -np.inf)))
    if n < 1:
        return np.empty(0, np.intp)
    least = np.partition(scores, len(scores) - n)[len(scores) - n]
    above = np.flatnonzero(scores > least)
    chosen = np.concatenate([above, np.flatnonzero(scores == least)[: n - len(above)]])
    return chosen[np.lexsort((chosen, -scores[chosen]))]
