"""The errors' own helpers; the checks of values are tested where they are used."""

import math

import pytest

from unhot.errors import MissingExtra, UnhotError, extra


def test_an_extra_that_is_there():
    assert extra("math", "numbers", "counting") is math


def test_a_missing_extra_says_how_to_get_it():
    with pytest.raises(
        MissingExtra, match=r"counting needs unhot_none.*pip install 'unhot\[numbers\]'"
    ) as raised:
        extra("unhot_none", "numbers", "counting")
    assert isinstance(raised.value, UnhotError)
    assert isinstance(raised.value, ImportError)
