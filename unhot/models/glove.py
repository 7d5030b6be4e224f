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

import dataclasses
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import warm_up_counting
from unhot.errors import DataError
from unhot.models.cell_model import CellModel
from unhot.models.epoch_model import SMALLEST_LR, EpochModel
from unhot.models.fitting import Begins, Tells
from unhot.models.model import model, shaped_tensor
from unhot.models.settings import Range
from unhot.train.glove.blocks import Blocks, arranging_bytes
from unhot.train.glove.glove_run import GloVeRun, Sides, start_sides, stride_of, warm_up
from unhot.train.glove.step import BIASES
from unhot.train.good_state import kept_in_memory
from unhot.train.memory_plan import check_plan
from unhot.types import Doubles, Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary

SMALLEST = 1e-30  # of what must be above zero
MOST = 1e30  # count of a cell


class LearnedGloVe(NamedTuple):
    """Words, and what is known of them."""

    in_vocabulary: Vocabulary  # words
    out_vocabulary: Vocabulary  # contexts: the same
    word_vectors: Floats  # [words, dim]
    context_vectors: Floats
    word_bias: Floats  # [words]
    context_bias: Floats


@model("glove")
@dataclasses.dataclass(kw_only=True)
class GloVe(EpochModel[LearnedGloVe], CellModel[LearnedGloVe]):
    """GloVe word vectors.

    >>> model = GloVe(dim=8, min_count=1, epochs=2).fit([["a", "b", "a", "c"]] * 10)
    >>> model.vectors["a"].shape
    (8,)
    """

    x_max: Annotated[float, Range(SMALLEST)] = 10.0  # counts above it have weight 1
    alpha: Annotated[float, Range(0)] = 0.75  # power of counts below x_max in their weight
    epochs: Annotated[int, Range(1, 1 << 30)] = 15  # passes over the text, or its cells
    lr: Annotated[float, Range(SMALLEST_LR)] = 0.05  # first learning rate
    # which vectors are the words': the sum or the mean of both kinds, or one of them
    combine: Literal["sum", "mean", "word", "context"] = "sum"

    unit = "cells"

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        self._sides: Sides | None = None  # of a training under way

    @property
    def fitted(self) -> LearnedGloVe:
        """The same, by its older name."""
        return self.learned

    @property
    def word_vectors(self) -> Vectors:
        """The vectors of the words as words, u."""
        return self.store("word_vectors")

    @property
    def context_vectors(self) -> Vectors:
        """The vectors of the words as contexts, v."""
        return self.store("context_vectors")

    def make_store(self, name: str) -> Vectors:
        """Vectors of either kind, or as `combine` says."""
        words = self.learned.in_vocabulary
        vectors = self._combined() if name == "in_vectors" else getattr(self.learned, name)
        return Vectors(words.words, vectors, words.counts)

    def _combined(self) -> Floats:
        word, context = self.learned.word_vectors, self.learned.context_vectors
        if self.combine in ("word", "context"):
            return word if self.combine == "word" else context
        return word + context if self.combine == "sum" else (word + context) / np.float32(2)

    def warm_up(self) -> None:
        """Compile all kernels for this dim, or load them from disk."""
        warm_up_counting()
        warm_up(self.dim)

    def begin(self, data: Cells, begins: Begins, tells: Tells) -> GloVeRun:
        """Rows for words and contexts, and the cells in the order in which they are trained."""
        check_counts(data)
        words, stride = len(data.vocabulary), stride_of(self.dim)
        rows = 4 * 4 * words * stride
        memory = {
            "rows": rows,
            "their last good state": kept_in_memory(rows),
            "blocks of cells": arranging_bytes(data, stride, self.threads),
        }
        check_plan(memory, words, self.dim)
        plan = self.plan(begins, tells, memory, vocabulary=words, cells=len(data))
        sides = self._sides if begins.resumed else None
        sides = sides or start_sides(words, self.dim, self.seed, biases_of(data))
        blocks = Blocks(data, self._value, stride, self.seed, self.threads)
        self._follow(sides, data.vocabulary)
        return GloVeRun(blocks, sides, plan, self.threads)

    def ended(self) -> None:
        """What AdaGrad knows is of no use any more when all epochs are done."""
        super().ended()
        if self.complete:
            self._sides = None

    def _value(self, counts: Floats) -> tuple[Floats, Floats]:
        """Log x, and f(x)."""
        target = np.log(counts)
        weight = np.exp(np.float32(self.alpha) * (target - np.float32(np.log(self.x_max))))
        return target, np.minimum(weight, np.float32(1))

    def _follow(self, sides: Sides, vocabulary: Vocabulary) -> None:
        """Show rows that are being learned."""
        dim, word = self.dim, sides.words.rows
        context = sides.contexts.rows
        self._sides = sides
        biases = word[:, dim], context[:, dim + 1]
        self.keep(LearnedGloVe(vocabulary, vocabulary, word[:, :dim], context[:, :dim], *biases))

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """The words' vectors as `in_vectors`, both kinds, biases.

        Of a training under way also what AdaGrad knows.
        """
        learned = self.learned
        tensors = {
            "in_vectors": self._combined(),
            "word_vectors": learned.word_vectors,
            "out_vectors": learned.context_vectors,
            "in_bias": np.ascontiguousarray(learned.word_bias),
            "out_bias": np.ascontiguousarray(learned.context_bias),
        }
        if not complete and self._sides is not None:
            used = self.dim + BIASES
            tensors["in_squares"] = self._sides.words.squares[:, :used]
            tensors["out_squares"] = self._sides.contexts.squares[:, :used]
        return tensors

    def take(self, saved: SavedModel) -> None:
        """Take over the tensors that were read."""
        words = len(saved.vocabulary)
        vectors = [shaped_tensor(saved, name, (words, self.dim)) for name in ("word_vectors", "out_vectors")]
        biases = [shaped_tensor(saved, name, (words,)) for name in ("in_bias", "out_bias")]
        self.keep(LearnedGloVe(saved.vocabulary, saved.vocabulary, *vectors, *biases))
        if "training" in saved.config:
            used = self.dim + BIASES
            sides = start_sides(words, self.dim, self.seed, (biases[0], biases[1]))
            for side, rows, squares in zip(sides, vectors, ("in_squares", "out_squares"), strict=True):
                side.rows[:, : self.dim] = rows
                side.squares[:, :used] = shaped_tensor(saved, squares, (words, used))
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


def check_counts(cells: Cells) -> None:
    """Raise a `DataError` for cells that have no logarithm."""
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
