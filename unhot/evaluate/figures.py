"""The base of all evaluation results, which can be turned into plain data for JSON."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from unhot.json_file import finite
from unhot.probability.calibration import share as share


class Figures:
    """A result: a dataclass of figures, and of the settings with which they were measured."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return dict(plain(self))


def plain(value: Any) -> Any:
    """Return a result as plain data for JSON: fields and properties by name; a function becomes its name.

    A number that is not finite becomes None, because JSON has no such numbers.
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
    return finite(value)
