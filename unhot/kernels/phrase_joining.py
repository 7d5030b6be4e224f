"""Phrases joined in ids, from left to right: the compiled part of `corpus/phrase_joining.py`.

    pending = nothing
    for each token:    connector      goes behind what is pending, if anything is; else it is written
                       word           pending + word is a phrase: the phrase is written, nothing is pending
                                      else what is pending is written as it is, and the word is pending

What is pending at the end of a sentence is written as it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.jit import inner, kernel
from unhot.kernels.phrases import NONE, Map, found
from unhot.types import Bytes

DEAD = -2  # something is pending that no phrase begins with


class Rules(NamedTuple):
    """What is joined: (left, word) -> the id of the phrase, (left, connector) -> the longer left; see kernels/phrases.py."""

    table: Map
    begins: Bytes  # [lefts] 1: some phrase begins with it
    connectors: Bytes  # [words] 1: a connector


@inner
def looked_up(rules: Any, left: Any, word: Any) -> Any:
    """What is behind a left side, or -1."""
    if left < 0 or rules.begins[left] == 0:
        return np.int64(-1)
    return found(rules.table, left, word)


@inner
def copied(ids: Any, begin: Any, end: Any, out: Any, to: Any) -> Any:
    """Write tokens as they are; where the next one goes."""
    for i in range(begin, end):
        out[to] = ids[i]
        to += 1
    return to


@kernel
def join(ids: Any, begin: int, breaks: Any, rules: Any, out: Any, ends: Any) -> int:
    """Join in the tokens from `begin` on; a sentence ends before each position in `breaks` (from `begin` on), and so does the work.

    Writes tokens to `out` and the ends of sentences, in these, to `ends`. Returns the number of tokens.
    """
    to, at = 0, begin
    for sentence in range(breaks.size):
        end = begin + breaks[sentence]
        pending, left = end, np.int64(NONE)  # where what is pending begins
        for i in range(at, end):
            word = ids[i]
            if rules.connectors[word] != 0:
                if left == NONE:
                    out[to] = word
                    to += 1
                else:
                    further = looked_up(rules, left, word)
                    left = np.int64(DEAD) if further < 0 else further
                continue
            phrase = looked_up(rules, left, word)
            if phrase >= 0:
                out[to] = phrase
                to += 1
                pending, left = end, np.int64(NONE)
                continue
            if left != NONE:
                to = copied(ids, pending, i, out, to)
            pending, left = i, np.int64(word)
        to = copied(ids, pending, end, out, to)
        ends[sentence] = to
        at = end
    return to


@kernel
def next_cut(ids: Any, at: int, end: int, rules: Any) -> int:
    """The first position from `at` on, up to the end of the sentence, before which tokens can be joined without those behind it.

    That is between two words, not connectors, that are no phrase: whatever is pending there is written as it is.
    """
    for i in range(at, end):
        word, following = ids[i - 1], ids[i]
        if rules.connectors[word] == 0 and rules.connectors[following] == 0 and looked_up(rules, np.int64(word), following) < 0:
            return i
    return end


@kernel
def add_counts(ids: Any, counts: Any) -> None:
    """Count each id."""
    for i in range(ids.size):
        counts[ids[i]] += 1


@kernel
def spell(ids: Any, ends: Any, text: Any, offsets: Any, out: Any) -> int:
    """Write words as bytes; a line feed behind those before a sentence end, a space behind all others. Returns the number of bytes.

    Word w is text[offsets[w] : offsets[w + 1]].
    """
    to, sentence = 0, 0
    for i in range(ids.size):
        for k in range(offsets[ids[i]], offsets[ids[i] + 1]):
            out[to] = text[k]
            to += 1
        out[to] = 32
        if sentence < ends.size and ends[sentence] == i + 1:
            out[to] = 10
            sentence += 1
        to += 1
    return to
