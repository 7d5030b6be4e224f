"""What models share whose nets PyTorch trains: how parameters move, and what memory that needs."""

import os
from typing import TYPE_CHECKING, Any

from unhot.errors import ConfigError
from unhot.models.settings import DescentFields

if TYPE_CHECKING:
    from unhot.train.torch_run import Descent

USUAL_LR = {"adamw": 0.002, "sgd": 1.0, "adagrad": 0.1}
COPIES = {"adamw": 2, "adagrad": 1, "sgd": 0}  # numbers that an optimizer keeps for each parameter


def check_descent(model: Any) -> None:
    """Raise a `ConfigError` for a dropout that leaves nothing, and for a training without any time."""
    if model.dropout >= 1:
        raise ConfigError(f"dropout={model.dropout}: must be less than 1")
    if model.minutes == 0:
        raise ConfigError("minutes=0: must be more than 0; leave minutes out for no limit")


def descent_of(model: Any) -> "Descent":
    """Return how the parameters of a model move."""
    from unhot.train.torch_run import Descent

    names = ("optimizer", "weight_decay", "warmup", "clip", "autocast", "threads")
    return Descent(**{name: getattr(model, name) for name in names})


def rates_of(model: Any) -> dict[str, Any]:
    """Return the learning rate, and the default one of the optimizer."""
    usual = USUAL_LR[model.optimizer]
    return {"lr": model.lr or usual, "usual_lr": usual}


def has_sparse_gradients(model: DescentFields) -> bool:
    """Return whether gradients of embeddings may be sparse."""
    return model.optimizer != "adamw" and not model.weight_decay and "WORLD_SIZE" not in os.environ


def parameter_memory(model: DescentFields, size: int, *, watched: bool) -> dict[str, int]:
    """Return the memory that parameters of so many bytes need in a training; `watched`: on validation."""
    copies = COPIES[model.optimizer]
    return {
        "parameters": size,
        "gradients": size,
        "optimiser": copies * size,
        "last good state": (1 + copies) * size + size * watched,
    }
