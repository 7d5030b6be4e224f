import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError, DataError
from unhot.tree.classes import equal_cuts, frequency_classes, groups_from_map

ZIPF = 10**8 // np.arange(1, 20_001)


def cut(weights, classes):
    """Classes of a list of weights, one after the other.

    Each takes what lies, by its middle, within a fair share of what is left.
    """
    made, rest = [], list(weights)
    for left in range(classes, 1, -1):
        share, words = sum(rest) / left, [rest.pop(0)]
        total = words[0]
        while len(rest) >= left and total + rest[0] / 2 < share:
            total += rest[0]
            words.append(rest.pop(0))
        made.append(words)
    return [*made, rest]


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=60), st.data())
def test_cuts(weights, data):
    classes = data.draw(st.integers(1, len(weights)))
    # over a power of two: all sums are exact, so ties are ties
    start = equal_cuts(np.array(weights, float) / 1024, classes)
    assert [weights[a:b] for a, b in zip(start, start[1:], strict=False)] == cut(weights, classes)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=80), st.integers(1, 4), st.data())
def test_frequency_classes(counts, levels, data):
    classes = data.draw(st.one_of(st.none(), st.integers(1, len(counts))))
    finest = len(counts) ** (levels / (levels + 1)) if classes is None else classes
    class_map = frequency_classes(counts, classes, levels)
    assert class_map.shape == (levels, len(counts))
    ranked = sorted(range(len(counts)), key=lambda word: (-counts[word], word))
    for level, labels in enumerate(class_map.tolist()):
        number = max(1, round(finest ** ((level + 1) / levels)))
        by_rank = [labels[word] for word in ranked]
        assert by_rank == sorted(by_rank)  # consecutive classes of the words by falling count
        assert set(by_rank) == set(range(number))  # none is empty
    for coarse, fine in zip(class_map, class_map[1:], strict=False):
        assert len(set(zip(coarse.tolist(), fine.tolist(), strict=True))) == len(set(fine.tolist()))


