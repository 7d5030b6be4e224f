"""The torch engine: trains with mini-batches of the same windows, with any output layer, on any device."""

from typing import Any

import numpy as np

from unhot.errors import ConfigError, extra
from unhot.kernels.window_lists import warm_up
from unhot.models.engine import Engine, EngineData, Wiring
from unhot.models.learned_words import NO_ARRAYS, LearnedWords
from unhot.models.starting_point import StartingPoint
from unhot.train.chunked_text import ChunkedText, TextParts
from unhot.train.epoch_run import EpochRun, Plan
from unhot.train.params import without_copies
from unhot.train.schedule import TextChunk, text_chunks
from unhot.vocab.subsampling import keep_probability


class OnTorch(Engine):
    """The engine that trains with PyTorch, on any device."""

    def __init__(self, model: Any, wiring: Wiring, data: EngineData) -> None:
        super().__init__(model, wiring, data)
        self._sizes = self._plain_sizes()
        rows = 4 * model.dim * (self._sizes.inputs + self._sizes.rows)
        self.memory = {"vectors": rows, "their last good state": rows}
        if model.device.partition(":")[0] == "cpu":
            size = min(model.batch, 2 * wiring.window.size * data.text.ids)  # a short text has fewer pairs
            self.memory["a batch"] = model.layer.batch_memory(data.targets.counts, model.dim, size)

    @classmethod
    def check(cls, model: Any, wiring: Wiring) -> None:
        """Raise a `ConfigError` unless the model can make examples for batches."""
        if wiring.examples is None:
            raise ConfigError(
                f"engine='torch': {model.name} is trained by compiled kernels only; choose skipgram or cbow "
                "for torch"
            )

    @classmethod
    def check_machine(cls, model: Any) -> None:
        """Raise an error unless PyTorch and the device are available."""
        extra("torch", "torch", "engine='torch'")
        from unhot.train.torch_device import open_device

        open_device(model.device)

    @classmethod
    def warm_up(cls, model: Any, wiring: Wiring) -> None:
        """Compile the kernel that lists the pairs of windows, or load it from disk."""
        warm_up(wiring.no_text(), wiring.window)

    def begin(self, start: StartingPoint | None) -> LearnedWords:
        """Make the net; what is learned shares their memory on the CPU and is a copy on other devices."""
        from unhot.train.torch_device import open_device
        from unhot.train.torch_window_net import WindowNet

        model, data = self.model, self.data
        params = without_copies(self._start_params(self._sizes, start, model.dim), self._sizes, model.dim)
        self._device = open_device(model.device)
        counts, none = data.targets.counts, np.zeros(0, np.int64)
        seen, own = (none, NO_ARRAYS) if start is None else (start.seen, start.own)
        how = {"seed": model.seed, "seen": seen, "own": own}
        self._net = net = WindowNet(model.layer, counts, params, data.frozen, self._device, **how)
        return LearnedWords(
            layer=model.layer,
            in_vocabulary=data.inputs,
            out_vocabulary=data.targets,
            params=net.params,
            seen=net.seen,
            frozen=data.frozen,
            own=net.own,
        )

    def run(self, plan: Plan) -> EpochRun[TextChunk]:
        """Make the run that trains in batches."""
        from unhot.train.torch_run import Descent, TorchRun
        from unhot.train.torch_window_net import WindowBatches

        model, wiring = self.model, self._wiring
        text, words = self.data.text, model.layer.part_words()
        parts = None if words is None else TextParts(text, words)
        columns = model.layer.batch_columns(self.data.targets.counts, model.batch)
        # about how many positions of a text make a batch
        fewest = model.batch if wiring.combine else -(-model.batch // wiring.window.size)
        chunks = text_chunks(text.sizes, columns, fewest, parts.cuts if parts else (), text.whole)
        keep = keep_probability(self.data.inputs.counts, model.sample)

        def enter(chunk: TextChunk) -> None:
            if parts is not None:
                self._net.head.set_partition(parts.words(chunk))

        examples = ChunkedText(text, keep, model.seed, chunks)
        source = WindowBatches(examples, wiring, model.batch, self._device, enter)
        how = Descent("rows", reduction="sum", threads=model.threads)
        return TorchRun(self._net, source, how, plan, self._device, self._net.publish)
