"""Check the arguments of heads.

The constructor takes a layer, the counts of the words and a weight to share. `forward` takes examples of any
shape, which become the flat batch that the families of heads work on.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from unhot.errors import ConfigError, DataError, whole
from unhot.nn.classes import check_ids, check_tensor, check_whole
from unhot.outputs import OutputLayer, parse_output
from unhot.types import Counts

MOST_WORDS = 2**31 - 1  # ids are int32


def layer_with_bias(spec: str | OutputLayer, bias: bool | None) -> OutputLayer:
    """Return the layer of a spec, with or without biases as asked.

    If neither `bias` nor the spec says, the layer is as in the method's paper.
    """
    layer = parse_output(spec)
    if bias is None and (isinstance(spec, OutputLayer) or "bias=" in spec):
        return layer
    wanted = layer.biased if bias is None else bool(bias)
    return layer.changed(bias=wanted) if hasattr(layer, "bias") else layer


def checked_counts(counts: ArrayLike | Tensor) -> Counts:
    """Return a copy of the counts as int64; a single number is a number of words, which all get the count 1.

    Raise a `ConfigError` unless they are whole numbers >= 0.
    """
    given = counts.detach().cpu().numpy() if isinstance(counts, Tensor) else np.asarray(counts)
    if given.ndim == 0:
        return np.ones(whole("counts", given.item(), 1, MOST_WORDS), np.int64)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iuf" or not (given >= 0).all():
        raise ConfigError(
            f"counts of shape {given.shape} and type {given.dtype}: must be numbers >= 0, one for each word, "
            "or the number of words"
        )
    if given.dtype.kind == "f" and not (np.isfinite(given).all() and (given == np.rint(given)).all()):
        raise ConfigError("counts: must be whole numbers")
    if (given >= 2**63).any():
        raise ConfigError(f"counts up to {given.max():g}: must be less than 2**63")
    return np.array(given, np.int64)  # a copy, because the given array may be read-only


def check_weight(
    weight: object,
    shape: tuple[int, int],
    device: torch.device | str | None,
    dtype: torch.dtype | None,
) -> None:
    """Raise a `ConfigError` unless a weight can be shared as it is, in its own type and on its own device."""
    if not isinstance(weight, nn.Parameter) or tuple(weight.shape) != shape:
        given = tuple(getattr(weight, "shape", ()))
        raise ConfigError(f"weight of shape {given}: must be a Parameter [words, dim] = {list(shape)}")
    moves = device is not None and torch.device(device).type != weight.device.type
    if moves or dtype not in (None, weight.dtype):
        raise ConfigError(
            f"weight of type {weight.dtype} on {weight.device}: "
            "leave device and dtype out; the head takes those of its weight"
        )


class FlatBatch(NamedTuple):
    """Examples of any shape, flattened to a batch."""

    hidden: Tensor  # [batch, dim]
    target: Tensor  # int64 [batch, true], valid ids also where a target is ignored
    known: Tensor  # [batch, true] bool: False where a target is ignored
    draws: Tensor | None  # draws given by the caller: int64 [k] for all examples, or [batch, k]
    in_bias: Tensor | None  # [batch]
    seen: Tensor  # int64 [words], or empty: the counts of targets before this batch, over all processes


def flatten(
    hidden: Tensor,
    target: Tensor,
    dim: int,
    words: int,
    ignore_index: int,
    draws: Tensor | None,
    in_bias: Tensor | None,
    seen: Tensor,
) -> FlatBatch:
    """Flatten hidden vectors [..., dim] and targets [...] or [..., true] to a batch."""
    flat, leading = flat_hidden(hidden, dim), hidden.shape[:-1]
    check_tensor("target", target)
    if target.shape[: len(leading)] != leading or target.ndim > len(leading) + 1:
        raise DataError(
            f"target of shape {_text(target.shape)}: must be {_text(leading)}, "
            f"or {_text((*leading, 'true'))} for several true classes"
        )
    if draws is not None and draws.ndim != 1 and draws.shape[:-1] != leading:
        raise DataError(f"draws of shape {_text(draws.shape)}: must be [k], or {_text((*leading, 'k'))}")
    if in_bias is not None and in_bias.shape != leading:
        raise DataError(f"in_bias of shape {_text(in_bias.shape)}: must be {_text(leading)}")
    check_whole("target", target)
    ids = target.reshape(flat.shape[0], target.shape[-1] if target.ndim > len(leading) else 1).long()
    known = ids != ignore_index
    ids = torch.where(known, ids, 0)
    # hidden vectors of ignored examples may hold anything, even NaN
    flat = torch.where(known.any(dim=1, keepdim=True), flat, 0.0)
    ids = check_ids("target", ids, words)
    if draws is not None:
        check_whole("draws", draws)
        draws = draws.long() if draws.ndim == 1 else draws.reshape(flat.shape[0], draws.shape[-1]).long()
    return FlatBatch(flat, ids, known, draws, None if in_bias is None else in_bias.reshape(-1), seen.clone())


def flat_hidden(hidden: Tensor, dim: int) -> Tensor:
    """Return hidden vectors as a matrix [batch, dim]."""
    check_tensor("hidden", hidden)
    if hidden.ndim == 0 or hidden.shape[-1] != dim:
        raise DataError(f"hidden of shape {_text(hidden.shape)}: must end with dim = {dim}")
    return hidden.reshape(-1, dim)


def _text(shape: Iterable[int | str]) -> str:
    """Return a shape as text; a dimension of any size is its name: [3, true]."""
    return f"[{', '.join(map(str, shape))}]"
