"""Read and write safetensors files.

Such a file is the header's length (uint64), a JSON header padded with spaces, and the tensors' bytes,
little-endian and without gaps.

unhot does not use the safetensors library here. For writing, the library needs every tensor contiguous in
memory, but the training arrays are views of padded rows. For reading, it does not tell where a tensor begins,
which memory-mapping needs. Tests compare both with the library.
"""

import json
import math
import mmap
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unhot.errors import DataError, FormatError
from unhot.json_file import json_text

Array = NDArray[Any]

DTYPES = {
    "F64": "<f8",
    "I64": "<i8",
    "U64": "<u8",
    "F32": "<f4",
    "I32": "<i4",
    "U32": "<u4",
    "F16": "<f2",
    "I8": "<i1",
    "U8": "<u1",
}
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}
# types that only other programs write. NumPy has no bfloat16 and no 8-bit floats, so these are mapped as
# integers of the same size
OTHERS = {"I16": "<i2", "U16": "<u2", "BOOL": "|b1", "BF16": "<u2", "F8_E4M3": "|u1", "F8_E5M2": "|u1"}
ITEMS: dict[str, np.dtype[Any]] = {name: np.dtype(code) for name, code in (DTYPES | OTHERS).items()}
ALIGNMENT = 64  # alignment of the first tensor in the file: one cache line, one AVX-512 register
BLOCK_BYTES = 1 << 20
RELEASED = 64  # blocks after which the memory of a mapped tensor is given back
MAX_HEADER_BYTES = 100_000_000  # the library's own limit


