"""Nearest sessions against plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.items.histories import histories_of, newest
from unhot.models.session_knn import session_sets

ITEMS = 6
LISTS = st.lists(st.integers(0, ITEMS - 1), max_size=8)


def reference(sessions, history, last, decay, k):
    """Scores of all items: the k best sessions, of equal ones the newest."""
    newest_first = history[::-1][: last or None]
    weights = {}
    for age, item in enumerate(newest_first):
        weights.setdefault(item, decay**age)
    found = []
    for number, session in enumerate(sessions):
        shared = sum(weights.get(item, 0.0) for item in session)
        if shared > 0:
            found.append((np.float32(shared / math.sqrt(len(session))), number))
    scores = np.zeros(ITEMS)
    for score, number in sorted(found, reverse=True)[:k]:
        scores[list(sessions[number])] += score
    return scores


@given(
    st.lists(
        st.lists(st.integers(0, ITEMS - 1), min_size=1, max_size=5, unique=True), min_size=1, max_size=12
    ),
    st.lists(LISTS, min_size=1, max_size=3),
    st.integers(0, 4),
    st.sampled_from([0.0, 0.5, 1.0]),  # sums of these are exact
    st.integers(1, 5),
)
def test_against_plain_python(sessions, histories, last, decay, k):
    starts = np.cumsum([0, *map(len, sessions)])
    sets = session_sets(np.array([i for s in sessions for i in s], np.int32), starts, ITEMS)
    found = sets.scores(newest(histories_of(histories), last, decay), k)
    expected = [reference(sessions, history, last, decay, k) for history in histories]
    assert found == pytest.approx(np.array(expected), abs=1e-5)


def test_weights_that_vanish_reach_no_session():
    # 0.1^age is zero from age 46 on; as sums they would be listed again and again, beyond the buffer
    sets = session_sets(np.array([0, 1, 1], np.int32), np.array([0, 2, 3]), 2)
    found = sets.scores(newest(histories_of([[0, 1] * 500]), 0, 0.1), 2)
    assert found == pytest.approx(np.array([[1.1 / 2**0.5, 1.1 / 2**0.5 + 1]]), rel=1e-5)
    assert not sets.scores(newest(histories_of([[]]), 0, 0.1), 2).any()
