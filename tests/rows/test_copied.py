"""Files copied with new columns, in every format; and what must not happen to the files."""

import bz2
import contextlib
import csv
import gzip
import io
import json
import lzma
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from grids import some

from unhot.errors import ConfigError, DataError
from unhot.rows.copied import copy_rows

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

KINDS = ["text", "csv", "tsv", "jsonl", "parquet"]
NAMES = {"text": "x.txt", **{kind: f"x.{kind}" for kind in KINDS[1:]}}


def measured(texts):
    """The first letter, and the length."""
    assert all(isinstance(text, str) for text in texts)
    return [[text[:1] for text in texts], [float(len(text)) for text in texts]]


def listed(texts):
    return [[["a", "b"][: len(text)] for text in texts], [[0.5, 0.25][: len(text)] for text in texts]]


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogateescape"))
    return path


def copied(path, columns_of=measured, out=None, **how):
    target = path.with_name(out or f"out{path.suffix}")
    copy_rows(path, target, columns_of, **how)
    assert not list(path.parent.glob(".unhot-*"))
    return target.read_bytes()


def cells_of(data, delimiter=","):
    return list(csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter))


# plain text


def test_lines(tmp_path):
    data = b"one\r\n\ntwo words\n\xff\xfe\nend"
    assert copied(write(tmp_path / "x.txt", data)) == b"o\t3.0\n\t0.0\nt\t9.0\n\xff\t2.0\ne\t3.0\n"
    assert copied(write(tmp_path / "x.txt", "one\na\n\n"), listed) == b"a\t0.5\tb\t0.25\na\t0.5\n\n"
    assert copied(write(tmp_path / "x.txt", ""), out="empty") == b""


def test_values_cannot_break_lines(tmp_path):
    path = write(tmp_path / "x.txt", "x\n")
    assert copied(path, lambda texts: [["a\tb\nc\rd"], [None]]) == b"a b c d\t\n"


def test_long_and_many_lines(tmp_path):
    data = b"x" * 10_000_000 + b"\n" + b"ab\n" * 1_000_000
    seen = []
    path = write(tmp_path / "x.txt", data)
    out = copied(path, on_progress=lambda *done: seen.append(done))
    assert out == b"x\t10000000.0\n" + b"a\t2.0\n" * 1_000_000
    assert len(seen) > 3
    assert seen[-1] == (len(data), len(data))
    assert seen == sorted(seen)


def test_lines_into_tables(tmp_path):
    path = write(tmp_path / "x.txt", "one\nsix\n")
    assert copied(path, out="o.csv") == b"label,score\no,3.0\ns,3.0\n"
    assert copied(path, out="o.jsonl") == b'{"label": "o", "score": 3.0}\n{"label": "s", "score": 3.0}\n'
    copied(path, out="o.parquet")
    assert pq.read_table(tmp_path / "o.parquet").to_pydict() == {"label": ["o", "s"], "score": [3.0, 3.0]}


# JSON lines


def test_objects_keep_their_bytes(tmp_path):
    """Numbers, order, white space, keys that occur twice, bytes that are not UTF-8."""
    lines = [
        b'{"id": 123456789012345678901234567890, "text": "one", "x": 1.10, "y": 1e400, "z": -0.0}',
        b'  {"text":null,"a":{"b":[1,{"c":"\\u00e9"}]},"a":2 } \r',
        b'{ "text" : "caf\xc3\xa9 \xff" }',
        b"",
        b'{"text": "\\ud800\\n", "n": NaN}',
    ]
    out = copied(write(tmp_path / "x.jsonl", b"\n".join(lines))).split(b"\n")
    assert out == [
        lines[0][:-1] + b', "label": "o", "score": 3.0}',
        b'{"text":null,"a":{"b":[1,{"c":"\\u00e9"}]},"a":2, "label": null, "score": null}',
        b'{ "text" : "caf\xc3\xa9 \xff", "label": "c", "score": 6.0}',
        b'{"text": "\\ud800\\n", "n": NaN, "label": "\\ud800", "score": 2.0}',
        b"",
    ]
    for line in out[:-1]:
        json.loads(line.decode("utf-8", "surrogateescape"))


def test_new_fields_are_valid_json(tmp_path):
    path = write(tmp_path / "x.jsonl", '{"t": "a"}\n{"t": "ab"}\n')
    assert copied(path, listed).splitlines()[1] == b'{"t": "ab", "label": ["a", "b"], "score": [0.5, 0.25]}'
    odd = ['"\n\u00e9', "caf\udce9"]
    out = copied(path, lambda texts: [odd, [None, 1]])
    assert '"\\"\\n\u00e9"'.encode() in out
    assert b'"caf\\udce9"' in out
    assert [json.loads(line)["label"] for line in out.splitlines()] == odd


