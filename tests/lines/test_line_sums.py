"""The vectors of lines in compiled code, against those of plain Python."""

import json
from pathlib import Path

import numpy as np
import pytest
from grids import SOAK, examples
from hypothesis import given
from hypothesis import strategies as st

from unhot.lines.fasttext_model import fasttext_predictor
from unhot.lines.line_sums import AT_ONCE
from unhot.lines.predictor import LinePredictor, block_of, text_blocks
from unhot.vocab.vocabulary import decode_word

GOLDEN = Path(__file__).parents[1] / "golden"
EXPECTED = json.loads((GOLDEN / "fasttext_models_expected.json").read_text(encoding="utf-8"))["supervised"]

TOKENS = st.sampled_from(
    [
        "good",
        "bad",
        "film",
        "the",
        "a",
        "\u00e9t\u00e9",
        "\U0001f642",
        "</s>",
        "__label__known",
        "__label__",
        "x" * 70,
    ]
    + [
        "unseen",
        "un\u00e9",
        "u",
        "goo",
        "__label__other",
        "_",
        "\udcff\udc80",
        "y" * 200,
        "<",
        "</s",
        "\ud800",
    ]
)
BLANK = st.sampled_from([" ", " ", " ", "\t", "\0", "\r", "  ", " \v\f "])
LINES = st.lists(
    st.builds(
        lambda pairs, last: "".join(token + blank for token, blank in pairs) + last,
        st.lists(st.tuples(TOKENS, BLANK), max_size=12),
        TOKENS | st.just(""),
    ),
    min_size=1,
    max_size=20,
)
KINDS = [
    {},
    {"longest": 2},
    {"longest": 3, "distinct": True, "weights": True, "power": 0.5, "keyed": True},
    {"maxn": 3, "weights": True, "power": 0.5},
    {"maxn": 4, "longest": 2, "distinct": True, "weights": True, "power": 0.5, "keyed": True},
    {"maxn": 3, "longest": 3, "distinct": True},
    {"longest": 2, "words": ("good", "bad")},  # the end of a line is not among the words
    {"maxn": 3, "longest": 2, "words": ("good", "bad")},
    {"maxn": 2, "longest": 3, "buckets": 1, "distinct": True, "power": 0.5},  # one bucket for everything
]
NAMES = ["-".join(f"{name}={value}" for name, value in kind.items())[:60] or "plain" for kind in KINDS]

LONG = 2e-4  # the relative error of sums of some thousand equal rows, in 32 bits


def check(predictor: LinePredictor, lines: list[str], error: float = 1e-5) -> None:
    """Compare the vectors and the squared weights of lines, and that nothing is behind the vectors."""
    dim, found = predictor.model.rows.dim, list(predictor.over_blocks(text_blocks(lines), lambda *sums: sums))
    hidden, squares = (np.concatenate(parts) for parts in zip(*found, strict=True))
    expected = [predictor.hidden(predictor.words_of(line)) for line in lines]
    np.testing.assert_allclose(squares, [square for _, square in expected], rtol=error)
    for vector, (other, _), line in zip(hidden, expected, lines, strict=True):
        np.testing.assert_allclose(
            vector[:dim], other, rtol=20 * error, atol=2 * error, err_msg=repr(line[:200])
        )
    assert not hidden[:, dim:].any()


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_lines_of_all_kinds(kind, make_predictor):
    predictor = make_predictor(**kind)

    @examples(25)
    @given(LINES)
    def each(lines):
        check(predictor, lines, LONG)

    each()


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_lines_by_hand(kind, make_predictor):
    lines = ["", " ", "good", "good good good film film", "unseen unseen", "__label__other", "a </s> film"]
    lines += ["</s>", "good\0bad\tfilm", "the a the a the a", "\udcff\udcfe caf\udce9", "<> <", "x" * 70]
    check(make_predictor(**kind), lines)


@pytest.mark.parametrize("kind", [KINDS[2], KINDS[4], KINDS[5]])
def test_the_marks_of_lines_wrap_around(kind, make_predictor):
    """A mark is a byte: line 256 has the mark of line 1, whose words must not count as seen."""
    check(make_predictor(**kind), ["good bad good", "film", "", "good the"] * 200)


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_lines_of_more_rows_than_are_listed_at_once(kind, make_predictor):
    rng = np.random.default_rng(2)
    words = [*make_predictor().model.words, "unseen", "other", "__label__other"]
    longer = [" ".join(rng.choice(words, size)) for size in (AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE)]
    check(make_predictor(**kind), [*longer, "good", *longer[:2]], LONG)


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_very_long_words_are_words(kind, make_predictor):
    """A text without spaces, of any length, has all its n-grams; a long word that is known has its row."""
    predictor = make_predictor(**kind)
    letters = np.random.default_rng(4).choice([*"abcdo\u00e9\u4e2d\U0001f642"], 50_000)
    pages = ["".join(letters[:size]) for size in (2047, 2048, 2049, 4096, 4097, 9000, 50_000)]
    check(predictor, ["good " + page + " bad" for page in pages], LONG)
    check(predictor, [pages[-1], "good"], LONG)
    known = predictor.model._replace(words=[pages[-1], *predictor.model.words[1:]])
    check(LinePredictor(known, predictor.scorer, threads=1), ["good " + page for page in pages], LONG)


@pytest.mark.parametrize("dim", [1, 3, 15, 16, 17, *([100] if SOAK else [])])
def test_any_length_of_rows(dim, make_predictor):
    check(make_predictor(maxn=3, longest=2, dim=dim, weights=True), ["good film", "unseen", ""])


def test_a_word_at_the_end_of_a_vector_register(make_predictor):
    """Words and line ends at all places of the bytes that are read at once."""
    predictor = make_predictor(maxn=3, longest=2)
    check(predictor, [" " * before + "good" + " " * after for before in range(70) for after in (0, 1, 63)])
    check(predictor, ["g" * size for size in range(130)])


@pytest.mark.parametrize("name", EXPECTED)
def test_vectors_of_models_of_fasttext(name):
    predictor, _ = fasttext_predictor(GOLDEN / name, 1)
    lines = (GOLDEN / "fasttext_sup_train.txt").read_text(encoding="utf-8").splitlines()
    check(predictor, [*EXPECTED[name]["predictions"], *lines, "", "zzz", "the the the"])


def test_bytes_that_are_not_text(make_predictor):
    """Lines as they come from a file, whatever it holds."""
    predictor, rng = make_predictor(maxn=3, longest=2, distinct=True), np.random.default_rng(5)
    raw = rng.integers(0, 256, 20_000).astype(np.uint8).tobytes().replace(b"\n", b" \n") + b"\n"
    ((hidden, squares),) = predictor.over_blocks([block_of(raw, raw.count(b"\n"))], lambda *sums: sums)
    lines = [decode_word(line) for line in raw.split(b"\n")[:-1]]
    for vector, square, line in zip(hidden, squares, lines, strict=True):
        other, total = predictor.hidden(predictor.words_of(line))
        np.testing.assert_allclose(vector[:6], other, rtol=2e-4, atol=2e-5)
        assert square == pytest.approx(total)
