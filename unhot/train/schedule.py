"""Which positions are trained when, and how fast.

An epoch is cut into chunks that do not depend on the number of threads. The learning rate falls linearly from
lr to lr / 10,000 over all epochs, by position in the corpus: a chunk has the same rate whichever thread
trains it, and whenever.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from unhot.corpus.shards import Shard
from unhot.types import Starts

CHUNK = 1 << 15  # positions of a chunk: with the usual settings about 10 ms of work
USUAL_COLUMNS = 8  # more columns, shorter chunks
# a small corpus is cut into at least so many chunks (of at least SMALLEST), so that the rate falls smoothly
PIECES = 64
SMALLEST = 1 << 9
SHORTEST = 1 << 6  # however many columns a step has
FLOOR = 1e-4  # the last rate as a share of the first


class Chunk(NamedTuple):
    """A chunk's place in an epoch."""

    number: int
    done: int  # how much of the epoch is before it


class TextChunk(NamedTuple):
    """Positions of a shard."""

    number: int  # in the epoch
    done: int  # positions of the epoch before it
    shard: int
    start: int
    stop: int
    sentence: int  # the sentence that `start` is in


def even_chunks(count: int, size: int) -> list[Chunk]:
    """An epoch of such a size in so many chunks, as if all of them were as large."""
    return [Chunk(number, size * number // count) for number in range(count)]


def chunk_size(ids: int, columns: int, fewest: int = 1) -> int:
    """Positions of a chunk for a corpus of so many and steps of so many columns; `fewest` in any case."""
    return max(
        fewest, min(max(SMALLEST, min(CHUNK, ids // PIECES)), max(SHORTEST, CHUNK * USUAL_COLUMNS // columns))
    )


def text_chunks(
    shards: list[Shard], columns: int, fewest: int = 1, cuts: Sequence[Starts] = ()
) -> list[TextChunk]:
    """An epoch in chunks, in the order of the corpus; of each shard also cut at some positions."""
    size = chunk_size(sum(shard.ids.size for shard in shards), columns, fewest)
    return chunks_of_size(shards, size, cuts)


def chunks_of_size(shards: list[Shard], size: int, cuts: Sequence[Starts] = ()) -> list[TextChunk]:
    """An epoch in chunks of so many positions."""
    out: list[TextChunk] = []
    before = 0
    for number, shard in enumerate(shards):
        starts = np.arange(0, shard.ids.size, size)
        starts = np.union1d(starts, cuts[number]) if cuts else starts
        stops = np.append(starts, shard.ids.size)[1:]
        sentences = np.searchsorted(shard.starts, starts, side="right") - 1
        for start, stop, sentence in zip(starts.tolist(), stops.tolist(), sentences.tolist(), strict=True):
            out.append(TextChunk(len(out), before + start, number, start, stop, sentence))
        before += shard.ids.size
    return out


def learning_rate(lr: float, epoch: int, epochs: int, share: float) -> float:
    """The rate after `epoch` whole epochs and a share of the next one."""
    return lr * max(FLOOR, 1.0 - (epoch + share) / epochs)
