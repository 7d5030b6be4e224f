"""How well neural language models predict, for every body; beside n-grams and mixed with them.

    python benchmarks/neural_models.py --sets DIR --keep MODELS [--minutes 45] [--others 4] [--threads 2]

DIR holds ptb.train.txt, ptb.valid.txt and ptb.test.txt. The first model trains for --minutes, all others for
--others minutes. MODELS keeps what was trained; a model that is there already is only measured. Writes
docs/results/<name>.csv and .md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import child, run, say
from language_model_texts import Sets
from options import new_parser, results_path
from report import Row, Table, head, markdown_table, origin, write_page

SET = "ptb"
OUTPUT = "sampled:k=500,bias=true"
SHARED = {"output": OUTPUT, "dim": "320", "dropout": "0.45"}
BEST = "lstm, best"
MODELS: dict[str, dict[str, str]] = {
    BEST: {"body": "lstm:recurrent=0.1"},
    **{body: {"body": body, "dropout": "0.3"} for body in ("lstm", "gru", "rnn", "cnn", "transformer")},
    "bengio": {"body": "bengio:context=5,units=200", "dim": "100", "dropout": "0.2"},
}
NGRAMS = "n-grams, order 5"
COLUMNS = (
    *("model", "body", "output", "dim", "dropout", "minutes", "threads", "epochs"),
    *("valid", "test", "test_alone", "mixed", "weight", "tokens", "log_z_mean", "log_z_variance"),
)
NOTES = """\
PTB, `<unk>` written as a word, ends of lines counted. Perplexities are normalised over all words. *test*:
states are carried on from line to line, in the order of the text; *lines alone*: each line begins anew, as
n-grams see it. *mixed* is the test perplexity of a mixture with the n-grams, whose weights come from the
validation text. The minutes are those of training, with the validation after each epoch; the best epoch is
kept.
"""


def main() -> None:
    """Parse, train what is missing, measure, write the page."""
    options = parser().parse_args()
    path = results_path(options)
    options.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as copies, Table(path, COLUMNS, origin(["torch"])) as table:
        texts = {
            part: str(Sets(options.sets, Path(copies)).file(SET, part)) for part in ("train", "valid", "test")
        }
        grams = options.keep / "ngrams"
        train(grams, texts, ["--order", "5"])
        table.add({"model": NGRAMS, **measured(grams, None, texts)})
        for name, settings in MODELS.items():
            table.add(row(options, name, {**SHARED, **settings}, texts, grams))
    write_page(path, page)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, name="neural-models")
    result.add_argument("--sets", type=Path, required=True, metavar="DIR")
    result.add_argument("--keep", type=Path, required=True, metavar="MODELS")
    result.add_argument("--minutes", type=float, default=45.0)
    result.add_argument("--others", type=float, default=4.0)
    result.add_argument("--threads", type=int, default=2)
    return result


def row(
    options: argparse.Namespace, name: str, settings: dict[str, str], texts: dict[str, str], grams: Path
) -> dict[str, Any]:
    """Train a model, unless it is there, and measure it."""
    folder = options.keep / name.replace(", ", "-")
    minutes = options.minutes if name == BEST else options.others
    given = {
        **settings,
        "minutes": str(minutes),
        "threads": str(options.threads),
        "validation": texts["valid"],
    }
    given |= {"patience": "1000", "epochs": "1000"}
    train(folder, texts, ["--model", "neural", *(each for k, v in given.items() for each in (f"--{k}", v))])
    found = measured(folder, grams, texts)
    say(f"{name}: test {found['test']:.2f}, mixed {found['mixed']:.2f}")
    return {"model": name, **settings, "minutes": minutes, "threads": options.threads, **found}


def train(folder: Path, texts: dict[str, str], options: Sequence[str]) -> None:
    """Train a model with the command line, unless it is there."""
    if not folder.exists():
        say(f"training {folder.name}")
        run([sys.executable, "-m", "unhot", "lm", "train", texts["train"], "-o", str(folder), *options, "-q"])


def measured(folder: Path, other: Path | None, texts: dict[str, str]) -> dict[str, Any]:
    """The figures of a model."""
    job = {"model": str(folder), "other": str(other) if other else "", **texts}
    return child("measure_language", job)[1]


def page(name: str, rows: Sequence[Row]) -> str:
    """The results as Markdown."""
    lines = []
    for each in rows:
        figures = [
            f"{float(each[column]):.2f}" if each[column] else "-"
            for column in ("valid", "test", "test_alone", "mixed")
        ]
        weight = f"{float(each['weight']):.2f}" if each["weight"] else "-"
        settings = [each[column] or "-" for column in ("body", "dim", "dropout", "minutes", "threads")]
        epochs = each["epochs"] if each["body"] else "-"
        lines.append([each["model"], *settings, epochs, *figures, weight])
    names = ["model", "body", "dim", "dropout", "minutes", "threads", "epochs"]
    table = markdown_table([*names, "valid", "test", "lines alone", "mixed", "weight"], lines)
    outputs = ", ".join(
        f"`{one}`" for one in dict.fromkeys(each["output"] for each in rows if each["output"])
    )
    return "\n".join([head("neural_models", name, rows, [f"output layer: {outputs}"], []), NOTES, table])


if __name__ == "__main__":
    main()
