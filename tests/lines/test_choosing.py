"""Choose labels from probabilities: against sorting in plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError
from unhot.lines.choosing import ALL, check_asked, choose

LINES = st.integers(1, 6).flatmap(
    lambda labels: st.lists(
        st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.5, 1.0]), min_size=labels, max_size=labels),
        min_size=1,
        max_size=6,
    )
)


class Given:
    """Probabilities that are there already: the vectors of lines are their numbers."""

    def __init__(self, probabilities, floor=0.0, later_first=False):
        self._table = np.array(probabilities, np.float64)
        self.floor, self.later_first, self.plain = floor, later_first, None
        self.labels = self._table.shape[1]

    def probabilities(self, hidden):
        return self._table[hidden[:, 0].astype(int)]


def chosen(scorer, lines, k, threshold):
    found = choose(scorer, np.arange(lines, dtype=np.float32)[:, None], k, threshold)
    assert found.starts[0] == 0
    assert found.starts[-1] == len(found.labels) == len(found.probabilities)
    ends = found.starts[1:-1]
    return [
        list(zip(labels.tolist(), probabilities.tolist(), strict=True))
        for labels, probabilities in zip(
            np.split(found.labels, ends), np.split(found.probabilities, ends), strict=True
        )
    ]


@given(LINES, st.sampled_from([ALL, 1, 2, 3, 100]), st.sampled_from([0.0, 0.1, 0.2, 0.6]), st.booleans())
def test_the_most_probable_first(table, k, threshold, later_first):
    scorer = Given(table, later_first=later_first)
    expected = []
    for row in table:
        order = sorted(range(len(row)), key=lambda i: (-row[i], -i if later_first else i))
        most = len(row) if k == ALL else k
        expected.append([(i, row[i]) for i in order[:most] if row[i] >= threshold])
    assert chosen(scorer, len(table), k, threshold) == expected


def test_the_threshold_is_that_of_the_probability_without_its_floor():
    scorer = Given([[0.5 + 1e-5, 0.4 + 1e-5]], floor=1e-5)
    assert chosen(scorer, 1, ALL, 0.5 - 1e-12) == [[(0, 0.5 + 1e-5)]]
    assert chosen(scorer, 1, ALL, 0.5 + 1e-12) == [[]]


@pytest.mark.parametrize("k", [ALL, 1, 2])
def test_what_is_not_a_number_is_not_chosen(k):
    assert chosen(Given([[np.nan, np.nan], [0.5, np.nan]]), 1, k, 0.0) == [[]]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"k": 0}, "k=0: must be 1 or more, or -1 for all labels"),
        ({"k": -2}, "k=-2: must be >= -1"),
        ({"k": 1.5}, "k=1.5: must be a whole number"),
        ({"threshold": float("nan")}, "threshold=nan: must be a finite number"),
        ({"threshold": "much"}, "threshold=much: must be a finite number"),
    ],
)
def test_bad_questions_are_named(asked, told):
    with pytest.raises(ConfigError, match=told):
        check_asked(**{"k": 1, "threshold": 0.0, **asked})
