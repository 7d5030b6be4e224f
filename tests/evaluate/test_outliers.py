"""Outliers by the definition, pair by pair."""

import json
import math
from itertools import combinations

import numpy as np
import pytest

from unhot import Vectors
from unhot.errors import DataError
from unhot.evaluate import outliers
from unhot.evaluate.outliers import read_group

WORDS = [f"w{i}" for i in range(8)]
STRANGE = [f"s{i}" for i in range(8)]


@pytest.fixture
def vectors():
    """Words that belong together, and others: some far away, some near."""
    rng = np.random.default_rng(3)
    rows = np.concatenate(
        [rng.normal(0, 1, (8, 6)) + 2, rng.normal(0, 1, (8, 6)) + np.linspace(-1, 2, 8)[:, None]]
    )
    return Vectors([*WORDS, *STRANGE], rows.astype(np.float32))


def write(path, words=WORDS, strange=STRANGE):
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(words) + "\n\n" + "\n".join(strange) + "\n")
    return path


def by_definition(vectors, words, strange):
    """position / (|W| - 1) of each outlier, by the mean of all cosines of a set without each of its words."""
    places = []
    for outlier in strange:
        every = [*words, outlier]
        compactness = [
            np.mean([vectors.similarity(a, b) for a, b in combinations([v for v in every if v != w], 2)])
            for w in every
        ]
        places.append(sum(c < compactness[-1] - 1e-9 for c in compactness[:-1]) / len(words))
    return places


def test_a_set(tmp_path, vectors):
    result = outliers(vectors, write(tmp_path / "topic.txt"))
    places = by_definition(vectors, WORDS, STRANGE)
    assert 0 < places.count(1.0) < 8
    (one,) = result.sets
    assert (one.name, one.questions, one.unknown, one.found) == ("topic", 8, 0, places.count(1.0))
    assert one.accuracy == places.count(1.0) / 8
    assert one.opp == pytest.approx(np.mean(places))
    assert one.opp_interval[0] <= one.opp <= one.opp_interval[1]
    assert result.total.opp == one.opp


def test_unknown_words_are_left_out(tmp_path, vectors):
    write(tmp_path / "sets" / "a.txt", ["nothing", *WORDS[:4]], [*STRANGE[:3], "nobody"])
    write(tmp_path / "sets" / "b.txt", [WORDS[0], "nothing", "nobody"], STRANGE[:2])
    write(tmp_path / "sets" / "c.txt", WORDS[4:], ["nobody"])
    result = outliers(vectors, tmp_path / "sets")
    assert [(each.name, each.questions, each.unknown, each.unknown_words) for each in result.sets] == [
        ("a", 4, 1, 1),
        ("b", 2, 2, 2),
        ("c", 1, 1, 0),
    ]
    assert (result.total.questions, result.total.unknown, result.total.unknown_words) == (7, 4, 3)
    assert result.total.opp == pytest.approx(np.mean(by_definition(vectors, WORDS[:4], STRANGE[:3])))
    assert math.isnan(result.sets[1].accuracy)
    plain = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert (plain["sets"][1]["accuracy"], plain["sets"][1]["opp"]) == (None, None)


def test_who_cannot_tell_has_not_found(tmp_path):
    vectors = Vectors(["a", "b", "c"], np.tile(np.array([[0.3, 0.7, 0.1]], np.float32), (3, 1)))
    total = outliers(vectors, write(tmp_path / "x", ["a", "b"], ["c"])).total
    assert (total.found, total.opp) == (0, 0.0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\nb\n\nc\n\nd\n", "set: line 6: 'd': must be the end of the file"),
        ("a\nb\nc\n", "3 words and 0 outliers"),
        ("a\n\nb\n", "1 words and 1 outliers"),
        ("", "0 words and 0 outliers"),
    ],
)
def test_wrong_files(tmp_path, text, told):
    (tmp_path / "set").write_text(text)
    with pytest.raises(DataError, match=told):
        read_group(tmp_path / "set")


def test_blank_lines_around_do_no_harm(tmp_path):
    (tmp_path / "set").write_text("\n\nNew York\nb\r\n\r\n \n\nc\n\n\n")
    assert read_group(tmp_path / "set") == ("set", ["New York", "b"], ["c"])
