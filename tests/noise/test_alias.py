import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import DataError
from unhot.kernels.jit import ENABLED, kernel
from unhot.kernels.rng import bits_at
from unhot.noise.alias import alias_table, draw
from unhot.noise.rules import unigram


@kernel
def draw_many(table, key, out):
    for i in range(out.size):
        out[i] = draw(table, bits_at(key, i))


def probabilities(table):
    """What a table really draws from, exactly."""
    threshold, alias = (
        (table >> np.uint64(32)).astype(np.float64) / 2**32,
        (table & np.uint64(0xFFFFFFFF)).astype(np.int64),
    )
    q = threshold / table.size
    np.add.at(q, alias, (1 - threshold) / table.size)
    return q


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200).filter(lambda w: sum(w) > 0))
def test_table_holds_the_distribution(weights):
    q = np.array(weights) / sum(weights)
    np.testing.assert_allclose(probabilities(alias_table(q)), q, atol=2.0**-31)


def test_draws_follow_the_distribution():
    q = unigram(np.array([1000, 200, 50, 0, 3, 1]), 0.75)
    out = np.empty(200_000, np.int32)
    draw_many(alias_table(q), np.uint64(12345), out)
    found = np.bincount(out, minlength=6)
    assert found[3] == 0
    possible = q > 0
    expected = q[possible] * out.size
    chi_square = ((found[possible] - expected) ** 2 / expected).sum()
    # 4 degrees of freedom, one run in 27,000 (fixed seed, so it either holds or not)
    assert chi_square < 25.7


def test_powers():
    counts = np.array([16, 1, 0, 81])
    np.testing.assert_allclose(unigram(counts, 0.75), np.array([8, 1, 0, 27]) / 36)
    np.testing.assert_allclose(unigram(counts, 0.0), np.array([1, 1, 0, 1]) / 3)
    np.testing.assert_allclose(
        unigram(counts, -1.0), np.array([1 / 16, 1, 0, 1 / 81]) / (1 / 16 + 1 + 1 / 81)
    )
    assert np.isfinite(unigram(counts, 1e6)).all()
    with pytest.raises(DataError):
        unigram(np.array([0, 0]), 0.75)


@pytest.mark.skipif(not ENABLED, reason="too many draws for plain Python")
def test_more_ids_than_float32_has_whole_numbers():
    """Ids above 2**24, and odd ones among them, come as often as they should."""
    words = 2**24 + 2**20
    # every cell gives its own id; takes no memory
    uniform = np.broadcast_to(np.uint64(0xFFFFFFFF << 32), (words,))
    out = np.empty(4_000_000, np.int32)
    draw_many(uniform, np.uint64(1), out)
    assert 0 <= out.min()
    assert out.max() < words
    for found, share in (
        ((out >= 2**24).mean(), 1 / 17),
        ((out % 2 == 1).mean(), 1 / 2),
        (((out >= 2**24) & (out % 2 == 1)).mean(), 1 / 34),
        (((out >= 2**24) & (out % 4 == 3)).mean(), 1 / 68),
    ):
        assert abs(found - share) < 5 * (share * (1 - share) / out.size) ** 0.5


@pytest.mark.parametrize("word", [2**24 + 1, 2**30 + 3, 2**31 - 1])
def test_high_ids_survive_as_aliases(word):
    out = np.empty(100, np.int32)
    draw_many(np.broadcast_to(np.uint64(word), (5,)), np.uint64(1), out)  # threshold 0: always the alias
    assert (out == word).all()


@pytest.mark.parametrize("size", [0, 2**31])
def test_sizes_that_cannot_be(size):
    with pytest.raises(DataError, match=f"{size:,} ids"):
        alias_table(np.broadcast_to(1.0, (size,)))
