"""Vectors in one safetensors file, against the safetensors library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unhot.errors import FormatError
from unhot.vectors.formats.safetensors import write_safetensors
from unhot.vectors.formats.table import Options, Table
from unhot.vectors.formats.tensor_file import read, write

numpy_io = pytest.importorskip("safetensors.numpy")
VECTORS = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
WORDS = np.frombuffer(b"a\nb\nc\n", np.uint8)


def test_the_library_reads_what_we_write(tmp_path: Path) -> None:
    write(tmp_path / "x", Table(["a", "b", "c"], VECTORS, np.array([3, 2, 1])))
    tensors = numpy_io.load_file(tmp_path / "x")
    assert set(tensors) == {"vectors", "words", "counts"}
    np.testing.assert_array_equal(tensors["vectors"], VECTORS)
    assert tensors["words"].tobytes() == b"a\nb\nc\n"
    assert tensors["counts"].tolist() == [3, 2, 1]


@pytest.mark.parametrize("name", ["vectors", "embeddings", "embedding.weight"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_files_of_others(name: str, dtype: type, tmp_path: Path) -> None:
    numpy_io.save_file(
        {name: VECTORS.astype(dtype), "more": np.ones(2, np.int16)}, tmp_path / "x.safetensors"
    )
    with pytest.raises(
        FormatError, match=r"byte 8: there is neither a tensor 'words' nor a file .*x.words.txt"
    ):
        read(tmp_path / "x.safetensors")
    (tmp_path / "x.words.txt").write_bytes(b"a\nb\nc")
    table = read(tmp_path / "x.safetensors", Options(limit=2))
    assert table.words == ["a", "b"]
    assert table.vectors.dtype == np.float32
    np.testing.assert_array_equal(table.vectors, VECTORS[:2].astype(dtype).astype(np.float32))


def test_bfloat16(tmp_path: Path) -> None:
    halves = (VECTORS.view(np.uint32) >> 16).astype(np.uint16)
    with (tmp_path / "x").open("wb") as file:
        write_safetensors(file, {"vectors": halves.view(np.float16), "words": WORDS})
    (tmp_path / "x").write_bytes(
        (tmp_path / "x").read_bytes().replace(b'"F16"', b'"BF16"').replace(b"  ", b" ", 1)
    )
    table = read(tmp_path / "x")
    np.testing.assert_array_equal(table.vectors.view(np.uint32), halves.astype(np.uint32) << 16)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"matrix": VECTORS, "words": WORDS}, "no tensor is named vectors, embeddings"),
        ({"vectors": VECTORS[0], "words": WORDS}, "floats"),
        ({"vectors": np.ones((3, 0), np.float32), "words": WORDS}, "floats"),
        ({"vectors": np.ones((3, 1), np.int32), "words": WORDS}, "floats"),
        ({"vectors": VECTORS[:2], "words": WORDS}, "3 words, but 2 vectors"),
        ({"vectors": VECTORS, "words": WORDS.astype(np.int32)}, "must be U8"),
        ({"vectors": VECTORS, "words": WORDS, "counts": np.ones(2, np.int64)}, r"it must be I64 \[3\]"),
        ({"vectors": VECTORS, "words": WORDS, "counts": np.ones(3, np.int32)}, r"it must be I64 \[3\]"),
        ({"vectors": VECTORS, "words": WORDS, "counts": -np.ones(3, np.int64)}, "a count is -1"),
    ],
)
def test_files_that_do_not_fit(tensors: dict[str, np.ndarray], message: str, tmp_path: Path) -> None:
    numpy_io.save_file(tensors, tmp_path / "x")
    with pytest.raises(FormatError, match=f"byte .*{message}"):
        read(tmp_path / "x")
