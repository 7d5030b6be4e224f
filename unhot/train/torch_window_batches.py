"""The windows of a text as batches of tensors, where the torch engine gets its examples from.

The windows are the same as in the compiled engine, and each chunk has its own random draws.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from unhot.kernels.window_lists import list_windows, window_buffer
from unhot.train.chunked_text import ChunkedText
from unhot.train.schedule import TextChunk
from unhot.train.torch_batches import Batches

# the input rows of all examples; the example of each row, None: each row is an example; the weight of each
# row in its example, None: 1; the target of each example
WindowBatch = tuple[Tensor, Tensor | None, Tensor | None, Tensor]


class WindowBatches:
    """The windows of a text in batches, on a device."""

    chunk_steps, width = 1, 0
    part, parts = 0, 1

    def __init__(
        self, text: ChunkedText, how: Batches, device: torch.device, enter: Callable[[TextChunk], None]
    ) -> None:
        """Take the text; `enter` is called before the first batch of each chunk."""
        self._text, self._shards = text, text.texts()
        self._how, self._device = how, device
        self._enter, self.chunks = enter, text.chunks
        self.size, self.words = text.corpus.ids, text.corpus.words
        self._buffer = window_buffer(text.longest, how.window.size, text.most_pieces)

    def draw_key(self, epoch: int, chunk: TextChunk) -> int:
        """Return the seed of the random numbers of a chunk."""
        return int(self._text.draw_key(epoch, chunk))

    def batches(self, epoch: int, chunk: TextChunk) -> Iterator[tuple[WindowBatch, int]]:
        """Yield the batches of a chunk in the order of the text, and their numbers of examples."""
        how, device = self._how, self._device
        where = self._text.where(epoch, chunk)
        windows = list_windows(self._shards[chunk.shard], how.window, where, self._buffer)
        listed, starts, targets = how.examples(windows)
        self._enter(chunk)
        ids, target = (torch.from_numpy(array).to(device).long() for array in (listed, targets))
        for first in range(0, len(target), how.size):
            some = target[first : first + how.size]
            if starts is None:
                yield (ids[first : first + how.size], None, None, some), len(some)
                continue
            sizes = torch.from_numpy(starts[first : first + how.size + 1]).to(device).diff()
            bag = torch.repeat_interleave(sizes)
            share = sizes[bag].float().reciprocal() if how.mean else None
            yield (ids[starts[first] : starts[first + len(some)]], bag, share, some), len(some)
