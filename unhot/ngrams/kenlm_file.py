"""Read and ask binary files of KenLM (Heafield 2011), as its build_binary writes them, with hash tables.

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

The key of an n-gram is a hash that begins with its last word and goes back. So the keys of the n-grams that
end with a word, after longer and longer histories, follow one from another, whether the tables have them or
not. A state therefore keeps the words of the history (`chain`, the last one first) and the back-off weights
of the last 1, 2, ... words.

Weights are read as bits, for two signs have a meaning:

    prob       is never above zero; a plus sign says that some longer n-gram ends with this one
    backoff    -0.0 says that no longer n-gram begins with this one

The tables may come from a damaged file. Whatever they hold, a search ends and stays inside its table, and the
answer is a number or -inf.
"""

import struct
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import DataError, FormatError
from unhot.kernels.jit import inner
from unhot.kernels.simd.rows import prefetch_number
from unhot.ngrams.asking import HISTORY, LENGTH, advance, begin_line, prepare
from unhot.ngrams.symbols import BEGIN, SYMBOLS
from unhot.types import Bytes, Ids, Starts
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
OLD_FACTOR, NEW_FACTOR = np.uint64(8978948897894561157), np.uint64(17894857484156487943)
EMPTY_KEY = np.uint64(0)
SIGN = np.uint32(1 << 31)  # also the bits of -0.0


class Probing(NamedTuple):
    """A model in a form that kernels read; the arrays are parts of a mapped file."""

    order: int
    ids: Ids  # [words] our ids -> those of the file
    single: Any  # records of words by the file's ids: prob and backoff
    middle: Any  # records of n-grams of 2 .. order - 1 words: key, prob and backoff
    firsts: Starts  # [order - 1] n-grams of n words are middle[firsts[n - 2] : firsts[n - 1]], a hash table
    top: Any  # records of the longest n-grams, a hash table: key and prob


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


@inner
def longer_key(key: Any, word: Any) -> Any:
    """Return the key of an n-gram with one more word in front."""
    return (key * OLD_FACTOR) ^ (np.uint64(word + 1) * NEW_FACTOR)


@inner
def home_of(first: Any, end: Any, key: Any) -> Any:
    """Return the first place where a key may be."""
    return first + np.int64(key % np.uint64(end - first))


@inner
def place_of(entries: Any, first: Any, end: Any, key: Any) -> Any:
    """Return the place of a key in the table entries[first:end]; -1: it is not there.

    A key stands at its home, or behind it with no empty place between; behind the last place is the first.
    """
    at = home_of(first, end, key)
    for _ in range(first, end):  # a damaged table may have no empty place
        found = entries[at]["key"]
        if found == key:
            return at
        if found == EMPTY_KEY:
            break
        at = at + 1 if at + 1 < end else first
    return np.int64(-1)


@inner
def longer_place(model: Any, key: Any, j: Any) -> Any:
    """Return the place of an n-gram of j + 2 words; -1: it is not there."""
    if j + 2 == model.order:
        return place_of(model.top, 0, model.top.size, key)
    return place_of(model.middle, model.firsts[j], model.firsts[j + 1], key)


@inner
def number_of(bits: Any) -> Any:
    """Return the number that 32 bits stand for."""
    return np.float64(np.uint32(bits).view(np.float32))


@begin_line.register(Probing)
def begin_in_tables(model: Any, state: Any, lane: Any) -> None:
    """Begin with the word `<s>`."""
    word = np.int64(model.ids[BEGIN])
    state.size[lane, LENGTH] = state.size[lane, HISTORY] = 1
    state.chain[lane, 0] = word
    state.backoffs[lane, 0] = number_of(model.single[word]["backoff"])


@prepare.register(Probing)
def prepare_in_tables(model: Any, state: Any, lane: Any, word: Any) -> None:
    """Prefetch the places of the word, alone and after all histories."""
    own = np.int64(model.ids[word])
    prefetch_number(model.single, own)
    key = np.uint64(own)
    for j in range(state.size[lane, LENGTH]):
        key = longer_key(key, state.chain[lane, j])
        if j + 2 == model.order:
            prefetch_number(model.top, home_of(0, model.top.size, key))
        else:
            prefetch_number(model.middle, home_of(model.firsts[j], model.firsts[j + 1], key))


@advance.register(Probing)
def advance_in_tables(model: Any, state: Any, lane: Any, word: Any) -> Any:
    """Look up longer and longer n-grams that end with the word.

    A back-off weight of the state is replaced when it is no longer needed.
    """
    length, history = state.size[lane, LENGTH], state.size[lane, HISTORY]
    chain, backoffs = state.chain[lane], state.backoffs[lane]
    own = np.int64(model.ids[word])
    prob, backoff = model.single[own]["prob"], model.single[own]["backoff"]
    key, found = np.uint64(own), 1
    keep = 1 if backoff != SIGN else 0  # how many words the next history has
    for j in range(length):
        if prob & SIGN:
            break
        key = longer_key(key, chain[j])
        at = longer_place(model, key, j)
        if at < 0:
            break
        backoffs[j] = number_of(backoff)
        found += 1
        if found == model.order:
            prob = model.top[at]["prob"]
        else:
            prob, backoff = model.middle[at]["prob"], model.middle[at]["backoff"]
            if backoff != SIGN:
                keep = found
    total = number_of(prob | SIGN)
    for j in range(found - 1, length):
        total += backoffs[j]
    if found < model.order:
        backoffs[found - 1] = number_of(backoff)
    for j in range(keep - 1, 0, -1):
        chain[j] = chain[j - 1]
    chain[0] = own
    state.size[lane, LENGTH], state.size[lane, HISTORY] = keep, min(history + 1, model.order - 1)
    if not total < np.inf:  # weights of a damaged file
        total = -np.inf
    return total, found
