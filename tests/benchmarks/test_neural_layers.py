"""The page of training steps shows ratios of rounds to the full softmax; the child measures all layers."""

from __future__ import annotations

from pathlib import Path

import pytest
from grids import soak_only
from harness import child
from neural_layers import COLUMNS, FULL, LAYERS, page
from rows import row_of

from unhot.outputs import parse_output


def row(**columns: object) -> dict[str, str]:
    usual = {"set": "ptb", "words": 10_000, "dim": 200, "threads": 2}
    parts = dict.fromkeys(("body_ms", "head_ms", "backward_ms", "optimizer_ms"), 1)
    return row_of((*COLUMNS, "others_cores"), {**usual, **parts}, columns)


def test_ratios_of_rounds() -> None:
    rows = [row(tool=FULL, round=number, ms=ms) for number, ms in enumerate((60, 90, 70))]
    rows += [row(tool="nce:k=25", round=number, ms=ms) for number, ms in enumerate((20, 10, 7))]
    text = page("x", rows)
    assert "## ptb: 10,000 words, dim 200, threads 2" in text
    assert "| `nce:k=25` | 1.0 | 1.0 | 1.0 | 1.0 | 10.0 | 70,000 | 9.00 (3.00..10.00) |" in text


@soak_only
def test_the_child_measures_every_layer(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = tmp_path / "text.txt"
    text.write_text("a b c d e f g h i j\n" * 20)
    layers = ["softmax:bias=true", "sampled:k=3,bias=true"]
    job = {"text": str(text), "layers": layers, "body": "rnn", "dim": 4, "batch": 2, "steps": 3}
    answer = child("step_language", {**job, "threads": 1, "rounds": 2})[1]
    assert answer["words"] == 12
    assert [[len(parts) for parts in answer["seconds"][layer]] for layer in layers] == [[4, 4], [4, 4]]


def test_all_layers_are_specs() -> None:
    assert len({parse_output(layer).spec() for layer in LAYERS}) == len(LAYERS)
