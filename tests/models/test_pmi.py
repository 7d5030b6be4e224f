"""Pointwise mutual information against the formula, word by word, and against scipy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import with_jit, without_jit

from unhot import Vocabulary
from unhot.corpus.cells import Cells
from unhot.errors import ConfigError, DataError
from unhot.models import pmi as module
from unhot.models.pmi import pmi, reference

VARIANTS = [
    {},
    {"positive": False},
    {"shift": 5.0},
    {"smoothing": 1.0},
    {"smoothing": 0.0},
    {"positive": False, "shift": 0.5, "smoothing": 0.5},
]


def cells_of(x):
    filled = x != 0
    words = Vocabulary([f"w{i}" for i in range(len(x))], np.arange(len(x), 0, -1))
    return Cells.from_arrays(
        words,
        np.concatenate([[0], filled.sum(axis=1).cumsum()]),
        np.nonzero(filled)[1],
        x[filled],
        {"sides": "both"},
    )


def counts(words=30, seed=1, share=0.4):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((words, words)) < share, rng.gamma(0.5, 20, (words, words)), 0.0)


def dense(cells, missing=0.0):
    out = np.full((len(cells.vocabulary), len(cells.vocabulary)), missing)
    for i in range(len(out)):
        columns, values = cells.row(i)
        out[i, columns] = values
    return out


def brute_force(x, i, j, positive=True, shift=1.0, smoothing=0.75):
    """The docstring of pmi.py, cell by cell."""
    size, total = range(len(x)), math.fsum(x.ravel())
    columns = [math.fsum(x[k, c] for k in size) ** smoothing for c in size]
    joint, word, context = x[i, j] / total, math.fsum(x[i]) / total, columns[j] / math.fsum(columns)
    found = math.log(joint / (word * context)) - math.log(shift) if joint > 0 else -math.inf
    return max(found, 0.0) if positive else found


@pytest.mark.parametrize("settings", VARIANTS)
@pytest.mark.parametrize("threads", [1, 3])
def test_cells_are_those_of_the_formula(settings, threads, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 40)  # many parts
    x = counts()
    x[4], x[:, 9] = 0, 0
    missing = 0.0 if settings.get("positive", True) else -np.inf
    found = dense(pmi(cells_of(x), threads=threads, **settings), missing)
    expected = [[brute_force(x, i, j, **settings) for j in range(len(x))] for i in range(len(x)) if i != 4]
    np.testing.assert_allclose(np.delete(found, 4, axis=0), expected, rtol=1e-12, atol=1e-13)
    assert (found[4] == missing).all()


@pytest.mark.parametrize("settings", VARIANTS)
def test_reference_is_the_formula(settings):
    x = counts(words=8)
    expected = [[brute_force(x, i, j, **settings) for j in range(8)] for i in range(8)]
    np.testing.assert_allclose(reference(x, **settings), expected, rtol=1e-12, atol=1e-13)


def test_sparse_matrices_of_scipy_agree():
    sparse = pytest.importorskip("scipy.sparse")
    x = sparse.csr_array(counts(words=60, share=0.2))
    contexts = x.sum(axis=0) ** 0.75
    rows, columns = x.nonzero()
    values = np.log(x.data / x.sum(axis=1)[rows] / (contexts / contexts.sum())[columns])
    expected = sparse.csr_array((np.maximum(values, 0), (rows, columns)), x.shape)
    expected.eliminate_zeros()
    found = pmi(cells_of(x.toarray()))
    assert found.starts.tolist() == expected.indptr.tolist()
    assert found.columns.tolist() == expected.indices.tolist()
    np.testing.assert_allclose(found.values, expected.data, rtol=1e-11)


@given(seed=st.integers(0, 1000), scale=st.floats(1e-3, 1e3), shift=st.floats(0.1, 10))
def test_scale_does_not_matter_and_the_shift_is_subtracted(seed, scale, shift):
    x = counts(words=6, seed=seed, share=0.7)
    x[0, 0] = 1.0
    plain = pmi(cells_of(x), positive=False, threads=1)
    other = pmi(cells_of(x * scale), positive=False, shift=shift, threads=1)
    np.testing.assert_allclose(other.values, plain.values - math.log(shift), rtol=1e-9, atol=1e-9)


def test_independent_words_have_none_of_it():
    x = np.outer([1.0, 2, 3, 4], [4.0, 3, 2, 1])
    assert np.abs(pmi(cells_of(x), positive=False, smoothing=1.0).values).max() < 1e-15
    assert len(pmi(cells_of(x), smoothing=1.0, shift=1.001)) == 0


def test_negative_cells_stay_unless_positive():
    cells = cells_of(counts())
    plain, positive = pmi(cells, positive=False), pmi(cells)
    assert len(plain) == len(cells) > len(positive)
    assert plain.values.min() < 0 < positive.values.min()
    assert positive.values.tolist() == plain.values[plain.values > 0].tolist()


@pytest.mark.parametrize("smoothing", [300.0, 1e6])
def test_large_powers_do_not_overflow(smoothing):
    """By logarithms: P(j) is sum_j^smoothing / sum of these, and nearly all of it is the largest."""
    x = np.array([[0.0, 20.0, 3.0], [20.0, 0.0, 1.0], [3.0, 1.0, 0.0]]) * 1e3
    sums = x.sum(axis=0)
    found = dense(pmi(cells_of(x), positive=False, smoothing=smoothing))
    expected = np.log(20e3 / sums[0]) - smoothing * np.log(sums[1] / sums.max())
    np.testing.assert_allclose(found[0, 1], expected, rtol=1e-9)
    with pytest.raises(ConfigError, match=r"smoothing=1.7e\+308: the context sums to that power overflow"):
        pmi(cells_of(x), smoothing=1.7e308)


def test_kept_cells_open_again(tmp_path):
    made = pmi(cells_of(counts()), shift=2, directory=tmp_path / "ppmi")
    again = Cells.open(tmp_path / "ppmi")
    assert again.settings == {
        "pmi": {"positive": True, "shift": 2.0, "smoothing": 0.75},
        "cells": {"sides": "both"},
    }
    assert not again.is_symmetric()  # smoothing makes words and contexts differ
    assert again.vocabulary == made.vocabulary
    assert (again.columns.tolist(), again.values.tolist()) == (made.columns.tolist(), made.values.tolist())


def test_no_cells_have_none():
    assert len(pmi(cells_of(np.zeros((3, 3))))) == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shift": 0}, "shift=0: must be >= "),
        ({"shift": math.inf}, "shift=inf"),
        ({"smoothing": -0.1}, "smoothing=-0.1: must be >= 0"),
        ({"threads": 0}, "threads=0"),
        ({"positive": 1}, "positive=1: must be true or false"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ConfigError, match=message):
        pmi(cells_of(counts(words=3)), **settings)


def test_only_counts_have_it():
    with pytest.raises(DataError, match="a cell has the value -.*: PMI needs counts above zero"):
        pmi(pmi(cells_of(counts()), positive=False))


PROGRAM = """
import numpy as np
from unhot import Vocabulary
from unhot.corpus.cells import Cells
from unhot.models.pmi import pmi
from unhot.models.truncated_svd import truncated_svd
from unhot.vectors.sparse_vectors import SparseVectors
x = np.random.default_rng(3).gamma(0.5, 9, (12, 12))
words = Vocabulary([f"w{i}" for i in range(12)], range(12, 0, -1))
cells = pmi(Cells.from_arrays(words, np.arange(13) * 12, np.tile(np.arange(12), 12), x.ravel()), threads=1)
u, s, v = truncated_svd(cells, 3, rounds=2, threads=1)
near = SparseVectors(cells).most_similar("w3")
found = [*cells.values, *s, *np.abs(u).ravel(), *np.abs(v).ravel(), *(cosine for _, cosine in near)]
print(np.array(found).tolist())
"""


def test_the_same_without_the_compiler():
    found = [eval(run(PROGRAM)) for run in (with_jit, without_jit)]
    assert len(found[0]) > 80
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-5)
