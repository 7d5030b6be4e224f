"""The input of a classifier: the units of lines, their rows and weights, and the rows of each line.

The units of a line are its different words and its different runs of words. A unit is a number: the id of a
word, or the number of words plus the bucket of a run (run_hashes.py). The end of a line is the word `</s>`,
as in fastText. Each unit is listed once for each line that has it: how often a line repeats a word says more
about its length than about its label.

A row belongs to a word, or to a bucket of runs of words and of character n-grams. Only what occurs has a row.
Rows are sorted by how many lines have them, most first. The weight of a row is that of its word or bucket in
the N lines of the text, of which df have it:

    w = 1 + ln((1 + N) / (1 + df))      weighting=idf: rare words count more
    w = 1                               weighting=none
"""

import os
import tempfile
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.corpus.indexed_folder import read_only
from unhot.corpus.reading.lexicon import spelt
from unhot.errors import DataError
from unhot.kernels.bags import Bags
from unhot.kernels.jit import kernel
from unhot.lines.run_buckets import hash_words, next_runs, run_settings
from unhot.models.ngram_rows import NgramRows, joined_bags
from unhot.threads import in_order
from unhot.types import Counts, Floats, Ids, Starts
from unhot.vocab.subwords import LINE_END, Subwords
from unhot.vocab.vocabulary import Vocabulary

MOST_LINES = 2**31 - 1  # the number of a line is a stamp of 32 bits, so that more stamps fit the cache
BLOCK_IDS = 1 << 20  # ids of a text that are listed at a time
BLOCK = 1 << 14  # lines that are written at a time
SMALL = 1 << 29  # bytes of rows and weights, of all lines, that are kept in memory


class Units(NamedTuple):
    """The units of all lines of a text: those of line i are ids[starts[i] : starts[i + 1]]."""

    ids: Ids
    starts: Starts  # [lines + 1]
    lines: Counts  # [words + buckets] how many lines have each unit


def with_line_ends(vocabulary: Vocabulary, lines: int) -> tuple[Vocabulary, Ids]:
    """Return a vocabulary that has the word `</s>`, once for each line, and the new id of each old word."""
    if LINE_END in vocabulary.words:  # written in the text: rare, and its rank may change
        counts = dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))
        counts[LINE_END] += lines
        grown = Vocabulary.from_counts(counts)
        return grown, np.array([grown.index[word] for word in vocabulary.words], np.int32)
    before = int(np.searchsorted(-vocabulary.counts, -lines))
    while (
        before < len(vocabulary)
        and vocabulary.counts[before] == lines
        and vocabulary.words[before] < LINE_END
    ):
        before += 1
    words = [*vocabulary.words[:before], LINE_END, *vocabulary.words[before:]]
    ids = np.arange(len(vocabulary), dtype=np.int32)
    return Vocabulary(words, np.insert(vocabulary.counts, before, lines)), ids + (ids >= before).astype(
        np.int32
    )


def list_units(corpus: Corpus, vocabulary: Vocabulary, moved: Ids, longest: int, buckets: int) -> Units:
    """List the units of a text's lines in a temporary file.

    `vocabulary` and `moved` are those of `with_line_ends`.
    """
    if corpus.sentences >= MOST_LINES:
        raise DataError(f"{corpus.sentences:,} lines: a classifier learns from fewer than {MOST_LINES:,}")
    words = len(vocabulary)
    text, offsets = spelt(vocabulary.words)
    runs, end = run_settings(longest, buckets), vocabulary.words.index(LINE_END)
    hashes = np.zeros(words, np.uint64)
    hash_words(text, offsets, hashes)
    units = words + (buckets if longest > 1 else 0)
    stamps, lines = np.zeros(units, np.int32), np.zeros(units, np.int64)
    starts = np.zeros(corpus.sentences + 1, np.int64)
    line = 0
    with tempfile.TemporaryFile(prefix="unhot-") as file:  # what is mapped stays when it is closed
        try:
            for shard in corpus.shards:
                first = 0
                while first < shard.starts.size - 1:
                    last = _block_end(shard.starts, first)
                    ids = moved[shard.ids[shard.starts[first] : shard.starts[last]]]
                    begins = shard.starts[first : last + 1] - shard.starts[first]
                    room = np.zeros((ids.size + last - first) * max(1, longest), np.int32)
                    states = np.zeros(max(1, longest), np.uint64)
                    size = list_lines(
                        ids, begins, line, runs, hashes, end, states, stamps, lines, room, starts
                    )
                    file.write(room[:size].data)
                    line, first = line + last - first, last
            file.flush()
        except OSError as error:
            raise no_room(error) from error
        return Units(np.asarray(np.memmap(file, np.int32, "r")), starts, lines)


