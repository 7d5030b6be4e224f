"""The examples of a chunk as arrays, for engines that train many of them in one step.

Skip-gram has an example for each pair of a centre and a word that it sees; the model decides which of the two
is the input. CBOW has an example for each centre; its input is the bag of words that the centre sees.
Examples stay in the order of the text.
"""

from typing import NamedTuple

import numpy as np

from unhot.kernels.window_lists import WindowList
from unhot.types import Ids, Starts


class ExampleArrays(NamedTuple):
    """Examples: number i has the input rows ids[starts[i] : starts[i + 1]], or ids[i] without starts."""

    ids: Ids
    starts: Starts | None
    target: Ids


def centre_pairs(windows: WindowList) -> ExampleArrays:
    """Return one example per pair: each word that a centre sees predicts the centre."""
    return ExampleArrays(windows.contexts, None, np.repeat(windows.centres, np.diff(windows.starts)))


def context_pairs(windows: WindowList) -> ExampleArrays:
    """Return one example per pair: a centre predicts each word that it sees."""
    return ExampleArrays(np.repeat(windows.centres, np.diff(windows.starts)), None, windows.contexts)


def context_bags(windows: WindowList) -> ExampleArrays:
    """Return one example per centre: the words that it sees predict it together."""
    return ExampleArrays(windows.contexts, windows.starts, windows.centres)
