"""The two classifiers that are measured: the command lines of unhot and of fastText, and what they print.

Settings have the names of unhot's options; `TRANSLATED` gives those of fastText.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, TypeAlias

from harness import ChildFailed, Run, run

Settings: TypeAlias = Mapping[str, int | float | str]

TRANSLATED = {
    "word-ngrams": "wordNgrams",
    "epochs": "epoch",
    "buckets": "bucket",
    "min-count": "minCount",
    "threads": "thread",
    "output": "loss",
}
LOSSES = {"softmax": "softmax", "one_vs_all": "ova", "hierarchical": "hs"}
SEVERAL_MEASURES = ("precision_at_1", "precision", "recall", "f1")
MEASURES = ("accuracy", *SEVERAL_MEASURES)  # in percent
MANY, HALF = "1000", "0.5"  # labels of a line: more than any set has, and the least score of those that count


class Classifier(Protocol):
    """A program that trains, tests and predicts, each in a process of its own."""

    suffix: str  # of its models

    def train(self, file: Path, model: Path, settings: Settings) -> Run:
        """Learn from a file of lines with labels."""

    def test(self, model: Path, file: Path) -> dict[str, float]:
        """The accuracy on lines with one label."""

    def test_several(self, model: Path, file: Path) -> dict[str, float]:
        """The precision of the first label; precision, recall and F1 of all labels with a score above 0.5."""

    def predict(self, model: Path, file: Path, out: Path, threads: int = 1) -> Run:
        """Write the first label of every line."""


class Unhot:
    """`unhot classify` of this working copy."""

    suffix = ""

    def train(self, file: Path, model: Path, settings: Settings) -> Run:
        """Learn from a file of lines with labels."""
        options = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
        return run([*self._command("train"), str(file), "-o", str(model), *options])

    def test(self, model: Path, file: Path) -> dict[str, float]:
        """The accuracy that `test --json` names."""
        return {"accuracy": self._tested(model, file)["accuracy"]}

    def test_several(self, model: Path, file: Path) -> dict[str, float]:
        """The precision of the first label, and all figures of the labels above a half."""
        first, every = self._tested(model, file), self._tested(model, file, "-k", MANY, "--threshold", HALF)
        return in_order(first["precision"], every["precision"], every["recall"], every["f1"])

    def predict(self, model: Path, file: Path, out: Path, threads: int = 1) -> Run:
        """Write a label and a score a line."""
        files = [str(model), str(file), "-o", str(out)]
        return run([*self._command("predict"), *files, "--threads", str(threads)])

    def _tested(self, model: Path, file: Path, *options: str) -> dict[str, float]:
        """What `test --json` says, in percent; what is not defined counts as 0."""
        said = json.loads(run([*self._command("test"), str(model), str(file), *options, "--json"]).output)
        names = ("accuracy", "precision", "recall", "f1")
        return {name: percent(said[name]) for name in names}

    def _command(self, name: str) -> list[str]:
        return [sys.executable, "-m", "unhot", "classify", name]


class FastText:
    """The program of fastText."""

    suffix = ".bin"

    def __init__(self, program: Path) -> None:
        self._program = str(program)

    def train(self, file: Path, model: Path, settings: Settings) -> Run:
        """Learn from a file of lines with labels. The program writes the vectors of the words, too."""
        base = str(model.with_suffix(""))
        return run([self._program, "supervised", "-input", str(file), "-output", base, *translated(settings)])

    def quantize(self, file: Path, model: Path) -> Path:
        """Write a small copy of a model, with 100,000 words and n-grams that were trained further."""
        base = str(model.with_suffix(""))
        how = ["-qnorm", "-cutoff", "100000", "-retrain", "-epoch", "5"]
        run([self._program, "quantize", "-input", str(file), "-output", base, *how])
        return model.with_suffix(".ftz")

    def test(self, model: Path, file: Path) -> dict[str, float]:
        """The precision of the first label."""
        return {"accuracy": self._tested(model, file)["P"]}

    def test_several(self, model: Path, file: Path) -> dict[str, float]:
        """The precision of the first label, and all figures of the labels above a half."""
        first, every = self._tested(model, file)["P"], self._tested(model, file, MANY, HALF)
        precision, recall = every["P"], every["R"]
        return in_order(first, precision, recall, 2 * precision * recall / ((precision + recall) or 1.0))

    def predict(self, model: Path, file: Path, out: Path, threads: int = 1) -> Run:
        """Write a label a line. The program has one thread for that."""
        script = 'exec "$0" predict "$1" "$2" > "$3"'
        return run(["sh", "-c", script, self._program, str(model), str(file), str(out)])

    def _tested(self, model: Path, file: Path, *which: str) -> dict[str, float]:
        """What `test` prints."""
        return printed(run([self._program, "test", str(model), str(file), *which]).output)


def percent(share: float | None) -> float:
    """A share in percent; 0 if it is not defined, as the precision of no prediction."""
    return 0.0 if share is None or math.isnan(share) else 100 * share


def in_order(*figures: float) -> dict[str, float]:
    """The figures of lines with several labels by their names."""
    return dict(zip(SEVERAL_MEASURES, figures, strict=True))


def translated(settings: Settings) -> list[str]:
    """Settings as options of fastText."""
    options: list[str] = []
    for name, value in settings.items():
        options += [
            f"-{TRANSLATED.get(name, name)}",
            LOSSES[str(value)] if name == "output" else str(value),
        ]
    return options


def printed(text: str) -> dict[str, float]:
    """Precision P and recall R in percent, of lines like `P@1  0.925`; what is not a number counts as 0."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition("\t")
        if name[:2] in ("P@", "R@"):
            found[name[0]] = percent(float(value))
    if len(found) != 2:
        raise ChildFailed(f"fastText's test printed neither P@ nor R@: {text!r}")
    return found
