"""What the scores converge to: the exact expected loss, minimised, against the table of the documentation.

P = .50 .30 .15 .05 is the truth, q = .1 .2 .3 .4 the noise; every draw there can be is in the expectation.
"""

import itertools
import math

import numpy as np
import pytest
from grids import SOAK, some

from unhot.outputs import LAYERS, Head, parse_output
from unhot.outputs.drawn import DrawnLayer
from unhot.outputs.nce import NCE

TRUE = np.array([0.5, 0.3, 0.15, 0.05])
COUNTS = np.array([1, 2, 3, 4])  # q with power=1
Q = COUNTS / 10
LOG_P, LOG_ODDS = np.log(TRUE), np.log(TRUE / (1 - TRUE))


def minimise(loss, gradient, size):
    """Newton's method with a numeric Hessian and halved steps.

    Directions that change nothing are left alone.
    """
    x = np.zeros(size)
    for _ in range(30):
        slope = gradient(loss, x)
        if np.abs(slope).max() < 1e-10:
            return x
        hessian = np.array([(gradient(loss, x + 1e-4 * e) - slope) / 1e-4 for e in np.eye(size)])
        step = np.linalg.pinv((hessian + hessian.T) / 2, rcond=1e-5) @ slope
        here = loss(x)
        while loss(x - step) > here + 1e-12:
            step = step / 2
        x = x - step
    raise AssertionError(f"no minimum found: gradient {slope}")


def log_prob(layer, scores):
    return Head(layer, COUNTS, scores[:, None]).log_prob([1.0])


# ---- the table


class UpToConstant(tuple):
    """Scores of which only the differences are determined."""


OPTIMA = {
    "softmax": UpToConstant(LOG_P),
    "softmax:smoothing=0.2": UpToConstant(np.log(0.8 * TRUE + 0.05)),
    "self_normalized:alpha=0.1": LOG_P,
    "self_normalized:alpha=2": LOG_P,
    "one_vs_all": LOG_ODDS,
    "negative:power=1,k=2,hits=keep": np.log(TRUE / (2 * Q)),
    "negative:power=1,k=2,hits=drop": LOG_ODDS - np.log(2 * Q),
    "negative:power=1,k=20,hits=keep": np.log(TRUE / (20 * Q)),
    "negative:power=1,k=20,hits=drop": LOG_ODDS - np.log(20 * Q),
    "negative:noise=uniform,k=3,hits=keep": np.log(TRUE / 0.75),
    "nce:k=1": LOG_P,
    "nce:k=25": LOG_P,
    "nce:k=3,ln_z=1.5": LOG_P + 1.5,
    "nce:k=3,ln_z=-2,noise=uniform": LOG_P - 2.0,
    "nce:k=3,ln_z=learned": LOG_P,  # of what reference takes: the score minus ln Z
    "nce:k=3,ln_z=per_input": LOG_P,
    "sampled_logistic:power=1,k=2": LOG_ODDS,
    "sampled_logistic:power=1,k=20": LOG_ODDS,
    "sampled:power=1,k=1": UpToConstant(LOG_P),
    "sampled:power=1,k=2": UpToConstant(LOG_P),
    "sampled:power=1,k=3": UpToConstant(LOG_P),
    "sampled:power=1,k=2,temperature=0.5": UpToConstant(0.5 * LOG_P),
    "sampled:power=1,k=2,temperature=2,correct=false": UpToConstant(2 * (LOG_P - np.log(Q))),
    "hierarchical": None,  # no score of a word's own
    "hierarchical:tree=balanced": None,
    "class_based": None,
    "class_based:levels=2": None,
    "infrequent": LOG_P + 5.0,
    "infrequent:gamma=1": LOG_P + 5.0,
    "infrequent:alpha=1,gamma=0.01": LOG_P + 0.5,
    "partition": UpToConstant(LOG_P),
    "in_batch": UpToConstant(LOG_P),
    "in_batch:temperature=0.25,q=counts": UpToConstant(0.25 * LOG_P),
    "in_batch:temperature=0.5,q=counts,correct=false": UpToConstant(0.5 * (LOG_P - np.log(Q))),
    # of a batch of three, where chance decides for each column whether it is a target or a draw
    "mixed:k=2": UpToConstant(LOG_P),
    "mixed:k=2,temperature=0.5,q=counts": UpToConstant(0.5 * LOG_P),
    "mixed:k=2,q=counts,correct=false,batch=3": UpToConstant(LOG_P - np.log(2 * Q + 2 / 4)),
    "differentiated": UpToConstant(LOG_P),
    "adaptive": None,
    "adaptive:cutoffs=1,2": None,
}


