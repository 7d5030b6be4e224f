"""Deep retrieval beside RecTools, RecBole and torch-rechub: the same split, our evaluator on all of them.

    python benchmarks/tower_peers.py --data FOLDER [--only movielens,sasrec] [--seeds 3] [--page]
        [--rectools PYTHON] [--recbole PYTHON] [--rechub PYTHON]

FOLDER has movielens-100k/u.data and amazon-beauty-seq/Beauty.txt.xz. Each PYTHON is one of an environment
with that package (rectools[torch], recbole with numpy < 2, torch-rechub).

The last event of each user is the test. A split is written once, as numbers of items, and every tool reads
those files. It learns from all other events for a fixed number of epochs, on one thread, and lists 20 items
for each user, without those of the history. Each run is a process of its own.

Each finished run is appended to docs/results/tower_peers.csv, and a second start leaves out what is there. A
run that fails becomes a row with an error; remove the row to try it again. `--only` chooses runs by words,
all of which must be the set, the pair, the side or the seed of a run. `--page` makes the page from the rows
there are. The ranks of the right items are kept in build/tower_peers, for intervals.

`--validation` holds out the event before the last one, too, and asks for it: it prints figures, to choose
the number of epochs by, and keeps no row.
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

CSV = RESULTS / "tower_peers.csv"
WORK = ROOT / "build" / "tower_peers"
KEYS = ("set", "pair", "side", "seed")
FIGURES = ("recall@10", "ndcg@10", "recall@20", "mrr@20")
COLUMNS = (
    *(*KEYS, "loss", "settings", *FIGURES, "seconds", "cpu_seconds", "total_seconds", "peak_mb"),
    *("others_cores", "error", "versions", "commit", "machine"),
)
TOOLS = ("rectools", "recbole", "rechub")
UNHOT = "unhot"


class Side(NamedTuple):
    """A tool, or a way to train a tower of unhot."""

    tool: str  # whose child trains it
    loss: str  # in words, or the output layer of unhot
    settings: dict[str, Any]


class Pair(NamedTuple):
    """A peer, and the same tower of unhot."""

    sides: dict[str, Side]  # the first one is the peer
    differs: str  # between the two, besides what the table says


SETS = {
    "movielens": ("movielens-100k/u.data", "movielens"),
    "beauty": ("amazon-beauty-seq/Beauty.txt.xz", "user-sessions"),
}
SOFTMAX = "softmax:bias=false"
OWN_RATES = "unhot: AdamW, rate 0.002 that falls to 0."
RATES = f"The peer: Adam, constant rate 0.001; {OWN_RATES}"
RECHUB_RATES = f"torch-rechub: Adam, constant rate 0.001, weight decay 1e-5; {OWN_RATES}"
COSINES = "sampled:k=1000,noise=uniform,normalized=true,bias=false,temperature="


def unhot(model: str, output: str, **settings: Any) -> Side:
    """Return a way to train a tower of unhot."""
    return Side(UNHOT, output, {"model": model, "output": output, "dim": 64, **settings})


def pairs(epochs: dict[str, int]) -> dict[str, Pair]:
    """Return the pairs by their names; `epochs` of each."""
    attention = {"length": 50, "batch": 128, "dropout": 0.2, "heads": 2, "blocks": 2}
    attention["epochs"] = epochs["sasrec"]
    cells = {"length": 50, "units": 128, "dropout": 0.3, "epochs": epochs["gru4rec"]}
    means = {"length": 50, "batch": 128, "units": 128, "epochs": epochs["youtube-dnn"]}
    routed = {"length": 50, "batch": 128, "interests": 4, "epochs": epochs["mind"]}
    return {
        "sasrec": Pair(
            {
                "rectools": Side("rectools", "softmax", {"dim": 64, **attention}),
                "unhot": unhot("sasrec", SOFTMAX, newest=51, **attention),
                "unhot, whole histories": unhot("sasrec", SOFTMAX, **attention),
            },
            "RecTools learns from the last 51 events of each user, and unhot from the same. By itself unhot "
            f"learns from whole histories, in pieces of 50. {RATES}",
        ),
        "gru4rec": Pair(
            {
                "recbole": Side("recbole", "softmax", {"dim": 64, "batch": 128, **cells}),
                "unhot": unhot("gru4rec", SOFTMAX, batch=3, **cells),
            },
            "An example of RecBole is one target and at most 50 events before it, and a batch is 128 "
            "targets. unhot predicts every event of a piece of 50 in one pass, so a batch of 3 pieces has at "
            "most 150 targets, and the first events of a piece are predicted from less than 50. "
            f"{RATES}",
        ),
        "youtube-dnn": Pair(
            {
                "rechub": Side(
                    "rechub",
                    "softmax of the target and 20 uniform draws",
                    {"model": "youtube-dnn", "dim": 64, "k": 20, "temperature": 0.1, **means},
                ),
                "unhot": unhot("youtube-dnn", f"{COSINES}0.1", examples=0, **means),
                "unhot, its defaults": unhot("youtube-dnn", "sampled:k=1000", examples=0, **means),
            },
            "torch-rechub draws 20 items for each example, once before training: 2,560 for a batch. unhot "
            "draws 1,000 that all examples of a batch share. In both of them draws are uniform, so "
            "log q makes no difference, and scores are cosines, divided by 0.1. torch-rechub takes the plain "
            "mean of the events, no dropout, and a last layer with batch normalization and ReLU; unhot takes "
            "a mean that weighs new events more (decay 0.8), dropout 0.3, and a linear last layer. With its "
            f"defaults, scores are products, and draws by count ** 0.75 have log q. {RECHUB_RATES}",
        ),
        "mind": Pair(
            {
                "rechub": Side(
                    "rechub",
                    "softmax of the target and 20 uniform draws",
                    {"model": "mind", "dim": 64, "k": 20, "temperature": 1.0, **routed},
                ),
                "unhot": unhot("mind", f"{COSINES}1.0", examples=0, **routed),
                "unhot, its defaults": unhot("mind", "sampled:k=1000", examples=0, **routed),
            },
            "MIND of torch-rechub ignores its temperature: scores are cosines, from -1 to 1, and so they are "
            "for unhot here, except with its defaults. It has to have a feature of users, here their number, "
            f"and trains only the best interest. Draws are as for youtube-dnn. {RECHUB_RATES}",
        ),
    }


EPOCHS = {
    "movielens": {"sasrec": 80, "gru4rec": 2, "youtube-dnn": 10, "mind": 5},
    "beauty": {"sasrec": 20, "gru4rec": 3, "youtube-dnn": 10, "mind": 10},
}


class Run(NamedTuple):
    """What is trained, on what, and with which seed."""

    set: str
    pair: str
    side: str
    seed: int

    def file(self, kind: str) -> Path:
        """Return where its lists or its ranks are kept."""
        return WORK / f"{'-'.join(map(str, self)).replace(', ', '-').replace(' ', '_')}-{kind}.npy"


def runs(seeds: int) -> Iterator[Run]:
    """Yield all runs, seed by seed, so that the sides of a pair take turns."""
    for name in SETS:
        for seed in range(1, seeds + 1):
            for pair, found in pairs(EPOCHS[name]).items():
                yield from (Run(name, pair, side, seed) for side in found.sides)


def main() -> None:
    """Parse, train what is missing, write the page."""
    options = parser().parse_args()
    words = set(filter(None, options.only.split(",")))
    for run in [] if options.page else runs(options.seeds):
        done = {tuple(row[key] for key in KEYS) for row in rows_so_far()}
        if words <= {*map(str, run)} and (options.validation or tuple(map(str, run)) not in done):
            measure(run, options)
    if not options.validation:
        from tower_peers_report import page  # it imports unhot, whose memory would count as that of the runs

        (RESULTS / "tower_peers.md").write_text(page(rows_so_far()), encoding="utf-8")


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    result = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("--data", type=Path)
    result.add_argument("--only", default="", help="words with commas between them")
    result.add_argument("--seeds", type=int, default=3)
    result.add_argument("--epochs", type=int, help="instead of those of each pair; with --validation")
    result.add_argument("--page", action="store_true", help="only make the page")
    result.add_argument("--validation", action="store_true", help="only print figures on validation")
    for tool in TOOLS:
        result.add_argument(f"--{tool}", default="python", metavar="PYTHON")
    return result


def rows_so_far() -> list[Any]:
    """Return the rows of finished runs."""
    return [*read_rows(CSV)] if CSV.exists() else []


def measure(run: Run, options: argparse.Namespace) -> None:
    """Train and list in a process of its own, measure the lists in another one, and append a row."""
    side = pairs(EPOCHS[run.set])[run.pair].sides[run.side]
    settings = {**side.settings, "epochs": options.epochs or side.settings["epochs"]}
    log, form = SETS[run.set]
    part = "validation" if options.validation else "test"
    split = {"log": str(options.data / log), "format": form, "part": part}
    split |= {"folder": str(WORK / f"{run.set}-{part}")}
    if not Path(split["folder"], "targets.txt").exists():
        child("split_histories", split)
    files = {kind: str(run.file(f"{part}-{kind}")) for kind in ("lists", "ranks")}
    job = {**split, **files, "settings": settings, "seed": run.seed}
    python = {} if side.tool == UNHOT else {"python": getattr(options, side.tool)}
    row = {**run._asdict(), "loss": side.loss, "settings": json.dumps(settings)}
    row |= {"commit": commit(), "machine": machine()}
    try:
        done, told = child(f"tower_{side.tool}", job, **python)
        found = child("measure_lists", job)[1]
    except ChildFailed as error:
        row["error"] = str(error).strip().splitlines()[-1]
        say(f"{' '.join(map(str, run))}: {row['error']}")
    else:
        row |= {**told, **done.columns(), **{name: found[name] for name in FIGURES}}
        shown = ", ".join(f"{name} {100 * found[name]:.2f}" for name in FIGURES)
        say(f"{' '.join(map(str, run))}: {shown}; {told['seconds']} s, processor {told['cpu_seconds']} s")
    if not options.validation:
        append(row)


def append(row: dict[str, Any]) -> None:
    """Add a row to the CSV file."""
    new = not CSV.exists()
    with CSV.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    main()
