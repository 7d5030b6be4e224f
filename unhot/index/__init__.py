"""Search: find the rows of a matrix nearest to a query, exactly or approximately."""

from unhot.index.exact import Exact
from unhot.index.hnsw import Hnsw, HnswSettings
from unhot.index.inner import InnerProduct

__all__ = ["Exact", "Hnsw", "HnswSettings", "InnerProduct"]
