"""Pictures of recommenders."""

from collections.abc import Sequence
from typing import Any

from unhot.evaluate.recommending import Recommending


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
