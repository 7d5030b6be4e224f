"""Readers of recommenders and of kept logs."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import numpy as np

import unhot
from readers.corpora import check_corpus
from readers.reader import MEGABYTE, Files, Reader, files_below
from unhot.errors import Diverged
from unhot.evaluate.recommending import evaluate_recommender
from unhot.logs.encoding import read_log
from unhot.logs.log import Log
from unhot.logs.splitting import split_log
from unhot.models.load import all_models, load_unfinished
from unhot.models.recommender_model import RecommenderModel
from unhot.models.towers.tower_model import TowerModel
from unhot.train.progress import Progress

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
SMALL: dict[str, Any] = {"dim": 4, "batch": 4, "epochs": 2, "length": 5, "warmup": 0}
COLUMNS = {"features": "kind,booked", "side": "side"}
# towers: one with each way to keep features, sides, several interests, trees, and a training cut off
TOWERS: list[tuple[str, dict[str, Any]]] = [
    ("sasrec", {**COLUMNS, "blocks": 1, "output": "sampled:k=2"}),
    ("gru4rec", {"units": 3, "output": "hierarchical"}),
    ("youtube-dnn", {**COLUMNS, "units": 3, "buckets": 0, "output": "in_batch:normalized=true"}),
    ("mind", {**COLUMNS, "units": 3, "interests": 2, "tie": False, "output": "nce:k=2,bias=true"}),
    ("sdm", {"side": "side", "short": 2, "heads": 2, "output": "softmax"}),
    ("sasrec", {"blocks": 1, "output": "softmax"}),
]
HISTORY: list[Any] = [
    {"item": "a", "time": 3, "kind": "old", "booked": 1},
    "x y",
    {"item": "caf\u00e9", "color": 1},
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


def tower_seeds(folder: Path) -> list[Files]:
    """Return folders with a tower of each kind, and with a training that was cut off."""
    found = []
    for number, (name, how) in enumerate(TOWERS):
        more = {"with_users": number % 2 == 0, "split": "leave-last-out"}
        kind: Any = all_models()[name]
        stop = [_interrupt] if number == len(TOWERS) - 1 else []
        kind(threads=1, **SMALL, **more, **how).fit(ROWS, callbacks=stop).save(folder / str(number) / "m")
        found.append(files_below(folder / str(number)))
    return found


def _interrupt(progress: Progress) -> None:
    if progress.event == "epoch":
        raise KeyboardInterrupt


def read_tower(folder: Path, rng: random.Random) -> str:
    """Load a tower and ask it for vectors and items; go on with a training that was cut off."""
    with np.errstate(all="ignore"):  # a damaged number may be NaN
        model = load_unfinished(folder / "m") if rng.random() < 0.3 else unhot.load(folder / "m")
        if not isinstance(model, TowerModel):
            return "a model of another kind"
        histories: list[Any] = [HISTORY, HISTORY[:1], []]
        users = model.user_vectors(histories)
        if len(users) != len(histories) or users.shape[-1] != model.dim:
            return f"user vectors {users.shape}"
        found = model.recommend_many(histories, 3, exclude_seen=rng.random() < 0.5)
        if (log := model.learned.record.kept.log) is not None:
            model.recommend_many(log.user_words[:2], 2)
        evaluate_recommender(model)
        if not model.complete and model.config() == _cut_off().config():
            with contextlib.suppress(Diverged):
                model.resume(ROWS)
    wrong = [each for each in found if len({one.item for one in each}) != len(each) or len(each) > 3]
    return f"recommended {wrong}" if wrong else ""


def _cut_off() -> Any:
    """Return the model of the training that was cut off, untrained."""
    name, how = TOWERS[-1]
    kind: Any = all_models()[name]
    return kind(threads=1, split="leave-last-out", **SMALL, **how)


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
    Reader("model-tower", tower_seeds, read_tower, slack=16 * MEGABYTE, share=0.2),
    Reader("log-folder", log_seeds, read_kept_log, slack=16 * MEGABYTE),
]
