"""Word vectors by counting: the singular vectors of positive PMI.

    text -> cells X (`cooccurrences`) -> PMI (`pmi`) ~ U S V' (`truncated_svd`) -> vectors U S^power

What negative sampling comes to by many small steps is here computed at once, from the counts alone: there is
no learning rate, no epoch and no order of the text. It takes memory and time by the number of cells, not of
words read.

Reference: Levy, Goldberg and Dagan, Improving distributional similarity with lessons learned from word
embeddings, 2015.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Annotated, Any, NamedTuple

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
    """What was computed."""

    in_vocabulary: Vocabulary  # words
    out_vocabulary: Vocabulary  # contexts: the same
    in_vectors: Floats  # [words, dim]
    out_vectors: Floats  # [words, dim] of the words as contexts
    singular_values: Doubles  # [dim] falling


@model("svd")
@dataclasses.dataclass(kw_only=True)
class SVD(CellModel[LearnedSVD]):
    """Singular vectors of positive PMI.

    >>> model = SVD(dim=2, min_count=1).fit([["a", "b", "a", "c"]] * 10)
    >>> model.vectors["a"].shape
    (2,)
    """

    positive: bool = True  # leave out PMI below zero
    shift: Annotated[float, Range(SMALLEST_SHIFT)] = 1.0  # k: log k is subtracted from PMI
    smoothing: Annotated[float, Range(0)] = 0.75  # power of the contexts' sums
    power: Annotated[float, Range(0)] = 0.5  # power of the singular values in the vectors
    contexts: bool = False  # add the vectors that words have as contexts
    oversampling: Annotated[int, Range(0)] = 28  # directions more than dim that are followed
    # how often directions are multiplied by the matrix and its transpose
    rounds: Annotated[int, Range(1)] = 6

    @property
    def context_vectors(self) -> Vectors:
        """The vectors of the words as contexts, V S^power."""
        return self.store("out_vectors")

    @property
    def singular_values(self) -> Doubles:
        """How much there is in each direction, falling [dim]."""
        return self.learned.singular_values

    def make_store(self, name: str) -> Vectors:
        """Vectors of either kind."""
        words = self.learned.in_vocabulary
        return Vectors(words.words, getattr(self.learned, name), words.counts)

    def warm_up(self) -> None:
        """Compile the kernels of these settings, or load them from disk."""
        warm_up_counting()
        warm_up(self.dim + self.oversampling)

    def begin(self, data: Cells, begins: Begins, tells: Tells) -> Decomposition:
        """The work that is to be done, if it fits into memory."""
        memory = plan(len(data.vocabulary), self.dim + self.oversampling, self.threads)
        check_plan(memory, len(data.vocabulary), self.dim)
        tells.say(f"memory: {describe(memory)}")
        return Decomposition(self, data, tells, begins.history)

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """What is saved."""
        return {name: getattr(self.learned, name) for name in LearnedSVD._fields[2:]}

    def take(self, saved: SavedModel) -> None:
        """Take over the tensors that were read."""
        shape = (len(saved.vocabulary), self.dim)
        wanted = {"in_vectors": shape, "out_vectors": shape, "singular_values": (self.dim,)}
        tensors = [shaped_tensor(saved, name, expected) for name, expected in wanted.items()]
        self.keep(LearnedSVD(saved.vocabulary, saved.vocabulary, *tensors))


class Decomposition:
    """The work of an `SVD`, told as rounds; what its progress calls words are cells, once in each round."""

    def __init__(self, model: SVD, cells: Cells, tells: Tells, history: History) -> None:
        self._model, self._cells = model, cells
        self._tells, self._history = tells, history
        self._began = time.perf_counter()

    def train(self) -> None:
        """PMI, then its singular vectors."""
        model, cells = self._model, self._cells
        how = {"positive": model.positive, "shift": model.shift, "smoothing": model.smoothing}
        self._tell("start", 0, {**model.config(), "vocabulary": len(cells.vocabulary), "cells": len(cells)})
        with pmi(cells, **how, threads=model.threads) as information:  # type: ignore[arg-type]
            self._tells.say(f"{len(information):,} cells of PMI")
            if not len(information):
                raise DataError(
                    f"no two words are together more often than by chance, shift={model.shift:g}: lower it, "
                    "or give more text"
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
        """Nothing is left open."""

    def _tell(self, event: str, done: int, details: dict[str, Any]) -> None:
        size, rounds = len(self._cells), self._model.rounds
        seconds = time.perf_counter() - self._began
        for callback in self._tells.callbacks:
            callback(Progress(event, done, rounds, size * done, size * rounds, seconds, None, 0.0, details))
