"""Interpolated Kneser-Ney: absolute discounting in which lower orders count histories, not occurrences.

    p(w | h) = max(a(hw) - D, 0) / sum_v a(hv) + gamma(h) p(w | h')      D = n1 / (n1 + 2 n2)

The adjusted count a of an n-gram is its count c in the highest order, and the number of different words
before it in lower orders: "Francisco" is frequent, but only after "San", so alone it is improbable. N-grams
that begin with `<s>` keep c, for nothing stands before them. gamma(h) is the mass that the discounts took,
n_r the number of n-grams of the order with a = r. Below single words, p = 1 / V.

References: Kneser and Ney, Improved backing-off for m-gram language modeling, 1995; Chen and Goodman, An
empirical study of smoothing techniques for language modeling, 1998.
"""

from dataclasses import dataclass

from unhot.ngrams.smoothing.absolute_discounting import AbsoluteDiscounting
from unhot.ngrams.smoothing.smoothing import smoothing


@smoothing("kneser_ney")
@dataclass(frozen=True)
class KneserNey(AbsoluteDiscounting):
    """(a - D) / sum of a."""

    adjusted = True