def test_every_layer_is_in_the_table():
    assert {spec.split(":")[0] for spec in OPTIMA} == set(LAYERS)


@pytest.fixture(scope="module")
def optimum(expected_loss, expected_logistic_loss, gradient):
    """A function layer -> scores; losses that are a sum over draws are told by one draw at a time."""

    def find(layer):
        linear = isinstance(layer, DrawnLayer) and layer.name != "sampled" and not layer.unique
        loss = (expected_logistic_loss if linear else expected_loss)(layer, COUNTS, TRUE)
        return minimise(loss, gradient, layer.rows(COUNTS))

    return find


ONE_EACH = {spec.split(":")[0]: spec for spec in OPTIMA}.values()  # the last of each layer
CORRECTED = ["sampled:power=1,k=3", "in_batch", "mixed:k=2"]


@pytest.mark.parametrize("spec", OPTIMA if SOAK else [*ONE_EACH, *CORRECTED])
def test_scores_converge_to_what_the_table_says(spec, optimum):
    layer, expected = parse_output(spec), OPTIMA[spec]
    scores = optimum(layer)
    if not isinstance(expected, UpToConstant):  # what it takes for P needs no normalising
        assert Head(layer, COUNTS, scores[:, None]).log_z([1.0]) == pytest.approx(0.0, abs=1e-6)
    if isinstance(expected, UpToConstant):
        scores, expected = scores - scores.mean(), np.array(expected) - np.mean(expected)
    if expected is not None:
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-6)
    smoothing = getattr(layer, "smoothing", 0.0)
    smoothed = np.log((1 - smoothing) * TRUE + smoothing / TRUE.size)
    # what it takes for P is P, or what smoothing makes of it
    np.testing.assert_allclose(log_prob(layer, scores), smoothed, rtol=0, atol=1e-6)


def test_masked_hits_bias_the_softmax_over_a_batch(optimum):
    """As they do sampled, of which it is the case k = 2."""
    layer = parse_output("in_batch:hits=drop,q=counts")
    sampled = parse_output("sampled:power=1,k=2,hits=drop")
    found, same = (log_prob(kind, optimum(kind)) for kind in (layer, sampled))
    np.testing.assert_allclose(found, same, rtol=0, atol=1e-6)
    assert np.abs(np.exp(found) - TRUE).max() > 1e-3


def test_the_fixed_numbers_of_mixed_columns_bias_it_a_little(gradient):
    """Two targets and two draws are not four columns of which chance decides; more of both are nearer."""
    layer, scores = parse_output("mixed:k=2,q=counts"), np.array([0.3, -0.4, 1.0, 0.2])
    told = {2: [0.4968, 0.3007, 0.1516, 0.0509], 8: [0.4988, 0.3004, 0.1506, 0.0503]}
    for number, expected in told.items():
        found = log_prob(layer, minimise(mixed_loss(number), gradient, 4))
        np.testing.assert_allclose(np.exp(found), expected, rtol=0, atol=0.0001)
    pairs = [np.array(ids) for ids in itertools.product(range(4), repeat=2)]
    by_hand = sum(
        p * Q[a].prod() / 16 * layer.reference(scores, t, np.append(a, b), COUNTS)
        for t, p in enumerate(TRUE)
        for a in pairs
        for b in pairs
    )
    assert mixed_loss(2)(scores) == pytest.approx(by_hand, rel=1e-12)


