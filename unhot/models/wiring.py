"""How a model wires inputs to targets: all that engines, and evaluation, need to know of it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from unhot.kernels.window_lists import WindowList
from unhot.kernels.windows import Text, Window
from unhot.train.params import FirstRows
from unhot.train.torch_batches import ExampleArrays


class Wiring(NamedTuple):
    """What a step has, at most, and who feeds it."""

    feeder: Callable[[Text, Window], Any]  # the compiled examples of a text (kernels/feeder.py)
    examples: Callable[[WindowList], ExampleArrays] | None  # the same as arrays; None: not for batches
    inputs: int = 1
    targets: int = 1
    rounds: int = 1  # sets of draws
    listed: int = 0  # rows that an input is made of, or targets, that are written down
    combine: str | None = None  # how the words around a centre are one input: mean or sum; None: each is one
    first_rows: FirstRows = FirstRows()
