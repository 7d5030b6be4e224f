"""The command `unhot classify`: train classifiers of texts, and use them."""

from __future__ import annotations

import click

from unhot.cli.classify_ask import explain, predict
from unhot.cli.classify_measure import calibrate, test
from unhot.cli.demos import classify_demo
from unhot.cli.family_train import train_command

TRAIN = """\
Learn to classify from lines with labels.

INPUT has lines such as `__label__spam win a prize`, with any number of labels, or is a table (.csv, .tsv,
.jsonl, .parquet) with a column of texts and a column of labels. Its order does not matter. Ctrl-C stops the
training and saves the model as it is; --resume continues it.
"""
EXAMPLES = """
\b
Examples:
  unhot classify train spam.txt -o model
  unhot classify train reviews.csv -o model --column body --label-column stars --validation 0.1
  unhot classify train languages.txt -o model --minn 2 --maxn 4
  unhot classify train tags.jsonl -o model --output one_vs_all       # several labels a line
  unhot classify predict model new.parquet -o labelled.parquet
  unhot classify test model test.txt
  unhot classify explain model "win a free prize"
"""
# other help texts of options that `unhot train` has, too
HELP = {
    "start": "Start from word vectors in any format, or from those of a model directory; their dim is kept.",
    "column": "Tables: the column with the text  [default: text, or the only one]",
    "corpus_dir": "Keep the encoded text in this directory  [default: a temporary directory]",
}


train = train_command("classify", TRAIN, EXAMPLES, helps=HELP)


classify = click.Group(
    "classify",
    commands=[train, predict, test, explain, calibrate, classify_demo],
    help="""Classify texts: train, predict, test, explain, calibrate.

    MODEL is a folder that `train` wrote; predict and test also take fastText's files, .bin and .ftz.
    """,
    epilog=EXAMPLES,
)
