"""The compiled part of asking: log10 p(word | history), word by word, for many lines.

A state is what the next word needs of its history: for the last word, the last two words and so on, where the
n-grams are that continue them, and their back-off weights. The next word is looked up among these, from the
shortest history to the longest; the first one that does not continue with it ends the search, for then no
longer one does. What was found is the next state. So no history is ever looked up.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.jit import generic, inner, kernel
from unhot.ngrams.nodes import ask_for, backoff_at, begin_at, find, prob_at
from unhot.ngrams.symbols import BEGIN, END, UNKNOWN, Keys, key_of
from unhot.types import Doubles, Starts

LENGTH, HISTORY = 0, 1  # entries of `State.size`
LANES = 6  # lines that are scored in turn, so that each waits for memory while the others go on


class Trie(NamedTuple):
    """A model in a form that kernels read."""

    nodes: Any
    top: Any
    most: Starts  # [2] how many nodes and tops there are; a damaged file may name others
    order: int
    keys: Keys
    flat: bool  # a history is asked in full or not at all, see FLAT in smoothing.py
    uniform: float  # flat: log10 of the probability of a word after a history that was not seen
    unseen: float  # log10 of the weight for each word by which a history that was not seen is shortened


class State(NamedTuple):
    """The history of a word; row i is that of lane i."""

    chain: Starts  # [lanes, order] where the n-grams begin that continue the last i + 1 words
    ends: Starts  # [lanes, order] where they end
    backoffs: Doubles  # [lanes, order]
    size: Starts  # [lanes, 2] the words of the longest history that was seen, and of the whole history


def new_state(order: int, lanes: int = 1) -> State:
    """Return the states of empty histories."""
    chain, ends = np.zeros((2, lanes, order), np.int64)
    return State(chain, ends, np.zeros((lanes, order)), np.zeros((lanes, 2), np.int64))


@generic
def begin_line(model: Any, state: Any, lane: Any) -> None:
    """Make the history of a lane `<s>`."""


@generic
def advance(model: Any, state: Any, lane: Any, word: Any) -> Any:
    """Return log10 p(word | history) and the length of the n-gram found; add the word to the history."""


@generic
def prepare(model: Any, state: Any, lane: Any, word: Any) -> None:
    """Prefetch what `advance` will read."""


@begin_line.register(Trie)
def begin_in_trie(model: Any, state: Any, lane: Any) -> None:
    """Begin with the word `<s>`, if the model has histories."""
    state.size[lane, LENGTH] = state.size[lane, HISTORY] = 1 if model.order > 1 else 0
    state.chain[lane, 0], state.ends[lane, 0] = continuations(model, np.int64(BEGIN), 0)
    state.backoffs[lane, 0] = backoff_at(model.nodes, BEGIN)


@inner
def continuations(model: Any, node: Any, j: Any) -> Any:
    """Return where the n-grams begin and end that continue a node of j + 1 words."""
    low, high = begin_at(model.nodes, node), begin_at(model.nodes, node + 1)
    most = model.most[1 if j + 2 == model.order else 0]
    # without signs, so that one comparison refuses negative numbers, too
    if np.uint64(low) > np.uint64(high) or np.uint64(high) >= np.uint64(most):
        return low, low
    return low, high


@prepare.register(Trie)
def prepare_in_trie(model: Any, state: Any, lane: Any, word: Any) -> None:
    """Prefetch the places of the word, alone and after all histories."""
    key, bits = key_of(model.keys, word), model.keys.bits
    ask_for(model.nodes, word, word + 1, 0, bits)
    for j in range(state.size[lane, LENGTH]):
        if j + 2 == model.order:
            ask_for(model.top, state.chain[lane, j], state.ends[lane, j], key, bits)
        else:
            ask_for(model.nodes, state.chain[lane, j], state.ends[lane, j], key, bits)


@advance.register(Trie)
def advance_in_trie(model: Any, state: Any, lane: Any, word: Any) -> Any:
    """Look the word up after longer and longer histories.

    An entry of the state is replaced when it has been used.
    """
    key, bits = key_of(model.keys, word), model.keys.bits
    length, history = state.size[lane, LENGTH], state.size[lane, HISTORY]
    chain, ends = state.chain[lane], state.ends[lane]
    backoffs = state.backoffs[lane]
    prob, weight = prob_at(model.nodes, word), backoff_at(model.nodes, word)
    begin, end = continuations(model, word, 0)
    found = 1
    for j in range(length):
        low, high = chain[j], ends[j]
        if j + 2 == model.order:
            node = find(model.top, low, high, key, bits)
            if node < 0:
                break
            chain[j], ends[j] = begin, end
            backoffs[j] = weight
            prob = prob_at(model.top, node)
        else:
            node = find(model.nodes, low, high, key, bits)
            if node < 0:
                break
            chain[j], ends[j] = begin, end
            backoffs[j] = weight
            prob, weight = prob_at(model.nodes, node), backoff_at(model.nodes, node)
            begin, end = continuations(model, node, j + 1)
        found += 1
    if model.flat:
        if found <= history:
            prob = backoffs[history - 1] if length == history else model.uniform
    else:
        prob += model.unseen * (history - length)
        for j in range(found - 1, length):
            prob += backoffs[j]
    if found < model.order:
        chain[found - 1], ends[found - 1] = begin, end
        backoffs[found - 1] = weight
    length = min(found, model.order - 1)
    while length > 0 and chain[length - 1] == ends[length - 1] and backoffs[length - 1] == 0.0:
        length -= 1
    state.size[lane, LENGTH], state.size[lane, HISTORY] = length, min(history + 1, model.order - 1)
    return prob, found


@kernel
def score_lines(
    model: Any, ids: Any, starts: Any, bos: Any, eos: Any, state: Any, lanes: Any, prob: Any, lengths: Any,
    sums: Any,
) -> None:  # fmt: skip
    """Add up lines, and write log10 p of each token and the length of the n-gram found if there is room.

    Line i is ids[starts[i] : starts[i + 1]]; with `eos` each line has one more token, `</s>`, with `bos` it
    begins after `<s>`. sums[i] = tokens, unknown ones, those of probability zero, log10 p, that of known
    tokens. Several lines are scored in turn; lanes[k]: the next token of one, its end, the place of its
    answer, and the line.
    """
    line = np.int64(0)
    lines = starts.size - 1
    for lane in range(lanes.shape[0]):
        lanes[lane, 0], lanes[lane, 1] = 0, -1
    busy = True
    while busy:
        busy = False
        for lane in range(lanes.shape[0]):
            if lanes[lane, 0] <= lanes[lane, 1]:
                word = word_at(ids, lanes[lane], eos)
                log10, found = advance(model, state, lane, word)
                add_token(sums[lanes[lane, 3]], word, log10)
                if prob.size > 0:
                    prob[lanes[lane, 2]], lengths[lanes[lane, 2]] = log10, found
                lanes[lane, 0] += 1
                lanes[lane, 2] += 1
            while lanes[lane, 0] > lanes[lane, 1] and line < lines:
                lanes[lane, 0], lanes[lane, 1] = starts[line], starts[line + 1] - (0 if eos else 1)
                lanes[lane, 2], lanes[lane, 3] = starts[line] - starts[0] + (line if eos else 0), line
                sums[line, 0] = lanes[lane, 1] - lanes[lane, 0] + 1
                line += 1
                state.size[lane, LENGTH] = state.size[lane, HISTORY] = 0
                if bos:
                    begin_line(model, state, lane)
            if lanes[lane, 0] <= lanes[lane, 1]:
                busy = True
                prepare(model, state, lane, word_at(ids, lanes[lane], eos))


@inner
def add_token(sums: Any, word: Any, log10: Any) -> None:
    """Add a token to the sums of its line."""
    sums[3] += log10
    if word == UNKNOWN:
        sums[1] += 1.0
    else:
        sums[4] += log10
    if log10 == -np.inf:
        sums[2] += 1.0


@inner
def word_at(ids: Any, lane: Any, eos: Any) -> Any:
    """Return the next word of a lane."""
    return np.int64(END) if eos and lane[0] == lane[1] else np.int64(ids[lane[0]])


@kernel
def advance_one(model: Any, state: Any, word: Any) -> Any:
    """Return log10 p(word | history) and the length of the n-gram found, and add the word to the history."""
    return advance(model, state, 0, np.int64(word))


@kernel
def begin_one(model: Any, state: Any) -> None:
    """Make the history `<s>`."""
    begin_line(model, state, 0)


@kernel
def score_words(model: Any, state: Any, prob: Any) -> None:
    """Write log10 p(word | history) of all words, from lane 0; lane 1 is changed."""
    for word in range(prob.size):
        for i in range(state.chain.shape[1]):
            state.chain[1, i], state.ends[1, i] = state.chain[0, i], state.ends[0, i]
            state.backoffs[1, i] = state.backoffs[0, i]
        for i in range(2):
            state.size[1, i] = state.size[0, i]
        prob[word], _ = advance(model, state, 1, np.int64(word))
