"""TensorFlow's candidate samplers: they draw classes for a whole batch and return their expected counts.

    log_uniform        q(i) = log((i + 2) / (i + 1)) / log(range_max + 1): about Zipf's law, for ids sorted by
                       descending count
    uniform            q(i) = 1 / range_max
    fixed_unigram      q(i) proportional to weight(i) ** distortion
    learned_unigram    q(i) proportional to 1 + how often i was a true class so far
    all                every class once

Each returns (sampled_candidates, true_expected_count, sampled_expected_count). With `unique=False` draws are
independent, and the expected count is num_sampled q. With `unique=True` classes are drawn until num_sampled
are distinct. Then the expected count is 1 - (1 - q) ** tries, where tries is what this call took, or
num_sampled q if no draw was repeated.

True classes can be drawn, too. Draws come from torch's CPU generator, so they are the same on every device. A
`seed` that is a number gives the same draws in every call; a `torch.Generator` continues its sequence. Only
`learned_unigram` with `unique=True` waits for a GPU. With `unique=False` and no seed, all samplers but
`fixed_unigram` can be part of a graph of `torch.compile`.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from unhot.errors import ConfigError, DataError, finite, whole
from unhot.nn.classes import check_tensor, checked_classes, readable
from unhot.noise import choose
from unhot.noise.distribution import draw_distinct
from unhot.noise.rules import checked_weights
from unhot.tree.given import file_state
from unhot.types import Doubles

PATIENCE = 16  # draws for each distinct id before the race takes over (unhot.noise.distribution)
NO_TABLE = np.zeros(1, np.uint64)  # a race needs no alias table
Seed = int | Generator | None


class Candidates(NamedTuple):
    """The result of a sampler; the names are TensorFlow's."""

    sampled_candidates: Tensor  # [num_sampled], int64
    true_expected_count: Tensor  # [batch, num_true]
    sampled_expected_count: Tensor  # [num_sampled]


class _Rule(NamedTuple):
    """A distribution over classes."""

    draw: Callable[[int, Generator | None], Tensor]  # draws n ids with replacement
    probability: Callable[[Tensor], Tensor]  # returns q of ids, on their device
    possible: int  # the number of ids that can be drawn
    q: Callable[[], Doubles]  # returns q of all ids, as an array that the caller may change


def log_uniform(
    true_classes: Tensor, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: Seed = None,
    *, dtype: torch.dtype = torch.float32,
) -> Candidates:  # fmt: skip
    """Draw by rank, as `tf.random.log_uniform_candidate_sampler`; ids must be sorted by descending count.

    >>> true_classes = torch.tensor([[0], [7]])
    >>> drawn = log_uniform(true_classes, num_true=1, num_sampled=4, unique=True, range_max=50, seed=1)
    >>> drawn.sampled_candidates.unique().numel(), drawn.true_expected_count.shape
    (4, torch.Size([2, 1]))
    """
    range_max = whole("range_max", range_max, 1)
    log_range = math.log1p(range_max)

    def draw(n: int, generator: Generator | None) -> Tensor:
        # the inverse of the distribution function; clamped, because rounding could reach range_max
        rank = torch.rand(n, dtype=torch.float64, generator=generator).mul_(log_range).exp_()
        return rank.long().sub_(1).clamp_(max=range_max - 1)

    rule = _Rule(
        draw,
        lambda ids: torch.log1p(1.0 / (ids.to(dtype) + 1.0)) / log_range,
        range_max,
        lambda: np.log1p(1.0 / np.arange(1, range_max + 1)) / log_range,
    )
    classes = checked_classes("true_classes", true_classes, num_true, range_max)
    return _sample(rule, classes, num_sampled, unique, seed)


def uniform(
    true_classes: Tensor, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: Seed = None,
    *, dtype: torch.dtype = torch.float32,
) -> Candidates:  # fmt: skip
    """Draw all classes with equal probability, as `tf.random.uniform_candidate_sampler`."""
    range_max = whole("range_max", range_max, 1)

    rule = _Rule(
        lambda n, generator: torch.randint(range_max, (n,), generator=generator),
        lambda ids: torch.full(ids.shape, 1.0 / range_max, dtype=dtype, device=ids.device),
        range_max,
        lambda: np.full(range_max, 1.0 / range_max),
    )
    classes = checked_classes("true_classes", true_classes, num_true, range_max)
    return _sample(rule, classes, num_sampled, unique, seed)


