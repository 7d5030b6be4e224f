"""Gradient descent by rows, as an optimizer of PyTorch.

    row -= lr g, shortened to at most FARTHEST        g: the gradient of the row, summed over the batch

A row that occurs often in a batch takes all its steps at once, from where it stood before the batch. To keep
this from running away, no row moves farther than `FARTHEST` in one step. A sparse gradient moves only the
rows that it contains.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn, optim

# the farthest that a row may move in one step: rows of every example, such as the root of a tree, would
# otherwise leap
FARTHEST = 1.0


class RowDescent(optim.Optimizer):
    """Plain gradient descent in which no row leaps."""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float) -> None:
        super().__init__(parameters, {"lr": lr})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters; PyTorch's own method first imports its compiler, which takes seconds."""
        self.param_groups.append({**self.defaults, **param_group})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Move all parameters that have a gradient."""
        for settings in self.param_groups:
            for parameter in settings["params"]:
                if parameter.grad is not None:
                    _descend(parameter, parameter.grad, settings["lr"])


def _descend(parameter: Tensor, gradient: Tensor, lr: float) -> None:
    """Move a parameter: all its rows, or those of a sparse gradient, with the gradients of each summed."""
    if not gradient.is_sparse:
        parameter.sub_(_clipped(gradient, lr))
        return
    ids, values = gradient._indices()[0], gradient._values()
    different, place = ids.unique(return_inverse=True)
    total = values.new_zeros(different.shape + values.shape[1:]).index_add_(0, place, values)
    parameter.index_add_(0, different, _clipped(total, lr), alpha=-1)


def _clipped(gradient: Tensor, lr: float) -> Tensor:
    """Return lr times the gradient, with each row shortened to at most `FARTHEST`.

    A row of infinite length becomes NaN, so that the training notices it.
    """
    length = gradient.abs() if gradient.ndim == 1 else torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
    return gradient * torch.where(length.isinf(), torch.nan, (FARTHEST / length).clamp(max=lr))
