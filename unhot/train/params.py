"""The matrices that are learned: padded, aligned, and begun as word2vec begins them."""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.loop import Params
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.simd.rows import as_floats
from unhot.outputs.layer import Biases
from unhot.types import Bytes

BLOCK = 1 << 16  # rows begun, and numbers looked at, at a time


def padded(dim: int) -> int:
    """Floats in a stored row: dim rounded up to whole vectors."""
    return -(-dim // LANES) * LANES


class HotSizes(NamedTuple):
    """How many rows are copied for each thread."""

    inputs: int
    outputs: int


class Sizes(NamedTuple):
    """What is learned, and how many rows each thread has copies of."""

    inputs: int  # rows of the input: words, or words and n-grams
    rows: int  # of the output
    biases: Biases
    hot: HotSizes
    aside: int  # input rows each thread has for copies of frozen ones
    threads: int

    @property
    def in_rows(self) -> int:
        """Those of the input, then what each thread puts aside, then the hot copies of each."""
        return self.inputs + self.threads * (self.aside + self.hot.inputs)

    @property
    def out_rows(self) -> int:
        """Rows, then the hot copies of each thread."""
        return self.rows + self.threads * self.hot.outputs


class FirstRows(NamedTuple):
    """How input vectors begin."""

    spread: float = 0.5  # uniform in (-spread, spread) / dim
    half: bool = False  # 16-bit floats, which kernels take as uint16


def start_params(sizes: Sizes, dim: int, stride: int, seed: int, first: FirstRows) -> Params:
    """Input vectors at random, all else zero; behind them room for the rows of threads.

    A row has `stride` floats, at least dim.
    """
    biases = sizes.biases
    ins, outs = sizes.in_rows, sizes.out_rows
    params = Params(
        in_vectors=aligned_zeros((ins, stride), np.uint16 if first.half else np.float32),
        out_vectors=aligned_zeros((outs, stride)),
        out_bias=aligned_zeros(outs if biases.out else 0),
        in_bias=aligned_zeros(ins if biases.each_input else 0),
        ln_z=aligned_zeros((1 + sizes.threads) * LANES if biases.ln_z else 0),
    )
    random = np.random.default_rng(seed)
    for begin in range(0, sizes.inputs, BLOCK):
        block = as_floats(params.in_vectors)[begin : min(begin + BLOCK, sizes.inputs), :dim]
        block[:] = (
            (random.random(block.shape, dtype=np.float32) - np.float32(0.5))
            * np.float32(2 * first.spread)
            / np.float32(dim)
        )
    return params


def frozen_rows(sizes: Sizes, ids: Bytes) -> Bytes:
    """1 for each input row that stays as it is, hot copies included, from 1 for each such word.

    Empty if there is none.
    """
    if not ids.any():
        return np.zeros(0, np.uint8)
    frozen = np.zeros(sizes.in_rows, np.uint8)
    frozen[: sizes.inputs] = ids
    hot = sizes.hot.inputs
    if hot:
        frozen[-sizes.threads * hot :] = np.tile(ids[:hot], sizes.threads)
    return frozen


def finite(params: Params) -> bool:
    """Whether all numbers are finite, and so small that their squares are."""
    return all(_finite(array.reshape(-1)) for array in params)


def _finite(vector: Any) -> bool:
    """Outside fast-math code, and without a temporary array of the size of the matrix."""
    return all_finite(vector) if vector.dtype == np.uint16 else bool(np.isfinite(np.dot(vector, vector)))


def all_finite(array: Any) -> bool:
    """Whether all numbers of an array are finite; one that kernels take as uint16 holds 16-bit floats."""
    flat = array.reshape(-1)
    for first in range(0, flat.size, BLOCK):
        block = flat[first : first + BLOCK]
        # a half is finite unless all bits of its exponent are set
        good = (block & 0x7C00) < 0x7C00 if flat.dtype == np.uint16 else np.isfinite(block)
        if not good.all():
            return False
    return True


def without_copies(params: Params, sizes: Sizes, dim: int) -> Params:
    """Views of what is learned, without padding and copies."""
    return Params(
        as_floats(params.in_vectors)[: sizes.inputs, :dim],
        params.out_vectors[: sizes.rows, :dim],
        params.out_bias[: sizes.rows],
        params.in_bias[: sizes.inputs],
        params.ln_z[:1],
    )
