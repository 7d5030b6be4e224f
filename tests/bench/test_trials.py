"""Trials of a comparison: what goes wrong is a result, and Ctrl-C keeps what there is."""

import pytest

from unhot.bench.trials import Trial, run_trials
from unhot.errors import DataError


def trial(name, *steps):
    """Return a trial that yields its steps, or raises those that are errors."""

    def rows():
        for step in steps:
            if not isinstance(step, str):
                raise step
            yield f"{name} {step}"

    return Trial(rows, lambda failed: f"{name} failed: {failed}")


@pytest.mark.parametrize(
    ("steps", "rows", "interrupted"),
    [
        (["1", "2"], ["a 1", "a 2", "b"], False),
        (["1", DataError("too\n short")], ["a 1", "a failed: too short", "b"], False),
        ([ZeroDivisionError("by zero")], ["a failed: ZeroDivisionError: by zero", "b"], False),
        (["1", KeyboardInterrupt()], ["a 1", "a failed: interrupted"], True),
    ],
)
def test_errors_are_results(steps, rows, interrupted):
    found, told = [], []
    trials = [trial("a", *steps), Trial(lambda: iter(["b"]), str)]
    assert run_trials(trials, found, told.append) == interrupted
    assert found == told == rows


def test_ctrl_c_between_two_trials():
    def pressed(row):
        raise KeyboardInterrupt

    found = []
    assert run_trials([trial("a", "1"), trial("b", "1")], found, pressed)
    assert found == ["a 1"]

    def before():
        yield trial("a", "1")
        raise KeyboardInterrupt

    found = []
    assert run_trials(before(), found, lambda row: None)
    assert found == ["a 1"]
