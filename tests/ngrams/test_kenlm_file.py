import json
import struct
from pathlib import Path

import numpy as np
import pytest

from unhot.errors import DataError, FormatError
from unhot.lm.scorer import IdLines
from unhot.ngrams.asking import new_state, score_lines
from unhot.ngrams.kenlm_file import read_kenlm
from unhot.ngrams.trie_scorer import TrieScorer

GOLDEN = Path(__file__).parents[1] / "golden"
EXPECTED = json.loads((GOLDEN / "kenlm_expected.json").read_text(encoding="utf-8"))
FILES = ["kenlm_probing.bin", "kenlm_rest.bin", "kenlm_bigrams.bin", "kenlm_odd.bin"]
MODEL = (GOLDEN / "kenlm_probing.bin").read_bytes()
WORDS, COUNTS = 28, (28, 69, 100)
VOCABULARY = 136
SINGLE = VOCABULARY + 8 + 12 * 42
MIDDLE = SINGLE + 8 * (WORDS + 1)
TOP = MIDDLE + 16 * 103
STRINGS = TOP + 12 * 150


def scores(found, lines, bos=True):
    """Return log10 p of each token of each line, and the length of the n-gram found."""
    index = {word: i for i, word in enumerate(found.words)}
    ids = [[index.get(word, 0) for word in line.split()] for line in lines]
    starts = np.cumsum([0] + [len(line) for line in ids])
    flat = np.array([i for line in ids for i in line], np.int32)
    scored = TrieScorer(found.words, found.model).score_ids(IdLines(flat, starts, bos))
    return scored.log10, scored.lengths


def changed(at, *values, kind="<I", data=MODEL):
    new = bytearray(data)
    struct.pack_into(kind, new, at, *values)
    return bytes(new)


def read(tmp_path, data, name="model.bin"):
    (tmp_path / name).write_bytes(data)
    return read_kenlm(tmp_path / name)


@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("name", FILES)
def test_every_token_scores_as_in_kenlm(name, bos):
    cases = EXPECTED[name.replace("rest", "probing")]  # rest costs change no score
    cases = [case for case in cases if case["bos"] == bos]
    prob, lengths = scores(read_kenlm(GOLDEN / name), [case["line"] for case in cases], bos)
    tokens = [token for case in cases for token in case["tokens"]]
    np.testing.assert_allclose(prob, [token[0] for token in tokens], atol=1e-6)
    assert lengths.tolist() == [token[1] for token in tokens]


def test_words_have_the_ids_of_unhot():
    found = read_kenlm(GOLDEN / "kenlm_probing.bin")
    assert found.words[:4] == ["<unk>", "<s>", "</s>", "the"]
    assert len(found.words) == len(set(found.words)) == WORDS
    assert found.model.order == 3


def test_a_word_that_is_there_twice_is_its_first_and_a_missing_symbol_is_unknown():
    found = read_kenlm(GOLDEN / "kenlm_odd.bin")
    assert found.words == ["<unk>", "<s>", "</s>", "cat", "the", "sat", "caf\udce9", "\u20ac", "on", "mat"]
    assert found.model.ids.tolist() == [0, 0, 3, 1, 2, 4, 5, 7, 8, 9]


def test_a_word_that_begins_no_n_gram_leaves_no_history():
    model, state = read_kenlm(GOLDEN / "kenlm_probing.bin").model, new_state(3)
    rest = np.zeros((1, 4), np.int64), np.empty(1), np.empty(1, np.uint8), np.zeros((1, 5))
    score_lines(model, np.empty(0, np.int32), np.zeros(2, np.int64), True, True, state, *rest)
    assert state.size.tolist() == [[0, 2]]


