"""What was changed in `wv` between trainings, as what a model has learned.

In gensim `wv` is the model's own matrix of input vectors. Here a change may give `wv` another matrix: the
model takes it over before it trains or is saved. Words that were added have a count of 0 and output rows of
zeros until they are trained.
"""

from collections.abc import Mapping

import numpy as np

from unhot.errors import DataError
from unhot.kernels.loop import Params
from unhot.models.learned_words import LearnedWords
from unhot.models.starting_point import from_learned
from unhot.models.word_model import WordModel
from unhot.outputs import OutputLayer
from unhot.types import Floats
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary, encode_word

NONE = np.zeros(0, np.float32)


def vocabulary_of(wv: Vectors, before: Vocabulary) -> Vocabulary:
    """The words and counts of `wv`: the vocabulary there was before, if they are the same."""
    counts = np.zeros(len(wv), np.int64) if wv.counts is None else wv.counts
    if wv.words == before.words and np.array_equal(counts, before.counts):
        return before
    return ordered(dict(zip(wv.words, counts.tolist(), strict=True)))


def ordered(counts: Mapping[str, int]) -> Vocabulary:
    """All words, the most frequent first.

    Also those with a count of 0, which `Vocabulary.from_counts` drops.
    """
    words = sorted(counts, key=lambda word: (-counts[word], encode_word(word)))
    return Vocabulary(words, [counts[word] for word in words])


def rows_of(wv: Vectors, vocabulary: Vocabulary) -> Floats:
    """The vectors of a vocabulary's words: the matrix itself if its rows are in their order."""
    vectors = np.asanyarray(wv.vectors, dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(wv.words):
        raise DataError(
            f"wv.vectors of shape {vectors.shape}: give a row for each of the {len(wv.words)} words"
        )
    if wv.words == vocabulary.words:
        return vectors
    return vectors[[wv.get_index(word) for word in vocabulary.words]]


def take_over(model: WordModel, vocabulary: Vocabulary, wv: Vectors) -> None:
    """Let a model have the words and vectors of `wv`; one that has learned nothing has only these."""
    rows = rows_of(wv, vocabulary)
    if model.vocabulary is None:
        model.keep(untrained(model.layer, vocabulary, rows))
    elif rows is not model.learned.params.in_vectors or vocabulary != model.vocabulary:
        model.keep(edited(model.learned, vocabulary, rows))


def check_finite(vocabulary: Vocabulary, rows: Floats) -> None:
    """Raise a `DataError` that names a word from whose vector no training can begin."""
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        raise DataError(
            f"wv: the vector of {vocabulary.words[bad[0]]!r} holds a number that is not finite; give it "
            "another one"
        )


def untrained(layer: OutputLayer, vocabulary: Vocabulary, rows: Floats) -> LearnedWords:
    """Input vectors, and all else as it is before training."""
    counts, biases = vocabulary.counts, layer.biases()
    params = Params(
        in_vectors=rows,
        out_vectors=np.zeros((layer.rows(counts), rows.shape[1]), np.float32),
        out_bias=layer.start_bias(counts).astype(np.float32) if biases.out else NONE,
        in_bias=np.zeros(len(vocabulary) if biases.each_input else 0, np.float32),
        ln_z=np.zeros(int(biases.ln_z), np.float32),
    )
    return LearnedWords(
        layer, vocabulary, vocabulary, params, seen=np.zeros(0, np.int64), frozen=np.zeros(0, np.uint8)
    )


def edited(old: LearnedWords, vocabulary: Vocabulary, rows: Floats) -> LearnedWords:
    """What was learned, with other input vectors and perhaps more words.

    Of a tree that these change, the nodes begin anew.
    """
    if vocabulary == old.in_vocabulary:
        return old._replace(params=old.params._replace(in_vectors=rows))
    new = untrained(old.layer, vocabulary, rows)
    if not old.layer.rows_are_words:
        return new
    start = from_learned(old, vocabulary, vocabulary, old.layer)
    start._replace(params=start.params._replace(in_vectors=NONE)).fill(new.params)
    return new._replace(seen=start.seen)
