"""True classes for candidate sampling, and the draws that hit one of them by accident.

True classes are ids 0 .. classes - 1: [batch, num_true].

They can be drawn as noise, too; a draw that is a true class of an example is an *accidental hit* there.

If an id was drawn several times, TensorFlow removes only its last column. `last_hits` and the functions that
use it do the same.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from unhot.errors import DataError, whole

LOWEST = torch.finfo(torch.float32).min  # TensorFlow adds it to a score to remove the column


class AccidentalHits(NamedTuple):
    """Draws that are true classes, ordered by example and then by true class."""

    indices: Tensor  # [hits] the number of the example
    ids: Tensor  # [hits] the position among the draws, not the class; TensorFlow calls it ids
    weights: Tensor  # [hits] float32, all equal to the lowest number


def checked_classes(name: str, classes: Tensor, num_true: int, range_max: int) -> Tensor:
    """Return the classes as int64 [batch, num_true]; raise a `DataError` for another shape, type or range.

    The range is checked only where that is free: not on a GPU, which would stall.
    """
    num_true = whole("num_true", num_true, 1)
    check_whole(name, classes)
    if classes.ndim != 2 or classes.shape[1] != num_true:
        row = f"use {name}.unsqueeze(1)"
        hint = row if classes.ndim == 1 else "set num_true to the number of columns"
        given = tuple(classes.shape)
        raise DataError(
            f"{name} of shape {given}: must be [batch, num_true] with num_true={num_true}; {hint}"
        )
    return check_ids(name, classes, range_max).long()


def check_tensor(name: str, values: Tensor) -> None:
    """Raise a `DataError` unless this is a tensor."""
    if not isinstance(values, Tensor):
        raise DataError(
            f"{name} of type {type(values).__name__}: must be a tensor; convert it with torch.as_tensor"
        )


def check_whole(name: str, ids: Tensor) -> None:
    """Raise a `DataError` unless this is a tensor of whole numbers."""
    check_tensor(name, ids)
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise DataError(f"{name} of type {ids.dtype}: must be whole numbers; convert them with .long()")


def check_ids(name: str, ids: Tensor, range_max: int) -> Tensor:
    """Return ids; raise a `DataError` unless they are whole numbers from 0 to `range_max` - 1.

    The range is checked on the CPU alone (`readable`). In a compiled graph the check is part of the graph: a
    kernel that meets a wrong id in one of its threads would end the process.
    """
    check_whole(name, ids)
    if torch.compiler.is_compiling():
        checked: Tensor = _checked_in_graph(name, ids, range_max)
        return checked
    if readable(ids):
        _check_range(name, ids, range_max)
    return ids


@torch.library.custom_op("unhot::checked_ids", mutates_args=())
def _checked_in_graph(name: str, ids: Tensor, range_max: int) -> Tensor:
    """Return a copy of ids, because the result of an operator must not be its argument."""
    if ids.device.type == "cpu":
        _check_range(name, ids, range_max)
    return ids.clone()


@_checked_in_graph.register_fake
def _(name: str, ids: Tensor, range_max: int) -> Tensor:
    return torch.empty_like(ids)


def _check_range(name: str, ids: Tensor, range_max: int) -> None:
    if ids.numel():
        low, high = (int(end) for end in ids.long().aminmax())  # unsigned types have no aminmax
        if low < 0 or high >= range_max:
            raise DataError(f"{name}: id {low if low < 0 else high}: must be between 0 and {range_max - 1}")


def readable(values: Tensor) -> bool:
    """Return whether reading the values is free.

    A compiled graph has no values, and reading those on a GPU would stall it.
    """
    return not torch.compiler.is_compiling() and values.device.type == "cpu"


def last_hits(true_classes: Tensor, sampled: Tensor) -> tuple[Tensor, Tensor]:
    """Return for every true class its last position among the draws, and whether it was drawn at all.

    Both are [batch, num_true]. The draws are sorted once and every true class is looked up, in O((S + batch
    T) log S) instead of comparing all with all.
    """
    ordered, order = sampled.sort(stable=True)
    at = (torch.searchsorted(ordered, true_classes, right=True) - 1).clamp(min=0)
    return order[at], ordered[at] == true_classes


def without_last_hits(scores: Tensor, true_classes: Tensor, sampled: Tensor) -> Tensor:
    """Return the scores [batch, draws] with minus infinity at every hit that TensorFlow removes.

    These columns then have neither loss nor gradient.
    """
    place, hit = last_hits(true_classes, sampled)
    removed = torch.zeros_like(place, dtype=scores.dtype).masked_fill(hit, -torch.inf)
    # for a repeated true class, minus infinity is added twice, which is still minus infinity
    return scores.scatter_add(1, place, removed)


def without_hits(scores: Tensor, true_classes: Tensor, sampled: Tensor) -> Tensor:
    """Return the scores with minus infinity at every hit, also at all of several draws of the same id."""
    return scores.masked_fill((true_classes.unsqueeze(2) == sampled).any(1), -torch.inf)


def compute_accidental_hits(
    true_classes: Tensor, sampled_candidates: Tensor, num_true: int, seed: int | None = None
) -> AccidentalHits:
    """List the draws that are true classes, as `tf.nn.compute_accidental_hits` does.

    A class that occurs twice among an example's true classes is listed twice; for an id drawn several times
    only the last position is listed. `seed` exists because TensorFlow has it; nothing here is random.

        >>> true_classes = torch.tensor([[9], [3], [4]])
        >>> hits = compute_accidental_hits(true_classes, torch.tensor([4, 9, 7, 9]), num_true=1)
        >>> hits.indices.tolist(), hits.ids.tolist()
        ([0, 2], [3, 0])
    """
    classes = checked_classes("true_classes", true_classes, num_true, 2**63 - 1)
    check_whole("sampled_candidates", sampled_candidates)
    if sampled_candidates.ndim != 1:
        raise DataError(
            f"sampled_candidates of shape {tuple(sampled_candidates.shape)}: must be one row of ids"
        )
    sampled_candidates = check_ids("sampled_candidates", sampled_candidates, 2**63 - 1)
    if sampled_candidates.numel() == 0:
        none = classes.new_zeros(0)
        return AccidentalHits(none, none, none.float())
    place, hit = last_hits(classes, sampled_candidates.long())
    examples = hit.nonzero()[:, 0]
    return AccidentalHits(examples, place[hit], torch.full(examples.shape, LOWEST, device=examples.device))
