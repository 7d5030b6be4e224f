"""Purity by hand, and clusters that are there to be found."""

import json
import math
from itertools import product

import numpy as np
import pytest

from unhot import Vectors
from unhot.evaluate import categories
from unhot.evaluate.categories import clusters


def units(rng, n, dim):
    rows = rng.normal(size=(n, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def objective(rows, labels):
    return sum(np.linalg.norm(rows[np.array(labels) == label].sum(axis=0)) for label in set(labels))


@pytest.mark.parametrize("seed", range(8))
def test_the_best_of_all_partitions_is_found(seed):
    rows = units(np.random.default_rng(seed), 8, 3)
    best = max(objective(rows, labels) for labels in product(range(3), repeat=8))
    assert objective(rows, clusters(rows, 3, seed).tolist()) == pytest.approx(best, rel=1e-9)


def test_planted_clusters():
    rng = np.random.default_rng(1)
    planted = np.repeat(np.arange(6), 20)
    rows = 4 * units(rng, 6, 30)[planted] + 2 * units(rng, 120, 30)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found = clusters(rows, 6)
    assert len(set(zip(planted, found, strict=True))) == 6
    assert np.array_equal(found, clusters(rows, 6))


@pytest.mark.parametrize("k", [1, 5])
def test_no_cluster_is_empty(k):
    rows = units(np.random.default_rng(2), 5, 4)
    assert set(clusters(rows, k).tolist()) == set(range(k))
    assert set(clusters(rows[[0, 0, 0, 0, 0]], k).tolist()) == set(range(k))  # equal vectors, too


def test_vectors_that_cancel_out_do_no_harm():
    rows = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    assert set(clusters(rows, 1).tolist()) == {0}


@pytest.fixture
def vectors():
    rows = np.array([[9, 0, 1], [9, 1, 0], [9, 0, 0], [0, 9, 1], [0, 9, 0], [1, 9, 0], [0, 0, 0]], np.float32)
    return Vectors(["cat", "dog", "car", "plum", "fig", "Pear", "zero"], rows)


LINES = (
    "cat\tanimal\ndog\tanimal\nplum\tfruit\nfig\tfruit\npear\tfruit\n"
    "car\tfruit\nzebra\tanimal\nzero\tnumber\n"
)


@pytest.mark.parametrize("as_csv", [False, True])
def test_purity_by_hand(tmp_path, vectors, as_csv):
    path = tmp_path / "words"
    rows = [line.split("\t") for line in LINES.splitlines()]
    path.write_text(
        ",Category,word\n" + "".join(f'{i},{c},"{w}"\n' for i, (w, c) in enumerate(rows)) + "9,fruit,\n"
        if as_csv
        else LINES
    )
    result = categories(vectors, path)
    assert (result.words, result.unknown, result.categories) == (8, 2, 2)
    assert result.purity == pytest.approx(5 / 6)  # the car lies with the animals
    assert result.largest == pytest.approx(4 / 6)
    assert result.interval[0] < result.purity <= result.interval[1]
    assert categories(vectors, path, case="exact").unknown == 3
    assert categories(vectors, path, restrict_vocab=3).words == 8
    assert json.loads(json.dumps(result.as_dict(), allow_nan=False))["purity"] == result.purity


def test_nothing_known_is_no_number(tmp_path, vectors):
    (tmp_path / "words").write_text("who\tpeople\nwhat\tthings\n")
    result = categories(vectors, tmp_path / "words")
    assert math.isnan(result.purity)
    assert (result.unknown, result.categories, result.as_dict()["purity"]) == (2, 0, None)
