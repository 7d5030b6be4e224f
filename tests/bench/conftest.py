import numpy as np
import pytest


@pytest.fixture(scope="session")
def planted():
    """Lines of 20 words, each of one of 4 topics with 5 words of its own.

    A word says much about its neighbours.
    """
    rng = np.random.default_rng(0)
    return [[f"w{i}" for i in rng.integers(0, 4) * 5 + rng.integers(0, 5, 20)] for _ in range(400)]
