"""Analogies against gensim's evaluator, and against a loop over all words."""

import json
import math

import numpy as np
import pytest

from unhot import Vectors
from unhot.errors import ConfigError
from unhot.evaluate import analogies
from unhot.evaluate.analogies import METHODS, Question, answers, read_analogies
from unhot.evaluate.lookup import Lookup

PAIRS, DIM = 30, 8


@pytest.fixture(scope="module")
def vectors():
    """Word b of a pair is a + offset + noise, so that some questions are answered right.

    Then other words, and spellings in other case.
    """
    rng = np.random.default_rng(7)
    a = rng.normal(size=(PAIRS, DIM))
    b = a + rng.normal(size=DIM) + rng.normal(0, 0.5, (PAIRS, DIM))
    others = rng.normal(size=(200, DIM))
    capitals = np.concatenate([a[:5], b[:5]]) + rng.normal(0, 0.1, (10, DIM))
    words = [f"{kind}{i}" for kind in "ab" for i in range(PAIRS)] + [f"o{i}" for i in range(200)]
    words += [f"{kind}{i}" for kind in "AB" for i in range(5)]
    order = rng.permutation(len(words))
    rows = np.concatenate([a, b, others, capitals])[order].astype(np.float32)
    return Vectors([words[i] for i in order], rows * rng.uniform(0.1, 3, (len(rows), 1)).astype(np.float32))


@pytest.fixture(scope="module")
def google(tmp_path_factory):
    """Questions with all spellings, and some words that nobody knows."""
    rng = np.random.default_rng(8)
    lines = []
    for section in ("capitals", "gram1-plural", "gram2 of two words"):
        lines.append(f": {section}")
        for _ in range(120):
            i, j = rng.choice(PAIRS + 2, 2, replace=False)
            spelled = [
                word.upper() if rng.random() < 0.3 else word for word in (f"a{i}", f"b{i}", f"a{j}", f"b{j}")
            ]
            lines.append(" ".join(spelled))
    path = tmp_path_factory.mktemp("analogies") / "questions.txt"
    path.write_text("\n".join([*lines, ": nobody", "x y z w", ": empty"]) + "\n")
    return path


def counts(result):
    return [(section.name, section.correct, section.answered) for section in result.sections]


@pytest.mark.parametrize("restrict_vocab", [None, 150, 60])
@pytest.mark.parametrize("case", ["ignore", "exact"])
def test_figures_are_gensims(vectors, google, restrict_vocab, case):
    models = pytest.importorskip("gensim.models")
    other = models.KeyedVectors(DIM)
    other.add_vectors(vectors.index_to_key, vectors.vectors)
    _, sections = other.evaluate_word_analogies(
        str(google),
        restrict_vocab=restrict_vocab or 300_000,
        case_insensitive=case == "ignore",
        dummy4unknown=False,
    )
    theirs = [(s["section"], len(s["correct"]), len(s["correct"]) + len(s["incorrect"])) for s in sections]
    ours = analogies(vectors, google, restrict_vocab=restrict_vocab, case=case)
    assert [*counts(ours), ("Total accuracy", ours.total.correct, ours.total.answered)] == theirs
    if restrict_vocab is None:
        assert 0 < ours.total.correct < ours.total.answered < ours.total.questions


def loop(vectors, question, method):
    """The answer to a question, word by word."""
    cosines = (
        vectors.vectors
        @ vectors[list(question[:3])].T
        / vectors.norms[:, None]
        / np.linalg.norm(vectors[list(question[:3])], axis=1)
    )
    a, b, c = cosines.astype(np.float64).T
    score = b - a + c if method == "add" else (1 + b) * (1 + c) / 4 / ((1 + a) / 2 + 1e-6)
    score[[vectors.key_to_index[word] for word in question[:3]]] = -np.inf
    return int(score.argmax())


@pytest.mark.parametrize("method", METHODS)
def test_answers_are_those_of_a_loop(vectors, method, monkeypatch):
    rng = np.random.default_rng(9)
    asked = rng.integers(0, len(vectors), (60, 3)).astype(np.int32)
    expected = [loop(vectors, [vectors.index_to_key[row] for row in rows], method) for rows in asked]
    told = []
    found = answers(Lookup(vectors, case="exact"), asked, method, lambda *done: told.append(done))
    assert found.tolist() == expected
    assert told == [(len(vectors), len(vectors))]
    # neither the blocks nor the threads change anything
    monkeypatch.setitem(answers.__globals__, "BLOCK", 64)
    monkeypatch.setattr(vectors, "threads", 5)
    assert answers(Lookup(vectors, case="exact"), asked, method, lambda *done: None).tolist() == expected


