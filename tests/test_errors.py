"""The errors' own helpers; the checks of values are tested where they are used."""

import math

import pytest

from unhot.errors import ConfigError, DataError, MissingExtra, UnhotError, at_least, extra, finite
from unhot.sizes import bytes_of


def test_an_extra_that_is_there():
    assert extra("math", "numbers", "counting") is math


def test_a_missing_extra_says_how_to_get_it():
    with pytest.raises(
        MissingExtra, match=r"counting needs unhot_none.*pip install 'unhot\[numbers\]'"
    ) as raised:
        extra("unhot_none", "numbers", "counting")
    assert isinstance(raised.value, UnhotError)
    assert isinstance(raised.value, ImportError)


@pytest.mark.parametrize("size", ["9" * 400, "9" * 300 + "T", "many"])
def test_a_number_of_bytes_that_is_too_large_or_none(size):
    with pytest.raises(ConfigError, match="memory=.*must be a number of bytes") as raised:
        bytes_of("memory", size)
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize("check", [lambda value: at_least("lr", value, 0), lambda value: finite("lr", value)])
def test_whole_numbers_beyond_floats_are_not_finite(check):
    with pytest.raises(ConfigError, match=r"lr=1000.*finite"):
        check(10**400)


def test_a_library_that_cannot_be_loaded_is_not_called_missing(tmp_path, monkeypatch):
    """With too little memory the parts of PyTorch cannot be mapped, though it is installed."""
    (tmp_path / "broken_library.py").write_text(
        "raise ImportError('lib.so: failed to map segment from shared object')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtra, match="which cannot be loaded .*failed to map segment") as found:
        extra("broken_library", "torch", "a neural language model")
    assert "pip install" not in str(found.value)


@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/a@b.csv: line 3: a@b",
        "hdfs://host:8020/a/b@c: no such file",
        "https://host:80/a@b, and more",
        "s3://bucket: no such file or folder, and no match: check a@b",
        "/data/12:30/mail@home.txt: cannot be read",
        "C:/x/y.csv: line 1: mail:a@b",
        "x.csv: line 3: has a time that is none ('2026-01-02T10:11:12 a@b')",
        "hf://datasets/a/b@main/x.csv: column 'a:b'",
        "--class-weights a=1,b=2: must be positive; see https://x.org/?q=1",
    ],
)
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert str(DataError(text)) == text


def test_secrets_are_not_shown() -> None:
    for text in ("s3://KEY:SECRET@b/x", "s3:///KEY:SECRET@b", "file:s3:/KEY:SECRET@b", "s3://KEY:SECRET"):
        assert "KEY" not in str(DataError(f"{text}: no such file"))
        assert "SECRET" not in repr(ConfigError(f"noise={text!r}"))
    assert str(DataError("x?sig=abc&a=1: no")) == "x?sig=***&a=1: no"
