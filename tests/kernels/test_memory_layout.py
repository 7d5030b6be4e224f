"""Where arrays are in memory does not change what kernels compute: the same seed gives the same bytes."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from unhot.kernels.bags import Bags
from unhot.kernels.chunk import NO_COPIES, UNCHANGED
from unhot.kernels.feeder import Inputs, input_of
from unhot.kernels.jit import kernel
from unhot.models.bag_feeders import WeightedFeeder
from unhot.models.line_bags import LineBags
from unhot.models.line_engine import _put_rows

FIRST, COUNT = 30, 20  # the place of what a loop reads, and how many numbers
FAR = 1 << 14


class Feed(NamedTuple):
    """A window of two words."""

    word: Any
    reach: Any
    begin: Any
    end: Any


class Buffers(NamedTuple):
    """What `input_of` needs of the buffers."""

    feed: Any
    inputs: Any


@kernel
def put(lines, inputs, at, hot):
    return _put_rows(lines, 1, inputs, at, hot)


@kernel
def weigh(feeder, buffers, how):
    return input_of(feeder, 0, buffers, 0, how).rows


def placed(numbers, gap, size):
    """Return the numbers, read-only, and `size` zeros that begin `gap` numbers behind them."""
    memory = np.zeros(numbers.size + gap + size, np.float32)
    memory[: numbers.size] = numbers
    before = memory[: numbers.size]
    before.flags.writeable = False
    return before, memory[numbers.size + gap :]


def gaps(numbers):
    """Return small gaps; behind the end of an array, a loop might also expect its negative places."""
    return range(0, 2 * numbers.size)


def line_squares(numbers, gap):
    weights, times = placed(numbers, gap, 2 * COUNT)
    entries = np.arange(numbers.size, dtype=np.int32)
    entries.flags.writeable = False
    starts, none = np.array([0, FIRST, FIRST + COUNT]), np.zeros(0, np.float32)
    bags = Bags(starts[:1], entries[:0].copy(), none)
    inputs = Inputs(np.zeros(COUNT, np.int32), times, np.zeros(1, np.int32))
    count, squares = put(LineBags(entries, weights, starts, bags, none), inputs, COUNT, NO_COPIES)
    np.testing.assert_array_equal(inputs.row, entries[FIRST : FIRST + COUNT])
    np.testing.assert_array_equal(times[COUNT:], weights[FIRST : FIRST + COUNT])
    return count, squares


def side_weights(numbers, gap):
    mixing, times = placed(numbers, gap, 2 * COUNT)
    bags = Bags(np.array([FIRST, FIRST + COUNT]), np.arange(numbers.size, dtype=np.int32), mixing[:0], mixing)
    inputs = Inputs(np.zeros(COUNT, np.int32), times, np.zeros(1, np.int32))
    feed = Feed(*(np.array([number]) for number in (0, 1, 0, 2)))
    count = weigh(WeightedFeeder(0, 0, bags, np.float32(1.0)), Buffers(feed, inputs), UNCHANGED)
    return count, times.tobytes()


@pytest.mark.parametrize("run", [line_squares, side_weights])
def test_sums_do_not_depend_on_how_near_arrays_are(run):
    numbers = np.random.default_rng(0).uniform(1, 5, FIRST + COUNT).astype(np.float32)
    expected = run(numbers, FAR)
    assert expected[0] == COUNT
    assert {gap for gap in gaps(numbers) if run(numbers, gap) != expected} == set()
