"""The word2vec formats against files of gensim, against gensim itself, and against damage."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from unhot.errors import DataError, FormatError
from unhot.types import Floats
from unhot.vectors.formats import write_table
from unhot.vectors.formats.shortest import shortest_doubles
from unhot.vectors.formats.table import Options, Table, writable_words
from unhot.vectors.formats.word2vec import read_binary, read_text
from unhot.vectors.store import Vectors

Writer: TypeAlias = Callable[[Path, Table], dict[str, str]]
Reader: TypeAlias = Callable[..., Table]

GOLDEN = Path(__file__).parents[2] / "golden"
EXPECTED = json.loads((GOLDEN / "w2v_formats_expected.json").read_text(encoding="utf-8"))
VECTORS = np.array([np.frombuffer(bytes.fromhex(row), "<f4") for row in EXPECTED["vectors_float32_hex"]])
write_text = partial(write_table, format="word2vec-text")
write_binary = partial(write_table, format="word2vec-binary")
FORMATS = [(write_text, read_text), (write_binary, read_binary)]
WORDS = ["the", "caf\u00e9", "\u4e2d\u6587", "1.5", "a\u00a0b"]
WORDS += ["nel\u0085", "\udcff\udcfe", "\x00", "_", "don't"]


def random_vectors(rows: int, dim: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal((rows, dim), np.float32)


@pytest.mark.parametrize("name", ["w2v_text.txt", "w2v_binary.bin", "w2v_binary_newlines.bin"])
def test_golden_files_read_bit_for_bit(name: str) -> None:
    words, vectors, _ = (read_text if name.endswith(".txt") else read_binary)(GOLDEN / name)
    assert words == EXPECTED["words"]
    assert vectors.tobytes() == VECTORS.tobytes()


@pytest.mark.parametrize(("write", "name"), [(write_text, "w2v_text.txt"), (write_binary, "w2v_binary.bin")])
def test_writes_the_bytes_gensim_writes(write: Writer, name: str, tmp_path: Path) -> None:
    assert write(tmp_path / "out", Table(EXPECTED["words"], VECTORS, None)) == {}
    assert (tmp_path / "out").read_bytes() == (GOLDEN / name).read_bytes()


@pytest.mark.parametrize(("write", "read"), FORMATS)
def test_round_trip_of_odd_words_numbers_and_padded_rows(write: Writer, read: Reader, tmp_path: Path) -> None:
    padded = random_vectors(len(WORDS), 16)
    padded[0, :6] = [np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4028235e38]
    assert write(tmp_path / "out", Table(WORDS, padded[:, :7], None)) == {}
    words, vectors, _ = read(tmp_path / "out")
    assert words == WORDS
    assert vectors.dtype == np.float32
    assert vectors.tobytes() == padded[:, :7].tobytes()


@pytest.mark.parametrize(("write", "read"), FORMATS)
def test_more_rows_than_a_block(write: Writer, read: Reader, tmp_path: Path) -> None:
    vectors, words = random_vectors(30_001, 5), [f"w{i}" for i in range(30_001)]
    write(tmp_path / "out", Table(words, vectors, None))
    read_words, read_vectors, _ = read(tmp_path / "out")
    assert read_words == words
    np.testing.assert_array_equal(read_vectors, vectors)


@pytest.mark.parametrize(("write", "read"), FORMATS)
def test_no_rows(write: Writer, read: Reader, tmp_path: Path) -> None:
    write(tmp_path / "out", Table([], np.empty((0, 3), np.float32), None))
    words, vectors, _ = read(tmp_path / "out")
    assert words == []
    assert vectors.shape == (0, 3)


@pytest.mark.parametrize("binary", [False, True])
def test_gensim_loads_equal_values(binary: bool, tmp_path: Path) -> None:
    keyedvectors = pytest.importorskip("gensim.models.keyedvectors")
    words, vectors = [f"w{i}" for i in range(500)], random_vectors(500, 40) * np.float32(0.01)
    words[3] = "new\nyork city"
    renamed = (write_binary if binary else write_text)(tmp_path / "out", Table(words, vectors, None))
    loaded = keyedvectors.KeyedVectors.load_word2vec_format(str(tmp_path / "out"), binary=binary)
    assert loaded.index_to_key == [renamed.get(word, word) for word in words]
    np.testing.assert_array_equal(loaded.vectors, vectors)


def test_white_space_rule() -> None:
    words = ["a b", "a_b", "a\tb", "", "a_b_", "a  b"]
    names, renamed = writable_words(words)
    assert names == ["a_b__", "a_b", "a_b___", "_", "a_b_", "a__b"]
    assert renamed == {"a b": "a_b__", "a\tb": "a_b___", "": "_", "a  b": "a__b"}


@given(st.lists(st.text(alphabet="a_ \n\t", max_size=4), unique=True))
def test_written_words_are_unique_and_hold_no_white_space(words: list[str]) -> None:
    names, renamed = writable_words(words)
    assert len(set(names)) == len(words)
    assert all(name and name.split() == [name] for name in names)
    assert [renamed.get(word, word) for word in words] == names
    assert all(not word or any(c in word for c in " \n\t") for word in renamed)


def test_words_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="more than once"):
        write_table(tmp_path / "out.txt", Table(["a", "a"], random_vectors(2, 2), None))
    assert list(tmp_path.iterdir()) == []


def digits(text: str) -> tuple[str, float]:
    """The significant digits of a number's text, and its value."""
    mantissa = text.split("e")[0].lstrip("-")
    return mantissa.replace(".", "").strip("0"), float(text)


