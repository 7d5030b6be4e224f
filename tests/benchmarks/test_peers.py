"""Hours of measuring must survive one bad run."""

from __future__ import annotations

from pathlib import Path

import peers
import pytest
from harness import ChildFailed
from text import Text
from trainers import Setup


def test_a_failed_run_becomes_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def train(*_: object) -> None:
        raise ChildFailed("exit code 1 of: x\nTraceback\nRuntimeError: Encountered NaN.\n")

    monkeypatch.setattr(peers, "train", train)
    row = peers.measure("fasttext", Text("t", Path("t.txt"), 10, 50), Setup("cbow", 100, 2, 1, 1), {})
    assert row["error"] == "RuntimeError: Encountered NaN."
    assert (row["tool"], row["model"], row["threads"]) == ("fasttext", "cbow", 2)
    assert set(row) <= set(peers.COLUMNS)
