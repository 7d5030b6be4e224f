"""Search: find the rows of a matrix nearest to a query, exactly or approximately."""

from typing import TYPE_CHECKING

from unhot.index.exact import Exact
from unhot.index.hnsw import Hnsw, HnswSettings
from unhot.lazy import lazy_names

if TYPE_CHECKING:
    from unhot.index.inner import InnerProduct

__all__ = ["Exact", "Hnsw", "HnswSettings", "InnerProduct"]

__getattr__ = lazy_names(__name__, {"InnerProduct": ".inner"})  # which loads the compiler
