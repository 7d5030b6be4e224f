"""Neural models are trained once, measured, and shown beside n-grams."""

from __future__ import annotations

from pathlib import Path

import pytest
from grids import soak_only
from neural_models import BEST, COLUMNS, MODELS, NGRAMS, measured, page, train
from rows import row_of

from unhot.errors import ConfigError


@soak_only
def test_a_model_is_trained_once_and_measured(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    texts = {}
    for part in ("train", "valid", "test"):
        texts[part] = str(tmp_path / part)
        Path(texts[part]).write_text("a b c\nb c\n" * 20)
    grams, neural = tmp_path / "grams", tmp_path / "neural"
    train(grams, texts, ["--order", "2"])
    train(neural, texts, ["--model", "neural", "--dim", "4", "--epochs", "1", "--threads", "1"])
    before = {path: path.stat().st_mtime_ns for path in neural.rglob("*")}
    train(neural, texts, ["--model", "neural"])
    assert {path: path.stat().st_mtime_ns for path in neural.rglob("*")} == before
    found = measured(neural, grams, texts)
    assert found["mixed"] <= found["test"]
    assert (found["tokens"], found["epochs"]) == (140, 1)
    assert "mixed" not in measured(grams, None, texts)


def test_the_page_shows_models_beside_ngrams() -> None:
    rows = [row_of(COLUMNS, {"model": NGRAMS, "valid": 148, "test": 141.187, "test_alone": 141.187}, {})]
    figures = {"valid": 90, "test": 88.884, "test_alone": 99, "mixed": 80.5, "weight": 0.75, "epochs": 21}
    rows.append(
        row_of(COLUMNS, {"model": BEST, "body": "lstm", "dim": 320, "minutes": 45, "output": "x"}, figures)
    )
    text = page("x", rows)
    assert "| n-grams, order 5 | - | - | - | - | - | - | 148.00 | 141.19 | 141.19 | - | - |" in text
    assert "| lstm, best | lstm | 320 | - | 45 | - | 21 | 90.00 | 88.88 | 99.00 | 80.50 | 0.75 |" in text


def test_all_bodies_are_trained() -> None:
    pytest.importorskip("torch")
    from unhot.nn.bodies import BODIES, parse_body

    assert {settings["body"].partition(":")[0] for settings in MODELS.values()} == set(BODIES)
    for settings in MODELS.values():
        parse_body(settings["body"])
    with pytest.raises(ConfigError):
        parse_body("brain")
