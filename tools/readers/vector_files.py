"""Readers of vectors: every format as a table, and vectors that are opened and asked."""

from __future__ import annotations

import functools
import io
import random
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from readers.reader import Files, Reader, data_of, files_below
from readers.subword_seeds import special_fasttext, special_floret, special_unhot
from unhot.vectors.formats import FORMATS, WORDLESS, Table, read_table, write_table
from unhot.vectors.store import Vectors

WORDS = [
    "the",
    "of",
    "New York",
    "caf\u00e9",
    "\u4e2d\u6587",
    "1.5",
    "\udcff",
    "nan",
    "x\\n",
    "a\tb",
    "\u0085",
    "_",
    "-",
    "w" * 300,
    "[UNK]",
]
SIZES = [(0, 2, False), (1, 1, True), (5, 4, False), (15, 3, True), (200, 2, True), (12, 100, False)]
# small files in formats that a damaged file may look like: reading them compiles their kernels
LOOKALIKES = {"glove": b"a 1 nan\n", "word2vec-text": b"1 1\na 1\n", "word2vec-binary": b"1 1\na \0\0\0\0"}


def table_seeds(name: str, folder: Path) -> list[Files]:
    """Return files of a format: few and many rows, with counts and without."""
    for lookalike, data in LOOKALIKES.items():
        (folder / lookalike).write_bytes(data)
        read_table(folder / lookalike)
    rng = np.random.default_rng(7)
    found = []
    # nothing says how wide the rows of an empty text would be
    for number, (rows, dim, counted) in enumerate(SIZES[name in ("glove", "projector") :]):
        words = [*WORDS, *(f"w{i}" for i in range(rows))][:rows]
        vectors = (rng.standard_normal((rows, dim)) * 10.0 ** rng.integers(-9, 9)).astype(np.float32)
        home = folder / str(number)
        home.mkdir()
        path = home / f"x{ending_of(name)}"
        write_table(path, Table(words, vectors, np.arange(rows)[::-1] if counted else None), name)
        found.append(files_below(home))
    return found + (SPECIAL[name](folder) if name in SPECIAL else [])


def ending_of(name: str) -> str:
    """Return the first ending of a format's paths."""
    return next(iter(FORMATS[name].endings), "")


def special_binary(_: Path) -> list[Files]:
    """Return a file with line feeds, as the C tool writes them."""
    return [
        {"x.bin": b"3 2\n" + b"".join(b"w%d " % i + struct.pack("<2f", i, 0.5) + b"\n" for i in range(3))}
    ]


def special_npy(_: Path) -> list[Files]:
    """Return files of other types and orders."""
    files = []
    for array in (np.ones((3, 2), np.float16), np.asfortranarray(np.ones((3, 2))), np.ones((3, 2), ">f4")):
        buffer = io.BytesIO()
        np.save(buffer, array)
        files.append({"x.npy": buffer.getvalue(), "x.words.txt": b"a\nb\nc\n"})
    return files


def special_parquet(_: Path) -> list[Files]:
    """Return files with lists of any length, compressed, with a dictionary, in several groups."""
    import pyarrow
    import pyarrow.parquet

    files = []
    for codec in ("snappy", "zstd", "gzip"):
        columns = {
            "word": [f"w{i % 9}" for i in range(40)],
            "vector": [[float(i), 2.0] for i in range(40)],
            "count": list(range(40)),
        }
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table(columns), buffer, compression=codec, row_group_size=16)
        files.append({"x.parquet": buffer.getvalue()})
    return files


SPECIAL: dict[str, Callable[[Path], list[Files]]] = {
    "unhot": special_unhot,
    "word2vec-binary": special_binary,
    "fasttext": special_fasttext,
    "npy": special_npy,
    "parquet": special_parquet,
}


def read_format(name: str, folder: Path, rng: random.Random) -> str:
    """Read a table, in the format that it has or in the one it looks like."""
    limit, bad_utf8 = (
        rng.choice([None, None, 0, 3, 10**12]),
        rng.choice(["escape", "escape", "error", "replace"]),
    )
    path = folder / f"x{ending_of(name)}"
    table = read_table(path, name if rng.random() < 0.7 else None, limit=limit, bad_utf8=bad_utf8)
    rows = len(table.words)
    whole = (
        table.vectors.shape[0] == rows
        and table.vectors.dtype == np.float32
        and (table.counts is None or len(table.counts) == rows)
    )
    return "" if whole else f"{rows} words, vectors {table.vectors.shape}"


def ask(vectors: Vectors) -> str:
    """Ask vectors for neighbours, and for the vector of a word that they have not seen."""
    if "where" in vectors and vectors.get_vector("where").shape != (vectors.vector_size,):
        return f"vectors of {vectors.vector_size} numbers"
    if len(vectors) and vectors.words[0]:
        found = vectors.most_similar(vectors.words[0], topn=3)
        if not all(word in vectors.key_to_index for word, _ in found):
            return f"neighbours {found}"
    return ""


def read_ngrams(name: str, folder: Path, rng: random.Random) -> str:
    """Open vectors with n-grams and ask them."""
    return ask(Vectors.load(folder / name, limit=rng.choice([None, None, 0, 3])))


def hnsw_seeds(folder: Path) -> list[Files]:
    """Return a search graph, and the facts about it."""
    _search(folder)
    return [files_below(folder)]


def read_hnsw(folder: Path, rng: random.Random) -> str:
    """Search with the kept graph, or with a new one if it is damaged; the files would then be replaced."""
    with tempfile.TemporaryDirectory(dir=folder) as copy:
        for name in ("x.hnsw", "x.hnsw.json"):
            (Path(copy) / name).write_bytes(data_of(folder / name))
        return _search(Path(copy))


def _search(folder: Path) -> str:
    vectors = Vectors(
        [f"w{i}" for i in range(40)], np.random.default_rng(1).standard_normal((40, 4), np.float32)
    )
    vectors.threads = 1
    found = vectors.most_similar("w0", topn=5, indexer=vectors.build_index(folder / "x.hnsw"))
    return "" if len(found) == 5 else f"{found}"


FORMAT_READERS = [
    Reader(
        name,
        functools.partial(table_seeds, name),
        functools.partial(read_format, name),
        says_where=True,
    )
    for name in FORMATS
]
READERS = [
    *FORMAT_READERS,
    Reader(
        "floret", special_floret, functools.partial(read_ngrams, f"x{WORDLESS['floret']}"), says_where=True
    ),
    Reader("ngrams-fasttext", special_fasttext, functools.partial(read_ngrams, "x.ftz"), says_where=True),
    Reader("ngrams-unhot", special_unhot, functools.partial(read_ngrams, "x"), says_where=True),
    Reader("hnsw", hnsw_seeds, read_hnsw, share=0.2),
]
