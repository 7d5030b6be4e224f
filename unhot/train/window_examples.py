"""The windows of a text as the examples of a training with compiled kernels."""

from collections.abc import Callable
from typing import Any

from unhot.kernels.chunk import Where
from unhot.kernels.windows import Kept, Window, kept_buffer
from unhot.train.chunked_text import ChunkedText
from unhot.train.schedule import TextChunk


class WindowExamples:
    """The windows of a text in chunks."""

    def __init__(self, text: ChunkedText, window: Window, feeder: Callable[[Any, Window], Any]) -> None:
        """Take the text; `feeder` makes the feeder of a shard."""
        self._text, self._window = text, window
        self._feeder = feeder
        self.chunks = text.chunks
        self.size, self.words = text.corpus.ids, text.corpus.words

    def feeders(self) -> list[Any]:
        """Return a feeder for each shard."""
        return [self._feeder(text, self._window) for text in self._text.texts()]

    def buffers(self) -> Kept:
        """Return buffers for the surviving words of the longest chunk."""
        return kept_buffer(self._text.longest, self._window.size, self._text.most_pieces)

    def where(self, epoch: int, chunk: TextChunk) -> Where:
        """Return the place of a chunk in its shard, with its random streams."""
        return self._text.where(epoch, chunk)
