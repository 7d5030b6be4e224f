import math

import numpy as np
import pytest

from unhot.errors import DataError
from unhot.tree.paths import balanced, longest


@pytest.mark.parametrize("words", [*range(1, 40), 63, 64, 65, 1000, 1024, 1025])
def test_depths_and_order(words):
    counts = np.random.default_rng(words).integers(0, 9, words)
    paths = balanced(counts)
    lengths = np.diff(paths.start)
    assert set(lengths.tolist()) <= {math.floor(math.log2(words)), math.ceil(math.log2(words))}
    assert longest(paths) == math.ceil(math.log2(words))
    assert (np.diff(lengths) >= 0).all()  # the lower ids have the shorter paths
    codes = [tuple(paths.code[a:b].tolist()) for a, b in zip(paths.start[:-1], paths.start[1:], strict=True)]
    assert codes == sorted(codes)
    assert sum(2.0 ** -len(code) for code in codes) == 1


def test_small():
    assert balanced([1]).node.size == 0
    assert balanced([1, 9]).code.tolist() == [0, 1]
    assert balanced([1, 1, 1]).code.tolist() == [0, 1, 0, 1, 1]
    # the heavier half has the lower number
    assert balanced([1, 1, 5, 5]).node.tolist() == [0, 2, 0, 2, 0, 1, 0, 1]
    with pytest.raises(DataError):
        balanced([])
