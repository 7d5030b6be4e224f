"""fastText's files cut at every byte, with every size changed, and with lies of every kind.

An error that says where, and little memory.
"""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from unhot.errors import FormatError
from unhot.vectors.formats import read_table
from unhot.vectors.formats.fasttext import new_file, read_fasttext, write_fasttext
from unhot.vectors.formats.fasttext.header import FIELDS, PLACES
from unhot.vocab.subwords import Subwords

GOLDEN = Path(__file__).parents[2] / "golden"
PLAIN = (GOLDEN / "fasttext_sup_ns.bin").read_bytes()  # 3,356 bytes
NGRAMS = (GOLDEN / "fasttext_unsup_skipgram_ns.bin").read_bytes()
PRUNED = (GOLDEN / "fasttext_sup_qout.ftz").read_bytes()  # both matrices quantised, with lengths
ENTRIES = 92  # the first byte behind the sizes of the dictionary
EXTREMES = (0, 1, -1, 2**31 - 1, -(2**31), 1 << 20)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.bin"


@pytest.fixture(scope="module")
def compiled() -> None:
    """So that the compiler's memory is not counted."""
    read_table(GOLDEN / "fasttext_unsup_skipgram_ns.bin")


@pytest.fixture
def small_memory(compiled: None) -> Iterator[Callable[[int], None]]:
    """Whether no more was allocated since the last call than ten times a file and a megabyte."""
    tracemalloc.start()
    base = tracemalloc.get_traced_memory()[0]

    def check(size: int) -> None:
        assert tracemalloc.get_traced_memory()[1] - base < 10 * size + (1 << 20)
        tracemalloc.reset_peak()

    yield check
    tracemalloc.stop()


def put(data: bytes, form: str, place: int, *values: float) -> bytes:
    return data[:place] + struct.pack("<" + form, *values) + data[place + struct.calcsize("<" + form) :]


def end_of_entries(data: bytes) -> int:
    at = ENTRIES
    for _ in range(struct.unpack_from("<i", data, 64)[0]):
        at = data.index(b"\0", at) + 10
    return at


@pytest.mark.parametrize(
    ("data", "step"), [(PLAIN, 1), (NGRAMS, 97), (PRUNED, 31)], ids=["plain", "ngrams", "pruned"]
)
def test_cut_at_every_byte(data: bytes, step: int, path: Path) -> None:
    sizes = [*range(0, len(data), step), *range(min(300, len(data))), len(data) - 1]
    for size in sizes:
        path.write_bytes(data[:size])
        with pytest.raises(FormatError, match=r"byte [0-9]+: ") as error:
            read_fasttext(path)
        assert int(str(error.value).split(": byte ")[1].split(":")[0]) <= size
    path.write_bytes(data + b"\0")
    with pytest.raises(
        FormatError, match=rf"byte {len(data)}: the model ends here, but the file has 1 more bytes"
    ):
        read_fasttext(path)


# What cannot be told from a model that was trained so: settings that nothing else depends on.
SILENT = {"ws", "epoch", "min_count", "neg", "word_ngrams", "lr_update_rate", "minn"}


@pytest.mark.parametrize("data", [PLAIN, NGRAMS, PRUNED], ids=["plain", "ngrams", "pruned"])
@pytest.mark.parametrize("field", FIELDS)
def test_every_setting_with_extreme_values(
    field: str, data: bytes, path: Path, small_memory: Callable[[int], None]
) -> None:
    for value in EXTREMES:
        path.write_bytes(put(data, "i", PLACES[field], value))
        low, high = FIELDS[field]
        accepted = low <= value <= high and (
            field in SILENT or value in (0, 1) or field == "maxn" or (field == "bucket" and data is PRUNED)
        )
        try:
            read_table(path)
        except FormatError as error:
            assert f"byte {PLACES[field]}: " in str(error) or low <= value <= high  # noqa: PT017 - else where it does not fit
        else:
            assert accepted, value
        small_memory(len(data))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 5e-324])
def test_sub_sampling_that_is_no_number(value: float, path: Path) -> None:
    path.write_bytes(put(PLAIN, "d", 56, value))
    with pytest.raises(FormatError, match="byte 56: t is"):
        read_fasttext(path)


