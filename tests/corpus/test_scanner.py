"""The scanner and its table against plain Python."""

from collections import Counter

import numpy as np
from grids import examples
from hypothesis import given
from hypothesis import strategies as st

from unhot.corpus.reading.scanner import (
    ARENA,
    BREAKS,
    NULS,
    PLACE,
    TOKENS,
    WORDS,
    grown,
    merge,
    new_table,
    remap,
    scan,
    word_key,
)
from unhot.corpus.reading.separators import PADDING, WIDTH
from unhot.corpus.reading.tokenizers import TEXT, TOKEN_LISTS
from unhot.corpus.shards import Keeping
from unhot.kernels.jit import kernel


def padded(text: bytes) -> np.ndarray:
    buffer = np.full(len(text) + PADDING, ord("x"), np.uint8)  # what is behind the end must not matter
    buffer[: len(text)] = np.frombuffer(text, np.uint8)
    return buffer


def words_of(table) -> list[bytes]:
    n = int(table.state[WORDS])
    arena = table.arena.tobytes()
    return [arena[table.offsets[i] : table.offsets[i + 1]] for i in range(n)]


def scanned(text: bytes, rows=TEXT, table=None, empty_lines=False):
    """Tokens, sentence breaks, NULs and the table, growing it from almost nothing."""
    table = table if table is not None else new_table(1, 1)
    ids, breaks = np.empty(len(text) // 2 + 1, np.int32), np.empty(len(text) + 1, np.int32)
    place = np.zeros(PLACE, np.int64)
    with np.errstate(over="ignore"):
        while not scan(padded(text), len(text), rows, table, ids, breaks, place, empty_lines):
            table = grown(table, len(text))
    return ids[: place[TOKENS]], breaks[: place[BREAKS]].tolist(), int(place[NULS]), table


def oracle(text: bytes, empty_lines: bool) -> tuple[list[bytes], list[int]]:
    tokens, breaks = [], []
    lines = text.split(b"\n")
    for number, line in enumerate(lines):
        tokens += line.replace(b"\0", b" ").split()
        if number < len(lines) - 1 and (empty_lines or breaks[-1:] != [len(tokens)]):
            breaks.append(len(tokens))
    return tokens, breaks


def check(text: bytes) -> None:
    for empty_lines in (False, True):
        ids, breaks, nuls, table = scanned(text, empty_lines=empty_lines)
        tokens, expected_breaks = oracle(text, empty_lines)
        words = words_of(table)
        assert [words[i] for i in ids] == tokens
        assert breaks == expected_breaks
        assert nuls == text.count(b"\0")
        assert words == list(dict.fromkeys(tokens))
        assert table.counts[: len(words)].tolist() == [Counter(tokens)[w] for w in words]


@given(
    st.lists(
        st.sampled_from([b" ", b"\n", b"\0", b"a", b"b", b"\r", b"\t", b"aaaaaaaa", b"b" * 70, b"\xff"]),
        max_size=60,
    ).map(b"".join)
)
def test_scan_equals_split(text):
    check(text + b"\n")


@given(st.binary(max_size=300))
def test_scan_any_bytes(text):
    check(text + b" ")


@examples(30)
@given(st.integers(0, 3), st.integers(1, 2 * WIDTH + 9), st.integers(0, WIDTH + 3))
def test_scan_at_every_position_of_a_vector(gap, length, before):
    check(b"q" * before + b" " * (gap + 1) + b"w" * length + b"\n" * gap + b"w" * length + b"\n")


def test_scan_all_byte_values():
    check(bytes(range(256)) * 3 + b"\n")
    check(b" ".join(bytes([i, i]) for i in range(256)) + b"\n")


def test_scan_nothing():
    check(b"\n")
    assert scanned(b"")[1] == []


def test_prefixes_and_zero_bytes_are_different_words():
    tokens = [
        b"a",
        b"a\0",
        b"a\0\0",
        b"a" * 7,
        b"a" * 8,
        b"a" * 9,
        b"a" * 8 + b"\0",
        b"a" * 16,
        b"a" * 17,
        b"a" * 16 + b"\0",
    ]
    ids, _, _, table = scanned(b"\xff".join(tokens * 2) + b"\xfe", TOKEN_LISTS)
    assert ids.tolist() == [*range(len(tokens)), *range(len(tokens))]
    assert words_of(table) == tokens


def test_words_with_equal_keys_are_compared_byte_by_byte():
    """Two words of 16 bytes are made whose keys are equal: the key is mix(first half) xor second half."""

    @kernel
    def key_of(text):
        return word_key(text, 0, 16)

    halves = b"abcdefgh", b"ijklmnop"
    with np.errstate(over="ignore"):
        mixed = [int(key_of(padded(half + bytes(8)))) for half in halves]
    pairs = (
        (
            halves[0] + rest.to_bytes(8, "little"),
            halves[1] + (rest ^ mixed[0] ^ mixed[1]).to_bytes(8, "little"),
        )
        for rest in range(100)
    )
    first, second = next(pair for pair in pairs if not set(b"\xfe\xff") & set(b"".join(pair)))
    with np.errstate(over="ignore"):
        assert key_of(padded(first)) == key_of(padded(second))
    ids, _, _, table = scanned(b"\xff".join([first, second, first]) + b"\xfe", TOKEN_LISTS)
    assert ids.tolist() == [0, 1, 0]
    assert words_of(table) == [first, second]


def test_table_grows_many_times():
    tokens = [str(i).encode() * (1 + i % 4) for i in range(5000)]
    ids, _, _, table = scanned(b" ".join(tokens) + b"\n")
    assert ids.tolist() == [list(dict.fromkeys(tokens)).index(t) for t in tokens[:50]] + ids[50:].tolist()
    assert words_of(table) == list(dict.fromkeys(tokens))
    assert len(table.slots) >= 4 * table.state[WORDS]
    assert table.state[ARENA] == sum(map(len, words_of(table)))


@given(
    st.lists(
        st.lists(st.sampled_from([b"a", b"b", b"c", b"d" * 9, b"e" * 30]), max_size=8), min_size=2, max_size=4
    )
)
def test_merge_adds_counts(parts):
    whole = new_table(100, 10000)
    maps = []
    for part in parts:
        table = scanned(b" ".join(part) + b"\n")[3]
        ids = np.empty(int(table.state[WORDS]), np.int32)
        with np.errstate(over="ignore"):
            assert merge(table.arena, table.offsets, table.counts, whole, ids, 0) == len(ids)
        maps.append([words_of(whole)[i] for i in ids] == words_of(table))
    assert all(maps)
    everything = Counter(w for part in parts for w in part)
    assert dict(zip(words_of(whole), whole.counts.tolist(), strict=False)) == everything


@given(
    st.lists(st.integers(-1, 4), max_size=30),
    st.booleans(),
    st.booleans(),
    st.data(),
)
def test_remap_drops_and_moves_breaks(local, empty_lines, unknown, data):
    """A local id of -1 is a word that is too long: it is dropped, or stays -1."""
    final = np.array([*data.draw(st.permutations([0, 1, 2, -1, -1])), -1], np.int32)
    breaks = sorted(data.draw(st.lists(st.integers(0, len(local)), max_size=8, unique=not empty_lines)))
    ids, ends, place = np.array(local, np.int32), np.array(breaks, np.int32), np.zeros(PLACE, np.int64)
    place[TOKENS], place[BREAKS] = len(local), len(breaks)
    remap(ids, ends, place, final, Keeping(empty_lines, unknown))
    new = [int(final[i]) for i in local]
    kept = [i for i in new if unknown or i >= 0]
    expected = [sum(unknown or i >= 0 for i in new[:b]) for b in breaks]
    if not empty_lines:
        expected = list(dict.fromkeys(expected))
    assert ids[: place[TOKENS]].tolist() == kept
    assert ends[: place[BREAKS]].tolist() == expected
