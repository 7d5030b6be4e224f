"""GloVe: vectors whose products are logarithms of co-occurrence counts.

    J = 1/2 sum over X_ij > 0 of f(X_ij) (u_i . v_j + b_i + c_j - log X_ij)^2
    f(x) = min(1, (x / x_max)^alpha)

u are the word vectors, v the context vectors, b and c their biases. The vectors fit ratios of probabilities:
(u_i - u_k) . v_j is about log(P(j|i) / P(j|k)), up to a constant for the pair i, k. The cells X are counted
by `unhot.corpus.cooccurrences`, by default with weights 1 / distance on both sides. They are trained by
AdaGrad (train/glove/step.py), one after another, in an order that depends on the seed alone
(train/glove/blocks.py). So any number of threads gives the same bytes.

Biases start at the values that independent words would have, b_i = log X_i. - 1/2 log X.. and likewise for
contexts. So u_i . v_j starts near a PMI of zero, and no training time is spent on word frequencies. Vectors
start uniformly in (-2, 2) / sqrt(dim).

By default the vector of a word is u + v / 2. The cosine of the words i and k then compares

    (u_i + v_i / 2) . (u_k + v_k / 2) = u_i . u_k + v_i . v_k / 4 + (u_i . v_k + v_i . u_k) / 2

The first two terms are large for words with the same contexts. The last term is about their PMI. It is large
for words that stand next to each other, and largest for a rare word beside a common one. In u + v the last
term weighs a quarter more beside the others (for u and v of equal length), and the nearest words of "king"
are kings of whom the text says little: Zog, Liutprand, Behanzin. The wide start works against that, too: the
few small steps of a rare word do not outweigh its random start, so its cosine with other words stays low.

On 100 MB of Wikipedia (dim 100, 15 epochs, means of three seeds; overlap: how many of the ten nearest words
of the 1,000 commonest words are among the ten nearest by positive PMI):

                                     analogies  WordSim-353  SimLex-999  overlap
    (-2, 2) / sqrt(dim), u + v / 2      31.8 %         52.0        25.6   48.9 %
    (-1, 1) / sqrt(dim), u + v / 2      32.5 %         51.7        25.5   46.6 %
    (-1, 1) / sqrt(dim), u + v          32.0 %         52.3        25.4   43.0 %
    the C program, one seed             30.5 %         43.9        21.6   44.9 %

Reference: Pennington, Socher and Manning, GloVe: Global vectors for word representation, 2014.
"""

import copy
import dataclasses
import functools
from typing import Annotated, Any, Literal

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import warm_up_counting
from unhot.errors import DataError
from unhot.models.cell_model import CellAnswers, CellData, CellModel
from unhot.models.fitting import Begins, InEpochs, Tells, plan_of
from unhot.models.model import model, shaped_tensor
from unhot.models.settings import SMALLEST_LR, EpochFields, Range
from unhot.train.glove.blocks import Blocks, arranging_bytes
from unhot.train.glove.glove_run import GloVeRun, Sides, start_sides, stride_of, warm_up
from unhot.train.glove.step import BIASES
from unhot.train.memory_plan import check_plan
from unhot.train.state_copy import kept_in_memory
from unhot.types import Doubles, Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary

SMALLEST = 1e-30  # the least value of settings that must be above zero
MOST = 1e30  # the largest count of a cell


