"""Where the numbers are in files of language models that say how big something is, or where it is.

The places that damage should find, beside those of fasttext_fields.py.
"""

from __future__ import annotations

import contextlib
import json
import struct
from itertools import accumulate, pairwise

from readers.fasttext_fields import Places

KENLM = b"mmap lm http://kheafield.com/code"
NODES = b'"nodes":'  # a tensor of n-gram models
FACTS: Places = [(56, 4), (84, 8), (88, 1), (92, 4), (96, 4), (100, 1), (104, 4)]
COUNTS_AT = 108
OFTEN = 60  # times that each number of the header is listed, for there are many more in the tables


def kenlm_places(data: bytes) -> Places:
    """All such places of a binary file of KenLM: header, counts, bounds of tables, keys, probabilities."""
    if len(data) < COUNTS_AT:
        return FACTS
    order, room, kind = struct.unpack_from("<B3xfI", data, 88)
    header = -(-(COUNTS_AT + 8 * order) // 8) * 8
    head = [*FACTS, *((COUNTS_AT + 8 * i, 8) for i in range(order)), (header, 4), (header + 4, 4)]
    if not 2 <= order <= 9 or not 1 <= room <= 9 or header + 8 > len(data):
        return head
    counts = [min(count, len(data)) for count in struct.unpack_from(f"<{order}Q", data, COUNTS_AT)]
    rooms = [max(count + 1, int(room * count)) for count in counts]
    width = 16 + 4 * (kind == 1)
    parts = [(12, rooms[0]), (width - 8, counts[0] + 1), *((width, each) for each in rooms[1:-1])]
    ends = list(accumulate([size * number for size, number in [*parts, (12, rooms[-1])]], initial=header + 8))
    body: Places = []
    for (first, last), size in zip(pairwise(ends), [*(size for size, _ in parts), 12], strict=True):
        body += [(at, 8) for at in range(first, min(last, len(data)), size)]
        body += [(at, 4) for at in range(first + 8, min(last, len(data)), size)]
    return head * OFTEN + [(end, 1) for end in ends] * OFTEN + body


def tensor_places(data: bytes) -> Places:
    """All whole numbers of the tensors of an n-gram model: begins, keys, and the bits of probabilities."""
    start = 8 + int.from_bytes(data[:8], "little")
    found: Places = []
    with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
        for name in ("nodes", "top"):
            first, last = json.loads(data[8:start])[name]["data_offsets"]
            inside = range(start + first, min(start + last, len(data)))
            found += [(at, size) for size in (4, 8) for at in inside[::size]]
    return found or [(0, 8)]
