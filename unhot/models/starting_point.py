"""The rows that a training starts from: random, given vectors, another model, or a saved state.

Words are matched by their spelling. A known word starts with its old input vector. It also keeps its old
output vector and bias if the output layer has one for each word (`OutputLayer.grown_rows` says which row that
is). A new word starts at random, as always.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import ConfigError, DataError
from unhot.kernels.loop import Params
from unhot.kernels.simd.rows import as_floats
from unhot.models.learned_words import NO_ARRAYS, LearnedWords
from unhot.models.ngram_rows import NO_KEYS, old_rows
from unhot.outputs import OutputLayer
from unhot.types import Bytes, Counts, Floats, Ids
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary

BLOCK = 1 << 14  # rows copied at a time
NONE = np.zeros(0, np.float32)
KNOWN = "known"  # the value of `frozen` that means all words of `start`


class StartingPoint(NamedTuple):
    """The rows that a training starts from, and which new row takes which of them."""

    params: Params  # the old params; an array of size zero has no old values
    in_rows: Ids  # [input rows] the old row that each new row starts from; -1: none
    out_rows: Ids  # [output rows] likewise
    seen: Counts  # [words] the counts of learned noise, or empty; see `LearnedWords`
    own: Mapping[str, Any] = NO_ARRAYS  # see `LearnedWords`
    squares: Mapping[str, Any] = NO_ARRAYS  # likewise

    def fill(self, params: Params) -> None:
        """Copy the old rows into new params."""
        _copy(self.params.in_vectors, self.in_rows, params.in_vectors)
        _copy(self.params.in_bias, self.in_rows, params.in_bias)
        _copy(self.params.out_vectors, self.out_rows, params.out_vectors)
        _copy(self.params.out_bias, self.out_rows, params.out_bias)
        if self.params.ln_z.size:
            params.ln_z[:1] = self.params.ln_z[:1]


def from_learned(
    old: LearnedWords, inputs: Vocabulary, targets: Vocabulary, layer: OutputLayer, keys: Counts = NO_KEYS
) -> StartingPoint:
    """Start from a model, which may be the same one, with its own words and new ones.

    `inputs` and `targets` are the new vocabularies, `keys` are the keys of the new input rows (`NgramRows`).
    """
    check_layer(layer, old.layer)
    if (inputs, targets) == (old.in_vocabulary, old.out_vocabulary):
        same = np.arange(len(inputs), dtype=np.int32)
        outputs = np.arange(len(old.params.out_vectors), dtype=np.int32)
        rows = _input_rows(old, keys, same)
        return StartingPoint(old.params, rows, outputs, old.seen, old.own, old.squares)
    moved = _moved(old.in_vocabulary, inputs)
    moved_targets = _moved(old.out_vocabulary, targets)
    seen = np.where(moved_targets >= 0, old.seen[moved_targets], 1) if old.seen.size else old.seen
    return StartingPoint(old.params, _input_rows(old, keys, moved), layer.grown_rows(moved_targets), seen)


def _moved(old: Vocabulary, vocabulary: Vocabulary) -> Ids:
    """Return the old id of each word, -1 for new words; raise a `DataError` if an old word is missing."""
    lost = old.index.keys() - vocabulary.index.keys()
    if lost:
        raise DataError(
            f"{len(lost)} words of the model to start from, such as {min(lost)!r}, are not in the "
            "vocabulary; leave counts out"
        )
    return _rows(old.index, vocabulary)


def _input_rows(old: LearnedWords, keys: Counts, moved: Ids) -> Ids:
    """Return the old row of each input row, given the old id of each word."""
    return old_rows(keys, old.keys, moved) if keys.size else moved


def from_vectors(vectors: Vectors, vocabulary: Vocabulary) -> StartingPoint:
    """Start from given input vectors, for the words that have one."""
    rows = _rows(vectors.key_to_index, vocabulary)
    if not (rows >= 0).any():
        raise DataError(
            f"start: none of the {len(vectors)} words with vectors is among the {len(vocabulary)} words of "
            "the text"
        )
    used = rows[rows >= 0]
    bad = used[~np.isfinite(vectors.norms[used])]
    if bad.size:
        raise DataError(
            f"start: the vector of {vectors.words[int(bad[0])]!r} has a number that is not finite; leave "
            "this word out"
        )
    return StartingPoint(
        Params(vectors.vectors, NONE, NONE, NONE, NONE), rows, np.zeros(0, np.int32), np.zeros(0, np.int64)
    )


def check_frozen(frozen: object, has_start: bool) -> None:
    """Raise a `ConfigError` unless `frozen` is None, a list of words, or "known" with a start.

    This is called before the text is read.
    """
    words = frozen is None or (isinstance(frozen, Iterable) and not isinstance(frozen, (str, bytes)))
    if not words and not (frozen == KNOWN and has_start):
        raise ConfigError(f"frozen={frozen!r}: must be a list of words, or {KNOWN!r} together with start")


def check_layer(layer: OutputLayer, old: OutputLayer) -> None:
    """Raise a `ConfigError` unless the model to start from has the same output layer."""
    if layer != old:
        raise ConfigError(
            f"output={layer.spec()}: the model to start from has {old.spec()}; use the same layer, or start "
            "from its vectors alone"
        )


def frozen_words(
    frozen: str | Iterable[str] | None, vocabulary: Vocabulary, start: StartingPoint | None
) -> Bytes:
    """Return 1 for each word whose input vector must not change; an empty array if there is none."""
    mask = np.zeros(len(vocabulary), np.uint8)
    if frozen == KNOWN and start is not None:
        mask[start.in_rows >= 0] = 1
    elif frozen is not None:
        mask[[vocabulary.id(word) for word in frozen]] = 1
    return mask if mask.any() else mask[:0]


def _rows(index: dict[str, int], vocabulary: Vocabulary) -> Ids:
    return np.array([index.get(word, -1) for word in vocabulary.words], dtype=np.int32)


def _copy(source: Floats, rows: Ids, target: Floats) -> None:
    """Set target[i] = source[rows[i]] where rows[i] >= 0.

    Extra rows and columns of the target (copies, padding) stay unchanged.
    """
    if source.size == 0 or target.size == 0:
        return
    numbers = as_floats(target)
    for first in range(0, len(rows), BLOCK):
        part = rows[first : first + BLOCK]
        known = np.flatnonzero(part >= 0)
        there = numbers[first : first + len(part)]
        there[(known, *map(slice, source.shape[1:]))] = source[part[known]]
