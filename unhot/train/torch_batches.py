"""The examples of a chunk as arrays, for engines that train many of them in one step.

Skip-gram has an example for each pair of a centre and a word that it sees, in the orientation of the model;
CBOW one for each centre, whose input is a bag: the words that it sees. Examples stay in the order of the
text.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unhot.kernels.window_lists import WindowList
from unhot.kernels.windows import Window
from unhot.types import Ids, Starts


class ExampleArrays(NamedTuple):
    """Example i has the input rows ids[starts[i] : starts[i + 1]], or ids[i] alone if there are no starts."""

    ids: Ids
    starts: Starts | None
    target: Ids


@dataclass(frozen=True)
class Batches:
    """How a model makes batches of a text."""

    window: Window
    examples: Callable[[WindowList], ExampleArrays]
    mean: bool  # of a bag; otherwise its sum
    size: int  # examples in a batch

    def fewest_positions(self) -> int:
        """Positions of a text that make a batch, more or less."""
        return self.size if self.examples is context_bags else -(-self.size // self.window.size)


def centre_pairs(windows: WindowList) -> ExampleArrays:
    """Every word that a centre sees predicts it."""
    return ExampleArrays(windows.contexts, None, np.repeat(windows.centres, np.diff(windows.starts)))


def context_pairs(windows: WindowList) -> ExampleArrays:
    """A centre predicts every word that it sees."""
    return ExampleArrays(np.repeat(windows.centres, np.diff(windows.starts)), None, windows.contexts)


def context_bags(windows: WindowList) -> ExampleArrays:
    """The words that a centre sees predict it together."""
    return ExampleArrays(windows.contexts, windows.starts, windows.centres)
