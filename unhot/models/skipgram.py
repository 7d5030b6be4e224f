"""Skip-gram: a word and a word near it, one predicts the other.

Which one? Windows are symmetric, so both orientations have the same pairs, and the output layer takes what is
cheaper for it:

    predict=centre      each context word c_b of a centre t is an input of its own, h_b = x[c_b], and t is the
                        target of all of them: L = sum_b loss(h_b, t). The inputs share the target and the
                        draws, so a window is a small matrix product.
    predict=contexts    the centre is the one input, h = x[t], and the words around it are its targets: L =
                        sum_b loss(h, c_b). Scores are computed once for a window, which is what layers over
                        the whole vocabulary want.

The loss of a whole text depends only on how often each pair of words occurs. With `on="cells"` these counts,
the cells, are what is trained on: no draw, every pair in every epoch, the exact loss (see
`unhot.train.exact_run`). Rows are inputs and columns targets, and it takes a vocabulary of thousands of words,
not more.

Reference: Mikolov et al., Efficient estimation of word representations in vector space, 2013.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import warm
from unhot.corpus.corpus import Corpus
from unhot.corpus.reading.sources import Source
from unhot.errors import ConfigError, DataError, one_of
from unhot.kernels.bags import Bags
from unhot.kernels.learning import learn_bag, learn_each
from unhot.kernels.loop import choose, fetch, fetch_entering, learn, predict_centre, predict_contexts
from unhot.kernels.steps import tile_shape
from unhot.kernels.windows import Window, contexts_of, fill_inputs, ones_at
from unhot.models.cell_model import count_cells, some_cells, take_settings
from unhot.models.model import Note
from unhot.models.word_model import WordModel
from unhot.train.exact_run import check_values
from unhot.train.torch_batches import Batches, centre_pairs, context_pairs

CELLS_LR = 0.05  # what a step on cells is good with, see `unhot.train.exact_run`
# on cells, unless max_vocab allows more: every epoch computes a score for each pair of them
MOST_WORDS = 10_000


class CentreStep(NamedTuple):
    """Many inputs, one target. A type without a field would be none to numba."""

    inputs: int


class ContextsStep(NamedTuple):
    """One input, many targets."""

    inputs: int


@dataclass(kw_only=True)
class SkipGram(WordModel):
    """Skip-gram word vectors.

    >>> model = SkipGram(dim=8, min_count=1, epochs=1).fit([["a", "b", "a", "c"]] * 10)
    >>> model.vectors["a"].shape
    (8,)
    """

    predict: str = "auto"  # auto | centre | contexts; auto: what is cheaper for the output layer
    on: str = "text"  # text | cells; cells: on the counts of pairs, exactly

    name: ClassVar[str] = "skipgram"
    default_lr: ClassVar[float] = 0.025

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        one_of("predict", self.predict, ("auto", "centre", "contexts"))
        one_of("on", self.on, ("text", "cells"))
        if self.on == "cells":
            self._check_cells()
        elif self.predict == "centre" and self.layer.all_rows and self.engine == "compiled":
            raise ConfigError(
                f"predict=centre: {self.layer.name} scores all words, once for a centre and all its "
                "contexts; use contexts or auto"
            )

    def _check_cells(self) -> None:
        self.layer.check_cells()
        if self.engine != "compiled":
            raise ConfigError(
                f"engine={self.engine}: on cells there is one engine, matrix products of NumPy; leave "
                "engine out"
            )
        if self.predict != "auto":
            raise ConfigError(
                f"predict={self.predict}: on cells rows are the inputs and columns the targets; leave "
                "predict out"
            )

    @property
    def first_lr(self) -> float:
        """The learning rate that a training begins with: `lr`, or the default for what it is trained on."""
        return self.lr or (CELLS_LR if self.on == "cells" else self.default_lr)

    @contextlib.contextmanager
    def _opening(
        self, source: Source | Corpus | Cells, say: Note, reads: dict[str, Any]
    ) -> Iterator[Corpus | Cells]:
        """The encoded text; to be trained on cells, these: counted, or as they were given."""
        if self.on == "cells":
            self._check_cells()  # settings may have changed since
            if isinstance(source, Cells):
                yield self._given(source, say)
                return
        with self._encoding(source, say, reads) as corpus:
            if self.on == "text":
                yield corpus
                return
            self._check_words(len(corpus.vocabulary))
            how: dict[str, Any] = {
                name: getattr(self, name) for name in ("window", "sample", "seed", "threads")
            }
            how |= {"weights": "dynamic" if self.shrink else "flat", "sides": "both"}
            with count_cells(corpus, how, say, reads["counting"], reads["directory"]) as cells:
                yield cells

    def _given(self, cells: Cells, say: Note) -> Cells:
        """Cells that are there already: their settings are taken, too."""
        self.layer.check_files()
        self._check_words(len(some_cells(cells).vocabulary))
        check_values(cells)
        theirs: dict[str, Any] = {
            name: cells.settings[name] for name in ("window", "sample") if name in cells.settings
        }
        if "weights" in cells.settings:
            theirs["shrink"] = cells.settings["weights"] == "dynamic"
        take_settings(self, theirs, say)
        for name, usual in (("weights", ("flat", "dynamic")), ("sides", ("both",))):
            if (found := cells.settings.get(name, usual[0])) not in usual:
                say(f"{name}={found!r}: as the cells were counted; no training on text has such pairs")
        return cells

    def _check_words(self, words: int) -> None:
        most = max(self.max_vocab or 0, MOST_WORDS)
        if words > most:
            raise DataError(
                f"{words:,} words, on='cells': every epoch computes a score for each pair of words, so at "
                f"most {most:,} are taken: encode "
                f"the text with max_vocab={MOST_WORDS} (--max-vocab {MOST_WORDS}), or set max_vocab={words} "
                "if you have the time"
            )

    def warm_up(self) -> None:
        """Compile the kernels of training, or those that count the cells."""
        if self.on == "cells":
            warm()
        else:
            super().warm_up()

    def step(self, bags: Bags | None = None) -> CentreStep | ContextsStep:
        """By orientation."""
        return CentreStep(self.inputs()) if self.targets() == 1 else ContextsStep(1)

    def inputs(self) -> int:
        """All words of the widest window, or one."""
        return 2 * self.window if self.targets() == 1 else 1

    def targets(self) -> int:
        """One, or all words of the widest window."""
        predicts = self.layer.predicts if self.predict == "auto" else self.predict
        return 1 if predicts == "centre" else 2 * self.window

    def batches(self) -> Batches:
        """Pairs, in either orientation."""
        pairs = centre_pairs if self.targets() == 1 else context_pairs
        return Batches(Window(self.window, self.shrink), pairs, False, self.batch)


choose.register(CentreStep)(predict_centre)
choose.register(ContextsStep)(predict_contexts)
fetch.register(CentreStep)(fetch_entering)
fetch.register(ContextsStep)(fetch_entering)


@learn.register(CentreStep)
def _learn_centre(
    step: Any, shape: Any, tables: Any, params: Any, scratch: Any, centre: Any, part: Any, chunk: Any
) -> Any:
    kept, inputs = scratch.kept, scratch.inputs
    count, times, contexts = fill_inputs(kept, kept.row, centre, inputs, len(tile_shape(shape).group))
    if count == 0:
        return 0.0, 0
    return learn_each(shape, tables, params, scratch, count, times, part, chunk), contexts


@learn.register(ContextsStep)
def _learn_contexts(
    step: Any, shape: Any, tables: Any, params: Any, scratch: Any, centre: Any, part: Any, chunk: Any
) -> Any:
    kept, inputs = scratch.kept, scratch.inputs
    contexts = contexts_of(kept, centre)
    if contexts == 0:
        return 0.0, 0
    inputs.row[0] = kept.row[centre]
    one = np.float32(1.0)
    return learn_bag(shape, tables, params, scratch, 1, ones_at(inputs, 1), one, one, part, chunk), contexts
