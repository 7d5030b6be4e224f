"""The compiled part of asking: log10 p(word | history), word by word, for many lines.

A state is what the next word needs of its history: for each length, the longest first left out, the n-gram of
the last words (`chain`) and its back-off weight. The next word is looked up after all of them, from the
shortest to the longest; the first one that does not continue with it ends the search, for then no longer one
does. What was found is the next chain. So no history is ever looked up.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.jit import generic, inner, kernel
from unhot.ngrams.nodes import ask_for, backoff_at, begin_at, find, prob_at
from unhot.ngrams.symbols import BEGIN, END, UNKNOWN, Keys, key_of
from unhot.types import Doubles, Starts

LENGTH, HISTORY = 0, 1  # entries of `State.size`
LANES = 4  # lines that are scored in turn, so that each waits for memory while the others go on


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

    chain: Starts  # [lanes, order]
    backoffs: Doubles  # [lanes, order]
    size: Starts  # [lanes, 2] the words of the longest history that was seen, and of the whole history


def new_state(order: int, lanes: int = 1) -> State:
    """Return the states of empty histories."""
    return State(
        np.zeros((lanes, order), np.int64), np.zeros((lanes, order)), np.zeros((lanes, 2), np.int64)
    )


@generic
def begin_line(model: Any, state: Any, lane: Any) -> None:
    """Make the history of a lane `<s>`."""


@generic
def advance(model: Any, state: Any, lane: Any, word: Any) -> Any:
    """Return log10 p(word | history) and the length of the n-gram found; make the word part of the history."""


@generic
def prepare(model: Any, state: Any, lane: Any, word: Any) -> None:
    """Prefetch what `advance` will read."""


@begin_line.register(Trie)
def begin_in_trie(model: Any, state: Any, lane: Any) -> None:
    """Begin with the word `<s>`, if the model has histories."""
    state.size[lane, LENGTH] = state.size[lane, HISTORY] = 1 if model.order > 1 else 0
    state.chain[lane, 0] = BEGIN
    state.backoffs[lane, 0] = backoff_at(model.nodes, BEGIN)


@inner
def continuations(model: Any, node: Any, j: Any) -> Any:
    """Return where the n-grams begin and end that continue a node of j + 1 words, and whether they are tops."""
    low, high = begin_at(model.nodes, node), begin_at(model.nodes, node + 1)
    top = j + 2 == model.order
    if low > high or high >= model.most[int(top)]:
        return low, low, top
    return low, high, top


@prepare.register(Trie)
def prepare_in_trie(model: Any, state: Any, lane: Any, word: Any) -> None:
    """Prefetch the places of the word, alone and after all histories."""
    ask_for(model.nodes, word, word + 1, 0, model.keys.bits)
    key = key_of(model.keys, word)
    for j in range(state.size[lane, LENGTH]):
        low, high, top = continuations(model, state.chain[lane, j], j)
        if low < high:
            if top:
                ask_for(model.top, low, high, key, model.keys.bits)
            else:
                ask_for(model.nodes, low, high, key, model.keys.bits)


@advance.register(Trie)
def advance_in_trie(model: Any, state: Any, lane: Any, word: Any) -> Any:
    """Look the word up after longer and longer histories.

    An entry of the chain is replaced when it has been used.
    """
    key, bits = key_of(model.keys, word), model.keys.bits
    length, history = state.size[lane, LENGTH], state.size[lane, HISTORY]
    chain, backoffs = state.chain[lane], state.backoffs[lane]
    prob = prob_at(model.nodes, word)
    node, weight = word, backoff_at(model.nodes, word)  # of the n-gram found, for the next chain
    found = 1
    for j in range(length):
        low, high, top = continuations(model, chain[j], j)
        if low == high:
            break
        longer = find(model.top, low, high, key, bits) if top else find(model.nodes, low, high, key, bits)
        if longer < 0:
            break
        chain[j], backoffs[j] = node, weight
        found += 1
        if top:
            prob = prob_at(model.top, longer)
        else:
            prob, weight = prob_at(model.nodes, longer), backoff_at(model.nodes, longer)
            node = longer
    if model.flat:
        if found <= history:
            prob = backoffs[history - 1] if length == history else model.uniform
    else:
        prob += model.unseen * (history - length)
        for j in range(found - 1, length):
            prob += backoffs[j]
    if found < model.order:
        chain[found - 1], backoffs[found - 1] = node, weight
    length = min(found, model.order - 1)
    while length > 0 and backoffs[length - 1] == 0.0:
        low, high, _ = continuations(model, chain[length - 1], length - 1)
        if low < high:
            break
        length -= 1
    state.size[lane, LENGTH], state.size[lane, HISTORY] = length, min(history + 1, model.order - 1)
    return prob, found


@kernel
def score_lines(
    model: Any, ids: Any, starts: Any, bos: Any, eos: Any, state: Any, lanes: Any, prob: Any, lengths: Any
) -> None:
    """Write log10 p of each token, and the length of the n-gram found.

    Line i is ids[starts[i] : starts[i + 1]]; with `eos` each line has one more token, `</s>`, with `bos` it
    begins after `<s>`. Several lines are scored in turn; lanes[k]: the next token of one, its end, and the
    place of its answer.
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
                at = lanes[lane, 2]
                prob[at], lengths[at] = advance(model, state, lane, word)
                lanes[lane, 0] += 1
                lanes[lane, 2] += 1
            while lanes[lane, 0] > lanes[lane, 1] and line < lines:
                lanes[lane, 0], lanes[lane, 1] = starts[line], starts[line + 1] - (0 if eos else 1)
                lanes[lane, 2] = starts[line] - starts[0] + (line if eos else 0)
                line += 1
                state.size[lane, LENGTH] = state.size[lane, HISTORY] = 0
                if bos:
                    begin_line(model, state, lane)
            if lanes[lane, 0] <= lanes[lane, 1]:
                busy = True
                prepare(model, state, lane, word_at(ids, lanes[lane], eos))


@inner
def word_at(ids: Any, lane: Any, eos: Any) -> Any:
    """Return the next word of a lane."""
    return np.int64(END) if eos and lane[0] == lane[1] else np.int64(ids[lane[0]])
