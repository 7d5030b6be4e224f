"""Differentiated softmax: one softmax over all words, where rare words use less of the hidden vector.

Words are sorted by count and cut into bands. The hidden vector is cut into as many slices, and band j uses
only slice h_j:

    s(w) = h_j . o_w   for w in band j,   L = -s(t) + log Z,   Z = sum_w exp s(w) over all words of all bands

`cutoffs=2000,10000` are the ranks where bands end, `widths=64,32,32` the lengths of the slices. By default
the first band holds the words that make up 80 % of the text, the second the words up to 95 %. The first slice
is half of the hidden vector, each next slice half of what is left, and the last slice the rest.

Converges to  s -> log P(w | h) + K(h), as far as a band's slice can tell its words apart.
Limits        with one band it is the softmax. In general it is the softmax with output vectors that are zero
              outside their slice.
Cost          O(sum over bands of words times width) per input: with bands of 2,000, 8,000 and 90,000 words
              and widths 64, 32 and 32, about a quarter of the softmax.
Normalised    yes: log_prob is log-softmax(s).
Wins          where memory for the output vectors is short: most words are rare, and rare words have short
              vectors.
Reference     Chen, Grangier & Auli, Strategies for training large vocabulary neural language models, 2016.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unhot.errors import ConfigError, whole
from unhot.outputs.bands import (
    AUTO,
    BANDS,
    checked_cutoffs,
    checked_numbers,
    cutoffs_of,
    given_numbers,
    ranked,
)
from unhot.outputs.layer import KEEP, LogProbabilityLayer, output
from unhot.probability import log_sum_exp
from unhot.types import Counts, Doubles, Ids


class Band(NamedTuple):
    """The words of a band, and the slice first .. last - 1 of the hidden vector that they use."""

    ids: Ids
    first: int
    last: int


@output("differentiated")
@dataclass(frozen=True, kw_only=True)
class Differentiated(LogProbabilityLayer):
    """Softmax over all words, with shorter vectors for rarer words."""

    cutoffs: str = AUTO  # auto, or the ranks where bands end, such as 2000,10000
    widths: str = AUTO  # auto, or the length of each band's slice of the hidden vector, such as 64,32,32
    bias: bool = False  # learn a bias for each word

    compiled = False
    predicts = "contexts"
    all_rows = True

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        object.__setattr__(self, "cutoffs", checked_cutoffs("differentiated:cutoffs", self.cutoffs))
        object.__setattr__(self, "widths", checked_numbers("differentiated:widths", self.widths))
        ends, widths = given_numbers(self.cutoffs), given_numbers(self.widths)
        if ends and widths and len(widths) != len(ends) + 1:
            raise ConfigError(
                f"differentiated:widths={self.widths}: "
                f"must be {len(ends) + 1} numbers, one for each band of cutoffs={self.cutoffs}"
            )

    def bands(self, counts: Counts, dim: int) -> list[Band]:
        """Return the bands, the most frequent words first: the words of each and the slice they use.

        The lengths of slices are as given, or half of what is left.
        """
        dim = whole("dim", dim, 1)
        most = min(len(given_numbers(self.widths)) or BANDS, dim)
        ends = [*cutoffs_of("differentiated:cutoffs", self.cutoffs, counts, most), counts.size]
        bands = len(ends)
        if bands > dim:
            raise ConfigError(
                f"differentiated:cutoffs={self.cutoffs}: "
                f"{bands} bands need dim >= {bands}, but dim is {dim}; give fewer cutoffs"
            )
        widths = given_numbers(self.widths)
        if widths and (len(widths) != bands or sum(widths) != dim):
            raise ConfigError(
                f"differentiated:widths={self.widths}: "
                f"must be {bands} numbers, one for each band, whose sum is dim={dim}"
            )
        left = dim
        for behind in range(bands - 1, -1, -1) if not widths else ():
            widths.append(max(1, min(left // 2, left - behind)) if behind else left)
            left -= widths[-1]
        last = np.cumsum(widths).tolist()
        words = np.split(ranked(counts), ends[:-1])
        return [Band(*band) for band in zip(words, [0, *last], last, strict=False)]

    def grown_rows(self, moved: Ids) -> Ids:
        """Refuse a grown vocabulary: other counts would move words to bands with slices of other lengths."""
        raise ConfigError(
            "differentiated: which slice of the hidden vector a word uses depends on its count, so training "
            f"cannot continue with other words or counts: {KEEP}, or start from the vectors alone"
        )

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """Compute the loss by the formula above, from scores that were made from the slices."""
        return float(log_sum_exp(scores) - scores[target])
