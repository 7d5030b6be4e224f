"""Draw noise words in torch: on any device, from any number of words, inside a compiled graph.

with replacement    a random cell of the alias table, and 32 random bits compared with its threshold
                    (`unhot.noise.alias`, the table of the kernels)
without             the k words whose exponential waiting times at rate q end first; drawing until k words
                    are different gives the same distribution
learned             the position of a uniform random number among the running sums of counts
tempered            the largest of log P / temperature + Gumbel noise
"""

import numpy as np
import torch
from torch import Tensor

from unhot.nn.number_types import exact_type
from unhot.noise.alias import alias_table
from unhot.types import Doubles

STEPS = 40  # steps of Newton's method, which needs 5 to 40


def alias_tensors(q: Doubles) -> tuple[Tensor, Tensor]:
    """Return the threshold (32 bits) and the alias of each cell: int64 and int32 [words]."""
    table = alias_table(q)
    threshold, alias = table >> np.uint64(32), table & np.uint64(0xFFFFFFFF)
    return torch.from_numpy(threshold.astype(np.int64)), torch.from_numpy(alias.astype(np.int32))


def draw_alias(threshold: Tensor, alias: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Draw ids from an alias table."""
    cell = torch.randint(threshold.shape[0], shape, device=threshold.device)
    bits = torch.randint(1 << 32, shape, device=threshold.device)
    return torch.where(bits < threshold[cell], cell, alias[cell].long())


def draw_weights(weights: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Draw ids in proportion to weights [words], float64."""
    ends = weights.cumsum(0)
    at = torch.rand(shape, dtype=weights.dtype, device=weights.device) * ends[-1]
    return torch.searchsorted(ends, at, right=True).clamp(max=weights.shape[0] - 1)


def draw_different(q: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Draw ids from q that differ along the last dimension, as if drawing until enough are different."""
    waits = torch.empty((*shape[:-1], q.shape[0]), dtype=q.dtype, device=q.device).exponential_() / q
    return waits.topk(shape[-1], largest=False).indices


def draw_tempered(log_prob: Tensor, n: int, temperature: float, generator: torch.Generator | None) -> Tensor:
    """Draw ids for each row of log-probabilities: [batch, n].

    The argmax of log P / temperature + Gumbel noise is an exact draw for any number of words. Minus the log
    of an exponential waiting time is Gumbel noise.
    """
    if temperature == 0:
        return log_prob.argmax(dim=-1, keepdim=True).expand(-1, n)
    # float32 has too few small numbers for a big vocabulary
    wait = torch.empty_like(log_prob, dtype=exact_type(log_prob.device))
    # the best score stays finite for any temperature
    tempered = (log_prob - log_prob.amax(dim=-1, keepdim=True)) / temperature
    rounds = [(tempered - wait.exponential_(generator=generator).log()).argmax(dim=-1) for _ in range(n)]
    return torch.stack(rounds, dim=-1)


def expected_different(q: Tensor, k: int) -> Tensor:
    """Return how often each word is expected among k different draws.

    This is `unhot.noise.expected.expected_counts` in torch, for learned noise q.
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
