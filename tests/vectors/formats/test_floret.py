"""floret's tables against floret and spaCy, and against damage."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unhot.errors import ConfigError, DataError, FormatError
from unhot.vectors.formats import Table, existing_format, read_table, write_table
from unhot.vectors.formats.floret import read_floret, write_floret
from unhot.vectors.subword_rows import SubwordRows
from unhot.vocab.subwords import Subwords

GOLDEN = Path(__file__).parents[2] / "golden"
TABLE = GOLDEN / "floret_table.floret"
EXPECTED = json.loads((GOLDEN / "floret_expected.json").read_text(encoding="utf-8"))
NO_WORDS = np.empty(0, np.int32)


def test_vectors_of_floret_and_spacy() -> None:
    rows = read_floret(TABLE)
    assert rows.subwords == Subwords(minn=2, maxn=5, buckets=97, scheme="floret", hashes=2)
    assert rows.matrix.shape == (97, 5)
    for word, vector in EXPECTED["spacy_vectors"].items():
        np.testing.assert_allclose(rows.vector(word), vector, rtol=1e-4, atol=1e-7)
    for word, vector in EXPECTED["floret_word_vectors"].items():  # before they were rounded to 5 digits
        np.testing.assert_allclose(rows.vector(word), vector, atol=3e-6)


def test_floret_adds_a_row_that_its_table_lacks_to_one_word() -> None:
    word = EXPECTED["word_with_id_0"]
    assert np.abs(read_floret(TABLE).vector(word) - EXPECTED["floret_word_vector_of_id_0"]).max() > 1e-3


def test_there_and_back(tmp_path: Path) -> None:
    rows = read_floret(TABLE)
    write_floret(tmp_path / "x.floret", rows)
    again = read_floret(tmp_path / "x.floret")
    assert again.subwords == rows.subwords
    np.testing.assert_array_equal(again.matrix, rows.matrix)
    ours, floret = (
        (path.read_text(encoding="ascii").splitlines()) for path in (tmp_path / "x.floret", TABLE)
    )
    assert ours[0] == floret[0]
    assert [line.rstrip().split(" ")[0] for line in floret] == [line.split(" ")[0] for line in ours]


@examples(30)
@given(data=st.data())
def test_any_numbers(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    matrix = data.draw(
        hnp.arrays(np.float32, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.floats(width=32))
    )
    minn = data.draw(st.integers(1, 3))
    cut = Subwords(
        minn=minn,
        maxn=data.draw(st.integers(minn, 5)),
        buckets=len(matrix),
        scheme="floret",
        hashes=data.draw(st.integers(1, 4)),
        seed=data.draw(st.integers(0, 2**32 - 1)),
    )
    path = tmp_path_factory.getbasetemp() / "any.floret"
    write_floret(path, SubwordRows(cut, matrix, NO_WORDS))
    rows = read_floret(path)
    assert rows.subwords == cut
    np.testing.assert_array_equal(rows.matrix, matrix)


def test_buckets_without_a_row_are_zeros(tmp_path: Path) -> None:
    cut = Subwords(minn=1, maxn=2, buckets=3, scheme="floret")
    rows = SubwordRows(cut, np.ones((1, 2), np.float32), NO_WORDS, np.array([-1, 0, -1], np.int32))
    write_floret(tmp_path / "x.floret", rows)
    assert (tmp_path / "x.floret").read_bytes() == b"3 2 1 2 1 2166136261 < >\n0 0 0\n1 1 1\n2 0 0\n"
    with pytest.raises(
        ConfigError, match="scheme=fasttext: a floret table can only hold rows of scheme=floret"
    ):
        write_floret(
            tmp_path / "y.floret",
            SubwordRows(Subwords(minn=1, maxn=2, buckets=1), np.ones((1, 2), np.float32), NO_WORDS),
        )


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (b"", "byte 0: this is not a floret table"),
        (b"2 1\na 1\nb 2\n", "byte 0: this is not a floret table"),
        (b"2 1 1 2 1 7 < >\n0 1\n", "byte 0: 2 rows of 1 numbers need at least 7 bytes"),
        (b"999999999 1 1 2 1 7 < >\n0 1\n", "byte 0: 999999999 rows"),
        (b"1 0 1 2 1 7 < >\n0\n", "byte 0: 1 rows of 0 numbers"),
        (b"1 1 1 2 5 7 < >\n0 1\n", "byte 0: hashes=5: must be <= 4"),
        (b"1 1 3 2 1 7 < >\n0 1\n", "byte 0: minn=3, maxn=2"),
        (b"0 1 1 2 1 7 < >\n", "byte 0: buckets=0"),
        (b"1 1 1 2 1 7 [ ]\n0 1\n", r"byte 12: words are marked with '\[' and '\]'"),
        (b"2 1 1 2 1 7 < >\n0 1\n0 2\n", "row 2: it begins with 0: rows must be numbered"),
        (b"2 1 1 2 1 7 < >\n0 1 5\n1 2\n", "byte 16: row 1 of 2"),
        (b"2 1 1 2 1 7 < >\n0 1\n1 x\n", "byte 22: not a float32"),
        (b"2 1 1 2 1 7 < >\n0 1\n1 1\n2 1\n", "byte 24: the file continues after the 2 rows"),
    ],
)
def test_damaged_tables(text: bytes, where: str, tmp_path: Path) -> None:
    (tmp_path / "x.floret").write_bytes(text)
    with pytest.raises(FormatError, match=where):
        read_floret(tmp_path / "x.floret")


def test_cut_anywhere(tmp_path: Path) -> None:
    data = TABLE.read_bytes()
    end = len(data.rstrip()) - 1  # a shorter last number is a number, too
    for size in range(0, end - 8, 23):
        (tmp_path / "x.floret").write_bytes(data[:size])
        with pytest.raises(FormatError, match=r"(byte|row) [0-9]"):
            read_floret(tmp_path / "x.floret")


def test_it_is_no_table_of_words(tmp_path: Path) -> None:
    assert existing_format(TABLE) == "floret"
    odd = tmp_path / "odd"
    odd.write_bytes(TABLE.read_bytes())
    assert existing_format(odd) == "floret"
    for path, name in ((TABLE, None), (odd, None), (odd, "floret")):
        with pytest.raises(ConfigError, match="has rows of n-grams but no words"):
            read_table(path, name)
    with pytest.raises(ConfigError, match="these vectors have no n-grams"):
        write_table(tmp_path / "x", Table(["a"], np.ones((1, 1), np.float32), None), "floret")
    with pytest.raises(DataError, match="no such file"):
        read_floret(tmp_path / "none.floret")
