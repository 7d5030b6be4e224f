"""Word vectors: the store, and the formats it is read from and written to."""

from __future__ import annotations

from unhot.vectors.store import Vectors

__all__ = ["Vectors"]
