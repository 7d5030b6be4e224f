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
from unhot.types import Ids, Starts


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
