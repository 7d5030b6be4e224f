"""Plot language models: perplexity by how frequent words are."""

from collections.abc import Mapping
from typing import Any

from unhot.plots.curves import line_style, nice_numbers, number_axis


def bands(axis: Any, figures: Mapping[str, Mapping[str, float]]) -> Any:
    """Draw perplexities by the frequency of words, a line for each model; return the axis."""
    names = list(dict.fromkeys(name for each in figures.values() for name in each))
    axis.set_yscale("log")
    for number, (model, each) in enumerate(figures.items()):
        places = [i for i, name in enumerate(names) if name in each]
        axis.plot(places, [each[names[i]] for i in places], label=model, marker=".", **line_style(number))
    axis.set_xticks(range(len(names)), names)
    axis.set_xlabel("how often a word occurs in the training text")
    axis.set_ylabel("perplexity")
    number_axis(axis.yaxis, nice_numbers(*axis.get_ylim()))
    axis.yaxis.set_minor_formatter("")
    axis.grid(color="0.92")
    axis.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return axis
