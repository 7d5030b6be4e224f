"""The command `unhot classify`: train classifiers of texts, and use them."""

from __future__ import annotations

from pathlib import Path

import click

from unhot.cli.classify_ask import explain, predict
from unhot.cli.classify_measure import calibrate, test
from unhot.cli.family_train import train_command
from unhot.cli.options import named
from unhot.cli.show import note

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


@click.group(epilog=EXAMPLES)
def classify() -> None:
    """Classify texts: train, predict, test, explain, calibrate.

    MODEL is a folder that `train` wrote; predict and test also take fastText's files, .bin and .ftz.
    """


@click.command()
@click.option(
    "-o",
    "--model-dir",
    "target",
    default="unhot-languages",
    show_default=True,
    metavar="MODEL",
    callback=named,
    help="Directory to write the model to.",
)
@click.option("--threads", type=int, default=2, show_default=True, help="Number of threads.")
def demo(target: str, threads: int) -> int:
    """Learn to tell 60 languages apart, from a text that comes with the package.

    The text is the Universal Declaration of Human Rights. Its sentences are cut into pieces of six words,
    because a model that learns from long lines is unsure about short ones.
    """
    from unhot.data import udhr_path
    from unhot.evaluate.labeller import labeller_of
    from unhot.evaluate.labels import calibrate as fit_temperature
    from unhot.evaluate.labels import measure_labels
    from unhot.models.classifier import Classifier
    from unhot.train.bar import TrainingBar
    from unhot.vectors.formats.model_claim import claimed_model

    model = Classifier(minn=1, maxn=4, word_ngrams=1, threads=threads)
    rows = list(model.rows_of(udhr_path()))
    learned, calibrating, tested = (
        _pieces(part) for part in (rows[: -2 * TESTED], rows[-2 * TESTED : -TESTED], rows[-TESTED:])
    )
    with claimed_model(Path(target)), TrainingBar() as bar:
        bar.note(f"{len(learned):,} pieces of six words to learn from, {len(tested):,} others to test")
        texts, labels = [text for text, _ in learned], [names for _, names in learned]
        model.fit(texts, labels, callbacks=[bar], reading=bar.reading, note=bar.note)
        if not model.history.interrupted:
            fit_temperature(model, calibrating)
        model.save(target)
    if model.history.interrupted:
        note(f"interrupted: saved the model as it is to {target}")
        return 130
    figures = measure_labels(labeller_of(model), tested).figures
    click.echo(f"\nright for {figures.accuracy:.1%} of {figures.examples:,} other pieces of six words\n")
    for sentence in SENTENCES:
        found = model.predictor.predict([sentence], 2)
        guesses = zip(found.labels, found.probabilities, strict=True)
        shown = ", ".join(f"{model.labels[label]} {p:.0%}" for label, p in guesses)
        click.echo(f"  {sentence:<46} {shown}")
    click.echo(f"\nSaved to {target}. Now type:")
    click.echo(f'  unhot classify explain {target} "your own sentence"')
    click.echo(f"  unhot classify predict {target} TEXT.txt -o -")
    click.echo("  unhot classify train YOUR.txt -o model          a classifier of your own lines")
    return 0


def _pieces(rows: list[tuple[str, list[str]]], words: int = 6) -> list[tuple[str, list[str]]]:
    """Return texts cut into pieces of so many words, with their labels."""
    cut = [(text.split(), names) for text, names in rows]
    return [
        (" ".join(text[first : first + words]), names)
        for text, names in cut
        for first in range(0, len(text), words)
    ]


TESTED = 300  # sentences of the demo that it is tested on; as many others calibrate it
SENTENCES = (
    "the cat sat on the mat",
    "le chat est assis sur le tapis",
    "die Katze sitzt auf der Matte",
    "el gato se sienta en la alfombra",
    "kissa istuu matolla",
    "il gatto è seduto sul tappeto",
    "мы живём в большом городе",
    "γάτα κάθεται στο χαλί",
)

for _command in (train, predict, test, explain, calibrate, demo):
    classify.add_command(_command)
