"""What trains a model: compiled kernels, PyTorch, or matrix products on the cells of a text.

An engine is made for a model's settings and a text. It says how much memory it will need before it takes any,
makes what a training begins with, and trains it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.corpus import Corpus
from unhot.errors import DataError, extra
from unhot.kernels.loop import Params
from unhot.kernels.pairs import warm_up as warm_up_pairs
from unhot.models.compiled_kernel import make_kernel, make_sizes, memory_plan
from unhot.models.learned_words import NO_KEYS, Learned
from unhot.models.ngram_rows import InputRows
from unhot.models.starting_point import Start
from unhot.train.epoch_run import Plan
from unhot.train.exact_run import CellsRun, CellState, new_squares, step_memory
from unhot.train.good_state import kept_in_memory
from unhot.train.history import Position
from unhot.train.hogwild import LocalRun, State, warm_up
from unhot.train.params import HotSizes, Sizes, finite, frozen_rows, padded, start_params, without_copies
from unhot.types import Bytes
from unhot.vocab.vocabulary import Vocabulary

if TYPE_CHECKING:
    from unhot.models.word_model import WordModel
    from unhot.train.torch_run import Device

ENGINES = ("compiled", "torch")


def make_engine(model: WordModel, source: Corpus | Cells, frozen: Bytes, inputs: InputRows | None) -> Engine:
    """The engine that a model's settings name.

    `frozen` as in `Learned`, `inputs` as of `WordModel.make_inputs`.
    """
    if isinstance(source, Cells):
        return OnCells(model, source, frozen)
    return (
        OnTorch(model, source, frozen) if model.engine == "torch" else Compiled(model, source, frozen, inputs)
    )


def check_engine(model: WordModel) -> None:
    """Raise an error if the engine or its device is not there.

    Better before a long text is read than after it.
    """
    if model.engine == "torch":
        extra("torch", "torch", "engine='torch'")
        _device(model).open()


def _device(model: WordModel) -> Device:
    from unhot.train.torch_run import Device

    return Device(model.device, model.threads)


def warm_up_engine(model: WordModel) -> None:
    """Compile or load what a model will be trained with, before its text is known."""
    if model.engine == "torch":
        warm_up_pairs(model.batches().window)
    else:
        warm_up(make_kernel(model, None), padded(model.dim), model.begins().half)


class Engine(ABC):
    """Made for a model and a text, or its cells."""

    memory: dict[str, int]  # bytes by purpose

    def __init__(self, model: WordModel, vocabulary: Vocabulary, frozen: Bytes) -> None:
        self._model, self._vocabulary, self._frozen = model, vocabulary, frozen

    @abstractmethod
    def begin(self, start: Start | None) -> Learned:
        """What a training begins with; its arrays change while it is trained."""

    @abstractmethod
    def train(self, plan: Plan) -> None:
        """Train; see `Run.train`."""

    def _start_params(self, sizes: Sizes, start: Start | None, stride: int | None = None) -> Params:
        """New rows, then those that there are already."""
        model = self._model
        params = start_params(sizes, model.dim, model.seed, stride, model.begins())
        if params.out_bias.size:
            params.out_bias[: sizes.rows] = model.layer.start_bias(self._vocabulary.counts)
        if start is not None:
            with np.errstate(over="ignore"):
                start.fill(params)
            if model.begins().half and not finite(params):
                raise DataError(
                    "start: it holds numbers that are not finite as 16-bit floats, which end at 65504: "
                    "leave float16 out"
                )
        return params


class Compiled(Engine):
    """Kernels on threads of this machine."""

    def __init__(self, model: WordModel, corpus: Corpus, frozen: Bytes, inputs: InputRows | None) -> None:
        super().__init__(model, corpus.vocabulary, frozen)
        self._corpus = corpus
        bags, rows = (None, len(corpus.vocabulary)) if inputs is None else (inputs.bags, inputs.keys.size)
        self._keys = NO_KEYS if inputs is None else inputs.keys
        self._kernel = make_kernel(model, corpus.vocabulary.counts, bags)
        self._sizes = make_sizes(model, corpus, self._kernel, rows, frozen.size > 0)
        self.memory = memory_plan(model, corpus, self._kernel, self._sizes, inputs)

    def begin(self, start: Start | None) -> Learned:
        """Views of rows that are padded, with copies for the threads behind them."""
        model, sizes = self._model, self._sizes
        params = self._start_params(sizes, start)
        seen = model.layer.seen(self._kernel.tables)
        if start is not None and start.seen.size:
            seen[:] = start.seen
        self._state = State(params, seen, frozen_rows(sizes, self._frozen), sizes)
        return Learned(
            model.layer,
            self._vocabulary,
            without_copies(params, sizes, model.dim),
            seen,
            self._frozen,
            keys=self._keys,
        )

    def train(self, plan: Plan) -> None:
        """On all threads."""
        LocalRun(self._corpus, self._kernel, self._state, plan).train()


class OnTorch(Engine):
    """PyTorch, on any device."""

    def __init__(self, model: WordModel, corpus: Corpus, frozen: Bytes) -> None:
        super().__init__(model, corpus.vocabulary, frozen)
        self._corpus, counts = corpus, corpus.vocabulary.counts
        self._sizes = Sizes(counts.size, model.layer.rows(counts), model.layer.biases(), HotSizes(0, 0), 0, 0)
        rows = 4 * model.dim * (counts.size + self._sizes.rows)
        self.memory = {"vectors": rows, "their last good state": rows}
        if model.device.partition(":")[0] == "cpu":
            size = min(model.batch, 2 * model.window * corpus.ids)  # a short text has no more
            self.memory["a batch"] = model.layer.batch_memory(counts, model.dim, size)

    def begin(self, start: Start | None) -> Learned:
        """Rows without padding; on the CPU those of the parameters themselves, elsewhere copies of them."""
        from unhot.train.torch_run import Begun, Weights

        model, vocabulary = self._model, self._vocabulary
        params = without_copies(self._start_params(self._sizes, start, model.dim), self._sizes, model.dim)
        seen, own = (np.zeros(0, np.int64), {}) if start is None else (start.seen, start.own)
        begun = Begun(params, seen, own, model.seed)
        self._weights = weights = Weights(model.layer, vocabulary.counts, begun, _device(model))
        return Learned(model.layer, vocabulary, weights.params, weights.seen, self._frozen, weights.own)

    def train(self, plan: Plan) -> None:
        """In batches."""
        from unhot.train.torch_run import TorchRun

        TorchRun(self._corpus, self._weights, self._model.batches(), self._frozen, plan).train()


class OnCells(Engine):
    """Matrix products on the counts of pairs."""

    def __init__(self, model: WordModel, cells: Cells, frozen: Bytes) -> None:
        super().__init__(model, cells.vocabulary, frozen)
        self._cells, counts = cells, cells.vocabulary.counts
        self._sizes = Sizes(counts.size, model.layer.rows(counts), model.layer.biases(), HotSizes(0, 0), 0, 0)
        vectors = 4 * model.dim * (counts.size + self._sizes.rows)
        self.memory = {
            "vectors": vectors,
            "mean squares of gradients": vectors,
            "their last good state": kept_in_memory(2 * vectors),
            "a step": step_memory(counts.size, model.dim, model.threads),
        }

    def begin(self, start: Start | None) -> Learned:
        """Rows without padding, and their squares: these are saved as long as the training goes on."""
        model = self._model
        params = without_copies(self._start_params(self._sizes, start, model.dim), self._sizes, model.dim)
        squares = new_squares(params, {} if start is None else start.squares)
        self._state = CellState(model.layer, params, squares, self._frozen)
        self._kept = {name: array for name, array in squares._asdict().items() if array.size}
        return Learned(
            model.layer, self._vocabulary, params, np.zeros(0, np.int64), self._frozen, squares=self._kept
        )

    def train(self, plan: Plan) -> None:
        """Block after block of rows; a training that begins anew has no squares yet, whatever it starts from."""
        if plan.history.position == Position():
            for square in self._state.squares:
                square[:] = 0.0
        CellsRun(self._cells, self._state, plan, self._model.threads).train()
        if plan.history.position.epoch >= plan.epochs:
            self._kept.clear()  # nobody goes on from here
