"""The results of a training so far, and its position.

Together with the params they are enough to resume it as if it had never stopped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from unhot.errors import FormatError

UNITS = ("words", "cells", "interactions", "steps")  # what models count; see `Model.unit`


class Position(NamedTuple):
    """How far a training has come: whole epochs, then chunks of the next one.

    A position is replaced as a whole, so that Ctrl-C never leaves half of one.
    """

    epoch: int = 0
    chunk: int = 0
    loss: float = 0.0  # summed over the pairs of these chunks
    pairs: int = 0  # pairs of these chunks
    all_pairs: int = 0  # pairs of these chunks and of all epochs before


@dataclass
class History:
    """The results and the position of a training."""

    losses: list[float] = field(default_factory=list)  # the exact mean loss of each whole epoch
    words: int = 0
    seconds: float = 0.0
    interrupted: bool = False
    position: Position = Position()
    chunks: int = 0  # chunks of an epoch; 0: not known
    validation: list[float] = field(default_factory=list)  # the loss of held-out lines after each epoch
    # no epochs are left: validation got no better, time was up, or the model was saved when it was done
    stopped: bool = False
    epochs: int = 0  # that are planned; 0: the training has no epochs

    @property
    def complete(self) -> bool:
        """Return whether no epochs are left."""
        return self.stopped or self.position.epoch >= self.epochs

    @property
    def pairs(self) -> int:
        """Return how many (input, target) pairs have been trained."""
        return self.position.all_pairs

    def as_json(self) -> dict[str, Any]:
        """Return the position as plain data; floats keep all their bits."""
        place = {**self.position._asdict(), "seconds": self.seconds, "chunks": self.chunks}
        return place | ({"validation": self.validation} if self.validation else {})

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> History:
        """Read the history of a training, complete or cut off, from a saved model's config."""
        try:
            losses, words = (
                list(map(float, config.get("losses", []))),
                int(next((config[unit] for unit in UNITS if unit in config), 0)),
            )
            training = config.get("training")
            if training is None:
                return cls(losses, words, position=Position(epoch=len(losses)), stopped=True)
            position, seconds = (
                Position(*(training[name] for name in Position._fields)),
                float(training["seconds"]),
            )
            chunks = training.get("chunks", 0)
            numbers = (position.epoch, position.chunk, position.pairs, position.all_pairs, chunks)
            if not all(type(number) is int and number >= 0 for number in numbers):
                raise ValueError(f"{position}")
            if (
                type(position.loss) is not float
                or not math.isfinite(position.loss)
                or len(losses) < position.epoch
            ):
                raise ValueError(f"{position} after {len(losses)} losses")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise FormatError(
                f"the state of the training in the model's config is damaged ({error}); train again from "
                "the text"
            ) from error
        validation = [float(loss) for loss in training.get("validation", [])][: position.epoch]
        return cls(
            losses[: position.epoch],
            words,
            seconds,
            position=position,
            chunks=chunks,
            validation=validation,
            epochs=position.epoch + 1,  # at least; the training says how many
        )
