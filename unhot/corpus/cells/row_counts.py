"""Count co-occurrences one section of text at a time, one row at a time.

A section is read once: its words are copied, one after another with `GAP` between sentences, and the places
of each word are listed (a counting sort). Then each row is counted by itself: the kernel visits all places of
the row's word and adds up the words around them in an array with one entry for each word of the vocabulary.
This array fits into the second-level cache. A bitmap marks the columns that are not zero, so they are written
in rising order without hashing or sorting.

Sums are integers, because all weights are scaled to integers (`cooccurrence.weights_of`). So no sum depends
on the order of addition.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.jit import inner, kernel
from unhot.kernels.rng import bits_at
from unhot.kernels.simd.ids import first_bit
from unhot.kernels.simd.rows import prefetch_number
from unhot.types import Counts, Ids, Starts

GAP = -1  # stands between sentences
BITS, SHIFT = 64, 6  # the bits in one number of the bitmap, and log2 of that
AHEAD = 12  # how many places ahead neighbours are prefetched
_ONE, _LAST = np.uint64(1), np.uint64(BITS - 1)
_32 = np.uint64(32)


class TextSection(NamedTuple):
    """The words of a part of a text, and where each one stands."""

    words: Ids  # [room] the kept words, with GAP between sentences and at both ends
    starts: Starts  # [vocabulary + 1] where each word's entries begin in `places`
    places: Ids  # [room] positions in `words`, grouped by word


class RowSums(NamedTuple):
    """A row of sums while it is added up."""

    sums: Any  # [vocabulary] int64; float64 to add up values that were read from a file
    marks: Any  # uint64: bit j is set if sums[j] is not zero
    groups: Any  # uint64: bit g is set if marks[g] is not zero


class CountedRows(NamedTuple):
    """Finished rows: the number of cells in each, and the columns and sums of all cells."""

    lengths: Counts
    columns: Ids
    sums: Any  # int64 or float64


def new_section(room: int, vocabulary: int) -> TextSection:
    """Return an empty section with room for that many words and gaps."""
    return TextSection(np.empty(room, np.int32), np.zeros(vocabulary + 1, np.int64), np.empty(room, np.int32))


def new_sums(vocabulary: int) -> RowSums:
    """Return a row of zeros."""
    marks = -(-vocabulary // BITS)
    return RowSums(
        np.zeros(vocabulary, np.int64), np.zeros(marks, np.uint64), np.zeros(-(-marks // BITS), np.uint64)
    )


def new_rows(rows: int, cells: int) -> CountedRows:
    """Return room for that many finished rows and cells."""
    return CountedRows(np.empty(rows, np.int64), np.empty(cells, np.int32), np.empty(cells, np.int64))


@inner
def _kept(text: Any, key: Any, position: Any) -> Any:
    """Return whether sub-sampling keeps the token at a position; uses the same random bits as training."""
    return (bits_at(key, position) >> _32) <= np.uint64(text.keep[text.ids[position]])


@inner
def _before(text: Any, key: Any, start: Any, sentence: Any, window: Any, words: Any) -> Any:
    """Write up to `window` kept words of the sentence before `start`; return where the next word goes."""
    kept, position = 0, start
    while position > text.starts[sentence] and kept < window:
        position -= 1
        kept += _kept(text, key, position)
    at = 1
    for p in range(position, start):
        if _kept(text, key, p):
            words[at] = text.ids[p]
            at += 1
    return at


@kernel
def read_section(text: Any, key: Any, start: Any, stop: Any, sentence: Any, window: Any, section: Any) -> Any:
    """Copy the words at positions [start, stop) and list their places; return how many were written.

    The words that their windows reach at both ends are copied, too.

    sentence    the sentence that contains `start`
    key         the random stream that decides which words sub-sampling keeps
    """
    words = section.words
    words[0] = GAP
    first = _before(text, key, start, sentence, window, words)
    at, position = first, start
    while position < stop:
        end = min(text.starts[sentence + 1], stop)
        for p in range(position, end):
            if _kept(text, key, p):
                words[at] = text.ids[p]
                at += 1
        position = end
        if position == text.starts[sentence + 1]:
            words[at] = GAP
            at += 1
            sentence += 1
    last = at
    if last > first and words[last - 1] != GAP:  # the sentence goes on
        while position < text.starts[sentence + 1] and at < last + window:
            if _kept(text, key, position):
                words[at] = text.ids[position]
                at += 1
            position += 1
    words[at] = GAP
    _list_places(words, first, last, section.starts, section.places)
    return at + 1


@inner
def _list_places(words: Any, first: Any, last: Any, starts: Any, places: Any) -> None:
    """Sort the places [first, last) by their words, with a counting sort."""
    for i in range(starts.size):
        starts[i] = 0
    for at in range(first, last):
        if words[at] >= 0:
            starts[words[at] + 1] += 1
    for i in range(1, starts.size):
        starts[i] += starts[i - 1]
    for at in range(first, last):  # starts[w] moves up to where word w + 1 begins ...
        word = words[at]
        if word >= 0:
            places[starts[word]] = at
            starts[word] += 1
    for i in range(starts.size - 1, 0, -1):  # ... so shift all entries by one word
        starts[i] = starts[i - 1]
    starts[0] = 0


@inner
def _add(row: Any, word: Any, amount: Any) -> None:
    """Add an amount to a column of the row, and mark the column if it was zero."""
    old = row.sums[word]
    row.sums[word] = old + amount
    if old == 0:
        mark = word >> SHIFT
        row.marks[mark] |= _ONE << (np.uint64(word) & _LAST)
        row.groups[mark >> SHIFT] |= _ONE << (np.uint64(mark) & _LAST)


@inner
def _take(row: Any, out: Any, number: Any, first: Any) -> Any:
    """Write the columns that are not zero as row `number`, from cell `first` on, and reset them to zero.

    Return the cell after the last one written.
    """
    at = first
    for group in range(row.groups.size):
        groups = row.groups[group]
        while groups != 0:
            mark = (group << SHIFT) + first_bit(groups)
            marks = row.marks[mark]
            while marks != 0:
                word = (mark << SHIFT) + first_bit(marks)
                out.columns[at], out.sums[at] = word, row.sums[word]
                row.sums[word] = 0
                at += 1
                marks &= marks - _ONE
            row.marks[mark] = 0
            groups &= groups - _ONE
        row.groups[group] = 0
    out.lengths[number] = at - first
    return at


@inner
def _add_side(words: Any, place: Any, step: Any, weights: Any, row: Any) -> None:
    """Add the words on one side of a place (`step`: 1 or -1), up to the end of the sentence.

    weights[d] is the weight of distance d.
    """
    for distance in range(1, weights.size):
        word = words[place + step * distance]
        if word < 0:
            break
        _add(row, word, weights[distance])


@kernel
def count_rows(section: Any, first: Any, last: Any, left: Any, right: Any, row: Any, out: Any) -> int:
    """Count the rows first .. last - 1 of a section; return how many cells they have.

    left, right    weights of the words before and after a place, by distance; an array of size 1 means that
                   the side is not counted
    """
    cells = 0
    for word in range(first, last):
        begin, end = section.starts[word], section.starts[word + 1]
        for i in range(begin, end):
            if i + AHEAD < section.starts[last]:
                prefetch_number(section.words, np.int64(section.places[i + AHEAD]))
            place = section.places[i]
            _add_side(section.words, place, -1, left, row)
            _add_side(section.words, place, 1, right, row)
        cells = _take(row, out, word - first, cells)
    return cells


@kernel
def merge_rows(starts: Any, columns: Any, sums: Any, first: Any, last: Any, row: Any, out: Any) -> int:
    """Add up the rows first .. last - 1 of several runs; return how many cells they have.

    starts    [runs, vocabulary + 1] where each run's rows begin in columns and sums
    """
    cells = 0
    for word in range(first, last):
        for run in range(starts.shape[0]):
            for cell in range(starts[run, word], starts[run, word + 1]):
                _add(row, np.int64(columns[cell]), sums[cell])
        cells = _take(row, out, word - first, cells)
    return cells


@kernel
def group_rows(
    words: Any, contexts: Any, values: Any, first: Any, places: Any, columns: Any, out: Any
) -> None:
    """Group records (word, context, value) by row and keep their order within a row.

    This is one step of a counting sort.

    first     the number of the first row; words and contexts count from 1, columns from 0
    places    where the next record of each row goes
    """
    for i in range(words.size):
        row = words[i] - first
        at = places[row]
        columns[at], out[at] = contexts[i] - 1, values[i]
        places[row] = at + 1
