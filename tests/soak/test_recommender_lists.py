"""Figures of recommenders on real logs are those of the lists that they give.

`make soak DATA=FOLDER` runs this on MovieLens 100K, Online Retail and Diginetica, as far as FOLDER has them.
"""

import csv
import itertools
import lzma
import os
from pathlib import Path

import numpy as np
import pytest

from unhot.errors import DataError
from unhot.evaluate.recommending import evaluate_recommender
from unhot.logs.encoding import read_log
from unhot.models.load import all_models
from unhot.models.recommender_model import RecommenderModel

MODELS = {name: kind for name, kind in all_models().items() if issubclass(kind, RecommenderModel)}
FILES = {
    "movielens": "movielens-100k/u.data",
    "retail": "online-retail/online_retail.csv.xz",
    "diginetica": "diginetica/train_sessions.txt.xz",
}
ROWS = 200_000  # of Online Retail
QUESTIONS = 100  # their full lists must fit into memory
KS = (1, 10, 20)


def read(name, path):
    """The log of a data set."""
    if name == "movielens":
        return read_log(path)
    if name == "diginetica":
        return read_log(path, format="sessions")
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = (row for row in csv.DictReader(file) if row["CustomerID"])
        kept = [(row["CustomerID"], row["StockCode"], row["InvoiceDate"]) for row in rows]
    return read_log(itertools.islice(kept, ROWS))


@pytest.fixture(scope="module", params=FILES)
def log(request, soak):
    """A log; skipped if it is not there."""
    folder = os.environ.get("UNHOT_DATA")
    if not soak or not folder:
        pytest.skip("real logs: make soak DATA=FOLDER")
    path = Path(folder) / FILES[request.param]
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    return read(request.param, path)


def by_lists(model, cases, seen):
    """Recall, NDCG and MRR of prefixes, by full lists with scores."""
    lists = model.recommend_many([case[:-1] for case in cases], len(model.catalogue), exclude_seen=not seen)
    ranks = []
    for case, found in zip(cases, lists, strict=True):
        scores = np.array([each.score for each in found])
        own = [each.score for each in found if each.item == case[-1]]
        ranks.append((scores > own[0]).sum() + ((scores == own[0]).sum() + 1) / 2 if own else np.inf)
    hits = {k: np.array(ranks) <= k for k in KS}
    figures = {f"recall@{k}": hits[k].mean() for k in KS}
    figures |= {f"ndcg@{k}": (hits[k] / np.log2(1 + np.array(ranks))).mean() for k in KS}
    return figures | {f"mrr@{k}": (hits[k] / np.array(ranks)).mean() for k in KS}


@pytest.mark.parametrize("name", MODELS)
def test_figures_are_those_of_the_lists(log, name):
    small = {"dim": 8, "epochs": 1} if hasattr(MODELS[name], "dim") else {}
    small |= {"combine": "none"} if name == "eges" else {}
    try:
        model = MODELS[name](threads=1, **small).fit(log)
    except DataError as error:  # ease on many items
        pytest.skip(f"does not fit into memory: {error}")
    drawn = np.random.default_rng(1).choice(log.sentences, min(QUESTIONS, log.sentences), replace=False)
    lines = [log.ids_of_lines[log.starts[line] : log.starts[line + 1]] for line in drawn]
    cases = [[log.items.words[item] for item in line] for line in lines if line.size > 1]
    with read_log(cases, format="sessions") as prefixes:
        for seen in (False, True):
            found = evaluate_recommender(model, prefixes=prefixes, ks=KS, exclude_seen=not seen)
            expected = by_lists(model, cases, seen)
            assert {key: found.figures[key] for key in expected} == pytest.approx(expected, rel=0, abs=1e-9)
