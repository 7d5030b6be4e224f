"""Parquet files of few bytes with huge cells: memory is bounded in every command that reads them."""

import ctypes
import functools
import tracemalloc

import pytest
from commands import run
from grids import crossed, some

import unhot
from unhot.errors import FormatError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

LONG = "b a " * 25_000  # 100 kB
ROWS = 900  # all cells together have 90 MB
BOUND = 120_000_000  # bytes, with up to 90 MB that compilers and buffers take in any case


def strings(kind):
    """A column with the same long string in all rows but the first, which are short."""
    ids = pa.array([1] * 3 + [0] * ROWS, pa.int32())
    cells = pa.DictionaryArray.from_arrays(ids, [LONG, "a b"])
    return cells if kind == "dictionary" else cells.dictionary_decode()


@functools.cache
def bomb(kind, folder):
    """A small file; its schema says that cells come from a dictionary, or that they are strings."""
    path = folder / f"{kind}.parquet"
    text = strings(kind)
    labels, items = ["x", "y", "x"] + ["y"] * ROWS, ["i", "j", "k"] * (len(text) // 3)
    facts = {"label": labels, "user": ["u"] * len(text), "item": items}
    pq.write_table(pa.table({"text": text, **facts}), path, compression="zstd")
    assert path.stat().st_size < 4000
    return path


@pytest.fixture
def peak():
    """Tells how many bytes Arrow and Python took at most since the test began."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    # arrays that live longer return their memory to the pool, which must not be gone
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(pool))
    pa.set_memory_pool(pool)
    tracemalloc.start()
    yield lambda: pool.max_memory() + tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    pa.set_memory_pool(before)


SMALL = ("--dim", 8, "--epochs", 1, "--threads", 1, "-q")
COMMANDS = {
    "train": ("train", "bomb", "-o", "out", "--min-count", 1, *SMALL),
    "classify train": ("classify", "train", "bomb", "-o", "out", *SMALL),
    "classify predict": (
        "classify",
        "predict",
        "classifier",
        "bomb",
        "-o",
        "out.jsonl",
        "--rename",
        "label=found",
    ),
    "lm score": ("lm", "score", "lm", "bomb", "-o", "out.jsonl"),
    "recommend train": ("recommend", "train", "bomb", "-o", "out", "--item", "text", "-q"),
}


@pytest.mark.parametrize(("name", "kind"), some(crossed(list(COMMANDS), ["dictionary", "string"]), 3))
def test_memory_is_bounded(name, kind, request, tmp_path, tmp_path_factory):
    file = bomb(kind, tmp_path_factory.getbasetemp())
    peak = request.getfixturevalue("peak")  # from here on
    lines = ["__label__x a b", "__label__y b a"] * 10
    if "classifier" in COMMANDS[name]:
        unhot.Classifier(dim=8, threads=1, epochs=1).fit(lines).save(tmp_path / "classifier")
    if "lm" in COMMANDS[name][2:]:
        unhot.NGramModel(order=2, smoothing="add_k").fit(["a b", "b a"]).save(tmp_path / "lm")
    done = run(*(file if word == "bomb" else word for word in COMMANDS[name]), cwd=tmp_path)
    assert peak() < BOUND
    assert done.returncode == 0, done.stderr


@pytest.fixture(params=["dictionary", "string"])
def vectors(request, tmp_path):
    """A small file of vectors, whose words are long and all the same."""
    words, path = strings(request.param), tmp_path / "v.parquet"
    rows = pa.array([[1.0, 2.0]] * len(words), pa.list_(pa.float32(), 2))
    pq.write_table(pa.table({"word": words, "vector": rows}), path, compression="zstd")
    return path


def test_one_long_word_in_all_rows_of_a_file_of_vectors(vectors, peak):
    with pytest.raises(FormatError, match="64 times as large as the file"):
        unhot.Vectors.load(vectors)
    assert peak() < 30_000_000
