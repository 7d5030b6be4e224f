import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError, DataError
from unhot.tree.classes import frequency_classes, groups_from_map
from unhot.tree.huffman import huffman
from unhot.tree.paths import children
from unhot.tree.search import best_first


def full_sort(log_prob, k):
    ranked = sorted((-p, w) for w, p in enumerate(log_prob) if p > -math.inf)
    return [(w, 0.0 - cost) for cost, w in ranked[:k]]


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=50),
    st.lists(st.sampled_from([0.0, 1.0, -1.0, 3.5, -0.25, math.inf, -math.inf]), min_size=49, max_size=49),
    st.integers(1, 60),
)
def test_binary_tree(counts, scores, k):
    """Few different scores, so that there are ties; infinite ones make steps of probability zero and one."""
    paths = huffman(counts)
    tree = children(paths)
    step = -np.logaddexp(0, np.array([[-s, s] for s in scores]))
    expected = []
    for word in range(len(counts)):
        total = 0.0
        for position in range(paths.start[word], paths.start[word + 1]):
            total += step[paths.node[position], paths.code[position]]
        expected.append(total)
    assert best_first(0 if len(counts) > 1 else -1, lambda node: (tree[node], step[node]), k) == full_sort(
        expected, k
    )


@given(st.integers(1, 60), st.integers(1, 3), st.integers(0, 2**32), st.integers(1, 70))
def test_classes(words, levels, seed, k):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 100, words)
    groups = groups_from_map(frequency_classes(counts, levels=levels), counts)
    scores = rng.integers(-2, 3, int(groups.size.sum())).astype(float)
    scores[rng.random(scores.size) < 0.1] = -100  # hardly ever
    step = scores.copy()
    for first, size in zip(groups.first, groups.size, strict=True):
        step[first : first + size] -= np.logaddexp.reduce(step[first : first + size])
    step = np.minimum(step, 0)  # rounding may lift a certain step a hair above zero
    leaf = np.zeros(step.size, np.int64)
    leaf[groups.row[:, -1]] = np.arange(words)
    expected = []
    for word in range(words):
        total = 0.0
        for row in groups.row[word]:
            total += step[row]
        expected.append(total)

    def expand(group):
        rows = np.arange(groups.first[group], groups.first[group] + groups.size[group])
        return np.where(rows < step.size - words, rows + 1, -1 - leaf[rows]), step[rows]

    assert best_first(0, expand, k) == full_sort(expected, k)


def test_only_what_is_needed_is_expanded():
    asked = []

    def expand(node):
        asked.append(node)
        return ([-1, node + 1] if node else [-2, 1]), np.log([0.9, 0.1])

    assert best_first(0, expand, 1) == [(1, pytest.approx(math.log(0.9)))]
    assert asked == [0]


def test_smaller_word_hidden_below_an_equal_node():
    tree = {0: ([-6, 7], [-1.0, -1.0]), 7: ([-3, 8], [-math.inf, 0.0]), 8: ([-1], [0.0])}
    assert best_first(0, tree.__getitem__, 5) == [(0, -1.0), (5, -1.0)]


def test_edges():
    assert best_first(-4, lambda node: pytest.fail("a leaf has no children"), 3) == [(3, 0.0)]
    assert math.copysign(1, best_first(-1, lambda node: ([], []), 1)[0][1]) == 1
    assert best_first(0, lambda node: ([-1, -2], [-math.inf, -math.inf]), 3) == []
    assert best_first(0, lambda node: ([], []), 3) == []
    with pytest.raises(DataError, match="below the node 0 is nan"):
        best_first(0, lambda node: ([-1, -2], [math.nan, 0.0]), 3)
    with pytest.raises(ConfigError, match="k=0"):
        best_first(0, lambda node: ([], []), 0)
