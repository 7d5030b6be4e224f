"""The compiled part of `subword_rows.py`: means of some rows of a matrix, for many words at once."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unhot.kernels.jit import generic, kernel
from unhot.types import Floats


class Singles(NamedTuple):
    """Float32 numbers, and where the next row begins."""

    numbers: Floats
    stride: int


class Halves(NamedTuple):
    """The bits of float16 numbers, and where the next row begins."""

    numbers: NDArray[np.uint16]
    stride: int


def flat(matrix: NDArray[Any]) -> Singles | Halves:
    """All numbers of a matrix, from the first to the last, read-only.

    That is one type of array for all matrices, so that nothing is compiled twice.
    """
    (count, dim), size = matrix.shape, matrix.itemsize
    if count == 0 or dim == 0:
        matrix = np.zeros((1, max(1, dim)), matrix.dtype)
    elif matrix.strides[1] != size or matrix.strides[0] < size * dim or matrix.strides[0] % size:
        matrix = np.ascontiguousarray(matrix)
    stride, last = matrix.strides[0] // size, len(matrix) - 1
    numbers = np.lib.stride_tricks.as_strided(
        matrix, (last * stride + matrix.shape[1],), (size,), writeable=False
    ).view(np.ndarray)
    return (
        Halves(numbers.view(np.uint16), stride) if numbers.dtype == np.float16 else Singles(numbers, stride)
    )


@generic
def number(rows: Any, place: Any) -> Any:
    """A number as float32."""


@number.register(Singles)
def single(rows: Any, place: Any) -> Any:
    """As it is."""
    return rows.numbers[place]


@number.register(Halves)
def half(rows: Any, place: Any) -> Any:
    """Fraction and exponent move to their places in a float32, whose exponent begins 112 lower.

    An exponent of 31 stands for inf and NaN.
    """
    bits = np.uint32(rows.numbers[place])
    size = np.uint32((bits & np.uint32(0x7FFF)) << np.uint32(13))
    usual = size.view(np.float32) * np.float32(2.0**112)
    odd = np.uint32(size | np.uint32(0x7F800000)).view(np.float32)
    value = odd if size >= np.uint32(0x0F800000) else usual
    return -value if bits >= np.uint32(0x8000) else value


@kernel
def fill_means(rows: Any, own: Any, starts: Any, pieces: Any, skips: Any, out: Any) -> None:
    """out[i] = the mean of row own[i], if that is not -1, and of rows pieces[starts[i] : starts[i + 1]]."""
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
        scale = np.float32(1.0 / max(1, count))
        for j in range(dim):
            out[word, j] *= scale
