"""ARPA files: what is written reads back, other forms read the same, and damage is an error."""

import bz2
import gzip
import io
import itertools
import lzma
import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.ngrams.texts import GOLDEN, random_lines
from unhot.corpus import encode
from unhot.errors import DataError, FormatError, UnhotError
from unhot.ngrams.arpa import read_arpa, write_arpa
from unhot.ngrams.counting import count_ngrams
from unhot.ngrams.estimating import Estimation, Level, estimate
from unhot.ngrams.smoothing import parse_smoothing
from unhot.ngrams.symbols import SYMBOLS, keys_of
from unhot.rows.streams import _zstd

FILES = ["kn_lmplz_modified.arpa", "kn_modified.arpa"]
PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": _zstd().compress}
SMALL = """\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-1\t<unk>
-99\t<s>\t-0.5
-0.5\t</s>
-0.25\ta\t-0.125

\\2-grams:
-0.75\t<s> a
-0.375\ta </s>

\\end\\
"""


def levels_of(lines, order, smoothing="modified_kneser_ney", **how):
    """Return the words and the levels of a model of lines."""
    with encode(iter(lines), min_count=1, empty_lines=True, unknown=True, threads=1) as corpus:
        counts = count_ngrams(corpus, order, threads=1)
    levels = [
        Level(*map(np.array, level))
        for level in estimate(counts, Estimation(parse_smoothing(smoothing), **how))
    ]
    words = counts.words
    counts.close()
    return words, levels


def written(words, levels):
    file = io.BytesIO()
    write_arpa(file, words, iter(levels), [level.prob.size for level in levels])
    return file.getvalue()


def read(tmp_path, data):
    path = tmp_path / "model.arpa"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_arpa(path)


def replaced(text, changes):
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def same(found, expected):
    pairs = [pair for levels in zip(found, expected, strict=True) for pair in zip(*levels, strict=True)]
    return all(np.array_equal(a, b) and (a.dtype == b.dtype or a.dtype.kind == "i") for a, b in pairs)


def ngrams(words, levels):
    """Return the n-grams of levels in plain Python: words -> log10 of probability and back-off weight."""
    keys, found, begins = keys_of(len(words)), {}, np.zeros(0)
    names = [(word,) for word in words]
    for order, level in enumerate(levels, 1):
        if order > 1:
            ends = [words[int(key) * keys.inverse % (1 << keys.bits)] for key in level.keys]
            spans = enumerate(itertools.pairwise(begins.tolist()))
            names = [(*names[i], end) for i, (low, high) in spans for end in ends[low:high]]
        assert len(names) == level.prob.size
        weights = level.backoff if order < len(levels) else np.zeros(level.prob.size)
        found |= dict(zip(names, zip(level.prob.tolist(), weights.tolist(), strict=True), strict=True))
        begins = level.begins
    return found


def listed(text):
    """Read the n-grams of a tidy ARPA file in plain Python."""
    found = {}
    for line in text.splitlines():
        prob, *rest = line.split("\t")
        if rest:
            found[tuple(rest[0].split())] = tuple(float(np.float32(x)) for x in (prob, *rest[1:], 0)[:2])
    return found


def log_prob(model, *words):
    """Return log10 p(last word | the others) by the definition of ARPA files."""
    if words in model:
        return model[words][0]
    return model.get(words[:-1], (0, 0))[1] + log_prob(model, *words[1:])


def arpa_text(model, order):
    """Write n-grams as an ARPA file, in their own order."""
    sections = [[key for key in model if len(key) == k] for k in range(1, order + 1)]
    text = "\\data\\\n" + "".join(f"ngram {k}={len(section)}\n" for k, section in enumerate(sections, 1))
    for k, section in enumerate(sections, 1):
        text += f"\n\\{k}-grams:\n"
        for key in section:
            text += f"{model[key][0]!r}\t{' '.join(key)}" + (f"\t{model[key][1]!r}\n" if k < order else "\n")
    return text + "\n\\end\\\n"


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("smoothing", ["modified_kneser_ney", "witten_bell"])
def test_levels_read_back_bit_for_bit(tmp_path, order, smoothing):
    words, levels = levels_of(random_lines(order), order, smoothing)
    found = read(tmp_path, written(words, levels))
    assert found.words == words
    assert found.counts == [level.prob.size for level in levels]
    assert same(found.levels, levels)


