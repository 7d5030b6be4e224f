"""Scores of pairs: how strongly two words belong together.

a and b are the counts of the two words, ab is the count of the first followed by the second, and n is the
number of all words of the text:

    word2vec   (ab - min_count) / (a b) n              as in word2phrase
    gensim     (ab - min_count) / (a b) different      gensim's default; different: the number of different
                                                       words (without connectors) plus different pairs
    npmi       log(p(ab) / (p(a) p(b))) / -log p(ab)   p = count / n; 1: never apart, 0: as by chance, -1:
                                                       never together

References: Mikolov et al., Distributed representations of words and phrases and their compositionality, 2013;
Bouma, Normalized (pointwise) mutual information in collocation extraction, 2009.
"""

import numpy as np

from unhot.types import Counts, Doubles

THRESHOLDS = {"word2vec": 100.0, "gensim": 10.0, "npmi": 0.5}  # defaults
SCORES = tuple(THRESHOLDS)


def pair_scores(
    score: str, min_count: int, a: Counts, b: Counts, ab: Counts, n: int, different: int
) -> Doubles:
    """Return the scores of pairs whose words were seen a and b times, and as neighbours ab times."""
    if score == "npmi":
        p_a, p_b = a / float(n), b / float(n)
        p_ab = ab / float(n)
        return np.asarray(np.log(p_ab / (p_a * p_b)) / -np.log(p_ab), np.float64)
    times = n if score == "word2vec" else different
    return np.asarray((ab - min_count) / (a.astype(np.float64) * b) * times, np.float64)
