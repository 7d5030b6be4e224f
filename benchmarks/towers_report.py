"""The page of `benchmarks/towers.py`: tables of towers and losses, with intervals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
from towers import KEYS, LOSSES, SETS, SOFTMAX, TOWERS, WITHOUT, Run, counts_file, ranks_file

from unhot.evaluate.figures import mean_interval
from unhot.items.ranking import ndcg

BANDS = (0, 6, 11, 21, 51, 1 << 62)  # events of the right item, from .. to below


class Found(NamedTuple):
    """The runs of a set, a model and a loss with all their seeds."""

    rows: list[Any]

    def mean(self, column: str) -> float:
        """Return the mean over the seeds."""
        return float(np.mean([float(row[column]) for row in self.rows]))

    def ranks(self) -> list[Any]:
        """Return the ranks of the right items for each seed; an empty list if they are not here."""
        files = [ranks_file(Run(*(row[key] for key in KEYS))) for row in self.rows]  # seeds as text
        return [np.load(file) for file in files] if all(file.exists() for file in files) else []

    def gains(self) -> Any:
        """Return the gain of each question, the mean over the seeds; None if the ranks are not here."""
        ranks = self.ranks()
        return np.mean([ndcg(each, 10) for each in ranks], axis=0) if ranks else None

    def seconds_to(self, aim: float) -> float:
        """Return the median time of training until validation reached an aim; infinite if it never did."""
        times = []
        for row in self.rows:
            reached = [second for second, figure in json.loads(row["curve"] or "[]") if figure >= aim]
            times.append(reached[0] if reached else np.inf)
        return float(np.median(times))


def grouped(rows: Sequence[Any]) -> dict[tuple[str, str, str], Found]:
    """Return the rows by set, model and loss."""
    found: dict[tuple[str, str, str], Found] = {}
    for row in rows:
        found.setdefault((row["set"], row["model"], row["loss"]), Found([])).rows.append(row)
    return found


def difference(found: Found, other: Found) -> str:
    """Return how much higher NDCG@10 is, with the interval of a paired bootstrap over the questions."""
    gains, others = found.gains(), other.gains()
    if gains is None or others is None:
        return f"{100 * (found.mean('ndcg@10') - other.mean('ndcg@10')):+.2f}"
    low, high = mean_interval(gains - others)
    return f"{100 * (gains - others).mean():+.2f} ({100 * low:+.2f}..{100 * high:+.2f})"


def table(header: Sequence[str], lines: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a table; the first `left` columns are text."""
    marks = [":--"] * left + ["--:"] * (len(header) - left)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, marks, *lines)) + "\n"


def figures(found: Found) -> list[str]:
    """Return the cells that every table has."""
    percents = [f"{100 * found.mean(name):.2f}" for name in ("recall@10", "recall@20", "ndcg@10", "mrr@20")]
    return [*percents, f"{100 * found.mean('coverage@10'):.1f}", f"{found.mean('popularity_rank@10'):,.0f}"]


FIGURE_NAMES = ("recall@10", "recall@20", "NDCG@10", "MRR@20", "coverage@10", "popularity rank")


def set_section(name: str, every: dict[tuple[str, str, str], Found]) -> str:
    """Return the table of all models of a set, the best first."""
    own = {key[1:]: found for key, found in every.items() if key[0] == name}
    order = sorted(own, key=lambda key: -own[key].mean("ndcg@10"))
    simple = SETS[name].simple[0]
    lines = [
        [model, loss or "counts", str(len(own[model, loss].rows)), *figures(own[model, loss])]
        + [f"{own[model, loss].mean('fit_seconds'):.0f}", f"{own[model, loss].mean('peak_mb'):,.0f}"]
        for model, loss in order
    ]
    best = [key for key in order if key[0] != simple][:1]
    said = ""
    if best and (simple, "") in own:
        apart = difference(own[best[0]], own[simple, ""])
        word = "above" if apart.startswith("+") else "below"
        beyond = "" if apart.count("+") in (0, 3) or "(" not in apart else ", which is within the interval"
        said = (
            f"The best tower here, {best[0][0]} with {best[0][1]}, is {word} {simple}, which only counts: "
            f"its NDCG@10 differs by {apart}{beyond}.\n\n"
        )
    header = ("model", "loss", "seeds", *FIGURE_NAMES, "seconds", "MB")
    return f"## {name}\n\n{said}{table(header, lines, left=2)}"


