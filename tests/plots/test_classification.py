"""What is drawn: numbers, names and dots, for few and many labels."""

import subprocess
import sys

import numpy as np
import pytest

from unhot.errors import DataError, MissingExtra
from unhot.plots import confusion, reliability
from unhot.probability.calibration import bin_sums
from unhot.probability.calibration import reliability as bins_of


@pytest.fixture
def axis():
    from matplotlib.figure import Figure

    return Figure(figsize=(6, 5)).add_subplot()


def texts(axis):
    return {text.get_position(): text.get_text() for text in axis.texts if text.get_text()}


def test_rows_are_shares_of_the_true_label(axis):
    table = np.array([[3, 1, 0], [0, 0, 0], [1, 0, 399]])
    assert confusion(axis, table, ["a", "b", "c"]) is axis
    shares = axis.images[0].get_array()
    np.testing.assert_allclose(shares.filled(-1), [[0.75, 0.25, 0], [-1, -1, -1], [0.0025, 0, 0.9975]])
    assert texts(axis) == {(0, 0): "75", (1, 0): "25", (0, 2): "<1", (2, 2): "100"}
    assert [label.get_text() for label in axis.get_yticklabels()] == ["a", "b", "c"]
    assert axis.get_ylabel() == "true label"


def test_numbers_are_white_on_dark_cells(axis):
    confusion(axis, np.array([[41, 59], [40, 60]]), ["a", "b"])
    colours = {text.get_text(): text.get_color() for text in axis.texts}
    assert colours == {"41": "white", "59": "white", "40": "black", "60": "white"}


@pytest.mark.parametrize("labels", [2, 5, 12, 30, 60, 100])
def test_names_do_not_overlap(axis, labels):
    names = [f"language{i}" for i in range(labels)]
    confusion(axis, np.eye(labels, dtype=int), names)
    axis.figure.canvas.draw()
    for ticks, low, high in ((axis.get_yticklabels(), "y0", "y1"), (axis.get_xticklabels(), "x0", "x1")):
        boxes = sorted(
            (getattr(box, low), getattr(box, high)) for box in (t.get_window_extent() for t in ticks)
        )
        assert len(boxes) > min(labels, 20) / 2
        assert all(end <= begin + 1 for (_, end), (begin, _) in zip(boxes, boxes[1:], strict=False))
    assert bool(axis.texts) == (labels <= 12)
    assert (len(axis.figure.axes) == 2) == (labels > 12)  # numbers, or a bar of colours


def test_odd_names(axis):
    confusion(axis, np.eye(3, dtype=int), ["a$x^$", "b\udcff", "c" * 99])
    drawn = [label.get_text() for label in axis.get_yticklabels()]
    assert drawn == ["a$x^$", "b\\udcff", "c" * 24]
    axis.figure.canvas.draw()


@pytest.mark.parametrize(("shape", "names"), [((2, 3), "ab"), ((3, 3), "ab"), ((0, 0), "")])
def test_tables_that_do_not_fit(axis, shape, names):
    with pytest.raises(DataError, match="for . names"):
        confusion(axis, np.zeros(shape, int), list(names))


def test_dots_are_bins(axis):
    bins = bins_of(bin_sums([0.1, 0.9, 0.9, 0.8], [False, True, True, False], bins=5))
    assert reliability(axis, bins) is axis
    dots = axis.collections[1].get_offsets()
    np.testing.assert_allclose(dots, [[0.1, 0], [2.6 / 3, 2 / 3]])
    assert len(axis.patches) == 2
    [note] = axis.texts
    assert note.get_text() == "expected calibration error 0.175\n4 examples"
    sizes = axis.collections[1].get_sizes()
    assert sizes[0] < sizes[1]


def test_no_bins(axis):
    reliability(axis, bins_of(bin_sums([], [])))
    reliability(axis, [])
    axis.figure.canvas.draw()


def test_without_matplotlib(axis, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"unhot\[plot\]"):
        confusion(axis, np.eye(2, dtype=int), ["a", "b"])
    with pytest.raises(MissingExtra, match=r"unhot\[plot\]"):
        reliability(axis, [])


def test_the_import_needs_no_matplotlib():
    code = "import sys, unhot.plots.classification; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
