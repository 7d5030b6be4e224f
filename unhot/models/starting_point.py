"""Where a training begins: at random, from given vectors, from another model, or where it was cut off.

Words are matched by their spelling. A word that was known begins with its old input vector, and with its old
output vector and bias where the output layer has one for each word (`OutputLayer.grown_rows` says which row
that is); a new one begins as new words always do.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import ConfigError, DataError
from unhot.kernels.loop import Params
from unhot.kernels.simd.rows import as_floats
from unhot.models.learned_words import LearnedWords
from unhot.models.ngram_rows import NO_KEYS, old_rows
from unhot.outputs import OutputLayer
from unhot.types import Bytes, Counts, Floats, Ids
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary

BLOCK = 1 << 14  # rows copied at a time
NONE = np.zeros(0, np.float32)
KNOWN = "known"  # frozen: all words that the start has


class StartingPoint(NamedTuple):
    """Rows to begin from."""

    params: Params  # a size of zero: nothing to begin from
    in_rows: Ids  # [input rows] the row that each goes on from; -1: none
    out_rows: Ids  # [output rows] likewise
    seen: Counts  # [words], or empty
    own: Mapping[str, Any] = MappingProxyType({})  # see `LearnedWords`
    squares: Mapping[str, Any] = MappingProxyType({})  # likewise

    def fill(self, params: Params) -> None:
        """Write the rows into new params."""
        _copy(self.params.in_vectors, self.in_rows, params.in_vectors)
        _copy(self.params.in_bias, self.in_rows, params.in_bias)
        _copy(self.params.out_vectors, self.out_rows, params.out_vectors)
        _copy(self.params.out_bias, self.out_rows, params.out_bias)
        if self.params.ln_z.size:
            params.ln_z[:1] = self.params.ln_z[:1]


def from_learned(
    old: LearnedWords, inputs: Vocabulary, targets: Vocabulary, layer: OutputLayer, keys: Counts = NO_KEYS
) -> StartingPoint:
    """Go on with a model, which may be the same one, with its own words and new ones.

    `inputs` is what goes in from now on, `targets` what is predicted, `keys` what the input rows are.
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
    """The old id of each word, -1 for new ones; none may be lost."""
    lost = old.index.keys() - vocabulary.index.keys()
    if lost:
        raise DataError(
            f"{len(lost)} words of the model to start from are not in the vocabulary, such as "
            f"{min(lost)!r}; leave counts out"
        )
    return _rows(old.index, vocabulary)


def _input_rows(old: LearnedWords, keys: Counts, moved: Ids) -> Ids:
    """The old row of each input row, from the old id of each word."""
    return old_rows(keys, old.keys, moved) if keys.size else moved


def from_vectors(vectors: Vectors, vocabulary: Vocabulary) -> StartingPoint:
    """Begin with given input vectors where there is one for a word."""
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
            f"start: the vector of {vectors.words[int(bad[0])]!r} holds a number that is not finite; leave "
            "it out"
        )
    return StartingPoint(
        Params(vectors.vectors, NONE, NONE, NONE, NONE), rows, np.zeros(0, np.int32), np.zeros(0, np.int64)
    )


def check_frozen(frozen: object, has_start: bool) -> None:
    """Raise a `ConfigError` for what cannot say which words are frozen.

    Better before a text is read than after it.
    """
    words = frozen is None or (isinstance(frozen, Iterable) and not isinstance(frozen, (str, bytes)))
    if not words and not (frozen == KNOWN and has_start):
        raise ConfigError(f"frozen={frozen!r}: must be a list of words, or {KNOWN!r} together with start")


def check_layer(layer: OutputLayer, old: OutputLayer) -> None:
    """Raise a `ConfigError` if a model of one layer cannot go on with another."""
    if layer != old:
        raise ConfigError(
            f"output={layer.spec()}: the model to start from has {old.spec()}; use the same, or start from "
            "its vectors alone"
        )


def frozen_words(
    frozen: str | Iterable[str] | None, vocabulary: Vocabulary, start: StartingPoint | None
) -> Bytes:
    """1 for each word whose input vector stays as it is; of size zero if none does."""
    mask = np.zeros(len(vocabulary), np.uint8)
    if frozen == KNOWN and start is not None:
        mask[start.in_rows >= 0] = 1
    elif frozen is not None:
        mask[[vocabulary.id(word) for word in frozen]] = 1
    return mask if mask.any() else mask[:0]


def _rows(index: dict[str, int], vocabulary: Vocabulary) -> Ids:
    return np.array([index.get(word, -1) for word in vocabulary.words], dtype=np.int32)


def _copy(source: Floats, rows: Ids, target: Floats) -> None:
    """target[i] = source[rows[i]] where there is such a row.

    What the target has more of (padding, copies) stays.
    """
    if source.size == 0 or target.size == 0:
        return
    numbers = as_floats(target)
    for first in range(0, len(rows), BLOCK):
        part = rows[first : first + BLOCK]
        known = np.flatnonzero(part >= 0)
        there = numbers[first : first + len(part)]
        if source.ndim == 1:
            there[known] = source[part[known]]
        else:
            there[known, : source.shape[1]] = source[part[known]]
