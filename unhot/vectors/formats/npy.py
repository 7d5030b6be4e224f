"""Read and write NumPy's `X.npy`, memory-mapped copy-on-write, with the words beside it in `X.words.txt`.

The words file has one word per line, in the format of `words_text`. Unlike in vocab.txt, an unknown escape
stays as it is, because lists of words from elsewhere may contain backslashes. The header of the matrix is
parsed here and not by NumPy, which raises a dozen different errors for a damaged one. Nothing is unpickled.
"""

import ast
import math
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unhot.atomic import replacing
from unhot.errors import FormatError
from unhot.types import Floats
from unhot.vectors.formats.table import ALL, Options, Table, blocks, decode, file_size
from unhot.vocab.vocabulary import ESCAPES, words_text

MAGIC = b"\x93NUMPY"
MAX_HEADER_BYTES = 10_000  # NumPy's own limit
ESCAPED = re.compile(r"\\[\\nr]")
UNESCAPED = {escaped: raw for raw, escaped in ESCAPES.items()}
DTYPES = {"<f2", "<f4", "<f8", ">f2", ">f4", ">f8"}


def words_path(path: Path) -> Path:
    """Return the path of the words that belong to a matrix."""
    return path.with_suffix(".words.txt")


def write(path: Path, table: Table) -> None:
    """Write the matrix, then the words, then give both their names: a full disk leaves the old files."""
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {table.vectors.shape}, }}"
    head += " " * (-(len(MAGIC) + 4 + len(head) + 1) % 64) + "\n"
    with replacing(path) as file:
        file.write(MAGIC + b"\x01\x00" + struct.pack("<H", len(head)) + head.encode("ascii"))
        for _, block in blocks(table.vectors):
            file.write(block.astype("<f4", copy=False).data)
        file.flush()
        with replacing(words_path(path)) as words:
            words.write(words_text(table.words))


def read(path: Path, options: Options = ALL) -> Table:
    """Map the matrix and read its words."""
    matrix = _mapped(path, file_size(path))
    names = words_path(path)
    if not names.is_file():
        raise FormatError(
            f"{path}: byte 0: the file {names} with the words of these {len(matrix)} rows is missing; write "
            "it with one word per line"
        )
    words = parse_words(names.read_bytes(), names, 0, options, len(matrix))
    return Table(words, as_float32(matrix[: options.rows(len(matrix))]), None)


def as_float32(matrix: NDArray[Any]) -> Floats:
    """Return the matrix as contiguous float32 rows; it is not copied if it is that already."""
    with np.errstate(over="ignore", invalid="ignore"):
        return (
            matrix
            if matrix.dtype == np.float32 and matrix.flags.c_contiguous
            else np.ascontiguousarray(matrix, np.float32)
        )


def _mapped(path: Path, size: int) -> NDArray[Any]:
    with path.open("rb") as file:
        dtype, shape, fortran, start = _read_header(path, file.read(12 + MAX_HEADER_BYTES))
    needed = math.prod(shape) * dtype.itemsize
    if needed != size - start:
        raise FormatError(
            f"{path}: byte {start}: {shape[0]} rows of {shape[1]} numbers need {needed} bytes; the file has "
            f"{size - start}"
        )
    if not needed:
        return np.empty(shape, dtype)
    return np.memmap(path, dtype, "c", start, shape, "F" if fortran else "C")


def _read_header(path: Path, data: bytes) -> tuple[np.dtype[Any], tuple[int, int], bool, int]:
    """Return (dtype, shape, whether in Fortran order, first byte of the numbers); check the header."""
    if data[:6] != MAGIC or data[6:7] not in (b"\x01", b"\x02", b"\x03") or len(data) < 12:
        raise FormatError(f"{path}: byte 0: not a .npy file of version 1, 2 or 3")
    start = 10 if data[6] == 1 else 12
    end = start + (struct.unpack("<H", data[8:10])[0] if data[6] == 1 else struct.unpack("<I", data[8:12])[0])
    if end > len(data):
        raise FormatError(
            f"{path}: byte 8: the header has {end - start} bytes, more than the file, or more than the limit "
            f"of {MAX_HEADER_BYTES} bytes"
        )
    try:
        header = ast.literal_eval(data[start:end].decode("utf-8").strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise FormatError(f"{path}: byte {start}: the header is damaged ({error})") from error
    fields = header if isinstance(header, dict) else {}
    shape, descr = fields.get("shape"), fields.get("descr")
    if not isinstance(descr, str) or descr not in DTYPES:
        raise FormatError(
            f"{path}: byte {start}: the header's dtype is {descr!r}: accepted are {', '.join(sorted(DTYPES))}"
        )
    if (
        not isinstance(shape, tuple)
        or len(shape) != 2
        or not all(type(n) is int and 0 <= n < 2**48 for n in shape)
        or shape[1] < 1
    ):
        raise FormatError(
            f"{path}: byte {start}: the header's shape is {shape!r}: it must be a matrix [words, dim]"
        )
    return np.dtype(descr), (shape[0], shape[1]), fields.get("fortran_order") is True, end


def parse_words(data: bytes, path: Path, start: int, options: Options, announced: int) -> list[str]:
    """Return the words in some bytes of a file; there must be `announced` words.

    `start` is where the bytes begin in the file. The last line may lack its line feed.
    """
    lines = data.count(b"\n") + (1 if data and not data.endswith(b"\n") else 0)
    if lines != announced:
        raise FormatError(
            f"{path}: byte {start}: there are {lines} words, but {announced} vectors: the file must have one "
            "line for each vector"
        )
    rows = options.rows(announced)
    if not rows:
        return []
    whole = rows == announced
    text = data.removesuffix(b"\n") if whole else b"\n".join(data.split(b"\n", rows)[:rows])
    words = decode(text, path, options.bad_utf8, lambda at: start + at).split("\n")
    if b"\r" in data or b"\\" in data:
        words = [ESCAPED.sub(lambda found: UNESCAPED[found[0]], word.removesuffix("\r")) for word in words]
    return words
