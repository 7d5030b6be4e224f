"""SVD: word vectors by counting, the singular vectors of positive PMI.

    text -> cells X (`cooccurrences`) -> PMI (`pmi`) ~ U S V' (`truncated_svd`) -> vectors U S^power

Negative sampling approaches such vectors by many small steps. Here they are computed directly from the
counts: there is no learning rate, there are no epochs, and the order of the text has no effect. Memory and
time grow with the number of cells, not with the number of words read.

Reference: Levy, Goldberg and Dagan, Improving distributional similarity with lessons learned from word
embeddings, 2015.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Annotated, Any, NamedTuple

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import warm_up_counting
from unhot.errors import DataError
from unhot.models.cell_model import CellModel
from unhot.models.fitting import Begins, Tells
from unhot.models.model import model, shaped_tensor
from unhot.models.pmi import SMALLEST_SHIFT, pmi
from unhot.models.settings import Range
from unhot.models.truncated_svd import plan, truncated_svd, warm_up, weighted
from unhot.train.history import History
from unhot.train.memory_plan import check_plan, describe
from unhot.train.progress import Progress
from unhot.types import Doubles, Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary


class LearnedSVD(NamedTuple):
    """The words, their vectors, and the singular values."""

    in_vocabulary: Vocabulary  # the words
    out_vocabulary: Vocabulary  # the contexts: the same words
    in_vectors: Floats  # [words, dim]
    out_vectors: Floats  # [words, dim] of the words as contexts
    singular_values: Doubles  # [dim] descending


@model("svd")
@dataclasses.dataclass(kw_only=True)
class SVD(CellModel[LearnedSVD]):
    """Singular vectors of positive PMI.

    >>> model = SVD(dim=2, min_count=1).fit([["a", "b", "a", "c"]] * 10)
    >>> model.vectors["a"].shape
    (2,)
    """

    positive: bool = True  # keep only PMI values above zero
    shift: Annotated[float, Range(SMALLEST_SHIFT)] = 1.0  # subtract log(shift) from every PMI
    smoothing: Annotated[float, Range(0)] = 0.75  # exponent of the context sums in PMI; 1: no smoothing
    power: Annotated[float, Range(0)] = 0.5  # exponent of the singular values in the vectors
    contexts: bool = False  # add each word's context vector to its word vector
    oversampling: Annotated[int, Range(0)] = 28  # extra directions to compute beside dim; more is more exact
    # how often the directions are multiplied by the matrix and its transpose; more is more exact
    rounds: Annotated[int, Range(1)] = 6

    @property
    def context_vectors(self) -> Vectors:
        """The vectors of the words as contexts, V S^power."""
        return self.store("out_vectors")

    @property
    def singular_values(self) -> Doubles:
        """The singular values in descending order [dim]."""
        return self.learned.singular_values

    def make_store(self, name: str) -> Vectors:
        """Make the store of word vectors or of context vectors."""
        words = self.learned.in_vocabulary
        return Vectors(words.words, getattr(self.learned, name), words.counts)

    def warm_up(self) -> None:
        """Compile the kernels of these settings, or load them from disk."""
        warm_up_counting()
        warm_up(self.dim + self.oversampling)

    def begin(self, data: Cells, begins: Begins, tells: Tells) -> Decomposition:
        """Make the decomposition; raise an error if it would not fit into memory."""
        memory = plan(len(data.vocabulary), self.dim + self.oversampling, self.threads)
        check_plan(memory, len(data.vocabulary), self.dim)
        tells.say(f"memory: {describe(memory)}")
        return Decomposition(self, data, tells, begins.history)

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return the tensors to save."""
        return {name: getattr(self.learned, name) for name in LearnedSVD._fields[2:]}

    def tensor_bytes(self, words: int, *, complete: bool) -> int:
        """Return how many bytes the tensors of a saved model take: two matrices and the singular values."""
        return 2 * 4 * words * self.dim + 8 * self.dim

    def take(self, saved: SavedModel) -> None:
        """Take over the tensors of a saved model."""
        shape = (len(saved.vocabulary), self.dim)
        tensors = [shaped_tensor(saved, name, shape, np.float32) for name in ("in_vectors", "out_vectors")]
        tensors.append(shaped_tensor(saved, "singular_values", (self.dim,), np.float64))
        self.keep(LearnedSVD(saved.vocabulary, saved.vocabulary, *tensors))


class Decomposition:
    """The computation of an `SVD` model.

    Its progress events count rounds as epochs, and the cells of each round as words.
    """

    def __init__(self, model: SVD, cells: Cells, tells: Tells, history: History) -> None:
        self._model, self._cells = model, cells
        self._tells, self._history = tells, history
        self._began = time.perf_counter()

    def train(self) -> None:
        """Compute PMI, then its singular vectors."""
        model, cells = self._model, self._cells
        how = {"positive": model.positive, "shift": model.shift, "smoothing": model.smoothing}
        self._tell("start", 0, {**model.config(), "vocabulary": len(cells.vocabulary), "cells": len(cells)})
        with pmi(cells, **how, threads=model.threads) as information:  # type: ignore[arg-type]
            self._tells.say(f"{len(information):,} cells of PMI")
            if not len(information):
                raise DataError(
                    f"shift={model.shift:g}: no two words occur together more often than by chance; lower "
                    "shift, or give more text"
                )
            factors = truncated_svd(
                information,
                model.dim,
                oversampling=model.oversampling,
                rounds=model.rounds,
                seed=model.seed,
                threads=model.threads,
                progress=lambda done, _: self._tell("progress", done, {}),
            )
        words = weighted(factors, model.power, model.contexts)
        contexts = weighted(factors._replace(u=factors.v), model.power)
        model.keep(LearnedSVD(cells.vocabulary, cells.vocabulary, words, contexts, factors.s))
        self._history.words = int(cells.vocabulary.counts.sum())
        self._tell("done", model.rounds, {})

    def close(self) -> None:
        """Do nothing: nothing is left open."""

    def _tell(self, event: str, done: int, details: dict[str, Any]) -> None:
        size, rounds = len(self._cells), self._model.rounds
        seconds = time.perf_counter() - self._began
        for callback in self._tells.callbacks:
            callback(Progress(event, done, rounds, size * done, size * rounds, seconds, None, 0.0, details))
