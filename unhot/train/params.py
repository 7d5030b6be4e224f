"""The learned matrices: padded, aligned, and initialized as in word2vec."""

from typing import Any, NamedTuple

import numpy as np

from unhot.errors import FormatError
from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.loop import Params
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.simd.rows import as_floats
from unhot.outputs.layer import Biases
from unhot.types import Bytes

COPIES = 2  # copies of a hot row that each thread has: its own, and the row at the last exchange
BLOCK = 1 << 16  # rows initialized, or numbers checked, at a time


def padded(dim: int) -> int:
    """Return the number of floats in a stored row: dim rounded up to whole SIMD vectors."""
    return -(-dim // LANES) * LANES


class HotSizes(NamedTuple):
    """The number of rows that each thread has copies of."""

    inputs: int
    outputs: int


class Sizes(NamedTuple):
    """The number of learned rows and biases, and the rows that each thread has to itself."""

    inputs: int  # input rows: words, or words and n-grams
    rows: int  # output rows
    biases: Biases
    hot: HotSizes
    aside: int  # input rows in which each thread copies frozen ones
    threads: int

    @property
    def in_rows(self) -> int:
        """Input rows, then the copies of frozen rows and the hot copies of all threads."""
        return self.inputs + self.threads * (self.aside + COPIES * self.hot.inputs)

    @property
    def out_rows(self) -> int:
        """Output rows, then the hot copies of all threads."""
        return self.rows + self.threads * COPIES * self.hot.outputs


class FirstRows(NamedTuple):
    """How input vectors are initialized."""

    spread: float = 0.5  # uniform in (-spread, spread) / dim
    half: bool = False  # 16-bit floats, which kernels see as uint16


def start_params(sizes: Sizes, dim: int, stride: int, seed: int, first: FirstRows) -> Params:
    """Return random input vectors and zeros for all else, followed by space for the rows of threads.

    A row has `stride` floats, at least dim.
    """
    biases = sizes.biases
    ins, outs = sizes.in_rows, sizes.out_rows
    params = Params(
        in_vectors=aligned_zeros((ins, stride), np.uint16 if first.half else np.float32),
        out_vectors=aligned_zeros((outs, stride)),
        out_bias=aligned_zeros(outs if biases.out else 0),
        in_bias=aligned_zeros(ins if biases.each_input else 0),
        ln_z=aligned_zeros((1 + COPIES * sizes.threads) * LANES if biases.ln_z else 0),
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
    """Return a flag for each input row and hot copy, 1 if it is frozen, from the flags of the input ids.

    The result is empty if no row is frozen.
    """
    if not ids.any():
        return np.zeros(0, np.uint8)
    frozen = np.zeros(sizes.in_rows, np.uint8)
    frozen[: sizes.inputs] = ids
    hot = sizes.hot.inputs
    if hot:
        copies = sizes.threads * COPIES
        frozen[-copies * hot :] = np.tile(ids[:hot], copies)
    return frozen


def check_seen(spec: str, given: int, counted: int) -> None:
    """Raise a `FormatError` unless a model has as many counts of learned noise as its layer counts."""
    if given != counted:
        raise FormatError(
            f"a model with {spec}: its tensor 'seen' has {given} counts of learned noise, but must have "
            f"{counted}; the file is damaged"
        )


def finite(params: Params) -> bool:
    """Return whether all numbers are finite and small enough that their squares are finite, too."""
    return all(_finite(array.reshape(-1)) for array in params)


def _finite(vector: Any) -> bool:
    """Check a vector outside fast-math code, without a temporary array of its size."""
    return all_finite(vector) if vector.dtype == np.uint16 else bool(np.isfinite(np.dot(vector, vector)))


def all_finite(array: Any) -> bool:
    """Return whether all numbers of an array are finite; a uint16 array holds 16-bit floats."""
    flat = array.reshape(-1)
    for first in range(0, flat.size, BLOCK):
        block = flat[first : first + BLOCK]
        # a 16-bit float is finite unless all bits of its exponent are set
        good = (block & 0x7C00) < 0x7C00 if flat.dtype == np.uint16 else np.isfinite(block)
        if not good.all():
            return False
    return True


def without_copies(params: Params, sizes: Sizes, dim: int) -> Params:
    """Return views of the learned numbers, without padding and copies."""
    return Params(
        as_floats(params.in_vectors)[: sizes.inputs, :dim],
        params.out_vectors[: sizes.rows, :dim],
        params.out_bias[: sizes.rows],
        params.in_bias[: sizes.inputs],
        params.ln_z[:1],
    )
