"""The examples of a classifier: a line, which is a bag of weighted rows, predicts its labels.

    h = sum of w_r x_r / sqrt(sum of w_r^2)     over the rows r of the line, with their weights w_r
    L = c loss(h, labels)                       c: the weight of the labels, 1 unless classes have weights

The rows move by their gradients, w_r / sqrt(sum of w^2) dL/dh. So one step moves h by lr dL/dh, however long
the line is. A line of T labels counts once: the loss is the mean over its labels, unless the output layer
takes them together (`OutputLayer.takes_together`).
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.bags import fetch_bag, put_bag
from unhot.kernels.chunk import hot_row
from unhot.kernels.columns import Targets
from unhot.kernels.feeder import Bag, fetch, input_of, ones_at, prepare, targets_of
from unhot.kernels.jit import inner
from unhot.kernels.order import shuffled
from unhot.kernels.simd.rows import prefetch
from unhot.models.line_bags import LineBags
from unhot.types import Floats, Ids, Starts


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
