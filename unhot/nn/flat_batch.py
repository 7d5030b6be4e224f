"""Examples of any shape as a flat batch, checked.

What `OutputHead.forward` is given, as its families want it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from unhot.errors import DataError
from unhot.nn.classes import check_ids, check_tensor, check_whole


class Batch(NamedTuple):
    """Examples, flattened."""

    hidden: Tensor  # [batch, dim]
    target: Tensor  # int64 [batch, true], ids of words everywhere
    known: Tensor  # [batch, true] bool: False where a target is to be ignored
    draws: Tensor | None  # given by the caller: int64 [k] for all, or [batch, k]
    in_bias: Tensor | None  # [batch]
    seen: Tensor  # targets before this batch, of all processes: int64 [words], or empty


def flatten(
    hidden: Tensor,
    target: Tensor,
    words: int,
    ignore_index: int,
    draws: Tensor | None,
    in_bias: Tensor | None,
    seen: Tensor,
) -> Batch:
    """Hidden vectors [..., dim] with targets [...] or [..., true] as a batch."""
    check_tensor("target", target)
    leading = hidden.shape[:-1]
    if target.shape[: len(leading)] != leading or target.ndim > len(leading) + 1:
        raise DataError(
            f"target of shape {_text(target)}: must be {list(leading)}, or {[*leading, 'true']} for several "
            "true classes"
        )
    if draws is not None and draws.ndim != 1 and draws.shape[:-1] != leading:
        raise DataError(f"draws of shape {_text(draws)}: must be [k], or {[*leading, 'k']}")
    if in_bias is not None and in_bias.shape != leading:
        raise DataError(f"in_bias of shape {_text(in_bias)}: must be {list(leading)}")
    check_whole("target", target)
    flat = hidden.reshape(-1, hidden.shape[-1])
    ids = target.reshape(flat.shape[0], target.shape[-1] if target.ndim > len(leading) else 1).long()
    known = ids != ignore_index
    ids = torch.where(known, ids, 0)
    # what is ignored may be anything, no number included
    flat = torch.where(known.any(dim=1, keepdim=True), flat, 0.0)
    check_ids("target", ids, words)
    if draws is not None:
        check_whole("draws", draws)
        draws = draws.long() if draws.ndim == 1 else draws.reshape(flat.shape[0], draws.shape[-1]).long()
    return Batch(flat, ids, known, draws, None if in_bias is None else in_bias.reshape(-1), seen.clone())


def flat_hidden(hidden: Tensor, dim: int) -> Tensor:
    """Hidden vectors as a matrix."""
    check_tensor("hidden", hidden)
    if hidden.ndim == 0 or hidden.shape[-1] != dim:
        raise DataError(f"hidden of shape {_text(hidden)}: must end with dim = {dim}")
    return hidden.reshape(-1, dim)


def _text(tensor: Tensor) -> str:
    return str(list(tensor.shape))
