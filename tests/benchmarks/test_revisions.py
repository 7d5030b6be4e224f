"""The page shows the ratios of each round; bytes that differ are seen; no kind of model is left out."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import revisions
from checkouts import Checkout, checkout_folder
from generated import write_edges, write_histories, write_log, write_sentences
from harness import BENCHMARKS, ROOT, child
from revision_bytes import TRAINED, compare_bytes, learn, write_data
from revision_work import TIMED, Data, TimedKind, Work
from revisions import COLUMNS, page
from rows import row_of

import unhot
from unhot.models.load import all_models
from unhot.models.towers.tower_model import TowerModel

# A package whose models learn four numbers, by a clock of its own.
PACKAGE = """\
import json, time, types
import numpy as np

clock = [0.0]
time.perf_counter = time.process_time = lambda: clock[0]

class Popularity:
    history = types.SimpleNamespace(losses=[])
    events = ("start", "done")
    values = [1, 2, 3, 4]
    fields = {}

    def __init__(self, threads):
        self.threads = threads

    def fit(self, source, callbacks=()):
        for event in self.events:
            clock[0] += 10
            for callback in callbacks:
                callback(types.SimpleNamespace(event=event))
        clock[0] += 1
        return self

    def save(self, folder):
        folder.mkdir()
        header = json.dumps({"x": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}).encode()
        data = np.array(self.values, "<f4").tobytes()
        (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + data)
        (folder / "config.json").write_text(json.dumps({"threads": self.threads, **self.fields}))
        (folder / "manifest.json").write_text(str(folder))

    def recommend(self, history, k):
        return [types.SimpleNamespace(item=f"i{k}", score=float(self.values[0]))]

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
        learn(TRAINED["ease"], one, tmp_path, tmp_path)


def told(tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, after: str) -> tuple[bool, str]:
    """Whether two packages with more lines are equal, and what is printed."""
    checkouts = {"before": stub(tmp_path / "old", before), "after": stub(tmp_path / "new", after)}
    return compare_bytes(checkouts, ["popularity"], tmp_path), capsys.readouterr().out


def test_equal_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = {"unhot": "1", "models": [{"order": 2}]}
    new = {"unhot": "2", "models": [{"order": 2, "prune": None}], "log": {"days": 3}}
    fine, text = told(tmp_path, capsys, *(f"Popularity.fields = {fields}\n" for fields in (old, new)))
    assert fine
    assert "equal: 2 arrays, 2 settings, 1 texts; settings only after: log.days, models.0.prune\n" in text
    assert text.endswith("1 of 1 kinds are equal\n")


def test_other_bytes_are_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = "Popularity.values = [1, 2, 3.5, 4]\nPopularity.fields = {'threads': 2}\n"
    fine, text = told(tmp_path, capsys, "", new)
    assert not fine
    assert text.splitlines()[1:] == [
        "    model/model.safetensors: x: 1 of 4 values differ, by at most 0.5",
        "    setting threads: 1 before, 2 after",
        "0 of 1 kinds are equal",
    ]


def test_other_answers_are_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = "Popularity.recommend = lambda self, history, k: [types.SimpleNamespace(item='i', score=-0.0)]\n"
    fine, text = told(tmp_path, capsys, "Popularity.values = [0, 2, 3, 4]\n", new)
    assert not fine
    assert "answers.npy: 50 of 50 values differ, by at most 0\n" in text  # 0.0 and -0.0
    assert "answers.txt: 50 of 50 differ\n" in text


@pytest.mark.parametrize(
    ("before", "after", "fine", "line"),
    [
        ("", "del Popularity\n", False, "only before"),
        ("del Popularity\n", "", True, "only after"),
        ("del Popularity\n", "del Popularity\n", True, "in neither"),
        ("", "del Popularity.fit\n", False, "failed after: AttributeError: 'Popularity' object has no"),
    ],
)
def test_kinds_that_cannot_be_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, after: str, fine: bool, line: str
) -> None:
    found, text = told(tmp_path, capsys, before, after)
    assert found == fine
    assert text.startswith(f"{'popularity':24}{line}")


def test_the_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub(tmp_path / "new", "Popularity.values = [1, 2, 3, 5]\n")
    sides = [str(stub(tmp_path / "old").folder), str(tmp_path / "new")]
    for after, code in zip(sides, (0, 1), strict=True):
        arguments = ["--before", sides[0], "--after", after, "--bytes", "popularity"]
        monkeypatch.setattr(sys, "argv", ["revisions.py", *arguments])
        with pytest.raises(SystemExit) as ended:
            revisions.main()
        assert ended.value.code == code


def test_every_registered_model_is_compared() -> None:
    own = {kind.__name__ for kind in all_models().values() if kind.__module__.startswith("unhot.")}
    compared = {kind.model for kind in TRAINED.values()}
    assert compared == own
    assert {kind.model for kind in TIMED.values()} <= compared


@pytest.mark.parametrize("name", TRAINED)
def test_settings_are_those_of_the_model(name: str) -> None:
    kind = TRAINED[name]
    learns_by_net = kind.model == "NeuralLM" or issubclass(getattr(unhot, kind.model), TowerModel)
    if learns_by_net or "engine" in kind.settings:
        pytest.importorskip("torch")
    getattr(unhot, kind.model)(threads=1, **kind.settings)


@pytest.mark.parametrize("name", ["train_revision", "query_revision", "learn_revision"])
def test_children_use_public_names_only(name: str) -> None:
    source = (BENCHMARKS / "children" / f"{name}.py").read_text()
    assert re.findall(r"^(?:import|from) unhot.*", source, re.MULTILINE) == ["import unhot"]
    assert set(re.findall(r"\bunhot\.(\w+)", source)) <= {*unhot.__all__, "__file__"}


def test_a_model_is_saved_and_queried(tmp_path: Path) -> None:
    write_data(tmp_path / "data")
    here = SimpleNamespace(ask=child)  # this working copy, with its usual cache of kernels
    assert learn(TRAINED["popularity"], here, tmp_path / "data", tmp_path)
    assert next((tmp_path / "model").rglob("*.safetensors")).stat().st_size > 0
    assert len((tmp_path / "answers.txt").read_text().splitlines()) == 50


def test_data_depends_on_the_seed_only(tmp_path: Path) -> None:
    for write in (write_sentences, write_log, write_histories, write_edges):
        found = []
        for number, seed in enumerate((1, 1, 2)):
            path = tmp_path / f"{write.__name__}{number}"
            write(path, 20, seed=seed)
            found.append(path.read_bytes())
        assert found[0] == found[1] != found[2]
