"""Word vectors: the store, and the formats it is read from and written to."""

from unhot.vectors.store import Vectors
from unhot.vectors.subword_vectors import SubwordVectors

__all__ = ["SubwordVectors", "Vectors"]
