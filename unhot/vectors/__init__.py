"""Word vectors: look up, compare and search them, and read and write them in many formats."""

from unhot.vectors.sentences import common_components
from unhot.vectors.store import Vectors
from unhot.vectors.subword_vectors import SubwordVectors

__all__ = ["SubwordVectors", "Vectors", "common_components"]
