"""A model with the methods of fastText's Python module: read from a fastText file, or trained by unhot."""

import functools
import os
from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from unhot.compat.fasttext.meter import Meter
from unhot.compat.fasttext.model_parts import LONG_MODELS, Parts, open_parts
from unhot.errors import ConfigError, DataError, whole
from unhot.lines.choosing import LabelScorer, check_asked, choose
from unhot.lines.fasttext_losses import FastTextScorer
from unhot.lines.line_rows import WORD, LineRows, classifier_lines
from unhot.lines.run_hashes import word_hash
from unhot.types import Counts, Floats
from unhot.vectors.formats.fasttext.model_file import matrix_rows
from unhot.vectors.subword_vectors import SubwordVectors
from unhot.vocab.vocabulary import canonical, decode_word, encode_word

PathLike = str | os.PathLike[str]
Neighbours = list[tuple[float, str]]  # (cosine, word), best first


class Predictions(NamedTuple):
    """Predicted labels, the most probable first, and their probabilities."""

    labels: list[str]
    probabilities: Floats


class FastText:
    """A fastText model: words, their vectors and, if it is supervised, predictions.

    `load_model` and `train_unsupervised` return it.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        dictionary = parts.dictionary
        self._vectors = SubwordVectors(dictionary.words, dictionary.word_counts, parts.rows)
        self._labels = {label: id for id, label in enumerate(dictionary.labels)}
        self._lines = LineRows(self._vectors.key_to_index, parts.rows, parts.header.word_ngrams, self._labels)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the parts and the training parameters; what is made of them is made again."""
        given = {name: value for name, value in self.__dict__.items() if not name.startswith("_")}
        return type(self), (self._parts,), given

    @property
    def vectors(self) -> SubwordVectors:
        """The words and their vectors as an unhot object, with all methods of `unhot.Vectors`."""
        return self._vectors

    @functools.cached_property
    def words(self) -> list[str]:
        """The words, most frequent first."""
        return shown(self._parts.dictionary.words, "strict")

    @functools.cached_property
    def labels(self) -> list[str]:
        """The labels, or the words if the model is not supervised."""
        return shown(self._parts.dictionary.labels, "strict") if self.is_supervised else self.words

    @property
    def is_supervised(self) -> bool:
        """Whether the model predicts labels."""
        return self._parts.header.model == "sup"

    def __getitem__(self, word: str) -> Floats:
        """Return the vector of any word, known or not."""
        return self.get_word_vector(word)

    def __contains__(self, word: object) -> bool:
        """Return whether a word is in the dictionary."""
        return word in self._vectors.key_to_index

    def is_quantized(self) -> bool:
        """Return whether the rows are stored as codes (a .ftz file)."""
        return not isinstance(self._parts.rows.matrix, np.ndarray)

    def get_dimension(self) -> int:
        """Return the number of numbers in a vector."""
        return self._parts.header.dim

    def get_words(
        self, include_freq: bool = False, on_unicode_error: str = "strict"
    ) -> list[str] | tuple[list[str], Counts]:
        """Return the words, most frequent first; with `include_freq`, also their counts."""
        dictionary = self._parts.dictionary
        words = shown(dictionary.words, on_unicode_error)
        return (words, dictionary.word_counts.copy()) if include_freq else words

    def get_labels(
        self, include_freq: bool = False, on_unicode_error: str = "strict"
    ) -> list[str] | tuple[list[str], Counts]:
        """Return the labels, or the words if the model is not supervised; also counts if `include_freq`."""
        if not self.is_supervised:
            return self.get_words(include_freq, on_unicode_error)
        dictionary = self._parts.dictionary
        labels = shown(dictionary.labels, on_unicode_error)
        return (labels, dictionary.label_counts.copy()) if include_freq else labels

    def get_entries(self) -> Iterator[tuple[str, int, str]]:
        """Yield all words and labels, each with its count and "word" or "label"."""
        dictionary = self._parts.dictionary
        yield from zip(dictionary.words, dictionary.word_counts.tolist(), repeat("word"), strict=False)
        yield from zip(dictionary.labels, dictionary.label_counts.tolist(), repeat("label"), strict=False)

    def get_arguments(self) -> dict[str, int | float | str]:
        """Return the training parameters that the model's file stores, with fastText's names."""
        header = self._parts.header
        return {
            "dim": header.dim,
            "ws": header.ws,
            "epoch": header.epoch,
            "minCount": header.min_count,
            "neg": header.neg,
            "wordNgrams": header.word_ngrams,
            "loss": {"ova": "one-vs-all"}.get(header.loss, header.loss),
            "model": header.model,
            "bucket": header.bucket,
            "minn": header.minn,
            "maxn": header.maxn,
            "lrUpdateRate": header.lr_update_rate,
            "t": header.t,
        }

    def get_word_id(self, word: str) -> int:
        """Return the number of a word or label in the dictionary, where labels come after words.

        Return -1 if it is not there.
        """
        word = canonical(word)
        if word in self._labels:
            return len(self._vectors) + self._labels[word]
        return self._vectors.key_to_index.get(word, -1)

    def get_label_id(self, label: str) -> int:
        """Return the number of a label; -1 if there is no such label."""
        return self._labels.get(canonical(label), -1)

    def get_subword_id(self, subword: str) -> int:
        """Return the row of the input matrix that a character n-gram shares with others."""
        if not self._parts.header.bucket:
            raise DataError("get_subword_id: this model was trained without n-grams, so it has no buckets")
        return len(self._vectors) + word_hash(canonical(subword)) % self._parts.header.bucket

    def get_subwords(self, word: str, on_unicode_error: str = "strict") -> tuple[list[str], Counts]:
        """Return a word, if it is known, and its n-grams, with their row numbers in the input matrix.

        Pruned n-grams are left out.
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
        """Return a word, if it is known, and its n-grams, with their vectors.

        fastText's command print-ngrams prints the same.
        """
        names, numbers = self.get_subwords(word, "surrogateescape")
        return [
            (name, self.get_input_vector(int(number))) for name, number in zip(names, numbers, strict=True)
        ]

    def get_input_vector(self, ind: int) -> Floats:
        """Return a row of the input matrix."""
        return self._parts.input_row(whole("ind", ind, 0))

    def get_input_matrix(self) -> Floats:
        """Return the input matrix: rows of words, then of buckets.

        From a file it is mapped: a change in place changes the answers of this model, but not the file.
        """
        if self.is_quantized():
            raise ConfigError(
                "get_input_matrix: the rows of this model are quantised; use get_input_vector for single rows"
            )
        return self._parts.input_matrix()

    def get_output_matrix(self) -> Floats:
        """Return the output matrix: a row for each label or word, or for each inner tree node (loss hs).

        From a file it is mapped, as the input matrix is.
        """
        if not isinstance(self._parts.output, np.ndarray):
            raise ConfigError("get_output_matrix: the output rows of this model are quantised")
        return np.asarray(self._parts.output)

    def get_word_vector(self, word: str) -> Floats:
        """Return the vector of any word, known or not; zeros if it has neither a row nor n-grams."""
        return self._parts.rows.composed(self._lines.word_rows(canonical(word)))

    def get_sentence_vector(self, text: str) -> Floats:
        """Return the vector of a line.

        In a supervised model, this is the mean of all rows of the line; otherwise, the mean of the unit
        vectors of its words.
        """
        return self.line_vector(ended(text, "get_sentence_vector"))

    def line_vector(self, line: str) -> Floats:
        """Return the vector of a line as it is in a file: with its line feed, if it has one."""
        if self.is_supervised:
            return self._parts.rows.composed(self._lines.rows(self._lines.split(line).words))
        units = [unit(self.get_word_vector(word)) for word in WORD.findall(line)]
        units = [vector for vector in units if vector.any()]
        total = sum(units, np.zeros(self.get_dimension(), np.float32))
        return np.asarray(total * np.float32(1.0 / max(1, len(units))))

    def get_nearest_neighbors(self, word: str, k: int = 10, on_unicode_error: str = "strict") -> Neighbours:
        """Return the words nearest to any word, known or not: (cosine, word), best first.

        A word whose vector is all zeros has no neighbours.
        """
        return self._nearest([word], [], k, on_unicode_error)

    def get_analogies(
        self, wordA: str, wordB: str, wordC: str, k: int = 10, on_unicode_error: str = "strict"
    ) -> Neighbours:
        """Return the words nearest to A - B + C: (cosine, word), best first."""
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
                f"{word!r}: its vector is not finite, so it has no neighbours; train again with a lower rate"
            )
        return unit(vector)

    def save_model(self, path: PathLike) -> None:
        """Write a `.bin` (or `.ftz`) file that fastText can read.

        An existing file is replaced only when the new one is complete.
        """
        self._parts.write(Path(path))

    def get_line(self, text: str | list[str], on_unicode_error: str = "strict") -> Any:
        """Return the words of a line, including its end `</s>`, and the labels that the model knows.

        For a list of lines, return lists of both.
        """
        if isinstance(text, list):
            pairs = [self.get_line(line, on_unicode_error) for line in text]
            return [words for words, _ in pairs], [labels for _, labels in pairs]
        line = self._lines.split(ended(text, "get_line"))
        return shown(line.words, on_unicode_error), shown(line.labels, on_unicode_error)

    def predict(
        self, text: str | list[str], k: int = 1, threshold: float = 0.0, on_unicode_error: str = "strict"
    ) -> Any:
        """Predict at most k labels of a line (-1: all) with a probability of at least the threshold.

        Return labels and probabilities; for a list of lines, lists of both.
        """
        if isinstance(text, list):
            found = [self.predict_line(ended(line, "predict"), k, threshold) for line in text]
            labels = [shown(one.labels, on_unicode_error) for one in found]
            return labels, [one.probabilities for one in found]
        one = self.predict_line(ended(text, "predict"), k, threshold)
        return tuple(shown(one.labels, on_unicode_error)), one.probabilities.astype(np.float64)

    def predict_line(self, line: str, k: int = 1, threshold: float = 0.0) -> Predictions:
        """Predict labels for a line as it is in a file: with its line feed, if it has one."""
        return self._predict(self._lines.rows(self._lines.split(line).words), k, threshold)

    def _predict(self, rows: Counts, k: int, threshold: float) -> Predictions:
        scorer = self._scorer
        check_asked(k, threshold)
        if not len(rows):
            return Predictions([], np.empty(0, np.float32))
        found = choose(scorer, self._parts.rows.composed(rows)[None], k, threshold)
        labels = self._parts.dictionary.labels
        return Predictions([labels[id] for id in found.labels], found.probabilities.astype(np.float32))

    @functools.cached_property
    def _scorer(self) -> LabelScorer:
        if not self.is_supervised:
            raise ConfigError(
                f"predict: this is a {LONG_MODELS[self._parts.header.model]} model; "
                "only supervised models predict labels"
            )
        counts = self._parts.dictionary.label_counts
        rows = matrix_rows(self._parts.output, np.arange(counts.size))
        return FastTextScorer(self._parts.header.loss, rows, counts)

    def test(self, path: PathLike, k: int = 1, threshold: float = 0.0) -> tuple[int, float, float]:
        """Return the number of lines with labels in a file, and precision and recall of predictions."""
        meter = self.measured(lines_of(path), k, threshold)
        return meter.examples, meter.precision(), meter.recall()

    def test_label(self, path: PathLike, k: int = 1, threshold: float = 0.0) -> dict[str, dict[str, float]]:
        """Return precision, recall and F1 of each label."""
        meter = self.measured(lines_of(path), k, threshold)
        figures = {"precision": meter.precision, "recall": meter.recall, "f1score": meter.f1}
        labels = self._parts.dictionary.labels
        return {label: {name: figure(label) for name, figure in figures.items()} for label in labels}

    def measured(self, lines: Iterable[str], k: int, threshold: float) -> Meter:
        """Compare predictions with labels; lines without a label or a word are left out."""
        meter = Meter()
        for text in lines:
            words, labels = self._lines.split(text)
            rows = self._lines.rows(words)
            if labels and len(rows):
                meter.add(labels, self._predict(rows, k, threshold).labels)
        return meter

    def quantize(self, *arguments: Any, **parameters: Any) -> NoReturn:
        """Raise a `ConfigError`: unhot reads quantised files, but cannot make them yet."""
        raise ConfigError("quantize: unhot reads quantised models (.ftz), but cannot make them yet")


def load_model(path: PathLike) -> FastText:
    """Open a `.bin` or `.ftz` file that fastText wrote, memory-mapped."""
    return FastText(open_parts(Path(path)))


def lines_of(path: PathLike) -> Iterable[str]:
    """Yield the lines of a file for a classifier, with their ends."""
    try:
        with Path(path).open("rb") as file:
            yield from classifier_lines(map(decode_word, file))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error


def ended(text: str, asked: str) -> str:
    """Return a line with a line feed at its end; raise a `ConfigError` if it is more than one line."""
    if "\n" in text:
        raise ConfigError(f"{asked}: the text contains a line feed; give one line at a time (remove '\\n')")
    return canonical(text) + "\n"


def unit(vector: Floats) -> Floats:
    """Return a vector divided by its length; zeros stay zeros."""
    length = np.sqrt(np.dot(vector, vector))
    return np.asarray(vector / length) if length > 0 else vector


def shown(words: Iterable[str], on_unicode_error: str) -> list[str]:
    """Return words whose bytes may not be UTF-8, with errors handled as in `bytes.decode`."""
    return [word if word.isascii() else encode_word(word).decode("utf-8", on_unicode_error) for word in words]
