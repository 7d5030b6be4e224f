"""Softmax probabilities, random draws from them, the Gumbel distribution, entropies and estimates.

    softmax      p(i) = exp(s_i / T) / sum_j exp(s_j / T)
    Gumbel-max   argmax_i (s_i / T + G_i), G_i = -log(-log U_i), is a draw from the softmax
    Gumbel       P(G <= x) = exp(-exp(-(x - location) / scale))
    entropy      H(p) = -sum p log p;  H(p, r) = -sum p log r;  KL(p, r) = H(p, r) - H(p)

All functions compute in float64, work on the last axis of arrays of any rank, and measure in nats. An array
of one axis gives a NumPy scalar. A score of -inf marks an impossible id (probability 0, never drawn). Scores
of +inf share all the probability evenly. NaN raises a `DataError`.
"""

from unhot.probability.entropies import (
    binary_cross_entropy,
    bits,
    cross_entropy,
    entropy,
    kl_divergence,
    nats,
    perplexity,
)
from unhot.probability.estimates import Estimate, importance_sampling, monte_carlo, uniform_monte_carlo
from unhot.probability.gumbel_noise import (
    gumbel,
    gumbel_density,
    gumbel_distribution,
    gumbel_log_density,
    gumbel_log_distribution,
    gumbel_max,
    gumbel_quantile,
    gumbel_top_k,
)
from unhot.probability.scores import log_softmax, log_sum_exp, most_likely, softmax

__all__ = [
    "Estimate",
    "binary_cross_entropy",
    "bits",
    "cross_entropy",
    "entropy",
    "gumbel",
    "gumbel_density",
    "gumbel_distribution",
    "gumbel_log_density",
    "gumbel_log_distribution",
    "gumbel_max",
    "gumbel_quantile",
    "gumbel_top_k",
    "importance_sampling",
    "kl_divergence",
    "log_softmax",
    "log_sum_exp",
    "monte_carlo",
    "most_likely",
    "nats",
    "perplexity",
    "softmax",
    "uniform_monte_carlo",
]
