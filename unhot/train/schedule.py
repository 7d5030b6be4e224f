"""The order in which positions are trained, and the learning rate.

An epoch is cut into chunks that do not depend on the number of threads. A chunk of training is made of pieces
from all over its shard. In its natural order a text would teach a model what it is reading at the moment, and
the loss would rise once the rate has fallen and the model forgets more slowly. The learning rate falls
linearly from lr to lr / 10,000 over all epochs, by position in the corpus: a chunk has the same rate no
matter when it is trained, and by which thread.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from unhot.corpus.shards import Shard
from unhot.types import Starts

CHUNK = 1 << 15  # positions of a chunk: about 10 ms of work with the usual settings
USUAL_COLUMNS = 8  # steps with more columns have shorter chunks
# a small corpus is cut into at least so many chunks (of at least SMALLEST), so that the rate falls smoothly
FEWEST_CHUNKS = 64
SMALLEST = 1 << 9
SHORTEST = 1 << 6  # positions of a chunk, at least, for any number of columns
PIECE = 1 << 10  # positions that are read in sequence
FLOOR = 1e-4  # the last rate as a share of the first


class Chunk(NamedTuple):
    """A chunk's place in an epoch."""

    number: int
    done: int  # how much of the epoch comes before this chunk


class TextChunk(NamedTuple):
    """Some pieces of a stretch of a shard: those at [start, stop) after the pieces are shuffled."""

    number: int  # of the chunk in the epoch
    done: int  # positions of the epoch before this chunk
    shard: int
    before: int  # positions of the shards before this one
    begin: int  # the stretch: positions [begin, end) of the shard
    end: int
    size: int  # positions of a piece
    start: int  # a whole number of pieces after `begin`
    stop: int

    def pieces(self) -> tuple[int, int]:
        """Return the range of its pieces in the random order: the first, and one past the last."""
        return (self.start - self.begin) // self.size, -(-(self.stop - self.begin) // self.size)


def even_chunks(count: int, size: int) -> list[Chunk]:
    """Cut an epoch of the given size into `count` chunks, as if all were equally large."""
    return [Chunk(number, size * number // count) for number in range(count)]


def text_chunks(
    sizes: Sequence[int],
    columns: int,
    fewest: int = 1,
    cuts: Sequence[Starts] = (),
    whole: int | None = None,
) -> list[TextChunk]:
    """Cut an epoch into chunks of training, each made of pieces.

    The shards have `sizes` positions and take turns, in proportion to that. `cuts` are positions in each
    shard that no chunk and no piece may cross; with cuts, the stretches between them are trained in sequence.
    `whole` is the number of positions of a piece that must not be cut, such as a walk.
    """
    usual = max(SMALLEST, min(CHUNK, sum(sizes) // FEWEST_CHUNKS))
    size = max(fewest, whole or 1, min(usual, max(SHORTEST, CHUNK * USUAL_COLUMNS // columns)))
    piece = min(PIECE, size) if whole is None else whole
    chunks: list[TextChunk] = []
    for number, ids in enumerate(sizes):
        edges = [*(cuts[number].tolist() if cuts else [0]), ids]
        for begin, end in itertools.pairwise(edges):
            stretch = TextChunk(0, 0, number, sum(sizes[:number]), begin, end, piece, begin, end)
            chunks += _cut(stretch, size // piece * piece)
    if not cuts:
        chunks.sort(key=lambda chunk: chunk.stop / chunk.end)
    return _numbered(chunks)


def chunks_of_size(shards: list[Shard], size: int) -> list[TextChunk]:
    """Cut an epoch into chunks of `size` positions, in the order of the text; each is one piece."""
    chunks: list[TextChunk] = []
    sizes = [shard.ids.size for shard in shards]
    for number, ids in enumerate(sizes):
        for begin in range(0, ids, size):
            end = min(begin + size, ids)
            chunks.append(TextChunk(0, 0, number, sum(sizes[:number]), begin, end, size, begin, end))
    return _numbered(chunks)


def _cut(stretch: TextChunk, size: int) -> Iterator[TextChunk]:
    """Yield the chunks of a stretch."""
    for start in range(stretch.begin, stretch.end, size):
        yield stretch._replace(start=start, stop=min(start + size, stretch.end))


def _numbered(chunks: list[TextChunk]) -> list[TextChunk]:
    """Return the chunks with their numbers, and with how much of the epoch comes before each."""
    out, done = [], 0
    for number, chunk in enumerate(chunks):
        out.append(chunk._replace(number=number, done=done))
        done += chunk.stop - chunk.start
    return out


def learning_rate(lr: float, epoch: int, epochs: int, share: float) -> float:
    """Return the rate after `epoch` whole epochs and a share of the next one."""
    return lr * max(FLOOR, 1.0 - (epoch + share) / epochs)