@given(hnp.arrays(np.uint32, st.integers(1, 50)))
def test_every_float32_gets_the_shortest_digits(bits: NDArray[np.uint32]) -> None:
    values = bits.view(np.float32)
    values = values[np.isfinite(values)]
    for value, double in zip(values, shortest_doubles(values).tolist(), strict=True):
        assert digits(format(double, ".9g")) == digits(str(value))


def test_many_ordinary_numbers_get_the_shortest_digits() -> None:
    rng = np.random.default_rng(5)
    values = np.concatenate(
        [
            rng.standard_normal(20_000) * 0.1,
            rng.integers(0, 10**6, 5_000) / 1000,
            2.0 ** np.arange(-140, 120),
            # fmt: skip
            10.0 ** np.arange(-20, 20),
            np.arange(5_000) / 64,
        ]
    ).astype(np.float32)
    expected = [digits(str(value)) for value in values]
    assert [digits(format(double, ".9g")) for double in shortest_doubles(values).tolist()] == expected


@pytest.mark.parametrize("tail", [b" \n", b"\r\n", b"\n"])
def test_text_of_other_tools(tail: bytes, tmp_path: Path) -> None:
    # the C tool and fastText leave a space at the line's end; some files have spaces inside words
    (tmp_path / "in").write_bytes(b"2 2" + tail + b"a b 1 2" + tail + b"c 3 -4e-1" + tail)
    words, vectors, _ = read_text(tmp_path / "in")
    assert words == ["a b", "c"]
    assert vectors.tolist() == [[1, 2], [3, np.float32(-0.4)]]


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (read_text, b"", "byte 0"),
        (read_text, b"the 1 2\n", "byte 0"),
        (read_text, b"3 x\n", "byte 0"),
        (read_text, b"-1 2\n", "byte 0"),
        (read_text, b"1 0\na\n", "byte 0"),
        (read_text, b"999999999999999 999999999\na 1\n", "need at least"),
        (read_text, b"3 99999999999999999999\na 1\nb 2\nc 3\n", "a row must have 1 to 2147483647 numbers"),
        (read_text, b"0 99999999999999999999\n", "a row must have 1 to 2147483647 numbers"),
        (read_text, b"2 3\na 1 2\nb 1 2\n", "need at least 13 bytes, but only 12 .* for 1 rows at most"),
        (read_text, b"2 1\nlong 1\n", "byte 11: the file ends after row 1 of 2.*limit=1"),
        (read_text, b"1 2\na 1\nb\n\n", "byte 4"),
        (read_text, b"1 2\na 1 x\n", "not a float32"),
        (read_text, b"1 2\na 1 1e99\n", "not a float32"),
        (read_text, b"1 2\na 1 2\nb 1 2\n", "byte 10"),
        (read_binary, b"1 1\n", "need at least"),
        (read_binary, b"999999999999999 1\nabc \0\0\0\0", "need at least"),
        (read_binary, b"1 1\nabcde", "byte 4"),
        (read_binary, b"1 2\nabcde \0\0\0\0\0\0\0", "ends at byte 17"),
        (read_binary, b"1 1\na\nb \0\0\0\0", "byte 4"),
        (read_binary, b"1 1\na \0\0\0\0b \0\0\0\0", "byte 10"),
        (read_binary, b"2 1\na \0\0\0\0abc", "byte 10: there is no word here"),
        (read_binary, b"2 1\na \0\0\0\0bcde \0\0\0", "byte 14.*limit=1"),
    ],
)
def test_damaged_files(read: Reader, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(content)
    with pytest.raises(FormatError, match=message):
        read(tmp_path / "in")


@pytest.mark.parametrize("read", [read_text, read_binary])
def test_a_header_that_lies_can_be_read_with_a_limit(read: Reader, tmp_path: Path) -> None:
    (write_text if read is read_text else write_binary)(
        tmp_path / "in", Table(["a", "b"], random_vectors(2, 3), None)
    )
    for header in (b"3 3\n", b"1 3\n", b"999999 3\n"):
        content = (tmp_path / "in").read_bytes()
        (tmp_path / "lies").write_bytes(header + content.partition(b"\n")[2])
        with pytest.raises(FormatError, match=r"byte .*limit="):
            read(tmp_path / "lies")
        assert read(tmp_path / "lies", Options(limit=1)).words == ["a"]
        if header != b"1 3\n":
            assert read(tmp_path / "lies", Options(limit=2)).words == ["a", "b"]


@pytest.mark.parametrize(("name", "read"), [("w2v_text.txt", read_text), ("w2v_binary.bin", read_binary)])
def test_every_truncation_is_noticed(name: str, read: Reader, tmp_path: Path) -> None:
    whole = (GOLDEN / name).read_bytes()
    # a text may lose its last line feed, and then digits of its last number: nothing in the format could tell
    for length in range(len(whole) - (len(b" 1.020052\n") if read is read_text else 0)):
        (tmp_path / "in").write_bytes(whole[:length])
        with pytest.raises(FormatError, match="byte"):
            read(tmp_path / "in")


@given(st.data())
def test_flipped_bits_never_raise_anything_else(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    name, read = data.draw(
        st.sampled_from([("w2v_text.txt", read_text), ("w2v_binary_newlines.bin", read_binary)])
    )
    content = bytearray((GOLDEN / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path_factory.getbasetemp() / f"flipped-{os.getpid()}"
    path.write_bytes(content)
    try:
        words, vectors, _ = read(path)
    except FormatError:
        return
    assert len(words) == len(vectors)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_text(tmp_path / "none.txt")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_text(tmp_path / "out", Table(["a"], np.ones((1, 1), np.float32), None))
    before = (tmp_path / "out").read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left on device.*untouched"):
        write_text(tmp_path / "out", Table(["b"], np.ones((1, 1), np.float32), None))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_bytes() == before


def test_devices_folders_and_links(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a regular file"):
        write_text(tmp_path, Table(["a"], np.ones((1, 1), np.float32), None))
    with pytest.raises(DataError, match="cannot be written"):
        write_text(tmp_path / "none" / "out", Table(["a"], np.ones((1, 1), np.float32), None))
    (tmp_path / "real").write_bytes(b"")
    (tmp_path / "link").symlink_to("real")
    write_binary(tmp_path / "link", Table(["a"], np.ones((1, 1), np.float32), None))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"1 1\na " + struct.pack("<f", 1.0)


@pytest.mark.parametrize("word", ["new york", "a b", "of the", "two words ", "São Paulo", "one two three"])
@pytest.mark.parametrize("row", [0, 2])
def test_a_space_in_a_word_of_a_binary_file_is_found(word: str, row: int, tmp_path: Path) -> None:
    """As gensim writes it: the numbers of the row, and perhaps those of others, would be garbage."""
    vectors = np.random.default_rng(3).standard_normal((3, 8), np.float32)
    words = ["first", "second", "third"]
    words[row] = word
    rows = (name.encode() + b" " + vector.tobytes() for name, vector in zip(words, vectors, strict=True))
    (tmp_path / "x.bin").write_bytes(b"3 8\n" + b"".join(rows))
    with pytest.raises(FormatError, match=f"of row {row + 1} has a space in it"):
        Vectors.load(tmp_path / "x.bin")