def test_a_word_of_half_the_parts_of_the_text_comes_out_twice_as_probable(gradient):
    """Two parts of equal length, {0, 1, 2} and {0, 1, 3}; 0 and 1 stand in both."""
    layer, targets = (
        parse_output("partition"),
        [(t, rare, TRUE[t] / 2 if t < 2 else TRUE[t]) for rare in (2, 3) for t in (0, 1, rare)],
    )

    def loss(scores):
        return sum(
            p * layer.reference(scores, t, np.array([0, 1, rare], np.int32), COUNTS) for t, rare, p in targets
        )

    p = np.exp(log_prob(layer, minimise(loss, gradient, 4)))
    np.testing.assert_allclose(p / p[0], np.array([1, 1, 2, 2]) * TRUE / TRUE[0], rtol=1e-6)


def test_noise_from_a_file_is_the_noise(tmp_path, optimum):
    """The counts could be any."""
    (tmp_path / "q.csv").write_text("a,10\nb,20\nc,30\nd,40\n")
    layer = parse_output(f"negative:k=2,hits=keep,noise=file:{tmp_path / 'q.csv'},power=1")
    np.testing.assert_allclose(optimum(layer), np.log(TRUE / (2 * Q)), rtol=0, atol=1e-6)


def test_of_a_learned_z_only_the_difference_is_determined(expected_logistic_loss, gradient):
    """Ln Z as a fifth number to be learned: one direction is flat, and s - ln Z is log P all the same."""
    loss = expected_logistic_loss(parse_output("nce:k=3,ln_z=learned"), COUNTS, TRUE)
    x = minimise(lambda x: loss(x[:4] - x[4]), gradient, 5)
    np.testing.assert_allclose(x[:4] - x[4], LOG_P, rtol=0, atol=1e-6)
    assert np.abs(x[4]) > 0.1  # it was free to move, and did
    assert loss(x[:4] - x[4]) == pytest.approx(loss((x[:4] + 3) - (x[4] + 3)), rel=1e-12)


@pytest.mark.parametrize(
    "spec", some(["negative:hits=keep", "nce:ln_z=0.5", "sampled_logistic:", "negative:hits=drop"], 2)
)
def test_unique_draws_shift_scores_by_how_far_the_expected_count_is_off(spec, optimum, all_draws):
    """With the true chance of being drawn, r, in place of k q; layers that correct by c keep log(c / r)."""
    layer = parse_output(f"{spec},power=1,k=2,unique=true".replace(":,", ":"))
    r = sum(chance * np.bincount(ids, minlength=4) for ids, chance in all_draws(Q, 2, unique=True).items())
    c = np.exp(layer.log_counts(layer.probability(COUNTS)))
    expected = {
        "negative:hits=keep": LOG_P - np.log(r),
        "negative:hits=drop": LOG_ODDS - np.log(r),
        "nce:ln_z=0.5": LOG_P + 0.5 + np.log(c / r),
        "sampled_logistic:": LOG_ODDS + np.log(c / r),
    }[spec]
    scores = optimum(layer)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-6)
    assert np.abs(np.log(c / r)).max() < 0.05  # c is near r ...
    assert np.abs(np.exp(log_prob(layer, scores)) - TRUE).max() < 0.02  # ... so P is nearly recovered


# ---- expected losses by sums over how often each word is drawn


def times_drawn(q, k):
    """How often each word may be among k draws, and the chance of each: [cases, words], [cases]."""
    sets = np.array(
        [np.bincount(ids, minlength=4) for ids in itertools.combinations_with_replacement(range(4), k)]
    )
    orders = [math.lgamma(k + 1) - sum(math.lgamma(n + 1) for n in times) for times in sets.tolist()]
    chance = np.exp(orders + sets @ np.log(q))
    assert chance.sum() == pytest.approx(1.0, abs=1e-10)
    return sets, chance


