"""Scores, draws and entropies against SciPy's and torch's numbers, plain Python and their own limits."""

import json
import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot import probability as pr
from unhot.errors import ConfigError, DataError

GOLDEN = Path(__file__).parent / "golden"
GUMBEL = json.loads((GOLDEN / "gumbel_max.json").read_text())["cases"]
EXTREME = json.loads((GOLDEN / "torch_extreme_logits.json").read_text())["extreme_logits"]
ENTROPY = json.loads((GOLDEN / "scipy_entropy.json").read_text())["entropy"]
INF = math.inf
EXACT = {"rtol": 1e-12, "atol": 1e-14}

possible_scores = st.lists(
    st.floats(allow_nan=False) | st.sampled_from([-INF, INF, 1000.0, -1000.0]), min_size=1, max_size=8
).filter(lambda scores: max(scores) > -INF)
moderate_scores = st.lists(st.floats(-1000, 1000), min_size=1, max_size=8)
temperatures = st.floats(0, INF) | st.sampled_from([0, 1, INF, 5e-324, 1e308])


@st.composite
def two_distributions(draw):
    """Two distributions over the same ids, zeros included."""
    weights = st.lists(st.integers(0, 1000), min_size=5, max_size=5).filter(any)
    return np.array([np.array(w) / sum(w) for w in (draw(weights), draw(weights))])


def rng(seed=20):
    return np.random.default_rng(seed)


def numbers(values):
    """JSON's "inf" and "-inf" as floats."""
    return np.array([float(v) for v in values])


def normalised(values):
    return np.array(values) / sum(values)


def rows_of(scores, rows):
    return np.broadcast_to(np.asarray(scores, float), (rows, len(scores)))


def assert_drawn(found, expected, draws):
    """Relative frequencies within 5.5 standard errors (once in 10**7), impossible ones never."""
    found, expected = np.asarray(found) / draws, np.asarray(expected)
    assert (found[expected == 0] == 0).all()
    assert (np.abs(found - expected) <= 5.5 * np.sqrt(expected * (1 - expected) / draws) + 1e-12).all()


# scores


@pytest.mark.parametrize("case", EXTREME, ids=lambda case: str(case["logits"]))
def test_torch_at_extreme_scores(case):
    scores = numbers(case["logits"])
    np.testing.assert_allclose(pr.log_softmax(scores), numbers(case["log_softmax"]), **EXACT)
    np.testing.assert_allclose(pr.softmax(scores), numbers(case["softmax"]), **EXACT)
    np.testing.assert_allclose(pr.log_sum_exp(scores), case["logsumexp"], **EXACT)


@pytest.mark.parametrize("case", GUMBEL, ids=lambda case: case["name"])
def test_scipy_softmax(case):
    scores = numbers(case["logits"])
    np.testing.assert_allclose(pr.softmax(scores), case["probabilities"], **EXACT)
    np.testing.assert_allclose(pr.log_softmax(scores), numbers(case["log_probabilities"]), **EXACT)
    np.testing.assert_allclose(pr.log_sum_exp(scores), case["log_sum_exp"], **EXACT)
    assert pr.most_likely(scores) == case["probabilities"].index(max(case["probabilities"]))


@given(moderate_scores, st.floats(0.01, 100))
def test_softmax_is_its_formula(scores, temperature):
    best = max(scores)
    weights = [math.exp((s - best) / temperature) for s in scores]
    np.testing.assert_allclose(pr.softmax(scores, temperature), normalised(weights), **EXACT)
    total = best / temperature + math.log(math.fsum(weights))
    np.testing.assert_allclose(
        pr.log_softmax(scores, temperature), [s / temperature - total for s in scores], rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(pr.log_sum_exp(np.array(scores) / temperature), total, rtol=1e-9, atol=1e-12)


@given(possible_scores, temperatures)
def test_any_scores_give_a_distribution(scores, temperature):
    p, log_p = pr.softmax(scores, temperature), pr.log_softmax(scores, temperature)
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert not np.isnan(log_p).any()
    assert (log_p <= 0).all()
    np.testing.assert_allclose(np.exp(log_p), p, rtol=1e-10, atol=1e-300)
    assert (p[np.array(scores) == -INF] == 0).all()
    assert p[pr.most_likely(scores)] == p.max()
    assert max(scores) <= pr.log_sum_exp(scores)


@given(
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=8),
    st.integers(-(2**40), 2**40),
    st.sampled_from([0, 0.5, 1, 3, INF]),
)
def test_a_constant_changes_nothing(scores, constant, temperature):
    moved = np.array(scores) + constant  # whole numbers: exact
    np.testing.assert_array_equal(pr.softmax(moved, temperature), pr.softmax(scores, temperature))
    np.testing.assert_array_equal(pr.log_softmax(moved, temperature), pr.log_softmax(scores, temperature))
    assert pr.gumbel_max(moved, rng(), temperature) == pr.gumbel_max(scores, rng(), temperature)
    np.testing.assert_array_equal(
        pr.gumbel_top_k(moved, len(scores), rng()), pr.gumbel_top_k(scores, len(scores), rng())
    )
    assert pr.log_sum_exp(moved) == pytest.approx(pr.log_sum_exp(scores) + constant, rel=1e-14, abs=1e-12)


