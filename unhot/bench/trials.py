"""Run the trials of a comparison one after the other: each trains and measures a model."""

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from unhot.errors import UnhotError

Row = TypeVar("Row")  # the results of a trial


@dataclass(frozen=True)
class Trial(Generic[Row]):
    """What is compared: a model with its settings."""

    rows: Callable[[], Iterator[Row]]  # trains and measures it; yields one result, or one for each seed
    failed: Callable[..., Row]  # returns the result of a trial that failed, with the reason as `failed`


def run_trials(trials: Iterable[Trial[Row]], rows: list[Row], told: Callable[[Row], None]) -> bool:
    """Append the results of all trials to `rows`; return whether Ctrl-C ended the comparison.

    Ctrl-C keeps the results so far. Any other error becomes the result of its trial, as a model may come from
    a plugin: the others must still be measured. `told` is called with each result.
    """
    try:
        for trial in trials:
            for row in _results(trial):
                rows.append(row)
                told(row)
    except KeyboardInterrupt:  # may also come between two trials
        return True
    return False


def _results(trial: Trial[Row]) -> Iterator[Row]:
    try:
        with ignored_overflow():
            yield from trial.rows()
    except KeyboardInterrupt:
        yield trial.failed(failed="interrupted")
        raise
    except Exception as error:
        yield trial.failed(failed=reason(error))


def reason(error: BaseException) -> str:
    """Return the message of an error on one line."""
    why = str(error) if isinstance(error, UnhotError) else f"{type(error).__name__}: {error}"
    return " ".join(why.split())


@contextlib.contextmanager
def ignored_overflow() -> Iterator[None]:
    """Ignore the warnings of NumPy: too high a rate makes numbers overflow, which is handled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
