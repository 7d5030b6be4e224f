"""The command `unhot recommend`: learn from a log of users and items, recommend, and compare models."""

from __future__ import annotations

from typing import Any

import click

import unhot.evaluate
from unhot.cli.comparison_report import show_and_write, writable_files
from unhot.cli.demos import recommend_demo
from unhot.cli.model_options import ALL, PluginsFirst, given_settings, listed_models, model_options
from unhot.cli.options import json_option
from unhot.cli.outputs import plugin_option
from unhot.cli.recommend_ask import explain, for_users, open_recommender, seen_option, similar
from unhot.cli.several import SeveralValues
from unhot.cli.show import note, percents, print_table, show_json
from unhot.cli.train import train_command

TRAIN = """\
Learn to recommend items from a log of users and items.

LOG is a file with a row for each event: CSV, TSV, JSON lines or parquet with columns for users, items and
times; a file of MovieLens (u.data, ratings.dat, ratings.csv); or a text with a session in each line. gz, bz2,
xz and zst files are unpacked. Bad rows are counted and shown. With --split the last events are held out, and
`unhot recommend evaluate` asks for them. Ctrl-C stops a model that is trained in epochs and saves it as it is
(with --refit, once the epochs are found); --resume continues.
"""
EXAMPLES = """
\b
Examples:
  unhot recommend train log.csv -o model --user user --item item --time time --split leave-last-out
  unhot recommend train ratings.csv -o model --model ease --items movies.csv --split leave-last-out --refit
  unhot recommend train sessions.txt -o model --model session-knn --split session
  unhot recommend train invoices.csv -o model --session InvoiceNo --item StockCode --time InvoiceDate
  unhot recommend train log.csv -o model --model graph --directed
  unhot recommend train log.csv -o model --model eges --items items.csv --side brand,kind
  unhot recommend train log.csv -o model --model session --session session --booked booked --market market
  unhot recommend evaluate model --json
  unhot recommend for model alice bob --log log.csv
  unhot recommend for model --history milk bread
  unhot recommend similar model milk
  unhot recommend explain model milk
  unhot recommend compare log.csv --split leave-last-out
  unhot recommend demo
"""
train = train_command("recommend", TRAIN, EXAMPLES, metavar="LOG...")


@click.command()
@click.argument("model")
@click.argument("log", required=False)
@click.option(
    "--split",
    "part",
    type=click.Choice(["test", "validation"]),
    default="test",
    show_default=True,
    help="The part of the log to ask for.",
)
@click.option("--prefixes", metavar="FILE", help="Ask for these instead: a prefix a line, its target last.")
@click.option("--at", "ks", metavar="K,K,...", default="5,10,20", show_default=True, help="Lengths of lists.")
@seen_option
@click.option("--sampled", type=click.IntRange(1), help="Also rank among so many random items; see the help.")
@plugin_option
@json_option
def evaluate(
    model: str,
    log: str | None,
    part: str,
    prefixes: str | None,
    ks: str,
    exclude_seen: bool | None,
    sampled: int | None,
    as_json: bool,
) -> None:
    """Ask a model which item came next, and compare: all items are ranked.

    Without LOG the questions of its split are asked, which the model keeps, or its log (--with-users). Give
    the LOG of the training if the model keeps neither: after more than 4 million events, or if it is old.
    An item that recommendations cannot have is a miss: one that the model does not know, and, with
    --exclude-seen, one of the history. Recall, NDCG, MRR and hit rate have bootstrap intervals over users.
    Figures with --sampled are higher than the true ones and may order models differently; they are only good
    for comparing with old papers.
    """
    import numpy as np

    from unhot.models.fitting import Tells
    from unhot.models.log_data import EVENTS_ALONE, learned_from_log, opened_log

    numbers = _numbers(ks)
    found = open_recommender(model)
    how: dict[str, Any] = {"prefixes": prefixes, "ks": numbers}
    how |= {"exclude_seen": exclude_seen, "sampled": sampled or 0}
    if prefixes is not None:
        how["prefixes"] = unhot.read_log(prefixes, format="sessions")
        if short := int((np.diff(how["prefixes"].starts) < 2).sum()):
            note(f"{prefixes}: {short:,} lines have only one item, which is no question")
    if log is None:
        result = unhot.evaluate.evaluate_recommender(found, part=part, **how)
    else:
        with opened_log(found, log, Tells(), **EVENTS_ALONE) as opened:
            if not learned_from_log(found, opened):
                note(f"{log} is not the log of the training: the model may have learned what it is asked")
            result = unhot.evaluate.evaluate_recommender(found, opened, part, **how)
    if as_json:
        show_json(result.as_dict())
    else:
        _show(result)


def _numbers(ks: str) -> list[int]:
    try:
        return [int(k) for k in ks.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"--at {ks}: give whole numbers with commas between them, such as 5,10,20"
        ) from None


def _show(result: unhot.evaluate.Recommending) -> None:
    """Print the figures in percent with their intervals, then how they were measured."""
    rows = []
    for name, value in result.figures.items():
        percent = not name.startswith(("popularity_rank", "novelty"))
        shown = f"{100 * value:.2f} %" if percent else f"{value:,.1f}"
        rows.append((name, shown, percents(result.intervals.get(name))))
    how = (
        f"{result.model} learned from {result.learned_from} (split {result.split}), asked on {result.part}: "
        f"{result.cases:,} questions of {result.users:,} users or sessions, {result.unknown:,} with an item "
        f"that the model does not know: misses; items of the history {result.seen}; "
        f"{result.milliseconds:.2f} ms a question"
    )
    if result.repeated:
        how += (
            f"\n{result.repeated:,} targets are in the history, which recommendations exclude: misses; "
            "--keep-seen ranks them"
        )
    if result.unanswered:
        how += f"\n{result.unanswered:,} histories have no item that the model knows: misses"
    print_table("", ("", "", "95 % interval"), rows, how)


COMPARE_EXAMPLES = """
\b
Examples:
  unhot recommend compare log.csv
  unhot recommend compare sessions.txt --split session --prefixes test.txt --minutes 8
  unhot recommend compare log.csv --models skip-markov item2vec ease -o results/mine
"""
COMPARISON_FILES = (".csv", ".md", ".svg")
# of `MarkFields` and `FeatureFields`
MARKED = ("booked", "rejected", "user_type", "item_type", "market", "features", "categories")
CHOSEN = ("refit", "with_users", "split")  # settings that a comparison decides itself


class CompareCommand(PluginsFirst, SeveralValues):
    """A command with options for how a log is read."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options, and the settings that say how a log is read."""
        settings = model_options(listed_models(["recommend"]))
        shared = [option for option in settings if option.of == ALL or option.name in MARKED]
        return [*super().get_params(ctx), *(option for option in shared if option.name not in CHOSEN)]


@click.command(cls=CompareCommand, epilog=COMPARE_EXAMPLES)
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
    from unhot.bench.recommenders import compare_recommenders, recommender_report
    from unhot.logs.encoding import read_log
    from unhot.models.fitting import Tells
    from unhot.models.log_data import LogSettings, opened_log

    files = writable_files(prefix, COMPARISON_FILES)
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


recommend = click.Group(
    "recommend",
    commands=[train, evaluate, for_users, similar, explain, compare, recommend_demo],
    help="Recommend items: train, ask, evaluate and compare models of a log.",
    epilog=EXAMPLES,
)
