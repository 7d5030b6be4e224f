"""The page shows the ratios of each round; only the work is timed, in the right package."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest
from checkouts import Checkout, checkout_folder
from generated import write_edges, write_histories, write_log, write_sentences
from harness import BENCHMARKS, ROOT
from revision_work import Data, TimedKind, Work
from revisions import COLUMNS, page
from rows import row_of

import unhot

# A package whose models learn nothing, by a clock of its own.
PACKAGE = """\
import time, types

clock = [0.0]
time.perf_counter = time.process_time = lambda: clock[0]

class Popularity:
    history = types.SimpleNamespace(losses=[])
    events = ("start", "done")

    def __init__(self, threads):
        self.threads = threads

    def fit(self, source, callbacks=()):
        for event in self.events:
            clock[0] += 10
            for callback in callbacks:
                callback(types.SimpleNamespace(event=event))
        clock[0] += 1
        return self

    def scores(self, lines):
        clock[0] += len(lines)

def load(folder):
    return Popularity(1)
"""


def stub(folder: Path, more: str = "") -> Checkout:
    """A checkout with this package, and some more lines of it."""
    (folder / "unhot").mkdir(parents=True)
    (folder / "unhot" / "__init__.py").write_text(PACKAGE + more)
    return Checkout(folder, folder / "kernels")


def row(**columns: object) -> dict[str, str]:
    usual = {"data": "300,000 words", "settings": "dim 100, threads 2", "repeats": 1}
    return row_of(COLUMNS, usual, columns)


def test_ratios_of_rounds() -> None:
    figures = {"before": [(2.0, 100), (4.0, 200), (9.0, 100)], "after": [(2.0, 50), (5.0, 200), (3.0, 200)]}
    rows = [
        row(tool=tool, revision=f"of-{tool}", kind="cbow", round=number, cpu_seconds=seconds, peak_mb=mb)
        for tool, numbers in figures.items()
        for number, (seconds, mb) in enumerate(numbers)
    ]
    rows[-1]["loss"] = "0.5"
    text = page("x", [*rows, row(tool="before", revision="of-before", kind="lm-score", repeats=20)])
    assert "- before: of-before; after: of-after" in text
    assert "- cbow: 300,000 words; dim 100, threads 2\n" in text
    assert "- lm-score: 300,000 words; dim 100, threads 2; 20 times\n" in text
    assert (
        "| cbow | 4.00 (2.00..9.00) | 3.00 (2.00..5.00) | 1.000 (0.800..3.000) | 1.000 0.800 3.000 "
        "| 100 (100..200) | 200 (50..200) | 1.000 (0.500..2.000) | - | 0.5 |" in text
    )


@pytest.mark.parametrize(
    ("more", "method", "seconds"),
    [("", "", 20), ("Popularity.events = ()", "", 2), ("", "scores", 6)],
    ids=["between-events", "without-events", "queries"],
)
def test_only_the_work_is_timed(tmp_path: Path, more: str, method: str, seconds: float) -> None:
    (tmp_path / "lines.txt").write_text("a\nb\nc\n")
    data = Data("few", "source", str(tmp_path / "lines.txt"), "three lines")
    work = Work(TimedKind("Popularity", "log", {}, method, repeats=2), data, {"threads": 1}, "model")
    found = work.measure(stub(tmp_path, more))
    assert (found["cpu_seconds"], found["seconds"], found["loss"]) == (seconds, seconds, "")
    assert found["settings"] == "threads 1"
    assert found["peak_mb"] > 1


def test_a_folder_without_the_package_is_refused(tmp_path: Path) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="no package unhot in it"):
        checkout_folder(str(tmp_path))
    stub(tmp_path)
    assert checkout_folder(str(tmp_path)) == tmp_path.resolve()


def test_another_package_is_refused(tmp_path: Path) -> None:
    one = stub(tmp_path, f"__file__ = {str(ROOT / 'unhot' / '__init__.py')!r}\n")
    with pytest.raises(SystemExit, match="was imported instead of"):
        one.ask("query_revision", {"model": "", "method": "scores", "lines": "/dev/null", "repeats": 1})


@pytest.mark.parametrize("name", ["train_revision", "query_revision"])
def test_children_use_public_names_only(name: str) -> None:
    source = (BENCHMARKS / "children" / f"{name}.py").read_text()
    assert re.findall(r"^(?:import|from) unhot.*", source, re.MULTILINE) == ["import unhot"]
    assert set(re.findall(r"\bunhot\.(\w+)", source)) <= {*unhot.__all__, "__file__"}


def test_data_depends_on_the_seed_only(tmp_path: Path) -> None:
    for write in (write_sentences, write_log, write_histories, write_edges):
        found = []
        for number, seed in enumerate((1, 1, 2)):
            path = tmp_path / f"{write.__name__}{number}"
            write(path, 20, seed=seed)
            found.append(path.read_bytes())
        assert found[0] == found[1] != found[2]
