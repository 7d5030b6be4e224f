"""The engine of classifiers, and its examples: a line, which is a bag of weighted rows, predicts its labels.

    h = sum of w_r x_r / sqrt(sum of w_r^2)     over the rows r of the line, with their weights w_r
    L = c loss(h, labels)                       c: the weight of the labels, 1 unless classes have weights

The rows move by their gradients, w_r / sqrt(sum of w^2) dL/dh. So one step moves h by lr dL/dh, however long
the line is. A line of T labels counts once: the loss is the mean over its labels, unless the output layer
takes them together (`OutputLayer.takes_together`).
"""

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.bags import Bags, fetch_bag, put_bag
from unhot.kernels.chunk import Where, hot_row
from unhot.kernels.columns import Targets
from unhot.kernels.feeder import Bag, fetch, input_of, ones_at, prepare, targets_of
from unhot.kernels.jit import inner
from unhot.kernels.order import shuffled
from unhot.kernels.rng import stream_key
from unhot.kernels.simd.rows import prefetch
from unhot.models.engine import CompiledEngine, Wiring, make_kernel
from unhot.models.line_bags import LineBags
from unhot.train.hogwild import warm_up
from unhot.train.params import padded
from unhot.train.schedule import FEWEST_CHUNKS, TextChunk
from unhot.types import Counts, Floats, Ids, Starts

CHUNK = 1 << 19  # rows and columns of a chunk: about 10 ms of work
BLOCK = 1 << 16  # lines whose rows are counted at a time


class LineFeeder(NamedTuple):
    """Lines, their labels, and the weight of each label."""

    lines: LineBags
    labels: Ids
    label_starts: Starts  # [lines + 1]
    label_weights: Floats  # [labels]
    together: bool  # whether the layer takes the labels of a line together


class LineNumbers(NamedTuple):
    """The buffer of a chunk: the numbers of its lines."""

    line: Any  # int64


def line_numbers(lines: int) -> LineNumbers:
    """Return a buffer for a chunk of so many lines."""
    return LineNumbers(aligned_zeros(lines + 1, np.int64))


@prepare.register(LineFeeder)
def _prepare(feeder: Any, scratch: Any, where: Any, how: Any) -> Any:
    """Find the lines of a chunk: those at places [first, last) of a random order of all lines."""
    for place in range(where.first, where.last):
        line = where.begin + shuffled(where.order_key, place, where.end - where.begin)
        scratch.feed.line[place - where.first] = line
    return 0, where.last - where.first


@targets_of.register(LineFeeder)
def _labels(feeder: Any, scratch: Any, place: Any) -> Any:
    line = scratch.feed.line[place]
    at, inputs = feeder.label_starts[line], scratch.inputs
    n = feeder.label_starts[line + 1] - at
    return Targets(feeder.labels, at, inputs.times, ones_at(inputs, n), n, n, 1, 1)


@inner
def _put_rows(lines: Any, line: Any, inputs: Any, at: Any, hot: Any) -> Any:
    """Write the rows of a line and their weights; return their number and the sum of squared weights.

    The sum has a loop of its own. In one loop, the compiler makes vector code and scalar code, and where the
    arrays are in memory decides which of them runs. The two add in another order, so the same seed would not
    always give the same bytes.
    """
    first, squares = lines.starts[line], np.float32(0.0)
    count = lines.starts[line + 1] - first
    for i in range(count):
        place = np.uint64(first + i)  # without a sign: no place is negative, so the loops become vector code
        row = lines.entries[place]
        inputs.row[i] = row + (hot.in_shift if row < hot.in_rows else 0)
        inputs.times[np.uint64(at + i)] = lines.weights[place]
    for i in range(count):
        weight = lines.weights[np.uint64(first + i)]
        squares += weight * weight
    return count, squares


@inner
def _put_bags(lines: Any, line: Any, inputs: Any, at: Any, hot: Any) -> Any:
    """Do the same for lines in which a word with several rows is one entry."""
    count, squares = 0, np.float32(0.0)
    for i in range(lines.starts[line], lines.starts[line + 1]):
        entry = lines.entries[i]
        if entry >= 0:
            inputs.row[count] = hot_row(entry, hot.in_rows, hot.in_shift)
            inputs.times[at + count] = lines.weights[i]
            squares += lines.weights[i] * lines.weights[i]
            count += 1
        else:
            word = -1 - entry
            first, stop = lines.bags.starts[word], lines.bags.starts[word + 1]
            for j in range(first, stop):
                inputs.times[at + count + j - first] = lines.bag_weights[j]
            squares += lines.bags.squares[word]
            count = put_bag(lines.bags, word, hot, inputs, count)
    return count, squares


@input_of.register(LineFeeder)
def _line(feeder: Any, shape: Any, scratch: Any, place: Any, how: Any) -> Any:
    line, inputs = scratch.feed.line[place], scratch.inputs
    lines, at = feeder.lines, scratch.inputs.times.size // 2
    if lines.bags.squares.size == 0:
        count, squares = _put_rows(lines, line, inputs, at, how.hot)
    else:
        count, squares = _put_bags(lines, line, inputs, at, how.hot)
    first, one = feeder.label_starts[line], np.float32(1.0)
    labels, weight = feeder.label_starts[line + 1] - first, np.float32(0.0)
    for i in range(labels):
        weight += feeder.label_weights[feeder.labels[first + i]]
    weight /= np.float32(max(labels, 1))
    if not feeder.together:
        weight /= np.float32(max(labels, 1))
    share = one / np.sqrt(max(squares, np.float32(1e-30)))
    return Bag(count, at, 1, share, share, weight)


