"""How a model connects inputs to targets: all that engines and evaluation need to know about it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from unhot.kernels.window_lists import WindowList
from unhot.kernels.windows import no_text
from unhot.train.params import FirstRows
from unhot.train.torch_batches import ExampleArrays


class Wiring(NamedTuple):
    """Where the examples of a model come from, and the largest size of a training step."""

    feeder: Callable[..., Any]  # makes the examples in kernels (kernels/feeder.py), of a text and its window
    examples: Callable[[WindowList], ExampleArrays] | None  # makes them as arrays; None: no batches
    inputs: int = 1  # inputs of a step, at most
    targets: int = 1  # targets of a step, at most
    rounds: int = 1  # sets of draws in a step
    given: int = 0  # columns that the feeder adds to a step, at most
    listed: int = 0  # rows of an input, or targets, that a step writes into a list, at most
    combine: str | None = None  # how context words become one input: mean or sum; None: one input for each
    first_rows: FirstRows = FirstRows()
    no_text: Callable[[], Any] = no_text  # makes an empty text to compile with
