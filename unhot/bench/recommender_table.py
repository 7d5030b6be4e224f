"""The results of a comparison of recommenders as a table, a CSV file and a page."""

from __future__ import annotations

from pathlib import Path

from unhot.bench.recommenders import SHOWN, ComparedModel, RecommenderComparison, settings_text
from unhot.bench.table import write_rows

HEADER = (
    *("model", *SHOWN, "ndcg@10 interval"),
    *("fit: ndcg@10", "validation", "coverage", "pop. rank", "seconds", "ms", "settings"),
)
EXPLAINED = (
    "figures in percent; the first ones are of the test, after learning from train and validation with the "
    "settings that were best on validation; fit: after learning from train alone; coverage: share of all "
    "items among somebody's first ten; pop. rank: mean rank by popularity of what is recommended; seconds: "
    "of the last fit; ms: per question"
)


def table(found: RecommenderComparison) -> list[list[str]]:
    """Return a line of cells for each model, best first."""
    return [_line(row) for row in found.rows]


def _line(row: ComparedModel) -> list[str]:
    if row.refit is None or row.fit is None:
        return [row.name, *[""] * (len(HEADER) - 2), row.failed or "not tested"]
    figures, low_high = row.refit.figures, row.refit.intervals["ndcg@10"]
    return [
        row.name,
        *(f"{100 * figures[name]:.2f}" for name in SHOWN),
        " .. ".join(f"{100 * edge:.2f}" for edge in low_high),
        f"{100 * row.fit.figures['ndcg@10']:.2f}",
        f"{100 * row.validation:.2f}",
        f"{100 * figures['coverage@10']:.1f}",
        f"{figures['popularity_rank@10']:,.0f}",
        f"{row.seconds:.1f}",
        f"{row.refit.milliseconds:.2f}",
        settings_text(row.settings),
    ]


def how(found: RecommenderComparison) -> str:
    """Return what was compared, in a sentence."""
    repeated = max((row.refit.repeated for row in found.rows if row.refit is not None), default=0)
    misses = f"{repeated:,} targets are in the history, which recommendations exclude: misses; "
    return (
        f"{found.events:,} events with {found.items:,} items in {found.lines:,} lines, split {found.split}; "
        f"{misses if repeated else ''}{found.seconds / 60:.1f} minutes in all"
    )


def write_csv(found: RecommenderComparison, path: Path) -> None:
    """Write all figures of all models, as fractions."""
    tested = [row for row in found.rows if row.refit is not None]
    names = list(tested[0].refit.figures) if tested and tested[0].refit else []
    header = ["model", "settings", "learned_from", *names, "seconds", "validation_ndcg@10", "failed"]
    lines: list[list[object]] = []
    for row in found.rows:
        for part in (row.fit, row.refit):
            values = [""] * len(names) if part is None else [f"{part.figures[name]:.6f}" for name in names]
            learned = "" if part is None else "train" if part is row.fit else "train + validation"
            if part is not None or row.failed:
                more = [f"{row.seconds:.2f}", f"{row.validation:.6f}", row.failed]
                lines.append([row.name, settings_text(row.settings), learned, *values, *more])
            if row.failed:
                break
    write_rows(path, header, lines)


def markdown(found: RecommenderComparison, title: str, picture: str | None) -> str:
    """Return a page with the table and the picture."""
    cells = [HEADER, ["---"] * len(HEADER), *table(found)]
    rows = "\n".join(f"| {' | '.join(line)} |" for line in cells)
    drawn = f"\n![NDCG@10 of recommenders]({picture})\n" if picture else ""
    return f"# {title}\n\n{how(found)}.\n\n{rows}\n\n{EXPLAINED}.\n{drawn}"