@dataclasses.dataclass(frozen=True)
class LearnedGloVe:
    """The words, and the vectors and biases that GloVe has learned for them."""

    in_vocabulary: Vocabulary  # the words
    out_vocabulary: Vocabulary  # the contexts: the same words
    word_vectors: Floats  # [words, dim]
    context_vectors: Floats
    word_bias: Floats  # [words]
    context_bias: Floats
    combine: str  # see `combined`
    sides: Sides | None = None  # the rows and AdaGrad sums of a training that is not complete

    def combined(self) -> Floats:
        """Return the vector that each word gets."""
        word, context = self.word_vectors, self.context_vectors
        if self.combine in ("word", "context"):
            return word if self.combine == "word" else context
        if self.combine == "half":
            return word + context / np.float32(2)
        return word + context if self.combine == "sum" else (word + context) / np.float32(2)

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return the tensors to save: the combined vectors as `in_vectors`, both kinds, the biases.

        An incomplete training also saves AdaGrad's sums.
        """
        tensors = {
            "in_vectors": self.combined(),
            "word_vectors": self.word_vectors,
            "out_vectors": self.context_vectors,
            "in_bias": np.ascontiguousarray(self.word_bias),
            "out_bias": np.ascontiguousarray(self.context_bias),
        }
        if not complete and self.sides is not None:
            used = self.word_vectors.shape[1] + BIASES
            tensors["in_squares"] = self.sides.words.squares[:, :used]
            tensors["out_squares"] = self.sides.contexts.squares[:, :used]
        return tensors


@model("glove")
@dataclasses.dataclass(kw_only=True)
class GloVe(EpochFields, CellModel[LearnedGloVe]):
    """GloVe word vectors.

    >>> model = GloVe(dim=8, min_count=1, epochs=2).fit([["a", "b", "a", "c"]] * 10)
    >>> model.vectors["a"].shape
    (8,)
    """

    x_max: Annotated[float, Range(SMALLEST)] = 10.0  # cells with at least this count have weight 1
    alpha: Annotated[float, Range(0)] = 0.75  # cells below x_max have weight (count / x_max)^alpha
    epochs: Annotated[int, Range(1, 1 << 30)] = 15  # number of passes over the text or its cells
    lr: Annotated[float, Range(SMALLEST_LR)] = 0.05  # initial learning rate
    # which vectors a word gets: word + context / 2 (half), the sum or the mean of the two, or one of them
    combine: Literal["half", "sum", "mean", "word", "context"] = "half"

    unit = "cells"

    @property
    def fitted(self) -> LearnedGloVe:
        """The older name of `learned`."""
        return self.learned

    @property
    def word_vectors(self) -> Vectors:
        """The vectors of the words as words, u."""
        return self.answers.word_vectors

    def make_answers(self, learned: LearnedGloVe) -> CellAnswers:
        """Return the vectors: combined, of words and of contexts."""
        return CellAnswers(
            learned.in_vocabulary, learned.combined(), learned.word_vectors, learned.context_vectors
        )

    def warm_up(self) -> None:
        """Compile all kernels for this dim, or load them from disk."""
        warm_up_counting()
        warm_up(self.dim)

    def training(self, data: CellData, begins: Begins, tells: Tells) -> InEpochs[LearnedGloVe]:
        """Make the rows of words and contexts, and put the cells into the order of training."""
        cells, old = data.text, begins.learned
        check_counts(cells)
        words, stride = len(cells.vocabulary), stride_of(self.dim)
        rows = 4 * 4 * words * stride
        memory = {
            "rows": rows,
            "their last good state": kept_in_memory(rows),
            "blocks of cells": arranging_bytes(cells, stride, self.threads),
        }
        check_plan(memory, words, self.dim)
        details: dict[str, Any] = {"vocabulary": words, "cells": len(cells)}
        plan = plan_of(self, begins, tells, memory, lr=self.lr, usual_lr=type(self).lr, **details)
        sides = None if old is None else copy.deepcopy(old.sides)
        sides = sides or start_sides(words, self.dim, self.seed, biases_of(cells))
        blocks = Blocks(cells, self._value, stride, self.seed, self.threads)
        learned = self._view(sides, cells.vocabulary)
        run = GloVeRun(blocks, sides, plan, self.threads)
        finish = functools.partial(dataclasses.replace, sides=None)
        return InEpochs(run, lambda: learned, data.chosen, finish)

    def _value(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return log x and f(x) of cell counts x."""
        target = np.log(counts)
        weight = np.exp(np.float32(self.alpha) * (target - np.float32(np.log(self.x_max))))
        return target, np.minimum(weight, np.float32(1))

    def _view(self, sides: Sides, words: Vocabulary) -> LearnedGloVe:
        """Return what is learned as views of the rows that are trained."""
        dim = self.dim
        word, context = sides.words.rows, sides.contexts.rows
        biases = word[:, dim], context[:, dim + 1]
        return LearnedGloVe(words, words, word[:, :dim], context[:, :dim], *biases, self.combine, sides)

    def restore(self, saved: SavedModel) -> LearnedGloVe:
        """Return what a saved model had learned."""
        words = len(saved.vocabulary)
        shape, kind = (words, self.dim), np.float32
        vectors = [shaped_tensor(saved, name, shape, kind) for name in ("word_vectors", "out_vectors")]
        biases = [shaped_tensor(saved, name, (words,), kind) for name in ("in_bias", "out_bias")]
        if "training" not in saved.config:
            known: list[Any] = [saved.vocabulary, saved.vocabulary, *vectors, *biases, self.combine]
            return LearnedGloVe(*known)
        used = self.dim + BIASES
        sides = start_sides(words, self.dim, self.seed, (biases[0], biases[1]))
        for side, rows, squares in zip(sides, vectors, ("in_squares", "out_squares"), strict=True):
            side.rows[:, : self.dim] = rows
            side.squares[:, :used] = shaped_tensor(saved, squares, (words, used), kind)
        return self._view(sides, saved.vocabulary)


def reference(counts: Doubles, scores: Doubles, x_max: float = 10.0, alpha: float = 0.75) -> float:
    """Return J for cells with these counts and scores, in float64.

    >>> reference(np.array([10.0]), np.array([np.log(10.0) + 1]))
    0.5
    """
    weights = np.minimum(1.0, (counts / x_max) ** alpha)
    return float(0.5 * (weights * (scores - np.log(counts)) ** 2).sum())


def biases_of(cells: Cells) -> tuple[Doubles, Doubles]:
    """Return the initial biases, those of independent words; words without a cell get zero."""
    rows, columns = cells.row_sums(), cells.column_sums()
    half = 0.5 * np.log(rows.sum())
    with np.errstate(divide="ignore"):
        word, context = (np.where(sums > 0, np.log(sums) - half, 0.0) for sums in (rows, columns))
    return word, context


def check_counts(cells: Cells) -> None:
    """Raise a `DataError` unless all counts lie between 1 / MOST and MOST."""
    for first in range(0, len(cells), 1 << 22):
        part = cells.values[first : first + (1 << 22)]
        if part.min() <= 0:
            raise DataError(
                "some cells are zero or negative: GloVe takes the logarithms of cells; give counts, not PMI"
            )
        if part.min() < 1 / MOST or part.max() > MOST:
            raise DataError(
                f"cells with counts from {part.min():g} to {part.max():g}: must be from {1 / MOST:g} to "
                f"{MOST:g}"
            )
