"""JSON: read a file, with a limit on its size and an error that says where it is damaged; write a value."""

import json
import math
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


def finite(value: Any) -> Any:
    """Return a value in which None takes the place of all numbers that are not finite: JSON has none."""
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_text(value: Any, **how: Any) -> str:
    """Return a value as JSON; numbers that are not finite become null. `how`: arguments of `json.dumps`."""
    try:
        return json.dumps(value, allow_nan=False, **how)
    except ValueError:
        return json.dumps(finite(value), **how)


def not_finite(value: Any) -> int:
    """Return how many numbers of a value are not finite."""
    if isinstance(value, (dict, list, tuple)):
        return sum(map(not_finite, value.values() if isinstance(value, dict) else value))
    return int(isinstance(value, float) and not math.isfinite(value))
