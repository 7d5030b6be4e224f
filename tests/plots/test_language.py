"""Lines of language models can be told apart."""

import pytest

from unhot.plots.comparisons import bands
from unhot.plots.curves import curves


@pytest.fixture
def axis():
    from matplotlib.figure import Figure

    return Figure(figsize=(6, 5)).add_subplot()


@pytest.mark.parametrize("draw", [curves, bands])
def test_colours_come_first_then_dashes(axis, draw):
    one = [(1.0, 9.0), (2.0, 8.0)] if draw is curves else {"1-9": 9.0, "10-99": 8.0}
    assert draw(axis, {f"model {i}": one for i in range(11)}) is axis
    looks = [(line.get_color(), line.get_linestyle()) for line in axis.lines]
    assert len(set(looks)) == 11
    assert looks[0] == ("tab:blue", "-")
    assert [style for _, style in looks] == ["-"] * 9 + ["--"] * 2
    axis.figure.canvas.draw()
