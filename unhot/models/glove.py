"""GloVe: vectors whose products are logarithms of co-occurrence counts.

    J = 1/2 sum over X_ij > 0 of f(X_ij) (u_i . v_j + b_i + c_j - log X_ij)^2,        f(x) = min(1, (x /
                                                                                      x_max)^alpha)

u are the vectors of words, v those of contexts, b and c their biases. What is fitted are ratios: (u_i - u_k)
. v_j is about log(P(j|i) / P(j|k)), up to a constant for the pair i, k. Cells are counted as
`unhot.corpus.cooccurrences` counts them, by default with weights 1 / distance on both sides, and are trained
by AdaGrad (train/glove/step.py), one after another, in an order that depends on the seed alone
(train/glove/blocks.py): any number of threads gives the same bytes.

Biases begin at what independent words would have, b_i = log X_i. - 1/2 log X.. and likewise for contexts, so
that u_i . v_j begins at PMI's zero and no time is spent on how frequent words are. Vectors begin uniformly in
(-1, 1) / sqrt(dim). On 100 MB of Wikipedia, 15 epochs, this comes to 32.0 % of analogies, WordSim-353 52.3
and SimLex-999 25.4 (means of three seeds); with vectors in (-1/2, 1/2) / dim, as in the C program, to 31.4,
51.1 and 24.1; with biases at zero, too, to 32.3, 44.3 and 19.7 (one seed).

Reference: Pennington, Socher and Manning, GloVe: Global vectors for word representation, 2014.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import warm_up_counting
from unhot.corpus.corpus import Corpus
from unhot.corpus.phrases import Phrases
from unhot.corpus.reading.sources import Source
from unhot.errors import DataError, FormatError, at_least, one_of, whole
from unhot.models.cell_model import CellModel, Counting
from unhot.models.model import OTHER_TEXT, Note, Reading, Telling, named_again, names_of, opened, telling
from unhot.train.checkpoint import Checkpoint, fingerprint
from unhot.train.epoch_run import Plan
from unhot.train.glove.blocks import Blocks, arranging_bytes
from unhot.train.glove.glove_run import BlockRun, Sides, start_sides, stride_of, warm_up
from unhot.train.glove.step import BIASES
from unhot.train.good_state import kept_in_memory
from unhot.train.history import History
from unhot.train.memory_plan import check_plan, describe
from unhot.train.progress import Callback
from unhot.types import Doubles, Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary

Model = TypeVar("Model", bound="GloVe")
COMBINED = ("sum", "mean", "word", "context")
SMALLEST = 1e-30  # of what must be above zero
MOST = 1e30  # count of a cell


class Fitted(NamedTuple):
    """Words, and what is known of them."""

    vocabulary: Vocabulary
    word_vectors: Floats  # [words, dim]
    context_vectors: Floats
    word_bias: Floats  # [words]
    context_bias: Floats


@dataclasses.dataclass(kw_only=True)
class GloVe(CellModel):
    """GloVe word vectors.

    >>> model = GloVe(dim=8, min_count=1, epochs=2).fit([["a", "b", "a", "c"]] * 10)
    >>> model.vectors["a"].shape
    (8,)
    """

    x_max: float = 10.0  # counts above it have weight 1
    alpha: float = 0.75  # power of counts below it in their weight
    epochs: int = 15
    lr: float = 0.05
    combine: str = "sum"  # which vectors are the words': sum | mean of both, word, context

    name: ClassVar[str] = "glove"
    unit: ClassVar[str] = "cells"

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        self.epochs = whole("epochs", self.epochs, 1, 1 << 30)
        for field, low in (("x_max", SMALLEST), ("alpha", 0), ("lr", SMALLEST)):
            setattr(self, field, at_least(field, getattr(self, field), low))
        one_of("combine", self.combine, COMBINED)
        self._fitted: Fitted | None = None
        self._sides: Sides | None = None  # of a training under way
        self._store: Vectors | None = None

    @property
    def fitted(self) -> Fitted:
        """What was learned so far; a `DataError` before `fit`."""
        if self._fitted is None:
            raise DataError("this GloVe has learned nothing yet: call fit first")
        return self._fitted

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The words, with their counts; None before anything is learned."""
        return None if self._fitted is None else self._fitted.vocabulary

    @property
    def complete(self) -> bool:
        """Whether all epochs are done."""
        return self.history.position.epoch >= self.epochs

    @property
    def vectors(self) -> Vectors:
        """The words' vectors, as `combine` says."""
        if self._store is None:
            self._store = self._named(self._combined())
        return self._store

    @property
    def word_vectors(self) -> Vectors:
        """The vectors of the words as words, u."""
        return self._named(self.fitted.word_vectors)

    @property
    def context_vectors(self) -> Vectors:
        """The vectors of the words as contexts, v."""
        return self._named(self.fitted.context_vectors)

    def _named(self, vectors: Floats) -> Vectors:
        return Vectors(self.fitted.vocabulary.words, vectors, self.fitted.vocabulary.counts)

    def _combined(self) -> Floats:
        word, context = self.fitted.word_vectors, self.fitted.context_vectors
        if self.combine in ("word", "context"):
            return word if self.combine == "word" else context
        return word + context if self.combine == "sum" else (word + context) / np.float32(2)

    def fit(
        self: Model,
        source: Source | Corpus | Cells,
        *,
        counts: Mapping[str, int] | Vocabulary | None = None,
        column: str | None = None,
        phrases: Phrases | None = None,
        checkpoint: Checkpoint | None = None,
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
        checkpoint  where and how often to save the state, to `resume` from
        callbacks   called with a `Progress` after every block of cells and every epoch; what it calls words
                    are cells
        reading     called with bytes read and bytes there are while the text is read
        counting    called with rows counted and rows there are
        note        called with lines about what goes on; None: they are logged
        directory   where to keep the encoded text, and in its folder `cells` the cells; None: a temporary
                    directory
        """
        told = telling(callbacks, note, checkpoint)
        reads: dict[str, Any] = {
            "counts": counts,
            "column": column,
            "phrases": phrases,
            "reading": reading,
            "counting": counting,
            "directory": directory,
        }
        with self.counting(source, told, **reads) as cells:
            _check(cells)
            text = {"source": names_of(source), "column": column, "fingerprint": fingerprint(cells)}
            return self._train(cells, told, History(), text)

    def resume(
        self: Model,
        source: Source | Corpus | Cells | None = None,
        *,
        phrases: Phrases | None = None,
        checkpoint: Checkpoint | None = None,
        callbacks: Sequence[Callback] = (),
        reading: Reading | None = None,
        counting: Counting | None = None,
        note: Note | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> Model:
        """Go on with a training that was cut off, from its last checkpoint (see `unhot.load`) or from where Ctrl-C stopped it.

        The source must be the same, with the same phrases; None: the files that were named then.
        The result is the same, byte for byte, as if it had never stopped.
        """
        fitted, done = self.fitted, self.history.position
        if self.complete or self._sides is None:
            raise DataError(f"this training is complete ({done.epoch} epochs): raise epochs and fit again")
        told = telling(callbacks, note, checkpoint)
        source = opened(named_again(self._text) if source is None else source)
        encoded = isinstance(source, (Corpus, Cells))
        reads: dict[str, Any] = (
            {}
            if encoded
            else {"counts": fitted.vocabulary, "column": self._text.get("column"), "phrases": phrases}
        )
        with self.counting(
            source, told, **reads, reading=reading, counting=counting, directory=directory
        ) as cells:
            if cells.vocabulary != fitted.vocabulary or fingerprint(cells) != self._text.get("fingerprint"):
                raise DataError(OTHER_TEXT)
            self.history.interrupted = False
            told.say(f"going on after {done.epoch} epochs and {done.chunk} blocks")
            return self._train(cells, told, self.history, self._text)

    def _train(self: Model, cells: Cells, told: Telling, history: History, text: dict[str, Any]) -> Model:
        words, stride = len(cells.vocabulary), stride_of(self.dim)
        rows = 4 * 4 * words * stride
        memory = {
            "rows": rows,
            "their last good state": kept_in_memory(rows),
            "blocks of cells": arranging_bytes(cells, stride, self.threads),
        }
        check_plan(memory, words, self.dim)
        told.say(f"memory: {describe(memory)}")
        resumed = self._sides if history.position != History().position else None
        sides = resumed or start_sides(words, self.dim, self.seed, biases_of(cells))
        blocks = Blocks(cells, self._value, stride, self.seed, self.threads)
        self.history, self._text = history, text
        self._follow(sides, cells.vocabulary)
        plan = Plan(
            epochs=self.epochs,
            lr=self.lr,
            seed=self.seed,
            history=history,
            # what they look at is never older than they are
            callbacks=[lambda progress: self._forget(), *told.callbacks],
            checkpoint=told.checkpoint,
            save=lambda: self.save_checkpoint(told),
            warn=told.warn,
            details={
                **self.config(),
                "vocabulary": words,
                "cells": len(cells),
                "memory": sum(memory.values()),
            },
        )
        run = BlockRun(blocks, sides, plan, self.threads)
        try:
            run.train()
        finally:
            run.close()
            self._forget()
            if self.complete:
                self._sides = None
        return self

    def _value(self, counts: Floats) -> tuple[Floats, Floats]:
        """Log x, and f(x)."""
        target = np.log(counts)
        weight = np.exp(np.float32(self.alpha) * (target - np.float32(np.log(self.x_max))))
        return target, np.minimum(weight, np.float32(1))

    def _follow(self, sides: Sides, vocabulary: Vocabulary) -> None:
        """Show rows that are being learned."""
        dim, word, context = self.dim, sides.words.rows, sides.contexts.rows
        self._sides = sides
        self._fitted = Fitted(vocabulary, word[:, :dim], context[:, :dim], word[:, dim], context[:, dim + 1])
        self._forget()

    def _forget(self) -> None:
        self._store = None

    def warm_up(self) -> None:
        """Compile all kernels for this dim, or load them from disk."""
        warm_up_counting()
        warm_up(self.dim)

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """The words' vectors as `in_vectors`, both kinds, biases.

        Of a training under way also what AdaGrad knows.
        """
        _, word, context, word_bias, context_bias = self.fitted
        tensors = {"in_vectors": self._combined(), "word_vectors": word, "out_vectors": context}
        tensors |= {
            "in_bias": np.ascontiguousarray(word_bias),
            "out_bias": np.ascontiguousarray(context_bias),
        }
        if not complete and self._sides is not None:
            tensors |= {
                "in_squares": self._sides.words.squares[:, : self.dim + BIASES],
                "out_squares": self._sides.contexts.squares[:, : self.dim + BIASES],
            }
        return tensors

    def take(self, saved: SavedModel) -> None:
        """Take over the tensors that were read."""
        words = len(saved.vocabulary)
        vectors, bias = (
            [_tensor(saved, name, (words, self.dim)) for name in ("word_vectors", "out_vectors")],
            (words,),
        )
        biases = [_tensor(saved, name, bias) for name in ("in_bias", "out_bias")]
        self._fitted = Fitted(saved.vocabulary, vectors[0], vectors[1], biases[0], biases[1])
        if "training" in saved.config:
            sides = start_sides(words, self.dim, self.seed, (biases[0], biases[1]))
            for side, rows, squares in zip(sides, vectors, ("in_squares", "out_squares"), strict=True):
                side.rows[:, : self.dim] = rows
                side.squares[:, : self.dim + BIASES] = _tensor(saved, squares, (words, self.dim + BIASES))
            self._follow(sides, saved.vocabulary)


def reference(counts: Doubles, scores: Doubles, x_max: float = 10.0, alpha: float = 0.75) -> float:
    """J of cells with such counts and scores, in float64.

    >>> reference(np.array([10.0]), np.array([np.log(10.0) + 1]))
    0.5
    """
    weights = np.minimum(1.0, (counts / x_max) ** alpha)
    return float(0.5 * (weights * (scores - np.log(counts)) ** 2).sum())


def biases_of(cells: Cells) -> tuple[Doubles, Doubles]:
    """What biases would be if all words were independent; words without a cell have zero."""
    rows, columns = cells.row_sums(), cells.column_sums()
    half = 0.5 * np.log(rows.sum())
    with np.errstate(divide="ignore"):
        word, context = (np.where(sums > 0, np.log(sums) - half, 0.0) for sums in (rows, columns))
    return word, context


def _check(cells: Cells) -> None:
    for first in range(0, len(cells), 1 << 22):
        part = cells.values[first : first + (1 << 22)]
        if part.min() <= 0:
            raise DataError(
                "cells with counts of zero or below: GloVe takes their logarithms; give counts, not PMI"
            )
        if part.min() < 1 / MOST or part.max() > MOST:
            raise DataError(
                f"cells with counts from {part.min():g} to {part.max():g}: must be from {1 / MOST:g} to "
                f"{MOST:g}"
            )


def _tensor(saved: SavedModel, name: str, shape: tuple[int, ...]) -> Any:
    found = saved.tensors.get(name)
    if found is None or found.shape != shape:
        raise FormatError(
            f"a glove model: tensor {name!r} has the shape {getattr(found, 'shape', None)}, it must be "
            f"{shape}: damaged"
        )
    return found