def test_the_file_is_mapped_and_read_only():
    model = read_kenlm(str(GOLDEN / "kenlm_probing.bin")).model
    for table, size in [(model.single, WORDS + 1), (model.middle, 103), (model.top, 150)]:
        assert table.size == size
        assert not table.flags.writeable
        assert not table.flags.owndata


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (96, 2, "the kind is trie.*unhot lm convert model.arpa"),
        (96, 3, "the kind is quantised trie"),
        (96, 4, "the kind is array trie"),
        (96, 5, "the kind is quantised array trie"),
        (96, 6, "the kind is number 6"),
        (104, 1, "the kind is probing, version 1"),
        (100, 0, "the words were left out.*unhot lm convert model.arpa"),
        (60, 1, "byte 56: another machine's way"),
        (88, 1, "order 1, 1.5 places"),
        (92, 0x3F000000, "order 3, 0.5 places"),
        (92, 0x7FC00000, "order 3, nan places"),
        (92, 0x7F800000, "order 3, inf places"),
        (108, 60, "4454 bytes, but 229 n-grams take"),
        (108, 29, "expected 28 words, the first <unk>"),
        (108, 27, "expected 28 words, the first <unk>"),
        (116, 68, "expected 28 words, the first <unk>"),
        (120, 1, "4454 bytes, but 4294967493 n-grams take"),
        (128, 0xFFFFFFFF, "n-grams take"),
        (VOCABULARY, 1, "28 words, version 1"),
        (VOCABULARY + 4, 0, "0 words, version 0: expected up to 29"),
        (VOCABULARY + 4, 30, "30 words, version 0: expected up to 29"),
        (VOCABULARY + 4, 29, "expected 29 words"),
        (len(MODEL) - 4, 0x41414141, "expected 28 words"),
        (len(MODEL) - 4, 0x00410041, "expected 28 words"),
    ],
)
def test_wrong_files_are_refused(tmp_path, at, value, message):
    with pytest.raises(FormatError, match=message):
        read(tmp_path, changed(at, value))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"mmap lm http://kheafield.com/code format version 4\n", "format version 4.*reads.*version 5"),
        (b"mmap lm http://kheafield.com/code incomplete\n", "code incomplete"),
        (b"\\data\\\n", "unhot reads"),
    ],
)
def test_other_first_lines_are_refused(tmp_path, line, message):
    with pytest.raises(FormatError, match=message):
        read(tmp_path, line.ljust(56, b"\0") + MODEL[56:])


def test_files_that_are_cut_or_too_long_are_refused(tmp_path):
    for size in [0, 1, 107, 108, 131, 132, STRINGS - 1, STRINGS, STRINGS + 6, len(MODEL) - 1]:
        with pytest.raises(FormatError):
            read(tmp_path, MODEL[:size], f"{size}.bin")
    for more in (b"\0", b"word\0", b"word"):
        with pytest.raises(FormatError, match="expected 28 words"):
            read(tmp_path, MODEL + more, more.hex())


def test_what_is_no_file_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(DataError, match="no such file"):
            read_kenlm(path)


LINES = ["the cat sat on the mat", "a dog ran in the park", "fish fish"]


def test_a_table_without_an_empty_place_is_searched_once(tmp_path):
    data = bytearray(MODEL)
    for at in [*range(MIDDLE, TOP, 16), *range(TOP, STRINGS, 12)]:
        data[at : at + 8] = b"\1" * 8
    prob, lengths = scores(read(tmp_path, data), LINES)
    assert set(lengths.tolist()) == {1}
    assert np.isfinite(prob).all()


@pytest.mark.parametrize("bits", [0x7FC00000, 0xFFC00000, 0x7F800000, 0xFF800000])
def test_weights_that_are_no_numbers_have_probability_zero(tmp_path, bits):
    data = bytearray(MODEL)
    weights = [*range(SINGLE, MIDDLE, 4), *range(TOP + 8, STRINGS, 12)]
    for at in weights + [at + more for at in range(MIDDLE, TOP, 16) for more in (8, 12)]:
        data[at : at + 4] = struct.pack("<I", bits)
    with np.errstate(invalid="ignore"):  # without the JIT, NumPy adds the numbers
        assert (scores(read(tmp_path, data), LINES)[0] == -np.inf).all()


def damaged(rng):
    """Return a file with a few wrong bytes; most often in a part of it where they do harm."""
    data = bytearray((GOLDEN / FILES[rng.integers(len(FILES))]).read_bytes())
    most = [len(data), len(data), 256, VOCABULARY + 8][rng.integers(4)]
    for _ in range(rng.integers(1, 40)):
        at, size = int(rng.integers(88, most)), int(rng.integers(1, 9))
        odd = [b"\xff" * size, b"\0" * size, b"\x7f" * size, rng.bytes(size)][rng.integers(4)]
        data[at : at + size] = odd
    return bytes(data[: rng.integers(len(data))] if rng.random() < 0.05 else data)


def test_damaged_files_are_refused_or_asked_safely(tmp_path):
    rng = np.random.default_rng(1)
    asked = 0
    for i in range(1000):
        try:
            found = read(tmp_path, damaged(rng), f"{i}.bin")
        except FormatError:
            continue
        asked += 1
        with np.errstate(invalid="ignore"):
            prob, lengths = scores(found, LINES, bos=bool(i % 2))
        assert (prob < np.inf).all()
        assert 1 <= lengths.min() <= lengths.max() <= found.model.order
    assert 100 < asked < 900
