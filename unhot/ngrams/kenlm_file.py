"""Read binary files of KenLM (Heafield 2011), as its program build_binary writes them, with hash tables.

Such a file has, little-endian:

    88 bytes     a line of text with the format's version, zeros up to byte 56, and numbers to be recognised
    20 bytes     order (1 byte), room of the tables (float32), kind, whether words are there (1 byte), version
    8 * order    how many n-grams of 1, 2, ... words there are; then zeros up to a multiple of 8
    8 bytes      version and size of the vocabulary
    a table      hash of a word -> id; not needed here, for the words themselves are at the end
    records      prob and backoff of each word, by id; one more than there are words
    tables       key, prob and backoff of the n-grams of 2 .. order - 1 words, a table for each length
    a table      key and prob of the n-grams of `order` words
    words        in the order of their ids, a zero byte behind each; the first is `<unk>`

A table for n entries has room * n places, rounded down, and at least n + 1. Models with rest costs have one
more number behind each backoff, which is not read. The file is mapped: a model opens quickly whatever its
size, and processes share it.
"""

import struct
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unhot.errors import DataError, FormatError
from unhot.ngrams.probing import Probing
from unhot.ngrams.symbols import SYMBOLS
from unhot.types import Bytes, Ids
from unhot.vocab.vocabulary import decode_word

MAGIC = b"mmap lm http://kheafield.com/code"
FIRST_LINE = MAGIC + b" format version 5\n"
NUMBERS = struct.pack("<fffIIIQ", 0.0, 1.0, -0.5, 1, 2**32 - 1, 0, 1)
NUMBERS_AT, FACTS_AT = 56, 88
COUNTS_AT, HIGHEST = 108, 255  # HIGHEST: order
KINDS = ("probing", "rest probing", "trie", "quantised trie", "array trie", "quantised array trie")
WEIGHTS = [("prob", "<u4"), ("backoff", "<u4"), ("rest", "<u4")]
CONVERT = "convert the ARPA file that it was made from, e.g. unhot lm convert model.arpa"
AGAIN = "the file is damaged, get it again"


class KenlmModel(NamedTuple):
    """A model of KenLM; a word's number in the list is the id by which `model` is asked."""

    words: list[str]  # `<unk>`, `<s>`, `</s>`, then the others in the order of the file
    model: Probing


def read_kenlm(path: str | Path) -> KenlmModel:
    """Map a binary file of KenLM; raise a `FormatError` unless it has hash tables and words."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: there is no such file, or it is not a regular one")
    if path.stat().st_size < COUNTS_AT:
        raise FormatError(f"{path}: ends at byte {path.stat().st_size}: too short for a binary file of KenLM")
    raw = np.asarray(np.memmap(path, np.uint8, "r"))
    room, rest, counts = _read_header(path, raw)
    places = [max(count + 1, int(room * np.float32(count))) for count in counts]
    weights = WEIGHTS if rest else WEIGHTS[:2]
    parts = [
        (np.dtype([("hash", "<u8"), ("id", "<u4")]), places[0]),
        (np.dtype(weights), counts[0] + 1),
        (np.dtype([("key", "<u8"), *weights]), sum(places[1:-1])),
        (np.dtype([("key", "<u8"), WEIGHTS[0]]), places[-1]),
    ]
    header = -(-(COUNTS_AT + 8 * len(counts)) // 8) * 8
    bounds = list(accumulate((kind.itemsize * entries for kind, entries in parts), initial=header + 8))
    if bounds[-1] > raw.size:
        raise FormatError(
            f"{path}: byte {COUNTS_AT}: {raw.size} bytes, but {sum(counts)} n-grams take {bounds[-1]}: "
            f"{AGAIN}"
        )
    words, ids = _number(_read_words(path, raw, header, bounds[-1], counts[0]))
    tables = [raw[i:j].view(kind) for (i, j), (kind, _) in zip(pairwise(bounds), parts, strict=True)]
    firsts = np.cumsum([0, *places[1:-1]], dtype=np.int64)
    return KenlmModel(words, Probing(len(counts), ids, tables[1], tables[2], firsts, tables[3]))


def _read_header(path: Path, raw: Bytes) -> tuple[np.float32, bool, tuple[int, ...]]:
    """Return the room of tables, whether there are rest costs, and how many n-grams of 1, 2, ... words."""
    head = raw[: COUNTS_AT + 8 * HIGHEST].tobytes()
    line = head[:NUMBERS_AT].rstrip(b"\0")
    if line != FIRST_LINE:
        raise FormatError(f"{path}: byte 0: {line!r}: unhot reads {FIRST_LINE!r}; {CONVERT}")
    if head[NUMBERS_AT:FACTS_AT] != NUMBERS:
        raise FormatError(f"{path}: byte {NUMBERS_AT}: another machine's way to store numbers: {CONVERT}")
    order, room, kind, worded, version = struct.unpack_from("<B3xfIB3xI", head, FACTS_AT)
    if kind > 1 or version:
        name = KINDS[kind] if kind < len(KINDS) else f"number {kind}"
        raise FormatError(
            f"{path}: byte {FACTS_AT}: the kind is {name}, version {version}: unhot reads the kinds "
            f"{KINDS[0]} and {KINDS[1]}, version 0; {CONVERT}"
        )
    if not worded:
        raise FormatError(f"{path}: byte {FACTS_AT}: the words were left out (build_binary -v): {CONVERT}")
    if order < 2 or not 1.0 <= room <= raw.size or COUNTS_AT + 8 * order > len(head):
        raise FormatError(f"{path}: byte {FACTS_AT}: order {order}, {room} places for each n-gram: {AGAIN}")
    return np.float32(room), kind == 1, struct.unpack_from(f"<{order}Q", head, COUNTS_AT)


def _read_words(path: Path, raw: Bytes, header: int, begin: int, most: int) -> list[str]:
    """Read the words; `<unk>` may or may not be among the `most` words that were counted."""
    version, words = struct.unpack("<II", raw[header : header + 8].tobytes())
    if version or not 0 < words <= min(most + 1, 2**31 - 1):
        raise FormatError(
            f"{path}: byte {header}: {words} words, version {version}: expected up to {most + 1} words, "
            f"version 0; {AGAIN}"
        )
    # with wrong counts all kinds of things would begin here, and they may be large
    text = raw[begin:].tobytes() if raw[begin : begin + 6].tobytes() == b"<unk>\0" else b""
    if text.count(b"\0") != words or not text.endswith(b"\0"):
        raise FormatError(f"{path}: byte {begin}: expected {words} words, the first <unk>: {AGAIN}")
    return decode_word(text[:-1]).split("\0")


def _number(names: list[str]) -> tuple[list[str], Ids]:
    """Return words by unhot's ids, and the file's ids of them; of words that are there twice, the first.

    As in KenLM, a symbol that is missing counts as `<unk>`.
    """
    known: dict[str, int] = {}
    for number, name in enumerate(names):
        known.setdefault(name, number)
    words = [*SYMBOLS, *(name for name in known if name not in SYMBOLS)]
    return words, np.array([known.get(word, 0) for word in words], np.int32)
