"""Make examples from a held-out text: hidden vectors, and the words that each must predict.

Skip-gram: every context of a centre is an input, and the centre is its target. Equal pairs are scored once,
and all targets of an input share one hidden vector. CBOW: each centre with at least one context has one
hidden vector, made from all its contexts.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.evaluate.figures import Progress
from unhot.kernels.window_lists import WindowList, list_windows, window_buffer
from unhot.kernels.windows import Window
from unhot.models.word_answers import WordInputs
from unhot.train.chunked_text import ChunkedText
from unhot.train.schedule import chunks_of_size
from unhot.types import Counts, Doubles, Floats, Ids

CONTEXTS = 1 << 22  # contexts that are paired at a time
DISTINCT = 1 << 23  # different pairs that are collected before they are scored
PAIRS = 1 << 18  # pairs scored at a time
FLOATS = 1 << 23  # numbers in the context vectors that are combined at a time
SCORES = 1 << 26  # scores between two calls of progress


class HeldOutText(NamedTuple):
    """A held-out text, and how its windows are formed."""

    corpus: Corpus
    window: Window
    keep: Doubles  # probability that sub-sampling keeps each word
    seed: int


class HeldOutExamples(NamedTuple):
    """Hidden vectors, and the targets that each must predict."""

    hidden: Floats  # [inputs, dim]
    bias: Doubles  # [inputs] added to all scores of an input
    which: Ids  # [pairs] the hidden vector of each pair, rising
    targets: Ids  # [pairs]
    times: Counts  # [pairs] how often each pair occurs


def read_windows(text: HeldOutText, room: int) -> Iterator[tuple[WindowList, int]]:
    """Yield the windows of a text, and how many of its positions are done.

    Each item has about `room` contexts, whatever the size of the window.
    """
    size = max(1, room // (2 * text.window.size))
    chunks = chunks_of_size(text.corpus.shards, size)
    chunked = ChunkedText(text.corpus, text.keep, text.seed, chunks)
    shards, buffer = chunked.texts(), window_buffer(chunked.longest, text.window.size)
    for chunk in chunks:
        where = chunked.where(0, chunk)
        windows = list_windows(shards[chunk.shard], text.window, where, buffer)
        yield windows, chunk.done + chunk.stop - chunk.start


def each_alone(text: HeldOutText, inputs: WordInputs, tell: Progress) -> Iterator[HeldOutExamples]:
    """Yield the examples of skip-gram, where each context predicts the centre alone."""
    pairs, words = NO_PAIRS, len(text.corpus.vocabulary)
    ids = text.corpus.ids
    for windows, done in read_windows(text, CONTEXTS):
        pairs = merge_pairs(pairs, count_pairs(windows, words))
        tell("pairing", done, ids)
        if pairs.keys.size > DISTINCT:
            yield from _by_input(pairs, words, inputs, tell)
            pairs = NO_PAIRS
    yield from _by_input(pairs, words, inputs, tell)


def all_together(
    text: HeldOutText, inputs: WordInputs, mean: bool, tell: Progress
) -> Iterator[HeldOutExamples]:
    """Yield the examples of CBOW: the mean or sum of a centre's contexts; repeated contexts count again."""
    for windows, done in read_windows(text, max(1, FLOATS // inputs.vectors.shape[1])):
        n = windows.centres.size
        if n:
            starts = windows.starts[:-1]
            weight = inputs.sizes[windows.contexts] if inputs.sizes.size else np.ones(windows.contexts.size)
            share = 1.0 / np.add.reduceat(weight, starts) if mean else np.ones(n)
            hidden = (
                np.add.reduceat(weight[:, None] * inputs.vectors[windows.contexts], starts) * share[:, None]
            )
            bias = np.add.reduceat(weight * _bias(inputs, windows.contexts), starts) * share
            yield HeldOutExamples(
                hidden.astype(np.float32),
                bias,
                np.arange(n, dtype=np.int32),
                windows.centres,
                np.ones(n, np.int64),
            )
        tell("scoring", done, text.corpus.ids)


def _bias(inputs: WordInputs, words: Ids | Counts) -> Doubles:
    return inputs.bias[words].astype(np.float64) if inputs.bias.size else np.zeros(words.size)


class PairCounts(NamedTuple):
    """Different (input, target) pairs, ordered by input, then target, and how often each occurs."""

    keys: Counts  # input * words + target
    times: Counts


NO_PAIRS = PairCounts(np.zeros(0, np.int64), np.zeros(0, np.int64))


def count_pairs(windows: WindowList, words: int) -> PairCounts:
    """Count the pairs of some windows."""
    keys = windows.contexts.astype(np.int64) * words + np.repeat(windows.centres, np.diff(windows.starts))
    return PairCounts(*np.unique(keys, return_counts=True))


def merge_pairs(some: PairCounts, others: PairCounts) -> PairCounts:
    """Return the sum of two pair counts."""
    if not (some.keys.size and others.keys.size):
        return some if some.keys.size else others
    keys = np.concatenate([some.keys, others.keys])
    order = np.argsort(keys, kind="stable")  # fast: a stable sort merges two sorted runs
    keys = keys[order]
    first = _first_of_each(keys)
    return PairCounts(keys[first], np.add.reduceat(np.concatenate([some.times, others.times])[order], first))


def _first_of_each(ordered: Counts) -> Counts:
    """Return where each different number of a sorted array begins, in less memory than `np.unique`."""
    return np.flatnonzero(np.append(ordered.size > 0, ordered[1:] != ordered[:-1])[: ordered.size])


def _by_input(
    pairs: PairCounts, words: int, inputs_of: WordInputs, tell: Progress
) -> Iterator[HeldOutExamples]:
    """Yield examples for some inputs at a time, each with all its targets."""
    first = _first_of_each(pairs.keys // words)
    inputs = pairs.keys[first] // words
    ends, block = np.append(first, pairs.keys.size), max(1, SCORES // words)
    begin = 0
    while begin < inputs.size:
        # take fewer inputs if they have many targets, as frequent words do
        full = int(np.searchsorted(ends, ends[begin] + PAIRS, side="right")) - 1
        stop = min(begin + block, inputs.size, max(begin + 1, full))
        rows, part = inputs[begin:stop], slice(ends[begin], ends[stop])
        which = np.repeat(np.arange(rows.size, dtype=np.int32), np.diff(ends[begin : stop + 1]))
        targets = (pairs.keys[part] % words).astype(np.int32)
        yield HeldOutExamples(
            inputs_of.vectors[rows], _bias(inputs_of, rows), which, targets, pairs.times[part]
        )
        tell("scoring", stop, inputs.size)
        begin = stop