def test_json_into_others(tmp_path):
    path = write(
        tmp_path / "x.jsonl", '{"text": "a", "n": 1.5, "l": [1, "é"]}\n{"text": "b", "n": null, "l": []}\n'
    )
    assert cells_of(copied(path, out="o.csv")) == [
        ["text", "n", "l", "label", "score"],
        ["a", "1.5", '[1, "é"]', "a", "1.0"],
        ["b", "", "[]", "b", "1.0"],
    ]
    with pytest.raises(DataError, match="cannot be written as parquet"):
        copied(path, out="o.parquet")
    copied(write(path, '{"text": "a", "n": 1.5}\n{"text": "b"}\n'), out="o.parquet")
    assert pq.read_table(tmp_path / "o.parquet").to_pydict()["n"] == [1.5, None]
    out = copied(write(path, '{"text": "a", "n": 1.5}\n{"text": "b", "m": 1}\n'), out="o.csv")
    assert cells_of(out)[0] == ["text", "n", "m", "label", "score"]
    late = '{"text": "a"}\n' * 1000 + '{"text": "b", "m": 1}\n'
    with pytest.raises(DataError, match=r"line 1001 has columns that the first rows lack \(m\)"):
        copied(write(path, late), out="o.csv")


# CSV and TSV


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_fields_are_kept(kind, tmp_path):
    delimiter = {"csv": ",", "tsv": "\t"}[kind]
    cells = [
        ["id", "text", "odd, \t name"],
        ["007", 'say "hi", \t\nnow\r\nagain', "x"],
        ["1e400", "", "a\rb"],
        ["", "\u2028 \x1c", " "],
    ]
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter).writerows(cells)
    out = copied(write(tmp_path / f"x.{kind}", "\ufeff" + text.getvalue()))
    new = [["label", "score"], ["s", "22.0"], ["", ""], ["\u2028", "3.0"]]
    assert cells_of(out, delimiter) == [[*old, *more] for old, more in zip(cells, new, strict=True)]


def test_a_header_alone(tmp_path):
    path = write(tmp_path / "x.csv", "text,n\n")
    assert copied(path) == b"text,n,label,score\n"
    assert copied(path, out="o.tsv") == b"text\tn\tlabel\tscore\n"
    copied(path, out="o.parquet")
    assert pq.read_table(tmp_path / "o.parquet").column_names == ["text", "n", "label", "score"]
    assert copied(write(path, "")) == b""


@pytest.mark.parametrize(
    ("name", "data", "lines"),
    [
        ("x.tsv", "text\tn\na\t1\n\t\n\t2\nb\t3\n", ["a\t1\ta\t1.0", "\t\t\t", "\t2\t\t", "b\t3\tb\t1.0"]),
        ("x.csv", "text\na\n \n\n\r\nb\n", ["a,a,1.0", " , ,1.0", "b,b,1.0"]),
    ],
)
def test_lines_of_blanks_alone(name, data, lines, tmp_path):
    """A line without a character is no row; one of tabs is a row of TSV, and one of spaces a text."""
    assert copied(write(tmp_path / name, data)).decode().splitlines()[1:] == lines


def test_lists_in_fields_are_json(tmp_path):
    assert cells_of(copied(write(tmp_path / "x.csv", "text\nab\n"), listed))[1] == [
        "ab",
        '["a", "b"]',
        "[0.5, 0.25]",
    ]


def test_csv_into_others(tmp_path):
    path = write(tmp_path / "x.csv", b"text,n\n\xc3\xa9,1\nb,\n")
    assert copied(path, out="o.jsonl").splitlines()[0] == (
        '{"text": "é", "n": "1", "label": "é", "score": 1.0}'.encode()
    )
    copied(path, out="o.parquet")
    assert pq.read_table(tmp_path / "o.parquet").to_pydict()["n"] == ["1", ""]
    with pytest.raises(DataError, match="cannot be written as parquet.*strings are UTF-8.*write .jsonl"):
        copied(write(path, b"text,n\n\xff,1\n"), out="o.parquet")
    assert copied(path, out="o.jsonl") == b'{"text": "\\udcff", "n": "1", "label": "\\udcff", "score": 1.0}\n'


# parquet


