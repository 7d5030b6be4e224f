"""Copy changes that a user made to `wv` back into the model.

In gensim, `wv` holds the model's own matrix of input vectors. Here a change may give `wv` another matrix, so
the model takes it over before it trains or is saved. Added words have the count 0, and output rows of zeros
until they are trained.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from unhot.errors import DataError
from unhot.kernels.loop import Params
from unhot.models.learned_words import LearnedWords
from unhot.models.starting_point import from_learned
from unhot.models.state import FitState
from unhot.models.word_model import WordModel
from unhot.outputs import OutputLayer
from unhot.train.history import History
from unhot.types import Floats
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary, encode_word

NONE = np.zeros(0, np.float32)


def vocabulary_of(wv: Vectors, before: Vocabulary) -> Vocabulary:
    """Return the vocabulary of `wv`; this is the object `before` if nothing changed."""
    counts = np.zeros(len(wv), np.int64) if wv.counts is None else wv.counts
    if wv.words == before.words and np.array_equal(counts, before.counts):
        return before
    return ordered(dict(zip(wv.words, counts.tolist(), strict=True)))


def ordered(counts: Mapping[str, int]) -> Vocabulary:
    """Return a vocabulary of all words, the most frequent first.

    Unlike `Vocabulary.from_counts`, this keeps words with a count of 0.
    """
    words = sorted(counts, key=lambda word: (-counts[word], encode_word(word)))
    return Vocabulary(words, [counts[word] for word in words])


def rows_of(wv: Vectors, vocabulary: Vocabulary) -> Floats:
    """Return the vectors of a vocabulary's words; this is the matrix itself if the order is the same."""
    vectors = np.asanyarray(wv.vectors, dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(wv.words):
        raise DataError(
            f"wv.vectors has shape {vectors.shape}: give one row for each of the {len(wv.words)} words"
        )
    if wv.words == vocabulary.words:
        return vectors
    return vectors[[wv.get_index(word) for word in vocabulary.words]]


def take_over(model: WordModel, vocabulary: Vocabulary, wv: Vectors) -> None:
    """Give a model the words and vectors of `wv`; an untrained model gets nothing else."""
    rows = rows_of(wv, vocabulary)
    if model.vocabulary is None:
        model.fit_state = FitState(untrained(model.layer, vocabulary, rows), History())
    elif rows is not model.learned.params.in_vectors or vocabulary != model.vocabulary:
        model.fit_state = FitState(edited(model.learned, vocabulary, rows), model.history)


def check_finite(vocabulary: Vocabulary, rows: Floats) -> None:
    """Raise a `DataError` if a vector has a number that is not finite: training cannot start from it."""
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        raise DataError(
            f"wv: the vector of {vocabulary.words[bad[0]]!r} has a number that is not finite; give the word "
            "another vector"
        )


def untrained(layer: OutputLayer, vocabulary: Vocabulary, rows: Floats) -> LearnedWords:
    """Return learned words with the given input vectors, and all other parameters as before training."""
    counts, biases = vocabulary.counts, layer.biases()
    params = Params(
        in_vectors=rows,
        out_vectors=np.zeros((layer.rows(counts), rows.shape[1]), np.float32),
        out_bias=layer.start_bias(counts).astype(np.float32) if biases.out else NONE,
        in_bias=np.zeros(len(vocabulary) if biases.each_input else 0, np.float32),
        ln_z=np.zeros(int(biases.ln_z), np.float32),
    )
    return LearnedWords(
        layer=layer,
        in_vocabulary=vocabulary,
        out_vocabulary=vocabulary,
        params=params,
        seen=np.zeros(0, np.int64),
        frozen=np.zeros(0, np.uint8),
    )


def edited(old: LearnedWords, vocabulary: Vocabulary, rows: Floats) -> LearnedWords:
    """Return the learned words with other input vectors and perhaps more words.

    If new words change the tree of the output layer, its nodes start from zero again.
    """
    if vocabulary == old.in_vocabulary:
        return replace(old, params=old.params._replace(in_vectors=rows), file=None)
    new = untrained(old.layer, vocabulary, rows)
    if not old.layer.rows_are_words:
        return new
    start = from_learned(old, vocabulary, vocabulary, old.layer)
    start._replace(params=start.params._replace(in_vectors=NONE)).fill(new.params)
    return replace(new, seen=start.seen)
