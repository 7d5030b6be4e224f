"""The seam between the training loop and where its examples come from.

An example is an input and its targets. A feeder is a NamedTuple that knows where they are: in the windows of
a text (window_feeder.py, and the files of models), in labelled lines, in sessions, in walks over a graph. It
registers four functions for its type, and the loop (loop.py) does the rest:

    prepare       the examples of a chunk: what is read into the feeder's own buffers, `scratch.feed`
    targets_of    what an example predicts; the loop asks one example ahead, so that output rows can be
                  fetched
    input_of      the input of an example: each row by itself (`Each`), or a bag of rows (`Bag`)
    fetch         which input rows the next examples need, to ask for them ahead
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.jit import generic, inner
from unhot.kernels.simd.lanes import LANES
from unhot.types import Floats, Ids


class Inputs(NamedTuple):
    """The rows of an example, or the words of its targets, and how often each occurs.

    The first half of `times` is as many ones as there can be rows, then LANES zeros: without repeats, the
    multiplicities of n rows are read from the last n ones on (`ones_at`). With repeats they are written to
    the second half.
    """

    row: Ids
    times: Floats
    slot: Ids  # by distance from a window's left edge: which input a place went to


class Each(NamedTuple):
    """The first `rows` rows of `scratch.inputs` are inputs of their own; all have the same targets."""

    rows: int
    times: int  # where their multiplicities begin
    pairs: int  # (input, target) pairs


class Bag(NamedTuple):
    """One input: h = share * sum of the first `rows` rows of `scratch.inputs`, by their multiplicities.

    Each of its rows moves by `moved` times the step of h: `moved` = `share` is the gradient.
    """

    rows: int
    times: int  # where their multiplicities begin
    pairs: int  # (input, target) pairs
    share: Any  # float32
    moved: Any  # float32


@generic
def prepare(feeder: Any, scratch: Any, where: Any, how: Any) -> Any:
    """Read the examples of a chunk; return the first place and the one behind the last."""


@generic
def targets_of(feeder: Any, scratch: Any, place: Any) -> Any:
    """The `Targets` of the example at a place."""


@generic
def input_of(feeder: Any, shape: Any, scratch: Any, place: Any, how: Any) -> Any:
    """The input of the example at a place, as `Each` or `Bag`; its rows are in `scratch.inputs`."""


@generic
def fetch(feeder: Any, shape: Any, params: Any, scratch: Any, place: Any, how: Any) -> Any:
    """Ask for input rows that the example at a place, which is the next one, will need."""


def inputs_buffer(most: int) -> Inputs:
    """Room for so many rows, padded for the blocks."""
    size = most + LANES
    times = aligned_zeros(2 * size)
    times[:most] = 1.0
    return Inputs(aligned_zeros(size + LANES, np.int32), times, aligned_zeros(size, np.int32))


@inner
def ones_at(inputs: Any, count: Any) -> Any:
    """Where in `times` stand `count` ones before the zeros."""
    return inputs.times.size // 2 - LANES - count
