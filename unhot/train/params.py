"""The matrices that are learned: padded, aligned, and begun as word2vec begins them."""

from __future__ import annotations

import numpy as np

from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.loop import Params
from unhot.kernels.simd import LANES

BLOCK = 1 << 16  # rows begun at a time


def padded(dim: int) -> int:
    """Floats in a stored row: dim rounded up to whole vectors."""
    return -(-dim // LANES) * LANES


def start_params(words: int, rows: int, copies: int, dim: int, seed: int) -> Params:
    """Input vectors uniform in (-1/2, 1/2) / dim, output vectors zero; behind them room for copies of hot rows."""
    params = Params(aligned_zeros((words + copies, padded(dim))), aligned_zeros((rows + copies, padded(dim))))
    random = np.random.default_rng(seed)
    for first in range(0, words, BLOCK):
        block = params.in_vectors[first : min(first + BLOCK, words), :dim]
        block[:] = (random.random(block.shape, dtype=np.float32) - np.float32(0.5)) / np.float32(dim)
    return params


def finite(params: Params) -> bool:
    """Whether all numbers are finite. Outside fast-math code, and without a temporary array of the size of the matrix."""
    flat = (matrix.reshape(-1) for matrix in params)
    return all(bool(np.isfinite(np.dot(vector, vector))) for vector in flat)
