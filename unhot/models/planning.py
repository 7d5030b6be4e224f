"""The plan of a training in epochs, from the settings of a model."""

from collections.abc import Mapping
from typing import Any

from unhot.models.fitting import Begins, Tells
from unhot.train.epoch_run import Plan, Validation
from unhot.train.memory_plan import describe


def plan_of(
    model: Any,
    begins: Begins,
    tells: Tells,
    memory: Mapping[str, int],
    *,
    lr: float,
    usual_lr: float = 0.0,
    epochs: int = 0,
    minutes: float | None = None,
    validation: Validation | None = None,
    keep_every: int = 1,
    **details: Any,
) -> Plan:
    """Return the plan of a run: settings, callbacks, checkpoints; `details` go into its start event.

    epochs   0: those of the settings
    """
    tells.say(f"memory: {describe(memory)}")
    told = {"model": model.name, **model.settings(), "lr": lr, "epochs": epochs or model.epochs}
    return Plan(
        epochs=epochs or model.epochs,
        lr=lr,
        usual_lr=usual_lr,
        seed=model.seed,
        history=begins.history,
        callbacks=tells.callbacks,
        checkpoint=tells.checkpoint,
        save=tells.save,
        say=tells.say,
        warn=tells.warn,
        minutes=minutes,
        validation=validation,
        keep_every=keep_every,
        details={**told, **details, "memory": sum(memory.values())},
    )
