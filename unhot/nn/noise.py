"""Draws of noise words in torch: on any device, of any number of words, inside a compiled graph.

with replacement    a cell of the alias table and 32 random bits against its threshold (`unhot.noise.alias`,
                    the kernels' own table)
without             the k words whose exponential waits at rate q end first: the order in which a draw until k
                    are different finds them
learned             where a uniform number falls in the sums of what was counted so far
tempered            the largest of log P / temperature + Gumbel noise
"""

import numpy as np
import torch
from torch import Tensor

from unhot.nn.number_types import exact_type
from unhot.noise.alias import alias_table
from unhot.types import Doubles

STEPS = 40  # Newton takes 5 to 40


def alias_tensors(q: Doubles) -> tuple[Tensor, Tensor]:
    """Threshold (of 32 bits) and alias of each cell: int64 and int32 [words]."""
    table = alias_table(q)
    threshold, alias = table >> np.uint64(32), table & np.uint64(0xFFFFFFFF)
    return torch.from_numpy(threshold.astype(np.int64)), torch.from_numpy(alias.astype(np.int32))


def draw_alias(threshold: Tensor, alias: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Ids from an alias table."""
    cell = torch.randint(threshold.shape[0], shape, device=threshold.device)
    bits = torch.randint(1 << 32, shape, device=threshold.device)
    return torch.where(bits < threshold[cell], cell, alias[cell].long())


def draw_weights(weights: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Ids in proportion to weights [words], float64."""
    ends = weights.cumsum(0)
    at = torch.rand(shape, dtype=weights.dtype, device=weights.device) * ends[-1]
    return torch.searchsorted(ends, at, right=True).clamp(max=weights.shape[0] - 1)


def draw_different(q: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Different ids along the last dimension, as drawing from q until there are enough finds them."""
    waits = torch.empty((*shape[:-1], q.shape[0]), dtype=q.dtype, device=q.device).exponential_() / q
    return waits.topk(shape[-1], largest=False).indices


def draw_tempered(log_prob: Tensor, n: int, temperature: float, generator: torch.Generator | None) -> Tensor:
    """Ids for each row of log-probabilities: [batch, n].

    The largest of log P / temperature + Gumbel noise is such a draw, exact for any number of words. The first
    of exponential waits at rate P is the largest with Gumbel noise.
    """
    if temperature == 0:
        return log_prob.argmax(dim=-1, keepdim=True).expand(-1, n)
    # float32 has too few small numbers for many words
    wait = torch.empty_like(log_prob, dtype=exact_type(log_prob.device))
    # the best stays finite, however cold it is
    tempered = (log_prob - log_prob.amax(dim=-1, keepdim=True)) / temperature
    rounds = [(tempered - wait.exponential_(generator=generator).log()).argmax(dim=-1) for _ in range(n)]
    return torch.stack(rounds, dim=-1)


def expected_different(q: Tensor, k: int) -> Tensor:
    """How often each word is expected among k different draws.

    It is `unhot.noise.expected.expected_counts` for a q that is learned.
    """
    if k == q.shape[0]:
        return torch.ones_like(q)
    log_miss = torch.log1p(-q.clamp(max=1.0 - 2.0**-53))
    t = torch.full((), float(k), dtype=q.dtype, device=q.device)
    for _ in range(STEPS):
        exponent = t * log_miss
        short = k + torch.expm1(exponent).sum()
        t = t + (short / -(log_miss * exponent.exp()).sum()).clamp(min=0.0)
    return -torch.expm1(t * log_miss)