def test_a_factor_changes_much():
    assert pr.softmax([1.0, 2.0])[1] == pytest.approx(1 / (1 + math.exp(-1)))
    assert pr.softmax([10.0, 20.0])[1] == pytest.approx(1 / (1 + math.exp(-10)))


@pytest.mark.parametrize(
    ("scores", "temperature", "expected"),
    [
        ([1.0, 5.0, -INF, 5.0], 0, [0, 0.5, 0, 0.5]),
        ([1.0, 5.0, -INF, 5.0], 5e-324, [0, 0.5, 0, 0.5]),
        ([1.0, 5.0, -INF, 5.0], INF, [1 / 3, 1 / 3, 0, 1 / 3]),
        ([1e308, -1e308, -INF], INF, [0.5, 0.5, 0]),
        ([1e308, -1e308], 1e308, [1 / (1 + math.exp(-2)), 1 / (1 + math.exp(2))]),
        ([INF, 3.0, INF, -INF], 1, [0.5, 0, 0.5, 0]),
        ([INF, 3.0, INF, -INF], 0, [0.5, 0, 0.5, 0]),
        ([INF, 3.0, INF, -INF], INF, [0.5, 0, 0.5, 0]),
        ([-7.0], 1, [1]),
        ([5e-324, 0.0], 0, [1, 0]),
    ],
)
def test_limits(scores, temperature, expected):
    np.testing.assert_allclose(pr.softmax(scores, temperature), expected, **EXACT)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(pr.log_softmax(scores, temperature), np.log(expected), **EXACT)
    draws = pr.gumbel_max(rows_of(scores, 20_000), rng(), temperature)
    assert_drawn(np.bincount(draws, minlength=len(scores)), expected, draws.size)


def test_log_sum_exp_of_infinite_scores():
    np.testing.assert_array_equal(pr.log_sum_exp([[-INF, -INF], [INF, 1.0], [INF, -INF]]), [-INF, INF, INF])


def test_most_likely_takes_the_lowest_of_equals():
    assert pr.most_likely([1.0, 3.0, 3.0]) == 1
    assert pr.most_likely([1.0, INF, INF]) == 1


def test_every_rank_works_on_the_last_axis():
    scores = rng().normal(size=(2, 3, 4, 5)) * 10
    for function in (pr.softmax, pr.log_softmax, pr.log_sum_exp, pr.most_likely):
        batch = function(scores)
        for where in np.ndindex(2, 3, 4):
            np.testing.assert_array_equal(batch[where], function(scores[where]))
    p, r = pr.softmax(scores), pr.softmax(scores[::-1])
    np.testing.assert_array_equal(
        pr.kl_divergence(p, r)[1, 2], [pr.kl_divergence(a, b) for a, b in zip(p[1, 2], r[1, 2], strict=True)]
    )
    np.testing.assert_array_equal(
        pr.importance_sampling(p, scores).mean[1, 2, 3],
        pr.importance_sampling(p[1, 2, 3], scores[1, 2, 3]).mean,
    )
    assert pr.gumbel_max(scores, rng()).shape == (2, 3, 4)
    assert pr.gumbel_top_k(scores, 3, rng()).shape == (2, 3, 4, 3)


def test_types_of_results():
    assert pr.softmax(np.array([1, 2], np.float32)).dtype == np.float64
    assert isinstance(pr.entropy([0.5, 0.5]), np.float64)
    assert isinstance(pr.bits(1), np.float64)
    assert all(isinstance(part, np.float64) for part in pr.monte_carlo([1.0]))
    assert isinstance(pr.most_likely([0.5, 0.5]), np.int32)
    assert pr.gumbel_top_k([0.5, 0.5], 1, rng()).dtype == np.int32
    assert pr.softmax(np.empty((0, 5))).shape == (0, 5)
    assert pr.gumbel_top_k(np.empty((0, 5)), 2, rng()).shape == (0, 2)