def test_parquet_keeps_types_and_metadata(tmp_path):
    fields = [
        pa.field("n", pa.int8(), metadata={"unit": "m"}),
        pa.field("text", pa.large_string(), nullable=False),
        pa.field("when", pa.timestamp("us", "UTC")),
        pa.field("kind", pa.dictionary(pa.int32(), pa.string())),
        pa.field("deep", pa.list_(pa.struct([("a", pa.float32())]))),
    ]
    schema = pa.schema(fields, metadata={"key": "value"})
    row = {"n": 1, "text": "one", "when": 5, "kind": "k", "deep": [{"a": 0.5}, None]}
    table = pa.Table.from_pylist([row, {**row, "text": "", "n": None, "kind": None}] * 3000, schema)
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=777)
    copied(tmp_path / "x.parquet")
    found = pq.read_table(tmp_path / "out.parquet")
    new = [pa.field("label", pa.string()), pa.field("score", pa.float64())]
    assert found.schema.equals(pa.schema([*fields, *new], schema.metadata), check_metadata=False)
    assert found.schema.metadata[b"key"] == b"value"
    assert found.schema.field("n").metadata[b"unit"] == b"m"
    assert found.select(schema.names).equals(table)
    assert found["score"].to_pylist() == [3.0, 0.0] * 3000
    assert pq.ParquetFile(tmp_path / "out.parquet").num_row_groups == 8


def test_parquet_nulls_lists_and_groups(tmp_path, monkeypatch):
    monkeypatch.setattr("unhot.rows.writers.LARGEST", 1000)
    monkeypatch.setattr("unhot.rows.tables.CHUNK", 100)
    table = pa.table({"body": [None, "ab", "a", ""] * 100, "n": range(400)})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=400)
    copied(tmp_path / "x.parquet", listed)
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["label"].to_pylist() == [None, ["a", "b"], ["a"], []] * 100
    assert found["score"].type == pa.list_(pa.float64())
    assert found["n"].to_pylist() == list(range(400))
    assert 3 < pq.ParquetFile(tmp_path / "out.parquet").num_row_groups < 40  # of few bytes each


def test_parquet_into_others(tmp_path):
    columns = {"text": ["a", None], "d": pa.array([1, 2], pa.date32()), "l": [[1.5], None]}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    lines = copied(tmp_path / "x.parquet", out="o.jsonl").splitlines()
    assert json.loads(lines[0]) == {"text": "a", "d": "1970-01-02", "l": [1.5], "label": "a", "score": 1.0}
    assert json.loads(lines[1])["label"] is None
    assert cells_of(copied(tmp_path / "x.parquet", out="o.csv"))[1:] == [
        ["a", "1970-01-02", "[1.5]", "a", "1.0"],
        ["", "1970-01-03", "", "", ""],
    ]


def test_binary_cells_are_text_elsewhere(tmp_path):
    cells = [b"caf\xc3\xa9", b"a\xff", None]
    pq.write_table(
        pa.table({"text": ["x", "y", "z"], "raw": pa.array(cells, pa.binary())}), tmp_path / "x.parquet"
    )
    lines = copied(tmp_path / "x.parquet", out="o.jsonl").splitlines()
    assert [json.loads(line)["raw"] for line in lines] == ["caf\u00e9", "a\udcff", None]
    rows = copied(tmp_path / "x.parquet", out="o.csv").splitlines()[1:]
    assert [row.split(b",")[1] for row in rows] == [cells[0], cells[1], b""]


def test_empty_parquet(tmp_path):
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "x.parquet")
    copied(tmp_path / "x.parquet")
    assert pq.read_table(tmp_path / "out.parquet").column_names == ["text", "label", "score"]


# columns


