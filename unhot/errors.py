"""The errors that unhot raises on purpose. Each message says what was given, what is accepted, what to do.

No message shows what may be a secret: an address may be misspelled, and hold a user and a password.
"""

import importlib
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, SupportsFloat

NO_PORT = r"(?!\s|\d+(?:[/\s,;)'\"]|$))"
# KEY:SECRET@ behind a scheme, or what is left of one; the same cut short, or with blanks; a key of Amazon and
# what is behind it; fields of a query
SECRETS = re.compile(
    rf"((?<![\w.-])[A-Za-z][\w+.-]*:/*|//+|\b(?:s3|gs|gcs|hdfs|abfss?|https?)/)[^\s/@:]*:{NO_PORT}\S*(?=@)"
    rf"|(://+)[^\s/@:]*:{NO_PORT}(?:[^@]{{1,200}}(?=@)|\S+)"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{12,}(?:[/:]\S*(?=@))?"
    r"|([?&][\w-]*(?i:key|token|secret|sig|pass|cred)[\w-]*=)[^\s&'\"]*"
)


def without_secrets(text: str) -> str:
    """Return a text in which stars stand for what may be a secret."""
    return SECRETS.sub(lambda found: "".join(filter(None, found.groups())) + "***", text)


class UnhotError(Exception):
    """Base class of all errors of this package; the command line prints them as one line.

    state   of an error in the middle of a training: what was learned until then, to be saved
    """

    state: Any = None

    def __str__(self) -> str:
        return without_secrets(super().__str__())

    def __repr__(self) -> str:
        return without_secrets(super().__repr__())


class ConfigError(UnhotError, ValueError):
    """A parameter is out of range or does not fit the others."""


class DataError(UnhotError, ValueError):
    """The input text or the vocabulary cannot be trained on."""


class WrongType(DataError, TypeError):
    """Something else was given where a text or a list of texts is expected."""


class NothingLearned(DataError):
    """There was not a single example to learn from: the model keeps its values."""


class FormatError(UnhotError, ValueError):
    """A file is damaged or is not what its name says."""


class Diverged(UnhotError, ArithmeticError):
    """A loss or a weight became infinite or NaN; the model keeps its last good state."""


class MissingExtra(UnhotError, ImportError):
    """An optional library is needed here and is not installed."""


def extra(module: str, name: str, purpose: str) -> Any:
    """Import an optional dependency and return its module.

    Raise a `MissingExtra` that says how to install it if it cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if not isinstance(error, ModuleNotFoundError):  # too little memory, or a broken installation
            raise MissingExtra(f"{purpose} needs {module}, which cannot be loaded ({error})") from error
        raise MissingExtra(
            f"{purpose} needs {module}, which is not installed ({error}): pip install 'unhot[{name}]'"
        ) from error


def at_least(field: str, value: object, low: float) -> float:
    """Return the value as a float; raise a `ConfigError` unless it is a finite number >= low."""
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise ConfigError(f"{field}={value!r}: must be a number >= {low}")
    number = _as_float(value)
    if not low <= number < math.inf:
        raise ConfigError(f"{field}={value!r}: must be >= {low} and finite")
    return number


def finite(field: str, value: object) -> float:
    """Return the value as a float; raise a `ConfigError` unless it is a finite number."""
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise ConfigError(f"{field}={value}: must be a finite number")
    number = _as_float(value)
    if not math.isfinite(number):
        raise ConfigError(f"{field}={value!s:.80}: must be a finite number")
    return number


def _as_float(value: SupportsFloat) -> float:
    """Return the value as a float; a whole number that is too large is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def whole(field: str, value: object, low: int, high: int = 2**63 - 1) -> int:
    """Return the value as an int; raise a `ConfigError` unless it is a whole number from low to high."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ConfigError(f"{field}={value!r}: must be a whole number >= {low}")
    number: int = value.__index__()
    if number < low:
        raise ConfigError(f"{field}={value!r}: must be >= {low}")
    if number > high:
        raise ConfigError(f"{field}={value!r}: must be <= {high}")
    return number


def one_of(field: str, value: object, accepted: tuple[str, ...]) -> None:
    """Raise a `ConfigError` unless the value is one of the accepted words."""
    if value not in accepted:
        raise ConfigError(f"{field}={value!r}: must be one of {', '.join(accepted)}")


def a_text(field: str, value: object) -> str:
    """Return the value; raise a `WrongType` unless it is a string."""
    if not isinstance(value, str):
        raise WrongType(f"{field}: {value!r:.80} is of type {type(value).__name__}: give a string")
    return value


def texts_of(field: str, values: Any, kinds: tuple[type, ...] = (str,)) -> list[Any]:
    """Return the values as a list; raise a `WrongType` unless they are strings, or of these types.

    One string would be a list of its letters, a data frame one of the names of its columns.
    """
    if hasattr(values, "columns"):
        raise WrongType(
            f"{field}: a data frame was given; give the column of its texts, such as frame['text']"
        )
    if isinstance(values, (str, bytes, bytearray, Mapping)) or not isinstance(values, Iterable):
        raise WrongType(f"{field}: {values!r:.80} is of type {type(values).__name__}; give a list of texts")
    found = list(values)
    usual = {*map(type, found)} <= {*kinds}  # quicker than one after another
    for wrong in () if usual else (value for value in found if not isinstance(value, kinds)):
        raise WrongType(f"{field}: {wrong!r:.80} is of type {type(wrong).__name__}: give strings")
    return found
