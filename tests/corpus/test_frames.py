"""Data frames and series of pandas and polars as corpora."""

from itertools import pairwise

import pytest

import unhot
from unhot.corpus.encoding import encode
from unhot.corpus.reading.sources import Column
from unhot.errors import ConfigError, DataError
from unhot.graphs.reading import read_graph
from unhot.logs.events import read_events
from unhot.logs.log_reading import LogReading
from unhot.rows.labelled import LabelledRows

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

ROWS = ["the cat", None, "the dog", ""]
SENTENCES = [["the", "cat"], ["the", "dog"]]
LISTS = [["new york", "is"], None, ["big"]]
KINDS = {
    "object": pd.Series(ROWS, dtype=object),
    "nan": pd.Series(["the cat", float("nan"), "the dog", ""], dtype=object),
    "string": pd.Series(ROWS, dtype="string"),
    "string[pyarrow]": pd.Series(ROWS, dtype="string[pyarrow]"),
    "arrow": pd.Series(ROWS, dtype=pd.ArrowDtype(pa.large_string())),
    "category": pd.Series(ROWS, dtype="category"),
    "String": pl.Series(ROWS),
    "Categorical": pl.Series(ROWS, dtype=pl.Categorical),
    "Enum": pl.Series(ROWS, dtype=pl.Enum(["the cat", "the dog", ""])),
}


def read(source, **settings):
    with encode(source, min_count=1, **settings) as corpus:
        words = corpus.vocabulary.words
        return [[words[i] for i in s.ids[a:b]] for s in corpus.shards for a, b in pairwise(s.starts)]


def frame(series, **others):
    kind = pd.DataFrame if isinstance(series, pd.Series) else pl.DataFrame
    return kind({"line": series, **others})


@pytest.mark.parametrize("kind", KINDS)
def test_strings(kind):
    series = KINDS[kind]
    for source in (series, frame(series), frame(series, n=[1, 2, 3, 4])):
        assert read(source) == SENTENCES
        assert read(source, tokenizer=str.split) == SENTENCES
        assert read(source, empty_lines=True) == [SENTENCES[0], [], SENTENCES[1], []]
    assert read(frame(series, text=["a", "b", "c", "d"]), column="line") == SENTENCES


@pytest.mark.parametrize("make", [pd.Series, pl.Series])
def test_lists_of_tokens(make):
    for source in (make(LISTS), frame(make(LISTS)), frame(make(LISTS), id=["1", "2", "3"])):
        column = {"column": "line"} if len(getattr(source, "columns", ())) == 2 else {}
        assert read(source, **column) == [["new york", "is"], ["big"]]
        assert read(source, empty_lines=True, **column) == [["new york", "is"], [], ["big"]]


def test_lists_of_polars():
    fixed = pl.Series([["a b", "c"], ["d", "e"]], dtype=pl.Array(pl.String, 2))
    categories = pl.Series([["a b", "c"], None, ["d"]], dtype=pl.List(pl.Categorical))
    assert read(pl.DataFrame({"t": fixed})) == [["a b", "c"], ["d", "e"]]
    assert read(pl.DataFrame({"t": categories})) == [["a b", "c"], ["d"]]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_labels_beside(kind):
    table = kind({"text": ["a b", None, "c"], "label": ["x", "y z", None]})
    for other in (Column("label"), table["label"]):
        with encode(table, min_count=1, beside={"labels": other}) as corpus:
            beside = corpus.beside["labels"]
            assert [shard.starts.tolist() for shard in beside.shards] == [[0, 1, 3, 3]]
            assert beside.vocabulary.words == ["x", "y", "z"]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_models_learn_from_frames(kind):
    table = kind({"id": ["1", "2"] * 20, "body": ["a b c", "c d"] * 20})
    model = unhot.SkipGram(dim=4, min_count=1, epochs=1, sample=0).fit(table, column="body")
    assert sorted(model.vectors.words) == ["a", "b", "c", "d"]
    again = unhot.SkipGram(dim=4, min_count=1, epochs=1, sample=0).fit(table["body"])
    assert again.vectors.words == model.vectors.words


def test_index_and_names_of_pandas():
    named = pd.DataFrame({"text": ["a b"]}, index=pd.Index(["key"], name="id"))
    assert read(named) == [["a", "b"]]
    assert read(pd.DataFrame({0: ["a b"]})) == [["a", "b"]]
    with pytest.raises(DataError, match=r"a DataFrame: 2 columns can be text.*: the columns are a \(text\)"):
        read(pd.DataFrame({"a": ["x"], "b": ["y"]}))


