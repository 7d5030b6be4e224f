"""The windows of a text as batches of tensors, where the torch engine gets its examples from.

The windows are the same as in the compiled engine, and each chunk has its own random draws.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from unhot.kernels.window_lists import list_windows, window_buffer
from unhot.train.chunked_text import ChunkedText
from unhot.train.schedule import TextChunk

# the input rows of all examples; the example of each row, None: each row is an example; the weight of each
# row in its example, None: 1; the target of each example
WindowBatch = tuple[Tensor, Tensor | None, Tensor | None, Tensor]


class WindowBatches:
    """The windows of a text in batches, on a device."""

    chunk_steps, width = 1, 0
    part, parts = 0, 1

    def __init__(
        self,
        text: ChunkedText,
        wiring: Any,
        batch: int,
        device: torch.device,
        enter: Callable[[TextChunk], None],
    ) -> None:
        """Take the text, and the `Wiring` that makes examples of it; a batch has so many.

        `enter` is called before the first batch of each chunk.
        """
        self._text, self._shards = text, text.texts()
        self._wiring, self._batch = wiring, batch
        self._device = device
        self._enter, self.chunks = enter, text.chunks
        self.size, self.words = text.size, text.words
        self._buffer = window_buffer(text.longest, wiring.window.size, text.most_pieces)

    def draw_key(self, epoch: int, chunk: TextChunk) -> int:
        """Return the seed of the random numbers of a chunk."""
        return int(self._text.draw_key(epoch, chunk))

    def batches(self, epoch: int, chunk: TextChunk) -> Iterator[tuple[WindowBatch, int]]:
        """Yield the batches of a chunk in the order of the text, and their numbers of examples."""
        wiring, device = self._wiring, self._device
        where = self._text.where(epoch, chunk)
        windows = list_windows(self._shards[chunk.shard], wiring.window, where, self._buffer)
        listed, starts, targets = wiring.examples(windows)
        self._enter(chunk)
        ids, target = (torch.from_numpy(array).to(device).long() for array in (listed, targets))
        for first in range(0, len(target), self._batch):
            some = target[first : first + self._batch]
            if starts is None:
                yield (ids[first : first + self._batch], None, None, some), len(some)
                continue
            sizes = torch.from_numpy(starts[first : first + self._batch + 1]).to(device).diff()
            bag = torch.repeat_interleave(sizes)
            share = sizes[bag].float().reciprocal() if wiring.combine == "mean" else None
            yield (ids[starts[first] : starts[first + len(some)]], bag, share, some), len(some)
