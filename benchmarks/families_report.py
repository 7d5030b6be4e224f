"""The results page of families.py, made from the rows of its CSV file."""

from __future__ import annotations

import importlib.util
import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from options import TESTS
from report import Row, groups, head, markdown_table, mean, quiet

COLUMNS = (
    *("family", "seed", "threads", "words", "vocabulary", "settings", "seconds", "total_seconds", "peak_mb"),
    *("analogies", "wordsim", "simlex", "overlap", "near", "ratios", "others_cores", "error"),
)
NAMES = {
    "skipgram": "skip-gram",
    "cbow": "CBOW",
    "fasttext": "fastText",
    "glove": "GloVe",
    "ppmi": "PPMI",
    "svd": "SVD of PPMI",
}
NOTES = """\
Every model learns from the same text with the same vocabulary (min count 5), in a process of its own; all
other settings are unhot's defaults. Seconds: from text to vectors, reading included, Python's start not;
kernels come from the disk cache. Peak MB: the most that the process held until then; pages of mapped files
count. One run says little about speed (see the other pages), but what to expect. There are no seconds of runs
that other processes disturbed.
"""
SCORED = """\
Analogies: accuracy in percent among the 30,000 most frequent words, by 3CosAdd. Wordsim, simlex: Spearman's
rank correlation times 100. With several seeds: mean (least..most). PPMI has no dimensions: its vectors are
rows of the matrix, as long as the vocabulary and mostly zeros.
"""
COMPARED = """\
Overlap: of the ten nearest words of each of the 1,000 commonest words, how many are among PPMI's ten, in
percent.
"""


def page(name: str, rows: Sequence[Row], picture: Path | None) -> str:
    """The whole page."""
    models = [row for row in rows if row["family"]]
    sizes = sorted({f"{int(row['vocabulary']):,}" for row in models if row["vocabulary"]})
    facts = [
        f"corpus: {int(rows[0]['words']):,} words, a vocabulary of {'; '.join(sizes)}",
        f"threads: {rows[0]['threads']}",
    ]
    parts = [head("families", name, rows, facts, [row for row in models if quiet(row)]), NOTES]
    scored = any(row[score] for row in models for score in TESTS)
    parts += [SCORED] if scored else []
    parts += [COMPARED] if any(row["overlap"] for row in models) else []
    parts += [model_table(models)]
    failed = [row for row in models if row["error"]]
    if failed:
        parts += [f"{len(failed)} of {len(models)} runs failed; the CSV file says why.\n"]
    if picture is not None:
        parts += [f"![Analogies against seconds]({picture.name})\n"]
    parts += neighbours(models)
    for row in rows:
        parts += ratios(json.loads(row["ratios"])) if row["ratios"] else []
    return "\n".join(parts)


def by_family(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows that did not fail, by family, in the order of their first run."""
    done = [row for row in rows if not row["error"]]
    return {family: group for (family,), group in groups(done, "family").items()}


def model_table(rows: Sequence[Row]) -> str:
    """One line a family."""
    shown = [score for score in (*TESTS, "overlap") if any(row[score] for row in rows)]
    forms = {"seconds": ".1f", "peak_mb": ",.0f", **dict.fromkeys(shown, ".1f")}
    lines = []
    for family, group in by_family(rows).items():
        settings = ", ".join(f"{name} {value}" for name, value in json.loads(group[0]["settings"]).items())
        timed = {"seconds": [row for row in group if quiet(row)]}
        values = [
            mean([float(row[column]) for row in timed.get(column, group) if row[column]], form)
            for column, form in forms.items()
        ]
        lines.append([NAMES[family], settings, *values])
    return markdown_table(["model", "settings", "seconds", "peak MB", *shown], lines)


def neighbours(rows: Sequence[Row]) -> list[str]:
    """What each model finds nearest to some words."""
    found = {family: json.loads(group[0]["near"]) for family, group in by_family(rows).items()}
    words = list(dict.fromkeys(word for near in found.values() for word in near))
    if not words:
        return []
    lines = [
        [NAMES[family], *(" ".join(near.get(word, ["-"])) for word in words)]
        for family, near in found.items()
    ]
    return ["## Nearest words\n", markdown_table(["model", *words], lines)]


def ratios(found: dict[str, Any]) -> list[str]:
    """The table that GloVe starts from."""
    if found["missing"]:
        return [f"(No table of ratios: not in the vocabulary: {', '.join(found['missing'])}.)\n"]
    a, b = found["words"]
    probes, *columns = zip(*found["table"], strict=True)
    names = (f"P(x \\| {a})", f"P(x \\| {b})", f"P(x \\| {a}) / P(x \\| {b})")
    lines = [
        [name, *("-" if math.isnan(p) else f"{p:.2g}" for p in column)]
        for name, column in zip(names, columns, strict=True)
    ]
    told = (
        f"## {a.capitalize()} and {b}\n\n"
        f"P(x | {a}) is the share of x among all that stands near {a}, up to {found['window']} words away,\n"
        "each counting 1 / distance. The ratio tells what sets the two words apart: it is large for words\n"
        "that belong to the first, small for those of the second, and near 1 for those of both or neither.\n"
        "GloVe fits the logarithms of such ratios by differences of vectors.\n"
    )
    return [told, markdown_table(["x", *probes], lines)]


def plot(rows: Sequence[Row], path: Path) -> Path | None:
    """Draw analogies against seconds; None without analogies or matplotlib."""
    found = by_family([row for row in rows if row["analogies"] and quiet(row)])
    if not found or importlib.util.find_spec("matplotlib") is None:
        return None
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    style = {"svg.hashsalt": "unhot", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
    with mpl.rc_context(style):
        figure = Figure(figsize=(7.0, 4.2), layout="constrained")
        axes = figure.add_subplot(
            xscale="log", xlabel="seconds from text to vectors", ylabel="analogies, percent"
        )
        points = [
            (_mean(group, "seconds"), _mean(group, "analogies"), NAMES[family])
            for family, group in found.items()
        ]
        for number, (x, y, name) in enumerate(sorted(points)):  # names of neighbours stand on different sides
            axes.plot(x, y, "o", color="tab:blue")
            if number % 2 == 0:
                axes.annotate(name, (x, y), (6, -4), textcoords="offset points", ha="left", va="top")
            else:
                axes.annotate(name, (x, y), (-6, 4), textcoords="offset points", ha="right", va="bottom")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter("{x:g}")
        axes.margins(x=0.15, y=0.15)
        axes.set_ylim(bottom=0.0)
        axes.grid(color="0.92")
        figure.savefig(path, format="svg", metadata={"Date": None})
    return path


def _mean(rows: Sequence[Row], column: str) -> float:
    return statistics.fmean(float(row[column]) for row in rows)
