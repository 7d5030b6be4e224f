"""The examples of docs/moving-from-tensorflow.md run, and the page names what there is."""

import re
from pathlib import Path

import torch

from unhot.nn import functional as F

PAGE = (Path(__file__).parents[2] / "docs" / "moving-from-tensorflow.md").read_text(encoding="utf-8")


def test_examples_run():
    torch.manual_seed(1)
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) >= 10
    for code in blocks:
        exec(code, names)
    assert names["weights"].grad.shape == (1000, 16)
    assert names["drawn"].sampled_candidates.shape == (64,)


def test_every_public_function_is_on_the_page():
    functions = [name for name in F.__all__ if name.islower()]
    assert len(functions) >= 11
    assert all(f"`{name}`" in PAGE or f"F.{name}(" in PAGE for name in functions)


def test_the_page_is_ascii():
    assert PAGE.isascii()
