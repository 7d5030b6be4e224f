"""Answers of analogies against numpy."""

import numpy as np
import pytest

from unhot.evaluate.analogy_scores import (
    EPSILON,
    GROUP,
    Answers,
    Questions,
    Quotient,
    Sum,
    answer,
    quotient_bits_twin,
    sum_bits_twin,
)


def numpy_scores(kind, table, places):
    a, b, c = (table[places[:, i]] for i in range(3))
    return b - a + c if kind is Sum else b * c / (a + np.float32(EPSILON))


@pytest.mark.parametrize("kind", [Sum, Quotient])
@pytest.mark.parametrize("seed", range(3))
def test_block_by_block_is_the_best_of_all(kind, seed):
    rng, words, questions, width = np.random.default_rng(seed), 12, 40, 2 * GROUP
    rows = 3 * width - 5
    cosines = rng.uniform(-1, 1, (words, rows)).astype(np.float32)
    cosines[:, 7] = np.nan  # a row without a direction
    table = cosines if kind is Sum else (1 + cosines) / 2
    same = np.arange(rows, dtype=np.int32)
    same[100:110] = 3  # other spellings of one word
    places = rng.integers(0, words, (questions, 3)).astype(np.int32)
    own = rng.integers(0, rows, (questions, 3)).astype(np.int32)
    own[:10, 0] = 3
    answers = Answers(np.full(questions, -1, np.int32), np.full(questions, -np.inf, np.float32))
    for first in range(0, rows, width):
        part = np.full((words, width), np.nan, np.float32)
        part[:, : min(width, rows - first)] = table[:, first : first + width]
        for cut in ((0, 15), (15, questions)):  # as threads do
            answer(kind(part.reshape(-1)), width, first, same, Questions(places, own), answers, *cut)
    scores = numpy_scores(kind, table, places)
    scores[:, 7] = -np.inf
    for q in range(questions):
        scores[q, np.isin(same, own[q])] = -np.inf
    assert answers.rows.tolist() == scores.argmax(axis=1).tolist()
    np.testing.assert_allclose(answers.scores, scores.max(axis=1), rtol=1e-6)


def test_equal_scores_go_to_the_first_row_and_nothing_to_none():
    same = np.arange(GROUP, dtype=np.int32)
    table = np.full((3, GROUP), np.nan, np.float32)
    table[:, [5, 9, 30]] = [[0.25], [0.5], [0.75]]
    places, own = np.array([[0, 1, 2]] * 3, np.int32), np.array([[0, 1, 2], [5, 1, 2], [5, 30, 9]], np.int32)
    answers = Answers(np.full(3, -1, np.int32), np.full(3, -np.inf, np.float32))
    answer(Sum(table.reshape(-1)), GROUP, 0, same, Questions(places, own), answers, 0, 3)
    assert answers.rows.tolist() == [5, 9, -1]
    assert answers.scores.tolist() == [1.0, 1.0, -np.inf]


@pytest.mark.parametrize("twin", [sum_bits_twin, quotient_bits_twin])
def test_bits_stand_for_columns(twin):
    table = np.zeros(3 * GROUP, np.float32)
    table[GROUP + np.array([0, 3, 63])] = 1
    table[2 * GROUP :] = 1
    assert twin(table, 0, GROUP, 2 * GROUP, 1.5 if twin is sum_bits_twin else 0.5) % 2**64 == 1 | 8 | 1 << 63
