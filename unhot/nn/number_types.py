"""Types: which are wide enough to sum exponentials in, which are exact, and what autocast would turn a tensor into."""

from __future__ import annotations

import torch
from torch import Tensor


def wide(dtype: torch.dtype) -> torch.dtype:
    """Float32 for the half types, otherwise the type itself."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def widened(scores: Tensor) -> Tensor:
    """Scores in a type that is wide enough for the sum of their exponentials."""
    return scores.to(wide(scores.dtype))


def exact_type(device: torch.device) -> torch.dtype:
    """Doubles, where the device has them."""
    return torch.float32 if device.type == "mps" else torch.float64


def as_product(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Tensors as a matrix product takes them: in one type, under autocast in its own."""
    device = tensors[0].device.type
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        return tuple(
            one if one.dtype == torch.float64 else one.to(torch.get_autocast_dtype(device)) for one in tensors
        )
    return tensors
