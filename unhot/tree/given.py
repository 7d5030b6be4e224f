"""Trees and classes read from files: one code or one class for each id.

Both files are CSV without a header: line i belongs to id i, and its last field is the value, so a word may
come before it. A tree is any complete prefix code of 0s (left) and 1s (right).
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import DataError, FormatError
from unhot.kernels.jit import kernel
from unhot.regular import named_size
from unhot.tree.paths import Paths, checked_counts, from_children
from unhot.types import Bytes, Counts, Starts


def from_codes(codes: Sequence[str], counts: ArrayLike) -> Paths:
    """Return the tree in which codes[w] is the way from the root to word w.

    The counts only decide how its inner nodes are numbered.

    >>> from_codes(["0", "10", "11"], [5, 1, 1]).node.tolist()
    [0, 0, 1, 0, 1]
    """
    counts = checked_counts(counts)
    words = counts.size
    if len(codes) != words:
        raise DataError(f"{len(codes)} codes for {words} words: give one code for each word")
    bits, start = _bits(codes)
    children = np.full((words - 1, 2), words, np.int32)
    complete = bits.size == 0 if words == 1 else _grow(bits, start, children) == words - 1
    if not complete:
        raise DataError(_why_not(codes))
    return from_children(children, counts)


def _bits(codes: Sequence[str]) -> tuple[Bytes, Starts]:
    """Return all codes as one array of 0 and 1, and where each begins."""
    for i, code in enumerate(codes):
        if not isinstance(code, str):
            raise DataError(
                f"the code {code!r} of id {i} is of type {type(code).__name__}: "
                "codes must be str of 0s and 1s"
            )
    start = np.append(0, np.cumsum(np.fromiter(map(len, codes), np.int64, len(codes))))
    # one byte for each character; a character outside Latin-1 becomes a question mark
    bits = np.frombuffer("".join(codes).encode("latin-1", "replace"), np.uint8) - np.uint8(ord("0"))
    if bits.size and bits.max() > 1:
        i = int(np.searchsorted(start, np.argmax(bits > 1), side="right")) - 1
        raise DataError(f"the code {codes[i][:80]!r} of id {i}: must be made of 0s (left) and 1s (right)")
    return bits, start


@kernel
def _grow(bits: Any, start: Any, children: Any) -> Any:
    """Put the words into the tree one by one; return the number of inner nodes.

    Return -1 if codes clash or need too many nodes.
    """
    words, made = start.size - 1, 1
    for word in range(words):
        if start[word] == start[word + 1]:
            return -1
        node, last = 0, start[word + 1] - 1
        for position in range(start[word], last):
            child = children[node, bits[position]]
            if child == words:  # no child yet
                if made == words - 1:
                    return -1
                child = made
                children[node, bits[position]] = child
                made += 1
            if child < 0:
                return -1
            node = child
        if children[node, bits[last]] != words:
            return -1
        children[node, bits[last]] = -1 - word
    return made


def _why_not(codes: Sequence[str]) -> str:
    """Return a message that says why the codes are not a complete prefix code."""
    ids = sorted(range(len(codes)), key=codes.__getitem__)
    # in sorted order, a code that is a prefix of another comes directly before such a code
    clashes = [(i, j) for i, j in zip(ids, ids[1:], strict=False) if codes[j].startswith(codes[i])]
    if clashes:
        i, j = min(clashes)
        return (
            f"the code {codes[i][:80]!r} of id {i} is a prefix of the code {codes[j][:80]!r} of id {j}: no "
            "code may begin with another"
        )
    missing = _missing_branch([codes[i] for i in ids])
    return f"no code begins with {missing[:80]!r}: every inner node of the tree must have two children"


def _missing_branch(codes: list[str]) -> str:
    """Return the leftmost missing branch of sorted codes, none of which is a prefix of another."""
    if "1" in codes[0]:  # the first path must go left all the way
        return codes[0][: codes[0].index("1")] + "0"
    for code, following in zip(codes, codes[1:], strict=False):
        fork = len(os.path.commonprefix([code, following]))
        # below the fork of two neighbours, the left path must only go right and the right path only left
        if "0" in code[fork + 1 :]:
            return code[: code.rindex("0")] + "1"
        if "1" in following[fork + 1 :]:
            return following[: following.index("1", fork + 1)] + "0"
    return codes[-1][: codes[-1].rindex("0")] + "1"


def file_state(path: str | Path) -> tuple[int, int]:
    """Return the time and the size of a file, which change when it is written again."""
    try:
        named_size(Path(path))  # a pipe could be read only once
        state = Path(path).stat()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    return state.st_mtime_ns, state.st_size


def read_codes(path: str | Path) -> Bytes:
    """Read the codes of a CSV file, for `from_codes`: their characters, one code a line."""
    values = _last_fields(Path(path))
    if b"".join(values).translate(None, b"01"):
        line = next(i for i, value in enumerate(values) if value.translate(None, b"01"))
        raise FormatError(
            f"{path}: line {line + 1}: not a code: the last field must be made of 0s (left) and 1s (right)"
        )
    return np.frombuffer(b"\n".join(values), np.uint8)


def read_classes(path: str | Path) -> Counts:
    """Read the class labels of a CSV file, any whole numbers, for `groups_from_map`: int64 [words]."""
    values = _last_fields(Path(path))
    whole = re.compile(rb"[+-]?[0-9]{1,18}")  # 18 digits fit 64 bits
    for i, value in enumerate(values):
        if not whole.fullmatch(value):
            raise FormatError(
                f"{path}: line {i + 1}: not a class: the last field must be a whole number of up to 18 digits"
            )
    return np.fromiter(map(int, values), np.int64, len(values))


def _last_fields(path: Path) -> list[bytes]:
    """Return the last comma-separated field of every line, without quotes and spaces.

    Only a line feed ends a line: words may contain other line breaks.
    """
    try:
        named_size(path)  # a pipe could be read only once
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    if not lines[-1]:
        lines.pop()
    if not lines:
        raise FormatError(f"{path}: the file is empty: write one line for each id")
    values = [line.rpartition(b",")[2].strip(b' \t\r"') for line in lines]
    if b"" in values and (len(lines) > 1 or b"," not in lines[0]):  # the code of a single word is empty
        raise FormatError(
            f"{path}: line {values.index(b'') + 1}: no value: "
            "line i belongs to id i, and its last field must be the value"
        )
    return values
