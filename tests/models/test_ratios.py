"""Ratios of co-occurrence probabilities against a count in plain Python."""

import math

import pytest

from unhot import Vocabulary, data
from unhot.corpus import encode
from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.errors import DataError
from unhot.models.ratios import Ratio, ratio_table

TEXT = ["ice is solid water", "steam is gas water", "solid ice", "fashion is art", "ice water gas"]


def counted(word, probe, window=3):
    """P(probe | word), pair by pair."""
    near = total = 0.0
    for line in (line.split() for line in TEXT):
        for i in (i for i, each in enumerate(line) if each == word):
            for j in range(max(0, i - window), min(len(line), i + window + 1)):
                total += 1 / abs(i - j) if i != j else 0
                near += 1 / abs(i - j) if i != j and line[j] == probe else 0
    return near / total


def test_ratios_are_those_of_the_text():
    with (
        encode([line.split() for line in TEXT], min_count=1) as corpus,
        cooccurrences(corpus, window=3) as cells,
    ):
        found = ratio_table(cells, "ice", "steam")
    assert [row.probe for row in found] == ["solid", "gas", "water", "fashion"]
    for row in found:
        assert row.first == pytest.approx(counted("ice", row.probe), rel=1e-14)
        assert row.second == pytest.approx(counted("steam", row.probe), rel=1e-14)
    solid, gas, water, fashion = found
    assert solid.ratio == math.inf
    assert gas.ratio == gas.first / gas.second < 1
    assert 1 < water.ratio < 3
    assert math.isnan(fashion.ratio)


def test_probabilities_of_all_words_sum_to_one():
    with encode(data.sotu_path(), min_count=20) as corpus, cooccurrences(corpus, window=5) as cells:
        found = ratio_table(cells, "war", "peace", cells.vocabulary.words)
    assert sum(row.first for row in found) == pytest.approx(1)
    assert sum(row.second for row in found) == pytest.approx(1)


def test_unknown_and_lonely_words_are_named():
    cells = Cells.from_arrays(Vocabulary(["ice", "steam"], [2, 1]), [0, 1, 1], [1], [1.0])
    assert ratio_table(cells, "ice", "ice", ["steam"]) == [Ratio("steam", 1.0, 1.0, 1.0)]
    with pytest.raises(DataError, match="'lava' is not among the 2 words"):
        ratio_table(cells, "ice", "ice", ["lava"])
    with pytest.raises(DataError, match="'steam' stands near no other word"):
        ratio_table(cells, "ice", "steam", ["ice"])
    with pytest.raises(DataError, match=r"must be a list of words, such as \['ice'\]"):
        ratio_table(cells, "ice", "steam", "ice")