def no_room(error: OSError) -> DataError:
    """Return an error that says what has no room."""
    return DataError(
        f"no room in {tempfile.gettempdir()} for the words and runs of words of all lines "
        f"({error.strerror}): set TMPDIR to a folder with more"
    )


def _block_end(starts: Starts, first: int) -> int:
    """Return the end of a block of lines with about BLOCK_IDS ids, at least one line."""
    end = int(np.searchsorted(starts, starts[first] + BLOCK_IDS, side="right")) - 1
    return min(max(end, first + 1), starts.size - 1)


class LineBags(NamedTuple):
    """The rows of lines, and of words that have several."""

    entries: Ids  # of all lines: >= 0: a row; < 0: the word with id -1 - entry, a bag of several rows
    weights: Floats  # [entries] the weight of the row
    starts: Starts  # [lines + 1]
    # `squares` is the sum of the squared weights of each word's rows; empty: no entry is a word
    bags: Bags
    bag_weights: Floats  # [rows of all bags]


class LineInput(NamedTuple):
    """The rows of a classifier, their weights, and the lines made of them."""

    rows: NgramRows
    weights: Floats  # [rows]
    lines: LineBags


def row_weights(lines: Counts, total: int, idf: bool) -> Floats:
    """Return the weights of rows that so many of the `total` lines have."""
    if not idf:
        return np.ones(lines.size, np.float32)
    return (1.0 + np.log((1.0 + total) / (1.0 + np.minimum(lines, total)))).astype(np.float32)


def line_input(
    vocabulary: Vocabulary,
    units: Units,
    subwords: Subwords,
    kept: int,
    idf: bool,
    also: Counts,
    threads: int = 2,
) -> LineInput:
    """Make the rows of words, runs and n-grams, and the rows of all lines.

    The first `kept` words have rows of their own; n-grams have rows whether their word is kept or not. The
    keys in `also` have rows in any case.
    """
    words, total = len(vocabulary), units.starts.size - 1
    pieces, of_words = subwords.bags(vocabulary.words), units.lines[:words]
    of_buckets = np.zeros(subwords.buckets, np.int64)
    of_buckets[: units.lines.size - words] = units.lines[words:]
    add_pieces(pieces, of_words, of_buckets)
    there = of_buckets > 0
    there[also[also >= 0]] = True
    used = np.flatnonzero(there)
    use = np.concatenate([of_words[:kept], of_buckets[used]])
    order = _by_use(use)
    keys = np.concatenate([-1 - np.arange(kept), used])[order]
    row_of = np.empty(keys.size, np.int32)
    row_of[order] = np.arange(keys.size, dtype=np.int32)
    weights, bucket_rows = row_weights(use[order], total, idf), np.full(subwords.buckets, -1, np.int32)
    bucket_rows[used] = row_of[kept:]
    bags = joined_bags(pieces.starts, bucket_rows[pieces.ids], row_of[:kept])
    return LineInput(NgramRows(keys, bags), weights, _lines(units, weights, bags, bucket_rows, threads))


def _by_use(use: Counts) -> Counts:
    """Return the places of numbers by falling size; of equal numbers the first comes first.

    The place is part of the key, so any sort will do, and NumPy's quickest is not stable.
    """
    top = int(use.max(initial=0))
    return np.sort((top - use << 32) | np.arange(use.size)) & 0xFFFFFFFF