@pytest.mark.parametrize(("place", "form"), [(64, "i"), (68, "i"), (72, "i"), (76, "q"), (84, "q")])
@pytest.mark.parametrize("data", [PLAIN, PRUNED], ids=["plain", "pruned"])
def test_sizes_of_the_dictionary(
    place: int, form: str, data: bytes, path: Path, small_memory: Callable[[int], None]
) -> None:
    (old,) = struct.unpack_from("<" + form, data, place)
    for value in {*EXTREMES, old + 1, old - 1, *((2**62, -(2**63)) if form == "q" else ())} - {old}:
        path.write_bytes(put(data, form, place, value))
        if place == 76 and value >= 0:  # how long the text was, nobody can check
            assert read_fasttext(path).dictionary.tokens == value
            continue
        with pytest.raises(FormatError, match=r"byte [0-9]+: "):
            read_fasttext(path)
        small_memory(len(data))


def test_entries_of_all_sizes_at_once(path: Path) -> None:
    for entries, words, labels in (
        (0, 0, 0),
        (-2, -1, -1),
        (2**31 - 1, 2**31 - 1, 0),
        (69, 68, 1),
        (69, 70, -1),
        (68, 64, 4),
    ):
        path.write_bytes(put(PLAIN, "3i", 64, entries, words, labels))
        with pytest.raises(FormatError, match=r"byte [0-9]+: "):
            read_fasttext(path)


def test_entries_with_wrong_types_and_counts(path: Path) -> None:
    first, last = PLAIN.index(b"\0", ENTRIES), end_of_entries(PLAIN) - 10
    for place, form, value in (
        (first + 1, "q", -1),
        (first + 9, "b", 1),
        (last + 9, "b", 0),
        (last + 9, "b", 7),
        (last + 9, "b", -1),
    ):
        path.write_bytes(put(PLAIN, form, place, value))
        byte = first + 1 if place < last else last + 1
        with pytest.raises(FormatError, match=rf"byte {byte}: entry .* 65 words \(0\) come before 4 labels"):
            read_fasttext(path)


def test_a_word_without_end(path: Path) -> None:
    path.write_bytes(PLAIN[:ENTRIES] + b"a" * 5000)
    with pytest.raises(FormatError, match="byte 92: entry 0 of 69 is not complete"):
        read_fasttext(path)


def test_flags(path: Path) -> None:
    at = end_of_entries(PLAIN)
    for place, value, match in (
        (at, 2, "whether the input is quantised is 2"),
        (at, 1, "byte"),
        (len(PLAIN) - 16 - 129, 3, "output is quantised"),
    ):
        path.write_bytes(put(PLAIN, "B", place, value))
        with pytest.raises(FormatError, match=match):
            read_fasttext(path)
    # means nothing where the input is not quantised
    path.write_bytes(put(PLAIN, "B", len(PLAIN) - 16 - 129, 1))
    assert read_fasttext(path).quantized_output
    write_fasttext(path.with_name("again"), read_fasttext(path))
    assert path.with_name("again").read_bytes() == path.read_bytes()


def test_shapes_of_dense_matrices(path: Path, small_memory: Callable[[int], None]) -> None:
    at = end_of_entries(PLAIN) + 1
    for place in (at, at + 8, len(PLAIN) - 144, len(PLAIN) - 136):
        for value in (0, 1, -1, 2**31, 2**62, -(2**63), 9):
            path.write_bytes(put(PLAIN, "q", place, value))
            with pytest.raises(FormatError, match="according to header and dictionary it must have"):
                read_fasttext(path)
            small_memory(len(PLAIN))


def test_quantisers_that_lie(path: Path, small_memory: Callable[[int], None]) -> None:
    pairs = end_of_entries(PRUNED)
    flag = pairs + 8 * 277
    codes, size = flag + 18, 800  # 400 rows of 2 pieces
    sizes = codes + 4 + size
    lengths = sizes + 16 + 1024 * 3 + 400
    assert struct.unpack_from("<i", PRUNED, codes) == (size,)
    assert struct.unpack_from("<4i", PRUNED, sizes) == (3, 2, 2, 1)
    assert struct.unpack_from("<4i", PRUNED, lengths) == (1, 1, 1, 1)
    for place in (codes, *(start + 4 * i for start in (sizes, lengths) for i in range(4))):
        old = struct.unpack_from("<i", PRUNED, place)[0]
        for value in {*EXTREMES, old + 1, old - 1, 2 * old} - {old}:
            path.write_bytes(put(PRUNED, "i", place, value))
            with pytest.raises(FormatError, match=r"byte [0-9]+: "):
                read_fasttext(path)
            small_memory(len(PRUNED))
    for place, pair, match in (
        (pairs, (-1, 0), "bucket -1 has row 0"),
        (pairs, (700, 0), "700"),
        (pairs + 8, (5, 277), "has row 277"),
    ):
        path.write_bytes(put(PRUNED, "2i", place, *pair))
        with pytest.raises(FormatError, match=rf"byte {place}: .*{match}"):
            read_fasttext(path)
    path.write_bytes(put(PRUNED, "8s", pairs, PRUNED[pairs + 8 : pairs + 16]))  # type: ignore[arg-type]
    with pytest.raises(FormatError, match=f"byte {pairs}: a bucket occurs twice"):
        read_fasttext(path)


