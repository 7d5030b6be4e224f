"""GloVe text: the golden files, words that look like numbers, and how wide a row is."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from unhot.errors import FormatError
from unhot.vectors.formats import read_table, write_table
from unhot.vectors.formats.glove import read
from unhot.vectors.formats.table import Options, Table

write = partial(write_table, format="glove")
GOLDEN = Path(__file__).parents[2] / "golden"
EXPECTED = json.loads((GOLDEN / "w2v_formats_expected.json").read_text(encoding="utf-8"))


def test_the_file_of_gensim_bit_for_bit(tmp_path: Path) -> None:
    table = read_table(GOLDEN / "glove_no_header.txt")  # .txt, but it has no header
    assert table.words == EXPECTED["words"]
    assert table.vectors.tobytes() == bytes.fromhex("".join(EXPECTED["vectors_float32_hex"]))
    write(tmp_path / "out", table)
    assert (tmp_path / "out").read_bytes() == (GOLDEN / "glove_no_header.txt").read_bytes()


def test_hard_words() -> None:
    table = read(GOLDEN / "glove_hard_words.txt")
    assert table.words == EXPECTED["hard_words"]
    np.testing.assert_array_equal(table.vectors, np.array(EXPECTED["hard_vectors"], np.float32))


@pytest.mark.parametrize(
    ("content", "words", "dim"),
    [
        (b"a 1 2\n", ["a"], 2),
        (b"1 1 2\n2 3 4", ["1", "2"], 2),
        (b"at 7 1 2\nb 1 2\nc 3 4\n", ["at 7", "b", "c"], 2),
        (b"a nan inf\nnan 1 -infinity\n", ["a", "nan"], 2),
        (b"a 1 2 \r\nb 3 4\r\n\r\n \n", ["a", "b"], 2),
        (b"a\t1\t2\nb\t3\t4\n", ["a", "b"], 2),
        (b"a 1e-300 1_0\n", ["a"], 2),
    ],
)
def test_rows_of_all_kinds(content: bytes, words: list[str], dim: int, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(content)
    table = read(tmp_path / "in")
    assert table.words == words
    assert table.vectors.shape == (len(words), dim)


DAMAGED = {
    b"": "byte 0: not GloVe",
    b"hello\n": "byte 0: not GloVe",
    b"\n\n": "byte 0: not GloVe",
    b"a 1 2\nb 3 4\nc 5\n": r"byte 12: row 3 of 3 must be a word and 2 numbers, but is 'c 5'",
    b"a 1 2\n\nb 3 4\nc 5 6\n": "byte 6: row 2",
    b"a 1 2\nb 3 4\nc x 5\n": "byte 14: not a float32: could not convert",
    b"a 1 2\nb 3 4\nc 1e39 5\n": "byte 14: not a float32: .* too large for float32",
    b"a 1 2 3 4 5 6 7 8\nb\nc\nd\ne\nf\ng\n": "byte",
}


@pytest.mark.parametrize(("content", "message"), DAMAGED.items())
def test_damage(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(content)
    with pytest.raises(FormatError, match=message):
        read(tmp_path / "in")


def test_a_limit_stops_before_the_damage(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"a 1 2\nb 3 4\nbroken\n")
    assert read(tmp_path / "in", Options(limit=2)).words == ["a", "b"]


# gensim does not close the file
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_gensim_reads_what_we_write(tmp_path: Path) -> None:
    keyedvectors = pytest.importorskip("gensim.models.keyedvectors")
    vectors = np.random.default_rng(1).standard_normal((300, 20)).astype(np.float32)
    words = [f"w{i}" for i in range(300)]
    write(tmp_path / "out", Table(words, vectors, None))
    loaded = keyedvectors.KeyedVectors.load_word2vec_format(str(tmp_path / "out"), no_header=True)
    assert loaded.index_to_key == words
    np.testing.assert_array_equal(loaded.vectors, vectors)
