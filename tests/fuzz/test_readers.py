"""A sample of what tools/fuzz.py runs in full: every reader, whole files and damaged ones."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import readers
from fuzz import QUICK
from fuzz_cases import Cases, run
from grids import examples
from hypothesis import given
from hypothesis import strategies as st
from readers import READERS

from unhot.errors import DataError, FormatError
from unhot.vectors.formats import FORMATS, read_table

INPUTS = 25  # for each reader


@pytest.fixture(scope="module", params=READERS)
def cases(request: pytest.FixtureRequest) -> Iterator[Cases]:
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:
        yield Cases(request.param, 1, Path(folder) / "cases")


def test_files_that_are_not_damaged_are_whole(cases: Cases) -> None:
    assert all("whole" in results for results in cases.undamaged), cases.undamaged


def test_damaged_files_are_whole_or_errors_of_unhot(
    cases: Cases, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = run(cases, range(INPUTS), tmp_path / "progress")
    assert capsys.readouterr().out == ""
    assert results["bug"] == 0
    assert sum(results.values()) == INPUTS
    for which, files in enumerate(cases.seeds):  # every case restores the files that it damaged
        assert all((cases.home(which) / name).read_bytes() == data for name, data in files.items())


def test_the_list_of_readers_is_complete() -> None:
    listed = [
        line.split()[0]
        for line in str(readers.__doc__).splitlines()
        if line.startswith("    ") and line[4] != " "
    ]
    assert sorted(listed) == sorted(READERS)


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
@examples(40)
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
