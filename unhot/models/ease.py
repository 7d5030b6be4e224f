"""Recommend by a linear model of items that is computed in closed form (EASE).

    G = X'X + regularisation I    X[line, item] = 1 if the line has the item
    B_ij = -P_ij / P_jj, B_ii = 0    P = the inverse of G
    score_j = sum over the items i of the history of decay^age B_ij

B is the matrix with a diagonal of zeros that minimises |X - X B|^2 + regularisation |B|^2. It takes items^2
numbers and items^3 operations, so the model says beforehand what it needs.

Reference: Steck, Embarrassingly shallow autoencoders for sparse data, 2019.
"""

import dataclasses
import time
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from unhot.errors import DataError
from unhot.items.histories import Histories, newest
from unhot.logs.log import Log
from unhot.models.fitting import Tells
from unhot.models.item_cosine import together
from unhot.models.model import model
from unhot.models.recommender_model import RecommenderModel
from unhot.models.settings import HistoryFields, Range
from unhot.sizes import readable
from unhot.train.memory_plan import available_memory
from unhot.types import Doubles, Floats
from unhot.vectors.formats.directory import typed_arrays

SMALL = 512  # the inverse of a smaller matrix is left to NumPy
TRIAL = 1024  # the size of the matrix whose inverse is timed
TRIALS = 3


class ItemWeights(NamedTuple):
    """The matrix B."""

    weights: Floats  # [items, items]


class EaseCost(NamedTuple):
    """What a fit needs."""

    memory: int  # bytes
    seconds: float

    def __str__(self) -> str:
        """Return both in words."""
        return f"about {readable(self.memory)} of memory and {max(self.seconds, 1):,.0f} s"


def reference(x: Doubles, regularisation: float) -> Doubles:
    """Compute B for a matrix of zeros and ones [lines, items].

    >>> reference(np.array([[1.0, 1], [1, 0]]), 1.0).round(3)
    array([[0.   , 0.333],
           [0.5  , 0.   ]])
    """
    inverse = np.linalg.inv(x.T @ x + regularisation * np.eye(x.shape[1]))
    out = -inverse / np.diag(inverse)
    np.fill_diagonal(out, 0.0)
    return np.asarray(out)


def ease_cost(items: int) -> EaseCost:
    """Estimate what a fit needs, by inverting a small matrix."""
    size = min(items, TRIAL)
    sample = np.eye(size) * 2 + np.full((size, size), 1 / size)
    seconds = []
    for _ in range(TRIALS):  # the first one also starts the threads of BLAS
        began = time.perf_counter()
        positive_inverse(sample)
        seconds.append(time.perf_counter() - began)
    return EaseCost(3 * 8 * items**2, min(seconds) * (items / size) ** 3)


def positive_inverse(matrix: Doubles) -> Doubles:
    """Return the inverse of a positive definite matrix, by halves.

    With blocks A, B, B', D and S = D - B' A^-1 B, this takes 4/3 n^3 operations, nearly all in products.
    """
    n = len(matrix)
    if n <= SMALL:
        return np.asarray(np.linalg.inv(matrix), np.float64)
    half = n // 2
    first = positive_inverse(matrix[:half, :half])
    across = first @ matrix[:half, half:]
    last = positive_inverse(matrix[half:, half:] - matrix[half:, :half] @ across)
    out = np.empty_like(matrix)
    out[half:, half:] = last
    beside = across @ last
    out[:half, half:], out[half:, :half] = -beside, -beside.T
    out[:half, :half] = first + beside @ across.T
    return out


@model("ease", family="recommend")
@dataclasses.dataclass(kw_only=True)
class EASE(HistoryFields, RecommenderModel):
    """Recommend by a linear model of items in closed form."""

    regularisation: Annotated[float, Range(1e-6)] = 100.0  # how much the weights are held small
    last: Annotated[int, Range(0)] = 0  # ask with so many of the last items of a history; 0: with all
    decay: Annotated[float, Range(0)] = 1.0  # how much an item counts, relative to the next newer one

    def count(self, log: Log, tells: Tells) -> ItemWeights:
        """Count pairs of items, and solve for the weights."""
        items = len(log.items)
        cost, free = ease_cost(items), available_memory()
        tells.say(f"ease with {items:,} items needs {cost}")
        if free is not None and cost.memory > free:
            raise DataError(
                f"ease with {items:,} items needs {cost}, but {readable(free)} are free: drop rare items "
                "(core), or choose another model"
            )
        gram = np.zeros((items, items))
        with together(log, self.threads, tells) as cells:
            for item in range(items):
                columns, values = cells.row(item)
                gram[item, columns] = values
            np.fill_diagonal(gram, cells.vocabulary.counts + self.regularisation)
        inverse = positive_inverse(gram)
        del gram
        inverse /= -np.diag(inverse).copy()
        np.fill_diagonal(inverse, 0.0)
        return ItemWeights(inverse.astype(np.float32))

    def counted_from(self, tensors: Mapping[str, Any], items: int) -> ItemWeights:
        """Check the matrix of a saved model."""
        damaged = "an ease model without its matrix of weights: it is damaged"
        return ItemWeights(*typed_arrays(tensors, {"weights": (np.float32, (items, items))}, damaged))

    def score(self, counted: ItemWeights, histories: Histories) -> Floats:
        """Return the scores of all items for each history."""
        asked, matrix = newest(histories, self.last, self.decay), counted.weights
        out = np.empty((len(histories), len(matrix)), np.float32)
        for line in range(len(out)):
            part = slice(asked.starts[line], asked.starts[line + 1])
            out[line] = asked.weights[part] @ matrix[asked.ids[part]]
        return out
