"""The trainings of models and their state, under the name by which models from outside import them."""

from unhot.models.fitting import AtOnce, FitState, InEpochs, L, Learned, Training

__all__ = ["AtOnce", "FitState", "InEpochs", "L", "Learned", "Training"]