def small(tmp_path, kind, **columns):
    columns = {"text": ["one", "two"], **columns}
    path = tmp_path / NAMES[kind]
    if kind == "parquet":
        pq.write_table(pa.table(columns), path)
    elif kind == "jsonl":
        write(path, "".join(json.dumps(row) + "\n" for row in pa.table(columns).to_pylist()))
    else:
        rows = [list(columns), *zip(*columns.values(), strict=True)]
        write(path, "".join({"csv": ",", "tsv": "\t"}[kind].join(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("kind", KINDS[1:])
def test_columns_that_are_there_already(kind, tmp_path):
    path = small(tmp_path, kind, label=["x", "y"])
    with pytest.raises(DataError, match=r"has a column 'label' already.*\(--rename label=predicted\)"):
        copied(path)
    assert sorted(tmp_path.iterdir()) == [path]
    out = copied(path, rename={"label": "predicted"}, column="text", out="o.jsonl")
    assert json.loads(out.splitlines()[0]) == {"text": "one", "label": "x", "predicted": "o", "score": 3.0}
    assert b"p" in copied(path, lambda texts: [["p"] * len(texts)], names=["p"], column="text")


def test_columns_of_the_same_name_are_not_lost(tmp_path):
    path = write(tmp_path / "x.csv", "id,id,text\n1,2,a\n")
    assert copied(path) == b"id,id,text,label,score\n1,2,a,a,1.0\n"
    for out in ("o.jsonl", "o.tsv", "o.parquet"):
        with pytest.raises(DataError, match="several columns are called 'id': rename .* source \\(csv\\)"):
            copied(path, out=out)


def test_a_later_object_may_have_the_column(tmp_path):
    path = write(tmp_path / "x.jsonl", '{"text": "a"}\n{"text": "a", "score": 1}\n')
    with pytest.raises(DataError, match="has a column 'score' already"):
        copied(path)


@pytest.mark.parametrize("rename", [{"x": "y"}, {"label": "score"}])
def test_wrong_new_names(rename, tmp_path):
    with pytest.raises(ConfigError, match="the new columns are label, score: rename only these"):
        copied(write(tmp_path / "x.txt", "x\n"), rename=rename)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_the_column_of_the_text(kind, tmp_path):
    path = small(tmp_path, kind, other=["1", "22"])
    assert b"22" in copied(path, out="o.csv", column="other").splitlines()[2]
    with pytest.raises(DataError, match=r"column 'nope': there is no such column; the columns are text"):
        copied(path, column="nope")


def test_bad_rows_are_copied_as_they_are(tmp_path):
    path = write(tmp_path / "x.jsonl", '{"text": "a"}\n{"text": 5}\n{"text"\n{"text": "b"}\n')
    with pytest.raises(DataError, match="line 2: text is 5 of type int, not text"):
        copied(path, strict=True)
    found = copy_rows(path, tmp_path / "o.jsonl", measured)
    assert (found.rows, found.bad, found.without_text) == (4, 2, 0)
    lines = (tmp_path / "o.jsonl").read_text().splitlines()
    assert lines[1:3] == ['{"text": 5}', '{"text"']
    assert json.loads(lines[3]) == {"text": "b", "label": "b", "score": 1.0}
    path = write(tmp_path / "x.csv", 'text,n\na,1\nb\n"c"d,2\ne,3,4\nf,5\ng,6\n')
    found = copy_rows(path, tmp_path / "o.csv", measured)
    assert (found.rows, found.bad) == (6, 3)
    assert (tmp_path / "o.csv").read_text().splitlines()[1:] == [
        *("a,1,a,1.0", "b,,,", '"c"d,2,,', "e,3,4,,", "f,5,f,1.0", "g,6,g,1.0")
    ]


def test_wrong_results_of_the_function(tmp_path):
    path = write(tmp_path / "x.txt", "x\ny\n")
    for wrong in ([], [["a", "b"]], [["a"], [1, 2]]):
        with pytest.raises(ConfigError, match="must return the 2 columns label, score, with 2 values"):
            copied(path, lambda texts, wrong=wrong: wrong)


# files


@pytest.mark.parametrize("kind", ["text", "csv", "jsonl"])
@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst"])
def test_compression(kind, ending, tmp_path):
    from unhot.rows.streams import TextStream

    plain = write(tmp_path / NAMES["text"], "one\n") if kind == "text" else small(tmp_path, kind)
    wanted = copied(plain)
    packed = tmp_path / f"{plain.name}.{ending}"
    copy_rows(plain, tmp_path / f"o{plain.suffix}.{ending}", measured)
    with contextlib.closing(TextStream(tmp_path / f"o{plain.suffix}.{ending}")) as stream:
        assert b"".join(stream) == wanted
    if ending != "zst":
        packed.write_bytes({"gz": gzip, "bz2": bz2, "xz": lzma}[ending].compress(plain.read_bytes()))
        assert copied(packed, out=f"p{plain.suffix}") == wanted


def test_packed_parquet_is_refused(tmp_path):
    path = write(tmp_path / "x.txt", "one\n")
    with pytest.raises(DataError, match="packed inside"):
        copy_rows(path, tmp_path / "o.parquet.gz", measured)


def test_the_input_is_not_replaced(tmp_path):
    path = write(tmp_path / "x.txt", "one\n")
    (tmp_path / "soft").symlink_to(path)
    os.link(path, tmp_path / "hard")
    for source in (path, tmp_path / "soft"):
        for out in (
            path,
            str(path),
            tmp_path / "soft",
            tmp_path / "hard",
            tmp_path / ".." / tmp_path.name / "x.txt",
        ):
            with pytest.raises(ConfigError, match="is the input, and would be replaced"):
                copy_rows(source, out, lambda texts: pytest.fail("was read"))
    with path.open("ab") as file, pytest.raises(ConfigError, match="is the input"):
        copy_rows(path, file, measured)
    assert path.read_bytes() == b"one\n"


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_left_after_an_error(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("unhot.rows.writers.GROUP", 1)
    path = write(tmp_path / "x.txt", "one\n" * 500_000) if kind == "text" else small(tmp_path, kind)
    out = write(tmp_path / f"out{path.suffix}", "before")

    for error in (DataError, KeyboardInterrupt):

        def fails(texts, error=error):
            raise error("stop")

        with pytest.raises(error, match="stop"):
            copy_rows(path, out, fails)
        stream = io.BytesIO()
        with pytest.raises(error, match="stop"):
            copy_rows(path, stream, fails)
        assert stream.getvalue() == b""
    assert out.read_bytes() == b"before"
    assert sorted(tmp_path.iterdir()) == sorted([path, out])


SCRIPT = """
import signal, sys, time
from unhot.rows.copied import copy_rows
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background begins with Ctrl-C ignored
def slow(texts):
    print("read", flush=True)
    time.sleep(0.05)
    return [texts, texts]
try:
    copy_rows(sys.argv[1], sys.argv[2], slow)
except KeyboardInterrupt:
    sys.exit(7)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_killed_in_the_middle(how, tmp_path):
    path = write(tmp_path / "x.txt", "one\n" * 10_000_000)
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(path), str(tmp_path / "out")], stdout=subprocess.PIPE
    )
    for _ in range(3):
        process.stdout.readline()
    process.send_signal(how)
    process.communicate()
    assert process.returncode == (7 if how == signal.SIGINT else -how)
    assert not (tmp_path / "out").exists()
    if how == signal.SIGINT:
        assert sorted(tmp_path.iterdir()) == [path]


def test_one_file_only(tmp_path):
    write(tmp_path / "x.txt", "one\n")
    for source in (tmp_path, tmp_path / "*.txt"):
        with pytest.raises(DataError, match="give one file"):
            copy_rows(source, tmp_path / "out", measured)
    with pytest.raises(DataError, match="no such file"):
        copy_rows(tmp_path / "none.parquet", tmp_path / "out", measured)
    with pytest.raises(DataError, match="cannot be written"):
        copy_rows(tmp_path / "x.txt", tmp_path / "none" / "out", measured)


# pipes

PIPE = """
import sys
from unhot.rows.copied import copy_rows
kind = sys.argv[2]
copy_rows(sys.argv[1], sys.stdout.buffer, lambda t: [[x[:1] for x in t], [1.0] * len(t)], kind=kind)
sys.stdout.buffer.flush()
"""


@pytest.mark.parametrize("kind", some(KINDS, 2))
def test_pipes(kind, tmp_path):
    path = write(tmp_path / "x.txt", "one\n" * 3) if kind == "text" else small(tmp_path, kind)
    data = b"" if kind == "parquet" else path.read_bytes()
    source = str(path) if kind == "parquet" else "-"
    command = [sys.executable, "-c", PIPE, source, kind]
    done = subprocess.run(command, input=data, capture_output=True, check=True)
    copy_rows(path, tmp_path / f"out{path.suffix}", lambda t: [[x[:1] for x in t], [1.0] * len(t)])
    if kind == "parquet":
        assert pq.read_table(io.BytesIO(done.stdout)).equals(pq.read_table(tmp_path / "out.parquet"))
    else:
        assert done.stdout == (tmp_path / f"out{path.suffix}").read_bytes()


def test_parquet_is_no_pipe(tmp_path):
    with pytest.raises(DataError, match="standard input: a parquet file cannot be read from a pipe"):
        copy_rows("-", tmp_path / "out", measured, kind="parquet")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_output_begins_before_the_input_ends(tmp_path):
    os.mkfifo(tmp_path / "in")
    code = PIPE.replace("sys.stdout.buffer,", "open(1, 'wb', 0),")
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "in"), "text"], stdout=subprocess.PIPE
    )
    with Path(tmp_path / "in").open("wb") as file:
        file.write((b"o" * 999 + b"\n") * 2000)  # few lines of output: they fit into the pipe
        file.flush()
        assert process.stdout.readline() == b"o\t1.0\n"
    assert len(process.communicate()[0].splitlines()) == 1999
