"""Readers of text: plain and compressed files with every tokenizer, and columns of parquet files.

The sizes of blocks and tables are small here, so that a small text has several blocks and shards. Half of
the texts are read even if they do not look like text.
"""

from __future__ import annotations

import bz2
import functools
import gzip
import importlib
import io
import json
import lzma
import random
import sys
from collections.abc import Callable
from pathlib import Path

from readers.corpora import LABELS, LINES, check_corpus
from readers.reader import MEGABYTE, Files, Reader
from unhot.compat.gensim.models.word2vec import LineSentence
from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import EncodingSizes, WordChoice, encode, encode_input
from unhot.corpus.reading.sources import TextReader
from unhot.corpus.reading.tokenizers import NAMES, Tokenizer
from unhot.corpus.shards import Keeping
from unhot.corpus.workplace import Workplace
from unhot.vocab.vocabulary import encode_word

SIZES = EncodingSizes(block=1 << 12, part=1 << 12, shard=64, table=16)
PLAIN = encode_word("\n".join(LINES)) + b"\n"
# white space and one word, up to a thousand times as long as its compressed form
BOMB = b" " * (MEGABYTE >> 3) + b"a\n"
BUFFERS = 8 * MEGABYTE  # pieces of text
ZSTD_WINDOW = 128 * MEGABYTE  # what the header of a zst file may ask for, up to 2 GB with --long=31
# an xz header says how much memory the decoder asks for, up to 4 GB, of which it touches what it needs
XZ_HEADER = 5 << 30


def encoded(path: Path, tokenizer: Tokenizer, keeping: Keeping, column: str | None, force: bool) -> Corpus:
    """Encode a file with small buffers."""
    text = TextReader(path, tokenizer, column, keeping.empty_lines, force=force)
    with Workplace(None) as place:
        return encode_input(text, WordChoice(1, None), place, 1, SIZES, None, keeping)


def read_text(name: str, folder: Path, rng: random.Random) -> str:
    """Encode a text with one of the tokenizers."""
    keeping = Keeping(rng.random() < 0.3, rng.random() < 0.2)
    tokenizers: list[Tokenizer] = [*NAMES, str.split]
    tokenizer = rng.choice(tokenizers)
    column = rng.choice([None, None, None, "text"]) if name in ("x.parquet", "x.json") else None
    with encoded(folder / name, tokenizer, keeping, column, rng.random() < 0.5) as corpus:
        if rng.random() < 0.2:
            Corpus.open(corpus.directory).close()
        return check_corpus(corpus)


def plain_seeds(_: Path) -> list[Files]:
    """Return plain texts: short, long, and with a byte order mark."""
    return [{"x": text} for text in (PLAIN, PLAIN * 40, b"\xef\xbb\xbf" + PLAIN)]


def odd_seeds(folder: Path) -> list[Files]:
    """Return plain texts, and files that do not look like text: with long words, with bytes of all kinds."""
    long = b"w" * 5000 + b" " + b"\xff\xfe\x00 " * 300
    return [*plain_seeds(folder), {"x": long}, {"x": bytes(range(256)) * 3}]


def packed_seeds(pack: Callable[[bytes], bytes], _: Path) -> list[Files]:
    """Return compressed texts, one of two streams, and one that is far bigger than its file."""
    files = [pack(text) for text in (PLAIN, PLAIN * 40, BOMB)]
    return [{"x": data} for data in (*files, files[0] + files[1])]


def zstd(data: bytes) -> bytes:
    """Compress a text with zstd."""
    module = importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    packed: bytes = module.compress(data)
    return packed


def parquet_seeds(_: Path) -> list[Files]:
    """Return columns of strings and of tokens: with nulls, in a dictionary, beside others."""
    import pyarrow
    import pyarrow.parquet

    strings = [line if i % 3 else None for i, line in enumerate(["a b", "caf\u00e9 a", "", "b\nb"] * 10)]
    tables = [
        {"text": strings},
        {"text": pyarrow.array(strings).dictionary_encode(), "other": list(range(40))},
        {"tokens": [line.split() if line is not None else None for line in strings]},
        {"a": strings, "text": strings},
    ]
    files = []
    for number, columns in enumerate(tables):
        buffer = io.BytesIO()
        codec = ("none", "snappy", "zstd", "gzip")[number]
        pyarrow.parquet.write_table(pyarrow.table(columns), buffer, compression=codec, row_group_size=16)
        files.append({"x.parquet": buffer.getvalue()})
    return files


def json_seeds(_: Path) -> list[Files]:
    """Return objects, one a line or in a list, some of them packed."""
    rows = [{"text": "a b", "n": 1}, {"text": None}, {"text": "caf\u00e9\na", "x": [1]}] * 5
    texts = ["".join(json.dumps(row) + "\n" for row in rows), json.dumps(rows), json.dumps(rows, indent=1)]
    return [{"x.json": data} for text in texts for data in (text.encode(), gzip.compress(text.encode()))]


def beside_seeds(_: Path) -> list[Files]:
    """Return a text, and labels for its lines."""
    return [
        {"x": PLAIN, "labels": "\n".join(LABELS).encode() + b"\n"},
        {"x": b"a b\nc\n", "labels": b"1\n2 3\n"},
    ]


def read_beside(folder: Path, rng: random.Random) -> str:
    """Encode a text with labels beside it, by the function that everybody calls."""
    how = {"unknown": rng.random() < 0.3, "min_count": rng.choice([1, 2])}
    with encode(folder / "x", beside={"labels": folder / "labels"}, threads=1, **how) as corpus:  # type: ignore[arg-type]
        return check_corpus(corpus)


def read_sentences(folder: Path, rng: random.Random) -> str:
    """Iterate over the lines of a text, as gensim does."""
    longest = rng.choice([3, 1000])
    lengths = [len(tokens) for tokens in LineSentence(folder / "x", max_sentence_length=longest)]
    return "" if not lengths or max(lengths) <= longest else f"a sentence of {max(lengths)} tokens"


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": functools.partial(lzma.compress, preset=0),
    "zst": zstd,
}
READERS = [
    Reader("text", odd_seeds, functools.partial(read_text, "x"), slack=BUFFERS, share=0.5),
    *(
        Reader(
            f"text-{kind}",
            functools.partial(packed_seeds, pack),
            functools.partial(read_text, "x"),
            slack={"xz": XZ_HEADER, "zst": ZSTD_WINDOW}.get(kind, BUFFERS),
        )
        for kind, pack in PACKERS.items()
    ),
    Reader("text-parquet", parquet_seeds, functools.partial(read_text, "x.parquet"), slack=BUFFERS),
    Reader("text-json", json_seeds, functools.partial(read_text, "x.json"), slack=BUFFERS),
    Reader("text-beside", beside_seeds, read_beside, slack=64 * MEGABYTE, share=0.05),
    Reader("text-gensim", plain_seeds, read_sentences, slack=BUFFERS),
]
