"""The two links of all layers, which turn scores into losses, in torch.

logistic    sum over columns of  weight softplus(s) - label s
softmax     log Z - s(t),  Z = sum over columns of exp s
"""

import torch
from torch import Tensor
from torch.nn import functional


def yes(scores: Tensor) -> Tensor:
    """Return the loss of columns with label 1: -log sigmoid(s)."""
    return -functional.logsigmoid(scores)


def no(scores: Tensor) -> Tensor:
    """Return the loss of columns with label 0: -log sigmoid(-s)."""
    return -functional.logsigmoid(-scores)


def masked(scores: Tensor, gone: Tensor) -> Tensor:
    """Return scores with the lowest finite number where `gone`, so that exp is 0 and gradients are finite."""
    return scores.masked_fill(gone, torch.finfo(scores.dtype).min)


def hits(draws: Tensor, target: Tensor, known: Tensor) -> Tensor:
    """Return which draws [k] or [batch, k] are one of an example's targets [batch, true]: [batch, k] bool."""
    same = draws.reshape(-1, 1, draws.shape[-1]) == target[:, :, None]  # [batch, true, k]
    return (same & known[:, :, None]).any(dim=1)


def first_of_equals(target: Tensor, known: Tensor) -> Tensor:
    """Return which known targets [batch, true] do not occur further left, so that each counts once."""
    same = (target[:, :, None] == target[:, None, :]) & known[:, None, :]  # [batch, one, other]
    return known & ~same.tril(diagonal=-1).any(dim=2)
