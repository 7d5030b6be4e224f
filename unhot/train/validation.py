"""Early stopping: measure held-out examples after each epoch, keep the best state, stop if none is better."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Validation:
    """How a training is measured, and when it stops."""

    measure: Callable[[], tuple[float, str]]  # returns the loss of held-out examples, and figures in words
    patience: int  # epochs without a better one, after which the training stops
    state: Mapping[str, Any]  # the named arrays of what is learned, to keep those of the best epoch
    kept: Mapping[str, Any] = field(default_factory=dict)  # the best epoch of an interrupted training