# gensim calls its own
@pytest.mark.filterwarnings("ignore:Call to deprecated `init_sims`:DeprecationWarning")
def test_3cosmul_is_gensims(vectors):
    models = pytest.importorskip("gensim.models")
    other = models.KeyedVectors(DIM)
    other.add_vectors(vectors.index_to_key, vectors.vectors)
    asked = np.random.default_rng(2).permutation(len(vectors))[:90].reshape(30, 3).astype(np.int32)
    found = answers(Lookup(vectors, case="exact"), asked, "mul", lambda *done: None)
    for (a, b, c), answer in zip(asked, found, strict=True):
        a, b, c = (vectors.index_to_key[row] for row in (a, b, c))
        assert other.most_similar_cosmul([b, c], [a], topn=1)[0][0] == vectors.index_to_key[answer]


def test_rows_without_direction_are_neither_questions_nor_answers(tmp_path):
    rows = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [np.nan, 1], [np.inf, 1], [-1, 0.5]], np.float32)
    vectors = Vectors(list("abcznif"), rows)
    (tmp_path / "q").write_text(": s\na b c f\nz b c f\nn b c f\ni b c f\na b c z\n")
    (section,) = analogies(vectors, tmp_path / "q").sections
    assert (section.questions, section.unknown, section.correct) == (5, 4, 1)


def test_groups_and_totals(vectors, google):
    result = analogies(vectors, google)
    assert [(s.name, s.group) for s in result.sections] == [
        ("capitals", "semantic"),
        ("gram1-plural", "syntactic"),
        ("gram2 of two words", "syntactic"),
        ("nobody", "semantic"),
        ("empty", "semantic"),
    ]
    semantic, syntactic = result.groups
    assert (semantic.name, syntactic.name) == ("semantic", "syntactic")
    for field in ("questions", "unknown", "correct", "answered"):
        assert getattr(syntactic, field) == sum(getattr(s, field) for s in result.sections[1:3])
        assert getattr(result.total, field) == sum(getattr(s, field) for s in result.sections)
    assert result.total.accuracy == result.total.correct / result.total.answered
    assert result.total.interval[0] < result.total.accuracy < result.total.interval[1]
    assert math.isnan(result.sections[3].accuracy)
    plain = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert (plain["method"], plain["restrict_vocab"], plain["case"]) == ("add", None, "ignore")
    assert plain["sections"][3] == {
        **{"name": "nobody", "group": "semantic", "questions": 1, "unknown": 1, "correct": 0},
        **{"interval": [None, None], "answered": 0, "accuracy": None},
    }


def test_pairs_ask_each_other(tmp_path):
    folder = tmp_path / "bats"
    (folder / "1_inflection").mkdir(parents=True)
    (folder / "1_inflection" / "I01 [noun].txt").write_text("cat\tcats/felines/\nox\toxen\n\nmouse\tmice\n")
    (folder / "top.txt").write_text("a b\nc d\n")
    first, second = read_analogies(folder)
    assert (first.name, first.group, len(first.questions)) == ("I01 [noun]", "1_inflection", 6)
    assert first.questions[0] == Question("cat", "cats", "ox", ("oxen",))
    assert first.questions[2] == Question("ox", "oxen", "cat", ("cats", "felines"))
    assert (second.name, second.group) == ("top", "")
    assert read_analogies(folder / "top.txt")[0].group == ""


def test_any_right_answer_is_right(tmp_path):
    rows = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [0, -1, 0]], np.float32)
    vectors = Vectors(["cat", "cats", "ox", "oxen", "no"], rows)
    (tmp_path / "pairs.txt").write_text("cat\tcats\nox\tunknown/OXEN\n")
    (section,) = analogies(vectors, tmp_path / "pairs.txt").sections
    # ox : unknown :: cat : ? cannot be asked
    assert (section.questions, section.unknown, section.correct) == (2, 1, 1)
    assert analogies(vectors, tmp_path / "pairs.txt", case="exact").total.unknown == 2


def test_four_words_need_no_section(tmp_path):
    (tmp_path / "plain.txt").write_text("a b c d\n")
    (relation,) = read_analogies(tmp_path / "plain.txt")
    assert relation == ("plain", "", [Question("a", "b", "c", ("d",))])


def test_wrong_method(vectors, google):
    with pytest.raises(ConfigError, match="method='both': must be one of add, mul"):
        analogies(vectors, google, method="both")