def test_input_is_left_alone():
    scores = np.array([1.0, INF, -INF])
    for function in (
        pr.softmax,
        pr.log_softmax,
        pr.log_sum_exp,
        lambda s: pr.gumbel_max(s, rng()),
        lambda s: pr.gumbel_top_k(s, 2, rng()),
    ):
        function(scores)
    np.testing.assert_array_equal(scores, [1.0, INF, -INF])


# draws


class Edges(np.random.Generator):
    """A generator that gives only the smallest and the largest number `random` can give."""

    def random(self, size=None, *_):
        return np.resize([0.0, 1 - 2.0**-53], size)


def test_noise_is_finite_at_the_edges():
    low, high = pr.gumbel(2, Edges(np.random.PCG64(1)))
    assert -3.7 < low < high < 36.8


def test_noise_is_its_formula():
    np.testing.assert_allclose(
        pr.gumbel(100, rng()), [-math.log(-math.log(u)) for u in rng().random(100)], rtol=1e-10
    )


@pytest.mark.parametrize("case", GUMBEL, ids=lambda case: case["name"])
def test_noise_has_the_right_maximum(case):
    largest = (
        rows_of(numbers(case["logits"]), 100_000) + pr.gumbel((100_000, len(case["logits"])), rng())
    ).max(axis=1)
    assert abs(largest.mean() - case["mean_of_maximum"]) < 5.5 * case["std_of_maximum"] / math.sqrt(
        largest.size
    )
    assert largest.std() == pytest.approx(case["std_of_maximum"], rel=0.02)


@pytest.mark.parametrize("case", GUMBEL, ids=lambda case: case["name"])
def test_draws_follow_the_softmax(case):
    draws, p = case["draws"], np.array(case["probabilities"])
    found = np.bincount(pr.gumbel_max(rows_of(numbers(case["logits"]), draws), rng()), minlength=p.size)
    groups, rest = case["groups"], sorted(set(range(p.size)) - set(case["groups"]))
    chi_square = (((found - draws * p) ** 2)[groups] / (draws * p)[groups]).sum()
    if case["pooled_expected"] >= 5:
        chi_square += (found[rest].sum() - case["pooled_expected"]) ** 2 / case["pooled_expected"]
    assert chi_square <= case["chi_square_threshold"]["1e-06"]
    assert found[case["impossible"]].sum() == 0


def test_temperature_tempers_the_draws():
    scores = [0.0, 1.0, 2.0, -1.0]
    for temperature in (0.5, 3.0):
        draws = pr.gumbel_max(rows_of(scores, 50_000), rng(), temperature)
        weights = [math.exp(s / temperature) for s in scores]
        assert_drawn(np.bincount(draws, minlength=4), normalised(weights), draws.size)


@pytest.mark.parametrize(
    "case", [case for case in GUMBEL if "top2_ordered" in case], ids=lambda case: case["name"]
)
def test_the_first_two_follow_plackett_and_luce(case):
    size, draws = len(case["logits"]), 100_000
    pairs = pr.gumbel_top_k(rows_of(numbers(case["logits"]), draws), 2, rng())
    expected = np.zeros((size, size))
    for pair, chance in case["top2_ordered"].items():
        first, second = map(int, pair.split(","))
        expected[first, second] = chance
    found = np.zeros((size, size))
    np.add.at(found, (pairs[:, 0], pairs[:, 1]), 1)
    assert_drawn(found, expected, draws)
    assert_drawn(np.bincount(pairs.ravel(), minlength=size), case["top2_inclusion"], draws)


def test_all_orders_follow_plackett_and_luce():
    weights, draws = [1.0, 2.0, 4.0, 0.5], 60_000
    orders = pr.gumbel_top_k(rows_of(np.log(weights), draws), 4, rng())
    found = {order: 0 for order in permutations(range(4))}
    for order in map(tuple, orders.tolist()):
        found[order] += 1
    expected = [
        math.prod(weights[order[i]] / sum(weights[j] for j in order[i:]) for i in range(4)) for order in found
    ]
    assert sum(expected) == pytest.approx(1)
    assert_drawn(list(found.values()), expected, draws)


def test_top_k_is_the_head_of_the_whole_order():
    scores = rng(1).normal(size=(3, 2000)) * 5
    order = np.argsort(-(scores + pr.gumbel(scores.shape, rng())), axis=-1)
    for k in (0, 1, 40, 1000, 2000):
        np.testing.assert_array_equal(pr.gumbel_top_k(scores, k, rng()), order[:, :k])


def test_a_finite_score_stays_possible_however_low():
    scores = [-INF] * 10 + [-1.7e308, 1.7e308] + [-INF] * 10
    assert pr.gumbel_top_k(scores, 2, rng()).tolist() == [11, 10]


