"""Singular values and vectors against LAPACK's and ARPACK's."""

import numpy as np
import pytest

from unhot import Vocabulary
from unhot.corpus.cells import Cells
from unhot.errors import ConfigError, DataError
from unhot.models.truncated_svd import Factors, truncated_svd, weighted


def cells_of(x):
    filled = x != 0
    words = Vocabulary([f"w{i}" for i in range(len(x))], np.arange(len(x), 0, -1))
    return Cells.from_arrays(
        words, np.concatenate([[0], filled.sum(axis=1).cumsum()]), np.nonzero(filled)[1], x[filled]
    )


def sparse_matrix(words=120, seed=1, share=0.2):
    """Not symmetric, with an empty row and an empty column.

    Its singular values fall slowly, as those of PMI do.
    """
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((words, words)) < share, rng.exponential(1, (words, words)), 0.0) * np.linspace(
        3, 0.2, words
    )
    x[3], x[:, 8] = 0, 0
    return x


def planted(rank, words=200, seed=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(words, rank)) @ np.diag(np.linspace(9, 3, rank)) @ rng.normal(size=(rank, words))


def angle(a, b):
    """The largest angle between the spaces of the columns of a and b, in radians: its sine."""
    a, b = np.linalg.qr(a.astype(np.float64))[0], np.linalg.qr(b.astype(np.float64))[0]
    return np.linalg.norm(a - b @ (b.T @ a), 2)


def test_small_matrices_are_lapacks():
    x, dim = sparse_matrix(), 10
    u, s, v = truncated_svd(cells_of(x), dim, rounds=20)
    lu, ls, lv = np.linalg.svd(x)
    np.testing.assert_allclose(s, ls[:dim], rtol=1e-5)
    assert (u.dtype, s.dtype, v.dtype) == (np.float32, np.float64, np.float32)
    np.testing.assert_allclose(u.T @ u, np.eye(dim), atol=1e-5)
    np.testing.assert_allclose(v.T @ v, np.eye(dim), atol=1e-5)
    assert angle(u, lu[:, :dim]) < 1e-3
    assert angle(v, lv[:dim].T) < 1e-3
    for k in range(dim):  # each vector by itself, too, up to its sign: that of u and v is the same
        sign = np.sign(u[:, k] @ lu[:, k])
        np.testing.assert_allclose(sign * u[:, k], lu[:, k], atol=2e-3)
        np.testing.assert_allclose(sign * v[:, k], lv[k], atol=2e-3)
    assert not u[3].any()
    assert not v[8].any()


def test_larger_matrices_are_arpacks():
    linalg, sparse = pytest.importorskip("scipy.sparse.linalg"), pytest.importorskip("scipy.sparse")
    x = sparse_matrix(words=900, share=0.05)
    theirs = np.sort(linalg.svds(sparse.csr_array(x), 20, random_state=1)[1])[::-1]
    found = truncated_svd(cells_of(x), 20, rounds=25)
    np.testing.assert_allclose(found.s, theirs, rtol=1e-4)


def test_defaults_lose_little():
    x, dim = sparse_matrix(words=900, share=0.05), 50
    exact = np.linalg.svd(x, compute_uv=False)[:dim]
    found = truncated_svd(cells_of(x), dim)
    assert (found.s <= exact * (1 + 1e-6)).all()  # of a projection
    assert found.s.sum() > 0.98 * exact.sum()
    rough = truncated_svd(cells_of(x), dim, rounds=1, oversampling=0)
    assert rough.s.sum() < found.s.sum()


def test_the_shift_helps():
    """By the plain iteration, from the same random numbers, more is lost."""
    x, dim, rounds = sparse_matrix(words=300), 30, 8
    q = np.random.default_rng(1).standard_normal((300, dim + 28), dtype=np.float32)
    for _ in range(rounds):
        q = np.linalg.qr(x.T @ (x @ q))[0]
    plain, exact = (
        np.linalg.svd(x @ q, compute_uv=False)[:dim].sum(),
        np.linalg.svd(x, compute_uv=False)[:dim].sum(),
    )
    assert exact - truncated_svd(cells_of(x), dim, rounds=rounds).s.sum() < 0.7 * (exact - plain)


@pytest.mark.parametrize("dim", [7, 12])
def test_a_planted_matrix_is_found_again(dim):
    x, rank = planted(7), 7
    u, s, v = truncated_svd(cells_of(x), dim, rounds=2)
    np.testing.assert_allclose((u * s) @ v.T, x, atol=1e-4 * np.abs(x).max())
    exact = np.linalg.svd(x, compute_uv=False)
    np.testing.assert_allclose(s[:rank], exact[:rank], rtol=1e-5)
    assert (s[rank:] < 1e-5 * s[0]).all()
    assert np.isfinite(u).all()
    assert np.isfinite(v).all()


