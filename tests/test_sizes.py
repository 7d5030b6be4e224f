"""Sizes as people read them, and the space of a disk."""

import shutil

import pytest

from unhot.sizes import free_space, readable


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (123, "123 bytes"),
        (1_234_567, "1.2 MB"),
        (9_900, "10 kB"),
        (999_999, "1.0 MB"),
        (2.5e9, "2.5 GB"),
        (3.2e15, "3200.0 TB"),
    ],
)
def test_readable(size, text):
    assert readable(size) == text


def test_the_space_of_a_folder_that_is_not_there_yet(tmp_path):
    here = shutil.disk_usage(tmp_path).free
    assert free_space(tmp_path / "a" / "b") == pytest.approx(here, rel=0.1)
