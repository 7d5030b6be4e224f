"""What a model of fastText can be asked about words: its dictionary, its rows, vectors, neighbours.

The names are fastText's.
"""

import functools
from collections.abc import Iterable, Iterator
from itertools import repeat

import numpy as np

from unhot.compat.fasttext.lines import WORD, Lines, word_hash
from unhot.compat.fasttext.model_parts import Parts
from unhot.errors import ConfigError, DataError, whole
from unhot.types import Counts, Floats
from unhot.vectors.subword_vectors import SubwordVectors
from unhot.vocab.vocabulary import canonical, encode_word

Neighbours = list[tuple[float, str]]  # (cosine, word), best first


class Queries:
    """A dictionary and the rows of its words."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        dictionary = parts.dictionary
        self._vectors = SubwordVectors(dictionary.words, dictionary.word_counts, parts.rows)
        self._labels = {label: id for id, label in enumerate(dictionary.labels)}
        self._lines = Lines(self._vectors, self._labels, parts.header.word_ngrams)

    @property
    def vectors(self) -> SubwordVectors:
        """The words and their vectors as unhot has them, with all methods of `unhot.Vectors`."""
        return self._vectors

    @functools.cached_property
    def words(self) -> list[str]:
        """The words, most frequent first."""
        return shown(self._parts.dictionary.words, "strict")

    @functools.cached_property
    def labels(self) -> list[str]:
        """The labels; the words, if the model is not supervised."""
        return shown(self._parts.dictionary.labels, "strict") if self.is_supervised else self.words

    @property
    def is_supervised(self) -> bool:
        """Whether the model predicts labels."""
        return self._parts.header.model == "sup"

    def __getitem__(self, word: str) -> Floats:
        """The vector of a word, seen or not."""
        return self.get_word_vector(word)

    def __contains__(self, word: object) -> bool:
        """Whether a word is in the dictionary."""
        return word in self._vectors.key_to_index

    def is_quantized(self) -> bool:
        """Whether the rows are kept as codes (a .ftz file)."""
        return self._parts.is_quantised

    def get_dimension(self) -> int:
        """Numbers in a vector."""
        return self._parts.header.dim

    def get_words(
        self, include_freq: bool = False, on_unicode_error: str = "strict"
    ) -> list[str] | tuple[list[str], Counts]:
        """The words, most frequent first; with `include_freq`, also how often each was seen."""
        dictionary = self._parts.dictionary
        words = shown(dictionary.words, on_unicode_error)
        return (words, dictionary.word_counts.copy()) if include_freq else words

    def get_labels(
        self, include_freq: bool = False, on_unicode_error: str = "strict"
    ) -> list[str] | tuple[list[str], Counts]:
        """The labels; the words, if the model is not supervised."""
        if not self.is_supervised:
            return self.get_words(include_freq, on_unicode_error)
        dictionary = self._parts.dictionary
        labels = shown(dictionary.labels, on_unicode_error)
        return (labels, dictionary.label_counts.copy()) if include_freq else labels

    def get_entries(self) -> Iterator[tuple[str, int, str]]:
        """All words and labels with their counts, and which of both they are."""
        dictionary = self._parts.dictionary
        yield from zip(dictionary.words, dictionary.word_counts.tolist(), repeat("word"), strict=False)
        yield from zip(dictionary.labels, dictionary.label_counts.tolist(), repeat("label"), strict=False)

    def get_arguments(self) -> dict[str, int | float | str]:
        """What the model was trained with, as far as its file says, by fastText's names."""
        header = self._parts.header
        loss = {"ova": "one-vs-all"}.get(header.loss, header.loss)
        names = (
            "dim",
            "ws",
            "epoch",
            "minCount",
            "neg",
            "wordNgrams",
            "loss",
            "model",
            "bucket",
            "minn",
            "maxn",
            "lrUpdateRate",
            "t",
        )
        values = (
            header.dim,
            header.ws,
            header.epoch,
            header.min_count,
            header.neg,
            header.word_ngrams,
            loss,
            header.model,
        )
        return dict(
            zip(
                names,
                (*values, header.bucket, header.minn, header.maxn, header.lr_update_rate, header.t),
                strict=True,
            )
        )

    def get_word_id(self, word: str) -> int:
        """The number of a word in the dictionary, where labels stand behind the words.

        -1 if it is not there.
        """
        word = canonical(word)
        if word in self._labels:
            return len(self._vectors) + self._labels[word]
        return self._vectors.key_to_index.get(word, -1)

    def get_label_id(self, label: str) -> int:
        """The number of a label; -1 if there is no such label."""
        return self._labels.get(canonical(label), -1)

    def get_subword_id(self, subword: str) -> int:
        """The row of the input matrix that a character n-gram has, together with others."""
        if not self._parts.header.bucket:
            raise DataError("get_subword_id: this model has no buckets; it was trained without n-grams")
        return len(self._vectors) + word_hash(canonical(subword)) % self._parts.header.bucket

    def get_subwords(self, word: str, on_unicode_error: str = "strict") -> tuple[list[str], Counts]:
        """A word, if it is known, and its n-grams, with their rows in the input matrix.

        N-grams that were pruned are left out.
        """
        word = canonical(word)
        subwords = self._parts.rows.subwords
        names, rows = [word], np.array([self._vectors.key_to_index.get(word, -1)], np.int64)
        if subwords.maxn:
            names += subwords.ngrams(word)
            rows = np.concatenate([rows, self._parts.numbers(subwords.ids(word))])
        known = [name for name, row in zip(names, rows, strict=True) if row >= 0]
        return shown(known, on_unicode_error), rows[rows >= 0]

    def get_ngram_vectors(self, word: str) -> list[tuple[str, Floats]]:
        """A word, if it is known, and its n-grams, with their rows.

        What fastText's program prints with print-ngrams.
        """
        names, numbers = self.get_subwords(word, "surrogateescape")
        return [
            (name, self.get_input_vector(int(number))) for name, number in zip(names, numbers, strict=True)
        ]

    def get_input_vector(self, ind: int) -> Floats:
        """A row of the input matrix."""
        return self._parts.input_row(whole("ind", ind, 0))

    def get_input_matrix(self) -> Floats:
        """The input matrix: rows of words, then of buckets. That of a file is mapped and read-only."""
        if self.is_quantized():
            raise ConfigError(
                "get_input_matrix: the rows of this model are quantised; get_input_vector gives one of them"
            )
        return self._parts.input_matrix()

    def get_output_matrix(self) -> Floats:
        """The output matrix: a row for each label or word; with loss hs, for each inner node of the tree.

        As `get_input_matrix`.
        """
        if not isinstance(self._parts.output, np.ndarray):
            raise ConfigError("get_output_matrix: the output rows of this model are quantised")
        return np.asarray(self._parts.output)

    def get_word_vector(self, word: str) -> Floats:
        """The vector of a word, seen or not; zeros if it has neither a row nor n-grams."""
        return self._parts.rows.mean(self._lines.word_rows(canonical(word)))

    def get_sentence_vector(self, text: str) -> Floats:
        """The vector of a line.

        Of a supervised model: the mean of all rows that stand for the line. Otherwise: the mean of the words'
        vectors, each at length 1.
        """
        return self.line_vector(ended(text, "get_sentence_vector"))

    def line_vector(self, line: str) -> Floats:
        """`get_sentence_vector` of a line as it stands in a file.

        With its end, unless the file ends there.
        """
        if self.is_supervised:
            return self._parts.rows.mean(self._lines.rows(self._lines.split(line).words))
        units = [unit(self.get_word_vector(word)) for word in WORD.findall(line)]
        units = [vector for vector in units if vector.any()]
        total = sum(units, np.zeros(self.get_dimension(), np.float32))
        return np.asarray(total * np.float32(1.0 / max(1, len(units))))

    def get_nearest_neighbors(self, word: str, k: int = 10, on_unicode_error: str = "strict") -> Neighbours:
        """The words nearest to a word, seen or not: (cosine, word), best first.

        None to a word whose vector is all zeros.
        """
        return self._nearest([word], [], k, on_unicode_error)

    def get_analogies(
        self, wordA: str, wordB: str, wordC: str, k: int = 10, on_unicode_error: str = "strict"
    ) -> Neighbours:
        """The words nearest to A - B + C: (cosine, word), best first."""
        return self._nearest([wordA, wordC], [wordB], k, on_unicode_error)

    def _nearest(self, added: list[str], subtracted: list[str], k: int, on_unicode_error: str) -> Neighbours:
        whole("k", k, 1)
        units = [self._unit(word) for word in added] + [-self._unit(word) for word in subtracted]
        query = np.sum(units, axis=0)
        if not query.any():
            return []
        asked = {canonical(word) for word in (*added, *subtracted)}
        near = self._vectors.similar_by_vector(query, topn=k + len(asked))
        found = [pair for pair in near if pair[0] not in asked][:k]
        words = shown([word for word, _ in found], on_unicode_error)
        return [(cosine, word) for word, (_, cosine) in zip(words, found, strict=True)]

    def _unit(self, word: str) -> Floats:
        vector = self.get_word_vector(word)
        if not np.isfinite(vector).all():
            raise DataError(
                f"{word!r}: its vector is not finite, so it has no neighbours; train again, with a lower rate"
            )
        return unit(vector)


def ended(text: str, asked: str) -> str:
    """A line with its end; a `ConfigError` if it is more than one."""
    if "\n" in text:
        raise ConfigError(f"{asked}: a line with a line feed in it; give one line at a time (remove '\\n')")
    return canonical(text) + "\n"


def unit(vector: Floats) -> Floats:
    """A vector at length 1; zeros stay zeros."""
    length = np.sqrt(np.dot(vector, vector))
    return np.asarray(vector / length) if length > 0 else vector


def shown(words: Iterable[str], on_unicode_error: str) -> list[str]:
    """Words whose bytes may not be UTF-8, treated as `bytes.decode` does."""
    return [word if word.isascii() else encode_word(word).decode("utf-8", on_unicode_error) for word in words]
