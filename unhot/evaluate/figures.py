"""What results of all kinds share: shares, and plain data for JSON."""

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


class Figures:
    """A result: a dataclass of figures, and of how they were measured."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dict(plain(self))


def plain(value: Any) -> Any:
    """A result as plain data for JSON: fields and properties by name, a function by its own.

    What is not a finite number (JSON has none) becomes None.
    """
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        names += [name for name, kind in vars(type(value)).items() if isinstance(kind, property)]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def share(part: float, whole: float) -> float:
    """Part of the whole; NaN of nothing."""
    return part / whole if whole else math.nan