def test_a_prune_index_needs_quantised_rows(path: Path) -> None:
    at = end_of_entries(NGRAMS)
    path.write_bytes(put(NGRAMS[:at], "q", 84, 0) + NGRAMS[at:])
    with pytest.raises(
        FormatError, match=f"byte {at}: there is a prune index, but the input is not quantised"
    ):
        read_fasttext(path)


def test_codes_that_stand_for_far_more_numbers_than_the_file_has_bytes(path: Path) -> None:
    """One code for a row of 1,000 numbers: 4,000 bytes for 11."""
    words, dim = 10_000, 1000
    head = bytearray(put(PLAIN[:ENTRIES], "i", PLACES["dim"], dim))
    head[64:76] = struct.pack("<3i", words, words, 0)
    entries = b"".join(b"%d" % i + struct.pack("<xqb", 1, 0) for i in range(words))
    matrix = (
        struct.pack("<2B2qi", 1, 0, words, dim, words)
        + bytes(words)
        + struct.pack("<4i", dim, 1, dim, dim)
        + bytes(1024 * dim)
    )
    path.write_bytes(bytes(head) + entries + matrix + struct.pack("<B2q", 0, 0, dim))
    assert read_fasttext(path).input_matrix.shape == (words, dim)
    assert len(read_table(path, limit=10).words) == 10
    with pytest.raises(FormatError, match="more than 10 times the file"):
        read_table(path)


@pytest.mark.parametrize(("minn", "maxn"), [(1, 1 << 20), (9_002, 1 << 20), (3, 3000)])
def test_long_ngrams_of_long_words_are_refused(
    minn: int, maxn: int, path: Path, small_memory: Callable[[int], None]
) -> None:
    file = new_file(
        ["w" * 9_000, "a"], [2, 1], Subwords(minn=1, maxn=2, buckets=5), np.zeros((7, 2), np.float32)
    )
    write_fasttext(path, file)
    assert read_table(path).vectors.shape == (2, 2)
    small_memory(path.stat().st_size)
    path.write_bytes(put(path.read_bytes(), "2i", PLACES["minn"], minn, maxn))
    with pytest.raises(
        FormatError, match=f"byte {PLACES['maxn']}: words of up to 9000 characters would have"
    ):
        read_table(path)
    small_memory(path.stat().st_size)


def test_other_files(path: Path) -> None:
    for data, match in (
        (b"", "byte 0: the file is empty"),
        (b"12 3\n" * 9, "byte 0: this is not a fastText model"),
        (put(PLAIN, "i", 4, 13), "byte 4: the version is 13"),
    ):
        path.write_bytes(data)
        with pytest.raises(FormatError, match=match):
            read_fasttext(path)
    floret = PLAIN[:52] + struct.pack("<2i", 2, 2) + PLAIN[52:]  # its .bin has two settings more
    path.write_bytes(floret)
    with pytest.raises(FormatError, match="byte 56: .* a .bin of floret"):
        read_fasttext(path)


def test_words_that_are_not_utf8(path: Path) -> None:
    file = new_file(
        ["fine", "b\udcc3d", "\u00e9"],
        [3, 2, 1],
        Subwords(minn=0, maxn=0, buckets=0),
        np.zeros((3, 2), np.float32),
    )
    write_fasttext(path, file)
    assert read_fasttext(path).dictionary.words[1] == "b\udcc3d"
    assert read_fasttext(path, "replace").dictionary.words[1] == "b\ufffdd"
    with pytest.raises(FormatError, match=rf"byte {ENTRIES + 14 + 1}: the word's bytes"):
        read_fasttext(path, "error")
