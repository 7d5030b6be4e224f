"""Texts and labels in cells of tables and in values of Python."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from unhot.errors import DataError


def _plain(value: Any) -> Any:
    """Return a scalar of Arrow or NumPy as a value of Python; NaN is null, and a whole float an int.

    pandas makes floats of ints if a column has nulls.
    """
    value = (
        value.as_py() if hasattr(value, "as_py") else value.item() if isinstance(value, np.generic) else value
    )
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None if isinstance(value, float) and value != value else value


def text_of(value: Any, where: str, number: int) -> str | None:
    """Return the text of a cell; None: it is null."""
    text = value if isinstance(value, str) else _plain(value)
    if text is not None and not isinstance(text, str):
        raise DataError(
            f"{where}: row {number}: the text is {text!r:.80} of type {type(text).__name__}: texts must be "
            "strings, or null"
        )
    return text


def labels_of(cell: Any, names: list[str] | None, where: str, number: int) -> list[str]:
    """Return the labels of a cell: a string, a number, a list of these; null and an empty string are none.

    names   the labels that whole numbers stand for, if they stand for any; -1 stands for none
    """
    value = cell if isinstance(cell, str) else _plain(cell)
    if isinstance(value, str):
        return [value] if value else []
    if value is None or (names is not None and value == -1):
        return []
    if isinstance(value, int) and names is not None and 0 <= value < len(names):
        return [names[value]]
    if isinstance(value, (int, float)) and names is None:
        return [str(value)]
    if isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping)):
        return [label for each in value for label in labels_of(each, names, where, number)]
    raise DataError(
        f"{where}: row {number}: the label is {value!r:.80} of type {type(value).__name__}: labels must be "
        f"strings, numbers{'' if names is None else f' below {len(names)}'}, lists of these, or null"
    )
