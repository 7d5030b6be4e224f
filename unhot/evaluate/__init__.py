"""Evaluate a model: the loss of a held-out text, what its vectors know about words, how it classifies.

Each kind of evaluation is one function in its own file. Names are loaded on first use, because only some need
the compiler.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from unhot.lazy import lazy_names

if TYPE_CHECKING:
    from unhot.evaluate.analogies import Analogies, analogies
    from unhot.evaluate.categories import Categories, categories
    from unhot.evaluate.classification import Classification, LabelCounts, classification, label_lists
    from unhot.evaluate.held_out import HeldOut, held_out
    from unhot.evaluate.labeller import (
        Labeller,
        LabelTest,
        calibrate,
        labeller_of,
        measure_labels,
        open_labeller,
    )
    from unhot.evaluate.links import LinkPrediction, predict_links
    from unhot.evaluate.nodes import NodeClassification, classify_nodes
    from unhot.evaluate.outliers import Outliers, outliers
    from unhot.evaluate.recommending import Recommending, evaluate_recommender
    from unhot.evaluate.similarity import Similarity, similarity
    from unhot.evaluate.stability import Stability, stability

__all__ = [
    "Analogies",
    "Categories",
    "Classification",
    "HeldOut",
    "LabelCounts",
    "LabelTest",
    "Labeller",
    "LinkPrediction",
    "NodeClassification",
    "Outliers",
    "Recommending",
    "Similarity",
    "Stability",
    "analogies",
    "calibrate",
    "categories",
    "classification",
    "classify_nodes",
    "evaluate_recommender",
    "held_out",
    "label_lists",
    "labeller_of",
    "measure_labels",
    "open_labeller",
    "outliers",
    "predict_links",
    "similarity",
    "stability",
]

_HOMES = {
    **{name: f".{name.lower()}" for name in __all__},
    "HeldOut": ".held_out",
    **dict.fromkeys(("LabelCounts", "label_lists"), ".classification"),
    **dict.fromkeys(("Labeller", "labeller_of", "open_labeller"), ".labeller"),
    **dict.fromkeys(("LabelTest", "calibrate", "measure_labels"), ".labeller"),
    "evaluate_recommender": ".recommending",
    **dict.fromkeys(("LinkPrediction", "predict_links"), ".links"),
    **dict.fromkeys(("NodeClassification", "classify_nodes"), ".nodes"),
}

__getattr__ = lazy_names(__name__, _HOMES)


class _Package(ModuleType):
    """A package whose names stay functions: importing a submodule of the same name does not replace them."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
