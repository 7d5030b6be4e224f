"""The command `unhot recommend`: learn from a log of users and items, and recommend."""

from __future__ import annotations

import click

from unhot.cli.demos import recommend_demo
from unhot.cli.family_train import train_command
from unhot.cli.recommend_ask import explain, for_users, similar
from unhot.cli.recommend_compare import compare
from unhot.cli.recommend_measure import evaluate

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
recommend = click.Group(
    "recommend",
    commands=[train, evaluate, for_users, similar, explain, compare, recommend_demo],
    help="Recommend items: train, ask, evaluate and compare models of a log.",
    epilog=EXAMPLES,
)
