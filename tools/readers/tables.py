"""Readers of rows, with labels or copied with new columns: label lines, CSV, TSV, JSON, parquet, Arrow."""

from __future__ import annotations

import functools
import io
import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from readers.reader import MEGABYTE, Files, Reader
from readers.texts import zstd
from unhot.rows.copied import copy_rows, text_rows
from unhot.rows.labelled import LabelledRows
from unhot.rows.opening import TextFile, ending_kind, format_of, open_file

LINES = b"__label__a some words\n__label__b __label__a caf\xc3\xa9 \xff\n\nno label\n"
LINES += b"x __label__c y\r\n__label__d\n"
CELLS = [
    ("id", "text", "label"),
    ("1", "some words", "a"),
    ("22", 'he said ""so"",\tand\nleft', "b"),
    ("", "caf\u00e9", ""),
]
OBJECTS = [
    {"id": 10**30, "text": "some words", "label": "a", "x": 1.50},
    {"text": None, "label": ["a", "b"], "deep": {"a": [1, None]}},
    {"text": "caf\u00e9 \ud800", "label": 3},
]
BUFFERS = 16 * MEGABYTE  # blocks of lines, pages of parquet


def line_seeds(_: Path) -> list[Files]:
    """Return label lines: few, many, and packed."""
    return [{"x.txt": data} for data in (LINES, b"\xef\xbb\xbf" + LINES * 30, zstd(LINES * 5))]


def delimited_seeds(kind: str, _: Path) -> list[Files]:
    """Return tables of strings, some fields of which are in quotes."""
    separator, files = {"csv": ",", "tsv": "\t"}[kind], []
    for end in ("\n", "\r\n"):
        rows = [separator.join(f'"{cell}"' if "\n" in cell else cell for cell in row) + end for row in CELLS]
        files.append({f"x.{kind}": "".join([rows[0], *rows[1:] * 3]).encode()})
    return files


def json_seeds(_: Path) -> list[Files]:
    """Return objects, one a line."""
    lines = [json.dumps(each) for each in OBJECTS]
    return [{"x.jsonl": "\n".join(lines * 3).encode()}, {"x.jsonl": f"\n{lines[0]}\r\n\n".encode()}]


def list_seeds(_: Path) -> list[Files]:
    """Return lists of objects, in one line and in many."""
    texts = [json.dumps(OBJECTS[:2] * 3), json.dumps(OBJECTS[:2], indent=1)]
    return [{"x.json": text.encode()} for text in texts]


def unnamed_seeds(folder: Path) -> list[Files]:
    """Return files that only their bytes tell."""
    named = [*json_seeds(folder), *list_seeds(folder), *parquet_seeds(folder), *arrow_seeds(folder)[:1]]
    return [{"x": data} for files in named for data in files.values()]


def tables() -> list[Any]:
    """Return tables with columns of many types."""
    import pyarrow

    texts = ["some words", None, "caf\u00e9", ""] * 10
    found = [
        {"text": texts, "label": ["a", "b", None, "c"] * 10, "n": list(range(40))},
        {"body": pyarrow.array(texts).dictionary_encode(), "labels": [["a"], [], None, ["a", "b"]] * 10},
    ]
    return [pyarrow.table(columns) for columns in found]


def parquet_seeds(_: Path) -> list[Files]:
    """Return tables as parquet files."""
    import pyarrow.parquet

    files = []
    for table, codec in zip(tables(), ("snappy", "zstd"), strict=True):
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(table, buffer, compression=codec, row_group_size=16)
        files.append({"x.parquet": buffer.getvalue()})
    return files


def arrow_seeds(_: Path) -> list[Files]:
    """Return tables as files of Arrow, and as streams."""
    return [{"x.arrow": arrow_bytes(table, stream=stream)} for stream in (False, True) for table in tables()]


def arrow_bytes(table: Any, *, stream: bool) -> bytes:
    """Return a table in one of the two formats of Arrow."""
    import pyarrow.ipc

    buffer = io.BytesIO()
    with (pyarrow.ipc.new_stream if stream else pyarrow.ipc.new_file)(buffer, table.schema) as writer:
        writer.write_table(table, 16)
    return buffer.getvalue()


def read_labels(name: str, folder: Path, rng: random.Random) -> str:
    """Read rows with their labels, twice."""
    rows = LabelledRows(folder / name, force=rng.random() < 0.5)
    found = list(rows)
    if any(not labels or "" in labels or not isinstance(text, str) for text, labels in found):
        return f"rows {found}"
    left = rows.report.rows - rows.report.without_label - rows.report.bad
    return "" if left == len(found) == len(list(rows)) else f"{left} rows of {len(found)}"


def new_columns(texts: list[str]) -> list[list[object]]:
    """Return the first letters of texts, and their lengths."""
    return [[text[:1] for text in texts], [float(len(text)) for text in texts]]


def read_copy(name: str, folder: Path, rng: random.Random) -> str:
    """Copy a file with new columns, into its own format or another one; the copy has as many rows."""
    ending = rng.choice(["same", "same", "csv", "tsv", "jsonl", "parquet", "arrow", "jsonl.gz"])
    rename = {"label": "first letter"}
    with tempfile.TemporaryDirectory(dir=folder) as place:
        out = Path(place) / (name if ending == "same" else f"out.{ending}")
        copy_rows(folder / name, out, new_columns, rename=rename, force=rng.random() < 0.5)
        if [path.name for path in out.parent.iterdir()] != [out.name]:
            return "files are left behind"
        kinds = (None, "text" if name == "x.txt" and ending == "same" else ending_kind(out))
        counts = [_rows(path, kind) for path, kind in zip((folder / name, out), kinds, strict=True)]
    return "" if len(set(counts)) == 1 else f"rows {counts}"


def _rows(path: Path, kind: str | None) -> int:
    opened = open_file(path, format_of(kind, force=True))
    table = text_rows(opened) if isinstance(opened, TextFile) else opened
    return sum(batch.size for batch in table.batches({}, every=True))


def read_rows(name: str, folder: Path, rng: random.Random) -> str:
    """Read a file with labels, or copy it."""
    return rng.choice([read_labels, read_copy])(name, folder, rng)


SEEDS: dict[str, tuple[str, Callable[[Path], list[Files]]]] = {
    "lines": ("x.txt", line_seeds),
    "csv": ("x.csv", functools.partial(delimited_seeds, "csv")),
    "tsv": ("x.tsv", functools.partial(delimited_seeds, "tsv")),
    "jsonl": ("x.jsonl", json_seeds),
    "list": ("x.json", list_seeds),
    "parquet": ("x.parquet", parquet_seeds),
    "arrow": ("x.arrow", arrow_seeds),
    "unnamed": ("x", unnamed_seeds),
}
READERS = [
    Reader(f"rows-{kind}", seeds, functools.partial(read_rows, name), slack=BUFFERS, share=0.5)
    for kind, (name, seeds) in SEEDS.items()
]
