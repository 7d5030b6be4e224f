"""Features as rows of a table: categories, numbers in buckets or normalized, values that are missing."""

import numpy as np
import pytest

from unhot.errors import FormatError
from unhot.items.feature_rows import (
    FeatureRows,
    feature_tensors,
    look_up_all,
    saved_features,
    side_rows,
)
from unhot.items.kept_log import NO_SIDES, SideValues
from unhot.logs.features import Feature

RNG = np.random.default_rng(4)


def numbers(*values):
    return Feature(np.array(values, np.float32))


def words(*values):
    """A column of categories, None where one is missing."""
    known = [*dict.fromkeys(value for value in values if value is not None)]
    ids = [-1 if value is None else known.index(value) for value in values]
    return Feature(np.array(ids, np.int32), known)


def rows_of(known, feature):
    """The rows of some values, None where there is none."""
    rows, weights = known.look_up(feature)
    assert rows.dtype == np.int32
    assert weights.dtype == np.float32
    assert np.isfinite(weights).all()
    return [int(row) if row >= 0 else None for row in rows]


def test_categories_have_a_row_each():
    known = FeatureRows.learned("device", words("tv", "web", "tv", None), 10)
    assert known.size == 2
    assert rows_of(known, words("web", "tablet", None, "tv")) == [1, None, None, 0]
    assert known.look_up(words("web", "tv"))[1].tolist() == [1, 1]


def test_buckets_hold_about_equally_many_values():
    values = RNG.lognormal(0, 3, 1000).astype(np.float32)
    known = FeatureRows.learned("price", Feature(values), 7)
    assert known.size == 7
    rows, weights = known.look_up(Feature(values))
    sizes = np.bincount(rows)
    assert sizes.size == 7
    assert sizes.min() >= 142
    assert sizes.max() <= 144
    assert (weights == 1).all()
    order = np.argsort(values)
    assert (np.diff(rows[order]) >= 0).all()  # and are ranges
    assert rows_of(known, numbers(-1e30, np.nan, 1e30)) == [0, None, 6]


def test_values_that_are_frequent_share_a_bucket():
    known = FeatureRows.learned("n", numbers(*[0] * 90, *range(1, 11)), 5)
    rows = rows_of(known, numbers(*range(11)))
    assert len({*rows}) == known.size - 1 == 1  # nothing is below the smallest value
    known = FeatureRows.learned("n", numbers(*range(100), *[0] * 100), 4)
    rows = rows_of(known, numbers(*range(100)))
    assert [rows.count(row) for row in sorted({*rows})] == [50, 50]
    assert FeatureRows.learned("n", numbers(3, 4), 1).size == 1


def test_normalized_numbers_have_mean_0_and_deviation_1():
    values = RNG.normal(50, 9, 400).astype(np.float32)
    known = FeatureRows.learned("age", Feature(np.append(values, np.float32(np.nan))), 0)
    assert known.size == 1
    rows, weights = known.look_up(Feature(np.append(values, np.float32(np.nan))))
    assert rows.tolist() == [0] * 400 + [-1]
    assert weights[:-1].mean() == pytest.approx(0, abs=1e-5)
    assert weights[:-1].std() == pytest.approx(1, abs=1e-5)
    assert weights[-1] == 0
    assert known.look_up(words("50"))[1] == pytest.approx((50 - values.mean()) / values.std(), rel=1e-3)


def test_one_number_alone_is_its_mean():
    known = FeatureRows.learned("n", numbers(3, 3, 3), 0)
    assert known.look_up(numbers(3, 5))[1].tolist() == [0, 2]


@pytest.mark.parametrize("buckets", [0, 1, 4])
def test_numbers_may_come_as_text(buckets):
    values = (0.1, 0.3, 1234567, 8, 0.7)  # edges of four buckets are values: 0.3 in single precision, too
    known = FeatureRows.learned("n", numbers(*values), buckets)
    for text in (str, "{:.0e}".format, " {}\n".format):
        given = [float(text(value)) for value in values]
        expected = known.look_up(numbers(*given))
        found = known.look_up(words(*map(text, values)))
        assert found[0].tolist() == expected[0].tolist()
        assert found[1] == pytest.approx(expected[1])
    assert rows_of(known, words("many", None, "8")) == [None, None, rows_of(known, numbers(8))[0]]


def test_categories_may_come_as_numbers():
    known = FeatureRows.learned("shop", words("7", "1234567", "0.1", "-2.5", "10000000000"), 10)
    assert rows_of(known, numbers(0.1, 7, 1234567, -2.5, 1e10, 3, np.nan)) == [2, 0, 1, 3, 4, None, None]


def test_each_feature_has_a_range_of_rows():
    columns = {"device": words("tv", "web", None), "price": numbers(1, np.nan, 9), "age": numbers(4, 5, 6)}
    known = [FeatureRows.learned(name, each, 2 * (name == "price")) for name, each in columns.items()]
    rows, weights = look_up_all(known, columns, 3)
    assert [each.size for each in known] == [2, 2, 1]
    assert rows.tolist() == [[0, 2, 4], [1, -1, 4], [-1, 3, 4]]
    assert weights[:, :2][rows[:, :2] >= 0].tolist() == [1] * 4
    assert weights[:, 2] == pytest.approx([-(1.5**0.5), 0, 1.5**0.5])
    # one that is not given has no values, and one that is not known is not asked for
    rows, _ = look_up_all(known, {"age": columns["age"], "town": columns["device"]}, 3)
    assert rows.tolist() == [[-1, -1, 4]] * 3
    assert look_up_all([], columns, 3) is None


