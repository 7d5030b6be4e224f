"""JSON: read a file, with a limit on its size and an error that says where it is damaged; write a value."""

import functools
import json
import math
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from unhot.errors import FormatError
from unhot.regular import named_size

MAX_BYTES = 1_000_000_000


def read_json(path: Path, advice: str = "the file is damaged") -> Any:
    """Return the value in a JSON file; if that fails, raise a `FormatError` that ends with the advice."""
    size = named_size(path)
    if size > MAX_BYTES:
        raise FormatError(f"{path}: byte {MAX_BYTES}: has {size} bytes, more than unhot reads; {advice}")
    data = path.read_bytes()
    try:
        return json.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: byte {error.start}: is not UTF-8, so not JSON; {advice}") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(
            f"{path}: byte {getattr(error, 'pos', 0)}: is not valid JSON ({error}); {advice}"
        ) from error


def plain(value: Any) -> Any:
    """Return plain data for JSON: a dataclass as its fields and properties, a function as its name.

    JSON has no numbers that are not finite: None takes their place.
    """
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Real):  # NumPy's numbers, too
        return (
            None if not math.isfinite(value) else int(value) if isinstance(value, Integral) else float(value)
        )
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        names += [name for name, kind in vars(type(value)).items() if isinstance(kind, property)]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return getattr(value, "__qualname__", type(value).__qualname__) if callable(value) else value


def json_text(value: Any, **how: Any) -> str:
    """Return plain data as JSON; raise a `ValueError` if a number is not finite.

    `how`: arguments of `json.JSONEncoder`. All JSON that unhot writes comes from here.
    """
    return _encoder(**how).encode(value)


@functools.cache
def _encoder(**how: Any) -> json.JSONEncoder:
    return json.JSONEncoder(allow_nan=False, **how)


def not_finite(value: Any) -> int:
    """Return how many numbers of a value are not finite."""
    if isinstance(value, (dict, list, tuple)):
        return sum(map(not_finite, value.values() if isinstance(value, dict) else value))
    return int(isinstance(value, float) and not math.isfinite(value))
