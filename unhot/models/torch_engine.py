"""The torch engine: trains with mini-batches of the same windows, with any output layer, on any device."""

import numpy as np

from unhot.errors import ConfigError, extra
from unhot.kernels.window_lists import warm_up
from unhot.models.engine import Engine, TaskData, WindowTask
from unhot.models.learned_words import LearnedWords
from unhot.models.starting_point import StartingPoint
from unhot.train.chunked_text import ChunkedText
from unhot.train.epoch_run import EpochRun, Plan
from unhot.train.params import without_copies
from unhot.train.schedule import TextChunk, text_chunks
from unhot.train.text_parts import TextParts
from unhot.train.torch_batches import Batches
from unhot.vocab.subsampling import keep_probability


class OnTorch(Engine[WindowTask]):
    """The engine that trains with PyTorch, on any device."""

    def __init__(self, task: WindowTask, data: TaskData) -> None:
        super().__init__(task, data)
        counts = data.out_vocabulary.counts
        self._sizes = self._plain_sizes()
        rows = 4 * task.dim * (self._sizes.inputs + self._sizes.rows)
        self.memory = {"vectors": rows, "their last good state": rows}
        if task.device.partition(":")[0] == "cpu":
            size = min(task.batch, 2 * task.window.size * data.data.ids)  # a short text has fewer pairs
            self.memory["a batch"] = task.layer.batch_memory(counts, task.dim, size)

    @classmethod
    def check(cls, task: WindowTask) -> None:
        """Raise a `ConfigError` unless the model can make examples for batches."""
        if task.wiring.examples is None:
            raise ConfigError(
                f"engine='torch': {task.name} is trained by compiled kernels only; choose skipgram or cbow "
                "for torch"
            )

    @classmethod
    def check_machine(cls, task: WindowTask) -> None:
        """Raise an error unless PyTorch and the device are available."""
        extra("torch", "torch", "engine='torch'")
        from unhot.train.torch_device import open_device

        open_device(task.device)

    @classmethod
    def warm_up(cls, task: WindowTask) -> None:
        """Compile the kernel that lists the pairs of windows, or load it from disk."""
        warm_up(task.wiring.no_text(), task.window)

    def begin(self, start: StartingPoint | None) -> LearnedWords:
        """Make the net; what is learned shares their memory on the CPU and is a copy on other devices."""
        from unhot.train.torch_device import open_device
        from unhot.train.torch_window_net import TorchStart, WindowNet

        task, data = self._task, self._data
        params = without_copies(self._start_params(self._sizes, start, task.dim), self._sizes, task.dim)
        begun = TorchStart(params, np.zeros(0, np.int64), {}, task.seed)
        if start is not None:
            begun = begun._replace(seen=start.seen, own=start.own)
        counts, device = data.out_vocabulary.counts, open_device(task.device)
        self._net = net = WindowNet(task.layer, counts, begun, data.frozen, device)
        self._device = device
        return LearnedWords(
            layer=task.layer,
            in_vocabulary=data.in_vocabulary,
            out_vocabulary=data.out_vocabulary,
            params=net.params,
            seen=net.seen,
            frozen=data.frozen,
            own=net.own,
        )

    def run(self, plan: Plan) -> EpochRun[TextChunk]:
        """Make the run that trains in batches."""
        from unhot.train.torch_run import Descent, TorchRun
        from unhot.train.torch_window_batches import WindowBatches

        task, corpus = self._task, self._data.data
        examples = task.wiring.examples
        assert examples is not None  # `check` has refused models without examples
        batches = Batches(task.window, examples, task.wiring.combine == "mean", task.batch)
        words = task.layer.part_words()
        parts = None if words is None else TextParts(corpus, words)
        columns = task.layer.batch_columns(self._data.out_vocabulary.counts, batches.size)
        cuts = parts.cuts if parts else ()
        chunks = text_chunks(corpus.sizes, columns, batches.fewest_positions(), cuts, corpus.whole)
        keep = keep_probability(self._data.in_vocabulary.counts, task.sample)
        text = ChunkedText(corpus, keep, task.seed, chunks)

        def enter(chunk: TextChunk) -> None:
            if parts is not None:
                self._net.head.set_partition(parts.words(chunk))

        source = WindowBatches(text, batches, self._device, enter)
        how = Descent("rows", reduction="sum", threads=task.threads)
        return TorchRun(self._net, source, how, plan, self._device, self._net.publish)
