"""Differentiated softmax: one softmax over all words, for which rare words see less of the hidden vector.

Words are put into bands by falling count; the hidden vector is cut into as many slices, and band j sees only
slice h_j:

    s(w) = h_j . o_w   for w in band j,   L = -s(t) + log Z,   Z = sum_w exp s(w) over all words of all bands

`cutoffs=2000,10000` are the ranks where bands end, `widths=64,32,32` the numbers of the hidden vector that
each band sees. By itself the first band holds the words that make up 80 % of the text, the second those up to
95 %; the first sees half of the hidden vector, each next one half of what is left, and the last one the rest.

Converges to  s -> log P(w | h) + K(h), as far as a band's slice can tell its words apart.
Limits        one band is the softmax. It is the softmax with output vectors that are zero outside their
              slice.
Cost          O(sum over bands of words times width) an input: with bands of 2,000, 8,000 and 90,000 words and
              64, 32 and 32 numbers, about a quarter of the softmax.
Normalised    yes: log_prob is log-softmax(s).
Wins          where memory for the output vectors is short: rare words are most of the words, and have the
              narrow rows.
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
    """Some words, and the slice first .. last - 1 of the hidden vector that they see."""

    ids: Ids
    first: int
    last: int


@output("differentiated")
@dataclass(frozen=True, kw_only=True)
class Differentiated(LogProbabilityLayer):
    """Softmax over all words, with narrower vectors for rarer ones."""

    cutoffs: str = AUTO  # auto, or the ranks where bands end, such as 2000,10000
    widths: str = AUTO  # auto, or how many numbers each band sees, such as 64,32,32
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
        """The words of each band, the most frequent first, and the slice they see."""
        dim = whole("dim", dim, 1)
        most = min(len(given_numbers(self.widths)) or BANDS, dim)
        ends = [*cutoffs_of("differentiated:cutoffs", self.cutoffs, counts, most), counts.size]
        words = np.split(ranked(counts), ends[:-1])
        last = np.cumsum(self._widths(len(ends), dim)).tolist()
        return [Band(*band) for band in zip(words, [0, *last], last, strict=False)]

    def _widths(self, bands: int, dim: int) -> list[int]:
        """How many numbers each band sees: given, or half of what is left."""
        if bands > dim:
            raise ConfigError(
                f"differentiated:cutoffs={self.cutoffs}: "
                f"{bands} bands need a dim of {bands} at least, not {dim}; give fewer"
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
        return widths

    def grown_rows(self, moved: Ids) -> Ids:
        """Other counts would put words into other bands, whose slices their vectors do not fit."""
        raise ConfigError(
            "differentiated: which part of the hidden vector a word sees comes from its count, so it cannot "
            f"go on with other words or counts: {KEEP}, or start from the vectors alone"
        )

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """The formula above, of scores that were made from the slices."""
        return float(log_sum_exp(scores) - scores[target])
