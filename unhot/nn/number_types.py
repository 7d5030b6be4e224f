"""Choose number types: for sums of exponentials, for exact tables, and for products under autocast."""

from collections.abc import Callable

import torch
from torch import Tensor, nn


def wide(dtype: torch.dtype) -> torch.dtype:
    """Return float32 for the 16-bit types, otherwise the type itself."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def widened(scores: Tensor) -> Tensor:
    """Return the scores in a type that is wide enough for the sum of their exponentials."""
    return scores.to(wide(scores.dtype))


def exact_type(device: torch.device) -> torch.dtype:
    """Return float64, or float32 on devices without float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def autocasts(tensor: Tensor) -> bool:
    """Return whether autocast is on; it chooses the type of products, so factors may differ in type."""
    device = tensor.device.type
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def as_product(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Convert tensors to autocast's type for matrix products; return them unchanged without autocast."""
    if not autocasts(tensors[0]):
        return tensors
    dtype = torch.get_autocast_dtype(tensors[0].device.type)
    return tuple(one if one.dtype == torch.float64 else one.to(dtype) for one in tensors)


class ExactTables(nn.Module):
    """A module whose tables keep their type when the module is converted to another type.

    In half precision, the error of an offset would be larger than the effects to be learned.
    """

    def __init__(self) -> None:
        super().__init__()
        self.exact: list[str] = []  # names of the tables

    def keep(self, *, persistent: bool = False, **tables: Tensor) -> None:
        """Register tables under their names; only persistent ones are saved in the state_dict."""
        for name, table in tables.items():
            self.register_buffer(name, table, persistent=persistent)
            self.exact.append(name)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "ExactTables":
        """Move everything, and convert all but the tables."""
        kept = {name: getattr(self, name) for name in self.exact}
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, table in kept.items():
            device = getattr(self, name).device
            dtype = exact_type(device) if table.is_floating_point() else table.dtype
            setattr(self, name, table.to(device=device, dtype=dtype))
        return self
