"""A penalty on log Z in some steps, by hand."""

import math

import numpy as np
import pytest

from unhot.errors import ConfigError
from unhot.outputs import Head, parse_output

SCORES, COUNTS, NONE = np.array([1.0, -2.0, 0.5]), np.array([5, 3, 2]), np.zeros(0, np.int32)
LOG_Z = math.log(sum(map(math.exp, SCORES)))


@pytest.mark.parametrize(("alpha", "gamma"), [(0.1, 0.1), (2.0, 0.01), (0.5, 1.0)])
def test_by_hand(alpha, gamma):
    layer = parse_output(f"infrequent:alpha={alpha},gamma={gamma}")
    for target in range(3):
        assert layer.reference(SCORES, target, NONE, COUNTS) == -SCORES[target]
        for draws in ([0], [2, 1]):  # that there are any says which step it is
            with_penalty = layer.reference(SCORES, target, np.array(draws, np.int32), COUNTS)
            assert with_penalty == pytest.approx(alpha / gamma * LOG_Z**2 - SCORES[target], rel=1e-14)


def test_log_z_is_zero_where_scores_are_what_they_converge_to():
    layer = parse_output("infrequent:alpha=0.25")
    scores = np.log([0.5, 0.3, 0.2]) + 2.0
    assert Head(layer, COUNTS, scores[:, None]).log_z([1.0]) == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_allclose(layer.start_bias(COUNTS), scores, rtol=1e-14)


@pytest.mark.parametrize("alpha", [0.0, 1e-310, -1.0])
def test_alpha_is_divided_by(alpha):
    with pytest.raises(ValueError, match="infrequent:alpha=.*: must be > 0"):
        parse_output(f"infrequent:alpha={alpha}")


@pytest.mark.parametrize("gamma", [0.0, 1e-320, -0.1, 1.5])
def test_gamma_is_divided_by(gamma):
    with pytest.raises(ValueError, match="infrequent:gamma=.*: must be > 0"):
        parse_output(f"infrequent:gamma={gamma}")


def test_it_is_for_torch_alone():
    for ask in (lambda layer: layer.columns(COUNTS, 1), lambda layer: layer.tables(COUNTS)):
        with pytest.raises(
            ConfigError, match="infrequent: has no compiled kernel: train with engine='torch'"
        ):
            ask(parse_output("infrequent"))
