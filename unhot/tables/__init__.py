"""Rows of files and tables: read with their labels, or copied with columns that a function computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unhot.lazy import lazy_names

if TYPE_CHECKING:
    from unhot.tables.labelled import labelled_rows

__all__ = ["labelled_rows"]

__getattr__ = lazy_names(__name__, {"labelled_rows": ".labelled"})
