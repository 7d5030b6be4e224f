"""Plot perplexities against seconds of training: a line for each model, with the model's name at its end."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

NAME = 0.047  # height of a name, as a share of the height of the axes
FULL = "softmax"  # its line is thick and black: it is the reference for all
STYLES = ("-", "--", ":")
COLOURS = tuple(f"tab:{name}" for name in "blue orange green red purple brown pink olive cyan".split())
NICE: tuple[tuple[float, ...], ...] = (  # leading digits of ticks, from many to few
    (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
    (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9),
    (1, 2, 3, 5, 7),
    (1, 2, 5),
    (1,),
)
TICKS = 9

Curve: TypeAlias = Sequence[tuple[float, float]]  # seconds of training, perplexity


class SteadyLine(NamedTuple):
    """A perplexity that does not depend on time."""

    name: str
    perplexity: float
    colour: str = "0.45"
    dashes: tuple[int, int] = (1, 2)


def curves(
    axis: Any,
    points: Mapping[str, Curve],
    levels: Sequence[SteadyLine] = (),
    *,
    highest: float = math.inf,
    text: str = "held-out words",
) -> Any:
    """Draw perplexities against seconds of training, a line for each model; return the axis.

    levels   horizontal lines
    highest  perplexities above it are cut off: one bad model must not squeeze all others together
    text     what the perplexity is of
    """
    axis.set(xscale="log", yscale="log", xlabel="seconds of training", ylabel=f"perplexity of {text}")
    others = [name for name in points if not _is_full(name)]
    black: dict[str, Any] = {"color": "black", "linewidth": 2.5, "zorder": 3}
    styles = {name: black if _is_full(name) else line_style(others.index(name)) for name in points}
    for name, curve in points.items():
        seconds, perplexities = zip(*curve, strict=True)
        axis.plot(seconds, perplexities, **styles[name])
    _set_limits(axis, [*points.values()], levels, highest)
    if points:
        for level in levels:
            if level.perplexity <= axis.get_ylim()[1]:  # not above the upper edge
                height, colour = level.perplexity, level.colour
                axis.axhline(height, color=colour, linewidth=1.0, linestyle=(0, level.dashes), zorder=0)
                where = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
                axis.annotate(level.name, (0.0, height), (4, 3), color=colour, size=9, **where)
        _name_lines(axis, points, [styles[name]["color"] for name in points])
    return axis


def _is_full(name: str) -> bool:
    return name.replace(" ", ":").partition(":")[0] == FULL


def line_style(number: int) -> dict[str, Any]:
    """Return the style of a line; it is dashed if another line already has its colour."""
    style = STYLES[number // len(COLOURS) % len(STYLES)]
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": style, "linewidth": 1.5}


def _set_limits(axis: Any, drawn: Sequence[Curve], levels: Sequence[SteadyLine], highest: float) -> None:
    """Set the limits to show all times and all meaningful perplexities."""
    from matplotlib.ticker import NullLocator

    times = [seconds for curve in drawn for seconds, _ in curve] or [1.0]
    heights = [height for curve in drawn for _, height in curve] or [1.0]
    heights += [level.perplexity for level in levels]
    high = min(max(heights), highest)
    for each, least, most in ((axis.xaxis, min(times), max(times)), (axis.yaxis, min(heights), high)):
        first, last = least / 1.03, most * 1.03
        each.set_view_interval(first, last, ignore=True)
        number_axis(each, nice_numbers(first, last))
        each.set_minor_locator(NullLocator())
    axis.grid(color="0.92")
    axis.autoscale(False)  # later drawing must not change the limits


def number_axis(each: Any, marked: Sequence[float]) -> None:
    """Mark numbers on an x or y axis, without powers of ten."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    each.set_major_locator(FixedLocator(marked))
    each.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


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


def _name_lines(axis: Any, points: Mapping[str, Curve], colours: Sequence[str]) -> None:
    """Write a name to the right of each line, at the height of its end or as near as there is room.

    The name of a line that ends above the upper edge includes its perplexity.
    """
    low, high = axis.get_ylim()
    ends = [curve[-1] for curve in points.values()]
    heights = [min(height, high) for _, height in ends]
    places = spread_out([math.log(height / low) / math.log(high / low) for height in heights], NAME)
    for name, end, height, place, colour in zip(points, ends, heights, places, colours, strict=True):
        line = {
            "arrowstyle": "-",
            "color": colour,
            "linewidth": 0.6,
            "alpha": 0.6,
            "shrinkA": 0,
            "shrinkB": 2,
            "relpos": (0, 0.5),
        }
        above = f": {end[1]:.3g}" if height == high else ""
        label = f"{name.encode('utf-8', 'backslashreplace').decode()}{above}"
        text = {"va": "center", "color": colour, "annotation_clip": False, "parse_math": False}
        text |= {"textcoords": "axes fraction", "arrowprops": line}
        axis.annotate(label, (end[0], height), (1.05, place), **text)


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
