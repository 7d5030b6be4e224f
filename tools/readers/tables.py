"""Readers of rows, with labels or copied with new columns: label lines, CSV, TSV, JSON lines, parquet."""

from __future__ import annotations

import functools
import io
import json
import random
import tempfile
from pathlib import Path

from readers.reader import MEGABYTE, Files, Reader
from readers.texts import zstd
from unhot.tables.annotate import annotate
from unhot.tables.files import open_table
from unhot.tables.labelled import labelled_rows

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


def parquet_seeds(_: Path) -> list[Files]:
    """Return columns of many types."""
    import pyarrow
    import pyarrow.parquet

    texts = ["some words", None, "caf\u00e9", ""] * 10
    tables = [
        {"text": texts, "label": ["a", "b", None, "c"] * 10, "n": list(range(40))},
        {"body": pyarrow.array(texts).dictionary_encode(), "labels": [["a"], [], None, ["a", "b"]] * 10},
    ]
    files = []
    for number, columns in enumerate(tables):
        buffer = io.BytesIO()
        codec = ("snappy", "zstd")[number]
        pyarrow.parquet.write_table(pyarrow.table(columns), buffer, compression=codec, row_group_size=16)
        files.append({"x.parquet": buffer.getvalue()})
    return files


def read_labels(name: str, folder: Path, rng: random.Random) -> str:
    """Read rows with their labels, twice."""
    rows = labelled_rows(folder / name, force=rng.random() < 0.5)
    found = list(rows)
    if any(not labels or "" in labels or not isinstance(text, str) for text, labels in found):
        return f"rows {found}"
    left = rows.report.rows - rows.report.without_label
    return "" if left == len(found) == len(list(rows)) else f"{left} rows of {len(found)}"


def new_columns(texts: list[str]) -> list[list[object]]:
    """Return the first letters of texts, and their lengths."""
    return [[text[:1] for text in texts], [float(len(text)) for text in texts]]


def read_copy(name: str, folder: Path, rng: random.Random) -> str:
    """Copy a file with new columns, into its own format or another one; the copy has as many rows."""
    kind, ending = (
        name.rpartition(".")[2],
        rng.choice(["same", "same", "csv", "tsv", "jsonl", "parquet", "jsonl.gz"]),
    )
    rename = {"label": "first letter"}
    with tempfile.TemporaryDirectory(dir=folder) as place:
        out = Path(place) / f"out.{kind if ending == 'same' else ending}"
        annotate(folder / name, out, new_columns, rename=rename, force=rng.random() < 0.5)
        if [path.name for path in out.parent.iterdir()] != [out.name]:
            return "files are left behind"
        counts = [_rows(path) for path in (folder / name, out)]
    return "" if len(set(counts)) == 1 else f"rows {counts}"


def _rows(path: Path) -> int:
    kind = path.name.partition(".")[2].removesuffix(".gz").replace("txt", "text")
    batches = open_table(path, kind, force=True).batches
    return sum(len(batch.records()) for batch in batches)


def read_rows(name: str, folder: Path, rng: random.Random) -> str:
    """Read a file with labels, or copy it."""
    return rng.choice([read_labels, read_copy])(name, folder, rng)


READERS = [
    Reader("rows-lines", line_seeds, functools.partial(read_rows, "x.txt"), slack=BUFFERS, share=0.5),
    *(
        Reader(
            f"rows-{kind}",
            functools.partial(delimited_seeds, kind),
            functools.partial(read_rows, f"x.{kind}"),
            slack=BUFFERS,
            share=0.5,
        )
        for kind in ("csv", "tsv")
    ),
    Reader("rows-jsonl", json_seeds, functools.partial(read_rows, "x.jsonl"), slack=BUFFERS, share=0.5),
    Reader(
        "rows-parquet", parquet_seeds, functools.partial(read_rows, "x.parquet"), slack=BUFFERS, share=0.5
    ),
]
