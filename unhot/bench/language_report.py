"""The report of a comparison of language models."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from unhot.bench.language import LanguageComparison, LanguageRow
from unhot.bench.report import MEGABYTE, ComparisonReport, FigureColumn, Picture
from unhot.plots.comparisons import bands
from unhot.plots.curves import SteadyLine, curves

RARE = "1-9"  # the band of rare words
SIZE = (9.0, 5.0)  # inches of a picture
HIGHEST = 10.0  # perplexities above this multiple of the lowest are cut off
COLUMNS = (
    FigureColumn("model", "name", code=True),
    FigureColumn("lr", "lr", ".3g"),
    FigureColumn("perplexity", "perplexity", ",.1f"),
    FigureColumn("rare words", "rare", ",.0f"),
    FigureColumn("tokens/s", "speed", ",.0f"),
    FigureColumn("epochs", "epochs", ".1f"),
    FigureColumn("learned MB", "learned_bytes", ",.1f", MEGABYTE, zero=False),
    FigureColumn("training MB", "training_bytes", ",.0f", MEGABYTE, zero=False),
    FigureColumn("log Z mean", "log_z_mean", ".3f"),
    FigureColumn("log Z var", "log_z_variance", ".3f"),
    FigureColumn("own", "own_perplexity", ",.1f"),
)
OF_TRAINING = ("lr", "seconds", "tokens", "speed", "learned_bytes", "training_bytes")
OF_TEST = ("own_perplexity", "log_z_mean", "log_z_variance")
FIGURES = (*OF_TRAINING, "perplexity", *OF_TEST)
EXPLAINED = {
    "perplexity": "of the test text, normalised over all words; over several seeds the mean, and the range",
    "rare words": f"the perplexity of words that occur {RARE} times in the training text",
    "tokens/s": "tokens trained in a second of training",
    "training MB": "planned memory of the training",
    "log Z": "log of the sum of the layer's own probabilities: 0 if they sum to one",
    "own": "the perplexity that the layer believes in, without normalising",
}


def language_report(comparison: LanguageComparison) -> ComparisonReport:
    """Return the report: a row of the table for each model, a row of the file for each model and seed."""
    groups = grouped(comparison)
    best = [rows[0] for rows in groups]
    return ComparisonReport(
        command="unhot lm compare",
        summary=summary(comparison),
        columns=COLUMNS,
        records=[_averaged(rows, comparison.tokens) for rows in groups],
        terms=EXPLAINED,
        failures=[f"{row.name}: {row.failed}" for row in comparison.rows if row.failed],
        files={
            ".csv": [_record(row) for row in comparison.rows],
            "-curves.csv": [
                {"name": row.name, "seed": row.seed, "seconds": seconds, "perplexity": perplexity}
                for row in comparison.rows
                for seconds, perplexity in row.curve
            ],
        },
        pictures={
            "-time.svg": Picture("perplexity against seconds of training", _curves(best), SIZE),
            "-bands.svg": Picture("perplexity by how often a word occurs", _bands(best), SIZE),
        },
        data=comparison.as_dict(),
        measured=any(row.figures for row in comparison.rows),
        interrupted=comparison.interrupted,
    )


def _curves(best: Sequence[LanguageRow]) -> Callable[[Any], Any]:
    levels = [SteadyLine("n-grams", row.curve[-1][1]) for row in best if row.kind == "ngram" and row.curve]
    lines = {row.name: row.curve for row in best if row.kind == "layer" and row.curve}
    highest = HIGHEST * min((point[1] for curve in lines.values() for point in curve), default=math.inf)
    return partial(curves, points=lines, levels=levels, highest=highest, text="some validation lines")


def _bands(best: Sequence[LanguageRow]) -> Callable[[Any], Any]:
    by_band = {
        row.name: {band.name: band.perplexity for band in row.figures.bands}
        for row in best
        if row.figures is not None and row.kind != "mixture"
    }
    return partial(bands, figures=by_band)


def grouped(comparison: LanguageComparison) -> list[list[LanguageRow]]:
    """Return the rows of each model together, the best first; those that failed last."""
    groups: dict[str, list[LanguageRow]] = {}
    for row in comparison.rows:
        groups.setdefault(row.name, []).append(row)
    return sorted(groups.values(), key=_perplexity)


def _perplexity(rows: Sequence[LanguageRow]) -> float:
    """Return the mean perplexity of a model over its seeds; infinity if it was not measured."""
    found = [row.figures.result.perplexity for row in rows if row.figures]
    return fmean(found) if found else math.inf


def _averaged(rows: Sequence[LanguageRow], tokens: int) -> dict[str, Any]:
    """Return the figures of a model: the means over its seeds."""
    name, trained = rows[0].name, rows[0].kind == "layer"
    done = [(_record(row), row.figures.bands) for row in rows if row.figures]
    if not done:
        return {"name": name}
    means = {each: fmean(record[each] for record, _ in done) for each in FIGURES}
    values = [record["perplexity"] for record, _ in done]
    spread = f" ({min(values):,.1f}..{max(values):,.1f})" if len(values) > 1 else ""
    rare = [band.perplexity for _, bands in done for band in bands if band.name == RARE]
    return means | {
        "name": name,
        "perplexity": f"{means['perplexity']:,.1f}{spread}",
        "rare": fmean(rare) if rare else None,
        "speed": means["speed"] if trained else None,
        "epochs": means["tokens"] / tokens if trained else None,
    }


def _record(row: LanguageRow) -> dict[str, Any]:
    found = row.figures
    bands = [f"{band.name}:{band.perplexity:.6g}" for band in found.bands] if found else []
    return {
        **{name: getattr(row, name) for name in ("name", "kind", "seed", *OF_TRAINING)},
        "perplexity": found.result.perplexity if found else None,
        **{name: getattr(found, name, None) for name in OF_TEST},
        "bands": " ".join(bands),
        "weights": " ".join(f"{weight:.6g}" for weight in row.weights),
        "failed": row.failed,
    }


def summary(comparison: LanguageComparison) -> str:
    """Describe in a few sentences what was measured."""
    given = comparison.settings
    time = f"{given.minutes:g} minutes" if given.epochs is None else f"{given.epochs} epochs"
    rate = f"lr {given.lr:g} for all" if given.lr else "the best lr of a few for each, chosen on other lines"
    return (
        f"{given.body}, dim {given.dim}, dropout {given.dropout:g}, batch {given.batch} x {given.steps}, "
        f"{given.threads} threads; {time} of training for each layer and seed, {given.seeds} "
        f"seed{'s' if given.seeds > 1 else ''}, with {rate}; {comparison.tokens:,} tokens, "
        f"{comparison.words:,} different words."
        f"{' Interrupted: some layers were not measured.' if comparison.interrupted else ''}"
    )
