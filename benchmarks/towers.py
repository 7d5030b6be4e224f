"""Deep retrieval on real logs: every tower, and every way around its softmax.

    python benchmarks/towers.py --data FOLDER [--only beauty,sasrec] [--seeds 3] [--threads 2] [--page]

FOLDER has movielens-100k/u.data, amazon-beauty-seq/Beauty.txt.xz and diginetica/{train_sessions,
test_prefix_target}.txt.xz. Each run is a process of its own: it learns from train until validation gets no
better, then from train and validation with that number of epochs, and is tested on the item that came next,
among all items. Seconds are those of training alone, without validation.

Each finished run is appended to docs/results/towers.csv, and a second start leaves out what is there.
`--only` chooses runs by words, all of which must be the set, the model, the loss or the seed of a run.
`--page` makes the page from the rows there are. The ranks of the right items are kept in build/towers, for
intervals.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from harness import RESULTS, ROOT, ChildFailed, child, commit, machine, say
from report import read_rows

CSV = RESULTS / "towers.csv"
RANKS = ROOT / "build" / "towers"
FIGURES = ("recall@10", "recall@20", "ndcg@10", "mrr@20", "coverage@10", "popularity_rank@10")
KEYS = ("set", "model", "loss", "seed")
COLUMNS = (
    *(*KEYS, "output", "settings", *FIGURES, "validation", "epochs", "fit_seconds", "milliseconds"),
    *("total_seconds", "peak_mb", "others_cores", "threads", "curve", "commit", "machine"),
)
SOFTMAX, SAMPLED, COSINES = "softmax", "sampled", "sampled cosines"
LOSSES = {
    SOFTMAX: "softmax",
    COSINES: "sampled:k=1000,normalized=true,temperature=0.1",
    SAMPLED: "sampled:k=1000",
    "sampled without log q": "sampled:k=1000,correct=false",
    "in_batch": "in_batch",
    "in_batch without log q": "in_batch:correct=false",
    "mixed": "mixed:k=1000",
    "negative": "negative:k=1000,power=0",
    "nce": "nce:k=1000",
}
EXACT = (COSINES, SOFTMAX, SAMPLED)
WITHOUT = " without log q"
TOWERS = ("sasrec", "gru4rec", "youtube-dnn", "sdm", "mind")


class Data(NamedTuple):
    """A log, and how it is asked."""

    log: str
    format: str | None
    split: str
    exclude_seen: bool
    minutes: float  # of each of the two trainings of a run, at most
    prefixes: str | None = None
    simple: tuple[str, dict[str, Any]] = ("popularity", {})  # a model that counts, for comparison


SETS = {
    "movielens": Data(
        "movielens-100k/u.data",
        "movielens",
        "leave-last-out",
        exclude_seen=True,
        minutes=5.0,
        simple=("skip-markov", {"last": 10, "decay": 0.8, "backward": 0.5}),
    ),
    "beauty": Data(
        "amazon-beauty-seq/Beauty.txt.xz",
        "user-sessions",
        "leave-last-out",
        exclude_seen=True,
        minutes=5.0,
        simple=("skip-markov", {"last": 5, "decay": 0.8}),
    ),
    "diginetica": Data(
        "diginetica/train_sessions.txt.xz",
        "sessions",
        "session",
        exclude_seen=False,
        minutes=15.0,
        prefixes="diginetica/test_prefix_target.txt.xz",
        simple=("session-knn", {"last": 20, "decay": 0.6, "neighbours": 500}),
    ),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "movielens": {"epochs": 60},
    "beauty": {"batch": 128, "epochs": 25, "patience": 5},
    "diginetica": {"batch": 128, "length": 20},
}


class Run(NamedTuple):
    """What is trained, on what, and with which seed."""

    set: str
    model: str
    loss: str
    seed: int

    def settings(self) -> dict[str, Any]:
        """Return the settings of the model."""
        data = SETS[self.set]
        if self.model not in TOWERS:
            return dict(data.simple[1])
        return {
            "minutes": data.minutes,
            **SETTINGS.get(self.set, {}),
            **SETTINGS.get(f"{self.set} {self.model}", {}),
        }


def runs(seeds: int, best: str) -> Iterator[Run]:
    """Yield all runs, the most interesting ones first; `best`: the tower that is trained on Diginetica."""
    for name, data in SETS.items():
        yield Run(name, data.simple[0], "", 1)
    yield from (Run("diginetica", best, loss, 1) for loss in EXACT)
    for seed in range(1, seeds + 1):
        yield from (Run("movielens", tower, COSINES, seed) for tower in TOWERS)
        yield from (Run("beauty", "sasrec", loss, seed) for loss in LOSSES)
    yield from (Run("beauty", tower, loss, 1) for tower in TOWERS for loss in EXACT)
    yield from (Run("movielens", tower, loss, 1) for tower in TOWERS for loss in EXACT)
    yield from (Run("beauty", "youtube-dnn", loss, 1) for loss in LOSSES)
    yield from (Run("movielens", "sasrec", loss, 1) for loss in LOSSES)


def main() -> None:
    """Parse, train what is missing, write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", default="", help="words with commas between them")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--best", default="gru4rec", choices=TOWERS, help="the tower for Diginetica")
    parser.add_argument("--page", action="store_true", help="only make the page")
    options = parser.parse_args()
    words = set(filter(None, options.only.split(",")))
    chosen = [run for run in runs(options.seeds, options.best) if words <= {*map(str, run)}]
    RANKS.mkdir(parents=True, exist_ok=True)
    for run in [] if options.page else dict.fromkeys(chosen):
        if tuple(map(str, run)) not in {tuple(row[key] for key in KEYS) for row in rows_so_far()}:
            measure(run, options)
    from towers_report import page  # it imports unhot, whose memory would count as that of the runs

    (RESULTS / "towers.md").write_text(page(rows_so_far()), encoding="utf-8")


def rows_so_far() -> list[Any]:
    """Return the rows of finished runs."""
    return [*read_rows(CSV)] if CSV.exists() else []


def measure(run: Run, options: argparse.Namespace) -> None:
    """Train and test in a process of its own, and append a row."""
    data, settings = SETS[run.set], run.settings()
    job = {**data._asdict(), **run._asdict(), "settings": settings, "threads": options.threads}
    job |= {
        "log": str(options.data / data.log),
        "output": LOSSES.get(run.loss),
        "ranks": str(ranks_file(run)),
        "counts": str(counts_file(run.set)),
    }
    job |= {"prefixes": data.prefixes and str(options.data / data.prefixes)}
    try:
        done, answer = child("train_tower", job)
    except ChildFailed as error:
        say(f"{run}: {str(error).splitlines()[-1]}")
        return
    row = {**run._asdict(), **answer, **done.columns(), "threads": options.threads}
    row |= {"output": job["output"] or "", "settings": json.dumps(settings)}
    row |= {"commit": commit(), "machine": machine()}
    new = not CSV.exists()
    with CSV.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", extrasaction="ignore", lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)
    shown = ", ".join(f"{name} {100 * answer[name]:.2f}" for name in FIGURES[:4])
    say(f"{' '.join(map(str, run))}: {shown} after {answer['epochs']} epochs, {done.seconds:.0f} s")


def ranks_file(run: Run) -> Path:
    """Return where the ranks of a run are kept."""
    return RANKS / ("-".join(map(str, run)).replace(" ", "_") + ".npy")


def counts_file(name: str) -> Path:
    """Return where the counts of the right items of a set are kept: the events of each, before the test."""
    return RANKS / f"{name}-counts.npy"


if __name__ == "__main__":
    main()
