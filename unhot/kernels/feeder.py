"""The interface between the training loop and the source of its examples.

An example is an input and its targets. A feeder is a NamedTuple that finds examples: in the windows of a text
(window_feeder.py and the files of models), in labelled lines, in sessions, in walks over a graph. A feeder
registers four functions for its type, and the loop (loop.py) does the rest:

    prepare       reads the examples of a chunk into the feeder's own buffers, `scratch.feed`
    targets_of    returns what an example predicts; the loop calls it one example ahead, to prefetch output
                  rows
    input_of      returns the input of an example: each row by itself (`Each`), or a bag of rows (`Bag`)
    fetch         prefetches the input rows that the next examples need

A feeder may register `given_columns`, too: it adds columns of its own to those of the output layer.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.jit import generic, inner
from unhot.kernels.simd.lanes import LANES
from unhot.types import Floats, Ids


class Inputs(NamedTuple):
    """The rows of an example, or the words of its targets, and how often each occurs.

    The first half of `times` holds a one for each possible row, then LANES zeros. If no row repeats, the
    multiplicities of n rows are the last n ones (`ones_at`). If a row repeats, the multiplicities are written
    to the second half.
    """

    row: Ids
    times: Floats
    slot: Ids  # [distance from the left edge of a window] the input that holds the word at that place


class Each(NamedTuple):
    """Several inputs with the same targets: each of the first `rows` rows of `scratch.inputs` is one."""

    rows: int
    times: int  # the index of their multiplicities in `scratch.inputs.times`
    pairs: int  # (input, target) pairs


class Bag(NamedTuple):
    """One input h, which combines the first `rows` rows x_b of `scratch.inputs` by their multiplicities.

        h = share * sum_b times_b x_b

    `share` is 1 for the sum of the rows, 1 / (sum of times_b) for their mean. When training changes h by a
    step d, each row changes by

        x_b += moved * times_b * d

    `moved` = `share` makes this the gradient step of the rows. A larger `moved` makes the rows learn faster:
    if all rows are different, `moved` = 1 / (share * sum of times_b**2) changes h by exactly d.
    """

    rows: int
    times: int  # the index of their multiplicities in `scratch.inputs.times`
    pairs: int  # (input, target) pairs
    share: Any  # float32
    moved: Any  # float32
    weight: Any  # float32: the loss of the example counts so often


class MixedBag(NamedTuple):
    """One input h, the mean of its first `rows` rows x_b, whose weights are learned, too.

        h = sum_b w_b x_b,    w = softmax of the numbers mixing[at : at + rows]

    The weights w_b are in `scratch.inputs.times`, from `times` on.
    """

    rows: int
    times: int
    pairs: int  # (input, target) pairs
    share: Any  # float32, 1
    moved: Any  # float32, 1
    weight: Any  # float32: the loss of the example counts so often
    mixing: Floats
    at: int
    rate: Any  # float32: the learning rate of the numbers in `mixing`, relative to that of the rows


@generic
def prepare(feeder: Any, scratch: Any, where: Any, how: Any) -> Any:
    """Read the examples of a chunk; return the place of the first one and the place behind the last one."""


@generic
def targets_of(feeder: Any, scratch: Any, place: Any) -> Any:
    """Return the `Targets` of the example at a place."""


@generic
def input_of(feeder: Any, shape: Any, scratch: Any, place: Any, how: Any) -> Any:
    """Write the rows of the example at a place to `scratch.inputs`; return its input as `Each` or `Bag`."""


@generic
def fetch(feeder: Any, shape: Any, params: Any, scratch: Any, place: Any, how: Any) -> Any:
    """Prefetch input rows for the example at a place, which is the next one to be trained."""


@generic
def given_columns(
    feeder: Any, tables: Any, scratch: Any, place: Any, targets: Any, state: Any, first: Any, n: Any
) -> Any:
    """Add columns to the n columns from `first` on; return their new number and the new random state."""


@given_columns.register(object)
def _no_columns(
    feeder: Any, tables: Any, scratch: Any, place: Any, targets: Any, state: Any, first: Any, n: Any
) -> Any:
    return n, state


def inputs_buffer(most: int) -> Inputs:
    """Return buffers for up to `most` rows, padded for vector code."""
    size = most + LANES
    times = aligned_zeros(2 * size)
    times[:most] = 1.0
    return Inputs(aligned_zeros(size + LANES, np.int32), times, aligned_zeros(size, np.int32))


@inner
def ones_at(inputs: Any, count: Any) -> Any:
    """Return the index in `times` of the last `count` ones before the zeros."""
    return inputs.times.size // 2 - LANES - count
