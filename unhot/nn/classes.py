"""True classes as candidate sampling takes them, and which of them were drawn by accident.

They are ids of 0 .. classes - 1: [batch, num_true].

`true_classes` never keep an id from being drawn; a draw that is a true class of an example is an *accidental
hit* there.

Where an id was drawn several times, TensorFlow removes its last column only. `last_hits` and what builds on
it do the same.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from unhot.errors import DataError, whole

LOWEST = torch.finfo(torch.float32).min  # what TensorFlow adds to a score to remove its column


class AccidentalHits(NamedTuple):
    """Draws that are true classes, ordered by example and then by true class."""

    indices: Tensor  # [hits], the example
    ids: Tensor  # [hits], the place among the draws (as TensorFlow names it; not the class)
    weights: Tensor  # [hits], float32: all the lowest number


def checked_classes(name: str, classes: Tensor, num_true: int, range_max: int) -> Tensor:
    """The classes as int64 [batch, num_true]; a `DataError` if their shape, type or range is another.

    The range is looked at where that is free: not while compiling, and not on a GPU, which would have to be
    waited for.
    """
    num_true = whole("num_true", num_true, 1)
    check_whole(name, classes)
    if classes.ndim != 2 or classes.shape[1] != num_true:
        row = f"{name}.unsqueeze(1) makes a column of a row"
        hint = row if classes.ndim == 1 else "set num_true to the number of columns"
        given = tuple(classes.shape)
        raise DataError(
            f"{name} of shape {given}: must be [batch, num_true] with num_true={num_true}; {hint}"
        )
    check_ids(name, classes, range_max)
    return classes.long()


def check_tensor(name: str, values: Tensor) -> None:
    """Raise a `DataError` unless this is a tensor."""
    if not isinstance(values, Tensor):
        raise DataError(
            f"{name} of type {type(values).__name__}: must be a tensor; torch.as_tensor makes one"
        )


def check_whole(name: str, ids: Tensor) -> None:
    """Raise a `DataError` unless this is a tensor of whole numbers."""
    check_tensor(name, ids)
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise DataError(f"{name} of type {ids.dtype}: must be whole numbers; convert them with .long()")


def check_ids(name: str, ids: Tensor, range_max: int) -> None:
    """Raise a `DataError` unless these are whole numbers, each below `range_max`.

    The range is looked at where that is free.
    """
    check_whole(name, ids)
    if readable(ids) and ids.numel():
        low, high = (int(end) for end in ids.long().aminmax())  # uint64 and its like have no aminmax
        if low < 0 or high >= range_max:
            raise DataError(f"{name}: id {low if low < 0 else high}: must be between 0 and {range_max - 1}")


def readable(values: Tensor) -> bool:
    """Whether values may be looked at.

    A compiled graph has none, and those on a GPU would have to be waited for.
    """
    return not torch.compiler.is_compiling() and values.device.type == "cpu"


def last_hits(true_classes: Tensor, sampled: Tensor) -> tuple[Tensor, Tensor]:
    """For every true class, the last place among the draws that holds it, and whether there is one.

    Both are [batch, num_true]. The draws are sorted once, and every true class is looked up: O((S + batch T)
    log S) instead of a comparison of all with all.
    """
    ordered, order = sampled.sort(stable=True)
    at = (torch.searchsorted(ordered, true_classes, right=True) - 1).clamp(min=0)
    return order[at], ordered[at] == true_classes


def without_last_hits(scores: Tensor, true_classes: Tensor, sampled: Tensor) -> Tensor:
    """The scores [batch, draws] with minus infinity at every hit that TensorFlow removes.

    So these columns have neither loss nor gradient.
    """
    place, hit = last_hits(true_classes, sampled)
    removed = torch.zeros_like(place, dtype=scores.dtype).masked_fill(hit, -torch.inf)
    # a true class that stands twice: added twice, and still minus infinity
    return scores.scatter_add(1, place, removed)


def without_hits(scores: Tensor, true_classes: Tensor, sampled: Tensor) -> Tensor:
    """The same with every place of an id that was drawn several times."""
    return scores.masked_fill((true_classes.unsqueeze(2) == sampled).any(1), -torch.inf)


def compute_accidental_hits(
    true_classes: Tensor, sampled_candidates: Tensor, num_true: int, seed: int | None = None
) -> AccidentalHits:
    """Draws that are true classes, as `tf.nn.compute_accidental_hits` lists them.

    A class that stands twice among an example's true classes is listed twice; of an id drawn several times
    only the last place is. `seed` is there because TensorFlow has it; nothing here is random.

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
    check_ids("sampled_candidates", sampled_candidates, 2**63 - 1)
    if sampled_candidates.numel() == 0:
        none = classes.new_zeros(0)
        return AccidentalHits(none, none, none.float())
    place, hit = last_hits(classes, sampled_candidates.long())
    examples = hit.nonzero()[:, 0]
    return AccidentalHits(examples, place[hit], torch.full(examples.shape, LOWEST, device=examples.device))