def fixed_unigram(
    true_classes: Tensor, num_true: int, num_sampled: int, unique: bool, range_max: int,
    vocab_file: str | Path = "", distortion: float = 1.0, num_reserved_ids: int = 0, num_shards: int = 1,
    shard: int = 0, unigrams: Sequence[float] | NDArray[Any] | Tensor | None = (), seed: Seed = None,
    *, dtype: torch.dtype = torch.float32,
) -> Candidates:  # fmt: skip
    """Draw by given weights, as `tf.random.fixed_unigram_candidate_sampler`.

    Weights come from `unigrams`, or from the last field of each line of `vocab_file`. The first
    `num_reserved_ids` ids have no weight and are never drawn. A shard holds the ids with
    id % num_shards == shard, numbered id // num_shards, and `range_max` is the number of its ids; see
    unhot.noise.choose.

    Tables are cached for the next call with the same weights; comparing an array or a tensor is faster than
    comparing a list.
    """
    classes = checked_classes("true_classes", true_classes, num_true, whole("range_max", range_max, 1))
    if isinstance(unigrams, Tensor):
        # NumPy has no bfloat16, and some devices have no float64
        unigrams = unigrams.detach().cpu().double().numpy()
    given = checked_weights("unigrams", () if unigrams is None else unigrams)
    if bool(vocab_file) == (given.size > 0):
        raise ConfigError("fixed_unigram: give the weights either as unigrams or as vocab_file")
    weights: bytes | str = str(vocab_file) if vocab_file else given.tobytes()
    state = file_state(str(vocab_file)) if vocab_file else None
    reserved, num_shards = whole("num_reserved_ids", num_reserved_ids, 0), whole("num_shards", num_shards, 1)
    shard = whole("shard", shard, 0, num_shards - 1)
    place = finite("distortion", distortion), reserved, num_shards, shard
    q, cumulative, on_device = _table(weights, state, place, classes.device, dtype)
    if q.size != range_max:
        raise ConfigError(
            f"range_max={range_max}: must be {q.size}, the number of ids with weights in this shard of "
            f"{num_shards}, reserved ids included"
        )

    def draw(n: int, generator: Generator | None) -> Tensor:
        at = torch.rand(n, dtype=torch.float64, generator=generator) * cumulative[-1]
        return torch.searchsorted(cumulative, at, right=True)

    rule = _Rule(draw, lambda ids: on_device[ids], int(np.count_nonzero(q)), q.copy)
    return _sample(rule, classes, num_sampled, unique, seed)


@lru_cache(maxsize=8)
def _table(
    weights: bytes | str,
    state: object,
    place: tuple[float, int, int, int],
    device: torch.device,
    dtype: torch.dtype,
) -> tuple[Doubles, Tensor, Tensor]:
    """Return the probabilities of all ids, their running sum, and the probabilities on the device.

    `state` changes with the file, so that a changed file is read again.
    """
    given = choose.file_weights(weights) if isinstance(weights, str) else np.frombuffer(weights, np.float64)
    q = choose.fixed_unigram(given, *place)
    return q, torch.from_numpy(q).cumsum(0), torch.from_numpy(q).to(device, dtype)


