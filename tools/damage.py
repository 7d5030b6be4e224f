"""Damage files: one to four changes at random places of a file, or a file that is gone or swapped.

Half of the damaged files get their sizes and checksums corrected (see mending.py), so that the damage behind
these is seen, too.
"""

from __future__ import annotations

import json
import random
import re
import struct
from collections.abc import Callable
from typing import Any, TypeAlias

from mending import ARPA, mended
from readers.fasttext_fields import SIGNATURE, Places, places
from readers.language_model_fields import KENLM, NODES, kenlm_places, tensor_places
from readers.reader import Files

Change: TypeAlias = Callable[[bytearray, bytes, random.Random], bytearray]
NUMBERS = [
    b"0",
    b"1",
    b"-1",
    b"255",
    b"65536",
    b"4294967295",
    b"9223372036854775807",
    b"99999999999999",
    b"9" * 5000,
    b"1e308",
    b"1e-400",
    b"1_0",
    b"nan",
    b"inf",
    b"\xff",
    b"\xd9\xa3",  # the digit three of another script
]
PIECES = [
    b"\n",
    b" ",
    b"\t",
    b"\0",
    b"\r\n",
    b"{",
    b"}",
    b"[",
    b'"',
    b"\\",
    b",",
    b":",
    b"=",
    b"/",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",  # half a character beyond 16 bits
    b"PAR1",
    b"\x93NUMPY",
    b"\x1f\x8b",
    b" 1 2 3",
    b"1_0",
    b"inf",
]
JSON_VALUES: list[Any] = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    2**31,
    2**62,
    2**64,
    10**400,
    0.5,
    1e300,
    float("nan"),
    float("inf"),
    "",
    "1",
    "F32",
    "F16",
    "U8",
    "I64",
    "BF16",
    [],
    {},
    [0],
    [0, 2**40],
    [[1, 2], [3, 4]],
    {"a": 1},
    "\ud800",
    "../x",
]
HEADER = 1000  # bytes in which the names of tensors are


def damaged(files: Files, others: list[Files], rng: random.Random) -> Files:
    """Return files of which one has one to four changes, or is gone, or swapped for another."""
    names = sorted(files)
    names += 5 * [name for name in names if NODES in files[name][:HEADER]]  # most of them is behind checksums
    name = rng.choice(names)
    if rng.random() < 0.04:
        changed = replaced(files, name, others, rng)
    else:
        data = bytearray(files[name])
        for _ in range(rng.choice([1, 1, 1, 2, 3, 4])):
            data = rng.choice(changes_for(data))(data, rng.choice(others).get(name, b""), rng)
        changed = {**files, name: bytes(data)}
    return mended(changed) if rng.random() < 0.5 else changed


def changes_for(data: bytearray) -> list[Change]:
    """Return the changes for a file: more of them for some kinds."""
    if data.startswith((SIGNATURE, KENLM)):
        return [*CHANGES, *FIELD_CHANGES]
    if NODES in data[:HEADER]:
        return [*CHANGES, *FIELD_CHANGES * 4]
    return [*CHANGES, *(LINE_CHANGES * 4 if ARPA in data[:HEADER] else [])]


def replaced(files: Files, name: str, others: list[Files], rng: random.Random) -> Files:
    """Return the files without one of them, or with another one in its place."""
    other = rng.choice(others)
    swapped = {name: other[rng.choice(sorted(other))]}
    return rng.choice([{each: files[each] for each in files if each != name}, {**files, **swapped}])


def _place(data: bytearray, rng: random.Random) -> int:
    """Return a place anywhere, but half of the time in the head, where the sizes are."""
    return rng.randrange(max(1, min(len(data), 120 if rng.random() < 0.5 else len(data))))


