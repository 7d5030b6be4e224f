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
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import warm_up_counting
from unhot.corpus.corpus import Corpus
from unhot.corpus.phrases import Phrases
from unhot.corpus.reading.sources import Source
from unhot.errors import ConfigError, DataError, FormatError, at_least, whole
from unhot.models.cell_model import CellModel, Counting
from unhot.models.model import Note, Reading, Telling, telling
from unhot.models.pmi import SMALLEST_SHIFT, pmi
from unhot.models.truncated_svd import plan, truncated_svd, warm_up, weighted
from unhot.train.history import History
from unhot.train.memory_plan import check_plan, describe
from unhot.train.progress import Callback, Progress
from unhot.types import Doubles, Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary

Model = TypeVar("Model", bound="SVD")


class Decomposed(NamedTuple):
    """What was computed."""

    vocabulary: Vocabulary
    in_vectors: Floats  # [words, dim]
    out_vectors: Floats  # [words, dim] of the words as contexts
    singular_values: Doubles  # [dim] falling


@dataclasses.dataclass(kw_only=True)
class SVD(CellModel):
    """Singular vectors of positive PMI.

    >>> model = SVD(dim=2, min_count=1).fit([["a", "b", "a", "c"]] * 10)
    >>> model.vectors["a"].shape
    (2,)
    """

    positive: bool = True  # leave out PMI below zero
    shift: float = 1.0  # k: log k is subtracted from PMI
    smoothing: float = 0.75  # power of the contexts' sums
    power: float = 0.5  # of the singular values in the vectors
    contexts: bool = False  # add the vectors that words have as contexts
    oversampling: int = 28  # directions more than dim that are followed
    rounds: int = 6  # how often they are multiplied by the matrix and its transpose

    name: ClassVar[str] = "svd"

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        for field in ("positive", "contexts"):
            if not isinstance(getattr(self, field), bool):
                raise ConfigError(f"{field}={getattr(self, field)!r}: must be true or false")
        for field, low in (("shift", SMALLEST_SHIFT), ("smoothing", 0), ("power", 0)):
            setattr(self, field, at_least(field, getattr(self, field), low))
        self.oversampling, self.rounds = (
            whole("oversampling", self.oversampling, 0),
            whole("rounds", self.rounds, 1),
        )
        self._decomposed: Decomposed | None = None
        self._stores: dict[str, Vectors] = {}  # made when they are asked for

    @property
    def decomposed(self) -> Decomposed:
        """What was computed; a `DataError` before."""
        if self._decomposed is None:
            raise DataError("this SVD has learned nothing yet: call fit first")
        return self._decomposed

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The words, with their counts; None before anything is learned."""
        return None if self._decomposed is None else self._decomposed.vocabulary

    @property
    def vectors(self) -> Vectors:
        """The words' vectors."""
        return self._named("in_vectors")

    @property
    def context_vectors(self) -> Vectors:
        """The vectors of the words as contexts, V S^power."""
        return self._named("out_vectors")

    def _named(self, name: str) -> Vectors:
        if name not in self._stores:
            words = self.decomposed.vocabulary
            self._stores[name] = Vectors(words.words, getattr(self.decomposed, name), words.counts)
        return self._stores[name]

    @property
    def singular_values(self) -> Doubles:
        """How much there is in each direction, falling [dim]."""
        return self.decomposed.singular_values

    def fit(
        self: Model,
        source: Source | Corpus | Cells,
        *,
        counts: Mapping[str, int] | Vocabulary | None = None,
        column: str | None = None,
        phrases: Phrases | None = None,
        callbacks: Sequence[Callback] = (),
        reading: Reading | None = None,
        counting: Counting | None = None,
        note: Note | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> Model:
        """Learn from text (see `unhot.corpus.encode`), from an encoded `Corpus`, or from `Cells` that were counted before.

        counts      a vocabulary given from outside: word -> count
        column      of a table, where the sentences are
        phrases     to join in the text before anything else
        callbacks   called with a `Progress` after every round
        reading     called with bytes read and bytes there are while the text is read
        counting    called with rows counted and rows there are
        note        called with lines about what goes on; None: they are logged
        directory   where to keep the encoded text, and in its folder `cells` the cells; None: a temporary
                    directory
        """
        told = telling(callbacks, note)
        reads: dict[str, Any] = {
            "counts": counts,
            "column": column,
            "phrases": phrases,
            "reading": reading,
            "counting": counting,
            "directory": directory,
        }
        with self.counting(source, told, **reads) as cells:
            return self._learn(cells, told)

    def _learn(self: Model, cells: Cells, told: Telling) -> Model:
        needed, tell = (
            plan(len(cells.vocabulary), self.dim + self.oversampling, self.threads),
            self._teller(cells, told.callbacks),
        )
        check_plan(needed, len(cells.vocabulary), self.dim)
        told.say(f"memory: {describe(needed)}")
        tell("start", 0)
        with pmi(
            cells, positive=self.positive, shift=self.shift, smoothing=self.smoothing, threads=self.threads
        ) as information:
            told.say(f"{len(information):,} cells of PMI")
            if not len(information):
                raise DataError(
                    f"no two words are together more often than by chance, shift={self.shift:g}: lower it, "
                    "or give more text"
                )
            how: dict[str, Any] = {
                "oversampling": self.oversampling,
                "rounds": self.rounds,
                "seed": self.seed,
                "threads": self.threads,
            }
            factors = truncated_svd(
                information, self.dim, **how, progress=lambda done, _: tell("progress", done)
            )
        words, contexts = (
            weighted(factors, self.power, self.contexts),
            weighted(factors._replace(u=factors.v), self.power),
        )
        self._keep(Decomposed(cells.vocabulary, words, contexts, factors.s))
        self.history = History(words=int(cells.vocabulary.counts.sum()))
        tell("done", self.rounds)
        return self

    def _teller(self, cells: Cells, callbacks: Sequence[Callback]) -> Callable[[str, int], None]:
        """A function (event, rounds done) that tells the callbacks.

        What they call words are cells, once in each round.
        """
        size, began = len(cells), time.perf_counter()
        details = {**self.config(), "vocabulary": len(cells.vocabulary), "cells": size}

        def tell(event: str, done: int) -> None:
            seconds = time.perf_counter() - began
            for callback in callbacks:
                told = details if event == "start" else {}
                callback(
                    Progress(
                        event, done, self.rounds, size * done, size * self.rounds, seconds, None, 0.0, told
                    )
                )

        return tell

    def warm_up(self) -> None:
        """Compile the kernels of these settings, or load them from disk."""
        warm_up_counting()
        warm_up(self.dim + self.oversampling)

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """What is saved."""
        _, in_vectors, out_vectors, values = self.decomposed
        return {"in_vectors": in_vectors, "out_vectors": out_vectors, "singular_values": values}

    def take(self, saved: SavedModel) -> None:
        """Take over the tensors that were read."""
        shape, found = (
            (len(saved.vocabulary), self.dim),
            {name: array.shape for name, array in saved.tensors.items()},
        )
        wanted = {"in_vectors": shape, "out_vectors": shape, "singular_values": (self.dim,)}
        for name, expected in wanted.items():
            if found.get(name) != expected:
                raise FormatError(
                    f"a model of kind svd: tensor {name!r} has the shape {found.get(name)}, it must be "
                    f"{expected}: damaged"
                )
        self._keep(Decomposed(saved.vocabulary, *(saved.tensors[name] for name in wanted)))

    def _keep(self, decomposed: Decomposed) -> None:
        self._decomposed, self._stores = decomposed, {}