def test_blocks_of_reading_and_writing_do_not_show(tmp_path, monkeypatch):
    words, levels = levels_of(random_lines(1), 3)
    data = written(words, levels)
    monkeypatch.setattr("unhot.ngrams.arpa.ROWS", 7)
    assert written(words, levels) == data
    monkeypatch.setattr("unhot.ngrams.arpa.BLOCK", 100)
    monkeypatch.setattr("unhot.rows.streams.PIECE", 30)
    assert same(read(tmp_path, data).levels, levels)
    lines = data.split(b"\n")
    wrong = lines.index(b"\\3-grams:") + 50
    lines[wrong] = b"-1 a b"
    with pytest.raises(FormatError, match=f"line {wrong + 1}: an n-gram must be .* 3 words .*'-1 a b'"):
        read(tmp_path, b"\n".join(lines))


def test_the_table_of_words_grows(tmp_path):
    words = [*SYMBOLS, *(f"{'long' * (i % 90)}{i}" for i in range(5000))]
    prob = np.linspace(-9, -1, len(words), dtype=np.float32)
    prob[1] = -np.inf
    level = Level(np.zeros(0, np.int32), np.zeros(0, np.int64), prob, np.zeros(0, np.float32))
    found = read(tmp_path, written(words, [level]))
    assert found.words == words
    assert same(found.levels, [level])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_numbers_have_the_fewest_digits(kind):
    values = [-np.inf, -1 / 3, -1e-7, -2, -100]
    level = Level(
        np.zeros(0, np.int32), np.zeros(6, np.int64), np.array(values, kind), np.array([0, *values[1:]], kind)
    )
    top = Level(*(np.zeros(0, array.dtype) for array in level))
    third = {np.float32: "-0.33333334", np.float64: "-0.3333333333333333"}[kind]
    expected = [
        "-99\t<unk>\t0",
        f"{third}\t<s>\t{third}",
        "-1e-07\t</s>\t-1e-07",
        "-2\ta\t-2",
        "-100\tb\t-100",
    ]
    text = written([*SYMBOLS, "a", "b"], [level, top]).decode().splitlines()
    assert text == [
        "\\data\\", "ngram 1=5", "ngram 2=0", "", "\\1-grams:", *expected, "", "\\2-grams:", "", "\\end\\",
    ]  # fmt: skip


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=50))
@example([0x7F000000])  # twice this is too large for 32 bits
def test_every_number_reads_back(tmp_path_factory, bits):
    values = -np.array(bits, np.uint32).view(np.float32)
    values = values[~np.isnan(values)]
    words = [*SYMBOLS, *map(str, range(values.size))]
    prob = np.concatenate([np.float32([-1, -np.inf, -2]), np.maximum(values, np.finfo(np.float32).min)])
    level = Level(np.zeros(0, np.int32), np.zeros(prob.size + 1, np.int64), prob, prob + np.float32(0))
    level.backoff[:3] = 0
    top = Level(*(np.zeros(0, array.dtype) for array in level))
    found = read(tmp_path_factory.mktemp("arpa"), written(words, [level, top]))
    assert np.array_equal(found.levels[0].prob, prob)
    assert np.array_equal(found.levels[0].backoff, level.backoff)


@pytest.mark.parametrize("word", ["", "a b", "a\tb", "a\n", "\r", "a\vb", "\f"])
def test_words_with_white_space_cannot_be_written(word):
    level = Level(*[np.zeros(0, np.int32)] * 2, np.zeros(4, np.float32), np.zeros(0, np.float32))
    with pytest.raises(DataError, match="white space") as error:
        written([*SYMBOLS, word], [level])
    assert repr(word) in str(error.value)


def test_odd_words_read_back(tmp_path):
    words = [*SYMBOLS, "a\xa0b", "\u2028", "\udcff", "\\data\\", "<UNK>", "-1", "\\", "\x1c", "é" * 200, "\0"]
    levels = levels_of(["a b c d e f g h i j", "a c d"], 2)[1]
    found = read(tmp_path, written(words, levels))
    assert found.words == words
    assert same(found.levels, levels)


@pytest.mark.parametrize("name", FILES)
def test_golden_files(name):
    text = (GOLDEN / name).read_text(encoding="utf-8")
    expected = listed(text) | {("<s>",): (-np.inf, listed(text)["<s>",][1])}
    found = read_arpa(GOLDEN / name)
    assert ngrams(found.words, found.levels) == expected
    assert tuple(found.words[:3]) == SYMBOLS
    others = [key[0] for key in expected if len(key) == 1 and key[0] not in SYMBOLS]
    assert found.words[3:] == others  # in the order of the file
    assert found.counts == [28, 69, 100]


