"""How fastText's losses turn scores into probabilities."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.compat.fasttext.meter import Meter
from unhot.lines.choosing import choose
from unhot.lines.fasttext_losses import FLOOR, FastTextScorer, path_products, table_sigmoid
from unhot.tree.huffman import word2vec_tree

COUNTS = st.lists(st.integers(0, 20), min_size=1, max_size=12).map(
    lambda counts: sorted(counts, reverse=True)
)


def test_one_label_is_certain():
    assert path_products(np.zeros(1), word2vec_tree([3])[0]).tolist() == [1.0]


@given(COUNTS, st.data())
def test_paths_sum_to_one_but_for_the_floor(counts, data):
    scores = np.array(data.draw(st.lists(st.floats(-30, 30), min_size=len(counts), max_size=len(counts))))
    products = path_products(scores, word2vec_tree(counts)[0])
    assert products.sum() == pytest.approx(1.0, abs=len(counts) ** 2 * 3 * FLOOR)
    assert (products >= 0).all()


def test_extreme_scores_are_certain_and_silent():
    assert path_products(np.array([1e30, 0.0]), word2vec_tree([1, 1])[0]) == pytest.approx(
        [1.0, 0.0], abs=1e-4
    )


@given(st.floats(-9, 9, width=32))
def test_the_table_is_rounded_down(score):
    value = table_sigmoid(np.array([score]))[0]
    true = 1 / (1 + math.exp(-score))
    assert true - 1 / 32 / 4 - 4e-4 <= value <= true + 4e-4
    assert table_sigmoid(np.array([-8.1, 8.1, np.nan, 0.0, 1 / 64, -8.0, 8.0])).tolist() == pytest.approx(
        [0, 1, np.nan, 0.5, 0.5, 1 / (1 + math.exp(8)), 1 / (1 + math.exp(-8))], nan_ok=True
    )


@pytest.mark.parametrize("loss", ["softmax", "ns", "ova", "hs"])
def test_the_best_labels_are_those_of_all(loss):
    random = np.random.default_rng(2)
    scorer = FastTextScorer(loss, random.normal(size=(9, 4)).astype(np.float32), np.arange(9, 0, -1))
    hidden = random.normal(size=4).astype(np.float32)

    def predict(hidden, k, threshold):
        found = choose(scorer, hidden[None], k, threshold)
        return found.labels.tolist(), found.probabilities

    every = scorer.probabilities(hidden)
    labels, probabilities = predict(hidden, -1, 0.0)
    assert sorted(labels) == list(range(9))
    np.testing.assert_array_equal(probabilities, np.sort(every)[::-1])
    assert predict(hidden, 3, 0.0)[0] == labels[:3]
    limit = float(probabilities[4]) - FLOOR - 1e-9
    assert predict(hidden, -1, limit)[0] == labels[:5]
    assert predict(hidden, -1, 2.0)[0] == []


def test_softmax():
    scorer = FastTextScorer("softmax", np.eye(3, dtype=np.float32), np.ones(3, np.int64))
    scores = np.array([1.0, 2.0, -3.0], np.float32)
    np.testing.assert_allclose(
        scorer.probabilities(scores), np.exp(scores) / np.exp(scores).sum() + 1e-5, rtol=1e-6
    )


def test_of_equal_labels_the_later_is_first():
    scorer = FastTextScorer("ova", np.ones((3, 2), np.float32), np.ones(3, np.int64))
    assert choose(scorer, np.ones((2, 2), np.float32), 2, 0.0).labels.tolist() == [2, 1, 2, 1]
    assert choose(scorer, np.ones((1, 2), np.float32), 1, 0.0).labels.tolist() == [2]


def test_measures():
    meter = Meter()
    meter.add(["a", "b"], ["a"])
    meter.add(["b"], ["a"])
    assert (meter.examples, meter.precision(), meter.recall()) == (2, 0.5, 1 / 3)
    assert (meter.precision("a"), meter.recall("a"), meter.f1("a")) == (0.5, 1.0, 2 / 3)
    assert math.isnan(meter.precision("b"))
    assert meter.recall("b") == meter.f1("b") == 0
    assert math.isnan(Meter().precision())
