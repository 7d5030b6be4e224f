"""Files of every format, as they should be and damaged.

One to four changes at places that a random stream chooses.
"""

from __future__ import annotations

import io
import json
import random
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from fasttext_fields import SIGNATURE, places
from subword_seeds import special_fasttext, special_floret, special_unhot

from unhot.vectors.formats import FORMATS, WORDLESS, Table, write_table

Files: TypeAlias = dict[str, bytes]  # by their paths inside a folder

WORDS = [
    "the",
    "of",
    "New York",
    "caf\u00e9",
    "\u4e2d\u6587",
    "1.5",
    "\udcff",
    "nan",
    "x\\n",
    "a\tb",
    "\u0085",
    "_",
    "-",
    "w" * 300,
    "[UNK]",
]
NUMBERS = [
    b"0",
    b"1",
    b"-1",
    b"255",
    b"65536",
    b"4294967295",
    b"9223372036854775807",
    b"99999999999999",
    b"1e308",
    b"1e-400",
    b"nan",
    b"\xff",
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
    b"\xff\xfe",
    b"PAR1",
    b"\x93NUMPY",
    b" 1 2 3",
    b"1_0",
    b"inf",
]
JSON_VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**62,
    2**64,
    1e300,
    "",
    "F32",
    "U8",
    "I64",
    "BF16",
    [],
    {},
    [0],
    [0, 2**40],
    "\ud800",
]


def seeds(name: str, folder: Path) -> list[Files]:
    """Files of a format that are as they should be: few and many rows, with counts and without."""
    if name in WORDLESS:
        return SPECIAL[name](folder)
    rng = np.random.default_rng(7)
    found = []
    for number, (rows, dim, counted) in enumerate(
        [(0, 2, False), (1, 1, True), (5, 4, False), (15, 3, True), (200, 2, True), (12, 100, False)]
    ):
        words = [*WORDS, *(f"w{i}" for i in range(rows))][:rows]
        vectors = (rng.standard_normal((rows, dim)) * 10.0 ** rng.integers(-9, 9)).astype(np.float32)
        path = folder / str(number) / f"x{next(iter(FORMATS[name].endings), '')}"
        path.parent.mkdir()
        write_table(path, Table(words, vectors, np.arange(rows)[::-1] if counted else None), name)
        found.append(
            {
                str(file.relative_to(path.parent)): file.read_bytes()
                for file in sorted(path.parent.rglob("*"))
                if file.is_file()
            }
        )
    return found + (SPECIAL[name](folder) if name in SPECIAL else [])


def special_binary(_: Path) -> list[Files]:
    """With line feeds, as the C tool writes them."""
    return [
        {"x.bin": b"3 2\n" + b"".join(b"w%d " % i + struct.pack("<2f", i, 0.5) + b"\n" for i in range(3))}
    ]


def special_npy(_: Path) -> list[Files]:
    """Of other types and orders."""
    files = []
    for array in (np.ones((3, 2), np.float16), np.asfortranarray(np.ones((3, 2))), np.ones((3, 2), ">f4")):
        buffer = io.BytesIO()
        np.save(buffer, array)
        files.append({"x.npy": buffer.getvalue(), "x.words.txt": b"a\nb\nc\n"})
    return files


def special_parquet(_: Path) -> list[Files]:
    """Lists of any length, compressed, with a dictionary, in several groups."""
    import pyarrow
    import pyarrow.parquet

    files = []
    for codec in ("snappy", "zstd", "gzip"):
        columns = {
            "word": [f"w{i % 9}" for i in range(40)],
            "vector": [[float(i), 2.0] for i in range(40)],
            "count": list(range(40)),
        }
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table(columns), buffer, compression=codec, row_group_size=16)
        files.append({"x.parquet": buffer.getvalue()})
    return files


SPECIAL: dict[str, Callable[[Path], list[Files]]] = {
    "unhot": special_unhot,
    "word2vec-binary": special_binary,
    "fasttext": special_fasttext,
    "floret": special_floret,
    "npy": special_npy,
    "parquet": special_parquet,
}


def damaged(files: Files, others: list[Files], rng: random.Random) -> Files:
    """The files with one to four changes in one of them."""
    name = rng.choice(sorted(files))
    data = bytearray(files[name])
    for _ in range(rng.choice([1, 1, 1, 2, 3, 4])):
        changes = [*CHANGES, *FIELD_CHANGES] if data.startswith(SIGNATURE) else CHANGES
        data = rng.choice(changes)(data, rng.choice(others).get(name, b""), rng)
    return mended({**files, name: bytes(data)}) if rng.random() < 0.5 else {**files, name: bytes(data)}


def mended(files: Files) -> Files:
    """The files with the sizes in a manifest corrected, so that damage behind it is seen, too."""
    for name, data in files.items():
        if Path(name).name == "manifest.json" and b'"files"' in data:
            folder = Path(name).parent
            sizes = {
                Path(other).name: len(content)
                for other, content in files.items()
                if Path(other).parent == folder
            }
            try:
                manifest = json.loads(data)
                for part, entry in manifest["files"].items():
                    entry["size"] = sizes[part]
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                return files
            return {**files, name: json.dumps(manifest).encode()}
    return files


def _place(data: bytearray, rng: random.Random) -> int:
    """Anywhere, but half of the time in the head, where the sizes are."""
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
    """The beginning of one file and the end of another."""
    return bytearray(data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :])


def renumber(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """Another number for one that is written in digits, of any length or of the same."""
    runs = list(re.finditer(rb"[0-9]+", data[:4000]))
    if runs:
        run = rng.choice(runs[: rng.choice([4, len(runs)])])
        same = bytes(rng.choice(b"0189") for _ in range(len(run[0])))
        data[run.start() : run.end()] = rng.choice([same, same, rng.choice(NUMBERS)])
    return data


def integer(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """A whole number in binary, most of them too big."""
    size, place = rng.choice([2, 4, 8]), _place(data, rng)
    value = rng.choice(
        [0, 1, len(data), 2 ** (8 * size - 1) - 1, 2 ** (8 * size) - 1, rng.getrandbits(8 * size)]
    )
    data[place : place + size] = (value % 2 ** (8 * size)).to_bytes(size, "little")
    return data


def field(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """Another number for one that says how big something is: extreme, or off by a little."""
    place, size = rng.choice(places(bytes(data)))
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
    place, size = rng.choice(places(bytes(data)))
    del data[max(0, place + rng.randint(-1, size + 1)) :]
    return data


def rewrite_json(data: bytearray, _: bytes, rng: random.Random) -> bytearray:
    """Another value somewhere in JSON, with the length of a safetensors header corrected."""
    start = 8 if data[8:9] == b"{" else 0
    end = 8 + int.from_bytes(data[:8], "little") if start else len(data)
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
    node[key] = rng.choice(JSON_VALUES)
    text = json.dumps(value).encode()
    return bytearray(struct.pack("<Q", len(text)) * bool(start) + text + data[end:])


CHANGES = [
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
]
FIELD_CHANGES = [field, field, field, field, cut_field]
