"""The compiled part of `line_rows.py`: from the bytes of many lines to the vectors of the lines.

    h = (sum of w_r^2)^-power * sum of w_r x_r      over the rows r of a line, with their weights w_r

A word of the vocabulary is one row here. If words have n-grams, it is the sum of the word's own row and of
those of its n-grams, made once, together with the tables. So only unseen words are cut. Rows are multiplied
by their weights when the tables are made. Each has one more number, the square of its weight, so that adding
rows adds the squares, too.

Memory is asked for early. The text is cut into tokens some hundred bytes ahead, and the slots of their words
are prefetched. The entries of the buckets of runs are prefetched when their hashes are known, and their rows
when the next tokens are read.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.reading.lexicon import add_words, spelt
from unhot.corpus.reading.scanner import (
    WordTable,
    find_from,
    first_slot,
    new_table,
)
from unhot.corpus.reading.token_cuts import AHEAD, LINE_FEED, find_tokens, token_room
from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.jit import inner, kernel
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.simd.rows import prefetch_number, prefetch_to_read, sum_rows
from unhot.kernels.simd.tiles import Shape
from unhot.lines.run_buckets import RunSettings, hash_bytes, hash_words, next_runs, run_settings
from unhot.types import Bytes, Floats, Ids, Words64
from unhot.vectors.subword_rows import SubwordRows
from unhot.vocab.ngram_buckets import put_from
from unhot.vocab.subwords import LINE_END, NgramSettings
from unhot.vocab.vocabulary import encode_word

ZERO = np.uint64(0)
AT_ONCE = 1 << 12  # rows or buckets that are listed before their rows are added
SOME = AT_ONCE // 2  # n-grams of an unseen word that are hashed at a time
BLOCK_ROWS = 1 << 14  # rows copied at a time
BLOCK_WORDS = 1 << 16  # words that are cut at a time


class LineTables(NamedTuple):
    """What a model knows of words, runs and n-grams."""

    words: WordTable
    known: Words64  # [words, 2] the hash of each word, and its row or that of its sum
    bucket_rows: Ids  # [buckets] the row of each bucket, -1: none; empty: bucket b is row first_bucket + b
    first_bucket: int
    # [rows, stride] the weighted rows and, in column dim, the squares of their weights; then the sums of the
    # rows of each word, if words have n-grams
    matrix: Floats
    prefix: Bytes  # tokens that begin so are labels, not words


class LineSettings(NamedTuple):
    """How lines become vectors."""

    ngrams: NgramSettings
    runs: RunSettings
    distinct: bool  # each word and each run counts once in a line
    end: int  # the word `</s>`, -1: it is not known
    end_hash: Any  # uint64
    power: Any  # float32
    dim: int


class LineScratch(NamedTuple):
    """The buffers of one thread."""

    row: Ids
    bucket: Ids
    ones: Floats
    part: Floats  # [1, stride]
    states: Words64  # open runs
    token: Any  # int64 [tokens, 2]: where each begins, and its length; 0: a line ends
    key: Words64  # [tokens] see `word_key`
    marked: Bytes  # a word between its marks; the caller makes it as long as the text
    stamps: Bytes  # [rows + 1] the mark of the last line that has each row; of size one if rows may repeat


def line_scratch(settings: LineSettings, tables: LineTables) -> LineScratch:
    """Return buffers with room for some more n-grams than AT_ONCE rows."""
    room = AT_ONCE + AHEAD * settings.runs.longest + settings.ngrams.maxn
    return LineScratch(
        np.zeros(AT_ONCE + 1 + 2 * room, np.int32),
        np.zeros(room, np.int32),
        np.ones(AT_ONCE + 1 + 2 * room + LANES, np.float32),
        aligned_zeros((1, tables.matrix.shape[1])),
        np.zeros(max(1, settings.runs.longest), np.uint64),
        *token_room(),
        np.zeros(0, np.uint8),
        np.zeros(len(tables.matrix) + 1 if settings.distinct else 1, np.uint8),
    )


class LineModel(NamedTuple):
    """How a model turns lines into vectors."""

    words: list[str]
    rows: SubwordRows
    weights: Floats  # [rows]; empty: all are 1
    longest: int  # words of the longest run
    distinct: bool  # each word and each run counts once in a line
    power: float
    prefix: str  # of labels


def line_settings(model: LineModel, end: int | None) -> LineSettings:
    """Return the settings for the kernel; `end`: the id of `</s>`."""
    cut, raw = model.rows.subwords, np.frombuffer(encode_word(LINE_END), np.uint8)
    hashes = np.zeros(1, np.uint64)
    hash_words(raw, np.array([0, raw.size]), hashes)
    ngrams = NgramSettings(cut.minn, cut.maxn, max(1, cut.buckets), 0, 0)
    runs, end = run_settings(model.longest, cut.buckets), -1 if end is None else end
    power = np.float32(model.power)
    return LineSettings(ngrams, runs, model.distinct, end, hashes[0], power, model.rows.dim)


def line_tables(model: LineModel) -> LineTables:
    """Make the tables of a model; this copies its rows."""
    words, rows = model.words, model.rows
    text, offsets = spelt(words)
    table = new_table(max(1, len(words)), max(1, text.size))
    table, _ = add_words(table, text, offsets, np.ones(len(words), np.int64))
    hashes = np.zeros(len(words), np.uint64)
    hash_words(text, offsets, hashes)
    many, sums = rows.matrix.shape[0], len(words) if rows.subwords.maxn else 0
    matrix = aligned_zeros((many + sums, -(-(rows.dim + 1) // LANES) * LANES))
    for first in range(0, many, BLOCK_ROWS):
        block = slice(first, min(first + BLOCK_ROWS, many))
        matrix[block, : rows.dim], matrix[block, rows.dim] = rows.block(block.start, block.stop), 1.0
        if model.weights.size:
            matrix[block] *= model.weights[block, None]
            matrix[block, rows.dim] *= model.weights[block]
    word_rows = rows.word_rows
    if sums:
        word_rows = many + np.arange(sums, dtype=np.int32)
    for first in range(0, sums, BLOCK_WORDS):
        last = min(first + BLOCK_WORDS, sums)
        bags, own = rows.subwords.bags(words[first:last]), rows.word_rows[first:last]
        out = matrix[many + first : many + last]
        sum_bags(matrix[:many], own, bags.starts, rows.rows_of(bags.ids), out)
    raw = np.frombuffer(encode_word(model.prefix), np.uint8)
    known = np.stack([hashes, word_rows.astype(np.uint64)], axis=1)
    return LineTables(table, known, _bucket_table(rows), rows.first_bucket, matrix, raw)


def _bucket_table(rows: SubwordRows) -> Ids:
    """Return the row of each bucket, -1: none; empty if the buckets are consecutive rows."""
    if rows.bucket_rows is None or rows.bucket_ids is None:
        return np.zeros(0, np.int32) if rows.bucket_rows is None else rows.bucket_rows
    return rows.rows_of(np.arange(rows.subwords.buckets, dtype=np.int32)).astype(np.int32)


@kernel
def sum_bags(matrix: Any, own: Any, starts: Any, pieces: Any, sums: Any) -> None:
    """Write the sum of row own[i] and the rows pieces[starts[i] : starts[i + 1]], without those of -1."""
    for word in range(own.size):
        for j in range(sums.shape[1]):
            sums[word, j] = matrix[own[word], j]
        for i in range(starts[word], starts[word + 1]):
            if pieces[i] >= 0:
                for j in range(sums.shape[1]):
                    sums[word, j] += matrix[pieces[i], j]


@inner
def begins_with(text: Any, start: Any, length: Any, prefix: Any) -> Any:
    """Return whether a token begins with the prefix of labels."""
    if length < prefix.size or prefix.size == 0:
        return False
    for i in range(prefix.size):
        if text[start + i] != prefix[i]:
            return False
    return True


@inner
def bucket_row(tables: Any, bucket: Any) -> Any:
    """Return the row of a bucket; -1: it has none."""
    if tables.bucket_rows.size > 0:
        return np.int64(tables.bucket_rows[bucket])
    return np.int64(tables.first_bucket) + bucket


@inner
def list_row(shape: Any, row: Any, mark: Any, tables: Any, settings: Any, scratch: Any, count: Any) -> Any:
    """List a row, unless it is -1, or the line has it and rows must differ; return the number of rows.

    No branch depends on the row: the processor could not foresee it.
    """
    new = np.int64(row >= 0)
    if settings.distinct:
        place = row if row >= 0 else scratch.stamps.size - 1
        new &= np.int64(scratch.stamps[place] != mark)
        scratch.stamps[place] = mark
    prefetch_to_read(shape, tables.matrix, max(row, 0))
    scratch.row[count] = row
    return count + new


@inner
def list_buckets(
    shape: Any, mark: Any, tables: Any, settings: Any, scratch: Any, count: Any, buckets: Any
) -> Any:
    """List the rows of the listed buckets of runs; return the number of listed rows."""
    for i in range(buckets):
        row = bucket_row(tables, scratch.bucket[i])
        count = list_row(shape, row, mark, tables, settings, scratch, count)
    return count


@inner
def list_word(
    shape: Any, row: Any, state: Any, mark: Any, tables: Any, settings: Any, scratch: Any, count: Any,
    buckets: Any, open_runs: Any,
) -> Any:  # fmt: skip
    """List the row of a word and the buckets of the runs that end with it; return the three numbers."""
    count = list_row(shape, row, mark, tables, settings, scratch, count)
    if settings.runs.longest > 1:
        first = buckets
        buckets = next_runs(settings.runs, scratch.states, open_runs, state, scratch.bucket, buckets)
        open_runs = min(open_runs + 1, settings.runs.longest - 1)
        if tables.bucket_rows.size > 0:
            for i in range(first, buckets):
                prefetch_number(tables.bucket_rows, scratch.bucket[i])
    return count, buckets, open_runs


@inner
def find_word(text: Any, start: Any, length: Any, key: Any, tables: Any, settings: Any) -> Any:
    """Return whether a token is a word, its id (-1: it is unseen), its row (-1: none) and its hash."""
    word, _ = find_from(tables.words, text, start, length, key, first_slot(tables.words, key))
    if word >= 0:
        return True, word, np.int64(tables.known[word, 1]), tables.known[word, 0]
    if begins_with(text, start, length, tables.prefix):
        return False, np.int64(-1), np.int64(-1), ZERO
    return True, word, np.int64(-1), hash_bytes(text, start, start + length)


@inner
def list_ngrams(
    shape: Any, text: Any, start: Any, length: Any, tables: Any, ngrams: Any, scratch: Any, count: Any,
    out: Any,
) -> Any:  # fmt: skip
    """List the rows of an unseen word's n-grams; return the number of listed rows.

    A word may be as long as the text: whenever AT_ONCE rows are listed, they are added to `out`.
    """
    marked, end = scratch.marked, length + 2
    room, first = scratch.row.size // 2, 0
    marked[0], marked[length + 1] = 60, 62  # < and >
    for i in range(length):
        marked[i + 1] = text[start + i]
    while first < end:
        stop, first = put_from(marked, 0, end, first, ngrams, scratch.row, room, room + SOME)
        if tables.bucket_rows.size > 0:
            for i in range(room, stop):
                prefetch_number(tables.bucket_rows, scratch.row[i])
        for i in range(room, stop):
            row = bucket_row(tables, scratch.row[i])
            prefetch_to_read(shape, tables.matrix, max(row, 0))
            scratch.row[count] = row
            count += np.int64(row >= 0)
        if count >= AT_ONCE:
            add_listed(shape, tables, scratch, count, out)
            count = 0
    return count


@inner
def add_listed(shape: Any, tables: Any, scratch: Any, count: Any, out: Any) -> None:
    """Add the listed rows to the sum of a line."""
    if count > 0:
        sum_rows(shape, tables.matrix, scratch.row, scratch.ones, 0, count, np.float32(1.0), scratch.part)
        for i in range(out.size):
            out[i] += scratch.part[0, i]


@inner
def finish_line(hidden: Any, line: Any, settings: Any, squares: Any) -> None:
    """Divide the sum of a line by the power of its squared weights, and note their sum."""
    squares[line] = hidden[line, settings.dim]
    hidden[line, settings.dim] = np.float32(0.0)
    share = np.float32(1.0)
    if squares[line] > 0:
        share = squares[line] ** -settings.power
    for i in range(settings.dim):
        hidden[line, i] *= share


@inner
def sum_lines(
    shape: Any, text: Any, size: Any, rows: Any, tables: Any, settings: Any, scratch: Any, hidden: Any,
    squares: Any,
) -> Any:  # fmt: skip
    """Compute the vectors of lines, and the sums of their squared weights (0: no row); return the lines.

    `rows` defines the separators (separators.py); `hidden` holds zeros before.
    """
    line = count = buckets = open_runs = 0
    start, mark = -1, np.uint8(1)  # a byte for each row, which holds the mark of a line, stays in the cache
    end = np.int64(tables.known[settings.end, 1]) if settings.end >= 0 else np.int64(-1)
    scratch.stamps[:] = 0
    for base in range(0, size, AHEAD):
        tokens, start = find_tokens(text, base, size, rows, start, tables.words, scratch.token, scratch.key)
        count = list_buckets(shape, mark, tables, settings, scratch, count, buckets)
        buckets = 0
        for token in range(tokens):
            at, length = scratch.token[token, 0], scratch.token[token, 1]
            if length != LINE_FEED:
                is_word, word, row, state = find_word(text, at, length, scratch.key[token], tables, settings)
                if is_word:
                    count, buckets, open_runs = list_word(
                        shape, row, state, mark, tables, settings, scratch, count, buckets, open_runs
                    )
                if is_word and word < 0 and settings.ngrams.maxn > 0 and state != settings.end_hash:
                    count = list_ngrams(
                        shape, text, at, length, tables, settings.ngrams, scratch, count, hidden[line]
                    )
            else:  # the end of a line is a word, too
                count, buckets, open_runs = list_word(
                    shape, end, settings.end_hash, mark, tables, settings, scratch, count, buckets, open_runs
                )
                count = list_buckets(shape, mark, tables, settings, scratch, count, buckets)
            if length == LINE_FEED or count >= AT_ONCE:
                add_listed(shape, tables, scratch, count, hidden[line])
                count = 0
            if length == LINE_FEED:
                finish_line(hidden, line, settings, squares)
                line += 1
                buckets = open_runs = 0
                mark = np.uint8(mark + 1)
                if mark == 0:
                    scratch.stamps[:], mark = 0, np.uint8(1)
    return line


@functools.cache
def line_kernel(shape: Shape) -> Any:
    """Return `sum_lines` as a kernel whose length of rows is a constant."""

    @kernel
    def sum_all(
        text: Any, size: Any, rows: Any, tables: Any, settings: Any, scratch: Any, hidden: Any, squares: Any
    ) -> Any:
        return sum_lines(shape, text, size, rows, tables, settings, scratch, hidden, squares)

    return sum_all
