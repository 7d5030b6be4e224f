"""The gradient that a layer with draws has on average: all draws tried, the closed sum, many seeded draws.

How near it is to that of softmax is here, too. Gradients are those by the scores, from which all others
follow by the chain rule.
"""

import numpy as np
import pytest

from unhot.noise import Noise
from unhot.outputs import parse_output

COUNTS = np.array([1, 2, 3, 4])
Q = COUNTS / 10  # power=1
SCORES = np.array([0.4, -1.1, 0.9, -0.2])
TRUE = np.array([0.5, 0.3, 0.15, 0.05])


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def inclusion(draws):
    """How often each word is expected in a set of draws."""
    return sum(chance * np.bincount(ids, minlength=4) for ids, chance in draws.items())


def closed_gradient(spec, layer, target, c):
    """The sum over all words for one target; c is how often a word is drawn."""
    offset, keep = 0.0, "keep" in spec
    if layer.name == "nce":
        offset, keep = -0.7 - layer.log_counts(layer.probability(COUNTS)), True
    if layer.name == "sampled_logistic":
        offset = -layer.log_counts(layer.probability(COUNTS))
    yes, hit = sigmoid(SCORES + offset), np.arange(4) == target
    return np.where(hit, yes - 1.0, 0.0) + c * yes * (1.0 if keep else ~hit)


LOGISTIC = ["negative:power=1", "negative:power=1,hits=keep", "nce:ln_z=0.7", "sampled_logistic:power=1"]


@pytest.mark.parametrize("unique", ["false", "true"])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("spec", LOGISTIC)
def test_the_expected_gradient_of_logistic_layers_is_a_closed_sum(
    spec, k, unique, expected_loss, gradient, all_draws
):
    layer = parse_output(f"{spec},k={k},unique={unique}")
    c = inclusion(all_draws(Q, k, unique == "true"))
    assert c.sum() == pytest.approx(k)
    if unique == "false":
        np.testing.assert_allclose(c, k * Q, rtol=1e-12)
        if layer.name != "negative":
            np.testing.assert_allclose(layer.log_counts(layer.probability(COUNTS)), np.log(k * Q), rtol=1e-12)
    for target in range(4):
        found = gradient(expected_loss(layer, COUNTS, np.eye(4)[target]), SCORES)
        np.testing.assert_allclose(found, closed_gradient(spec, layer, target, c), rtol=0, atol=1e-9)


@pytest.mark.parametrize("spec", LOGISTIC)
def test_one_draw_at_a_time_gives_the_same_expectation_as_all_together(
    spec, expected_loss, expected_logistic_loss
):
    """So that the tests below may ask for any k."""
    layer = parse_output(f"{spec},k=3")
    together, alone = (loss(layer, COUNTS, TRUE)(SCORES) for loss in (expected_loss, expected_logistic_loss))
    assert alone == pytest.approx(together, rel=1e-12)


def test_the_order_of_draws_does_not_matter():
    """So that sets may stand for sequences."""
    draws = np.array([2, 0, 2, 1], np.int32)
    sampled = [
        "sampled:power=1,k=4",
        "sampled:power=1,hits=drop,k=4",
        "in_batch",
        "in_batch:hits=drop",
        "mixed:k=2",
        "mixed:k=2,hits=drop",
        "partition",
    ]
    for spec in [*(f"{logistic},k=4" for logistic in LOGISTIC), *sampled]:
        layer = parse_output(spec)
        for t in range(4):
            losses = [
                layer.reference(SCORES, t, order, COUNTS) for order in (draws, np.sort(draws), draws[::-1])
            ]
            np.testing.assert_allclose(losses, losses[0], rtol=1e-13)


def softmax_gradient():
    return np.exp(SCORES) / np.exp(SCORES).sum() - TRUE


def test_the_softmax_gradient_is_p_minus_truth(expected_loss, gradient):
    np.testing.assert_allclose(
        gradient(expected_loss(parse_output("softmax"), COUNTS, TRUE), SCORES), softmax_gradient(), atol=1e-10
    )


def nce_distances(ln_z, expected_logistic_loss, gradient):
    out = []
    for k in (1, 4, 16, 64, 256, 1024, 4096):
        layer = parse_output(f"nce:k={k},ln_z={ln_z}")
        out.append(
            np.abs(gradient(expected_logistic_loss(layer, COUNTS, TRUE), SCORES) - softmax_gradient()).max()
        )
    return np.array(out)


def test_nce_tends_to_softmax_as_k_grows_if_z_is_right(expected_logistic_loss, gradient):
    """(p - P) k q / (p + k q): the rest falls as 1 / k."""
    right = nce_distances(float(np.log(np.exp(SCORES).sum())), expected_logistic_loss, gradient)
    assert (right[1:] < right[:-1]).all()
    assert right[-2] / right[-1] == pytest.approx(4.0, rel=0.01)
    assert right[-1] < 1e-3


@pytest.mark.parametrize("off", [-1.0, 1.0])
def test_nce_does_not_tend_to_softmax_if_z_is_wrong(off, expected_logistic_loss, gradient):
    """The limit has p / e^off in place of p."""
    p = np.exp(SCORES) / np.exp(SCORES).sum()
    wrong = nce_distances(float(np.log(np.exp(SCORES).sum())) + off, expected_logistic_loss, gradient)
    assert wrong[-1] == pytest.approx((p * abs(1 - np.exp(-off))).max(), rel=0.02)


def test_sampled_softmax_comes_closer_to_softmax_as_k_grows(expected_loss, gradient):
    distances = []
    for k in (1, 2, 3, 4, 5, 6):
        layer = parse_output(f"sampled:k={k},power=1")
        distances.append(
            np.abs(gradient(expected_loss(layer, COUNTS, TRUE), SCORES) - softmax_gradient()).max()
        )
    assert (np.diff(distances) < 0).all()
    assert distances[-1] < distances[0] / 2


def test_the_expected_gradient_of_sampled_softmax_with_one_draw_is_a_closed_sum(expected_loss, gradient):
    """A logistic regression of the target against each word n, with probability q(n).

    The target against itself costs log 2.
    """
    d, expected = SCORES - np.log(Q), np.zeros(4)
    for n in range(4):
        against = sigmoid(d[n] - d[1])
        expected += Q[n] * against * (np.eye(4)[n] - np.eye(4)[1])
    layer = parse_output("sampled:k=1,power=1")
    np.testing.assert_allclose(
        gradient(expected_loss(layer, COUNTS, np.eye(4)[1]), SCORES), expected, atol=1e-10
    )


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("spec", [*LOGISTIC, "sampled:power=1", "sampled:power=1,hits=drop"])
def test_the_mean_over_seeded_draws_is_the_expected_gradient(spec, unique, expected_loss, gradient):
    layer = parse_output(f"{spec},k=2,unique={str(unique).lower()}")
    noise, target = Noise(layer.probability(COUNTS)), 2
    sets, times = np.unique(
        [np.sort(noise.draw(2, seed=seed, unique=unique)) for seed in range(10_000)],
        axis=0,
        return_counts=True,
    )
    each = np.array(
        [gradient(lambda s, ids=ids: layer.reference(s, target, ids, COUNTS), SCORES) for ids in sets]
    )
    mean = times @ each / times.sum()
    error = np.sqrt(times @ (each - mean) ** 2) / times.sum()
    expected = gradient(expected_loss(layer, COUNTS, np.eye(4)[target]), SCORES)
    assert (np.abs(mean - expected) <= 5 * error + 1e-9).all()
    assert error.max() < 0.02  # else the bound says nothing
