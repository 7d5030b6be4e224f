"""The copy that a training goes back to."""

import numpy as np
import pytest

from unhot.errors import DataError
from unhot.train import good_state
from unhot.train.good_state import GoodState, kept_in_memory


@pytest.fixture(params=["memory", "file"])
def place(request, monkeypatch):
    if request.param == "file":
        monkeypatch.setattr(good_state, "LARGE", 10)
    return request.param


def test_arrays_go_back_to_what_they_were(place):
    arrays = [
        np.arange(12, dtype=np.float32).reshape(3, 4),
        np.arange(5, dtype=np.uint16),
        np.zeros(0, np.int64),
    ]
    state = GoodState(arrays)
    assert (state._file is None) == (place == "memory")
    for value in (1, 2):
        arrays[0][:], arrays[1][:] = value, value + 1
        state.keep()
        arrays[0][:], arrays[1][:] = np.nan, 9
        state.restore()
        assert (arrays[0] == value).all()
        assert (arrays[1] == value + 1).all()


def test_a_file_takes_no_memory(place):
    assert kept_in_memory(100) == (100 if place == "memory" else 0)
    assert kept_in_memory(2**40) == 0


def test_a_full_disk_is_said(monkeypatch):
    class Full:
        def seek(self, place):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(good_state, "LARGE", 10)
    state = GoodState([np.zeros(100)])
    state._file.close()
    state._file = Full()
    with pytest.raises(DataError, match="No space left on device.*TMPDIR"):
        state.keep()
