"""What results of all kinds share: shares with their intervals, and numbers for JSON."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A result as plain data for JSON: fields and properties by name.

    What is not a finite number (JSON has none) becomes None.
    """
    if is_dataclass(value) and not isinstance(value, type):
        public = [name for name, kind in vars(type(value)).items() if isinstance(kind, property)]
        return {
            name: plain(getattr(value, name)) for name in (*(field.name for field in fields(value)), *public)
        }
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def share(part: float, whole: float) -> float:
    """Part of the whole; NaN of nothing."""
    return part / whole if whole else math.nan
