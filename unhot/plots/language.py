"""Plot language models: perplexity against time, and by how frequent words are."""

from collections.abc import Mapping, Sequence
from typing import Any

HIGHEST = 10.0  # perplexities above so many times the lowest are cut off
STYLES = ("-", "--", ":", "-.")
COLOURS = tuple(f"tab:{name}" for name in "blue orange green red purple brown pink olive cyan".split())


def curves(axis: Any, points: Mapping[str, Sequence[tuple[float, float]]], level: float | None = None) -> Any:
    """Draw perplexities against seconds of training, a line for each model; return the axis.

    `level` is a perplexity that takes no time: that of n-grams.
    """
    axis.set_xscale("log")
    axis.set_yscale("log")
    for number, (name, curve) in enumerate(points.items()):
        seconds, perplexity = zip(*curve, strict=True)
        axis.plot(seconds, perplexity, label=name, marker=".", **_style(number))
    if points:  # one bad model must not squeeze all others together
        lowest = min(perplexity for curve in points.values() for _, perplexity in curve)
        axis.set_ylim(top=min(axis.get_ylim()[1], HIGHEST * lowest))
    if level is not None:
        axis.axhline(level, color="0.45", linewidth=1, linestyle=(0, (1, 2)), label="n-grams")
    axis.set_xlabel("seconds of training")
    axis.set_ylabel("perplexity of some validation lines")
    return _finished(axis)


def bands(axis: Any, figures: Mapping[str, Mapping[str, float]]) -> Any:
    """Draw perplexities by the frequency of words, a line for each model; return the axis."""
    names = list(dict.fromkeys(name for each in figures.values() for name in each))
    axis.set_yscale("log")
    for number, (model, each) in enumerate(figures.items()):
        places = [i for i, name in enumerate(names) if name in each]
        axis.plot(places, [each[names[i]] for i in places], label=model, marker=".", **_style(number))
    axis.set_xticks(range(len(names)), names)
    axis.set_xlabel("how often a word occurs in the training text")
    axis.set_ylabel("perplexity")
    return _finished(axis)


def _style(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": STYLES[number // len(COLOURS) % len(STYLES)],
        "linewidth": 1.5,
    }


def _finished(axis: Any) -> Any:
    """Add numbers without powers, a grid and a legend beside the plot."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    for each in (axis.xaxis, axis.yaxis):
        if each.get_scale() == "log":
            each.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            each.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
            each.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    axis.grid(color="0.92")
    axis.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return axis
