"""Classifying nodes: the regression beside scikit-learn, as many labels as a node has, files of labels."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from unhot.errors import ConfigError, DataError
from unhot.evaluate.links import _figures
from unhot.evaluate.nodes import _f1, classify_nodes, logistic_weights, read_labels
from unhot.vectors.store import Vectors


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 6))
    truth = features @ rng.normal(size=(6, 3)) + rng.normal(size=(200, 3)) > 0.5
    truth[:, 2] &= rng.random(200) < 0.3
    return features, truth


@pytest.mark.parametrize("c", [0.1, 1.0, 10.0])
def test_the_regression_is_that_of_scikit_learn(data, c):
    features, truth = data
    weights = logistic_weights(features, truth, c)
    for label in range(3):
        other = LogisticRegression(C=c, tol=1e-8, max_iter=1000).fit(features, truth[:, label])
        np.testing.assert_allclose(weights[:-1, label], other.coef_[0], atol=0.02)
        np.testing.assert_allclose(weights[-1, label], other.intercept_[0], atol=0.02)


def test_f1_is_that_of_scikit_learn(data):
    features, truth = data
    scores = features[:, :3]
    said = np.zeros_like(truth)
    for i, row in enumerate(truth):
        said[i, np.argsort(-scores[i])[: row.sum()]] = True
    wanted = f1_score(truth, said, average="micro"), f1_score(truth, said, average="macro")
    assert _f1(truth, scores) == pytest.approx(wanted)


def test_labels_follow_from_vectors(data, tmp_path):
    features, truth = data
    vectors = Vectors([f"n{i}" for i in range(200)], features.astype(np.float32))
    lines = [f"n{i} {' '.join(f'l{k}' for k in np.flatnonzero(row))}\n" for i, row in enumerate(truth)]
    (tmp_path / "labels").write_text("# nodes\n" + "".join(lines) + "unknown l0\n")
    found = classify_nodes(vectors, tmp_path / "labels", splits=3)
    assert found.nodes == truth.any(axis=1).sum()
    assert (found.labels, found.unknown) == (3, 1)
    assert found.micro_f1 > 0.7
    noise = Vectors(vectors.words, np.random.default_rng(1).normal(size=(200, 6)).astype(np.float32))
    assert classify_nodes(noise, tmp_path / "labels").micro_f1 < found.micro_f1 - 0.1
    assert classify_nodes(vectors, read_labels(tmp_path / "labels"), splits=3) == found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("5988 21 6\n5989 1\n", {"5988": ["21", "6"], "5989": ["1"]}),
        ("1,20\r\n1,3\r\n2,20\r\n", {"1": ["20", "3"], "2": ["20"]}),  # BlogCatalog's group-edges.csv
        ("7\t0\t1\t0\t0\t1\t0\t0\t1\tTheory\n8" + "\t0" * 8 + "\tCase_Based\n",
         {"7": ["Theory"], "8": ["Case_Based"]}),  # Cora's .content
        ("id,target\n1,Machine Learning\n2,Theory\n", {"1": ["Machine Learning"], "2": ["Theory"]}),
        ("% x\nnew york\tbig city\n", {"new york": ["big city"]}),
        ("a x,y\na z x\n", {"a": ["x", "y", "z"]}),
        ('"a","b, c"\n', {"a": ["b, c"]}),
    ],
)  # fmt: skip
def test_files_of_labels(tmp_path, text, wanted):
    (tmp_path / "labels").write_text(text)
    assert read_labels(tmp_path / "labels") == wanted


def test_a_table_with_more_columns_than_labels_is_refused(tmp_path):
    (tmp_path / "labels").write_text("id,facebook_id,page_type\n0,145647315578475,tvshow\n")
    with pytest.raises(DataError, match="the columns are id, facebook_id, page_type"):
        read_labels(tmp_path / "labels")


@pytest.mark.parametrize("text", ["", "a\nb\n", "# x y\n"])
def test_files_without_labels(tmp_path, text):
    (tmp_path / "labels").write_text(text)
    with pytest.raises(DataError, match="no line"):
        read_labels(tmp_path / "labels")


def test_what_cannot_be_measured(data):
    vectors = Vectors(["a", "b"], np.eye(2, dtype=np.float32))
    with pytest.raises(DataError, match="4 or more"):
        classify_nodes(vectors, {"a": ["x"], "z": ["y"]})
    with pytest.raises(ConfigError, match="share"):
        classify_nodes(vectors, {"a": ["x"]}, share=1.0)


def test_areas_under_curves():
    scores = np.array([3.0, 2.0, 1.0, 2.0, 0.0, -1.0])
    area, (low, high), precision = _figures(scores, 3)
    assert area == pytest.approx((3 + 2.5 + 2) / 9)
    assert low <= area <= high
    assert precision == pytest.approx((1 / 1 + 2 / 3 + 3 / 4) / 3)
    ties = np.random.default_rng(1).integers(5, size=60).astype(float)
    edges = np.arange(60) < 20
    area, _, precision = _figures(ties, 20)
    assert area == pytest.approx(roc_auc_score(edges, ties))
    assert precision == pytest.approx(average_precision_score(edges, ties))
