"""A text as streams: equally long parts that are read side by side, so that states can be carried on.

    stream b of a text of N tokens: the tokens b L .. (b + 1) L,  L = N / batch, rounded up

Each token but the first of the text is predicted once in an epoch. Where the last stream is short, targets
are `IGNORED`.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from unhot.kernels.rng import key_from, stream_key
from unhot.lm.symbols import IGNORED
from unhot.train.schedule import Chunk
from unhot.types import Ids

DRAWS = 17  # what the random numbers of a chunk are for; of other processes, the numbers behind it
CHUNK = 8  # pieces of a chunk: a training reports and may stop behind each chunk


class Streams:
    """The pieces of a text."""

    chunk_steps = CHUNK

    def __init__(self, tokens: Ids, batch: int, steps: int, seed: int, part: int = 0, parts: int = 1) -> None:
        """Cut tokens into `batch` streams, and streams into pieces of `steps`.

        With `parts`, only each `parts`-th stream is read, beginning with `part`.
        """
        self.size = self.words = tokens.size - 1  # the tokens that are predicted
        self._seed = seed
        self.part, self.parts = part, parts
        self.batch, self.steps = min(batch, self.size), steps
        self.length = -(-self.size // self.batch)
        padded = np.full(self.batch * self.length + 1, IGNORED, np.int32)
        padded[: tokens.size] = tokens
        self._inputs, self._targets = (
            side.reshape(self.batch, -1)[part::parts] for side in (padded[:-1], padded[1:])
        )
        self.width = len(self._inputs)
        number = -(-self.length // (CHUNK * steps))
        self.chunks = [Chunk(i, min(self.size, i * CHUNK * steps * self.batch)) for i in range(number)]

    def draw_key(self, epoch: int, chunk: Chunk) -> int:
        """Return the seed of the random numbers of a chunk."""
        return int(key_from(stream_key(self._seed, epoch, DRAWS + self.part), chunk.number)) % 2**63

    def batches(self, epoch: int, chunk: Chunk) -> Iterator[tuple[tuple[Any, Any], int]]:
        """Yield ids and targets [width, steps] of a chunk, and the number of targets that count."""
        first = chunk.number * CHUNK * self.steps
        for at in range(first, min(first + CHUNK * self.steps, self.length), self.steps):
            ids, targets = (side[:, at : at + self.steps] for side in (self._inputs, self._targets))
            counted = int((targets != IGNORED).sum())
            yield (np.maximum(ids, 0).astype(np.int64), targets.astype(np.int64)), counted
