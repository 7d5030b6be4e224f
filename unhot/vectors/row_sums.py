"""The compiled part of `subword_rows.py`: means or sums of some rows of a matrix, for many words."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unhot.kernels.aligned import flat_numbers
from unhot.kernels.jit import generic, kernel
from unhot.types import Floats


class Singles(NamedTuple):
    """A matrix as flat float32 numbers; row r begins at r * stride."""

    numbers: Floats
    stride: int


class Halves(NamedTuple):
    """A matrix as the flat bits of float16 numbers; row r begins at r * stride."""

    numbers: NDArray[np.uint16]
    stride: int


def flat(matrix: NDArray[Any]) -> Singles | Halves:
    """Return all numbers of a matrix as one flat read-only array.

    This is one array type for all matrices, so that kernels are compiled only once.
    """
    if not matrix.size:
        matrix = np.zeros((1, max(1, matrix.shape[1])), matrix.dtype)
    numbers, stride = flat_numbers(matrix)
    return (
        Halves(numbers.view(np.uint16), stride) if numbers.dtype == np.float16 else Singles(numbers, stride)
    )


@generic
def number(rows: Any, place: Any) -> Any:
    """Return the number at a place as float32."""


@number.register(Singles)
def single(rows: Any, place: Any) -> Any:
    """Return a float32 number unchanged."""
    return rows.numbers[place]


@number.register(Halves)
def half(rows: Any, place: Any) -> Any:
    """Convert float16 bits to float32.

    Shift fraction and exponent into their float32 positions, then multiply by 2^112, because the exponent
    biases are 15 and 127. Exponent 31 means inf or NaN.
    """
    bits = np.uint32(rows.numbers[place])
    size = np.uint32((bits & np.uint32(0x7FFF)) << np.uint32(13))
    usual = size.view(np.float32) * np.float32(2.0**112)
    odd = np.uint32(size | np.uint32(0x7F800000)).view(np.float32)
    value = odd if size >= np.uint32(0x0F800000) else usual
    return -value if bits >= np.uint32(0x8000) else value


@kernel
def fill_vectors(rows: Any, own: Any, starts: Any, pieces: Any, skips: Any, mean: Any, out: Any) -> None:
    """Compute out[i] from row own[i] (unless -1) and the rows pieces[starts[i] : starts[i + 1]].

    It is the mean of these rows if `mean`, else their sum; `out` holds zeros before.

    A piece of -1 has no row: it is left out if `skips`, else it counts as a row of zeros.
    """
    dim = out.shape[1]
    for word in range(out.shape[0]):
        count = 0
        for place in range(starts[word] - 1, starts[word + 1]):
            begins = place < starts[word]
            row = own[word] if begins else pieces[place]
            if row >= 0:
                count += 1
                for j in range(dim):
                    out[word, j] += number(rows, row * rows.stride + j)
            elif not (begins or skips):
                count += 1
        if mean:
            scale = np.float32(1.0 / max(1, count))
            for j in range(dim):
                out[word, j] *= scale
