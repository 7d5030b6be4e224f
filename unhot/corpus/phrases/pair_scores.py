"""How much two words belong together: the scores of pairs.

With the counts of the words a and b, of a followed by b (ab), and of all words of the text (n):

    word2vec   (ab - min_count) / (a b) n              as in word2phrase
    gensim     (ab - min_count) / (a b) different      gensim's default; different: words, connectors apart,
                                                       and pairs of words
    npmi       log(p(ab) / (p(a) p(b))) / -log p(ab)   p = count / n; 1: never apart, 0: as by chance, -1:
                                                       never together

References: Mikolov et al., Distributed representations of words and phrases and their compositionality, 2013;
Bouma, Normalized (pointwise) mutual information in collocation extraction, 2009.
"""

import numpy as np

from unhot.types import Counts, Doubles

THRESHOLDS = {"word2vec": 100.0, "gensim": 10.0, "npmi": 0.5}  # usual ones
SCORES = tuple(THRESHOLDS)


def pair_scores(
    score: str, min_count: int, a: Counts, b: Counts, ab: Counts, n: int, different: int
) -> Doubles:
    """The scores of pairs whose words were seen a and b times, and together ab times."""
    if score == "npmi":
        p_a, p_b = a / float(n), b / float(n)
        p_ab = ab / float(n)
        return np.asarray(np.log(p_ab / (p_a * p_b)) / -np.log(p_ab), np.float64)
    times = n if score == "word2vec" else different
    return np.asarray((ab - min_count) / (a.astype(np.float64) * b) * times, np.float64)