def learned_unigram(
    true_classes: Tensor, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: Seed = None,
    *, seen: Tensor, dtype: torch.dtype = torch.float32,
) -> Candidates:  # fmt: skip
    """Draw by how often classes were true so far, as `tf.random.learned_unigram_candidate_sampler`.

    TensorFlow hides the counters in the op. Here they are the argument `seen`, int64 [range_max], which must
    start as ones. A call draws and computes expected counts from the current counters, and then adds its true
    classes to them in place.

    >>> seen = torch.ones(4, dtype=torch.int64)
    >>> drawn = learned_unigram(torch.tensor([[3], [3]]), 1, 2, False, 4, seen=seen)
    >>> drawn.true_expected_count.tolist(), seen.tolist()
    ([[0.5], [0.5]], [1, 1, 1, 3])
    """
    check_tensor("seen", seen)
    if seen.shape != (range_max,) or seen.dtype != torch.int64:
        raise DataError(
            f"seen of shape {tuple(seen.shape)} and type {seen.dtype}: must be int64 of shape "
            f"({range_max},); start with torch.ones"
        )
    if readable(seen) and int(seen.min()) < 1:
        raise DataError(
            f"seen: {int(seen.min())} for id {int(seen.argmin())}: every counter must be at least 1; "
            "start with torch.ones"
        )
    classes = checked_classes("true_classes", true_classes, num_true, range_max)
    cumulative = seen.cumsum(0)

    def draw(n: int, generator: Generator | None) -> Tensor:
        # with whole numbers, no probability is rounded; the bias of the remainder is at most total / 2**62
        ticket = torch.randint(2**62, (n,), generator=generator).to(seen.device) % cumulative[-1]
        return torch.searchsorted(cumulative, ticket, right=True)

    rule = _Rule(
        draw,
        lambda ids: seen[ids].to(dtype) / cumulative[-1].to(dtype),
        range_max,
        lambda: (seen.double() / cumulative[-1]).cpu().numpy(),
    )
    drawn = _sample(rule, classes, num_sampled, unique, seed)
    seen.index_add_(0, classes.reshape(-1), torch.ones_like(classes.reshape(-1)))
    return drawn


def all(
    true_classes: Tensor, num_true: int, num_sampled: int, unique: bool, seed: Seed = None,
    *, dtype: torch.dtype = torch.float32,
) -> Candidates:  # fmt: skip
    """Return every class of 0 .. num_sampled - 1 once, as `tf.random.all_candidate_sampler`.

    Use it for tests, and for few classes.

    `unique` and `seed` exist because TensorFlow has them; nothing here is random.
    """
    num_sampled = whole("num_sampled", num_sampled, 1)
    classes = checked_classes("true_classes", true_classes, num_true, num_sampled)
    ids = torch.arange(num_sampled, device=classes.device)
    return Candidates(ids, torch.ones_like(classes, dtype=dtype), torch.ones_like(ids, dtype=dtype))


def _sample(rule: _Rule, true_classes: Tensor, num_sampled: int, unique: bool, seed: Seed) -> Candidates:
    """Draw, and compute the expected counts of the true classes and of the draws."""
    k = whole("num_sampled", num_sampled, 1)
    generator = seed
    if generator is not None and not isinstance(generator, Generator):
        generator = Generator().manual_seed(whole("seed", seed, 0, 2**63 - 1))
    ids, tries = _distinct(rule, k, generator) if unique else (rule.draw(k, generator), float(k))
    ids = ids.to(true_classes.device)
    return Candidates(ids, *(_expected(rule.probability(of), k, tries) for of in (true_classes, ids)))


def _expected(q: Tensor, k: int, tries: float) -> Tensor:
    """Return the expected counts of ids of probability q by TensorFlow's rule (`unhot.noise.expected`)."""
    return k * q if tries == k else -torch.expm1(tries * torch.log1p(-q))


def _distinct(rule: _Rule, k: int, generator: Generator | None) -> tuple[Tensor, float]:
    """Draw until k ids are distinct, in the order of their first appearance, and count the tries.

    If the last ids are too rare to wait for, a race gives them with exactly the same distribution (see
    unhot.noise.distribution).
    """
    if k > rule.possible:
        raise ConfigError(
            f"num_sampled={k} distinct draws: "
            f"must be <= {rule.possible}, the number of classes that can be drawn"
        )
    drawn = rule.draw(2 * k, generator).cpu()
    while True:
        first = np.sort(np.unique(drawn.numpy(), return_index=True)[1])
        if first.size >= k:
            return drawn[first[:k]], float(first[k - 1]) + 1.0
        if drawn.numel() >= PATIENCE * k:
            break
        drawn = torch.cat([drawn, rule.draw(drawn.numel(), generator).cpu()])
    q = rule.q()
    q[drawn[first].numpy()] = 0.0
    rest, waits = draw_distinct(
        q, NO_TABLE, k - first.size, int(torch.randint(2**62, (), generator=generator)), 0
    )
    return torch.cat([drawn[first], torch.from_numpy(rest).long()]), float(drawn.numel()) + float(waits)
