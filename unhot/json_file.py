"""Read a JSON file, with a limit on its size and an error that says where it is damaged."""

import json
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
