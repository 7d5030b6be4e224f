"""Every error unhot raises on purpose: what was given, what is accepted, what to do."""

from __future__ import annotations


class UnhotError(Exception):
    """Base of all errors of this package; the command line prints it as one line."""


class ConfigError(UnhotError, ValueError):
    """A parameter is out of range or does not fit the others."""


class DataError(UnhotError, ValueError):
    """The input text or the vocabulary cannot be trained on."""


class FormatError(UnhotError, ValueError):
    """A file is damaged or is not what its name says."""


class MissingExtra(UnhotError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class Diverged(UnhotError, ArithmeticError):
    """Training left the finite numbers; the model holds the last good state."""


def at_least(field: str, value: float, low: float) -> None:
    """Raise a `ConfigError` unless value >= low (so NaN is refused too)."""
    if not value >= low:
        raise ConfigError(f"{field}={value!r}: must be >= {low}")


def whole(field: str, value: object, low: int) -> None:
    """Raise a `ConfigError` unless value is a whole number >= low."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ConfigError(f"{field}={value!r}: must be a whole number >= {low}")
    at_least(field, value.__index__(), low)


def one_of(field: str, value: object, accepted: tuple[str, ...]) -> None:
    """Raise a `ConfigError` unless value is one of the accepted words."""
    if value not in accepted:
        raise ConfigError(f"{field}={value!r}: must be one of {', '.join(accepted)}")