def flip(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """Flip a bit."""
    if data:
        data[_place(data, rng)] ^= 1 << rng.randrange(8)
    return data


def overwrite(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """Put bytes over others."""
    place, piece = _place(data, rng), rng.choice([rng.randbytes(rng.randrange(1, 9)), rng.choice(PIECES)])
    data[place : place + len(piece)] = piece
    return data


def insert(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """Put bytes between others."""
    place = _place(data, rng)
    data[place:place] = rng.choice(
        [rng.randbytes(rng.randrange(1, 9)), rng.choice(PIECES), rng.choice(PIECES) * rng.randrange(1, 2000)]
    )
    return data


def delete(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """Take bytes out."""
    place = _place(data, rng)
    del data[place : place + rng.choice([1, 1, 2, 4, 8, rng.randrange(1, 200)])]
    return data


def repeat(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """Say something twice."""
    place = _place(data, rng)
    piece = bytes(data[place : place + rng.randrange(1, 60)])
    data[place:place] = piece * rng.choice([1, 1, 2, 30])
    return data


def truncate(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """Cut the end off."""
    del data[rng.randrange(len(data) + 1) :]
    return data


def splice(data: bytearray, other: bytes, rng: random.Random) -> bytearray:
    """Join the beginning of one file and the end of another."""
    return bytearray(data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :])


def renumber(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """Write another number for one that is written in digits, of any length or of the same."""
    runs = list(re.finditer(rb"[0-9]+", data[:4000]))
    if runs:
        run = rng.choice(runs[: rng.choice([4, len(runs)])])
        same = bytes(rng.choice(b"0189") for _ in range(len(run[0])))
        data[run.start() : run.end()] = rng.choice([same, same, rng.choice(NUMBERS)])
    return data


def integer(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """Write a whole number in binary, most of them too big, half of the time where a number begins."""
    size, place = rng.choice([2, 4, 8]), _place(data, rng)
    place -= rng.choice([0, place % size])
    value = rng.choice(
        [0, 1, len(data), 2 ** (8 * size - 1) - 1, 2 ** (8 * size) - 1, rng.getrandbits(8 * size)]
    )
    data[place : place + size] = (value % 2 ** (8 * size)).to_bytes(size, "little")
    return data


def field_places(data: bytes) -> Places:
    """Return where the numbers are in a file of a known kind that say how big something is."""
    if data.startswith(KENLM):
        return kenlm_places(data)
    return tensor_places(data) if NODES in data[:HEADER] else places(data)


def field(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """Write another number for one that says how big something is: extreme, or off by a little."""
    place, size = rng.choice(field_places(bytes(data)))
    bits, old = 8 * size, int.from_bytes(data[place : place + size], "little")
    value = rng.choice(
        [
            0,
            1,
            2 ** (bits - 1) - 1,
            2 ** (bits - 1),
            2**bits - 1,
            old + 1,
            old - 1,
            2 * old,
            old ^ 1 << rng.randrange(bits),
        ]
    )
    data[place : place + size] = (value % 2**bits).to_bytes(size, "little")
    return data


def cut_field(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """Cut the end off in or beside such a number."""
    place, size = rng.choice(field_places(bytes(data)))
    del data[max(0, place + rng.randint(-1, size + 1)) :]
    return data


def exchange(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """Write another field of a text, or a number, for a field."""
    fields = list(re.finditer(rb"[^ \t\r\n]+", data))
    if not fields:
        return data
    one, other = rng.choice(fields), rng.choice(fields)
    data[one.start() : one.end()] = rng.choice([other[0], other[0], rng.choice(NUMBERS)])
    return data


def move_line(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """Put a line elsewhere, or there, too, or leave it out."""
    lines = data.splitlines(keepends=True) or [data]
    line = rng.choice(lines)
    lines.insert(rng.randrange(len(lines) + 1), line)
    del lines[lines.index(line) : lines.index(line) + rng.randrange(2)]
    return bytearray().join(lines)


def rewrite_json(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """Write another value somewhere in JSON, or none; the length of a safetensors header is corrected."""
    start = 8 if data[8:9] == b"{" else 0
    end = 8 + int.from_bytes(data[:8], "little") if start else len(data)
    if not start and data[:1] not in b"{[":
        return renumber(data, b"", rng)
    try:
        value = json.loads(data[start:end])
    except (ValueError, RecursionError):
        return data
    where = [value]
    for node in where:
        children = (
            list(node.values()) if isinstance(node, dict) else list(node) if isinstance(node, list) else []
        )
        where += [child for child in children if isinstance(child, (dict, list)) and child][
            : max(0, 200 - len(where))
        ]
    node = rng.choice(where)
    if not isinstance(node, (dict, list)) or not node:
        return data
    key = rng.choice(sorted(node)) if isinstance(node, dict) else rng.randrange(len(node))
    way = rng.random()
    if way < 0.1:
        del node[key]
    elif way < 0.3:  # two that change places: two tensors, the rows and columns of a shape
        other = rng.choice(sorted(node)) if isinstance(node, dict) else rng.randrange(len(node))
        node[key], node[other] = node[other], node[key]
    else:
        node[key] = rng.choice([*JSON_VALUES, rng.choice(where)]) if rng.random() < 0.9 else [node[key]] * 2
    return bytearray(_as_json(value, bool(start)) + data[end:])


def _as_json(value: object, with_length: bool) -> bytes:
    try:
        text = json.dumps(value).encode()
    except (ValueError, RecursionError):  # a value inside itself
        text = b"[" * 100_000
    return struct.pack("<Q", len(text)) * with_length + text


CHANGES: list[Change] = [
    flip,
    flip,
    overwrite,
    insert,
    delete,
    repeat,
    truncate,
    splice,
    renumber,
    renumber,
    integer,
    rewrite_json,
    rewrite_json,
]
LINE_CHANGES: list[Change] = [exchange, exchange, move_line]
FIELD_CHANGES: list[Change] = [field, field, field, field, cut_field]
