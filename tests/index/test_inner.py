"""Search by inner product, and the kernels that rank rows by scores, against a full sort in float64."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import with_jit, without_jit

from unhot.errors import ConfigError, DataError
from unhot.index import best as best_module
from unhot.index import inner
from unhot.index.best import ExcludedRows, best, ranks
from unhot.index.hnsw import HnswSettings
from unhot.index.inner import InnerProduct

RNG = np.random.default_rng(7)
# small whole numbers: float32 products are exact, and there are many ties
ROWS = RNG.integers(-3, 4, (300, 5)).astype(np.float32)
BIAS = RNG.integers(-4, 5, 300).astype(np.float32)
QUERIES = RNG.integers(-3, 4, (40, 5)).astype(np.float32)
# vectors of varied lengths, and queries
VARIED = (RNG.normal(size=(5000, 24)) * RNG.lognormal(0, 0.5, (5000, 1))).astype(np.float32)
HEIGHTS = RNG.normal(size=5000).astype(np.float32) * 3
ASKED = RNG.normal(size=(100, 24)).astype(np.float32)


def excluded(lists):
    ids = np.array([row for rows in lists for row in rows], np.int64)
    return ExcludedRows(ids, np.cumsum([0, *map(len, lists)]))


def sorted_rows(scores, k, lists=None, allowed=None):
    """The reference: a stable full sort of each line in float64."""
    out_ids, out_scores = np.full((len(scores), k), -1), np.full((len(scores), k), -np.inf)
    for i, line in enumerate(np.asarray(scores, np.float64)):
        usable = ~np.isnan(line) & (line > -np.inf)
        if lists is not None:
            usable[[row for row in lists[i] if 0 <= row < len(line)]] = False
        if allowed is not None:
            usable &= np.broadcast_to(allowed, np.shape(scores))[i]
        order = [row for row in np.argsort(-line, kind="stable") if usable[row]][:k]
        out_ids[i, : len(order)], out_scores[i, : len(order)] = order, line[order]
    return out_ids, out_scores


def assert_same(found, expected):
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1].astype(np.float32))
    assert found[0].dtype == np.int64
    assert found[1].dtype == np.float32


def recall(found, expected):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found, expected, strict=True)])


LISTS = [RNG.integers(-1, 302, RNG.integers(0, 60)).tolist() for _ in range(40)]  # also what is no row
MASK, MASKS = RNG.random(300) < 0.3, RNG.random((40, 300)) < 0.02


@pytest.mark.parametrize("bias", [None, BIAS])
@pytest.mark.parametrize("lists", [None, LISTS])
@pytest.mark.parametrize("allowed", [None, MASK, MASKS])
@pytest.mark.parametrize("k", [1, 9, 310])
def test_exact_search_is_a_full_sort(bias, lists, allowed, k, monkeypatch):
    monkeypatch.setattr(inner, "BLOCK_BYTES", 4 * 300 * 7)  # blocks of 7 queries
    index = InnerProduct(ROWS, bias, threads=2)
    scores = QUERIES.astype(np.float64) @ ROWS.T.astype(np.float64) + (0 if bias is None else bias)
    np.testing.assert_array_equal(index.scores(QUERIES), scores)
    found = index.search(QUERIES, k, exclude=None if lists is None else excluded(lists), allowed=allowed)
    assert_same(found, sorted_rows(scores, k, lists, allowed))


def test_scores_of_any_vectors():
    scores = InnerProduct(VARIED, HEIGHTS).scores(ASKED)
    expected = ASKED.astype(np.float64) @ VARIED.T.astype(np.float64) + HEIGHTS
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    assert scores.dtype == np.float32


@given(
    st.lists(
        st.lists(st.sampled_from([-1.0, 0.0, 1.0, 2.0, np.nan, np.inf, -np.inf]), min_size=9, max_size=9),
        max_size=4,
    ),
    st.integers(1, 11),
    st.lists(st.integers(-2, 10), max_size=5),
    st.integers(0, 2**9 - 1),
)
def test_the_best_of_any_scores(lines, k, barred, bits):
    scores = np.array(lines, np.float32).reshape(-1, 9)
    allowed = np.array([bits >> row & 1 for row in range(9)], bool)
    lists = [barred[i:] for i in range(len(scores))]
    assert_same(
        best(scores.copy(), k, excluded(lists), allowed), sorted_rows(scores, k, lists, np.array(allowed))
    )


def test_many_scores_rising_falling_and_random():
    """Heaps of many entries, several stretches, and an end that fills no stretch."""
    scores = RNG.normal(size=(6, 1003)).astype(np.float32)
    scores[0].sort()
    scores[1] = -np.sort(-scores[1])
    scores[2] = np.rint(scores[2])
    for k in (1, 2, 100, 1003):
        assert_same(best(scores, k), sorted_rows(scores, k))


def counts_of(line, target, barred):
    """How many candidates are above the target, and how many are equal to it, row by row."""
    own = line[target] if target >= 0 and target not in barred and line[target] > -np.inf else -np.inf
    others = [s for row, s in enumerate(line) if row != target and row not in barred and s > -np.inf]
    return sum(s > own for s in others), sum(s == own for s in others)


@given(
    st.lists(st.sampled_from([-1.0, 0.0, 1.0, np.nan, np.inf, -np.inf]), min_size=6, max_size=6),
    st.integers(-1, 5),
    st.lists(st.integers(-2, 8), max_size=5),
)
def test_ranks_of_any_scores(line, target, barred):
    above, equal = counts_of(line, target, barred)
    scores = np.array([line], np.float32)
    assert ranks(scores, [target], excluded([barred])) == [1 + above + equal / 2]
    for row in range(6):  # what is left of the scores, as the docstring says
        kept = np.float32(line[row] if row not in barred else -np.inf)
        np.testing.assert_array_equal(scores[0, row], kept)


def test_ranks_by_hand():
    line = [5.0, 3.0, 3.0, 3.0, 9.0, np.nan]
    targets = [0, 1, 5, -1, 4]
    lists = [[4], [2, 2, 4], [], [0, 4], [4]]  # row 4 is a target as well as excluded: behind all others
    found = ranks(np.array([line] * 5, np.float32), targets, excluded(lists))
    assert found.tolist() == [1, 1 + 1 + 1 / 2, 6, 4, 5]
    assert found.dtype == np.float64


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(best_module, "SHARED", 0)
    scores = RNG.integers(-50, 50, (53, 400)).astype(np.float32)
    lists, masks = [RNG.integers(0, 400, 20).tolist() for _ in range(53)], RNG.random((53, 400)) < 0.5
    for allowed in (masks, masks[0], None):
        one, three = (best(scores.copy(), 5, excluded(lists), allowed, threads) for threads in (1, 3))
        assert_same(one, sorted_rows(scores, 5, lists, allowed))
        assert_same(three, one)
    targets = RNG.integers(-1, 400, 53)
    expected = [counts_of(*each) for each in zip(scores, targets, lists, strict=True)]
    found = ranks(scores, targets, excluded(lists), threads=3)
    np.testing.assert_array_equal(found, [1 + above + equal / 2 for above, equal in expected])


def test_scores_that_cannot_be_changed_are_copied():
    scores = np.arange(6.0).reshape(2, 3)
    scores.flags.writeable = False
    assert best(scores, 1, excluded([[2], []]))[0].tolist() == [[1], [2]]
    assert ranks(scores.T, [0, 1, 0]).tolist() == [2, 1, 2]


@pytest.mark.parametrize("bias", [None, HEIGHTS])
def test_a_graph_misses_little_and_its_scores_are_exact(bias, monkeypatch):
    index = InnerProduct(VARIED, bias, graph=HnswSettings(), threads=2)
    scores = ASKED.astype(np.float64) @ VARIED.T.astype(np.float64) + (0 if bias is None else bias)
    expected = sorted_rows(scores, 10)[0]
    lists = [rows[: line % 8].tolist() for line, rows in enumerate(expected)]
    allowed = RNG.random(5000) < 0.7
    left = sorted_rows(scores, 10, lists, allowed)[0]
    monkeypatch.setattr(inner, "best", None)  # exact search must answer none of these
    for found, wanted in (
        (index.search(ASKED, 10), expected),
        (index.search(ASKED, 10, exclude=excluded(lists), allowed=allowed), left),
    ):
        ids, near = found
        assert recall(ids, wanted) >= 0.95
        np.testing.assert_allclose(near, np.take_along_axis(scores, ids, axis=1), rtol=1e-6)
        assert (np.diff(near, axis=1) <= 0).all()
    assert not any(set(a) & set(b) for a, b in zip(ids.tolist(), lists, strict=True))
    assert allowed[ids].all()


def test_exact_search_steps_in_where_a_graph_finds_too_little():
    """Few rows are allowed, or nearly all are excluded, or more are wanted than a graph is good for."""
    rows, queries = VARIED[:800], ASKED[:6]
    index = InnerProduct(rows, HEIGHTS[:800], graph=HnswSettings())
    exact = InnerProduct(rows, HEIGHTS[:800])
    few, each = np.arange(800) % 100 == 3, RNG.random((6, 800)) < 0.01
    lists = excluded([[], range(790), [], range(3, 800), range(800), [5]])
    for how in ({"allowed": few}, {"allowed": each}, {"exclude": lists, "allowed": each}, {"exclude": lists}):
        for k in (3, 10) if "allowed" in how else (400, 900):
            np.testing.assert_array_equal(
                index.search(queries, k, **how)[0], exact.search(queries, k, **how)[0]
            )
    found = index.search(queries, 5, exclude=lists)[0]
    assert (found >= 0).sum(axis=1).tolist() == [5, 5, 5, 3, 0, 5]
    assert sorted(found[3, :3]) == [0, 1, 2]


@pytest.mark.parametrize("graph", [None, HnswSettings()])
def test_what_is_not_finite_is_never_found(graph):
    rows, bias = ROWS.copy(), BIAS.copy()
    rows[3, 1], rows[5, 0] = np.nan, np.inf
    rows[6, 0], bias[7] = -np.inf, np.nan
    bias[8] = np.inf
    index = InnerProduct(rows, bias, graph=graph)
    ids, scores = index.search(
        [[1, 1, 1, 1, 1], [0, 0, 0, 0, 0], [np.nan, 1, 1, 1, 1], [1e300, 1, 1, 1, 1]], 300
    )
    assert sorted(ids[0, :295]) == [row for row in range(300) if row not in (3, 5, 6, 7, 8)]
    assert np.isfinite(scores[:2, :295]).all()
    assert (ids[:2, 295:] == -1).all()
    assert (ids[2:] == -1).all()
    assert np.isnan(scores[2:]).all()
    # a query of zeros: the biases alone, ties by row
    usable = np.isfinite(rows).all(axis=1) & np.isfinite(bias)
    np.testing.assert_array_equal(ids[1], sorted_rows(np.where(usable, bias, np.nan)[None], 300)[0][0])


@pytest.mark.parametrize("graph", [None, HnswSettings()])
def test_zeros_and_nothing(graph):
    index = InnerProduct(ROWS, graph=graph)
    assert index.search(np.zeros((1, 5)), 3)[0].tolist() == [[0, 1, 2]]
    assert index.search(np.empty((0, 5)), 3)[0].shape == (0, 3)
    assert index.scores(np.empty((0, 5))).shape == (0, 300)
    zeros = InnerProduct(np.zeros((200, 2), np.float32), graph=graph)
    assert zeros.search([[1, 2]], 2, exclude=excluded([[]]))[0].tolist() == [[0, 1]]
    ids, scores = InnerProduct(np.empty((0, 4), np.float32), graph=graph).search(np.ones((2, 4)), 3)
    assert (ids == -1).all()
    assert (scores == -np.inf).all()
    assert ids.shape == scores.shape == (2, 3)
    narrow = InnerProduct(np.empty((3, 0), np.float32), [1, 3, 2], graph=graph)
    assert narrow.search(np.empty((1, 0)), 2)[0].tolist() == [[1, 2]]
    nothing = np.empty((2, 0), np.float32)
    assert best(nothing, 2)[0].tolist() == [[-1, -1]] * 2
    assert ranks(nothing, [-1, -1]).tolist() == [1, 1]


@pytest.mark.parametrize(("scale", "times"), [(1e-30, 1), (1e-30, 1e6), (1e20, 1e4), (1e-20, 1e12)])
def test_long_and_short_rows_in_a_graph(scale, times):
    """Squares of such numbers are beyond float32; and one row is much longer than all others."""
    rows = VARIED[:1000] * np.float32(scale)
    rows[5] *= times
    scores = ASKED.astype(np.float64) @ rows.T.astype(np.float64)
    index = InnerProduct(rows, graph=HnswSettings())
    assert recall(index.search(ASKED, 5)[0], sorted_rows(scores, 5)[0]) >= 0.95


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: InnerProduct(np.ones(3)), r"vectors has shape \(3,\)"),
        (lambda: InnerProduct(ROWS, np.ones(7)), r"300 vectors, but bias has shape \(7,\)"),
        (lambda: InnerProduct(ROWS).search(np.ones((1, 4)), 1), "5 numbers in each row"),
        (lambda: InnerProduct(ROWS).scores(np.ones(5)), r"queries has shape \(5,\)"),
        (lambda: InnerProduct(ROWS).search(QUERIES, 1, exclude=excluded([[1]])), "41 rising"),
        (
            lambda: InnerProduct(ROWS).search(QUERIES, 1, allowed=MASK[:9]),
            r"shape \(9,\) .* \(300,\) or \(40",
        ),
        (lambda: InnerProduct(ROWS).search(QUERIES, 1, allowed=ROWS[:, 0]), "type float32"),
        (lambda: best(np.ones((1, 2)), 1, ExcludedRows([0], [0, 2])), r"\[0 2\]: .* 0 to 1"),
        (lambda: best(np.ones((2, 2)), 1, ExcludedRows([0], [0, 1, 0])), "rising positions"),
        (lambda: best(np.ones((1, 2)), 1, ExcludedRows([0], [-1, 1])), r"\[-1  1\]: .* 0 to 1"),
        (lambda: best(np.ones((1, 2)), 1, ExcludedRows([0.5], [0, 1])), "exclude.ids has the type float64"),
        (lambda: best(np.ones(2), 1), r"scores has shape \(2,\)"),
        (lambda: ranks(np.ones((1, 2)), [2]), "one row below 2"),
        (lambda: ranks(np.ones((2, 2)), [0]), r"targets has shape \(1,\)"),
        (lambda: ranks(np.ones((1, 2)), [0.0]), "targets has the type float64"),
    ],
)
def test_wrong_questions(wrong, message):
    with pytest.raises(DataError, match=message):
        wrong()


def test_wrong_settings():
    with pytest.raises(ConfigError, match="k=0"):
        InnerProduct(ROWS).search(QUERIES, 0)
    with pytest.raises(ConfigError, match="threads=0"):
        InnerProduct(ROWS, threads=0)
    with pytest.raises(ConfigError, match="threads=0"):
        best(np.ones((1, 2)), 1, threads=0)


PLAIN = """
import numpy as np
from unhot.index.best import ExcludedRows, ranks
from unhot.index.inner import InnerProduct
from unhot.kernels.jit import ENABLED
rows = np.random.default_rng(0).integers(-2, 3, (150, 3)).astype(np.float32)
rows[4] = np.nan
index = InnerProduct(rows, rows[:, 0], threads=2)
exclude = ExcludedRows(np.array([1, 2, 1, 7, -1, 150]), np.array([0, 3, 4, 6]))
ids, scores = index.search(rows[:3], 9, exclude=exclude, allowed=np.arange(150) % 3 > 0)
found = ranks(index.scores(rows[:3]), [1, -1, 4], exclude)
print(ENABLED, ids.tolist(), scores.tolist(), found.tolist())
"""


def test_the_same_without_the_compiler():
    outputs = [with_jit(PLAIN), without_jit(PLAIN)]
    assert outputs[0].replace("True", "False") == outputs[1]
    assert "True" in outputs[0]
