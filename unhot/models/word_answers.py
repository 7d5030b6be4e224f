"""What a model that predicts words answers: vectors, probabilities of words near others."""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unhot.errors import ConfigError, DataError, texts_of, whole
from unhot.models.learned_words import LearnedWords
from unhot.models.ngram_rows import bags_of
from unhot.outputs import Head
from unhot.types import Counts, Floats
from unhot.vectors.queries import KEYS
from unhot.vectors.store import Vectors
from unhot.vectors.subword_rows import SubwordRows
from unhot.vectors.subword_vectors import SubwordVectors
from unhot.vocab.subwords import Subwords


class WordInputs(NamedTuple):
    """The words of a model as inputs from which it predicts other words."""

    vectors: Floats  # [words, dim]
    bias: Floats  # [words], or empty
    sizes: Counts  # [words] the number of a word's rows, its weight in a mean of words; empty: all 1


class WordAnswers:
    """Answers about words that have one input row each."""

    def __init__(self, learned: LearnedWords, *, summed: bool = False) -> None:
        """Take what is learned; `summed`: several words together are their sum, not their mean."""
        self.learned, self.summed = learned, summed

    @functools.cached_property
    def vectors(self) -> Vectors:
        """The vectors of the words."""
        words = self.learned.in_vocabulary
        return Vectors(words.words, self.learned.params.in_vectors, words.counts)

    @functools.cached_property
    def out_vectors(self) -> Vectors:
        """The output vectors; raises a `ConfigError` unless the layer has one for each word."""
        return out_vectors_of(self.learned)

    @property
    def head(self) -> Head:
        """The trained output layer, which gives the probabilities of all words for a hidden vector."""
        return head_of(self.learned)

    def word_inputs(self) -> WordInputs:
        """Return the input vectors and biases of all words."""
        params = self.learned.params
        return WordInputs(params.in_vectors, params.in_bias, np.zeros(0, np.int64))

    def hidden(self, words: Sequence[str]) -> Floats:
        """Return the hidden vector of several words together: the mean or the sum of their vectors."""
        mean = mean_of(self.vectors, words)
        return np.float32(len(words)) * mean if self.summed else mean

    def predict_word(self, context: Sequence[str], topn: int = 10) -> list[tuple[str, float]]:
        """Return the words most likely to stand near the given ones, with their probabilities."""
        return predicted(self.learned, self.hidden(context), topn)


class SubwordAnswers(WordAnswers):
    """Answers about words that are made of n-grams."""

    def __init__(self, learned: LearnedWords, subwords: Subwords, *, by_rows: bool) -> None:
        """Take what is learned; `by_rows`: in a mean of words each counts by the number of its rows."""
        super().__init__(learned)
        self.subwords, self.by_rows = subwords, by_rows

    @functools.cached_property
    def vectors(self) -> SubwordVectors:
        """The word vectors, also those of unseen words."""
        learned, words = self.learned, self.learned.in_vocabulary
        rows = SubwordRows.of_keys(self.subwords, learned.params.in_vectors, learned.keys, len(words))
        return SubwordVectors(words.words, words.counts, rows)

    def hidden(self, words: Sequence[str]) -> Floats:
        """Return the mean of the words' vectors, or the mean of all their rows."""
        if not self.by_rows or not words:
            return super().hidden(words)
        own, known = self.subwords.own_rows, self.learned.in_vocabulary
        sizes = [self.subwords.ids(word).size + (own and word in known) for word in words]
        return np.average([self.vectors[word] for word in words], axis=0, weights=sizes).astype(np.float32)

    def word_inputs(self) -> WordInputs:
        """Return the input of each word: the mean or the sum of its bag.

        In cbow with combine=mean, all rows around a centre word form one bag, so each word counts by the size
        of its own bag.
        """
        learned, in_bias = self.learned, self.learned.params.in_bias
        bags = bags_of(learned.keys, learned.in_vocabulary, self.subwords)
        bias = np.add.reduceat(in_bias[bags.rows], bags.starts[:-1]) if in_bias.size else in_bias
        if self.subwords.combine == "sum":
            return WordInputs(self.vectors.vectors, bias, np.zeros(0, np.int64))
        sizes = np.diff(bags.starts)
        bias = bias / sizes if bias.size else bias
        return WordInputs(self.vectors.vectors, bias.astype(np.float32), sizes)


def out_vectors_of(learned: LearnedWords) -> Vectors:
    """Return the output vectors; raise a `ConfigError` unless the layer has one for each word."""
    layer, words = learned.layer, learned.out_vocabulary
    if not layer.rows_are_words:
        raise ConfigError(
            f"out_vectors: {layer.name} has no output row for each word; use model.head instead"
        )
    return Vectors(words.words, learned.params.out_vectors, words.counts)


def head_of(learned: LearnedWords) -> Head:
    """Return the trained output layer."""
    params, seen = learned.params, learned.seen
    ln_z = float(params.ln_z[0]) if params.ln_z.size else 0.0
    # learned noise drew from `seen`, which starts at one for each word
    counts = seen - 1 if seen.size else learned.out_vocabulary.counts
    bias = params.out_bias if params.out_bias.size else None
    return Head(learned.layer, counts, params.out_vectors, bias, ln_z)


def mean_of(vectors: Vectors, words: Sequence[str]) -> Floats:
    """Return the mean of the vectors of some words."""
    words = texts_of("words", words, KEYS)
    if not words:
        raise DataError("no words were given: give at least one word that the model knows")
    return np.asarray(np.mean([vectors[word] for word in words], axis=0, dtype=np.float32))


def predicted(learned: LearnedWords, hidden: Floats, topn: int) -> list[tuple[str, float]]:
    """Return the words that are most likely for a hidden vector, with their probabilities."""
    words = learned.out_vocabulary.words
    ids, log_prob = head_of(learned).topk(hidden, min(whole("topn", topn, 1), len(words)))
    return [(words[i], float(p)) for i, p in zip(ids, np.exp(log_prob), strict=True)]
