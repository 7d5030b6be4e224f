"""Jelinek-Mercer: each history is mixed with its shorter one, by a weight learned on held-out text.

    p(w | h) = l ML(w | h) + (1 - l) p(w | h')

ML is the share c(hw) / c(h). Histories with similar counts have one weight: l depends on the order and on
floor(log2 c(h)). Below single words, p = 1 / V. The weights are those under which held-out lines are most
likely, found by expectation maximisation: with t_k the part of p(w | h) that comes from order k, and t_0 that
of 1 / V,

    l <- sum of t_k / p / sum of (t_0 + ... + t_k) / p      over the held-out tokens whose history of order k
                                                            has this weight

Each tenth line is held out by default. The weights are learned with counts of the other lines; the model then
has these weights, and the counts of all lines.

Reference: Jelinek and Mercer, Interpolated estimation of Markov source parameters from sparse data, 1980.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from unhot.kernels.jit import kernel
from unhot.ngrams.levels import NgramCounts
from unhot.ngrams.smoothing.smoothing import Ngram, Note, Rule, Smoothing, Tables, Tally, smoothing
from unhot.ngrams.symbols import BEGIN, Sorted, bucket_of, key_of, seek
from unhot.types import Doubles, Ids

BUCKETS = 64
ROUNDS = 30
START = 0.5  # the weight before the first round, and that of histories no held-out token has


@smoothing("jelinek_mercer")
@dataclass(frozen=True)
class JelinekMercer(Smoothing):
    """l c / S + (1 - l) p'."""

    held_out: int = 10  # weights are learned on each held_out-th line

    limits = {"held_out": (2, np.inf)}

    @property
    def step(self) -> int:
        """Each so many-th line is held out."""
        return self.held_out

    def rule(self, tally: Tally, note: Note) -> Rule:
        """Divide by S / l."""
        return Rule(weights=tally.weights)

    def reference(self, tables: Tables, history: Ngram, word: str) -> float:
        """Compute the formula with the weights of the tables."""
        weights = tables.weights
        return tables.mixed(lambda order, total, _: weights[order][total.bit_length() - 1], history, word)


def learned_weights(counts: NgramCounts, tokens: Ids, words: int) -> list[Doubles]:
    """Learn the weights of each order; `tokens`: the held-out lines, `counts`: those of the other lines."""
    shares = np.zeros((counts.order, tokens.size))
    buckets = np.full((counts.order, tokens.size), -1, np.int8)
    total = float(counts.level(1).counts.sum() - counts.level(1).counts[BEGIN])
    nodes = tokens.astype(np.int64)
    one = counts.level(1)
    list_words(tokens, one.counts, total, shares[0], buckets[0])
    for order in range(2, counts.order + 1):
        before, here = counts.level(order - 1), counts.level(order)
        found = np.full(tokens.size, -1, np.int64)
        list_longer(
            tokens, nodes, before.begins, before.counts, here.keys, here.counts, counts.keys, found,
            shares[order - 1], buckets[order - 1],
        )  # fmt: skip
        nodes = found
    weights = np.full((counts.order, BUCKETS), START)
    for _ in range(ROUNDS):
        sums = np.zeros((counts.order, BUCKETS, 2))
        expect(tokens, shares, buckets, weights, 1 / words, np.zeros(counts.order + 1), sums)
        reached = sums[:, :, 1] > 0
        weights[reached] = sums[reached, 0] / sums[reached, 1]
    return list(weights)


@kernel
def list_words(tokens: Any, counts: Any, total: Any, shares: Any, buckets: Any) -> None:
    """Write the share of each token among all words, and the bucket of the empty history."""
    bucket = bucket_of(total)
    for i in range(tokens.size):
        if tokens[i] != BEGIN:
            shares[i] = counts[tokens[i]] / total
            buckets[i] = bucket


@kernel
def list_longer(
    tokens: Any, nodes: Any, begins: Any, before: Any, level_keys: Any, counts: Any, keys: Any, found: Any,
    shares: Any, buckets: Any,
) -> None:  # fmt: skip
    """Write the share of each token after its history of one word more, and the bucket of that history.

    nodes[i]: the n-gram that ends with token i, one word shorter than those looked for, -1: not seen.
    """
    for i in range(1, tokens.size):
        history = nodes[i - 1]
        if tokens[i] == BEGIN or history < 0 or begins[history] == begins[history + 1]:
            continue
        total = float(before[history])
        buckets[i] = bucket_of(total)
        key = key_of(keys, np.int64(tokens[i]))
        end = np.int64(begins[history + 1])
        at = seek(Sorted(level_keys), np.int64(begins[history]), end, key, keys.bits)
        if at < end and level_keys[at] == key:
            found[i] = at
            shares[i] = counts[at] / total


@kernel
def expect(tokens: Any, shares: Any, buckets: Any, weights: Any, uniform: Any, parts: Any, sums: Any) -> None:
    """Add for each token and order: the part of p that comes from it, and from it and lower ones."""
    for i in range(tokens.size):
        if tokens[i] == BEGIN:
            continue
        parts[0] = uniform
        p = uniform
        orders = 0
        for order in range(shares.shape[0]):
            if buckets[order, i] < 0:
                break
            weight = weights[order, buckets[order, i]]
            for k in range(order + 1):
                parts[k] *= 1.0 - weight
            parts[order + 1] = weight * shares[order, i]
            p = p * (1.0 - weight) + parts[order + 1]
            orders += 1
        lower = parts[0]
        for order in range(orders):
            lower += parts[order + 1]
            sums[order, buckets[order, i], 0] += parts[order + 1] / p
            sums[order, buckets[order, i], 1] += lower / p
