"""Models that are trained in epochs, from a seed, with checkpoints."""

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from unhot.models.fitting import Begins, Tells
from unhot.models.model import L, Model
from unhot.models.settings import Range
from unhot.train.epoch_run import Plan
from unhot.train.memory_plan import describe
from unhot.train.progress import Progress

SMALLEST_LR = 1e-30


@dataclasses.dataclass(kw_only=True)
class EpochModel(Model[L]):
    """Settings of a model that is trained in epochs."""

    epochs: Annotated[int, Range(1, 1 << 30)] = 5  # number of passes over the text or its cells
    lr: Annotated[float | None, Range(SMALLEST_LR)] = None  # initial learning rate
    seed: Annotated[int, Range(0, 2**64 - 1)] = 1  # seed of all random numbers

    @property
    def all_epochs(self) -> int:
        """The number of passes over the text."""
        return self.epochs

    @property
    def complete(self) -> bool:
        """Whether all epochs are done."""
        return self.history.position.epoch >= self.all_epochs

    @property
    def usual_lr(self) -> float:
        """The model's default learning rate."""
        return type(self).lr or 0.0

    @property
    def first_lr(self) -> float:
        """The initial learning rate: `lr`, or the model's default."""
        return self.lr or self.usual_lr

    def plan(self, begins: Begins, tells: Tells, memory: Mapping[str, int], **details: Any) -> Plan:
        """Return the plan of a run: settings, callbacks, checkpoints; `details` go into its start event."""
        tells.say(f"memory: {describe(memory)}")

        def forget(progress: Progress) -> None:
            self.forget()  # so that callbacks see the current params, not a store made of older ones

        return Plan(
            epochs=self.all_epochs,
            lr=self.first_lr,
            usual_lr=self.usual_lr,
            seed=self.seed,
            history=begins.history,
            callbacks=[forget, *tells.callbacks],
            checkpoint=tells.checkpoint,
            save=partial(self.save_checkpoint, tells),
            warn=tells.warn,
            say=tells.say,
            details={**self.config(), **details, "memory": sum(memory.values())},
        )
