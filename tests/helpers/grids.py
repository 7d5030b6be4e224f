"""Grids of cases: `make soak` runs all of them, `make test` a sample that has every value of every side."""

import os

import pytest
from hypothesis import settings

SOAK = "UNHOT_SOAK" in os.environ
soak_only = pytest.mark.skipif(not SOAK, reason="runs in make soak")


def crossed(*sides):
    """All combinations of values; in `make test`, each value of the longest side once, the others in turn."""
    if SOAK:
        cases = [()]
        for side in sides:
            cases = [(*case, value) for case in cases for value in side]
        return cases
    return [tuple(side[i % len(side)] for side in sides) for i in range(max(map(len, sides)))]


def some(cases, number):
    """All cases; in `make test`, so many of them, from the first to the last."""
    cases = list(cases)
    if SOAK or number >= len(cases):
        return cases
    return [cases[i * (len(cases) - 1) // (number - 1)] for i in range(number)]


def examples(number):
    """Draw some examples of a property; in `make test`, a third of the number."""
    return settings(max_examples=max(300, number) if SOAK else max(10, number // 3), deadline=None)
