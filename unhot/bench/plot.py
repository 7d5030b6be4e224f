"""Plot a comparison: held-out perplexity against seconds of training.

Each layer has a line, with its name at the end of the line.
"""

import math
from collections.abc import Sequence
from typing import Any

from unhot.bench.results import FULL, Comparison, Measured

SIZE = (9.0, 5.6)  # inches
NAME = 0.047  # height of a name, as a share of the height of the axes
ABOVE = 2.0  # perplexities above this multiple of that of the counts alone are cut off
GREY = "0.45"
COLOURS = tuple(f"tab:{name}" for name in "blue orange green red purple brown pink olive cyan".split())
NICE: tuple[tuple[float, ...], ...] = (  # leading digits of ticks, from many to few
    (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
    (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9),
    (1, 2, 3, 5, 7),
    (1, 2, 5),
    (1,),
)
TICKS = 9


def draw_layers(axes: Any, comparison: Comparison) -> None:
    """Draw a comparison into an axis of matplotlib."""
    drawn = [each for each in comparison.layers if each.curve and each.result is not None]
    axes.set(xscale="log", yscale="log", xlabel="seconds of training")
    axes.set_ylabel(f"perplexity of {comparison.curve_words:,} held-out words")
    styles = _styles(drawn)
    for each, line in zip(drawn, styles, strict=True):
        seconds = [point.seconds for point in each.curve]
        axes.plot(seconds, [_perplexity(point.loss) for point in each.curve], **line)
    _set_limits(axes, comparison, drawn)
    if drawn:
        _draw_level(axes, "counts alone", comparison.curve_unigram_perplexity, GREY, (1, 2))
        exact = _exact_height(comparison)
        if exact and exact <= axes.get_ylim()[1]:  # not above the upper edge
            _draw_level(axes, "exact", exact, "black", (6, 3))
        _name_lines(axes, drawn, [line["color"] for line in styles])


def _perplexity(loss: float) -> float:
    return math.exp(loss if loss < 300.0 else 300.0)  # NaN becomes exp(300), too


def _styles(drawn: Sequence[Measured]) -> list[dict[str, Any]]:
    """Return the styles of the lines: the full softmax is thick and black, the others are coloured.

    A line is dashed if another line already has its colour.
    """
    styles: list[dict[str, Any]] = []
    number = 0
    for each in drawn:
        if each.spec.partition(":")[0] == FULL:
            styles.append({"color": "black", "linewidth": 2.5, "zorder": 3})
        else:
            style = ("-", "--", ":")[number // len(COLOURS) % 3]
            styles.append({"color": COLOURS[number % len(COLOURS)], "linestyle": style, "linewidth": 1.5})
            number += 1
    return styles


def _set_limits(axes: Any, comparison: Comparison, drawn: Sequence[Measured]) -> None:
    """Set the axes to show all times and all meaningful perplexities.

    One bad layer must not squeeze all others together.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    times = [point.seconds for each in drawn for point in each.curve] or [
        1.0,
        comparison.settings.seconds or 1.0,
    ]
    heights = [_perplexity(point.loss) for each in drawn for point in each.curve] or [1.0]
    counts = comparison.curve_unigram_perplexity
    heights += filter(None, [_exact_height(comparison)])
    high = max(min(max(heights), ABOVE * counts), counts)
    shown = ((axes.xaxis, min(times), max(times)), (axes.yaxis, min(*heights, counts), high))
    for axis, least, most in shown:
        first, last = least / 1.03, most * 1.03
        axis.set_view_interval(first, last, ignore=True)
        axis.set_major_locator(FixedLocator(nice_numbers(first, last)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.grid(color="0.92")
    axes.autoscale(False)  # later drawing must not change the limits


def nice_numbers(first: float, last: float) -> list[float]:
    """Return the numbers to mark on a logarithmic axis, as many as there is room for.

    >>> nice_numbers(0.5, 60)
    [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
    >>> nice_numbers(310, 850)
    [400.0, 500.0, 600.0, 700.0, 800.0]
    """
    tens = range(math.floor(math.log10(first)), math.ceil(math.log10(last)) + 1)
    for digits in NICE:
        found = [
            float(f"{digit}e{ten}")
            for ten in tens
            for digit in digits
            if first <= float(f"{digit}e{ten}") <= last
        ]
        if len(found) <= TICKS:
            break
    return found


def _exact_height(comparison: Comparison) -> float | None:
    """Return the perplexity of the exact solution, or None if there is none."""
    exact = comparison.exact
    return _perplexity(exact.final_loss) if exact is not None and exact.result else None


def _draw_level(axes: Any, name: str, height: float, colour: str, dashes: tuple[int, int]) -> None:
    """Draw a horizontal line for a perplexity that does not depend on time."""
    axes.axhline(height, color=colour, linewidth=1.0, linestyle=(0, dashes), zorder=0)
    axes.annotate(
        name,
        (0.0, height),
        (4, 3),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        color=colour,
        size=9,
    )


def _name_lines(axes: Any, drawn: Sequence[Measured], colours: Sequence[str]) -> None:
    """Write a name to the right of each line, at the height of its end or as near as there is room.

    The name of a line that ends above the upper edge includes its perplexity.
    """
    low, high = axes.get_ylim()
    ends = [min(_perplexity(each.final_loss), high) for each in drawn]
    places = spread_out([math.log(end / low) / math.log(high / low) for end in ends], NAME)
    for each, end, place, colour in zip(drawn, ends, places, colours, strict=True):
        line = {
            "arrowstyle": "-",
            "color": colour,
            "linewidth": 0.6,
            "alpha": 0.6,
            "shrinkA": 0,
            "shrinkB": 2,
            "relpos": (0, 0.5),
        }
        above = f": {_perplexity(each.final_loss):.3g}" if end == high else ""
        name = each.layer.encode("utf-8", "backslashreplace").decode()
        label = f"{name}{above}" if each.engine == "compiled" else f"{name} ({each.engine}){above}"
        text = {"va": "center", "color": colour, "annotation_clip": False, "parse_math": False}
        text |= {"textcoords": "axes fraction", "arrowprops": line}
        axes.annotate(label, (each.curve[-1].seconds, end), (1.05, place), **text)


def spread_out(places: Sequence[float], gap: float) -> list[float]:
    """Move positions between 0 and 1 as little as possible so that they are a gap apart.

    They keep their order, and stay between 0 and 1 if there is room.

    >>> [round(place, 2) for place in spread_out([0.5, 0.5, 0.1, 1.0, 0.98], 0.1)]
    [0.55, 0.45, 0.1, 1.0, 0.9]
    """
    order = sorted(range(len(places)), key=lambda i: (places[i], -i))
    # blocks of names that touch: the wanted middle of a block, and its number of names
    blocks: list[tuple[float, int]] = []
    for i in order:
        wanted, size = places[i], 1
        while (
            blocks
            and _inside(wanted, size, gap) - _inside(*blocks[-1], gap) < gap * (size + blocks[-1][1]) / 2
        ):
            before, count = blocks.pop()
            wanted, size = (wanted * size + before * count) / (size + count), size + count
        blocks.append((wanted, size))
    found = [
        _inside(wanted, size, gap) + gap * (number - (size - 1) / 2)
        for wanted, size in blocks
        for number in range(size)
    ]
    return [place for _, place in sorted(zip(order, found, strict=True))]


def _inside(wanted: float, size: int, gap: float) -> float:
    """Return the middle of a block of names, moved so that the block lies between 0 and 1 if it fits."""
    half = gap * (size - 1) / 2
    return 0.5 if half > 0.5 else min(max(wanted, half), 1 - half)