def test_infinite_scores_come_first_and_in_random_order():
    orders = pr.gumbel_top_k(rows_of([0.0, INF, -INF, math.log(3), INF, -1e308], 20_000), 5, rng())
    assert set(map(tuple, orders[:, :2].tolist())) == {(1, 4), (4, 1)}
    assert_drawn(np.bincount(orders[:, 0], minlength=6), [0, 0.5, 0, 0, 0.5, 0], len(orders))
    assert_drawn(np.bincount(orders[:, 2], minlength=6), [0.25, 0, 0, 0.75, 0, 0], len(orders))
    assert (orders[:, 4] == 5).all()


@given(possible_scores, st.integers(0, 8), st.integers(0, 2**32))
def test_top_k_is_distinct_and_possible(scores, k, seed):
    possible = {i for i, s in enumerate(scores) if s > -INF}
    k = min(k, len(possible))
    ids = pr.gumbel_top_k(scores, k, rng(seed)).tolist()
    assert len(set(ids)) == len(ids) == k
    assert set(ids) <= possible
    assert pr.gumbel_max(scores, rng(seed)) in possible


@given(moderate_scores, st.integers(0, 2**32))
def test_the_first_of_the_top_is_the_draw(scores, seed):
    assert pr.gumbel_top_k(scores, 1, rng(seed))[0] == pr.gumbel_max(scores, rng(seed))


def test_a_seed_gives_the_same_draws():
    scores = rows_of([0.0, 1.0, 2.0], 100)
    np.testing.assert_array_equal(pr.gumbel_max(scores, rng(1)), pr.gumbel_max(scores, rng(1)))
    assert (pr.gumbel_max(scores, rng(1)) != pr.gumbel_max(scores, rng(2))).any()


def test_nothing_is_left_to_draw():
    assert pr.gumbel_top_k([-INF, -INF], 0, rng()).shape == (0,)


# entropies


@pytest.mark.parametrize("case", ENTROPY, ids=lambda case: str(case["p"]))
def test_scipy_entropies(case):
    p, q = normalised(case["p"]), normalised(case["q"])
    np.testing.assert_allclose(pr.entropy(p), case["entropy_nats"], **EXACT)
    np.testing.assert_allclose(pr.bits(pr.entropy(p)), case["entropy_bits"], **EXACT)
    np.testing.assert_allclose(pr.kl_divergence(p, q), float(case["kl_p_q_nats"]), **EXACT)
    np.testing.assert_allclose(pr.kl_divergence(q, p), float(case["kl_q_p_nats"]), **EXACT)
    np.testing.assert_allclose(pr.cross_entropy(p, q), float(case["cross_entropy_nats"]), **EXACT)
    np.testing.assert_allclose(pr.perplexity(pr.entropy(p)), case["perplexity"], **EXACT)
    middle = (p + q) / 2
    shannon = (pr.kl_divergence(p, middle) + pr.kl_divergence(q, middle)) / 2
    np.testing.assert_allclose(math.sqrt(shannon), case["js_distance_nats"], **EXACT)


@given(two_distributions())
def test_entropies_belong_together(pair):
    p, r = pair
    entropy, cross, divergence = pr.entropy(p), pr.cross_entropy(p, r), pr.kl_divergence(p, r)
    assert entropy == pytest.approx(-math.fsum(a * math.log(a) for a in p if a > 0), abs=1e-12)
    if ((p > 0) & (r == 0)).any():
        assert cross == divergence == INF
    else:
        assert cross == pytest.approx(-math.fsum(a * math.log(b) for a, b in pair.T if a > 0), abs=1e-12)
        assert divergence == pytest.approx(cross - entropy, abs=1e-12)
    assert divergence >= 0
    assert 0 <= entropy <= math.log(p.size) + 1e-12
    assert pr.kl_divergence(p, p) == 0
    assert pr.cross_entropy(p, p) == entropy


@given(st.floats(0, 1), st.floats(0, 1))
def test_binary_cross_entropy_is_that_of_two_outcomes(y, p):
    assert pr.binary_cross_entropy(y, p) >= 0
    if p > 1e-9 and 1 - p > 1e-9:
        np.testing.assert_allclose(
            pr.binary_cross_entropy(y, p), pr.cross_entropy([y, 1 - y], [p, 1 - p]), rtol=1e-7, atol=1e-12
        )


def test_binary_cross_entropy_at_the_edges():
    found = pr.binary_cross_entropy([0, 1, 0, 1, 0.5, 0], [0, 1, 1, 0, 0, 1e-300])
    np.testing.assert_array_equal(found, [0, 0, INF, INF, INF, 1e-300])
    assert not np.signbit(found).any()


