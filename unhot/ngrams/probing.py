"""The compiled part of asking KenLM's hash tables: log10 p(word | history), word by word.

The key of an n-gram is a hash that begins with its last word and goes back. So the keys of the n-grams that
end with a word, after longer and longer histories, follow one from another, whether the tables have them or
not. A state therefore keeps the words of the history (`chain`, the last one first) and the back-off weights
of the last 1, 2, ... words.

Weights are read as bits, for two signs have a meaning:

    prob       is never above zero; a plus sign says that some longer n-gram ends with this one
    backoff    -0.0 says that no longer n-gram begins with this one

Tables may come from a damaged file. Whatever they hold, a search ends and stays inside its table, and the
answer is a number or -inf.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.jit import inner
from unhot.kernels.simd.rows import prefetch_number
from unhot.ngrams.asking import HISTORY, LENGTH, advance, begin_line, prepare
from unhot.ngrams.symbols import BEGIN
from unhot.types import Ids, Starts

OLD_FACTOR, NEW_FACTOR = np.uint64(8978948897894561157), np.uint64(17894857484156487943)
EMPTY_KEY = np.uint64(0)
SIGN = np.uint32(1 << 31)  # also the bits of -0.0


class Probing(NamedTuple):
    """A model in a form that kernels read; the arrays are parts of a mapped file."""

    order: int
    ids: Ids  # [words] our ids -> those of the file
    single: Any  # records of words by the file's ids: prob and backoff
    middle: Any  # records of n-grams of 2 .. order - 1 words: key, prob and backoff
    firsts: Starts  # [order - 1] n-grams of n words are middle[firsts[n - 2] : firsts[n - 1]], a hash table
    top: Any  # records of the longest n-grams, a hash table: key and prob


@inner
def longer_key(key: Any, word: Any) -> Any:
    """Return the key of an n-gram with one more word in front."""
    return (key * OLD_FACTOR) ^ (np.uint64(word + 1) * NEW_FACTOR)


@inner
def home_of(first: Any, end: Any, key: Any) -> Any:
    """Return the first place where a key may be."""
    return first + np.int64(key % np.uint64(end - first))


@inner
def place_of(entries: Any, first: Any, end: Any, key: Any) -> Any:
    """Return the place of a key in the table entries[first:end]; -1: it is not there.

    A key stands at its home, or behind it with no empty place between; behind the last place is the first.
    """
    at = home_of(first, end, key)
    for _ in range(first, end):  # a damaged table may have no empty place
        found = entries[at]["key"]
        if found == key:
            return at
        if found == EMPTY_KEY:
            break
        at = at + 1 if at + 1 < end else first
    return np.int64(-1)


@inner
def longer_place(model: Any, key: Any, j: Any) -> Any:
    """Return the place of an n-gram of j + 2 words; -1: it is not there."""
    if j + 2 == model.order:
        return place_of(model.top, 0, model.top.size, key)
    return place_of(model.middle, model.firsts[j], model.firsts[j + 1], key)


@inner
def number_of(bits: Any) -> Any:
    """Return the number that 32 bits stand for."""
    return np.float64(np.uint32(bits).view(np.float32))


@begin_line.register(Probing)
def begin_in_tables(model: Any, state: Any, lane: Any) -> None:
    """Begin with the word `<s>`."""
    word = np.int64(model.ids[BEGIN])
    state.size[lane, LENGTH] = state.size[lane, HISTORY] = 1
    state.chain[lane, 0] = word
    state.backoffs[lane, 0] = number_of(model.single[word]["backoff"])


@prepare.register(Probing)
def prepare_in_tables(model: Any, state: Any, lane: Any, word: Any) -> None:
    """Prefetch the places of the word, alone and after all histories."""
    own = np.int64(model.ids[word])
    prefetch_number(model.single, own)
    key = np.uint64(own)
    for j in range(state.size[lane, LENGTH]):
        key = longer_key(key, state.chain[lane, j])
        if j + 2 == model.order:
            prefetch_number(model.top, home_of(0, model.top.size, key))
        else:
            prefetch_number(model.middle, home_of(model.firsts[j], model.firsts[j + 1], key))


@advance.register(Probing)
def advance_in_tables(model: Any, state: Any, lane: Any, word: Any) -> Any:
    """Look up longer and longer n-grams that end with the word.

    A back-off weight of the state is replaced when it is no longer needed.
    """
    length, history = state.size[lane, LENGTH], state.size[lane, HISTORY]
    chain, backoffs = state.chain[lane], state.backoffs[lane]
    own = np.int64(model.ids[word])
    prob, backoff = model.single[own]["prob"], model.single[own]["backoff"]
    key, found = np.uint64(own), 1
    keep = 1 if backoff != SIGN else 0  # how many words the next history has
    for j in range(length):
        if prob & SIGN:
            break
        key = longer_key(key, chain[j])
        at = longer_place(model, key, j)
        if at < 0:
            break
        backoffs[j] = number_of(backoff)
        found += 1
        if found == model.order:
            prob = model.top[at]["prob"]
        else:
            prob, backoff = model.middle[at]["prob"], model.middle[at]["backoff"]
            if backoff != SIGN:
                keep = found
    total = number_of(prob | SIGN)
    for j in range(found - 1, length):
        total += backoffs[j]
    if found < model.order:
        backoffs[found - 1] = number_of(backoff)
    for j in range(keep - 1, 0, -1):
        chain[j] = chain[j - 1]
    chain[0] = own
    state.size[lane, LENGTH], state.size[lane, HISTORY] = keep, min(history + 1, model.order - 1)
    if not total < np.inf:  # weights of a damaged file
        total = -np.inf
    return total, found
