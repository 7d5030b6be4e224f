"""Labels of lines: a few in plain Python and many in compiled code get the same; fastText gives the same."""

import json
from pathlib import Path

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError
from unhot.lines import predictor as predictor_module
from unhot.lines.fasttext_model import fasttext_predictor
from unhot.lines.predictor import joined, text_blocks

GOLDEN = Path(__file__).parents[1] / "golden"
EXPECTED = json.loads((GOLDEN / "fasttext_models_expected.json").read_text(encoding="utf-8"))["supervised"]
KIND = {"longest": 2, "maxn": 3, "distinct": True, "weights": True, "power": 0.5, "keyed": True}
LINES = ["good film", "bad", "", "a bad bad film", "unseen", "the \u00e9t\u00e9", "__label__x good"] * 7


def compiled(made):
    """The same model after many lines: it answers from compiled code."""
    made._compiled  # noqa: B018
    return made


def check_same(one, other, error=1e-6):
    np.testing.assert_array_equal(one.starts, other.starts)
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_allclose(one.probabilities, other.probabilities, rtol=0, atol=error)


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize(("k", "threshold"), [(1, 0.0), (1, 0.35), (2, 0.0), (-1, 0.0), (-1, 0.2), (99, 0.1)])
def test_few_and_many_lines_get_the_same_labels(k, threshold, quick, make_predictor):
    few, many = make_predictor(**KIND, quick=quick), compiled(make_predictor(**KIND, quick=quick))
    check_same(many.predict(LINES, k, threshold), few.predict(LINES, k, threshold))
    assert "_compiled" not in few.__dict__


def test_of_equal_labels_the_first_comes_first(make_predictor):
    """Labels 1 and 3 are equal in all ways; in fastText's order the later one comes first."""
    for later in (False, True):
        for made in (make_predictor(**KIND), compiled(make_predictor(**KIND))):
            made.scorer.later_first = later
            made.scorer.bias[[1, 3]] += 50
            made.scorer.plain = made.scorer.plain._replace(bias=made.scorer.bias.astype(np.float32))
            assert set(made.predict(LINES).labels.tolist()) == {3 if later else 1}
            assert made.predict(LINES[:1], 2).labels.tolist() == ([3, 1] if later else [1, 3])


def test_many_lines_are_enough_to_load_compiled_code(make_predictor, monkeypatch):
    monkeypatch.setattr(predictor_module, "FEW", 300)
    made = make_predictor(**KIND)
    made.predict(LINES[:5])
    assert "_compiled" not in made.__dict__
    made.predict(LINES * 10)
    assert "_compiled" in made.__dict__


def test_threads_and_blocks_change_nothing(make_predictor, monkeypatch):
    one = compiled(make_predictor(**KIND, threads=1)).predict(LINES * 30, 2)
    for block in (1, 7, 100):
        monkeypatch.setattr(predictor_module, "BLOCK", block)
        for threads in (1, 3):
            check_same(compiled(make_predictor(**KIND, threads=threads)).predict(LINES * 30, 2), one, 1e-8)


@pytest.mark.parametrize("k", [1, 2, -1])
def test_only_some_probabilities_are_in_memory_at_once(k, make_predictor, monkeypatch):
    few, many = make_predictor(**KIND, quick=False), compiled(make_predictor(**KIND, quick=False))
    expected = few.predict(LINES, k, 0.1)
    monkeypatch.setattr(predictor_module, "AT_ONCE", 17)  # three lines of five labels
    sizes, probabilities = [], few.scorer.probabilities
    for each in (few, many):
        monkeypatch.setattr(
            each.scorer, "probabilities", lambda hidden: sizes.append(len(hidden)) or probabilities(hidden)
        )
        check_same(each.predict(LINES, k, 0.1), expected)
    assert set(sizes) <= {1, 2, 3}


def test_lines_without_a_row_get_no_label(make_predictor):
    """The end of a line is no word of this model, and the unseen have no n-grams."""
    made = make_predictor(words=("good", "bad"))
    for each in (made, compiled(made)):
        for k in (1, 2):
            found = each.predict(["", "unseen", "good", "\0"], k)
            assert np.diff(found.starts).tolist() == [0, 0, k, 0]