def loss_section(name: str, model: str, every: dict[tuple[str, str, str], Found]) -> str:
    """Return the table of the losses of a model, compared with the softmax."""
    own = {loss: every[name, model, loss] for loss in LOSSES if (name, model, loss) in every}
    if len(own) < 3 or SOFTMAX not in own:
        return ""
    aim = 0.95 * max(own[SOFTMAX].mean("validation"), 0.0)
    full, lines = own[SOFTMAX].seconds_to(aim), []
    for loss, found in own.items():
        reached = found.seconds_to(aim)
        share = "never" if not np.isfinite(reached) else f"{reached:.0f} ({reached / full:.2f})"
        own_base = own.get(loss.removesuffix(WITHOUT))
        against = difference(found, own_base) if own_base is not None and loss.endswith(WITHOUT) else ""
        lines.append(
            [loss, *figures(found)[2:3], difference(found, own[SOFTMAX]), against, *figures(found)[4:]]
        )
        lines[-1] += [share, f"{found.mean('peak_mb'):,.0f}"]
    header = (
        "loss",
        "NDCG@10",
        "- softmax",
        "- with log q",
        *FIGURE_NAMES[4:],
        "s to 95 % (of softmax's)",
        "MB",
    )
    seeds = len(own[SOFTMAX].rows)
    return f"### The losses of {model} on {name}, {seeds} seed{'s' * (seeds > 1)}\n\n{table(header, lines)}"


def band_section(name: str, model: str, every: dict[tuple[str, str, str], Found]) -> str:
    """Return the table of recall by how often the right item was there before."""
    own = {loss: every[name, model, loss] for loss in LOSSES if (name, model, loss) in every}
    if len(own) < 3 or not counts_file(name).exists() or not all(found.ranks() for found in own.values()):
        return ""
    counts = np.load(counts_file(name))
    bands = [(low <= counts) & (counts < high) for low, high in pairwise(BANDS)]
    lines = [
        [
            loss,
            *(
                f"{100 * np.mean([(ranks[band] <= 10).mean() for ranks in found.ranks()]):.2f}"
                for band in bands
            ),
        ]
        for loss, found in own.items()
    ]
    called = [
        f"{low} to {high - 1}" if high < BANDS[-1] else f"{low} or more" for low, high in pairwise(BANDS)
    ]
    header = ("loss", *(f"{title} ({int(band.sum()):,})" for title, band in zip(called, bands, strict=True)))
    return (
        f"### recall@10 of {model} on {name}, by the events of the right item\n\n"
        f"In parentheses: the questions whose right item had so many events before.\n\n{table(header, lines)}"
    )


def page(rows: Sequence[Any]) -> str:
    """Return the page."""
    every = grouped(rows)
    parts = [set_section(name, every) for name in SETS if any(key[0] == name for key in every)]
    for name, model in product(SETS, TOWERS):
        parts += [loss_section(name, model, every), band_section(name, model, every)]
    machines, commits, threads = (
        ", ".join(dict.fromkeys(row[name] for row in rows)) for name in ("machine", "commit", "threads")
    )
    minutes = ", ".join(f"{data.minutes:g} minutes on {name}" for name, data in SETS.items())
    return (
        "# Deep retrieval\n\nGenerated by `benchmarks/towers.py` from [towers.csv](towers.csv).\n\n"
        f"{machines}; threads: {threads}; two runs at a time; commits {commits}. A model learns from train "
        "until validation gets no better, then from train and validation with as many epochs, and is "
        "tested on the item that came next, among all items "
        "(movielens, beauty: the last item of each user, items of the history are excluded; diginetica: "
        "given prefixes of sessions, nothing is excluded). Figures are in percent, popularity rank apart; "
        f"the mean over the seeds. Each of the two trainings takes at most {minutes}: what is slow, as "
        "softmax is, has not learned all by then. Differences have 95 % intervals of a paired bootstrap "
        "over the questions. "
        "Seconds are those of the last training; memory is the peak of the process, with the data. `s to "
        "95 %` is the time of training until NDCG@10 on validation first reached 95 % of the best that "
        "softmax reached, without the time of validation.\n\n" + "\n".join(filter(None, parts))
    )