def test_every_direction_may_be_asked_for():
    x = sparse_matrix(words=9, share=0.9)
    u, s, v = truncated_svd(cells_of(x), 9)
    np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False), atol=1e-5)
    np.testing.assert_allclose((u * s) @ v.T, x, atol=1e-5)


def test_cells_that_are_none_have_no_direction():
    u, s, v = truncated_svd(cells_of(np.zeros((4, 4))), 2)
    assert not u.any()
    assert not s.any()
    assert not v.any()
    assert not weighted(Factors(u, s, v), 0.0).any()


def test_seeds_and_threads():
    cells = cells_of(sparse_matrix())
    first, again = truncated_svd(cells, 8, seed=3), truncated_svd(cells, 8, seed=3)
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    for other in (
        truncated_svd(cells, 8, seed=4, rounds=20),
        truncated_svd(cells, 8, seed=3, threads=5, rounds=20),
    ):
        near = truncated_svd(cells, 8, rounds=20)
        np.testing.assert_allclose(other.s, near.s, rtol=1e-5)
        np.testing.assert_allclose(other.u, near.u, atol=5e-3)  # signs as well
    assert (np.take_along_axis(first.u, np.abs(first.u).argmax(axis=0)[None], axis=0) > 0).all()


def test_weights_of_directions():
    rng = np.random.default_rng(6)
    factors = Factors(
        rng.normal(size=(5, 3)).astype(np.float32),
        np.array([4.0, 1.0, 0.0]),
        rng.normal(size=(5, 3)).astype(np.float32),
    )
    np.testing.assert_allclose(weighted(factors), factors.u * [2, 1, 0], rtol=1e-6)
    np.testing.assert_allclose(weighted(factors, 1), factors.u * [4, 1, 0], rtol=1e-6)
    np.testing.assert_allclose(weighted(factors, 0), factors.u * [1, 1, 0], rtol=1e-6)
    np.testing.assert_allclose(
        weighted(factors, 0.5, contexts=True), (factors.u + factors.v) * [2, 1, 0], rtol=1e-6
    )
    assert weighted(factors).dtype == np.float32
    with pytest.raises(ConfigError, match="power=-1: must be >= 0"):
        weighted(factors, -1)


def test_progress_is_told():
    told = []
    truncated_svd(cells_of(sparse_matrix()), 3, rounds=4, progress=lambda *done: told.append(done))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim": 0}, "dim=0: must be >= 1"),
        ({"dim": 10}, "dim=10: must be at most 9, the number of words"),
        ({"dim": 2, "rounds": 0}, "rounds=0"),
        ({"dim": 2, "oversampling": -1}, "oversampling=-1"),
        ({"dim": 2, "threads": 0}, "threads=0"),
        ({"dim": 2, "seed": -1}, "seed=-1"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ConfigError, match=message):
        truncated_svd(cells_of(sparse_matrix(words=9)), **settings)


def test_a_wide_spectrum_is_found():
    """Raw counts have one: squares of their singular values differ by more than float32 can tell."""
    rng, exact = np.random.default_rng(7), np.geomspace(1, 1e-5, 30)
    u, v = (np.linalg.qr(rng.normal(size=(80, 30)))[0] for _ in range(2))
    found = truncated_svd(cells_of((u * exact) @ v.T), 30)
    np.testing.assert_allclose(found.s, exact, atol=1e-6)
    np.testing.assert_allclose(found.s[:20], exact[:20], rtol=1e-2)
    np.testing.assert_allclose(found.u.T @ found.u, np.eye(30), atol=1e-2)


@pytest.mark.parametrize("scale", [1e60, 1e-30, -1e200])
def test_values_may_be_of_any_size(scale):
    x = sparse_matrix(words=40)
    found, scaled = truncated_svd(cells_of(x), 4), truncated_svd(cells_of(x * scale), 4)
    np.testing.assert_allclose(scaled.s, found.s * abs(scale), rtol=1e-5)
    assert scaled.s[-1] > 0
    np.testing.assert_allclose(np.abs(scaled.u), np.abs(found.u), atol=1e-3)
    with pytest.raises(DataError, match="singular values overflow"):
        truncated_svd(cells_of(np.full((40, 40), 1e307)), 4)


def test_powers_that_are_too_large_are_refused():
    factors = Factors(np.ones((2, 2), np.float32), np.array([1e5, 0.0]), np.ones((2, 2), np.float32))
    assert weighted(factors, 7).max() == np.float32(1e35)
    for power in (8, 1e3):  # beyond float32, and beyond float64
        with pytest.raises(
            ConfigError, match=f"power={power:g}: singular values up to 100000 to that power are too large"
        ):
            weighted(factors, power)
