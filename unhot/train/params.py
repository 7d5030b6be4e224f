"""The matrices that are learned: padded, aligned, and begun as word2vec begins them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.loop import Params
from unhot.kernels.simd import LANES
from unhot.outputs.layer import Biases
from unhot.types import Bytes

BLOCK = 1 << 16  # rows begun at a time


def padded(dim: int) -> int:
    """Floats in a stored row: dim rounded up to whole vectors."""
    return -(-dim // LANES) * LANES


class HotSizes(NamedTuple):
    """How many rows are copied for each thread."""

    inputs: int
    outputs: int


class Sizes(NamedTuple):
    """What is learned, and how many rows each thread has copies of."""

    words: int
    rows: int  # of the output
    biases: Biases
    hot: HotSizes
    aside: int  # input rows each thread has for copies of frozen ones
    threads: int

    @property
    def in_rows(self) -> int:
        """Words, then what each thread puts aside, then the hot copies of each."""
        return self.words + self.threads * (self.aside + self.hot.inputs)

    @property
    def out_rows(self) -> int:
        """Rows, then the hot copies of each thread."""
        return self.rows + self.threads * self.hot.outputs


def start_params(sizes: Sizes, dim: int, seed: int, stride: int | None = None) -> Params:
    """Input vectors uniform in (-1/2, 1/2) / dim, all else zero; behind them room for the rows of threads.

    A row has `stride` floats; None: as many as the kernels want.
    """
    words, biases, ins, outs = sizes.words, sizes.biases, sizes.in_rows, sizes.out_rows
    stride = padded(dim) if stride is None else stride
    params = Params(
        in_vectors=aligned_zeros((ins, stride)),
        out_vectors=aligned_zeros((outs, stride)),
        out_bias=aligned_zeros(outs if biases.out else 0),
        in_bias=aligned_zeros(ins if biases.each_input else 0),
        ln_z=aligned_zeros((1 + sizes.threads) * LANES if biases.ln_z else 0),
    )
    random = np.random.default_rng(seed)
    for first in range(0, words, BLOCK):
        block = params.in_vectors[first : min(first + BLOCK, words), :dim]
        block[:] = (random.random(block.shape, dtype=np.float32) - np.float32(0.5)) / np.float32(dim)
    return params


def frozen_rows(sizes: Sizes, ids: Bytes) -> Bytes:
    """1 for each input row that stays as it is, hot copies included, from 1 for each such word; empty if there is none."""
    if not ids.any():
        return np.zeros(0, np.uint8)
    frozen = np.zeros(sizes.in_rows, np.uint8)
    frozen[: sizes.words] = ids
    hot = sizes.hot.inputs
    if hot:
        frozen[-sizes.threads * hot :] = np.tile(ids[:hot], sizes.threads)
    return frozen


def finite(params: Params) -> bool:
    """Whether all numbers are finite. Outside fast-math code, and without a temporary array of the size of the matrix."""
    flat = (array.reshape(-1) for array in params)
    return all(bool(np.isfinite(np.dot(vector, vector))) for vector in flat)


def without_copies(params: Params, sizes: Sizes, dim: int) -> Params:
    """Views of what is learned, without padding and copies."""
    return Params(
        params.in_vectors[: sizes.words, :dim],
        params.out_vectors[: sizes.rows, :dim],
        params.out_bias[: sizes.rows],
        params.in_bias[: sizes.words],
        params.ln_z[:1],
    )
