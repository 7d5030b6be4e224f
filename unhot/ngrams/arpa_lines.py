"""The compiled part of ARPA files: parse and write lines of n-grams, and look up the parts of n-grams.

A line of an n-gram is the log10 of its probability, its words, and possibly the log10 of its back-off weight,
with spaces or tabs between them. A line that begins with a backslash ends the n-grams of an order.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.reading.scanner import insert, look_up
from unhot.kernels.jit import inner, kernel
from unhot.ngrams.seeking import Sorted, seek
from unhot.ngrams.symbols import key_of
from unhot.types import Bytes, Floats, Ids
from unhot.vectors.formats.numbers import LINE_FEED, RETURN, SPACE, TAB, number

BACKSLASH = ord("\\")
# entries of the state of `read_lines`: the byte and the number of the next line, the first byte of the last
# line, its field that was read last, and the n-grams so far
PLACE, LINE, START, FIELD, ROW, STATE = range(6)
DONE, MARKER, HARD, FULL, SHORT, UNLISTED, TWICE = 0, 1, 2, -1, -2, -3, -4  # why it stopped


class Listed(NamedTuple):
    """The n-grams of one order, as a file lists them."""

    words: Ids  # [n-grams, order]
    prob: Floats
    backoff: Floats
    lines: Ids  # the number of the line of each


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
def word_in(table: Any, text: Any, at: Any, end: Any, new: Any) -> Any:
    """Return the id of the word in a field, or why it has none; a new word is added, and may come once."""
    if at == end:
        return np.int64(SHORT)
    found, slot, key = look_up(table, text, at, end - at)
    if not new:
        return found if found >= 0 else np.int64(UNLISTED)
    if found < 0:
        found = np.int64(insert(table, slot, key, text, at, end - at))
        if found < 0:
            return np.int64(FULL)
    table.counts[found] += 1
    return found if table.counts[found] == 1 else np.int64(TWICE)


@kernel
def read_lines(text: Any, size: Any, table: Any, part: Listed, powers: Any, state: Any) -> int:
    """Read the lines of n-grams of a text, which ends with a line feed; return why it stopped.

    DONE: at the end of the text. MARKER: before a line that begins with a backslash. HARD: after a line with
    a number that Python must read. The others: before a line that is wrong, or for which the table is full.
    """
    order = part.words.shape[1]
    while state[PLACE] < size:
        state[START], row = state[PLACE], state[ROW]
        at, end = next_field(text, state[PLACE])
        blank = at == end
        if not blank:
            if text[at] == BACKSLASH:
                return MARKER
            part.prob[row], part.backoff[row] = number_in(text, at, end, powers), 0.0
            for column in range(order):
                at, end = next_field(text, end)
                word = word_in(table, text, at, end, order == 1)
                if word < 0:
                    state[FIELD] = column + 1
                    return word
                part.words[row, column] = word
            at, end = next_field(text, end)
            if at < end:
                part.backoff[row] = number_in(text, at, end, powers)
                at, end = next_field(text, end)
            if at < end:
                return SHORT
            part.lines[row] = state[LINE]
            state[ROW] = row + 1
        state[PLACE] = at + 1
        state[LINE] += 1
        if not blank and part.prob[row] + part.backoff[row] != part.prob[row] + part.backoff[row]:
            return HARD
    return DONE


@kernel
def follow(windows: Ids, words: Ids, length: int, begins: Any, own: Any, keys: Any, found: Ids) -> int:
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
            if at == high or own[at] != key:
                at = np.int64(-1)
                missing += 1
            found[i, j] = at
    return missing


@inner
def copy_bytes(source: Any, start: Any, end: Any, out: Any, to: Any, last: Any) -> Any:
    """Copy some bytes and write one more behind them; return the place behind that."""
    for at in range(start, end):
        out[to] = source[at]
        to += 1
    out[to] = last
    return to + 1


@kernel
def write_lines(numbers: Bytes, weighted: bool, words: Ids, joined: Bytes, offsets: Any, out: Bytes) -> None:
    """Write lines of n-grams; `numbers` has those of all lines, each with a line feed behind it.

    weighted: a line has two numbers. Word w is joined[offsets[w] : offsets[w + 1]].
    """
    to, order = np.int64(0), words.shape[1]
    start = end = np.int64(0)
    for i in range(words.shape[0]):
        while numbers[end] != LINE_FEED:
            end += 1
        to = copy_bytes(numbers, start, end, out, to, TAB)
        start = end = end + 1
        for j in range(order):
            behind = SPACE if j < order - 1 else TAB if weighted else LINE_FEED
            to = copy_bytes(joined, offsets[words[i, j]], offsets[words[i, j] + 1], out, to, behind)
        if weighted:
            while numbers[end] != LINE_FEED:
                end += 1
            to = copy_bytes(numbers, start, end, out, to, LINE_FEED)
            start = end = end + 1
