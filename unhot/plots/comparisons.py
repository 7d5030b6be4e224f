"""Plot comparisons of models: of language models by how frequent words are, and of recommenders."""

from collections.abc import Mapping, Sequence
from typing import Any

from unhot.evaluate.recommending import Recommending
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


def ranking(axis: Any, found: Sequence[Recommending], metric: str = "ndcg@10") -> None:
    """Draw a figure of several recommenders as bars with intervals, the best one on top."""
    names = [each.model for each in found][::-1]
    values = [100 * each.figures[metric] for each in found][::-1]
    edges = [each.intervals[metric] for each in found][::-1]
    below = [value - 100 * low for value, (low, _) in zip(values, edges, strict=True)]
    above = [100 * high - value for value, (_, high) in zip(values, edges, strict=True)]
    axis.barh(names, values, xerr=[below, above], color="#4878a8", ecolor="#333333", capsize=3)
    axis.set_xlabel(f"{metric} of the test in %, with 95 % intervals")
    for place, (value, (_, high)) in enumerate(zip(values, edges, strict=True)):
        axis.text(100 * high, place, f"  {value:.2f}", va="center")
    axis.margins(x=0.12)
    axis.set_xlim(left=0)
