"""The report of a comparison of recommenders."""

from functools import partial
from typing import Any

from unhot.bench.recommenders import SHOWN, ComparedModel, RecommenderComparison, settings_text
from unhot.bench.report import ComparisonReport, FigureColumn, Picture
from unhot.plots.comparisons import ranking

COLUMNS = (
    FigureColumn("model", "model"),
    *(FigureColumn(name, name, ".2f", 100) for name in SHOWN),
    FigureColumn("ndcg@10 interval", "interval"),
    FigureColumn("fit: ndcg@10", "fit", ".2f", 100),
    FigureColumn("validation", "validation", ".2f", 100),
    FigureColumn("coverage", "coverage@10", ".1f", 100),
    FigureColumn("pop. rank", "popularity_rank@10", ",.0f"),
    FigureColumn("seconds", "seconds", ".1f"),
    FigureColumn("ms", "milliseconds", ".2f"),
    FigureColumn("settings", "settings"),
)
EXPLAINED = {
    "figures": "in percent; the first ones are of the test, after learning from train and validation with "
    "the settings that were best on validation",
    "fit": "after learning from train alone",
    "coverage": "share of all items among somebody's first ten",
    "pop. rank": "mean rank by popularity of what is recommended",
    "seconds": "of the last fit",
    "ms": "per question",
}


def recommender_report(found: RecommenderComparison) -> ComparisonReport:
    """Return the report: a row of the table for each model, a row of the file for each of its two tests."""
    tested = [row.refit for row in found.rows if row.refit is not None]
    return ComparisonReport(
        command="unhot recommend compare",
        summary=f"{how(found)}.",
        columns=COLUMNS,
        records=[_record(row) for row in found.rows],
        terms=EXPLAINED,
        failures=[f"{row.name}: {row.failed}" for row in found.rows if row.failed],
        files={".csv": [record for row in found.rows for record in _tests(row)]},
        pictures={".svg": Picture("NDCG@10 of recommenders", partial(ranking, found=tested), (8.0, 4.5))},
        data={"split": found.split, "seconds": found.seconds, "models": [_data(row) for row in found.rows]},
        measured=bool(tested),
        interrupted=found.interrupted,
    )


def _record(row: ComparedModel) -> dict[str, Any]:
    if row.refit is None or row.fit is None:
        return {"model": row.name}
    return {
        **row.refit.figures,
        "model": row.name,
        "interval": " .. ".join(f"{100 * edge:.2f}" for edge in row.refit.intervals["ndcg@10"]),
        "fit": row.fit.figures["ndcg@10"],
        "validation": row.validation,
        "seconds": row.seconds,
        "milliseconds": row.refit.milliseconds,
        "settings": settings_text(row.settings),
    }


def _tests(row: ComparedModel) -> list[dict[str, Any]]:
    """Return the records of both tests of a model, with figures as fractions; one if it failed."""
    tests = {"train": row.fit, "train + validation": row.refit}
    done = {name: test.figures for name, test in tests.items() if test is not None}
    return [
        {
            "model": row.name,
            "settings": settings_text(row.settings),
            "learned_from": name,
            **{figure: f"{value:.6f}" for figure, value in figures.items()},
            "seconds": f"{row.seconds:.2f}",
            "validation_ndcg@10": f"{row.validation:.6f}",
            "failed": row.failed,
        }
        for name, figures in (done or ({"": {}} if row.failed else {})).items()
    ]


def _data(row: ComparedModel) -> dict[str, Any]:
    tests = {name: test and test.as_dict() for name, test in (("fit", row.fit), ("refit", row.refit))}
    return {"model": row.name, "settings": row.settings, "failed": row.failed or None, **tests}


def how(found: RecommenderComparison) -> str:
    """Return what was compared, in a sentence."""
    repeated = max((row.refit.repeated for row in found.rows if row.refit is not None), default=0)
    misses = f"{repeated:,} targets are in the history, which recommendations exclude: misses; "
    return (
        f"{found.events:,} events with {found.items:,} items in {found.lines:,} lines, split {found.split}; "
        f"{misses if repeated else ''}{found.seconds / 60:.1f} minutes in all"
    )