def test_certainty_has_no_entropy_and_no_sign():
    assert not np.signbit(pr.entropy([[1.0, 0.0], [0.0, 1.0]])).any()
    assert not np.signbit(pr.entropy([1.0]))


def test_units():
    assert pr.nats(pr.bits(3.5)) == pytest.approx(3.5)
    np.testing.assert_allclose(pr.bits(np.log([2, 4, 8])), [1, 2, 3], **EXACT)
    np.testing.assert_allclose(pr.perplexity(pr.nats([0, 1, 10])), [1, 2, 1024], **EXACT)
    assert pr.perplexity(1e6) == pr.perplexity(INF) == INF


# the Gumbel distribution

PLACES = np.array([-800.0, -30.0, -3.0, -0.5, 0.0, 0.3, 2.0, 15.0, 19.9, 20.1, 33.0, 700.0])


@pytest.mark.parametrize(("location", "scale"), [(0.0, 1.0), (-2.5, 0.1), (40.0, 7.0)])
def test_scipys_gumbel(location, scale):
    scipy = pytest.importorskip("scipy.stats").gumbel_r(location, scale)
    x = location + scale * PLACES
    with np.errstate(over="ignore"):  # scipy's overflow at -800
        theirs = [scipy.pdf(x), scipy.logpdf(x), scipy.cdf(x), scipy.sf(x), scipy.logcdf(x)]
    for found, expected in zip(
        [
            pr.gumbel_density(x, location, scale),
            pr.gumbel_log_density(x, location, scale),
            pr.gumbel_distribution(x, location, scale),
            pr.gumbel_distribution(x, location, scale, upper=True),
            pr.gumbel_log_distribution(x, location, scale),
        ],
        theirs,
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=0)
    p = np.array([1e-300, 1e-9, 0.1, 0.5, 0.9, 1 - 1e-9])
    np.testing.assert_allclose(pr.gumbel_quantile(p, location, scale), scipy.ppf(p), rtol=1e-9)
    np.testing.assert_allclose(pr.gumbel_quantile(p, location, scale, upper=True), scipy.isf(p), rtol=1e-9)


def test_the_gumbel_distribution_by_hand():
    assert pr.gumbel_density(0.0) == pytest.approx(1 / math.e)
    assert pr.gumbel_distribution(0.0) == pytest.approx(1 / math.e)
    assert pr.gumbel_quantile(0.5) == pytest.approx(-math.log(math.log(2)))  # the median
    x = np.linspace(-8, 60, 200_001)
    density = pr.gumbel_density(x, 1.5, 2.0)
    area = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(x))])
    np.testing.assert_allclose(area, pr.gumbel_distribution(x, 1.5, 2.0), atol=1e-8)
    mean = (x * density).sum() * (x[1] - x[0])
    assert mean == pytest.approx(1.5 + 2 * 0.5772156649, abs=1e-6)


def test_the_tails_of_the_gumbel_distribution():
    assert pr.gumbel_distribution(50.0, upper=True) == pytest.approx(math.exp(-50), rel=1e-14)
    assert pr.gumbel_log_distribution(5000.0, upper=True) == -5000.0
    assert pr.gumbel_log_distribution(-6.0) == pytest.approx(-math.exp(6), rel=1e-14)
    t = math.exp(1.5)  # P(G > -1.5) is near 1
    assert pr.gumbel_log_distribution(-1.5, upper=True) == pytest.approx(math.log1p(-math.exp(-t)), rel=1e-13)
    assert pr.gumbel_log_density(-20.0) == pytest.approx(20 - math.exp(20), rel=1e-14)
    assert pr.gumbel_quantile(1e-200, upper=True) == pytest.approx(200 * math.log(10), rel=1e-14)
    # both forms of the upper tail meet where one takes over
    assert pr.gumbel_log_distribution(np.nextafter(20.0, 21), upper=True) == pytest.approx(
        pr.gumbel_log_distribution(20.0, upper=True), rel=1e-14
    )
    ends = np.array([-INF, -1e308, 1e308, INF])
    np.testing.assert_array_equal(pr.gumbel_density(ends), 0)
    np.testing.assert_array_equal(pr.gumbel_log_density(ends), [-INF, -INF, -1e308, -INF])
    np.testing.assert_array_equal(pr.gumbel_distribution(ends), [0, 0, 1, 1])
    np.testing.assert_array_equal(pr.gumbel_distribution(ends, upper=True), [1, 1, 0, 0])
    np.testing.assert_array_equal(pr.gumbel_log_distribution(ends, upper=True), [0, 0, -1e308, -INF])
    np.testing.assert_array_equal(pr.gumbel_quantile([0.0, 1.0]), [-INF, INF])
    np.testing.assert_array_equal(pr.gumbel_quantile([0.0, 1.0], upper=True), [INF, -INF])


