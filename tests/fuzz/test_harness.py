"""Whether tools/fuzz.py would notice what it looks for, and whether damage finds its places."""

from __future__ import annotations

import hashlib
import json
import lzma
import random
import struct
import time
import zlib
from pathlib import Path

import fuzz
import fuzz_cases
import numpy as np
import pytest
from damage import CHANGES, FIELD_CHANGES, damaged, rewrite_json
from fuzz_cases import Cases
from mending import mended
from readers import READERS
from readers.fasttext_fields import places
from readers.reader import MEGABYTE, Files, Reader
from readers.subword_seeds import special_fasttext
from readers.vector_files import table_seeds

from unhot.errors import FormatError
from unhot.vectors.formats.fasttext import read_fasttext


def bad_reader(kind: str) -> Reader:
    def read(folder: Path, rng: random.Random) -> str:
        if kind == "exception":
            raise ZeroDivisionError("oops")
        if kind == "position":
            raise FormatError("it is broken")
        if kind == "slow":
            end = time.process_time() + 0.02
            while time.process_time() < end:
                pass
        np.zeros(8 * MEGABYTE if kind in ("memory", "untraced") else 2, np.uint8).fill(1)
        return "one row of two" if kind == "shape" else ""

    return Reader(kind, lambda _: [{"x": b"abc", "y": b"d"}], read, says_where=True)


@pytest.mark.parametrize("kind", ["exception", "position", "slow", "memory", "shape", "fine"])
def test_bugs_would_be_seen(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(READERS, "fine", bad_reader("fine"))
    cases = Cases("fine", 1, tmp_path / "cases")
    cases.reader = bad_reader(kind)
    monkeypatch.setattr(fuzz_cases, "SECONDS", 0.01 if kind == "slow" else 60)
    result = cases.check(0)
    assert result.startswith("whole" if kind == "fine" else "bug:"), result


def test_memory_that_is_not_traced_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only some cases are traced; in the others the system tells that the process has grown."""
    monkeypatch.setitem(READERS, "fine", bad_reader("fine"))
    cases = Cases("fine", 1, tmp_path / "cases")
    cases.reader = bad_reader("memory")
    marks = iter([0, 8 * MEGABYTE, 8 * MEGABYTE, 8 * MEGABYTE])
    monkeypatch.setattr(fuzz_cases, "_mark", lambda: next(marks))
    assert "bytes of memory" in cases.check(1)


def test_a_crash_is_told_from_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And the reader goes on behind it."""
    script = tmp_path / "crash.py"
    script.write_text(
        "import json, os, pathlib, sys\n"
        "folder = pathlib.Path(sys.argv[sys.argv.index('--folder') + 1])\n"
        "first, last = map(int, sys.argv[-2:])\n"
        "if first <= 75:\n"
        "    (folder / 'progress').write_text(json.dumps([75, {'whole': 70, 'DataError': 5}]))\n"
        "    os.abort()\n"
        "print('a bug')\n"
        "print(json.dumps({'whole': last - first}))\n"
    )
    monkeypatch.setattr(fuzz, "__file__", str(script))
    results, lines, _ = fuzz.run_reader("glove", 1, 100)
    assert results == {"crash": 1, "whole": 94, "DataError": 5}
    assert "glove case 75: crash, exit code -6" in lines
    assert "a bug" in lines


def test_shares_add_up() -> None:
    given = fuzz.shares(list(READERS), 100_001)
    assert sum(given) == 100_001
    assert min(given) > 0


def test_the_same_seed_damages_the_same_bytes(tmp_path: Path) -> None:
    files = table_seeds("safetensors", tmp_path)
    changed = [damaged(files[2], files, random.Random(number)) for number in range(200)]
    assert changed == [damaged(files[2], files, random.Random(number)) for number in range(200)]
    assert sum(each != files[2] for each in changed) > 180
    assert len({each.get("x.safetensors") for each in changed}) > 150
    assert {} in changed  # the file is gone


@pytest.mark.parametrize(
    "change", dict.fromkeys([*CHANGES, *FIELD_CHANGES]), ids=lambda change: change.__name__
)
@pytest.mark.parametrize("data", [b"", b"a", b"12 3\nab 1 2 3\n", b'{"a": [1, {"b": 2}]}'])
def test_changes_take_any_bytes(change: object, data: bytes) -> None:
    for number in range(50):
        assert isinstance(change(bytearray(data), b"other", random.Random(number)), bytearray)  # type: ignore[operator]


def test_a_rewritten_header_keeps_its_length_right() -> None:
    header = json.dumps({"vectors": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}}).encode()
    data = bytearray(struct.pack("<Q", len(header)) + header + b"\0" * 8)
    changed = [bytes(rewrite_json(bytearray(data), b"", random.Random(number))) for number in range(20)]
    assert len(set(changed)) > 10
    assert all(each[8 : 8 + int.from_bytes(each[:8], "little")][:1] in b"{[" for each in changed)


def test_the_sizes_in_a_fasttext_file_are_found(tmp_path: Path) -> None:
    """The last ones, too, which only the others lead to: the shape of the output matrix, or its quantiser."""
    for files in special_fasttext(tmp_path):
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


def test_sizes_and_checksums_are_mended() -> None:
    entry = {"size": 1, "sha256": "x"}
    files: Files = {
        "m/v1/a": b"abc",
        "m/v1/manifest.json": json.dumps({"files": {"a": entry}}).encode(),
        "m/checkpoint/v1/a": b"de",
        "m/checkpoint/v1/manifest.json": json.dumps({"files": {"a": entry}}).encode(),
        "c/counts.bin": bytes(16),
        "c/cells.values": bytes(24),
        "c/cells.json": b'{"words": 9, "cells": 9}',
        "broken/manifest.json": b'{"files": {"gone": {}}}',
    }
    out = mended(files)
    for place, data in (("m/v1", b"abc"), ("m/checkpoint/v1", b"de")):
        expected = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        assert json.loads(out[f"{place}/manifest.json"])["files"]["a"] == expected
    assert json.loads(out["c/cells.json"]) == {"words": 2, "cells": 3}
    assert out["broken/manifest.json"] == files["broken/manifest.json"]


def test_the_header_of_xz_is_mended() -> None:
    data = bytearray(lzma.compress(b"abc", preset=0))
    data[16] += 1  # a dictionary of another size
    with pytest.raises(lzma.LZMAError):
        lzma.decompress(bytes(data))
    fixed = mended({"x": bytes(data)})["x"]
    assert lzma.decompress(fixed) == b"abc"
    assert fixed[16] == data[16]
    assert int.from_bytes(fixed[8:12], "little") == zlib.crc32(fixed[6:8])
