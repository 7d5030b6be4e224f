import json
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def golden():
    """What TensorFlow's candidate samplers gave (tests/golden/README.md)."""
    return json.loads((Path(__file__).parents[1] / "golden" / "tf_samplers.json").read_text(encoding="utf-8"))


def chi_square_excess(found, q):
    """Chi-square of counts against probabilities, divided by its limit at the level 1e-6.

    The limit is Wilson and Hilferty's approximation.
    """
    found, q = np.asarray(found, np.float64), np.asarray(q, np.float64)
    assert found[q == 0].sum() == 0
    found, q = found[q > 0], q[q > 0]
    if q.size == 1:
        return 0.0
    expected = q * found.sum()
    assert expected.min() >= 5, "too few draws for a chi-square test"
    freedom = q.size - 1
    limit = freedom * (1 - 2 / (9 * freedom) + 4.7534 * (2 / (9 * freedom)) ** 0.5) ** 3
    return float(((found - expected) ** 2 / expected).sum() / limit)


@pytest.fixture(scope="session")
def fits():
    """A check that counts come from a distribution; the seed is fixed, so it either holds or not."""
    return lambda found, q: chi_square_excess(found, q) < 1