@given(st.floats(-5, 30), st.floats(-10, 10), st.floats(0.1, 10))
def test_the_quantile_is_the_inverse(z, location, scale):
    x = location + scale * z
    upper = z > 0
    p = pr.gumbel_distribution(x, location, scale, upper=upper)
    assert pr.gumbel_quantile(p, location, scale, upper=upper) == pytest.approx(x, rel=1e-9, abs=1e-9)


def test_the_largest_of_several_gumbels_is_a_draw_from_the_softmax():
    """P(Z_k is the largest) = integral of f(z; s_k) prod over i != k of F(z; s_i), in closed form softmax."""
    scores = np.array([1.0, -0.5, 3.0, 2.5])
    z = np.linspace(-10, 60, 100_001)[:, None]
    log_f, log_below = pr.gumbel_log_density(z, scores), pr.gumbel_log_distribution(z, scores)
    inside = np.exp(log_f + log_below.sum(axis=1, keepdims=True) - log_below)
    np.testing.assert_allclose(inside.sum(axis=0) * (z[1, 0] - z[0, 0]), pr.softmax(scores), atol=1e-9)


def test_draws_have_a_location_and_a_scale():
    locations, scales = np.array([-3.0, 0.0, 50.0]), np.array([0.1, 1.0, 9.0])
    drawn = pr.gumbel((50_000, 3), rng(), locations, scales)
    np.testing.assert_allclose(drawn, locations + scales * pr.gumbel((50_000, 3), rng()), **EXACT)
    uniform = np.sort(pr.gumbel_distribution(drawn, locations, scales), axis=0)
    steps = (np.arange(50_000) + 0.5)[:, None] / 50_000
    assert (np.abs(uniform - steps).max(axis=0) < 2.7 / math.sqrt(50_000)).all()  # Kolmogorov: once in 10**6
    assert isinstance(pr.gumbel((), rng(), 2.0), float)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: pr.gumbel_density(math.nan), "x has nan"),
        (lambda: pr.gumbel_density(0.0, INF), "location has inf .* must be finite"),
        (lambda: pr.gumbel_distribution(0.0, 0.0, 0.0), "scale has 0.0 .* must be above 0 and finite"),
        (lambda: pr.gumbel_log_distribution(0.0, scale=[1.0, -1.0]), r"scale has -1.0 at \[1\]"),
        (lambda: pr.gumbel_quantile(1.5), "p has 1.5 .* must lie between 0 and 1"),
        (lambda: pr.gumbel_density(np.zeros(3), np.zeros(2)), r"must fit the shape \(3,\)"),
        (lambda: pr.gumbel(2, rng(), np.zeros((5, 2))), r"shape=2: .* give shape=\(5, 2\)"),
    ],
)
def test_parameters_of_the_gumbel_distribution_are_checked(ask, told):
    with pytest.raises(DataError, match=told):
        ask()


# estimates


def test_monte_carlo_is_the_mean_with_its_standard_error():
    values = rng().normal(size=(3, 100)) + 5
    estimate = pr.monte_carlo(values)
    np.testing.assert_allclose(estimate.mean, values.mean(axis=1), **EXACT)
    np.testing.assert_allclose(estimate.standard_error, values.std(axis=1, ddof=1) / 10, **EXACT)
    np.testing.assert_array_equal(estimate.effective_size, [100, 100, 100])
    assert pr.monte_carlo([3.0]) == (3.0, INF, 1.0)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=10), st.integers(-1000, 1000))
def test_equal_weights_are_monte_carlo(values, log_weight):
    weighted = pr.importance_sampling(values, np.full(len(values), float(log_weight)))
    for found, expected in zip(weighted, pr.monte_carlo(values), strict=True):
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-9)


