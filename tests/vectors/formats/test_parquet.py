"""Parquet, against pyarrow used directly."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unhot.errors import FormatError
from unhot.vectors.formats import write_table
from unhot.vectors.formats.parquet import read
from unhot.vectors.formats.table import Options, Table

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

write = partial(write_table, format="parquet")
GOLDEN = Path(__file__).parents[2] / "golden"
VECTORS = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


def save(path: Path, **columns: Any) -> Path:
    parquet.write_table(arrow.table(columns), path)
    return path


def test_pyarrow_reads_what_we_write(tmp_path: Path) -> None:
    write(tmp_path / "x", Table(["a", "", "c d"], VECTORS, np.array([3, 2, 1])))
    table = parquet.read_table(tmp_path / "x")
    assert table.schema.names == ["word", "count", "vector"]
    assert table.schema.field("vector").type == arrow.list_(arrow.float32(), 4)
    assert table["word"].to_pylist() == ["a", "", "c d"]
    assert table["count"].to_pylist() == [3, 2, 1]
    np.testing.assert_array_equal(np.array(table["vector"].to_pylist(), np.float32), VECTORS)


@pytest.mark.parametrize("value", [arrow.float16(), arrow.float32(), arrow.float64()])
@pytest.mark.parametrize("size", [4, -1])
@pytest.mark.parametrize(
    "word",
    [arrow.string(), arrow.large_string(), arrow.binary(), arrow.dictionary(arrow.int32(), arrow.string())],
)
def test_files_of_others(value: Any, size: int, word: Any, tmp_path: Path) -> None:
    rows = VECTORS.astype(np.float16)
    path = save(
        tmp_path / "x",
        text=arrow.array(["a", "b", "c"]).cast(word),
        embedding=arrow.array(list(rows), arrow.list_(value, size)),
    )
    table = read(path, Options(limit=2))
    assert (table.words, table.counts) == (["a", "b"], None)
    np.testing.assert_array_equal(table.vectors, rows[:2].astype(np.float32))
    assert read(path).words == ["a", "b", "c"]


def test_row_groups(tmp_path: Path) -> None:
    words, vectors = [f"w{i}" for i in range(1_000)], np.arange(3_000, dtype=np.float32).reshape(-1, 3)
    table = arrow.table({"word": words, "vector": list(vectors)})
    parquet.write_table(table, tmp_path / "x", row_group_size=64)
    found = read(tmp_path / "x", Options(limit=100))
    assert found.words == words[:100]
    np.testing.assert_array_equal(read(tmp_path / "x").vectors, vectors)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"word": ["a"]}, "must have one column named vector"),
        ({"vector": [[1.0]]}, "must have one column named word"),
        (
            {"word": ["a", "b"], "vector": [[1.0], [1.0, 2.0]]},
            "row 2: the vector has 2 numbers, but the first one has 1",
        ),
        ({"word": ["a", "b"], "vector": [[1.0], None]}, "row"),
        ({"word": ["a"], "vector": [[None]]}, "row 1"),
        ({"word": ["a", None], "vector": [[1.0], [1.0]]}, "words are string with 1 missing"),
        ({"word": [1], "vector": [[1.0]]}, "words are int64"),
        ({"word": ["a"], "vector": [1.0]}, "lists of at least one float"),
        ({"word": ["a"], "vector": [["x"]]}, "they must be lists of floats"),
        ({"word": ["a"], "vector": [[1.0]], "count": [-1]}, "the count is -1"),
        ({"word": ["a"], "vector": [[1.0]], "count": [None]}, "counts are"),
    ],
)
def test_columns_that_do_not_fit(columns: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        read(save(tmp_path / "x", **columns))


def test_a_few_bytes_do_not_become_a_huge_table(tmp_path: Path) -> None:
    rows = 200_000  # all alike: run lengths make a small file of them
    vector = arrow.FixedSizeListArray.from_arrays(arrow.array(np.zeros(rows * 40, np.float32)), 40)
    path = save(tmp_path / "x", word=arrow.array(["w"] * rows), vector=vector)
    assert path.stat().st_size < 100_000
    with pytest.raises(FormatError, match="would take 32000000 bytes"):
        read(path)


def test_a_file_whose_metadata_aborts_pyarrow() -> None:
    # in a process of its own: what pyarrow 26 does when it is asked for the size of a column cannot be caught
    code = "import sys; from unhot.vectors.formats.parquet import Path, read; read(Path(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(GOLDEN / "damaged.parquet")], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "FormatError" in done.stderr


def test_damage(tmp_path: Path) -> None:
    write(tmp_path / "x", Table(["a", "b", "c"], VECTORS, None))
    whole = (tmp_path / "x").read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "x").write_bytes(whole[:length])
        with pytest.raises(FormatError, match="bytes 0"):
            read(tmp_path / "x")
