"""Evaluate a model: the loss of a held-out text, and what its vectors know about words.

Each kind of evaluation is one function in its own file. Names are loaded on first use, because only some need
the compiler.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from unhot.lazy import lazy_names

if TYPE_CHECKING:
    from unhot.evaluate.analogies import Analogies, analogies
    from unhot.evaluate.categories import Categories, categories
    from unhot.evaluate.held_out import HeldOut, held_out
    from unhot.evaluate.outliers import Outliers, outliers
    from unhot.evaluate.similarity import Similarity, similarity
    from unhot.evaluate.stability import Stability, stability

__all__ = [
    "Analogies",
    "Categories",
    "HeldOut",
    "Outliers",
    "Similarity",
    "Stability",
    "analogies",
    "categories",
    "held_out",
    "outliers",
    "similarity",
    "stability",
]

_HOMES = {name: ".held_out" if name == "HeldOut" else f".{name.lower()}" for name in __all__}

__getattr__ = lazy_names(__name__, _HOMES)


class _Package(ModuleType):
    """A package whose names stay functions: importing a submodule of the same name does not replace them."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