def test_no_lines_at_all(make_predictor):
    made = make_predictor(**KIND)
    for each in (made, compiled(made)):
        assert [part.tolist() for part in each.predict([])] == [[0], [], []]
    assert [part.tolist() for part in joined([])] == [[0], [], []]


def test_a_line_feed_in_a_text_is_a_space(make_predictor):
    made = make_predictor(**KIND)
    for each in (made, compiled(made)):
        check_same(each.predict(["good\nfilm\n", "\n"]), each.predict(["good film", ""]), 0)
    (block,) = text_blocks(["good\nfilm\n", "bad"])
    assert (block.text[: block.size].tobytes(), block.lines) == (b"good film \nbad\n", 2)
    assert not block.text[block.size :].any()


@pytest.mark.parametrize("name", ["words", "text8"])
def test_tokenizers_in_python_are_the_compiled_ones(name, make_predictor):
    few = make_predictor(**KIND, tokenizer=name)
    many = compiled(make_predictor(**KIND, tokenizer=name))

    @examples(20)
    @given(
        st.lists(
            st.text("gGoOdD .7\u00e9\u00c9\u0130\U0001f642\0\n\tb\udcff-", max_size=20),
            min_size=1,
            max_size=8,
        )
    )
    def each(texts):
        check_same(many.predict(texts, -1), few.predict(texts, -1))

    each()
    assert (
        few.words_of("GOOD, Film-7")
        == {
            "words": ["good", "film", "7", "</s>"],
            "text8": ["good", "film", "seven", "</s>"],
        }[name]
    )


def test_a_tokenizer_of_ones_own(make_predictor):
    """It is asked for each line, however many there are, and compiled code is never loaded."""
    made = make_predictor(**KIND, tokenizer=lambda text: text.split("-"))
    plain = make_predictor(**KIND)
    many = [line.replace(" ", "-") for line in LINES] * 200
    check_same(made.predict(many, 2), plain.predict(LINES * 200, 2))
    assert "_compiled" not in made.__dict__


def test_bad_questions_are_named(make_predictor):
    for asked in ({"k": 0}, {"k": -3}, {"threshold": float("inf")}):
        with pytest.raises(ConfigError, match=next(iter(asked))):
            make_predictor().predict(["good"], **asked)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(("name", "expected"), EXPECTED.items())
def test_fasttext_predicts_the_same(name, expected, many):
    predictor, labels = fasttext_predictor(GOLDEN / name, 2)
    assert [f"__label__{label}" for label in labels] == expected["labels"]
    if many:
        compiled(predictor)
    lines = list(expected["predictions"])
    for k, threshold, wanted in (
        (-1, 0.0, [(each["labels"], each["probabilities"]) for each in expected["predictions"].values()]),
        (2, 0.2, [each["k2_threshold_0_2"] for each in expected["predictions"].values()]),
        (
            1,
            0.0,
            [(each["labels"][:1], each["probabilities"][:1]) for each in expected["predictions"].values()],
        ),
    ):
        found = predictor.predict(lines, k, threshold)
        for at, (_, probabilities) in enumerate(wanted):
            part = slice(found.starts[at], found.starts[at + 1])
            np.testing.assert_allclose(found.probabilities[part], probabilities, atol=2e-6)
            every = dict(
                zip(
                    *[expected["predictions"][lines[at]][name] for name in ("labels", "probabilities")],
                    strict=True,
                )
            )
            # labels of equal probability are in any order in fastText
            ours = [every[f"__label__{labels[i]}"] for i in found.labels[part]]
            np.testing.assert_array_equal(ours, probabilities)


def test_word_vectors_of_fasttext_are_no_classifier():
    with pytest.raises(ConfigError, match="holds word vectors, not a classifier"):
        fasttext_predictor(GOLDEN / "fasttext_unsup_skipgram_ns.bin", 1)