def test_a_column_without_values_has_none():
    for feature in (numbers(np.nan, np.nan), words(None, None)):
        for buckets in (0, 4):
            known = FeatureRows.learned("x", feature, buckets)
            assert np.isfinite(known.numbers).all()
            assert rows_of(known, feature) == [None, None]
            assert rows_of(known, numbers(5)) == [None]  # nothing was learned for a value


# ---- side columns


def sides_of(*items):
    """The side values of items: a list of COLUMN=VALUE for each."""
    known = sorted({value for item in items for value in item})
    ids = [known.index(value) for item in items for value in item]
    return SideValues(known, np.append(0, np.cumsum([*map(len, items)])), np.array(ids, np.int32))


def entries(found, item):
    own = slice(found.starts[item], found.starts[item + 1])
    return [
        *zip(found.columns[own].tolist(), found.rows[own].tolist(), found.weights[own].tolist(), strict=True)
    ]


def test_side_columns_are_categories_or_numbers():
    sides = sides_of(
        ["brand=acme", "color=red", "size=10"],
        [],
        ["color=red", "color=blue", "size=30"],
        ["brand=3", "size=20"],
    )
    found = side_rows(sides, 4, 0)
    assert (found.number, found.size) == (3, 2 + 2 + 1)
    brands, colors = {"acme": 1, "3": 0}, {"red": 3, "blue": 2}
    by = (1.5**0.5,)
    assert entries(found, 0) == [(0, brands["acme"], 1), (1, colors["red"], 1), (2, 4, pytest.approx(-by[0]))]
    assert entries(found, 1) == []
    assert entries(found, 2) == [(1, colors["red"], 1), (1, colors["blue"], 1), (2, 4, pytest.approx(by[0]))]
    assert entries(found, 3) == [(0, brands["3"], 1), (2, 4, pytest.approx(0, abs=1e-6))]


def test_side_numbers_count_once_for_each_item():
    """Nine items of size 1 and one of each other size: a bucket is for items, not for different sizes."""
    sides = sides_of(*[["size=1"]] * 9, *([f"size={n}"] for n in (2, 3, 4)))
    found = side_rows(sides, 12, 2)
    rows = [entries(found, item)[0][1] for item in range(12)]
    assert rows == [rows[0]] * 12  # more than half of all are 1
    normalized = side_rows(sides, 12, 0)
    weights = [entries(normalized, item)[0][2] for item in range(12)]
    assert np.mean(weights) == pytest.approx(0, abs=1e-6)
    assert np.std(weights) == pytest.approx(1, abs=1e-6)


def test_no_side_values():
    found = side_rows(NO_SIDES, 3, 10)
    assert (found.starts.tolist(), found.rows.size, found.size, found.number) == ([0] * 4, 0, 0, 0)


# ---- saved

KNOWN = [
    FeatureRows.learned("device", words("tv", "web", "x\ny"), 10),
    FeatureRows.learned("price", numbers(1, 5, 9, 12), 3),
    FeatureRows.learned("age", numbers(1, 2), 0),
    FeatureRows.learned("empty", words(None), 0),
]


def test_rows_are_saved_and_read_back():
    found = saved_features(feature_tensors(KNOWN))
    assert [(each.name, each.kind, [*each.words]) for each in found] == [
        (each.name, each.kind, [*each.words]) for each in KNOWN
    ]
    for one, other in zip(found, KNOWN, strict=True):
        assert one.numbers.tolist() == other.numbers.tolist()
        assert one.size == other.size
    assert saved_features({}) == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("feature0.numbers", lambda _: np.ones(3)),
        ("feature1.numbers", lambda array: array.astype(np.float32)),
        ("feature1.numbers", lambda array: array[:, None]),
        ("feature1.numbers", lambda array: array[::-1].copy()),
        ("feature2.numbers", lambda array: array[:1]),
        ("feature2.numbers", lambda _: None),
        ("feature2.numbers", lambda array: array * [1, 0]),
        ("feature0.text", lambda array: array[:-1]),
        ("feature0.text", lambda array: array.astype(np.int32)),
        ("feature0.text", lambda array: array[:0]),
        ("feature0.starts", lambda _: None),
        ("feature0.starts", lambda array: array[:-1]),
        ("feature0.starts", lambda array: array[:1]),
        ("feature0.starts", lambda array: array[::-1].copy()),
        ("feature1.starts", lambda array: array.astype(np.float64)),
    ],
)
def test_damaged_rows_are_refused(name, change):
    tensors = feature_tensors(KNOWN)
    damaged = change(tensors.get(name))
    kept = {key: array for key, array in tensors.items() if key != name}
    with pytest.raises(FormatError):
        saved_features(kept if damaged is None else {**kept, name: damaged})