def mixed_loss(number):
    """The expected loss of mixed with so many other targets, and as many uniform draws."""
    (targets, one), (draws, other) = (times_drawn(q, number) for q in (Q, np.full(4, 0.25)))
    sets = (targets[:, None] + draws).reshape(-1, 4)
    chance = np.outer(one, other).ravel()

    def loss(scores):
        d = np.exp(scores) / (number * Q + number / 4)
        return sum(p * (chance @ np.log(d[t] + sets @ d) - np.log(d[t])) for t, p in enumerate(TRUE))

    return loss


def masked_loss(k):
    """The expected loss of hits=drop for larger k."""
    sets, chance = times_drawn(Q, k)

    def loss(scores):
        d = np.exp(scores - np.log(k * Q))
        return sum(
            p * (chance @ np.log(d[t] + sets @ d - sets[:, t] * d[t]) - np.log(d[t]))
            for t, p in enumerate(TRUE)
        )

    return loss


@pytest.mark.parametrize(("k", "top"), [(1, 0.500), (4, 0.511), (16, 0.555), (32, 0.601)])
def test_masked_hits_bias_sampled_softmax_the_more_the_larger_k(k, top, expected_loss, gradient):
    layer, scores = parse_output(f"sampled:power=1,k={k},hits=drop"), minimise(masked_loss(k), gradient, 4)
    assert np.exp(log_prob(layer, scores))[0] == pytest.approx(top, abs=0.0005)
    if k <= 4:  # it is a minimum for the layer, all draws tried, too
        assert np.abs(gradient(expected_loss(layer, COUNTS, TRUE), scores)).max() < 1e-9


def test_the_sum_over_counts_is_that_of_the_layer(expected_loss):
    scores = np.array([0.3, -0.4, 1.0, 0.2])
    for k in (1, 3):
        expected = expected_loss(parse_output(f"sampled:power=1,k={k},hits=drop"), COUNTS, TRUE)(scores)
        assert masked_loss(k)(scores) == pytest.approx(expected, rel=1e-12)


def test_unique_masked_draws_are_nearly_exact(optimum):
    layer = parse_output("sampled:power=1,k=2,unique=true,hits=drop")
    p = np.exp(log_prob(layer, optimum(layer)))
    np.testing.assert_allclose(p, [0.501, 0.294, 0.149, 0.056], rtol=0, atol=0.0005)


def test_all_draws_unique_and_masked_are_exact(optimum):
    layer = parse_output("sampled:power=1,k=4,unique=true,hits=drop")
    np.testing.assert_allclose(log_prob(layer, optimum(layer)), LOG_P, rtol=0, atol=1e-6)


# ---- these tests can fail


class WrongCounts(NCE):
    """Takes q for k q."""

    def log_counts(self, q):
        return np.log(q)


class SquaredNoise(NCE):
    """Takes another noise than is drawn from."""

    def log_counts(self, q):
        return np.log(self.k * q**2 / (q**2).sum())


@pytest.mark.parametrize("wrong", [WrongCounts, SquaredNoise])
def test_a_wrong_offset_is_noticed(wrong, optimum):
    assert np.abs(optimum(wrong(k=3)) - LOG_P).max() > 0.1
    assert np.abs(optimum(NCE(k=3)) - LOG_P).max() < 1e-6


def test_reading_scores_by_another_layer_is_noticed(optimum):
    keep, drop = (parse_output(f"negative:power=1,k=5,hits={hits}") for hits in ("keep", "drop"))
    for layer, other in ((keep, drop), (drop, keep), (keep, parse_output("softmax"))):
        assert np.abs(log_prob(other, optimum(layer)) - LOG_P).max() > 0.1
