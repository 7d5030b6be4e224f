"""SVD: word vectors by counting, the singular vectors of positive PMI.

    text -> cells X (`cooccurrences`) -> PMI (`pmi`) ~ U S V' (`truncated_svd`) -> vectors U S^power

Negative sampling approaches such vectors by many small steps. Here they are computed directly from the
counts: there is no learning rate, there are no epochs, and the order of the text has no effect. Memory and
time grow with the number of cells, not with the number of words read.

Reference: Levy, Goldberg and Dagan, Improving distributional similarity with lessons learned from word
embeddings, 2015.
"""

import dataclasses
import functools
import time
from typing import Annotated, Any, NamedTuple

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import warm_up_counting
from unhot.errors import DataError
from unhot.models.cell_model import CellAnswers, CellData, CellModel
from unhot.models.fitting import AtOnce, Begins, Tells
from unhot.models.model import disk_plan, model, shaped_tensor
from unhot.models.pmi import SMALLEST_SHIFT, pmi
from unhot.models.settings import Range
from unhot.models.truncated_svd import plan, truncated_svd, warm_up, weighted
from unhot.train.memory_plan import check_plan, describe
from unhot.train.progress import Progress
from unhot.types import Doubles, Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vocab.vocabulary import Vocabulary


class LearnedSVD(NamedTuple):
    """The words, their vectors, and the singular values."""

    in_vocabulary: Vocabulary  # the words
    out_vocabulary: Vocabulary  # the contexts: the same words
    in_vectors: Floats  # [words, dim]
    out_vectors: Floats  # [words, dim] of the words as contexts
    singular_values: Doubles  # [dim] descending

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return the tensors to save."""
        return {name: getattr(self, name) for name in LearnedSVD._fields[2:]}


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

    def warm_up(self) -> None:
        """Compile the kernels of these settings, or load them from disk."""
        warm_up_counting()
        warm_up(self.dim + self.oversampling)

    def training(self, data: CellData, begins: Begins, tells: Tells) -> AtOnce[LearnedSVD]:
        """Return the decomposition; raise an error if it would not fit into memory."""
        words = data.text.vocabulary
        memory = plan(len(words), self.dim + self.oversampling, self.threads)
        check_plan(memory, len(words), self.dim)
        tells.say(f"memory: {describe(memory)}")
        if tells.checkpoint is not None:
            size = 2 * 4 * len(words) * self.dim + 8 * self.dim
            tells.say(disk_plan(tells.checkpoint, words, size, size).check())
        learn = functools.partial(decompose, self, data.text, tells)
        return AtOnce(learn, begins.history, int(words.counts.sum()), data.chosen)

    def make_answers(self, learned: LearnedSVD) -> CellAnswers:
        """Return the vectors of words and of contexts."""
        return CellAnswers(learned.in_vocabulary, learned.in_vectors, learned.in_vectors, learned.out_vectors)

    @property
    def singular_values(self) -> Doubles:
        """The singular values in descending order [dim]."""
        return self.learned.singular_values

    def restore(self, saved: SavedModel) -> LearnedSVD:
        """Return what a saved model had learned."""
        shape = (len(saved.vocabulary), self.dim)
        tensors = [shaped_tensor(saved, name, shape, np.float32) for name in ("in_vectors", "out_vectors")]
        tensors.append(shaped_tensor(saved, "singular_values", (self.dim,), np.float64))
        return LearnedSVD(saved.vocabulary, saved.vocabulary, *tensors)


def decompose(model: SVD, cells: Cells, tells: Tells) -> LearnedSVD:
    """Compute PMI, then its singular vectors; progress counts rounds as epochs, and their cells as words."""
    began = time.perf_counter()
    size, rounds = len(cells), model.rounds

    def tell(event: str, done: int, details: dict[str, Any]) -> None:
        seconds = time.perf_counter() - began
        for callback in tells.callbacks:
            callback(Progress(event, done, rounds, size * done, size * rounds, seconds, None, 0.0, details))

    how = {"positive": model.positive, "shift": model.shift, "smoothing": model.smoothing}
    facts = {"vocabulary": len(cells.vocabulary), "cells": size}
    tell("start", 0, {"model": model.name, **model.settings(), **facts})
    with pmi(cells, **how, threads=model.threads) as information:  # type: ignore[arg-type]
        tells.say(f"{len(information):,} cells of PMI")
        if not len(information):
            raise DataError(
                f"shift={model.shift:g}: no two words occur together more often than by chance; lower "
                "shift, or give more text"
            )
        factors = truncated_svd(
            information,
            model.dim,
            oversampling=model.oversampling,
            rounds=rounds,
            seed=model.seed,
            threads=model.threads,
            progress=lambda done, _: tell("progress", done, {}),
        )
    words = weighted(factors, model.power, model.contexts)
    contexts = weighted(factors._replace(u=factors.v), model.power)
    tell("done", rounds, {})
    return LearnedSVD(cells.vocabulary, cells.vocabulary, words, contexts, factors.s)
