"""Readers of logs in every format, and of files about items."""

from __future__ import annotations

import functools
import gzip
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from readers.reader import MEGABYTE, Files, Reader
from readers.tables import arrow_bytes
from unhot.logs.events import read_events
from unhot.logs.item_facts import GENRES, read_item_facts
from unhot.logs.log_reading import LogReading

ROWS = [
    ("u1", "i1", "2010-12-01", "4", "A|B", "s1"),
    ("caf\u00e9", "i2", "2010-12-01 08:26:00", "3.5", "", "s1"),
    ("u,3", 'the "best"\nitem', "2010-12-01T08:26:00.5Z", "-1e1", "C", "s2"),
    ("u1", "i2", "2010-12-01T08:26:00+02:00", "5", "D", "s3"),
]
NAMES = ("user", "item", "time", "rating", "brand", "basket")
FACTS = {"csv": "x.csv", "jsonl": "x.jsonl", "list": "x.json", "object": "y.json"}
FACTS |= {name: name for name in ("u.item", "movies.dat")}
BUFFERS = 24 * MEGABYTE  # blocks of lines, pages of parquet, values of Python


def delimited_seeds(kind: str, _: Path) -> list[Files]:
    """Return tables of strings, one of them packed."""
    separator = {"csv": ",", "tsv": "\t"}[kind]

    def text(end: str, times: int) -> bytes:
        cells = [
            ['"' + cell.replace('"', '""') + '"' if set(cell) & set('",\n') else cell for cell in row]
            for row in ROWS
        ]
        lines = [separator.join(row) + end for row in [NAMES, *cells * times]]
        return "".join(lines).encode()

    return [{f"x.{kind}": data} for data in (text("\n", 3), text("\r\n", 1), gzip.compress(text("\n", 2)))]


def json_seeds(_: Path) -> list[Files]:
    """Return objects, one a line."""
    lines = [json.dumps(dict(zip(NAMES, row, strict=True))) for row in ROWS]
    lines.append(
        '{"user": 5, "item": 5.0, "time": "2010-12-02", "rating": 2, "brand": ["a", null, 3], "basket": 7}'
    )
    return [{"x.jsonl": "\n".join(lines * 2).encode()}, {"x.jsonl": f"{lines[4]}\r\n\n{lines[0]}\n".encode()}]


def list_seeds(_: Path) -> list[Files]:
    """Return lists of objects, in one line and in many."""
    rows = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    return [
        {"x.json": json.dumps(rows * times, indent=indent).encode()} for times, indent in ((3, None), (1, 1))
    ]


def unnamed_seeds(folder: Path) -> list[Files]:
    """Return files that only their bytes tell."""
    named = [*json_seeds(folder), *list_seeds(folder), *parquet_seeds(folder), *arrow_seeds(folder)[:1]]
    return [{"x": data} for files in named for data in files.values()]


def tables() -> list[Any]:
    """Return tables with columns of many types."""
    import pyarrow

    when = pyarrow.array([10**18, None, 2 * 10**18, 0] * 5, pyarrow.timestamp("ns"))
    found: list[dict[str, Any]] = [
        {
            "user": ["a", "b", None, "c"] * 5,
            "item": [1, 2, 3, None] * 5,
            "time": when,
            "rating": [1.5, 2.5] * 10,
        },
        {
            "user": pyarrow.array(["a", "b"] * 10).dictionary_encode(),
            "item": [0.5, 2.0] * 10,
            "time": ["5", "6"] * 10,
        },
    ]
    more = {"brand": [["x"], [], None, ["y", "z"]] * 5, "basket": ["s", "t"] * 10}
    return [pyarrow.table(columns | more) for columns in found]


def arrow_seeds(_: Path) -> list[Files]:
    """Return tables as files of Arrow, and as streams."""
    return [{"x.arrow": arrow_bytes(table, stream=stream)} for stream in (False, True) for table in tables()]


def parquet_seeds(_: Path) -> list[Files]:
    """Return tables as parquet files."""
    import pyarrow.parquet

    files = []
    for table in tables():
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(table, buffer, row_group_size=8)
        files.append({"x.parquet": buffer.getvalue()})
    return files


def line_seeds(_: Path) -> list[Files]:
    """Return lines of sessions, and ratings of MovieLens."""
    texts = [
        b"a b a\n\nc caf\xc3\xa9 \xff\r\n",
        b"1\t2\t3\t880000000\n4\t5\t1\t890000000\n",
        b"1::2::3.5::978300760\n" * 3,
    ]
    return [{"x": text} for text in texts]


