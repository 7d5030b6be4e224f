"""The command `unhot recommend compare`."""

from __future__ import annotations

from typing import Any

import click

from unhot.cli.comparison_report import show_and_write, writable_files
from unhot.cli.model_options import ALL, PluginsFirst, given_settings, listed_models, model_options
from unhot.cli.outputs import plugin_option
from unhot.cli.recommend_ask import seen_option
from unhot.cli.several import SeveralValues
from unhot.cli.show import note

EXAMPLES = """
\b
Examples:
  unhot recommend compare log.csv
  unhot recommend compare sessions.txt --split session --prefixes test.txt --minutes 8
  unhot recommend compare log.csv --models skip-markov item2vec ease -o results/mine
"""
ENDINGS = (".csv", ".md", ".svg")
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
    from unhot.bench.recommender_report import recommender_report
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
    return show_and_write(recommender_report(found), files, as_json=as_json, quiet=quiet)
