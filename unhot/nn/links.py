"""From scores to losses, in torch: the two links that all layers are made of.

logistic    sum over columns of  weight softplus(s) - label s
softmax     log Z - s(t),  Z = sum over columns of exp s
"""

import torch
from torch import Tensor
from torch.nn import functional


def yes(scores: Tensor) -> Tensor:
    """The loss of columns that are right: -log sigmoid(s)."""
    return -functional.logsigmoid(scores)


def no(scores: Tensor) -> Tensor:
    """The loss of columns that are wrong: -log sigmoid(-s)."""
    return -functional.logsigmoid(-scores)


def masked(scores: Tensor, gone: Tensor) -> Tensor:
    """Scores of which some vanish from every sum of exponentials; finite, so that gradients are, too."""
    return scores.masked_fill(gone, torch.finfo(scores.dtype).min)


def hits(draws: Tensor, target: Tensor, known: Tensor) -> Tensor:
    """Which draws [k] or [batch, k] are one of the example's targets [batch, true]: [batch, k] bool."""
    same = draws.reshape(-1, 1, draws.shape[-1]) == target[:, :, None]  # [batch, true, k]
    return (same & known[:, :, None]).any(dim=1)


def first_of_equals(target: Tensor, known: Tensor) -> Tensor:
    """Known targets [batch, true] without those that stand further left, too: a set counts each once."""
    same = (target[:, :, None] == target[:, None, :]) & known[:, None, :]  # [batch, one, other]
    return known & ~same.tril(diagonal=-1).any(dim=2)