def test_frames_that_arrow_cannot_read():
    twice = pd.DataFrame([["a", "b"]], columns=["text", "text"])
    with pytest.raises(DataError, match=r"a DataFrame cannot be read through Arrow \(.*give the col"):
        read(twice)
    mixed = pd.DataFrame({"text": ["a", 1.5, "b"]})
    for source in (mixed, mixed["text"]):
        assert read(source) == [["a"], ["b"]]
        with pytest.raises(DataError, match="row 2: text is 1.5 of type float, not text"):
            read(source, strict=True)


class Streamed:
    """An object with a stream of Arrow's, and nothing else."""

    def __init__(self, source):
        self.__arrow_c_stream__ = source.__arrow_c_stream__


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame])
def test_streams_of_structs_are_tables(make):
    table = make({"n": [1, 2, 3], "text": ["a b", None, "c"], "label": ["x", "y", "z"]})
    assert read(Streamed(table)) == read(Streamed(table), column="text") == [["a", "b"], ["c"]]
    assert list(LabelledRows(Streamed(table))) == [("a b", ["x"]), ("", ["y"]), ("c", ["z"])]
    found = read_events(Streamed(make({"user": ["u", "v"], "item": [1, 2]})))
    assert (found.user_words, found.item_words) == (["u", "v"], ["1", "2"])
    assert sorted(read_graph(Streamed(make({"source": ["a"], "target": ["b"]}))).vocabulary.words) == [
        "a",
        "b",
    ]


@pytest.mark.parametrize("make", [lambda rows: pa.chunked_array([rows]), pd.Series, pl.Series])
def test_streams_of_strings_are_columns(make):
    assert read(Streamed(make(["a b", None, "c"]))) == [["a", "b"], ["c"]]
    assert read(Streamed(make([["a b"], ["c"]]))) == [["a b"], ["c"]]
    texts, labels = Streamed(make(["a b", "c"])), Streamed(make(["x", "y"]))
    assert list(LabelledRows(texts, labels)) == [("a b", ["x"]), ("c", ["y"])]
    assert list(LabelledRows(Streamed(make(["__label__x a b", "__label__y c"])))) == [
        ("a b", ["x"]),
        ("c", ["y"]),
    ]
    sessions = Streamed(make([["a", "b"], ["b", "c"]]))
    assert read_events(sessions, LogReading(format="sessions")).item_words == ["a", "b", "c"]


def test_ids_of_many_types_in_one_column_of_pandas():
    rows = {"user": ["a", 7, 7.0, None, True], "item": [1, "x", "007", "y", pd.Timestamp("2026-01-02")]}
    found = read_events(pd.DataFrame(rows, dtype=object))
    assert [found.user_words[user] for user in found.users] == ["a", "7", "7", "True"]
    assert found.item_words == ["1", "x", "007", "2026-01-02 00:00:00"]
    assert (found.report.rows, found.report.examples) == (5, ["row 4: has no user"])
    labelled = pd.DataFrame({"text": ["a", "b", "c"], "label": [1, "x", 2.0]})
    assert list(LabelledRows(labelled)) == [("a", ["1"]), ("b", ["x"]), ("c", ["2"])]


@pytest.mark.filterwarnings("error")
def test_lazy_frames_must_be_collected():
    lazy = pl.LazyFrame({"text": ["a b"]})
    for how in ({}, {"column": "text"}, {"tokenizer": str.split}):
        with pytest.raises(DataError, match=r"a LazyFrame is a query that has not run: give its result"):
            read(lazy, **how)
    queries = (
        LabelledRows,
        lambda source: LabelledRows(source, ["x"]),
        lambda source: unhot.Classifier().fit(source),
        lambda source: unhot.Classifier().fit(source, ["x"]),
        lambda source: unhot.NGramModel().fit(source),
        read_events,
        read_graph,
        lambda source: unhot.Popularity().fit(source),
    )
    for reader in queries:
        with pytest.raises(DataError, match=r"a LazyFrame is a query that has not run: give its result"):
            list(reader(lazy))
    assert read(lazy.collect()) == [["a", "b"]]


@pytest.mark.parametrize("make", [pd.Series, pl.Series])
def test_a_series_has_no_columns(make):
    with pytest.raises(ConfigError, match="column='x': only tables have columns"):
        read(make(["a b"]), column="x")


def test_arrow_columns():
    assert read(pa.chunked_array([["a b"], [None, "c"]])) == [["a", "b"], ["c"]]
