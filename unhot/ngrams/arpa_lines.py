"""The compiled part of ARPA files: parse and write lines of n-grams, and look up the parts of long n-grams.

A line is the log10 of a probability, the words of the n-gram, and possibly the log10 of its back-off weight,
with spaces or tabs between them.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.reading.scanner import insert, look_up
from unhot.kernels.jit import inner, kernel
from unhot.ngrams.symbols import Sorted, key_of, seek
from unhot.types import Bytes, Ids, Starts
from unhot.vectors.formats.numbers import LINE_FEED, RETURN, SPACE, TAB, number

BACKSLASH = ord("\\")
PLACE, ROW = 0, 1  # entries of the state of `read_lines`: the first byte of the next line, the n-grams so far
MALFORMED, FULL, DONE, MARKER = range(-2, 2)  # why it stopped; `insert` says FULL


class Listed(NamedTuple):
    """The n-grams of one order, as a file lists them."""

    words: Any  # int32 [n-grams, order]
    prob: Any  # float32
    backoff: Any  # float32
    lines: Any  # int32, the number of the line of each; while a block is read, its first byte


@inner
def next_field(text: Any, at: Any) -> Any:
    """Return where the next field of a line begins and ends; both are the end of the line if it has none."""
    while text[at] == SPACE or text[at] == TAB or text[at] == RETURN:
        at += 1
    end = at
    while text[end] != SPACE and text[end] != TAB and text[end] != RETURN and text[end] != LINE_FEED:
        end += 1
    return at, end


@inner
def number_in(text: Any, at: Any, end: Any, powers: Any) -> Any:
    """Return the number in a field; NaN: Python must read it."""
    value, behind = number(text, at, end, powers)
    return value if behind == end else np.float32(np.nan)


@inner
def word_in(table: Any, text: Any, at: Any, end: Any) -> Any:
    """Return the id of the word in a field, which may be new; FULL or MALFORMED: it cannot have one."""
    if at == end:
        return np.int64(MALFORMED)
    found, slot, key = look_up(table, text, at, end - at)
    return found if found >= 0 else np.int64(insert(table, slot, key, text, at, end - at))


@kernel
def read_lines(text: Any, size: Any, table: Any, part: Listed, powers: Any, state: Any) -> Any:
    """Read the lines of a block, which ends with a line feed; return why it stopped.

    DONE: the block is read. MARKER: the next line begins with a backslash. MALFORMED: the next line has too
    few or too many fields. FULL: the table must grow.
    """
    while state[PLACE] < size:
        row = state[ROW]
        at, end = next_field(text, state[PLACE])
        if at < end:
            if text[at] == BACKSLASH:
                return MARKER
            part.prob[row], part.backoff[row] = number_in(text, at, end, powers), 0.0
            for column in range(part.words.shape[1]):
                at, end = next_field(text, end)
                word = word_in(table, text, at, end)
                if word < 0:
                    return word
                part.words[row, column] = word
            at, end = next_field(text, end)
            if at < end:
                part.backoff[row] = number_in(text, at, end, powers)
                at, end = next_field(text, end)
                if at < end:
                    return MALFORMED
            part.lines[row] = state[PLACE]
            state[ROW] += 1
        state[PLACE] = at + 1
    return DONE


@kernel
def follow(windows: Ids, words: Ids, found: Ids, length: int, begins: Any, own: Any, keys: Any) -> Any:
    """Look up the n-grams of one more word that long n-grams contain; return how many are missing.

    windows[i, j] is the n-gram of `length` words from word j of the long n-gram i on, and found[i, j] becomes
    the one that also has the next word; -1: it is missing. begins: where the n-grams of that length continue;
    own: the keys of those that continue them.
    """
    missing = 0
    for i in range(found.shape[0]):
        for j in range(found.shape[1]):
            low, high = begins[windows[i, j]], begins[windows[i, j] + 1]
            key = key_of(keys, np.int64(words[i, j + length]))
            at = seek(Sorted(own), low, high, key, keys.bits)
            there = at < high and own[at] == key
            found[i, j] = at if there else -1
            missing += not there
    return missing


@inner
def copy_field(source: Any, at: Any, out: Any, to: Any, last: Any) -> Any:
    """Copy bytes up to a line feed, and write another byte in its place; return the places behind both."""
    while source[at] != LINE_FEED:
        out[to] = source[at]
        at += 1
        to += 1
    out[to] = last
    return at + 1, to + 1


@kernel
def write_lines(
    numbers: Bytes, weighted: bool, words: Ids, joined: Bytes, starts: Starts, out: Bytes
) -> None:
    """Write the lines of n-grams.

    numbers: those of all lines, each with a line feed behind it; a line has two if `weighted`, else one.
    Word i begins at byte starts[i] of `joined` and has a line feed behind it.
    """
    at = to = np.int64(0)
    for i in range(words.shape[0]):
        at, to = copy_field(numbers, at, out, to, TAB)
        for j in range(words.shape[1]):
            last = SPACE if j < words.shape[1] - 1 else TAB if weighted else LINE_FEED
            _, to = copy_field(joined, starts[words[i, j]], out, to, last)
        if weighted:
            at, to = copy_field(numbers, at, out, to, LINE_FEED)
