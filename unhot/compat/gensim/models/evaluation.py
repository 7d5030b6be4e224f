"""gensim's two evaluators: they return gensim's structures, but `unhot.evaluate` answers the questions.

The p-value of a correlation r of n pairs is that of the two-sided Student's t-test with n - 2 degrees of
freedom:

    p = I(1 - r^2; (n - 2) / 2, 1 / 2)          I: the regularised incomplete beta function
"""

import math
import os
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import DataError
from unhot.evaluate.analogies import Question, marked, read_analogies
from unhot.evaluate.lookup import Lookup
from unhot.evaluate.similarity import pearson, read_pairs, spearman

METHODS = {"most_similar": "add", "most_similar_cosmul": "mul"}
TINY, ROUNDING = 1e-300, 1e-15  # replaces a zero in the continued fraction; ends its iteration
MOST_TERMS = 1000


class Correlation(NamedTuple):
    """A correlation coefficient, and the probability of one at least as far from zero by chance."""

    statistic: float
    pvalue: float


def word_analogies(
    lookup: Lookup, source: str | os.PathLike[str], method: str, keep_unknown: bool
) -> tuple[float, list[dict[str, Any]]]:
    """Return the accuracy over all sections, and a list of the sections with their questions.

    Each section separates questions answered right from the others. The last one holds all questions.
    """
    relations = []
    for relation in read_analogies(source):  # gensim accepts only one right answer
        first = [question._replace(right=question.right[:1]) for question in relation.questions]
        relations.append(relation._replace(questions=first))
    sections: list[dict[str, Any]] = []
    for relation, marks in zip(relations, marked(lookup, relations, method), strict=True):
        section: dict[str, Any] = {"section": relation.name, "correct": [], "incorrect": []}
        for question, right in zip(relation.questions, marks, strict=True):
            if right is not None or keep_unknown:
                section["correct" if right else "incorrect"].append(_shown(question, lookup))
        sections.append(section)
    total = {
        name: [question for section in sections for question in section[name]]
        for name in ("correct", "incorrect")
    }
    asked_in_all = len(total["correct"]) + len(total["incorrect"])
    sections.append({"section": "Total accuracy", **total})
    return (len(total["correct"]) / asked_in_all if asked_in_all else 0.0), sections


def _shown(question: Question, lookup: Lookup) -> tuple[str, ...]:
    """Return the four words as gensim does: in capitals if case does not matter."""
    words = (question.a, question.b, question.c, *question.right)
    return words if lookup.case == "exact" else tuple(map(str.upper, words))


def word_pairs(
    lookup: Lookup, source: str | os.PathLike[str], keep_unknown: bool
) -> tuple[Correlation, Correlation, float]:
    """Return Pearson's and Spearman's correlation of scores with cosines, and per cent of unknown pairs."""
    pairs = read_pairs(source)
    rows = np.array([(lookup.row(pair.a), lookup.row(pair.b)) for pair in pairs], np.int32)
    known = (rows >= 0).all(axis=1)
    cosines = np.zeros(len(pairs))
    cosines[known] = np.einsum("ij,ij->i", lookup.units(rows[known, 0]), lookup.units(rows[known, 1]))
    counted = known | keep_unknown
    if not counted.any():
        raise DataError(
            f"{os.fspath(source)}: no pair has two known words: check the language and the case of the words"
        )
    scores = np.array([pair.score for pair in pairs])[counted]
    linear, ranked = pearson(scores, cosines[counted]), spearman(scores, cosines[counted])
    return (
        Correlation(linear, p_value(linear, len(scores))),
        Correlation(ranked, p_value(ranked, len(scores))),
        100.0 * float((~known).sum()) / len(pairs),
    )


def p_value(r: float, n: int) -> float:
    """Return the p-value of a correlation r of n pairs; NaN for fewer than three pairs."""
    if n < 3 or math.isnan(r):
        return math.nan
    return incomplete_beta(max(0.0, 1.0 - r * r), (n - 2) / 2, 0.5)


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Compute the regularised incomplete beta function by its continued fraction.

    >>> round(incomplete_beta(0.5, 2.0, 2.0), 12)
    0.5
    """
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1) / (a + b + 2):  # here the fraction converges slowly; use I(x; a, b) = 1 - I(1 - x; b, a)
        return 1.0 - incomplete_beta(1.0 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    fraction = d = 1.0 / (1.0 - (a + b) * x / (a + 1))
    c = 1.0
    # Lentz's method: evaluate the fraction from the front; c and d are ratios of successive numerators and
    # denominators
    for m in range(1, MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / (1.0 + term * d or TINY)
            c = 1.0 + term / c or TINY
            fraction *= c * d
        if abs(c * d - 1.0) < ROUNDING:
            break
    return math.exp(log_front) / a * fraction
