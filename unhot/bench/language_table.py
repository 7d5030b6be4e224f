"""Show a comparison of language models as a table, and write it as CSV and Markdown files."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unhot.bench.language import LanguageComparison, LanguageRow
from unhot.bench.table import write_rows

RARE = "1-9"  # the band of rare words
HEADER = (
    *("model", "lr", "perplexity", "rare words", "tokens/s", "epochs"),
    *("learned MB", "training MB", "log Z mean", "log Z var", "own"),
)
COLUMNS = (
    *("name", "kind", "seed", "lr", "seconds", "tokens", "speed", "learned_bytes", "training_bytes"),
    *("perplexity", "own_perplexity", "log_z_mean", "log_z_variance", "bands", "weights", "failed"),
)
EXPLAINED = {
    "perplexity": "of the test text, normalised over all words; over several seeds the mean, and the range",
    "rare words": f"the perplexity of words that occur {RARE} times in the training text",
    "tokens/s": "tokens trained in a second of training",
    "training MB": "planned memory of the training",
    "log Z": "log of the sum of the layer's own probabilities: 0 if they sum to one",
    "own": "the perplexity that the layer believes in, without normalising",
}


def grouped(comparison: LanguageComparison) -> list[list[LanguageRow]]:
    """Return the rows of each model together, the best first; those that failed last."""
    groups: dict[str, list[LanguageRow]] = {}
    for row in comparison.rows:
        groups.setdefault(row.name, []).append(row)
    return sorted(groups.values(), key=lambda rows: _mean([perplexity(row) for row in rows]))


def perplexity(row: LanguageRow) -> float:
    """Return the perplexity of the test text; infinity if it was not measured."""
    return row.figures.result.perplexity if row.figures else math.inf


def table(comparison: LanguageComparison) -> list[tuple[str, ...]]:
    """Return a row with the columns of HEADER for each model."""
    return [_line(rows, comparison.tokens) for rows in grouped(comparison)]


def _line(rows: Sequence[LanguageRow], tokens: int) -> tuple[str, ...]:
    one, found = rows[0], [row.figures for row in rows if row.figures]
    if not found:
        return (one.name, *("-",) * (len(HEADER) - 1))
    values = [figures.result.perplexity for figures in found]
    spread = f" ({min(values):,.1f}..{max(values):,.1f})" if len(values) > 1 else ""
    rare = [band.perplexity for figures in found for band in figures.bands if band.name == RARE]
    trained = one.kind == "layer"
    return (
        one.name,
        f"{one.lr:.3g}" if trained else "-",
        f"{_mean(values):,.1f}{spread}",
        f"{_mean(rare):,.0f}" if rare else "-",
        f"{_mean([row.speed for row in rows]):,.0f}" if trained else "-",
        f"{_mean([row.tokens / tokens for row in rows]):.1f}" if trained else "-",
        f"{one.learned_bytes / 1e6:,.1f}" if one.learned_bytes else "-",
        f"{one.training_bytes / 1e6:,.0f}" if one.training_bytes else "-",
        f"{_mean([figures.log_z_mean for figures in found]):.3f}",
        f"{_mean([figures.log_z_variance for figures in found]):.3f}",
        f"{_mean([figures.own_perplexity for figures in found]):,.1f}",
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.inf


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


def failures(comparison: LanguageComparison) -> list[str]:
    """Return a line for each layer that failed."""
    return [f"{row.name}: {row.failed}" for row in comparison.rows if row.failed]


def write_csv(comparison: LanguageComparison, path: Path) -> None:
    """Write a row for each model and seed."""
    rows = []
    for row in comparison.rows:
        values: dict[str, Any] = {name: getattr(row, name, "") for name in COLUMNS}
        values["weights"] = " ".join(f"{weight:.6g}" for weight in row.weights)
        if row.figures is not None:
            values["perplexity"] = row.figures.result.perplexity
            values |= {name: getattr(row.figures, name) for name in COLUMNS if hasattr(row.figures, name)}
            values["bands"] = " ".join(f"{band.name}:{band.perplexity:.6g}" for band in row.figures.bands)
        rows.append([values[name] for name in COLUMNS])
    write_rows(path, COLUMNS, rows)


def write_curves(comparison: LanguageComparison, path: Path) -> None:
    """Write a row for each point of each curve."""
    points = [(row.name, row.seed, *point) for row in comparison.rows for point in row.curve]
    write_rows(path, ("name", "seed", "seconds", "perplexity"), points)


def markdown(comparison: LanguageComparison, name: str, pictures: Sequence[str]) -> str:
    """Return a page with a description, the table and the pictures."""
    sides = (":--", *("--:",) * (len(HEADER) - 1))
    rows = [(f"`{row[0]}`", *row[1:]) for row in table(comparison)]
    lines = [f"| {' | '.join(row)} |" for row in (HEADER, sides, *rows)]
    parts = [
        f"# {name}",
        f"Made by `unhot lm compare`; figures in [{name}.csv]({name}.csv), curves in "
        f"[{name}-curves.csv]({name}-curves.csv).",
        summary(comparison),
        "\n".join(lines),
        "\n".join(f"- {term}: {meaning}" for term, meaning in EXPLAINED.items()),
        "\n".join(f"- failed: {line}" for line in failures(comparison)),
        "\n".join(f"![{picture}]({picture})" for picture in pictures),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"