@given(two_distributions(), st.sampled_from([0.0, 5000.0, -5000.0]))
def test_importance_sampling_is_exact_where_every_id_is_drawn_by_its_share(pair, constant):
    p, f = pair[0], np.array([3.0, -1.0, 4.0, 1.0, -5.0])
    counts = np.array([1, 2, 3, 4, 2])  # q: every id exactly as often as expected, in 12 draws
    with np.errstate(divide="ignore"):
        log_weights = np.log(p) - np.log(counts / 12) + constant
    estimate = pr.importance_sampling(np.repeat(f, counts), np.repeat(log_weights, counts))
    assert estimate.mean == pytest.approx(float(p @ f), abs=1e-9)
    w = np.repeat(12 * p / counts, counts)
    assert estimate.effective_size == pytest.approx(w.sum() ** 2 / (w**2).sum())
    squares = sum(a**2 * (b - float(p @ f)) ** 2 for a, b in zip(w, np.repeat(f, counts), strict=True))
    assert estimate.standard_error == pytest.approx(math.sqrt(12 / 11 * squares) / w.sum(), abs=1e-9)


def test_uniform_monte_carlo_by_hand():
    mean, error, size = pr.uniform_monte_carlo([[1.0, 2.0, 3.0, 6.0], [2.0, 2.0, 2.0, 2.0]], -1, 4)
    np.testing.assert_allclose(mean, [15.0, 10.0], **EXACT)
    np.testing.assert_allclose(error, [5 * math.sqrt(14 / 3) / 2, 0.0], **EXACT)
    np.testing.assert_array_equal(size, [4, 4])
    assert pr.uniform_monte_carlo([3.0], 1, 3) == (6.0, INF, 1.0)
    assert pr.uniform_monte_carlo([3.0], 1, 1) == (0.0, 0.0, 1.0)


def test_uniform_monte_carlo_finds_integrals_within_its_error():
    x = rng().uniform(0, 2, (2000, 300))
    estimate = pr.uniform_monte_carlo(np.exp(x), 0, 2)
    spread = estimate.mean.std()
    assert abs(estimate.mean.mean() - (math.exp(2) - 1)) < 5.5 * spread / math.sqrt(2000)
    assert estimate.standard_error.mean() == pytest.approx(spread, rel=0.1)
    # it is `monte_carlo` of f / q, q the density of the draws
    for found, expected in zip(estimate[:2], pr.monte_carlo(np.exp(x) / 0.5)[:2], strict=True):
        np.testing.assert_allclose(found, expected, **EXACT)


def test_the_interval_is_checked():
    for low, high in ((1, 0), (-1.7e308, 1.7e308)):
        with pytest.raises(ConfigError, match="high must be at least low"):
            pr.uniform_monte_carlo([1.0], low, high)
    for low, high in ((-INF, 0), (0, math.nan), ("0", 1)):
        with pytest.raises(ConfigError, match="must be a finite number"):
            pr.uniform_monte_carlo([1.0], low, high)


def test_the_standard_error_is_the_spread_of_repeated_estimates():
    p, q, f = (
        np.array([0.5, 0.3, 0.15, 0.05]),
        np.array([0.1, 0.2, 0.3, 0.4]),
        np.array([1.0, 4.0, -2.0, 8.0]),
    )
    ids = pr.gumbel_max(np.broadcast_to(np.log(q), (2000, 400, 4)), rng())
    estimate = pr.importance_sampling(f[ids], np.log(p / q)[ids])
    spread = estimate.mean.std()
    # self-normalised: a bias of order 1 / 400
    assert abs(estimate.mean.mean() - p @ f) < 5.5 * spread / math.sqrt(2000) + 0.01
    assert estimate.standard_error.mean() == pytest.approx(spread, rel=0.1)
    assert estimate.effective_size.mean() == pytest.approx(400 / (p**2 / q).sum(), rel=0.05)


def test_one_draw_can_decide():
    estimate = pr.importance_sampling([1.0, 2.0, 3.0], [0.0, -INF, -1e5])
    assert estimate == (1.0, 0.0, 1.0)
    assert pr.importance_sampling([2.0], [-1e5]) == (2.0, INF, 1.0)


# errors


@pytest.mark.parametrize(
    "function", [pr.log_sum_exp, pr.log_softmax, pr.softmax, pr.most_likely, pr.entropy, pr.monte_carlo]
)
def test_rows_are_checked(function):
    with pytest.raises(DataError, match=r"has nan at \[1\]: must not be NaN"):
        function([1.0, math.nan])
    with pytest.raises(DataError, match=r"has shape \(\): must have a last axis"):
        function(1.0)
    with pytest.raises(DataError, match=r"has shape \(3, 0\)"):
        function(np.empty((3, 0)))
    with pytest.raises(DataError, match="same length"):
        function([[1.0], [1.0, 2.0]])
    for wrong in (["a"], [1j], [None]):
        with pytest.raises(DataError, match="must be an array of real numbers"):
            function(wrong)


DRAWS = [lambda s: pr.gumbel_max(s, rng()), lambda s: pr.gumbel_top_k(s, 1, rng())]


