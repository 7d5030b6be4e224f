"""Where the numbers are in a fastText file that say how big something is.

The places that damage should find.
"""

from __future__ import annotations

import struct
from typing import TypeAlias

Places: TypeAlias = list[tuple[int, int]]  # (byte, size)

SIGNATURE = struct.pack("<i", 793712314)
HEADER: Places = [(at, 4) for at in range(0, 56, 4)] + [(56, 8)]
SIZES: Places = [(64, 4), (68, 4), (72, 4), (76, 8), (84, 8)]
LONGEST = 10_000  # entries that are walked through


def places(data: bytes) -> Places:
    """All such places of a file; of a damaged one, as many as can be found."""
    found = HEADER + SIZES
    if len(data) < 92:
        return found
    entries, pairs = struct.unpack_from("<i", data, 64)[0], struct.unpack_from("<q", data, 84)[0]
    at = 92
    for number in range(max(0, min(entries, LONGEST))):
        end = data.find(b"\0", at)
        if end < 0:
            return found
        at = end + 10
        if number in (0, entries - 1):
            found += [(end, 1), (end + 1, 8), (end + 9, 1)]
    for _ in range(min(2, max(0, pairs))):
        found += [(at, 4), (at + 4, 4)]
    at += 8 * max(0, min(pairs, len(data)))
    for _ in range(2):
        if at >= len(data):
            return found
        quantised = data[at] == 1
        found, at = _matrix(data, at, found, quantised)
    return found


def _matrix(data: bytes, at: int, found: Places, quantised: bool) -> tuple[Places, int]:
    """The places of a matrix whose flag is at a byte, and the byte behind it."""
    start = at + 1 + quantised
    found = [*found, (at, 1), (at + 1, 1), (start, 8), (start + 8, 8)]
    if start + 20 > len(data):
        return found, len(data)
    rows, columns, size = struct.unpack_from("<2qi", data, start)
    if not (0 <= rows <= len(data) and 0 <= columns <= len(data)):
        return found, len(data)
    if not quantised:
        return found, start + 16 + 4 * rows * columns
    centroids = start + 20 + max(0, size)
    found += [(start + 16, 4), *((centroids + 4 * i, 4) for i in range(4))]
    behind = centroids + 16 + 1024 * columns
    if data[at + 1] == 1:
        found += [(behind + rows + 4 * i, 4) for i in range(4)]
        behind += rows + 16 + 1024
    return found, behind
