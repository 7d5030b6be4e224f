"""TensorBoard's projector files."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from unhot.errors import DataError, FormatError
from unhot.vectors.formats import read_table, write_table
from unhot.vectors.formats.projector import read
from unhot.vectors.formats.table import Table

write = partial(write_table, format="projector")
VECTORS = np.array([[1, -0.5], [1e-7, 2], [3, 4]], np.float32)


def test_the_three_files(tmp_path: Path) -> None:
    assert write(tmp_path / "vectors.tsv", Table(["a b", "c\td", "e"], VECTORS, None)) == {"c\td": "c_d"}
    assert (tmp_path / "vectors.tsv").read_text() == "1\t-0.5\n1e-07\t2\n3\t4\n"
    assert (tmp_path / "metadata.tsv").read_text() == "a b\nc_d\ne\n"
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert config == 'embeddings {\n  tensor_path: "vectors.tsv"\n  metadata_path: "metadata.tsv"\n}\n'
    assert read_table(tmp_path).words == ["a b", "c_d", "e"]  # the folder
    with pytest.raises(DataError, match=r"projector_config.pbtxt: this file exists and names other vectors"):
        write(tmp_path / "others.tsv", Table(["a"], VECTORS[:1], None))
    write(tmp_path, Table(["a"], VECTORS[:1], np.array([7])))  # the folder again
    assert (tmp_path / "metadata.tsv").read_text() == "word\tcount\na\t7\n"


@pytest.mark.parametrize(
    ("metadata", "words", "counts"),
    [
        (b"a\nb\nc\n", ["a", "b", "c"], None),
        (b"a\r\nb\r\nc\r\n", ["a", "b", "c"], None),
        (b"a\n\nc", ["a", "", "c"], None),
        (b"Index\tLabel\n0\ta\n1\tb\n2\tc\n", ["a", "b", "c"], None),
        (b"count\tword\n5\ta\n6\tb\n7\tc", ["a", "b", "c"], [5, 6, 7]),
        (b"name\na\nb\nc\n", ["a", "b", "c"], None),
    ],
)
def test_metadata_of_others(
    metadata: bytes, words: list[str], counts: list[int] | None, tmp_path: Path
) -> None:
    (tmp_path / "x.tsv").write_bytes(b"1\t2\n3\t4\n5\tnan\n\n")
    (tmp_path / "x.metadata.tsv").write_bytes(metadata)
    table = read(tmp_path / "x.tsv")
    assert table.words == words
    np.testing.assert_array_equal(table.vectors, [[1, 2], [3, 4], [5, np.nan]])
    assert (table.counts is None) == (counts is None)
    assert table.counts is None or table.counts.tolist() == counts


@pytest.mark.parametrize(
    ("vectors", "metadata", "message"),
    [
        (b"1\t2\n3\n5\t6.25\n", b"a\nb\nc\n", "byte 4: row 2 of 3"),
        (b"1\t2\n3\t4\t5\n5\t6\n", b"a\nb\nc\n", "byte 4: row 2 of 3"),
        (b"1\t2\n3\tx\n5\t6\n", b"a\nb\nc\n", "byte 6: not a float32"),
        (b"1\t2\n", b"a\nb\nc\n", "3 lines for 1 vectors"),
        (b"1\t2\n3\t4\n", b"a\tb\nc\td\n", "several columns need a first line"),
        (b"1\t2\n", b"word\tcount\na\tx\n", "row 1: the count b'x'"),
        (b"1\t2\n", b"word\tcount\na\n", "row 1: column 2 is missing"),
        (b"1\t2\n", b"word\tcount\na\t99999999999999999999\n", "row 1: the count"),
        (b"1\t2\t3\t4\t5\n6\n7\n8\n", b"a\nb\nc\nd\n", "byte"),
    ],
)
def test_damage(vectors: bytes, metadata: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_bytes(vectors)
    (tmp_path / "x.metadata.tsv").write_bytes(metadata)
    with pytest.raises(FormatError, match=message):
        read(tmp_path / "x.tsv")


def test_missing_metadata(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_bytes(b"1\t2\n")
    with pytest.raises(DataError, match=r"x.metadata.tsv: there is no such file"):
        read(tmp_path / "x.tsv")
