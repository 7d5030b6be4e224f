"""Towers beside their peers: one split for all, one evaluator, a page that says what failed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tower_peers_report
from harness import child
from rows import row_of
from tower_peers import COLUMNS, EPOCHS, SETS, Run, pairs, runs
from tower_peers_report import page

from unhot.evaluate.figures import mean_interval
from unhot.models.load import models_of


@pytest.fixture
def job(tmp_path: Path) -> dict[str, str]:
    """Three users, whose last items are c, a and d."""
    log = tmp_path / "log.txt"
    log.write_text("u1 a b d c\nu2 b c a\nu3 a c b d\n")
    job = {"log": str(log), "format": "user-sessions", "part": "test", "folder": str(tmp_path / "split")}
    return {**job, "lists": str(tmp_path / "lists.npy"), "ranks": str(tmp_path / "ranks.npy")}


def test_lists_of_a_split_are_measured_without_items_of_the_history(job: dict[str, str]) -> None:
    child("split_histories", job)
    folder = Path(job["folder"])
    histories = [
        [*map(int, line.split()[1:])] for line in (folder / "histories.txt").read_text().splitlines()
    ]
    targets = [*map(int, (folder / "targets.txt").read_text().split())]
    assert [*map(len, histories)] == [3, 2, 3]
    # the item of the first history does not count before the target, the second list lacks the target
    lists = [[histories[0][0], targets[0]], [histories[1][0], -1], [-1, targets[2]]]
    np.save(job["lists"], np.array(lists, np.int32))
    found = child("measure_lists", job)[1]
    assert np.load(job["ranks"]).tolist() == [1, np.inf, 1]
    assert found["ndcg@10"] == pytest.approx(2 / 3, abs=1e-6)


def test_validation_hides_the_test(job: dict[str, str]) -> None:
    child("split_histories", {**job, "part": "validation"})
    histories = (Path(job["folder"]) / "histories.txt").read_text().splitlines()
    assert [len(line.split()) - 1 for line in histories] == [2, 1, 2]


def test_settings_are_those_of_the_towers() -> None:
    for name in SETS:
        for pair in pairs(EPOCHS[name]).values():
            for side in [side for side in pair.sides.values() if side.tool == "unhot"]:
                settings = {key: value for key, value in side.settings.items() if key != "newest"}
                models_of("recommend")[settings.pop("model")](**settings)


def test_every_run_has_files_of_its_own() -> None:
    every = [*runs(3)]
    assert len({run.file("test-ranks") for run in every}) == len(every)


def test_the_page_compares_with_the_peer_and_names_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = {"recall@10": 0.2, "recall@20": 0.3, "mrr@20": 0.1, "seconds": 9, "peak_mb": 500}
    usual = {"set": "movielens", "pair": "sasrec", "seed": 1, "loss": "softmax", "settings": "{}", **figures}
    own = {"side": "unhot", "ndcg@10": 0.5, "cpu_seconds": 3, "settings": json.dumps({"dim": 64})}
    rows = [
        row_of(COLUMNS, usual, {"side": "rectools", "ndcg@10": 0.4, "cpu_seconds": 2}),
        row_of(COLUMNS, usual, own),
    ]
    monkeypatch.setattr(Run, "file", lambda run, kind: tmp_path / f"{run.side}.npy")
    assert "| 50.00 | +10.00 |" in page(rows)
    np.save(tmp_path / "rectools.npy", np.array([1, np.inf, 3] * 50))
    np.save(tmp_path / "unhot.npy", np.array([1, 1, 3] * 50))
    low, high = mean_interval([0, 1, 0] * 50)
    assert f"+33.33 ({100 * low:+.2f}..{100 * high:+.2f})" in page(rows)
    assert "| 1.50 | 500 |" in page(rows)
    assert "- unhot: dim 64." in page(rows)
    failed = row_of(
        COLUMNS, {**usual, **dict.fromkeys(figures, "")}, {"side": "rectools", "error": "no module"}
    )
    text = page([failed, rows[1]])
    assert "- rectools, seed 1, failed: no module" in text
    assert "- unhot, whole histories: no finished run." in text
    assert tower_peers_report.Compared([rows[1]], []).difference() == "-"
    assert text.count("| rectools |") == 0