@pytest.mark.parametrize("function", DRAWS)
def test_rows_to_draw_from_are_checked(function):
    for wrong in ([math.nan], [], 1.0, ["a"]):
        with pytest.raises(DataError, match="scores"):
            function(wrong)


@pytest.mark.parametrize(
    "function",
    [
        pr.softmax,
        pr.log_softmax,
        pr.most_likely,
        DRAWS[0],
        lambda s: pr.importance_sampling(np.ones((2, 2)), s),
    ],
)
def test_something_must_be_possible(function):
    with pytest.raises(DataError, match="no id is possible"):
        function([[0.0, 1.0], [-INF, -INF]])


@pytest.mark.parametrize("temperature", [-1, -0.1, math.nan, -INF, "1", True, None, np.array([1.0, 2.0])])
def test_temperature_is_checked(temperature):
    for function in (pr.softmax, pr.log_softmax, lambda s, t: pr.gumbel_max(s, rng(), t)):
        with pytest.raises(ConfigError, match="temperature=.*must be a number >= 0"):
            function([1.0, 2.0], temperature)


@pytest.mark.parametrize("k", [-1, 1.5, "1", True])
def test_k_is_checked(k):
    with pytest.raises(ConfigError, match="k="):
        pr.gumbel_top_k([1.0, 2.0], k, rng())


def test_k_is_at_most_what_is_possible():
    with pytest.raises(DataError, match="k=3: a row of scores has only 2 possible ids"):
        pr.gumbel_top_k([[0.0, 1.0, 2.0], [0.0, -INF, 2.0]], 3, rng())
    with pytest.raises(DataError, match="k=4: a row of scores has only 3"):
        pr.gumbel_top_k([0.0, 1.0, 2.0], 4, rng())


def test_the_generator_is_checked():
    for wrong in (1, None, np.random):
        with pytest.raises(ConfigError, match="rng=.*default_rng"):
            pr.gumbel(2, wrong)


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("function", [pr.cross_entropy, pr.kl_divergence])
def test_distributions_are_checked(function, position):
    for wrong, message in [
        ([0.5, 0.6], r"sum of [pr] over its last axis has 1.1 at \[\]: must be 1"),
        ([[0.5, 0.5], [0.5, 0.4]], r"has 0.9 at \[1\]"),
        ([1.5, -0.5], r"[pr] has -0.5 at \[1\]: probabilities must be >= 0"),
        ([INF, 0.0], "must be 1"),
        ([math.nan, 1.0], "must not be NaN"),
    ]:
        pair = [np.full(np.shape(wrong), 0.5), np.full(np.shape(wrong), 0.5)]
        pair[position] = wrong
        with pytest.raises(DataError, match=message):
            function(*pair)
        if position == 0:
            with pytest.raises(DataError, match=message):
                pr.entropy(wrong)


def test_a_sum_may_be_rounded():
    assert pr.entropy([0.5 + 5e-7, 0.5]) == pytest.approx(math.log(2), abs=1e-6)
    with pytest.raises(DataError, match="must be 1"):
        pr.entropy([0.5 + 2e-6, 0.5])


def test_shapes_must_be_the_same():
    one, two = np.full(2, 0.5), np.full((3, 2), 0.5)
    for function in (pr.cross_entropy, pr.kl_divergence, pr.binary_cross_entropy, pr.importance_sampling):
        with pytest.raises(DataError, match=r"has shape \(2,\), .* \(3, 2\): both must have the same shape"):
            function(one, two)


def test_values_out_of_range():
    for pair in ([1.1, 0.5], [0.5, 1.1], [-0.1, 0.5], [0.5, -0.1]):
        with pytest.raises(DataError, match="must lie between 0 and 1"):
            pr.binary_cross_entropy(*pair)
    for function in (pr.perplexity, pr.bits, pr.nats, lambda y: pr.binary_cross_entropy(y, 0.5)):
        with pytest.raises(DataError, match="must not be NaN"):
            function(math.nan)
    with pytest.raises(DataError, match=r"has -3.0 at \[\]: must be >= 0: .*negative"):
        pr.perplexity(-3)
    for function in (
        pr.monte_carlo,
        lambda f: pr.uniform_monte_carlo(f, 0, 1),
        lambda f: pr.importance_sampling(f, [0.0, 0.0]),
    ):
        with pytest.raises(DataError, match=r"values has inf at \[1\]: must be finite"):
            function([1.0, INF])
    for wrong in ([0.0, INF], [0.0, math.nan]):
        with pytest.raises(DataError, match="log_weights has"):
            pr.importance_sampling([1.0, 2.0], wrong)