@fetch.register(LineFeeder)
def _fetch(feeder: Any, shape: Any, params: Any, scratch: Any, place: Any, how: Any) -> None:
    """Prefetch the rows of a line."""
    line, lines = scratch.feed.line[place], feeder.lines
    for i in range(lines.starts[line], lines.starts[line + 1]):
        entry = lines.entries[i]
        if entry >= 0:
            prefetch(shape, params.in_vectors, hot_row(entry, how.hot.in_rows, how.hot.in_shift))
        else:
            fetch_bag(shape, params, lines.bags, -1 - entry, how.hot)


@dataclass(frozen=True)
class LabelledLines:
    """The lines to learn from, with their labels."""

    feeder: LineFeeder
    words: int  # of all lines

    @functools.cached_property
    def rows(self) -> Counts:
        """The number of rows of each line."""
        return row_counts(self.feeder.lines)


def row_counts(lines: LineBags) -> Counts:
    """Return how many rows each line has; a word with several rows is one entry of its lines."""
    counts, sizes = np.diff(lines.starts), np.diff(lines.bags.starts)
    if not lines.bags.squares.size:  # the rows of all words are written out
        return counts
    for first in range(0, counts.size, BLOCK):
        starts = lines.starts[first : first + BLOCK + 1]
        entries = lines.entries[starts[0] : starts[-1]]
        rows = np.cumsum(np.where(entries < 0, sizes[-1 - np.minimum(entries, -1)], 1))
        counts[first : first + BLOCK] = np.diff(np.append(0, rows)[starts - starts[0]])
    return counts


def no_lines() -> LineFeeder:
    """Return no lines, to compile with; arrays are read-only where mapped files are."""
    ids, starts = np.zeros(1, np.int32), np.zeros(2, np.int64)
    floats = np.zeros(1, np.float32)
    mapped, weights = ids.view(), floats.view()
    mapped.flags.writeable = weights.flags.writeable = False
    lines = LineBags(mapped, weights, starts, Bags(starts, ids, floats), floats)
    return LineFeeder(lines, mapped, starts, floats, False)


def line_chunks(lines: int, rows: int, columns: int) -> list[TextChunk]:
    """Cut an epoch of `lines` lines, with `rows` rows in all, into chunks for steps of so many columns.

    A step over a column takes about as long as one over a row. There are at least FEWEST_CHUNKS chunks, so
    that the rate falls smoothly.
    """
    size = min(CHUNK * lines // (rows + lines * columns), lines // FEWEST_CHUNKS)
    size = max(1, size)
    starts = range(0, lines, size)
    return [
        TextChunk(number, start, 0, 0, 0, lines, 1, start, min(start + size, lines))
        for number, start in enumerate(starts)
    ]


@dataclass(frozen=True)
class LineExamples:
    """Lines in chunks, as the examples of a training; each epoch has its own order of all lines."""

    lines: LabelledLines
    chunks: list[TextChunk]
    seed: int

    @property
    def size(self) -> int:
        """The lines of an epoch."""
        return self.chunks[-1].stop

    @property
    def words(self) -> int:
        """The words of an epoch, as progress reports count them."""
        return self.lines.words

    def feeders(self) -> list[LineFeeder]:
        """Return the feeder of all lines."""
        return [self.lines.feeder]

    def buffers(self) -> LineNumbers:
        """Return the buffers of the feeder for the longest chunk."""
        return line_numbers(max(chunk.stop - chunk.start for chunk in self.chunks))

    def where(self, epoch: int, chunk: TextChunk) -> Where:
        """Return the place of a chunk in the order of its epoch."""
        order, draws = stream_key(self.seed, epoch, -1), stream_key(self.seed, epoch, 1 + chunk.number)
        first, last = chunk.pieces()
        return Where(first, last, chunk.begin, chunk.end, 1, order, order, draws)


class LineEngine(CompiledEngine):
    """The engine that trains on lines with compiled kernels."""

    @classmethod
    def check(cls, model: Any, wiring: Wiring) -> None:
        """Raise a `ConfigError` unless the layer has a kernel."""
        model.layer.check_compiled()

    @classmethod
    def warm_up(cls, model: Any, wiring: Wiring) -> None:
        """Compile the training kernel, or load it from disk."""
        warm_up(make_kernel(model, wiring, None), no_lines(), line_numbers(0), padded(model.dim))

    def examples(self, columns: int) -> LineExamples:
        """Return the lines in chunks."""
        lines: LabelledLines = self.data.text
        chunks = line_chunks(lines.rows.size, int(lines.rows.sum()), columns)
        return LineExamples(lines, chunks, self.model.seed)

    def most_frozen(self) -> int:
        """Return the largest number of rows that a line has."""
        return int(self.data.text.rows.max(initial=1))
