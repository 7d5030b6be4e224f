"""Readers of recommenders and of kept logs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

import unhot
from readers.corpora import check_corpus
from readers.reader import MEGABYTE, Files, Reader, files_below
from unhot.evaluate.recommending import evaluate_recommender
from unhot.logs.encoding import read_log
from unhot.logs.log import Log
from unhot.logs.splitting import split_log
from unhot.models.load import all_models
from unhot.models.recommender_model import RecommenderModel

ITEMS = ["a", "b", "caf\u00e9", "x y", "e", "f"]
ROWS = [
    {"user": f"u{u}", "item": ITEMS[(u + 2 * step) % 6], "time": 10 * step + u, "side": "red|blue"}
    | {"booked": step % 2, "rejected": u == 1, "kind": ("new", "old")[u % 2]}
    for u in range(5)
    for step in range(5)
]
MARKED: dict[str, Any] = {"booked": "booked", "rejected": "rejected", "user_type": "kind"}
TYPED = {"item_type": "side", "market": "side"}
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ("popularity", "itemknn", "session-knn", "ease", "skip-markov")),
    ("recent-popularity", {"events": 5}),
    ("item2vec", {"dim": 3, "epochs": 1, "output": "negative:k=5"}),
    ("item2vec", {"dim": 3, "epochs": 1, "output": "negative:k=5,bias=true", "users": "vector"}),
    ("item2vec", {"dim": 3, "epochs": 1, "output": "hierarchical"}),
    ("graph", {"dim": 3, "epochs": 1, "output": "negative:k=5"}),
    ("eges", {"dim": 3, "epochs": 1, "output": "negative:k=5", "side": "side"}),
    ("session", {"dim": 3, "epochs": 1, "output": "negative:k=5", **MARKED, **TYPED}),
]


def recommender_seeds(folder: Path) -> list[Files]:
    """Return folders with a recommender of each kind, with names and a log."""
    (folder / "items.csv").write_text("item,name\na,an apple\nb,\n", encoding="utf-8")
    found = []
    for number, (name, how) in enumerate(SETTINGS):
        more = {"with_users": number % 2 == 0, "items": str(folder / "items.csv")}
        kind: Any = all_models()[name]
        model = kind(threads=1, split="leave-last-out", **more, **how).fit(ROWS)
        model.save(folder / str(number) / "m")
        found.append(files_below(folder / str(number)))
    return found


def read_recommender(folder: Path, rng: random.Random) -> str:
    """Load a recommender and ask it."""
    model = unhot.load(folder / "m", verify=rng.random() < 0.3)
    if not isinstance(model, RecommenderModel):
        return "a model of another kind"
    with np.errstate(all="ignore"):  # a damaged number may be NaN
        found = model.recommend(model.catalogue.words[:2], 3, exclude_seen=rng.random() < 0.5)
        model.similar(model.catalogue.words[0], 2)
        if isinstance(model, unhot.EGES):
            model.explain(model.catalogue.words[0])
        if isinstance(model, unhot.SessionVectors) and model.types is not None:
            model.types.scores(model.types.vectors.words[0])
        if (log := model.learned.record.kept.log) is not None:
            model.recommend_many(log.user_words[:2], 2)
            evaluate_recommender(model)
    return "" if len({each.item for each in found}) == len(found) <= 3 else f"recommended {found}"


def log_seeds(folder: Path) -> list[Files]:
    """Return kept logs: with users, times and side columns, and with sessions alone."""
    features = ("kind", "booked", "rejected")
    read_log(ROWS, directory=folder / "0" / "x", side=("side",), features=features, **MARKED).close()
    read_log([ITEMS, ITEMS[:3]], directory=folder / "1" / "x", format="sessions").close()
    return [files_below(folder / number) for number in "01"]


def read_kept_log(folder: Path, rng: random.Random) -> str:
    """Open a log, and read all of it."""
    with Log.open(folder / "x") as log:
        wrong = check_corpus(log) or next(filter(None, map(check_corpus, log.sides.values())), "")
        if wrong or log.user_of.size != log.sentences or len(log.names) not in (0, len(log.items)):
            return wrong or "users or names do not fit"
        if any(feature.values.size != log.words for feature in log.features.values()):
            return "features do not fit"
        for how in ("leave-last-out", "session") + (("time",) if log.times.size else ()):
            split_log(log, how).cases("test")
        log.part(log.starts[1:]).close()
    return ""


READERS = [
    Reader("model-recommender", recommender_seeds, read_recommender, slack=16 * MEGABYTE),
    Reader("log-folder", log_seeds, read_kept_log, slack=16 * MEGABYTE),
]
