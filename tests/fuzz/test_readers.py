"""A sample of what tools/fuzz.py runs in full, and whether it would notice what it looks for."""

from __future__ import annotations

import json
import random
import struct
import tempfile
import time
import tracemalloc
from pathlib import Path

import fuzz
import numpy as np
import pytest
from damage import CHANGES, FIELD_CHANGES, damaged, rewrite_json, seeds
from fasttext_fields import places
from fuzz import ENDINGS, Readers, run
from hypothesis import given, settings
from hypothesis import strategies as st

from unhot.errors import DataError, FormatError
from unhot.vectors.formats import FORMATS, Table, read_table
from unhot.vectors.formats.fasttext import read_fasttext

INPUTS = 250  # per format


@pytest.mark.parametrize("name", ENDINGS)
def test_damaged_files_give_a_table_or_an_error_that_says_where(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with tempfile.TemporaryDirectory(dir=fuzz.QUICK) as folder:
        results = run(name, 1, range(INPUTS), Path(folder))
    assert capsys.readouterr().out == ""
    assert results["bug"] == 0
    assert sum(results.values()) == INPUTS
    assert results["FormatError"] > INPUTS / 10
    assert results["table"] > INPUTS / 50


@pytest.mark.parametrize("name", ENDINGS)
def test_files_that_are_not_damaged_are_tables(name: str, tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    readers = Readers(name, 1, tmp_path / "f")
    empty = name in ("glove", "projector")  # nothing says how wide a row would be
    for files in readers.seeds[1 if empty else 0 :]:
        assert readers.read(files, random.Random(0)) == "table"


def test_the_same_seed_damages_the_same_bytes(tmp_path: Path) -> None:
    files = seeds("safetensors", tmp_path)
    changed = [damaged(files[2], files, random.Random(number)) for number in range(200)]
    assert changed == [damaged(files[2], files, random.Random(number)) for number in range(200)]
    assert sum(each != files[2] for each in changed) > 180
    assert len({each["x.safetensors"] for each in changed}) > 150


@pytest.mark.parametrize(
    "change", dict.fromkeys([*CHANGES, *FIELD_CHANGES]), ids=lambda change: change.__name__
)
@pytest.mark.parametrize("data", [b"", b"a", b"12 3\nab 1 2 3\n"])
def test_changes_take_any_bytes(change: object, data: bytes) -> None:
    for number in range(50):
        assert isinstance(change(bytearray(data), b"other", random.Random(number)), bytearray)  # type: ignore[operator]


def test_a_rewritten_header_keeps_its_length_right() -> None:
    header = json.dumps({"vectors": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}}).encode()
    data = bytearray(struct.pack("<Q", len(header)) + header + b"\0" * 8)
    changed = [bytes(rewrite_json(bytearray(data), b"", random.Random(number))) for number in range(20)]
    assert len(set(changed)) > 10
    assert all(json.loads(each[8 : 8 + int.from_bytes(each[:8], "little")]) for each in changed)


def test_the_sizes_in_a_fasttext_file_are_found(tmp_path: Path) -> None:
    """The last ones, too, which only the others lead to: the shape of the output matrix, or its quantiser."""
    for files in seeds("fasttext", tmp_path):
        data, path = files["x.ftz"], tmp_path / "x.ftz"
        path.write_bytes(data)
        matrix, found = read_fasttext(path).output_matrix, places(data)
        last = (
            len(data) - 16 - 4 * matrix.shape[0] * matrix.shape[1]
            if isinstance(matrix, np.ndarray)
            else len(data) - 1024 - 4
        )
        assert (last, 8 if isinstance(matrix, np.ndarray) else 4) in found
        assert all(0 <= place < place + size <= len(data) for place, size in found)


def test_a_crash_is_told_from_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "crash.py"
    script.write_text(
        "import os, pathlib, sys; pathlib.Path(sys.argv[-1], 'progress').write_text('75'); os.abort()"
    )
    monkeypatch.setattr(fuzz, "__file__", str(script))
    results, lines = fuzz.run_child("glove", 1, 100)
    assert results == {"crash": 1}
    assert "crash in case 75, exit code -6" in lines


def bad_reader(kind: str) -> object:
    def read(*_: object, **__: object) -> Table:
        if kind == "exception":
            raise ZeroDivisionError("oops")
        if kind == "position":
            raise FormatError("it is broken")
        if kind == "slow":
            end = time.process_time() + 0.02
            while time.process_time() < end:
                pass
        rows = np.zeros((2_000_000 if kind == "memory" else 2, 1), np.float32)
        return Table(["a"], rows[: 2 if kind == "shape" else 1], None)

    return read


@pytest.mark.parametrize("kind", ["exception", "position", "slow", "memory", "shape", "fine"])
def test_bugs_would_be_seen(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readers = Readers("glove", 1, tmp_path)
    monkeypatch.setattr(fuzz, "read_table", bad_reader(kind))
    monkeypatch.setattr(fuzz, "SECONDS", 0.01 if kind == "slow" else 60)
    tracemalloc.start()
    try:
        result = readers.check(0)
    finally:
        tracemalloc.stop()
    assert result.startswith("table" if kind == "fine" else "bug:"), result


HEADS = [
    b"",
    b"2 2\n",
    b"1 1\na ",
    b"\x93NUMPY\x01\0",
    b"PAR1",
    b"\xba\x16O/\x0c\0\0\0",
    b"\x02\0\0\0\0\0\0\0{}",
    b"a 1 2\n",
    b"1\t2\n",
    b"{",
    b"v1\n",
]


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=40)
@given(
    head=st.sampled_from(HEADS),
    data=st.binary(max_size=60) | st.text("a01 \n\t.-e{}[]", max_size=40).map(str.encode),
)
def test_any_bytes(name: str, head: bytes, data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / f"any-{name}"
    for file in ("x", "x.words.txt", "x.metadata.tsv"):
        folder.mkdir(exist_ok=True)
        (folder / file).write_bytes(head + data)
    for named in (name, None):
        try:
            table = read_table(folder / "x", named)
        except (FormatError, DataError):
            continue
        assert len(table.words) == len(table.vectors)


def test_blank_lines_without_end_are_not_looked_at_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\n" * 3_000_000)
    start = time.process_time()
    with pytest.raises(FormatError, match="byte 0"):
        read_table(tmp_path / "x")
    assert time.process_time() - start < 1


# Files that broke a reader once, or would have: name, files, what the error says.
BROKEN = [
    ("word2vec-text", {"x.txt": b"999999999999999 1\n"}, "byte 0"),
    ("word2vec-text", {"x.txt": b"1 999999999999999\na 1\n"}, "byte 0"),
    ("word2vec-binary", {"x.bin": b"1 1\n" + b"\n" * 50}, "byte"),
    ("word2vec-binary", {"x.bin": b"1 1\n" + b"a" * 50}, "byte 4"),
    (
        "fasttext",
        {
            "x.ftz": b"\xba\x16O/\x0c\0\0\0"
            + b"\x01\0\0\0" * 12
            + bytes(8)
            + b"\xff\xff\xff\x7f" * 2
            + bytes(99)
        },
        "byte",
    ),
    ("glove", {"x.glove": b"\n" * 5_000 + b"a"}, "byte 0"),
    ("glove", {"x.glove": b"a" + b" 1" * 400 + b"\nb" * 400}, "byte 0"),
    (
        "npy",
        {"x.npy": b"\x93NUMPY\x01\x00\x30\x00{'descr':'<f4','fortran_order':0,'shape':(9**9,1)}  "},
        "byte 10",
    ),
    ("npy", {"x.npy": b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}"}, "byte 8"),
    ("safetensors", {"x.safetensors": b"\xff" * 8 + b"{}"}, "byte 0"),
    ("parquet", {"x.parquet": b"PAR1\xff\xff\xff\x7fPAR1"}, "bytes 0"),
    ("projector", {"x.tsv": b"1" + b"\t1" * 900 + b"\n1" * 900, "x.metadata.tsv": b"a\n" * 901}, "byte 0"),
]


@pytest.mark.parametrize(("name", "files", "where"), BROKEN)
def test_regressions(name: str, files: dict[str, bytes], where: str, tmp_path: Path) -> None:
    for file, data in files.items():
        (tmp_path / file).write_bytes(data)
    with pytest.raises(FormatError, match=where):
        read_table(tmp_path / next(iter(files)), name)
