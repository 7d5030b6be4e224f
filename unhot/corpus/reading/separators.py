"""Vector code for the scanner: find the separators among 64 bytes, and load eight bytes as one number.

These functions read up to `PADDING` bytes from the given position on, so every buffer is that much longer
than its text.
"""

from typing import Any

import numpy as np
from llvmlite import ir

from unhot.kernels.jit import block
from unhot.types import Bytes

WIDTH = 64  # bytes examined at a time: one bit each in a 64-bit number
PADDING = WIDTH
SPECIAL, OTHER = 2, 6  # how many separators have a meaning (sentence end, NUL), and how many only separate

BYTE, LONG = ir.IntType(8), ir.IntType(64)
VECTOR = ir.VectorType(BYTE, WIDTH)


def separator_rows(special: bytes, other: bytes) -> Bytes:
    """Return the separators in the form that the masks take: each byte is repeated over a vector.

    The first special separator ends a sentence.
    """
    padded = (special * SPECIAL)[:SPECIAL] + (other * OTHER)[:OTHER]
    return np.repeat(np.frombuffer(padded, np.uint8), WIDTH)


def _mask(text: Bytes, position: int, wanted: Bytes) -> int:
    return sum(1 << i for i, byte in enumerate(text[position : position + WIDTH]) if byte in wanted)


def _special_mask(text: Bytes, position: int, rows: Bytes) -> int:
    return _mask(text, position, rows[: SPECIAL * WIDTH : WIDTH])


def _other_mask(text: Bytes, position: int, rows: Bytes) -> int:
    return _mask(text, position, rows[SPECIAL * WIDTH :: WIDTH])


def _first_bytes(text: Bytes, position: int) -> int:
    return int.from_bytes(text[position : position + 8].tobytes(), "little")


def _load(builder: ir.IRBuilder, pointer: Any, position: Any, kind: ir.Type) -> Any:
    load = builder.load(builder.bitcast(builder.gep(pointer, [position]), kind.as_pointer()))
    load.align = 1
    return load


def _emit_mask(builder: ir.IRBuilder, text: Any, position: Any, rows: Any, first: int, number: int) -> Any:
    here = _load(builder, text, position, VECTOR)
    hit = ir.Constant(ir.VectorType(ir.IntType(1), WIDTH), None)
    for row in range(first, first + number):
        hit = builder.or_(
            hit,
            builder.icmp_unsigned("==", here, _load(builder, rows, ir.Constant(LONG, row * WIDTH), VECTOR)),
        )
    return builder.bitcast(hit, LONG)


@block(_special_mask)
def special_mask(types: Any, builder: ir.IRBuilder, text: Any, position: Any, rows: Any) -> int:
    """Return a mask: bit i is set if byte position + i is a special separator."""
    return _emit_mask(builder, text, position, rows, 0, SPECIAL)  # type: ignore[no-any-return]


@block(_other_mask)
def other_mask(types: Any, builder: ir.IRBuilder, text: Any, position: Any, rows: Any) -> int:
    """Return a mask: bit i is set if byte position + i is one of the other separators."""
    return _emit_mask(builder, text, position, rows, SPECIAL, OTHER)  # type: ignore[no-any-return]


@block(_first_bytes)
def first_bytes(types: Any, builder: ir.IRBuilder, text: Any, position: Any) -> int:
    """Return eight bytes as a number; the first byte is the lowest."""
    return _load(builder, text, position, LONG)  # type: ignore[no-any-return]
