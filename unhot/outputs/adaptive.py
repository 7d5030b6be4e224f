"""Adaptive softmax: one softmax for frequent words, and clusters of rare words with shorter vectors.

Words are sorted by count and cut into clusters. The head is a softmax over the words of the first cluster and
one entry c_j for each other cluster, the tails j = 0, 1, ... Tail j projects the hidden vector by P_j to h_j
= dim // div_value^(j + 1) numbers and has its own softmax:

    P(w | h) = head(w)                                 for a word of the head
    P(w | h) = head(c_j) tail_j(w)                     for a word of tail j, scores o_w . (P_j h)
    L = -log P(t | h)

`cutoffs=2000,10000` are the ranks where clusters end. By default the head holds the words that make up 80 %
of the text, the first tail the words up to 95 %, the second tail the rest. With `bias=true` the head has
biases; the tails never have biases.

Converges to  log_prob -> log P(w | h), as far as a tail's narrow vectors can tell its words apart.
Limits        without tails it is the softmax. With div_value=1 it is class_based where each word of the head
              and each tail is a class. It equals torch.nn.AdaptiveLogSoftmaxWithLoss, but takes ids in any
              order.
Cost          O(head dim) per target, plus O(dim h_j + words of the tail h_j) for a word of tail j.
Normalised    yes, exactly.
Wins          on accelerators with big vocabularies: it needs few matrix products, each of them large, and
              most targets need only the head.
Reference     Grave et al., Efficient softmax approximation for GPUs, 2017.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from unhot.errors import ConfigError, at_least, whole
from unhot.outputs.bands import AUTO, checked_cutoffs, cutoffs_of, ranked
from unhot.outputs.layer import OutputLayer, log_share, output
from unhot.probability import log_softmax, log_sum_exp
from unhot.types import Counts, Doubles, Ids


class Clusters(NamedTuple):
    """The words sorted by count, and the ranks where the head and each tail end."""

    order: Ids  # [words] ids, the most frequent first
    cutoffs: tuple[int, ...]  # [1 + tails] the end of the head first, the number of words last


@output("adaptive")
@dataclass(frozen=True, kw_only=True)
class Adaptive(OutputLayer):
    """A softmax over frequent words and tails, then a softmax over the words of a tail.

    The output rows are the head's words by rank, a row for each tail, then the tails' words by rank. So the
    word of rank r has row r if it is in the head, and row r + (number of tails) if it is in a tail. The row
    of a tail's word is its vector in the space of the hidden vector, P_j^T o_w.
    """

    cutoffs: str = AUTO  # auto, or the ranks where head and tails end, such as 2000,10000
    div_value: float = 4.0  # the vectors of each tail are this many times shorter than those before
    bias: bool = False  # learn a bias for each row of the head

    compiled = False
    biased = False
    rows_are_words = False

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        object.__setattr__(self, "cutoffs", checked_cutoffs("adaptive:cutoffs", self.cutoffs))
        object.__setattr__(self, "div_value", at_least("adaptive:div_value", self.div_value, 1))

    def clusters(self, counts: Counts) -> Clusters:
        """Return the words by rank and the ends of head and tails."""
        return _clusters(self.cutoffs, np.asarray(counts, np.int64).tobytes())

    def widths(self, counts: Counts, dim: int) -> list[int]:
        """Return the length of the vectors of each tail."""
        dim, widths = whole("dim", dim, 1), []
        for j in range(len(self.clusters(counts).cutoffs) - 1):
            widths.append(int(dim // self.div_value ** (j + 1)))
            if widths[-1] < 1:
                raise ConfigError(
                    f"adaptive:div_value={self.div_value}: with dim={dim} the vectors of tail {j} would have "
                    "length 0; give a smaller div_value, fewer cutoffs or a larger dim"
                )
        return widths

    def rows(self, counts: Counts) -> int:
        """Return the number of output rows: one for each word and each tail."""
        return counts.size + len(self.clusters(counts).cutoffs) - 1

    def batch_columns(self, counts: Counts, size: int) -> int:
        """Return the number of columns of the head and of the largest tail."""
        cutoffs = self.clusters(counts).cutoffs
        return cutoffs[0] + int(max(np.diff(cutoffs), default=0))

    def start_bias(self, counts: Counts) -> Doubles:
        """Return log P of the head's words and of the tails, by their counts; 0 for the tails' words."""
        (order, cutoffs), log_p = self.clusters(counts), log_share(counts)
        out, short = np.zeros(self.rows(counts)), cutoffs[0]
        out[:short] = log_p[order[:short]]
        for j, (first, last) in enumerate(zip(cutoffs, cutoffs[1:], strict=False)):
            out[short + j] = log_sum_exp(log_p[order[first:last]])
        return out

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """Compute the loss by the formula above."""
        order, cutoffs = self.clusters(counts)
        short, tails = cutoffs[0], len(cutoffs) - 1
        rank = int(np.flatnonzero(order == target)[0])
        head = scores[: short + tails]
        if rank < short:
            return float(log_sum_exp(head) - head[rank])
        j = int(np.searchsorted(cutoffs, rank, side="right")) - 1
        tail = scores[tails + cutoffs[j] : tails + cutoffs[j + 1]]
        return float(log_sum_exp(head) - head[short + j] + log_sum_exp(tail) - tail[rank - cutoffs[j]])

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """Return log P of all words: that in the head, plus for a tail's words that in the tail."""
        order, cutoffs = self.clusters(counts)
        short, tails = cutoffs[0], len(cutoffs) - 1
        head, out = log_softmax(scores[..., : short + tails]), np.empty((*scores.shape[:-1], counts.size))
        out[..., order[:short]] = head[..., :short]
        for j, (first, last) in enumerate(zip(cutoffs, cutoffs[1:], strict=False)):
            within = log_softmax(scores[..., tails + first : tails + last])
            out[..., order[first:last]] = head[..., short + j, None] + within
        return out


@lru_cache(maxsize=2)
def _clusters(cutoffs: str, counts: bytes) -> Clusters:
    """Compute the clusters; cached, because every loss asks for them."""
    given = np.frombuffer(counts, np.int64)
    return Clusters(ranked(given), (*cutoffs_of("adaptive:cutoffs", cutoffs, given), given.size))
