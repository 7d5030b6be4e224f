"""What came of a training so far, and where it stands.

With the params, enough to go on as if it had never stopped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from unhot.errors import FormatError


class Position(NamedTuple):
    """How much is done: whole epochs, then chunks of the next one.

    It is replaced as a whole, so that Ctrl-C never finds half of it.
    """

    epoch: int = 0
    chunk: int = 0
    loss: float = 0.0  # summed over the pairs of these chunks
    pairs: int = 0  # of these chunks
    all_pairs: int = 0  # of the epochs before, too


@dataclass
class History:
    """What came of it."""

    losses: list[float] = field(default_factory=list)  # exact mean of each whole epoch
    words: int = 0
    seconds: float = 0.0
    interrupted: bool = False
    position: Position = Position()
    chunks: int = 0  # that an epoch is cut into; 0: not known

    @property
    def pairs(self) -> int:
        """(input, target) pairs trained."""
        return self.position.all_pairs

    def as_json(self) -> dict[str, Any]:
        """The position as plain data; floats keep all their bits."""
        return {**self.position._asdict(), "seconds": self.seconds, "chunks": self.chunks}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> History:
        """What a saved model's config says: how it ended, or where it was cut off."""
        try:
            losses, words = (
                list(map(float, config.get("losses", []))),
                int(config.get("words", config.get("cells", 0))),
            )
            training = config.get("training")
            if training is None:
                return cls(losses, words, position=Position(epoch=len(losses)))
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
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(
                f"the state of the training in the model's config is damaged ({error}); train again from "
                "the text"
            ) from error
        return cls(losses[: position.epoch], words, seconds, position=position, chunks=chunks)
