"""Plot predicted labels: which ones are taken for each other, and whether their probabilities are right.

The colours can be told apart by people who are colour-blind (Okabe and Ito 2008).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from unhot.errors import DataError, extra
from unhot.evaluate.figures import share
from unhot.probability.calibration import ReliabilityBin
from unhot.types import Counts

BLUE, ORANGE = "#0072b2", "#d55e00"
EMPTY = "0.94"  # the grey of a row without examples
LARGEST, SMALLEST = 9.0, 5.0  # font sizes of names, in points
LINE, LETTER = 1.3, 0.7  # the height of a line and the width of a letter, in font sizes
LONGEST = 24  # characters of a name
CELL = 20.0  # points: smaller cells have no number in them
TICKS = (0, 0.01, 0.05, 0.2, 0.5, 1)


def confusion(axis: Any, table: Counts, names: Sequence[str]) -> Any:
    """Draw a table [true label, predicted label] that `unhot.evaluate` made; return the axis.

    The colour is the share of the true label's examples; small shares are stretched, so that mistakes can be
    seen. A large cell has its percentage in it. Names that would overlap are left out.
    """
    mpl = extra("matplotlib", "plot", "the plot of a confusion table")
    n, totals = len(names), np.sum(table, axis=1, keepdims=True)
    if n == 0 or np.shape(table) != (n, n):
        raise DataError(
            f"table has shape {np.shape(table)} for {n} names: must have a row and a column for each"
        )
    shares = np.ma.masked_array(table / np.maximum(totals, 1), np.broadcast_to(totals == 0, (n, n)))
    colours, norm = mpl.colormaps["Blues"].with_extremes(bad=EMPTY), mpl.colors.PowerNorm(0.5, 0, 1)
    image = axis.imshow(shares, cmap=colours, norm=norm, interpolation="nearest")
    box = axis.get_window_extent()
    cell = min(box.width, box.height) / axis.figure.dpi * 72 / n  # points
    _name_cells(axis, names, cell)
    if cell < CELL:
        bar = {"ticks": TICKS, "format": lambda value, _: f"{value:.0%}", "shrink": 0.8}
        axis.figure.colorbar(image, ax=axis, label="share of the true label's examples", **bar)
        return axis
    axis.set_xlabel("predicted label (numbers: % of the true label's examples)")
    for (i, j), part in np.ndenumerate(shares.filled(0.0)):
        style = {"ha": "center", "va": "center", "size": min(cell / 2.8, LARGEST)}
        percentage = "<1" if 0 < part < 0.005 else f"{100 * part:.0f}"
        axis.text(j, i, percentage if part else "", color="white" if part > 0.4 else "black", **style)
    return axis


def _name_cells(axis: Any, names: Sequence[str], cell: float) -> None:
    """Write as many names as there is room for, at the left and below; long ones are cut."""
    size = min(max(cell / LINE, SMALLEST), LARGEST)
    shown = range(0, len(names), math.ceil(size * LINE / cell))
    labels = [names[i].encode("utf-8", "backslashreplace").decode()[:LONGEST] for i in shown]
    upright = max(map(len, labels)) * size * LETTER > cell
    axis.set_xticks(shown, labels, size=size, parse_math=False, rotation=90 if upright else 0)
    axis.set_yticks(shown, labels, size=size, parse_math=False)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set(xlabel="predicted label", ylabel="true label")


def reliability(axis: Any, bins: Sequence[ReliabilityBin]) -> Any:
    """Draw how often predictions are right against their probability; return the axis.

    Each dot is a bin; a larger dot has more examples. The lines from the dots to the diagonal are what the
    expected calibration error averages.
    """
    extra("matplotlib", "plot", "the plot of a reliability diagram")
    some = [each for each in bins if each.examples]
    total = sum(each.examples for each in some)
    confidence, accuracy = [each.confidence for each in some], [each.accuracy for each in some]
    low, width = [each.low for each in some], [each.high - each.low for each in some]
    axis.bar(low, accuracy, width, align="edge", color=BLUE, alpha=0.18, linewidth=0)
    axis.plot([0, 1], [0, 1], color="0.55", linestyle="--", linewidth=1, zorder=1)
    axis.vlines(confidence, confidence, accuracy, color=ORANGE, linewidth=2, zorder=2)
    areas = [20 + 180 * each.examples / total for each in some]
    axis.scatter(confidence, accuracy, areas, color=BLUE, clip_on=False, zorder=3)
    error = share(sum(each.examples * abs(each.accuracy - each.confidence) for each in some), total)
    note = f"expected calibration error {error:.3f}\n{total:,} examples"
    axis.text(0.04, 0.96, note, transform=axis.transAxes, va="top")
    axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence", ylabel="accuracy", aspect="equal")
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(color="0.92")
    return axis
