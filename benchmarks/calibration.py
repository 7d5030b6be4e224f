"""How far a classifier's probabilities are from how often they are right, with and without held-out lines.

    python benchmarks/calibration.py LANGID SST_TRAIN SST_TEST [--seeds 5]

LANGID has lines of language, tab, sentence; every fifth is tested. SST_TRAIN and SST_TEST have lines of
label, space, sentence. Files may end with .xz. Of languages there are two models: with the default settings,
and with n-grams of 2 to 4 characters. Each is trained with the default setting of calibration and with
calibration=0, which holds nothing out, side by side, with one thread. The figures are means over the seeds;
the calibration error has 15 bins; the time is the median of the ratios with calibration to without.
"""

from __future__ import annotations

import lzma
import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from harness import say
from options import new_parser

from unhot import Classifier
from unhot.probability.calibration import bin_sums, expected_calibration_error

Rows = list[tuple[str, str]]  # label, text


class Measured(NamedTuple):
    """One training."""

    accuracy: float
    error: float
    seconds: float


def main() -> None:
    """Parse, measure, print a table."""
    parser = new_parser(__doc__)
    for name in ("langid", "sst_train", "sst_test"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    langid = read(options.langid, "\t")
    parts = [row for i, row in enumerate(langid) if i % 5], langid[::5]
    sst = read(options.sst_train, " "), read(options.sst_test, " ")
    measured(sst[0][:100], sst[1][:1000])  # compiles the kernels, or loads them
    say("set\taccuracy\twithout\tcalibration error\twithout\ttime ratio")
    for name, (train, test), settings in (
        ("SST-2", sst, {}),
        ("langid", parts, {}),
        ("langid, n-grams", parts, {"minn": 2, "maxn": 4}),
    ):
        both = [
            [measured(train, test, seed=seed, **settings, **how) for how in ({}, {"calibration": 0.0})]
            for seed in range(1, options.seeds + 1)
        ]
        figures = np.mean([[pair[i][j] for j in (0, 1) for i in (0, 1)] for pair in both], axis=0)
        ratio = statistics.median(pair[0].seconds / pair[1].seconds for pair in both)
        say("\t".join([name, *(f"{figure:.2%}" for figure in figures), f"{ratio:.2f}"]))


def read(path: Path, separator: str) -> Rows:
    """Return the labels and texts of a file."""
    with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").partition(separator) for line in file]
    return [(label, text) for label, _, text in lines]


def measured(train: Rows, test: Rows, **settings: Any) -> Measured:
    """Train a model with one thread and test it."""
    began = time.perf_counter()
    model = Classifier(threads=1, **settings).fit([text for _, text in train], [label for label, _ in train])
    seconds = time.perf_counter() - began
    probabilities = model.predict_proba([text for _, text in test])
    right = model.classes_[probabilities.argmax(axis=1)] == np.array([label for label, _ in test])
    error = expected_calibration_error(bin_sums(probabilities.max(axis=1), right))
    return Measured(float(right.mean()), error, seconds)


if __name__ == "__main__":
    main()
