"""The command `unhot fasttext`: the group of fastText's commands."""

from __future__ import annotations

import click

from unhot.cli.fasttext_ask import analogies, nn, print_ngrams, print_sentence_vectors, print_word_vectors
from unhot.cli.fasttext_labels import dump, predict, predict_prob, test, test_label
from unhot.cli.fasttext_train import cbow, quantize, skipgram, supervised

EXAMPLES = """
\b
Examples:
  unhot fasttext skipgram -input corpus.txt -output model -minn 3 -maxn 6 -thread 2
  unhot fasttext nn model.bin
  echo unseenword | unhot fasttext print-word-vectors model.bin
  unhot fasttext predict-prob lid.176.ftz text.txt 3
"""


fasttext = click.Group(
    "fasttext",
    commands=[
        *(skipgram, cbow, supervised, quantize, nn, analogies),
        *(print_word_vectors, print_sentence_vectors, print_ngrams),
        *(predict, predict_prob, test, test_label, dump),
    ],
    help="""Run fastText's commands, with its options and its output.

    Files are fastText's own, .bin and .ftz; - stands for standard input. docs/moving-from-fasttext.md lists
    the differences.
    """,
    epilog=EXAMPLES,
)