def write_safetensors(file: BinaryIO, tensors: Mapping[str, Array | tuple[Array, ...]]) -> None:
    """Write the tensors block by block; views of padded rows are never copied as a whole.

    A tuple of arrays is written as one tensor, with the rows of one array after those of another.
    """
    parts = {name: tensor if isinstance(tensor, tuple) else (tensor,) for name, tensor in tensors.items()}
    # Sort by item size, widest first, so that every tensor starts at a multiple of its item size; then by
    # name, so that the same tensors always give the same bytes.
    names = sorted(parts, key=lambda name: (-parts[name][0].dtype.itemsize, name))
    header: dict[str, Any] = {}
    end = 0
    for name in names:
        start, end = end, end + sum(part.nbytes for part in parts[name])
        first = parts[name][0]
        dtype = NAMES.get(first.dtype.newbyteorder("<"))
        if dtype is None:
            raise DataError(
                f"tensor {name!r} has dtype {first.dtype}: accepted are "
                f"{', '.join(str(known) for known in NAMES)}"
            )
        shape = [sum(len(part) for part in parts[name]), *first.shape[1:]] if first.ndim else []
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    text = json_text(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    file.write(struct.pack("<Q", len(text)) + text)
    for name in names:
        for part in parts[name]:
            _write_rows(file, part)


class TensorPlace(NamedTuple):
    """The type and shape of a tensor, and where it begins and ends in a file."""

    dtype: str  # a key of DTYPES or OTHERS
    shape: tuple[int, ...]
    begin: int
    end: int


def read_safetensors(path: Path) -> dict[str, Array]:
    """Memory-map every tensor of a file after checking the header against the file's size."""
    return {name: map_tensor(path, entry) for name, entry in read_entries(path).items()}


def read_entries(path: Path) -> dict[str, TensorPlace]:
    """Return the place of every tensor in a file, after checking the header against the file's size."""
    size = path.stat().st_size
    header, start = _read_header(path, size)
    entries = {
        name: _checked_entry(path, name, entry, start)
        for name, entry in header.items()
        if name != "__metadata__"
    }
    position = start
    for begin, end in sorted((entry.begin, entry.end) for entry in entries.values()):
        if begin != position:
            raise FormatError(
                f"{path}: a tensor begins at byte {begin}, but the tensor before it ends at byte {position}"
            )
        position = end
    if position != size:
        raise FormatError(f"{path}: the tensors end at byte {position}, but the file ends at byte {size}")
    return entries


def _write_rows(file: BinaryIO, tensor: Array) -> None:
    little = tensor.dtype.newbyteorder("<")
    rows = tensor.reshape(1) if tensor.ndim == 0 else tensor
    step = max(1, BLOCK_BYTES // max(1, rows.nbytes // max(1, len(rows))))
    for number, first in enumerate(range(0, len(rows), step), 1):
        file.write(np.ascontiguousarray(rows[first : first + step], dtype=little).data)
        if number % RELEASED == 0:
            _release(tensor)


def _release(tensor: Array) -> None:
    """Give back the memory of a tensor that is mapped from a file; what is read again is mapped again."""
    found: Any = tensor
    while found is not None and not isinstance(found, np.memmap):
        found = getattr(found, "base", None)
    # a writable map may hold changes, which would be lost
    if found is not None and not found.flags.writeable and hasattr(mmap, "MADV_DONTNEED"):
        found._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _read_header(path: Path, size: int) -> tuple[dict[str, Any], int]:
    """Return the JSON header and the byte where the tensors begin."""
    with path.open("rb") as file:
        prefix = file.read(8)
        if len(prefix) < 8:
            raise FormatError(
                f"{path}: the file ends at byte {size}, inside the header's length (8 bytes); it is truncated"
            )
        (length,) = struct.unpack("<Q", prefix)
        if length > min(size - 8, MAX_HEADER_BYTES):
            raise FormatError(
                f"{path}: byte 0 says that the header has {length} bytes, but the file has {size}; it is "
                "truncated or damaged"
            )
        text = file.read(length)
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:  # bad UTF-8 and bad JSON are both ValueErrors
        raise FormatError(
            f"{path}: the header at bytes 8..{8 + length} is not valid JSON ({error})"
        ) from error
    if not isinstance(header, dict):
        raise FormatError(f"{path}: the header at byte 8 is not a JSON object")
    return header, 8 + length


def _is_size(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63  # not isinstance: True is an int


def _checked_entry(path: Path, name: str, entry: object, start: int) -> TensorPlace:
    """Return the place of one tensor after checking its header entry; offsets count from `start`."""
    fields = entry if isinstance(entry, dict) else {}
    dtype = fields.get("dtype")
    shape = fields.get("shape")
    offsets = fields.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in ITEMS:
        raise FormatError(
            f"{path}: tensor {name!r} in the header at byte 8 has dtype {dtype!r}: accepted are "
            f"{', '.join(ITEMS)}"
        )
    if not isinstance(shape, list) or len(shape) > 8 or not all(_is_size(length) for length in shape):
        raise FormatError(f"{path}: tensor {name!r} in the header at byte 8 has no valid shape")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(_is_size(offset) for offset in offsets):
        raise FormatError(f"{path}: tensor {name!r} in the header at byte 8 has no valid data_offsets")
    needed = math.prod(shape) * ITEMS[dtype].itemsize
    if offsets[1] - offsets[0] != needed:
        raise FormatError(
            f"{path}: byte 8: tensor {name!r} of shape {shape} needs {needed} bytes, but its data_offsets "
            f"are {offsets}"
        )
    return TensorPlace(dtype, tuple(shape), start + offsets[0], start + offsets[1])


def map_tensor(path: Path, entry: TensorPlace) -> Array:
    """Memory-map a tensor copy-on-write: it can be changed in memory, the file stays as it is."""
    dtype, shape = ITEMS[entry.dtype], entry.shape
    try:
        if math.prod(shape) == 0:  # nothing to map
            tensor: Array = np.zeros(shape, dtype)
        else:
            # another program may place tensors anywhere; kernels need aligned ones, so those are copied
            tensor = np.require(np.memmap(path, dtype, "c", entry.begin, shape), requirements="A")
    except ValueError as error:  # e.g. the shape [2**62, 2**62, 0]: no bytes, but too large for NumPy
        raise FormatError(
            f"{path}: a tensor in the header at byte 8 has the impossible shape {list(shape)}"
        ) from error
    return tensor
