"""Vectors as tables of pandas, polars and Arrow, by the real libraries."""

import sys
from pathlib import Path

import numpy as np
import pytest

from unhot.errors import DataError, MissingExtra
from unhot.vectors import Vectors

GOLDEN = Path(__file__).parents[1] / "golden"
WORDS = ["king", "queen", "été", "中文", "a b", ""]
MATRIX = np.random.default_rng(1).standard_normal((6, 3), np.float32)
COUNTS = np.array([9, 5, 4, 3, 2, 0])
STORE = Vectors(WORDS, MATRIX, COUNTS)
# two different words whose bytes are not UTF-8, and one that is what they become
BROKEN = Vectors(["a\udcff", "a\udcfe", "a\ufffd"], MATRIX[:3])
MENDED = ["a\ufffd_", "a\ufffd__", "a\ufffd"]


@pytest.fixture(params=["pandas", "polars", "pyarrow"])
def library(request):
    return pytest.importorskip(request.param)


def table_of(store, library):
    return getattr(store, f"to_{library.__name__.removeprefix('py')}")()


def words_and_matrix(table, library):
    if library.__name__ == "pandas":
        return list(table.index), table.to_numpy()
    if library.__name__ == "polars":
        return table["word"].to_list(), table["vector"].to_numpy()
    values = table["vector"].chunk(0).flatten().to_numpy()
    return table["word"].to_pylist(), values.reshape(len(table), table["vector"].type.list_size)


def test_words_and_numbers(library):
    words, matrix = words_and_matrix(table_of(STORE, library), library)
    assert words == WORDS
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix, MATRIX)


def test_the_matrix_is_shared_and_stays_writeable_only_for_its_owner(library, tmp_path):
    STORE.save(tmp_path / "mapped")
    for store in (STORE, Vectors.load(tmp_path / "mapped")):
        matrix = words_and_matrix(table_of(store, library), library)[1]
        assert np.shares_memory(matrix, store.vectors)
        assert not matrix.flags.writeable
    assert STORE.vectors.flags.writeable
    every_other = words_and_matrix(table_of(STORE[::2], library), library)[1]
    np.testing.assert_array_equal(every_other, MATRIX[::2])


def test_no_words(library):
    words, matrix = words_and_matrix(table_of(STORE[:0], library), library)
    assert words == []
    assert matrix.size == 0


def test_words_that_are_not_utf8(library):
    assert words_and_matrix(table_of(BROKEN, library), library)[0] == MENDED


def test_vectors_of_ngrams(library):
    vectors = Vectors.load(GOLDEN / "fasttext_unsup_skipgram_ns.bin")
    words, matrix = words_and_matrix(table_of(vectors, library), library)
    assert words == vectors.words
    np.testing.assert_array_equal(matrix, vectors.vectors)


def test_pandas_frame():
    pandas = pytest.importorskip("pandas")
    frame = STORE.to_pandas()
    assert frame.index.name == "word"
    assert list(frame.columns) == [0, 1, 2]
    assert set(map(str, frame.dtypes)) == {"float32"}
    np.testing.assert_array_equal(frame.loc["queen"], MATRIX[1])
    counted = STORE.to_pandas(counts=True)
    assert list(counted.columns) == ["count", 0, 1, 2]
    np.testing.assert_array_equal(counted["count"], COUNTS)
    pandas.testing.assert_frame_equal(counted.drop(columns="count"), frame, check_column_type=False)
    changed = frame.copy()
    changed.loc["king"] = 0.0
    assert STORE["king"].any()
    back = Vectors(list(frame.index), frame.to_numpy())
    assert back.words == WORDS
    with pytest.raises(DataError, match="these vectors have no counts"):
        BROKEN.to_pandas(counts=True)


def test_polars_frame():
    polars = pytest.importorskip("polars")
    assert dict(STORE.to_polars().schema) == {
        "word": polars.String,
        "count": polars.Int64,
        "vector": polars.Array(polars.Float32, 3),
    }
    assert STORE[:0].to_polars().schema == STORE.to_polars().schema
    assert STORE.to_polars()["count"].to_list() == COUNTS.tolist()
    assert BROKEN.to_polars().columns == ["word", "vector"]


def test_arrow_table_is_that_of_a_parquet_file(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    STORE.save(tmp_path / "saved.parquet")
    assert STORE.to_arrow().equals(parquet.read_table(tmp_path / "saved.parquet"))
    assert STORE.to_arrow().schema.field("vector").type == arrow.list_(arrow.float32(), 3)
    assert BROKEN.to_arrow().column_names == ["word", "vector"]


def test_tables_written_by_their_libraries_are_read_back(tmp_path):
    parquet, _ = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("polars")
    parquet.write_table(STORE.to_arrow(), tmp_path / "arrow.parquet")
    STORE.to_polars().write_parquet(tmp_path / "polars.parquet")
    for name in ("arrow", "polars"):
        back = Vectors.load(tmp_path / f"{name}.parquet")
        assert back.words == WORDS
        np.testing.assert_array_equal(back.vectors, MATRIX)
        np.testing.assert_array_equal(back.counts, COUNTS)


@pytest.mark.parametrize(("module", "extra"), [("pandas", "pandas"), ("polars", "polars")])
def test_a_missing_library_is_named_with_its_extra(module, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"to_{extra} needs {module}.*pip install 'unhot\[{extra}\]'"):
        getattr(STORE, f"to_{extra}")()
