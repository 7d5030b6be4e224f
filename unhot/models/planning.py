"""The plan of a training, under the name by which models from outside import it."""

from unhot.models.fitting import plan_of

__all__ = ["plan_of"]