def fact_seeds(name: str, _: Path) -> list[Files]:
    """Return files about items."""
    flags = ["0", "1"] * len(GENRES)
    item = {"item": "1", "name": "One", "brand": ["a", "b"]}
    texts = {
        "x.csv": 'item,name,brand\n1,One,a|b\n2,"Two, ""too""",\n',
        "x.jsonl": f'{json.dumps(item)}\n{{"item": 2, "brand": "c"}}\n',
        "x.json": json.dumps([item, {"item": 2.0, "name": "Two", "brand": None}]),
        "y.json": json.dumps({"1": {"name": "One", "brand": ["a"]}, "2": ["b", 5], "3": "Three"}),
        "u.item": "".join(
            "|".join([f"{n}", "T\xe9", "", "", "", *flags[n : n + 19]]) + "\n" for n in range(3)
        ),
        "movies.dat": "1::One (1990)::Action|War\n2::Two::\n",
    }
    return [{name: texts[name].encode("latin-1")}] * 2


def how_to_read(rng: random.Random, kind: str | None) -> LogReading:
    """Return some settings."""
    if kind is None:
        return LogReading(
            format=rng.choice([None, "sessions", "user-sessions", "movielens"]), force=rng.random() < 0.5
        )
    return LogReading(
        time=rng.choice([None, None, "time"]),
        session=rng.choice([None, "basket"]),
        side=rng.choice([(), ("brand",)]),
        format=rng.choice([None, kind]),
        min_rating=rng.choice([None, 3]),
        strict=rng.random() < 0.1,
        force=rng.random() < 0.5,
        features=rng.choice([(), ("basket", "time")]),
    )


def read_log(name: str, kind: str | None, folder: Path, rng: random.Random) -> str:
    """Read a log; its arrays fit each other and its words."""
    how = how_to_read(rng, kind)
    found = read_events(folder / name, how, threads=rng.choice([1, 2]))
    report, events = found.report, len(found.items)
    if report.kept != events or report.rows != report.kept + report.bad + report.low:
        return f"{events} events, {report}"
    if any(len(column) not in (0, events) for column in found[:5]) or not np.isfinite(found.times).all():
        return f"columns {[len(column) for column in found[:5]]}"
    for ids, words in ((found.users, found.user_words), (found.items, found.item_words)):
        nobody = {-1} if ids is found.users and how.session else set()  # a row of a session needs no user
        numbers = sorted({*ids.tolist()} - nobody)
        if words and (numbers != [*range(len(words))] or len({*words}) != len(words)):
            return f"numbers {ids.tolist()} of {len(words)} words"
    if any(len(feature.values) != events for feature in found.features.values()):
        return f"features {found.features}"
    items = {item for values in found.sides.values() for item in values}
    return "" if items <= {*found.item_words} else f"sides of {items}"


def read_facts(name: str, folder: Path, rng: random.Random) -> str:
    """Read a file about items."""
    side = rng.choice([(), ("brand",)]) if name[0] in "xy" else ()
    found = read_item_facts(folder / name, side=side)
    values = [each for known in found.sides.values() for each in known.values()]
    return "" if all(values) and all(found.names.values()) else f"{found}"


# kind: file, seeds, what the format of the file may be called
SEEDS: dict[str, tuple[str, Callable[[Path], list[Files]], str]] = {
    "csv": ("x.csv", functools.partial(delimited_seeds, "csv"), "csv"),
    "tsv": ("x.tsv", functools.partial(delimited_seeds, "tsv"), "tsv"),
    "jsonl": ("x.jsonl", json_seeds, "jsonl"),
    "list": ("x.json", list_seeds, "jsonl"),
    "parquet": ("x.parquet", parquet_seeds, "parquet"),
    "arrow": ("x.arrow", arrow_seeds, "arrow"),
    "unnamed": ("x", unnamed_seeds, "jsonl"),
}
READERS = [
    *(
        Reader(f"log-{kind}", seeds, functools.partial(read_log, name, asked), slack=BUFFERS, share=0.5)
        for kind, (name, seeds, asked) in SEEDS.items()
    ),
    Reader("log-lines", line_seeds, functools.partial(read_log, "x", None), slack=BUFFERS, share=0.5),
    *(
        Reader(
            f"items-{name}",
            functools.partial(fact_seeds, file),
            functools.partial(read_facts, file),
            slack=BUFFERS,
            share=0.2,
        )
        for name, file in FACTS.items()
    ),
]
