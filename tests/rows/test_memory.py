"""The bound of memory that docs/rows.md states, on files whose rows are very short or very long."""

import tracemalloc

import numpy as np
import pytest
from grids import SOAK

from unhot.errors import DataError
from unhot.logs.events import read_events
from unhot.rows.copied import copy_rows
from unhot.rows.labelled import LabelledRows

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

CONSTANT = 256 << 20  # bytes
# times the unpacked bytes of the file: of texts, tables and copies, of which only one record is held; of logs
TEXT, LOG = 20, 100
SIZE = 4 << 20 if SOAK else 1 << 18
POOLS = []  # whose arrays do not hold the pool that they give their memory back to


def peak_of(read):
    """The most bytes that Python, NumPy and Arrow hold while something is read."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    POOLS.append(pool)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1] + pool.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


def measured(texts):
    return [[text[:1] for text in texts], [float(len(text)) for text in texts]]


TEXTS = {
    "lines.csv": b'text,label\n"' + b"w\n" * (SIZE // 2) + b'",a\n',  # one field of many lines
    "rows.csv": b"text,label\n" + b"w,a\n" * (SIZE // 4),
    "field.jsonl": b'{"text": "' + b"w " * (SIZE // 2) + b'", "label": "a"}\n',
    "list.json": b"[" + b'{"text":"w","label":"a"},' * (SIZE // 24) + b'{"text":"w"}]',
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(TEXTS[name])
    most = CONSTANT + TEXT * len(TEXTS[name]) * (name != "rows.csv")
    assert peak_of(lambda: [None for _ in LabelledRows(path)]) < most
    for out in ("o.jsonl", "o.parquet"):
        assert (
            peak_of(lambda out=out: copy_rows(path, tmp_path / out, measured, rename={"label": "x"})) < most
        )


def test_the_lines_of_a_record_are_not_held_apart(tmp_path):
    data = b'text\n"' + b"w\n" * (1 << 20) + b'"x\n'
    (tmp_path / "x.csv").write_bytes(data)

    def read():
        with pytest.raises(DataError, match="a quote opens a field and is not closed"):
            copy_rows(tmp_path / "x.csv", tmp_path / "o.csv", measured)

    assert peak_of(read) < 25 * len(data)


@pytest.mark.parametrize(
    ("name", "data"),
    [("x.csv", b"user,item\n" + b"a,b\n" * (SIZE // 4)), ("x.txt", b"a b\n" * (SIZE // 4))],
    ids=["csv", "sessions"],
)
def test_logs(name, data, tmp_path):
    (tmp_path / name).write_bytes(data)
    assert peak_of(lambda: read_events(tmp_path / name)) < CONSTANT + LOG * len(data)


def test_rows_that_are_packed_well_are_read_in_pieces(tmp_path):
    """A dictionary makes 300 MB of cells of a few kilobytes."""
    words = pa.array(["word " * 20_000])
    column = pa.DictionaryArray.from_arrays(np.zeros(3_000, np.int32), words)
    pq.write_table(pa.table({"text": column}), tmp_path / "x.parquet")
    size = (tmp_path / "x.parquet").stat().st_size
    assert size < 1 << 20
    assert peak_of(lambda: copy_rows(tmp_path / "x.parquet", tmp_path / "o.jsonl", measured)) < CONSTANT
