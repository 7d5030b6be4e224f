"""Number types: wide enough for sums of exponentials, exact, and those that autocast computes products in."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


def wide(dtype: torch.dtype) -> torch.dtype:
    """Float32 for the half types, otherwise the type itself."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def widened(scores: Tensor) -> Tensor:
    """Scores in a type that is wide enough for the sum of their exponentials."""
    return scores.to(wide(scores.dtype))


def exact_type(device: torch.device) -> torch.dtype:
    """Doubles, where the device has them."""
    return torch.float32 if device.type == "mps" else torch.float64


def autocasts(tensor: Tensor) -> bool:
    """Whether products are computed in a type of their own, so that their factors need not agree."""
    device = tensor.device.type
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def as_product(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Tensors as a matrix product takes them: in one type, under autocast in its own."""
    if not autocasts(tensors[0]):
        return tensors
    dtype = torch.get_autocast_dtype(tensors[0].device.type)
    return tuple(one if one.dtype == torch.float64 else one.to(dtype) for one in tensors)


class ExactTables(nn.Module):
    """A module with tables that keep their type, whatever type the module is converted to.

    An offset in half precision would be wrong by more than what is learned.
    """

    def __init__(self) -> None:
        super().__init__()
        self.exact: list[str] = []  # names of the tables

    def keep(self, *, persistent: bool = False, **tables: Tensor) -> None:
        """Hold tables under their names; those that are made anew from settings are not saved."""
        for name, table in tables.items():
            self.register_buffer(name, table, persistent=persistent)
            self.exact.append(name)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> ExactTables:
        """Move everything, and convert all but the tables."""
        kept = {name: getattr(self, name) for name in self.exact}
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, table in kept.items():
            device = getattr(self, name).device
            dtype = exact_type(device) if table.is_floating_point() else table.dtype
            setattr(self, name, table.to(device=device, dtype=dtype))
        return self
