"""How good a model is: the loss of a held-out text."""

from __future__ import annotations

from unhot.evaluate.held_out import HeldOut, held_out

__all__ = ["HeldOut", "held_out"]