def _lines(units: Units, weights: Floats, bags: Bags, bucket_rows: Ids, threads: int) -> LineBags:
    """Return the rows of all lines and their weights: in memory, or in temporary files if they are many.

    Words that have several rows are written out, row by row, unless all rows would take more than SMALL
    bytes: reading rows one after another is quicker than looking up those of each word.
    """
    sizes, bag_weights = np.diff(bags.starts), weights[bags.rows]
    total = int(units.lines[: sizes.size] @ sizes + units.lines[sizes.size :].sum())
    several = bool(sizes.max(initial=1) > 1)
    written = several and 8 * total <= SMALL
    if several and not written:
        squares = np.bincount(np.repeat(np.arange(sizes.size), sizes), np.square(bag_weights), sizes.size)
        bags = bags._replace(squares=squares.astype(np.float32))
    each = sizes if written else np.minimum(sizes, 1)
    starts = line_starts(units.ids, units.starts, each, np.zeros_like(units.starts))
    on_disk = 8 * int(starts[-1]) > SMALL
    rows, row_weights = (_room(int(starts[-1]), kind, on_disk) for kind in (np.int32, np.float32))

    def fill(first: int) -> None:
        last = min(first + BLOCK, starts.size - 1)
        write_rows(
            units.ids, units.starts, first, last, bags, bag_weights, bucket_rows, weights, written, rows,
            row_weights, starts,
        )  # fmt: skip

    list(in_order(range(0, starts.size - 1, BLOCK), fill, threads))
    return LineBags(read_only(rows), read_only(row_weights), starts, bags, bag_weights)


def _room(size: int, kind: Any, on_disk: bool) -> Any:
    """Return an array for so many numbers, in memory or in a temporary file that has room for all of them."""
    if not on_disk:
        return np.empty(size, kind)
    with tempfile.TemporaryFile(prefix="unhot-") as file:
        try:
            os.posix_fallocate(
                file.fileno(), 0, 4 * size
            )  # else writing to a full disk would end the process
        except OSError as error:
            raise no_room(error) from error
        return np.asarray(np.memmap(file, kind, "r+", shape=(size,)))


@kernel
def list_lines(
    ids: Any, begins: Any, first: Any, runs: Any, hashes: Any, end: Any, states: Any, stamps: Any, lines: Any,
    out: Any, starts: Any,
) -> Any:  # fmt: skip
    """Write the units of a block of lines to `out`; return their number.

    Line i of the block is line first + i of the text. `stamps` holds 1 + the last line that has each unit.
    """
    at = 0
    begin = starts[first]
    for line in range(begins.size - 1):
        mark, open_runs = first + line + 1, 0
        for place in range(begins[line], begins[line + 1] + 1):
            word = np.int64(end)
            if place < begins[line + 1]:
                word = np.int64(ids[place])
            if stamps[word] != mark:
                stamps[word] = mark
                lines[word] += 1
                out[at] = word
                at += 1
            if runs.longest > 1:
                # the buckets are written behind the units, and then compared with those that are there
                stop = next_runs(runs, states, open_runs, hashes[word], out, at)
                open_runs = min(open_runs + 1, runs.longest - 1)
                for i in range(at, stop):
                    unit = hashes.size + np.int64(out[i])
                    if stamps[unit] != mark:
                        stamps[unit] = mark
                        lines[unit] += 1
                        out[at] = unit
                        at += 1
        starts[mark] = begin + at
    return at


@kernel
def add_pieces(pieces: Any, of_words: Any, of_buckets: Any) -> None:
    """Add the lines of each word to those of the buckets of its n-grams."""
    for word in range(of_words.size):
        for i in range(pieces.starts[word], pieces.starts[word + 1]):
            of_buckets[pieces.ids[i]] += of_words[word]


@kernel
def line_starts(ids: Any, begins: Any, each: Any, starts: Any) -> Any:
    """Write where the entries of each line begin; `each`: the entries of a word; a run has one."""
    at = 0
    for line in range(begins.size - 1):
        for i in range(begins[line], begins[line + 1]):
            at += each[ids[i]] if ids[i] < each.size else 1
        starts[line + 1] = at
    return starts


@kernel
def write_rows(
    ids: Any, begins: Any, first: Any, last: Any, bags: Any, bag_weights: Any, bucket_rows: Any, weights: Any,
    written: Any, out: Any, out_weights: Any, starts: Any,
) -> None:  # fmt: skip
    """Write the entries of lines first .. last - 1, and their weights.

    If words are not written out, one with several rows is the entry -1 - word.
    """
    words = bags.starts.size - 1
    for line in range(first, last):
        at = starts[line]
        for i in range(begins[line], begins[line + 1]):
            unit = np.int64(ids[i])
            if unit >= words:
                out[at] = bucket_rows[unit - words]
                out_weights[at] = weights[out[at]]
                at += 1
            elif written or bags.starts[unit + 1] - bags.starts[unit] < 2:
                for j in range(bags.starts[unit], bags.starts[unit + 1]):
                    out[at], out_weights[at] = bags.rows[j], bag_weights[j]
                    at += 1
            else:
                out[at], out_weights[at] = -1 - unit, np.float32(0.0)
                at += 1
