"""Parquet files, Arrow tables, data frames and datasets as corpora."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.corpus.encoding import encode
from unhot.corpus.reading.sources import TextReader
from unhot.errors import ConfigError, DataError
from unhot.rows import tables
from unhot.vocab.vocabulary import decode_word

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = ["the cat\nsat", None, "the  dog", "", "the end"]
SENTENCES = [["the", "cat", "sat"], ["the", "dog"], ["the", "end"]]


def read(source, **settings):
    """The sentences of a source, as lists of words."""
    with encode(source, min_count=1, **settings) as corpus:
        words = corpus.vocabulary.words
        return [
            [words[i] for i in shard.ids[start:stop]]
            for shard in corpus.shards
            for start, stop in zip(shard.starts[:-1], shard.starts[1:], strict=True)
        ]


def parquet(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)
    return path


def test_a_row_is_a_sentence(tmp_path):
    assert read(parquet(tmp_path / "t.parquet", {"n": [1, 2, 3, 4, 5], "text": ROWS})) == SENTENCES


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_all_types_of_strings(tmp_path, kind):
    column = pa.array(ROWS).cast(kind)
    assert read(pa.table({"s": column})) == SENTENCES
    assert read(parquet(tmp_path / "t.parquet", {"s": column})) == SENTENCES


@pytest.mark.parametrize("wrap", [pa.list_, pa.large_list, pa.list_view, lambda kind: pa.list_(kind, 3)])
def test_all_types_of_lists(wrap):
    rows = [
        ["new york", "is", "big"],
        None,
        ["a", None, ""],
        ["\n", "b", "\udcff".encode("utf-8", "surrogateescape").decode("latin-1")],
    ]
    column = pa.array(rows, wrap(pa.string()))
    assert read(pa.table({"s": column}).slice(0)) == [["new york", "is", "big"], ["a"], ["\n", "b", "\xff"]]
    assert read(pa.table({"s": column}).slice(1, 2)) == [["a"]]


def test_lists_in_a_file_with_small_batches(tmp_path, monkeypatch):
    rows = [[f"w{i % 7}", "x y"] for i in range(5000)]
    path = parquet(tmp_path / "t.parquet", {"tokens": rows, "n": range(5000)}, row_group_size=700)
    monkeypatch.setattr(tables, "CHUNK", 1000)
    assert read(path) == rows
    monkeypatch.setattr(tables, "MOST", 3)
    assert read([path, path]) == rows + rows


@pytest.mark.parametrize("group", [5, 10_000])
def test_rows_whose_size_changes_are_read_once_each(group, tmp_path, monkeypatch):
    """Batches get fewer rows where cells are long, and more where they are short."""
    lengths = [1] * 300 + [200] * 30 + [1] * 300 + [500, 1, 500] + [1] * 30
    rows = [[f"w{i}"] * length for i, length in enumerate(lengths)]
    path = parquet(tmp_path / "t.parquet", {"s": [" ".join(row) for row in rows]}, row_group_size=group)
    monkeypatch.setattr(tables, "CHUNK", 300)
    assert read(path) == rows


def test_bytes_that_are_not_utf8_are_kept(tmp_path):
    raw = pa.array([b"caf\xe9 \xff\xfe", b"\xfd"], pa.binary()).view(pa.string())
    assert read(parquet(tmp_path / "t.parquet", {"s": raw})) == [["caf\udce9", "\udcff\udcfe"], ["\udcfd"]]
    lists = pa.ListArray.from_arrays([0, 2], raw)
    assert read(parquet(tmp_path / "l.parquet", {"s": lists})) == [["caf\udce9 \udcff\udcfe", "\udcfd"]]


@given(
    st.lists(
        st.one_of(st.none(), st.lists(st.one_of(st.none(), st.text(max_size=4)), max_size=5)), max_size=20
    )
)
def test_lists_are_what_python_lists_are(rows):
    plain = [[token for token in row if token] for row in rows if row]
    if any(plain):
        assert read(pa.table({"s": pa.array(rows, pa.list_(pa.string()))})) == [row for row in plain if row]


@given(st.lists(st.one_of(st.none(), st.text(max_size=8)), max_size=20))
def test_strings_are_what_python_strings_are(rows):
    plain = [row for row in rows if row and row.replace("\0", " ").strip(" \t\n\v\f\r")]
    if plain:
        assert read(pa.table({"s": pa.array(rows, pa.string())})) == read(iter(plain))


def test_folders_mix_text_and_parquet(tmp_path):
    parquet(tmp_path / "a.parquet", {"text": ["one two"]})
    (tmp_path / "b.txt").write_text("three\nfour")
    parquet(tmp_path / "c", {"line": ["five"]})  # found by its bytes, not by its name
    assert read(tmp_path) == [["one", "two"], ["three"], ["four"], ["five"]]
    assert read(f"{tmp_path}/*.parquet") == [["one", "two"]]
    assert read(tmp_path, tokenizer=str.split) == [["one", "two"], ["three"], ["four"], ["five"]]


def test_text_that_begins_like_parquet_is_text(tmp_path):
    (tmp_path / "t.txt").write_text("PAR1 is a word")
    assert read(tmp_path) == [["PAR1", "is", "a", "word"]]


def test_which_column(tmp_path):
    path = parquet(tmp_path / "t.parquet", {"id": ["i"], "title": ["t"], "n": [1]})
    columns = r"the columns are id \(text\), title \(text\), n \(no text"
    with pytest.raises(
        DataError,
        match=rf"t.parquet: 2 columns can be text, and none is named text; choose one .*: {columns}",
    ):
        read(path)
    assert read(path, column="title") == [["t"]]
    with pytest.raises(DataError, match=r"column 'body': there is no such column; the columns are id"):
        read(path, column="body")
    with pytest.raises(DataError, match=r"column 'n': it holds neither strings nor lists"):
        read(path, column="n")
    with pytest.raises(DataError, match="0 columns can be text"):
        read(pa.table({"n": [1]}))
    assert read(pa.table({"id": ["i"], "text": [["a", "b"]]})) == [["a", "b"]]


def test_a_column_of_what_has_none(tmp_path):
    (tmp_path / "t.txt").write_text("a b")
    for source in (tmp_path, ["no path"], iter([["a"]])):
        with pytest.raises(ConfigError, match="column='x': only tables have columns"):
            read(source, column="x")


def test_lists_and_text_do_not_mix(tmp_path):
    parquet(tmp_path / "a.parquet", {"text": [["one", "two"]]})
    (tmp_path / "b.txt").write_text("three")
    with pytest.raises(
        DataError, match=r"lists of tokens \(.*a.parquet, column 'text'\), others text \(.*b.txt\)"
    ):
        read(tmp_path)
    with pytest.raises(DataError, match="a tokenizer function takes str"):
        read(tmp_path / "a.parquet", tokenizer=str.split)
    with pytest.raises(DataError, match="a tokenizer function takes str"):
        read(pa.table({"text": [["one"]]}), tokenizer=str.split)


def test_tables_by_what_they_can_do():
    table = pa.table({"n": [1, 2, 3, 4, 5], "text": ROWS})
    assert read(table) == SENTENCES
    assert read(table.to_reader(max_chunksize=2)) == SENTENCES
    assert read(table.to_batches()[0]) == SENTENCES
    assert read(table, tokenizer=str.split) == SENTENCES
    with pytest.raises(DataError):
        read(table.slice(0, 0))


def test_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["a b", "c"], "n": [1, 2]})
    assert read(frame["text"]) == [["a", "b"], ["c"]]
    assert read(frame) == [["a", "b"], ["c"]]


def test_rows_that_are_dicts():
    rows = [{"n": 1, "line": "a b"}, {"n": 2, "line": None}, {"n": 3, "line": "c"}]
    assert read(rows) == read(iter(rows)) == [["a", "b"], ["c"]]
    assert read(rows, tokenizer=list) == [["a", " ", "b"], ["c"]]
    assert read([{"x": ["a b"], "id": "1"}], column="x") == [["a b"]]
    assert read([{"line": "a"}, {"n": 1}, "b"]) == [["a"]]
    with encode([{"line": "a"}, "b"], min_count=1) as corpus:
        assert corpus.report.bad_rows == 1
        assert "1 of 2 rows are bad" in str(corpus.report)


def test_datasets():
    datasets = pytest.importorskip("datasets")
    dataset = datasets.Dataset.from_dict({"text": ROWS, "label": range(5)})
    assert read(dataset) == SENTENCES
    assert read(dataset.to_iterable_dataset()) == SENTENCES
    assert read(dataset.select([4, 0])) == [SENTENCES[2], SENTENCES[0]]
    assert read(dataset.rename_column("text", "body"), column="body") == SENTENCES
    lists = datasets.Dataset.from_dict({"tokens": [["a b", "c"], ["d"]], "id": ["1", "2"]})
    assert read(lists, column="tokens") == [["a b", "c"], ["d"]]
    with pytest.raises(DataError, match=r"a Dataset: 2 columns can be text.*tokens \(tokens\), id \(text\)"):
        read(lists)
    with pytest.raises(
        DataError,
        match=r"a DatasetDict with the keys 'train': give one of its values, for example source\['train'\]",
    ):
        read(datasets.DatasetDict(train=dataset))


def test_damaged_files(tmp_path):
    path = parquet(
        tmp_path / "t.parquet", {"text": [f"line {i} of it" for i in range(3000)]}, write_page_checksum=True
    )
    whole = path.read_bytes()
    for damaged in (
        whole[:-1],
        whole[: len(whole) // 2],
        b"PAR1PAR1",
        b"",
        b"no parquet",
        whole[:5000] + bytes(200) + whole[5200:],
        whole[:-8] + b"\xff\xff\xff\x7f" + whole[-4:],
    ):
        path.write_bytes(damaged)
        with pytest.raises(
            DataError, match=r"t.parquet: the parquet file cannot be read: .*make or download the file again"
        ):
            read(path)


def test_a_file_whose_metadata_aborts_pyarrow():
    # in a process of its own: what pyarrow 26 does when it is asked for the size of a column cannot be caught
    code = "import sys; from unhot.corpus.encoding import encode; encode(sys.argv[1], column='word')"
    damaged = Path(__file__).parents[1] / "golden" / "damaged.parquet"
    done = subprocess.run([sys.executable, "-c", code, str(damaged)], capture_output=True, text=True)
    assert done.returncode == 1
    assert "DataError" in done.stderr


def test_progress_counts_bytes_on_disk(tmp_path):
    path = parquet(tmp_path / "t.parquet", {"text": [f"a line with the number {i}" for i in range(600_000)]})
    reader, seen = TextReader([path]), []
    text = b""
    for block in reader.blocks(10_000):
        seen.append(reader.progress())
        text += block
    assert seen == sorted(seen)
    assert len(set(seen)) > 3
    assert seen[-1] == (path.stat().st_size,) * 2
    assert decode_word(text).split("\n")[199_999] == "a line with the number 199999"


@pytest.mark.parametrize("tokenizer", ["whitespace", str.split])
def test_token_lists_cannot_come_from_a_pipe(monkeypatch, tokenizer):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"text": ["a", "b"]}\n')))
    with pytest.raises(DataError, match="standard input: column 'text' holds lists of tokens: give a file"):
        encode("-", tokenizer=tokenizer, min_count=1)


def test_a_pipe_cannot_be_parquet(tmp_path):
    raw = io.BytesIO()
    pq.write_table(pa.table({"text": ["a"]}), raw)
    code = "from unhot.corpus import encode; encode('-')"
    result = subprocess.run(
        [sys.executable, "-c", code],
        input=raw.getvalue(),
        capture_output=True,
        cwd=Path(__file__).parents[2],
        timeout=60,
    )
    assert b"its index is at its end: give it as a file" in result.stderr
