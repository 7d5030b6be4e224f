"""`.npy` against NumPy's own writer and reader."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unhot.errors import FormatError
from unhot.vectors.formats.npy import read, write
from unhot.vectors.formats.table import Table

VECTORS = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


def with_words(path: Path, text: bytes = b"a\nb\nc\n") -> Path:
    path.with_suffix(".words.txt").write_bytes(text)
    return path


def test_numpy_reads_what_we_write(tmp_path: Path) -> None:
    write(tmp_path / "x.npy", Table(["a", "b\\", "c\n"], VECTORS, None))
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), VECTORS)
    assert (tmp_path / "x.words.txt").read_bytes() == b"a\nb\\\\\nc\\n\n"
    np.save(tmp_path / "y.npy", VECTORS)
    assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "y.npy").read_bytes()


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_we_read_what_numpy_writes(dtype: str, order: str, tmp_path: Path) -> None:
    array = np.asarray(VECTORS.astype(dtype), order=order)
    np.save(tmp_path / "x.npy", array)
    table = read(with_words(tmp_path / "x.npy"))
    assert table.words == ["a", "b", "c"]
    assert table.vectors.dtype == np.float32
    assert table.vectors.flags.c_contiguous
    np.testing.assert_array_equal(table.vectors, array.astype(np.float32))


def test_words_of_others(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", VECTORS)
    assert read(with_words(tmp_path / "x.npy", b"C:\\x\r\n\\\\\r\nlast")).words == ["C:\\x", "\\", "last"]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones(3, np.float32), "shape is"),
        (np.ones((3, 0), np.float32), "shape is"),
        (np.ones((3, 4), np.int32), "dtype is '<i4'"),
        (np.array([["a"], ["b"], ["c"]]), "dtype is"),
        (np.array([[{}], [{}], [{}]], dtype=object), "dtype is"),
        (np.ones((2, 4), np.float32), "3 words, but 2 vectors"),
    ],
)
def test_other_arrays(array: np.ndarray, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", array, allow_pickle=array.dtype == object)
    with pytest.raises(FormatError, match=f"byte .*{message}"):
        read(with_words(tmp_path / "x.npy"))


def test_damage(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", VECTORS)
    whole = (tmp_path / "x.npy").read_bytes()
    with pytest.raises(FormatError, match=r"x.words.txt with the words of these 3 rows is missing"):
        read(tmp_path / "x.npy")
    with_words(tmp_path / "x.npy")
    for length in range(len(whole)):
        (tmp_path / "x.npy").write_bytes(whole[:length])
        with pytest.raises(FormatError, match="byte"):
            read(tmp_path / "x.npy")
    for old, new in (
        (b"(3, 4)", b"(3,-4)"),
        (b"(3, 4)", b"(9**9)"),
        (b"(3, 4)", b"(((((("),
        (b"False", b"Fals("),
        (b"<f4", b"|O "),
    ):
        (tmp_path / "x.npy").write_bytes(whole.replace(old, new))
        with pytest.raises(FormatError, match="byte 10"):
            read(tmp_path / "x.npy")
    (tmp_path / "x.npy").write_bytes(whole.replace(b"(3, 4), }  ", b"(999999999, 999),}"[:11]))
    with pytest.raises(FormatError, match="byte"):
        read(tmp_path / "x.npy")
