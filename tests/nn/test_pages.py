"""The examples of docs/moving-from-tensorflow.md and docs/torch.md run, and the pages name what there is."""

import re
from pathlib import Path

import torch

from unhot.nn import functional as F
from unhot.nn.head import HEADS
from unhot.outputs import LAYERS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "moving-from-tensorflow.md").read_text(encoding="utf-8")
TORCH = (DOCS / "torch.md").read_text(encoding="utf-8")


def test_examples_run():
    torch.manual_seed(1)
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 10
    for code in blocks:
        exec(code, names)
    assert names["weights"].grad.shape == (1000, 16)
    assert names["drawn"].sampled_candidates.shape == (64,)


def test_examples_of_the_guide_run():
    names: dict[str, object] = {}
    heads = dict(HEADS)
    for code in re.findall(r"```python\n(.*?)```", TORCH, re.DOTALL):
        exec(code, names)
    HEADS.clear()
    HEADS.update(heads)
    assert names["log_prob"].shape == (8, 5000)
    assert names["ids"].shape == (8, 5)
    assert names["losses"].shape == (2,)


def test_every_layer_is_on_the_guide():
    assert all(f"`{name}" in TORCH for name in LAYERS)


def test_every_public_function_is_on_the_page():
    functions = [name for name in F.__all__ if name.islower()]
    assert len(functions) >= 11
    assert all(f"`{name}`" in PAGE or f"F.{name}(" in PAGE for name in functions)


def test_the_pages_are_ascii():
    assert PAGE.isascii()
    assert TORCH.isascii()
