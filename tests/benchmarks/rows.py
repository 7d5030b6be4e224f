"""Rows of results that were never measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from report import ORIGIN


def row_of(columns: Sequence[str], usual: Mapping[str, object], own: Mapping[str, object]) -> dict[str, str]:
    """A row as it is read from a CSV file; columns that nobody gives are empty."""
    given = {name: str(value) for name, value in {**usual, **own}.items()}
    return {**dict.fromkeys((*ORIGIN, *columns), ""), **given}
