"""Lines as the examples of a training with compiled kernels, in a random order of single lines."""

from typing import Any

from unhot.kernels.chunk import Where
from unhot.kernels.rng import stream_key
from unhot.train.schedule import FEWEST_CHUNKS, TextChunk

CHUNK = 1 << 19  # rows and columns of a chunk: about 10 ms of work


def line_chunks(lines: int, rows: int, columns: int) -> list[TextChunk]:
    """Cut an epoch of `lines` lines, with `rows` rows in all, into chunks for steps of so many columns.

    A step over a column takes about as long as one over a row. There are at least FEWEST_CHUNKS chunks, so
    that the rate falls smoothly.
    """
    size = min(CHUNK * lines // (rows + lines * columns), lines // FEWEST_CHUNKS)
    size = max(1, size)
    starts = range(0, lines, size)
    return [
        TextChunk(number, start, 0, 0, 0, lines, 1, start, min(start + size, lines))
        for number, start in enumerate(starts)
    ]


class LineExamples:
    """The lines of one feeder in chunks; each epoch has its own order of all lines."""

    def __init__(self, feeder: Any, buffers: Any, chunks: list[TextChunk], words: int, seed: int) -> None:
        """Take the feeder, a function that makes its buffers for so many lines, and the chunks."""
        self._feeder, self._buffers = feeder, buffers
        self.chunks, self.size = chunks, chunks[-1].stop
        self.words, self._seed = words, seed

    def feeders(self) -> list[Any]:
        """Return the feeder of all lines."""
        return [self._feeder]

    def buffers(self) -> Any:
        """Return the buffers of the feeder for the longest chunk."""
        return self._buffers(max(chunk.stop - chunk.start for chunk in self.chunks))

    def where(self, epoch: int, chunk: TextChunk) -> Where:
        """Return the place of a chunk in the order of its epoch."""
        order, draws = stream_key(self._seed, epoch, -1), stream_key(self._seed, epoch, 1 + chunk.number)
        first, last = chunk.pieces()
        return Where(first, last, chunk.begin, chunk.end, 1, order, order, draws)