def test_golden_files_are_the_same_model():
    one, other = (ngrams(found.words, found.levels) for found in (read_arpa(GOLDEN / name) for name in FILES))
    assert one.keys() == other.keys()
    np.testing.assert_allclose([one[key] for key in one], [other[key] for key in one], rtol=0, atol=2e-7)


@pytest.mark.parametrize("name", FILES)
def test_any_order_of_lines(tmp_path, name):
    text = (GOLDEN / name).read_text(encoding="utf-8")
    head, *sections = text.split("\n\n")[:-1]
    expected = read_arpa(GOLDEN / name)
    for seed in range(3):
        shuffled = []
        for section in sections:
            first, *rest = section.split("\n")
            if first != "\\1-grams:":  # the order of words tells their ids
                random.Random(seed).shuffle(rest)
            shuffled.append("\n".join([first, *rest]))
        found = read(tmp_path, "\n\n".join([head, *shuffled, "\\end\\\n"]))
        assert found.words == expected.words
        assert same(found.levels, expected.levels)


FORMS = {
    "CRLF": [("\n", "\r\n")],
    "spaces": [("\t", "  ")],
    "tabs": [(" a", "\ta")],
    "blank lines": [("\n", "\n\n \t\n")],
    "blanks around": [("\n", " \t\n \t")],
    "no blank lines": [("\n\n", "\n")],
    "text before": [("\\data\\", "Hello\n\\data\nngram 1=7\n\n\\data\\")],
    "text behind": [("\\end\\", "\\end\\\nmore \\1-grams:")],
    "no line feed at the end": [("\\end\\\n", "\\end\\")],
    "byte order mark": [("\\data\\", "\ufeff\\data\\")],
    "exponents": [
        ("-0.125", "-1.25E-1"),
        ("-99", "-9.9e+01"),
        ("-0.75", "-75E-02"),
        ("-0.375", "-.000375e3"),
    ],
    "weights of 0": [("<unk>", "<unk>\t0"), ("</s>\n-0.25", "</s>\t-0.0\n-0.25")],
    "weights of the highest order": [("<s> a", "<s> a\t-3"), ("a </s>", "a </s> 0")],
    "minus infinity": [("-99", "-inf")],
    "another symbol for <unk>": [("<unk>", "<UNK>")],
    "spaces in the header": [("=", " =  "), ("ngram", "ngram ")],
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(tmp_path, form):
    expected = read(tmp_path, SMALL)
    assert ngrams(expected.words, expected.levels) == listed(SMALL) | {("<s>",): (-np.inf, -0.5)}
    found = read(tmp_path, replaced(SMALL, FORMS[form]))
    assert found.words == expected.words == [*SYMBOLS, "a"]
    assert same(found.levels, expected.levels)
    assert found.counts == [4, 2]


@pytest.mark.parametrize("kind", PACKERS)
def test_compressed(tmp_path, kind):
    expected = read_arpa(GOLDEN / FILES[0])
    packed = PACKERS[kind]((GOLDEN / FILES[0]).read_bytes())
    assert same(read(tmp_path, packed).levels, expected.levels)
    with pytest.raises(FormatError, match="model.arpa.*cut short"):
        read(tmp_path, packed[: len(packed) // 2])


def test_missing_symbols(tmp_path):
    text = "\\data\\\nngram 1=1\nngram 2=1\n\n\\1-grams:\n-0.5\ta\t-1\n\\2-grams:\n-2\t<s> a\n\\end\\\n"
    found = read(tmp_path, text)
    assert found.words == [*SYMBOLS, "a"]
    assert found.levels[0].prob.tolist() == [-100, -np.inf, -99, -0.5]
    assert found.levels[0].backoff.tolist() == [0, 0, 0, -1]
    assert found.counts == [4, 1]


def test_a_word_UNK_beside_unk(tmp_path):  # noqa: N802
    text = SMALL.replace("1=4", "1=5").replace("-0.5\t</s>", "-0.5\t</s>\n-3\t<UNK>")
    assert read(tmp_path, text).words == [*SYMBOLS, "<UNK>", "a"]
    text = text.replace("<unk>", "b").replace("<s> a", "<UNK> a").replace("a </s>", "b <UNK>")
    found = read(tmp_path, text)
    assert found.words == [*SYMBOLS, "b", "a"]
    assert found.levels[0].prob.tolist() == [-3, -np.inf, -0.5, -1, -0.25]
    assert ngrams(found.words, found.levels)["<unk>", "a"] == (-0.75, 0)
    assert ngrams(found.words, found.levels)["b", "<unk>"] == (-0.375, 0)


def test_hard_numbers(tmp_path):
    # half way between two float32 numbers, with and without a digit far behind
    half = "-1.000000059604644775390625"
    for text, expected in ((half, -1.0), (half + "0" * 30 + "1", -1.0000001192092896), ("-1e-60", 0.0)):
        found = read(tmp_path, SMALL.replace("-0.25", text))
        assert found.levels[0].prob[3] == np.float32(expected)


def test_missing_prefix_and_suffix(tmp_path):
    model = {(word,): (-1 - i / 8, -i / 16) for i, word in enumerate([*SYMBOLS, "a", "b", "c", "d"])}
    model |= {("a", "b"): (-0.5, -0.25), ("a", "b", "c", "d"): (-0.125, 0)}
    found = read(tmp_path, arpa_text(model, 4))
    closed = ngrams(found.words, found.levels)
    assert found.counts == [7, 3, 2, 1]
    bc, cd = model["b",][1] + model["c",][0], model["c",][1] + model["d",][0]
    assert closed["b", "c"] == (bc, 0)
    assert closed["c", "d"] == (cd, 0)
    assert closed["a", "b", "c"] == (-0.25 + bc, 0)
    assert closed["b", "c", "d"] == (cd, 0)  # the back-off weight of b c is 0
    assert closed["a", "b", "c", "d"] == model["a", "b", "c", "d"]


@given(st.randoms(use_true_random=False), st.integers(2, 4))
def test_closing_changes_no_probability(tmp_path_factory, draw, order):
    """Any set of n-grams, against the definition of ARPA files."""
    words = [*SYMBOLS, *"abc"]
    model = {(word,): (-draw.randrange(1, 64) / 16, draw.randrange(-64, 16) / 16) for word in words}
    for length in range(2, order + 1):
        for _ in range(draw.randrange(8)):
            weight = draw.randrange(-64, 16) / 16 if length < order else 0
            model[tuple(draw.choices(words, k=length))] = (-draw.randrange(64) / 16, weight)
    found = read(tmp_path_factory.mktemp("arpa"), arpa_text(model, order))
    model["<s>",] = (-np.inf, model["<s>",][1])
    closed = ngrams(found.words, found.levels)
    assert {key: closed[key] for key in model} == model
    assert all(key[1:] in closed and key[:-1] in closed for key in closed if len(key) > 1)
    parts = {key[i:j] for key in model for j in range(len(key) + 1) for i in range(j)}
    assert closed.keys() == parts  # nothing that is not needed
    for key in itertools.product(words, repeat=order):
        assert log_prob(closed, *key) == log_prob(model, *key)
    for level in found.levels[:-1]:
        assert level.begins.size == level.prob.size + 1


ERRORS = [
    ([("ngram", "gram")], r"line 1: an ARPA file must begin with \\data\\.*, but here is .*gram 1=4"),
    ([("\\data\\", "\\data")], "line 1: .* must begin"),
    ([("\\data\\", "hello\n\\data\\"), ("=4", "=four")], "line 2: .* must begin"),
    ([("ngram 1=4\n", "")], "line 1: .* must begin"),
    ([("ngram 2", "ngram 1")], "line 1: .* must begin"),
    ([("ngram 2=2\n", "".join(f"ngram {k}=2\n" for k in range(2, 18)))], "must begin .*at most 16"),
    ([("=2", "=-2")], "line 1: .* must begin"),
    ([("=2", "=" + "9" * 5000)], "line 1: .* must begin"),
    ([("\\1-g", "\\3-g")], r"line 1: .* must begin .* and \\1-grams:"),
    ([("\\2-g", "\\3-g")], r"line 11: .*\\2-grams: must come .*\\3-grams:"),
    ([("1=4", "1=5")], "line 11: the header announces 5 1-grams, .* but here are 4"),
    ([("2=2", "2=1")], "line 15: the header announces 1 2-grams, .* but here are 2"),
    ([("2=2", f"2={10**18 - 1}")], "line 15: the header announces 9{18} .* here are 2"),
    ([("\\end\\", "")], r"line 16: .*\\end\\ must come .* then 'the end of the file'"),
    ([("\\end\\", "\\end")], r"line 15: .*\\end\\ must come"),
    ([("\\end\\", "\\3-grams:")], r"line 15: .*\\end\\ must come"),
    ([("<unk>", "a")], "line 9: the n-gram 'a' is listed twice"),
    ([("a </s>", "<s> a")], "line 13: the n-gram '<s> a' is listed twice"),
    ([("<s> a\n", "<s> a\n\n\n"), ("a </s>", "<s> a")], "line 15: the n-gram '<s> a' is listed twice"),
    ([("<s> a", "<s> b")], "line 12: the n-gram '<s> b' has a word that is not among the 1-grams"),
    ([("-0.75", "0.75")], "line 12: .*'<s> a' .* at most 0; its numbers are 0.75 and 0"),
    ([("-0.75", "nan")], "line 12: .*'<s> a' must have a log10 probability .* nan"),
    ([("-0.75", "inf")], "line 12: .*'<s> a' must have a log10 probability .* inf"),
    ([("-0.125", "-nan")], "line 9: .*'a' must have a log10 back-off weight .* nan"),
    ([("-0.125", "inf")], "line 9: .*'a' must have a log10 back-off weight .* inf"),
    ([("-0.125", "1e39")], "line 9: an n-gram must be"),
    ([("-0.75", "x0.75")], "line 12: an n-gram must be .* 2 words .* but the line is b'x0.75"),
    ([("-0.75", "-0.75x")], "line 12: an n-gram must be"),
    ([("-0.75\t<s> a", "-0.75")], "line 12: an n-gram must be"),
    ([("<s> a", "a")], "line 12: an n-gram must be"),
    ([("<s> a", "<s> a a")], "line 12: an n-gram must be"),
    ([("<s> a", "<s> a -1 -1")], "line 12: an n-gram must be"),
    ([("-0.75", "7" * (1 << 21))], "line 12 is longer than 1 MB"),
]
FILE_ERRORS = {
    "empty": (b"", r"line 1: an ARPA file must begin with \\data\\"),
    "other text": (b"hello\n" * 9, "line 1: .* must begin .* here is b'hello"),
    "cut": (
        SMALL[: SMALL.index("\\2-")].encode(),
        r"line 11: .*\\2-grams: must come .* 'the end of the file'",
    ),
    "cut in the header": (SMALL[: SMALL.index("\\1-")].encode(), "must begin"),
    "UTF-16": (SMALL.encode("utf-16"), "UTF-16"),
    "zip": (b"PK\x03\x04" + SMALL.encode(), "zip archive"),
    "no lines": (gzip.compress(bytes(1 << 24)), "line 1 is longer than 1 MB"),
    "blank lines": (gzip.compress(b"\n" * (1 << 24)), "line 1: .* must begin"),
    "random bytes": (random.Random(1).randbytes(1000), "must begin"),
}


@pytest.mark.parametrize(("changes", "message"), ERRORS, ids=lambda value: None)
def test_wrong_lines(tmp_path, changes, message):
    refused(tmp_path, replaced(SMALL, changes).encode(), message)


@pytest.mark.parametrize("trouble", FILE_ERRORS)
def test_wrong_files(tmp_path, trouble):
    refused(tmp_path, *FILE_ERRORS[trouble])


def refused(tmp_path, data, message):
    with pytest.raises(FormatError, match=message) as error:
        read(tmp_path, data)
    assert str(tmp_path / "model.arpa") in str(error.value)
    assert len(str(error.value)) < 500 + len(str(tmp_path))


def test_no_file(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_arpa(tmp_path / "model.arpa")
    with pytest.raises(FormatError, match="directory"):
        read_arpa(tmp_path)


def test_many_blank_lines_take_no_memory(tmp_path):
    text = SMALL.replace("\\2-grams:\n", "\\2-grams:\n" + "\n" * (3 << 20))
    assert same(read(tmp_path, gzip.compress(text.encode())).levels, read(tmp_path, SMALL).levels)


@given(st.randoms(use_true_random=False))
def test_damage_is_an_error_or_a_model(tmp_path_factory, draw):
    """Cut, overwrite, repeat and exchange pieces of a file."""
    path = tmp_path_factory.mktemp("arpa")
    data = (GOLDEN / draw.choice(FILES)).read_bytes()
    for _ in range(draw.randint(1, 3)):
        a, b, c = sorted(draw.randrange(len(data) + 1) for _ in range(3))
        piece = draw.choice(
            [data[b:c], b"", draw.randbytes(draw.randint(1, 9)), b"-", b"\n", b"\\", b"9" * 30]
        )
        data = data[:a] + piece + data[draw.choice([a, a, a + 1, b]) :]
    try:
        found = read(path, data)
    except UnhotError as error:
        assert "model.arpa" in str(error)  # noqa: PT017
    else:
        assert found.counts == [level.prob.size for level in found.levels]
        assert len(ngrams(found.words, found.levels)) == sum(found.counts)
