"""The copy that a training goes back to."""

import numpy as np
import pytest

from unhot.errors import DataError, FormatError
from unhot.train import state_copy
from unhot.train.state_copy import StateCopy, kept_in_memory


@pytest.fixture(params=["memory", "file"])
def place(request, monkeypatch):
    if request.param == "file":
        monkeypatch.setattr(state_copy, "LARGE", 10)
    return request.param


def test_arrays_go_back_to_what_they_were(place):
    wide = np.zeros((3, 6), np.float32)
    arrays = {"rows": wide[:, :4], "halves": np.arange(5, dtype=np.uint16), "none": np.zeros(0, np.int64)}
    state = StateCopy(arrays)
    assert (state._file is None) == (place == "memory")
    assert state.tensors == {}
    tensors = state.tensors
    for value in (1, 2):
        arrays["rows"][:], arrays["halves"][:] = value, value + 1
        state.keep()
        arrays["rows"][:], arrays["halves"][:] = np.nan, 9
        assert state.tensors is tensors
        assert (tensors["rows"] == value).all()
        assert {name: array.shape for name, array in tensors.items()} == {
            name: array.shape for name, array in arrays.items()
        }
        state.restore()
        assert (arrays["rows"] == value).all()
        assert (arrays["halves"] == value + 1).all()
    assert (wide[:, 4:] == 0).all()


def test_tensors_go_back_to_what_they_were():
    torch = pytest.importorskip("torch")
    net = torch.nn.Linear(2, 3)
    state = StateCopy(net.state_dict())
    for value in (1.0, 2.0):
        torch.nn.init.constant_(net.weight, value)
        state.keep()
        torch.nn.init.constant_(net.weight, 9.0)
        state.restore()
        assert (net.weight == value).all()


@pytest.mark.parametrize("kept", [{}, {"b": np.zeros(3)}, {"a": np.zeros(4)}, {"a": np.zeros(3, np.float32)}])
def test_the_copy_of_an_interrupted_training_must_fit(kept):
    arrays = {"a": np.zeros(3)}
    if kept:
        with pytest.raises(FormatError, match="the best epoch of an interrupted training is damaged"):
            StateCopy(arrays, kept)
    assert StateCopy(arrays, {}).tensors == {}
    given = np.arange(3.0)
    given.flags.writeable = False
    state = StateCopy(arrays, {"a": given})
    state.restore()
    assert arrays["a"].tolist() == [0, 1, 2]
    arrays["a"][:] = 7
    state.keep()
    assert (state.tensors["a"] == 7).all()


def test_a_file_takes_no_memory(place):
    assert kept_in_memory(100) == (100 if place == "memory" else 0)
    assert kept_in_memory(2**40) == 0


def test_a_full_disk_is_said(monkeypatch):
    class Full:
        def seek(self, place):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(state_copy, "LARGE", 10)
    state = StateCopy({"a": np.zeros(100)})
    state.keep()
    state._file.close()
    state._file = Full()
    with pytest.raises(DataError, match="No space left on device.*TMPDIR"):
        state.keep()
    assert state.tensors == {}  # half a copy is none
