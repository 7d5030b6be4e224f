"""The command `unhot recommend compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unhot.cli.bench import writable_files, write_page
from unhot.cli.model_options import ALL, PluginsFirst, given_settings, listed_models, model_options
from unhot.cli.outputs import plugin_option
from unhot.cli.recommend_ask import seen_option
from unhot.cli.several import SeveralValues
from unhot.cli.show import note, print_table, show_json

if TYPE_CHECKING:
    from unhot.bench.recommenders import RecommenderComparison

EXAMPLES = """
\b
Examples:
  unhot recommend compare log.csv
  unhot recommend compare sessions.txt --split session --prefixes test.txt --minutes 8
  unhot recommend compare log.csv --models skip-markov item2vec ease -o results/mine
"""
ENDINGS = {"csv": ".csv", "md": ".md", "svg": ".svg"}
MARKED = ("booked", "rejected", "user_type", "item_type", "market")  # of `MarkFields`
CHOSEN = ("refit", "with_users", "split")  # settings that a comparison decides itself


class CompareCommand(PluginsFirst, SeveralValues):
    """A command with options for how a log is read."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options, and the settings that say how a log is read."""
        settings = model_options(listed_models(["recommend"]))
        shared = [option for option in settings if option.of == ALL or option.name in MARKED]
        return [*super().get_params(ctx), *(option for option in shared if option.name not in CHOSEN)]


@click.command(cls=CompareCommand, epilog=EXAMPLES)
@click.argument("log")
@click.option(
    "--split",
    type=click.Choice(["leave-last-out", "time", "session"]),
    default="leave-last-out",
    show_default=True,
    help="What is held out for validation and test.",
)
@click.option("--prefixes", metavar="FILE", help="Test with these instead: a prefix a line, its target last.")
@click.option(
    "--models", multiple=True, metavar="MODEL...", help="Models to compare  [default: all that fit]"
)
@click.option("--minutes", type=float, default=10.0, show_default=True, help="About how long it may take.")
@seen_option
@plugin_option
@click.option(
    "-o",
    "prefix",
    default="recommend-compare",
    show_default=True,
    metavar="NAME",
    help="Write NAME.csv, NAME.md, NAME.svg.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@click.pass_context
def compare(
    context: click.Context,
    /,
    log: str,
    split: str,
    prefixes: str | None,
    models: tuple[str, ...],
    minutes: float,
    exclude_seen: bool | None,
    prefix: str,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Compare all recommenders on a log.

    The settings of each model are chosen on validation, and the figures are of the test, with all items
    ranked. Simple models come beside item2vec. Ctrl-C stops and shows the results so far.
    """
    from unhot.bench.recommenders import compare_recommenders
    from unhot.logs.encoding import read_log
    from unhot.models.fitting import Tells
    from unhot.models.log_data import LogSettings, opened_log

    files = writable_files(prefix, ENDINGS)
    reader = LogSettings(**given_settings(context, options))
    tell = (lambda line: None) if quiet else note
    with opened_log(reader, log, Tells(note=None if quiet else note)) as opened:
        found = compare_recommenders(
            opened,
            split,
            models,
            share=reader.share,
            prefixes=None if prefixes is None else read_log(prefixes, format="sessions"),
            exclude_seen=exclude_seen,
            minutes=minutes,
            threads=reader.threads,
            reading={name: getattr(reader, name) for name in (*MARKED, "side")},
            tell=tell,
        )
    _show(found, as_json)
    if not any(row.refit for row in found.rows):
        return 130 if found.interrupted else 1
    _write(found, files)
    tell(f"wrote {', '.join(str(file) for file in files.values())}")
    return 130 if found.interrupted else 0


def _show(found: RecommenderComparison, as_json: bool) -> None:
    from unhot.bench.recommender_table import EXPLAINED, HEADER, how, table

    if not as_json:
        print_table("", HEADER, table(found), f"{how(found)}\n{EXPLAINED}")
        return
    rows = [
        {
            "model": row.name,
            "settings": row.settings,
            "failed": row.failed or None,
            "fit": row.fit and row.fit.as_dict(),
            "refit": row.refit and row.refit.as_dict(),
        }
        for row in found.rows
    ]
    show_json({"split": found.split, "seconds": found.seconds, "models": rows})


def _write(found: RecommenderComparison, files: dict[str, Path]) -> None:
    """Write all files; the picture comes last, because drawing is most likely to fail."""
    from unhot.bench.recommender_table import markdown, write_csv

    write_csv(found, files["csv"])
    title = files["csv"].stem
    write_page(files["md"], markdown(found, title, None))
    try:
        _draw(found, files["svg"])
    except Exception as error:  # any error of matplotlib; the figures are useful without a picture
        note(f"no picture: {' '.join(str(error).split())}")
        return
    write_page(files["md"], markdown(found, title, files["svg"].name))


def _draw(found: RecommenderComparison, path: Path) -> None:
    from unhot.errors import extra
    from unhot.plots.recommending import ranking

    mpl = extra("matplotlib", "plot", "the plot of a comparison")
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "unhot", "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(8.0, 4.5), layout="constrained")
        ranking(figure.add_subplot(), [row.refit for row in found.rows if row.refit is not None])
        figure.savefig(path, format="svg", metadata={"Date": None})
