"""Mini-batches of the windows of a chunk, for engines that train many examples in one step.

Skip-gram has an example for each pair of a centre and a word that it sees, in the orientation of the model;
CBOW one for each centre, whose input is a bag: the words that it sees. Examples stay in the order of the
text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from unhot.kernels.pairs import Examples
from unhot.kernels.windows import Window
from unhot.outputs import OutputLayer
from unhot.outputs.adaptive import Adaptive
from unhot.outputs.drawn import DrawnLayer
from unhot.outputs.hierarchical import Hierarchical
from unhot.outputs.in_batch import InBatch
from unhot.outputs.infrequent import Infrequent
from unhot.outputs.partition import Partition
from unhot.outputs.softmax import Softmax
from unhot.types import Counts, Ids, Starts


class Bags(NamedTuple):
    """Inputs and targets: example i has the input rows ids[starts[i] : starts[i + 1]], or ids[i] alone if there are no starts."""

    ids: Ids
    starts: Starts | None
    target: Ids


class Batches(NamedTuple):
    """How a model makes batches of a text."""

    window: Window
    bags: Callable[[Examples], Bags]
    mean: bool  # of a bag; otherwise its sum
    size: int  # examples in a batch

    def fewest_positions(self) -> int:
        """Positions of a text that make a batch, more or less."""
        return -(-self.size // self.window.size) if self.bags is not context_bags else self.size


def centre_pairs(windows: Examples) -> Bags:
    """Every word that a centre sees predicts it."""
    return Bags(windows.context, None, np.repeat(windows.centre, np.diff(windows.starts)))


def context_pairs(windows: Examples) -> Bags:
    """A centre predicts every word that it sees."""
    return Bags(np.repeat(windows.centre, np.diff(windows.starts)), None, windows.context)


def context_bags(windows: Examples) -> Bags:
    """The words that a centre sees predict it together."""
    return Bags(windows.context, windows.starts, windows.centre)


def batch_columns(layer: OutputLayer, counts: Counts, size: int) -> int:
    """About how many scores an example of such a batch has in memory at once."""
    words = counts.size
    if isinstance(layer, Softmax):
        return min(words, layer.chunk or words)
    if isinstance(layer, InBatch):
        return min(words, size)
    if isinstance(layer, Partition):
        return min(words, layer.size)
    if isinstance(layer, Infrequent):
        return max(1, round(layer.gamma * words))
    if isinstance(layer, Adaptive):
        cutoffs = layer.clusters(counts).cutoffs
        return cutoffs[0] + int(max(np.diff(cutoffs), default=0))
    return layer.rows(counts) if layer.all_rows else layer.columns(counts, 1)


def batch_memory(layer: OutputLayer, counts: Counts, dim: int, size: int) -> int:
    """About how many bytes a step takes beside what is learned: scores and their gradients.

    The rows of each, or a gradient of all rows.
    """
    columns = batch_columns(layer, counts, size)
    if getattr(layer, "unique", False):
        return 20 * size * counts.size  # each example draws from all words, in doubles
    if isinstance(layer, (DrawnLayer, Hierarchical)):  # each example has rows of its own
        return 4 * size * (3 * columns + 2 * columns * dim)
    return 4 * (4 * size * columns + layer.rows(counts) * dim + size * dim)