@pytest.mark.parametrize("classes", [1, 2, 7, 70, 400])
def test_boundaries_of_words(classes):
    counts = [10**6 // rank for rank in range(1, 401)]
    expected = cut([math.sqrt(count) for count in counts], classes)
    assert frequency_classes(counts, classes)[0].tolist() == [
        i for i, words in enumerate(expected) for _ in words
    ]


def test_boundaries_of_classes():
    counts = [10**6 // rank for rank in range(1, 401)]
    coarse, fine = frequency_classes(counts, 36, 2).tolist()
    weights = [sum(count for count, label in zip(counts, fine, strict=True) if label == c) for c in range(36)]
    classes = cut([math.sqrt(weight) for weight in weights], 6)
    of_class = [i for i, words in enumerate(classes) for _ in words]
    assert coarse == [of_class[c] for c in fine]


def test_classes_are_nearly_equal():
    labels = frequency_classes(ZIPF)[0]
    sums = np.bincount(labels, weights=np.sqrt(ZIPF))
    assert len(sums) == round(math.sqrt(ZIPF.size))
    assert abs(sums - sums.mean()).max() <= np.sqrt(ZIPF[0])


def expected_columns(groups, counts):
    """Return the mean number of columns that a step looks at, with words weighted by count."""
    columns = groups.size[groups.group].sum(axis=1, dtype=np.int64)
    return float(np.average(columns, weights=counts if np.any(counts) else None))


def test_fewer_columns_than_other_cuts():
    classes = round(math.sqrt(ZIPF.size))

    def columns(start):
        return expected_columns(groups_from_map(np.repeat(np.arange(classes), np.diff(start)), ZIPF), ZIPF)

    ours = expected_columns(groups_from_map(frequency_classes(ZIPF), ZIPF), ZIPF)
    assert ours == columns(equal_cuts(np.sqrt(ZIPF), classes))
    assert ours < 0.95 * columns(equal_cuts(ZIPF.astype(float), classes))
    assert ours < 0.95 * columns(equal_cuts(np.ones(ZIPF.size), classes))
    two_levels = expected_columns(groups_from_map(frequency_classes(ZIPF, levels=2), ZIPF), ZIPF)
    assert two_levels < 0.5 * ours


def test_small_and_empty():
    for words in (1, 2, 3):
        for counts in ([0] * words, list(range(words, 0, -1))):
            assert frequency_classes(counts, words).tolist() == [list(range(words))]
            assert frequency_classes(counts, 1, 2).tolist() == [[0] * words] * 2
    assert frequency_classes([0, 0, 0, 0]).tolist() == [[0, 0, 1, 1]]  # no counts: all alike
    assert frequency_classes([1, 0, 9, 0]).tolist() == [[1, 1, 0, 1]]
    assert frequency_classes([1]).dtype == np.int64


def test_bad_settings():
    with pytest.raises(ConfigError, match="classes=4: must be <= 3"):
        frequency_classes([1, 2, 3], 4)
    with pytest.raises(ConfigError, match="classes=0"):
        frequency_classes([1, 2, 3], 0)
    with pytest.raises(ConfigError, match="levels=0"):
        frequency_classes([1, 2, 3], levels=0)
    with pytest.raises(ConfigError, match="levels=31"):
        frequency_classes([1, 2, 3], levels=31)
    with pytest.raises(DataError):
        frequency_classes([])


def test_groups_by_hand():
    #          words  0  1  2  3  4
    groups = groups_from_map([[9, 9, -5, 9, -5], [4, 2, 3, 2, 3]], [1, 2, 7, 3, 7])
    assert [part.dtype for part in groups] == [np.int32] * 4
    # rows: 0 = -5 (14), 1 = 9 (6) | 2 = class 3 in -5, 3 = class 2 (5) and 4 = class 4 (1) in 9 | words 2 4,
    # 3 1, 0
    assert groups.row.tolist() == [[1, 4, 9], [1, 3, 8], [0, 2, 5], [1, 3, 7], [0, 2, 6]]
    assert groups.group.tolist() == [[0, 2, 5], [0, 2, 4], [0, 1, 3], [0, 2, 4], [0, 1, 3]]
    assert groups.first.tolist() == [0, 2, 3, 5, 7, 9]
    assert groups.size.tolist() == [2, 1, 2, 2, 2, 1]
    assert expected_columns(groups, [1, 2, 7, 3, 7]) == pytest.approx(
        (5 * 1 + 6 * 2 + 5 * 7 + 6 * 3 + 5 * 7) / 20
    )


@given(st.integers(1, 60), st.integers(1, 3), st.integers(0, 2**32))
def test_any_nested_map(words, levels, seed):
    rng = np.random.default_rng(seed)
    counts, labels = rng.integers(0, 50, words), rng.integers(0, 4, (levels, words))
    for level in range(1, levels):  # nested, with labels that mean nothing
        labels[level] += 4 * labels[level - 1]
    shuffled = np.array([rng.permutation(1000)[row] - 500 for row in labels])
    groups = groups_from_map(shuffled, counts)
    rows = sum(len(set(row)) for row in labels.tolist()) + words
    assert groups.size.sum() == rows
    assert groups.size.min() >= 1
    # consecutive, without gaps
    np.testing.assert_array_equal(groups.first, np.cumsum(groups.size) - groups.size)
    assert (groups.group[:, 0] == 0).all()
    assert sorted(groups.row[:, -1].tolist()) == list(range(rows - words, rows))
    inside = groups.row - groups.first[groups.group]
    assert inside.min() >= 0
    assert (inside < groups.size[groups.group]).all()
    for level in range(levels):  # the same class, the same row; and on from there in the same group
        pairs = set(
            zip(
                shuffled[level].tolist(),
                groups.row[:, level].tolist(),
                groups.group[:, level + 1].tolist(),
                strict=True,
            )
        )
        assert len(pairs) == len(set(shuffled[level].tolist())) == len({row for _, row, _ in pairs})
    for level in range(levels + 1):  # falling count inside a group
        weight = np.bincount(groups.row[:, level], weights=counts, minlength=rows)
        for group in set(groups.group[:, level].tolist()):
            inside_group = weight[groups.first[group] :][: groups.size[group]]
            assert (np.diff(inside_group) <= 0).all()
    scores = rng.normal(0, 5, rows)
    step = np.concatenate([part - np.logaddexp.reduce(part) for part in np.split(scores, groups.first[1:])])
    assert np.exp(step[groups.row].sum(axis=1)).sum() == pytest.approx(1, abs=1e-12)


def test_one_class_and_a_class_for_every_word():
    counts = [1, 5, 3]
    one = groups_from_map([0, 0, 0], counts)
    assert one.first.tolist() == [0, 1]
    assert one.size.tolist() == [1, 3]
    assert one.row.tolist() == [[0, 3], [0, 1], [0, 2]]
    every = groups_from_map([0, 1, 2], counts)
    assert every.size.tolist() == [3, 1, 1, 1]
    assert every.row.tolist() == [[2, 5], [0, 3], [1, 4]]
    assert [part.tolist() for part in groups_from_map([5], [0])] == [[0, 1], [1, 1], [[0, 1]], [[0, 1]]]
    assert expected_columns(groups_from_map([0, 1, 1], [0, 0, 0]), [0, 0, 0]) == pytest.approx(
        (3 + 4 + 4) / 3
    )


def test_bad_maps():
    with pytest.raises(
        DataError,
        match="class 7 of level 1 holds the words 0 and 2, which are in different classes on level 0",
    ):
        groups_from_map([[1, 1, 2], [7, 8, 7]], [1, 1, 1])
    for wrong in ([0, 1], [[0, 1, 2, 3]], [[[0, 1, 2]]], [], [0.0, 1.0, 2.0]):
        with pytest.raises(DataError, match="a class map of shape"):
            groups_from_map(wrong, [1, 1, 1])
