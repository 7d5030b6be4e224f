"""The phrases of a text, in one pass: count pairs, score how much their words belong together, take the best.

With the counts of the words a and b, of a followed by b (ab), and of all words of the text (n):

    word2vec   (ab - min_count) / (a b) n              as in word2phrase
    gensim     (ab - min_count) / (a b) different      gensim's default; different: words, connectors apart,
                                                       and pairs of words
    npmi       log(p(ab) / (p(a) p(b))) / -log p(ab)   p = count / n; 1: never apart, 0: as by chance, -1:
                                                       never together

References: Mikolov et al., Distributed representations of words and phrases and their compositionality, 2013;
Bouma, Normalized (pointwise) mutual information in collocation extraction, 2009.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.phrases.growing_text import GrowingText
from unhot.corpus.phrases.joining import connector_flags
from unhot.corpus.phrases.pair_counts import count_pairs, first_words, left_sides, words_of
from unhot.corpus.phrases.pair_kernels import FrequentPairs
from unhot.corpus.phrases.phrase_file import ScoredPhrase
from unhot.types import Counts, Doubles

THRESHOLDS = {"word2vec": 100.0, "gensim": 10.0, "npmi": 0.5}  # usual ones
SCORES = tuple(THRESHOLDS)


class Finding(NamedTuple):
    """How, see `Phrases`."""

    score: str
    target: int | None
    min_count: int
    connectors: frozenset[str]
    threads: int
    memory: int  # bytes


def find_phrases(text: GrowingText, how: Finding, threshold: float, folder: Path) -> list[ScoredPhrase]:
    """The phrases, best first; `folder`: for files meanwhile."""
    connectors = connector_flags(text.index, how.connectors)
    lefts = left_sides(text, connectors, how.memory, folder)
    pairs, different = count_pairs(
        text,
        lefts,
        least=least_count(how.score, how.min_count),
        rare=how.score == "gensim",
        threads=how.threads,
        memory=how.memory,
    )
    a, b = text.counts[first_words(lefts, text.counts.size, pairs.lefts)], text.counts[pairs.words]
    kinds = int(np.count_nonzero(text.counts[connectors == 0])) + different
    scores = pair_scores(how, a, b, pairs.counts, text.tokens, kinds)
    words, entries = list(text.index), list[ScoredPhrase]()
    for place in best_pairs(pairs, scores, threshold, how.target).tolist():
        ids = [*words_of(lefts, len(words), int(pairs.lefts[place])), int(pairs.words[place])]
        entries.append((tuple(words[i] for i in ids), float(scores[place]), int(pairs.counts[place])))
    return entries


def least_count(score: str, min_count: int) -> int:
    """How often a pair must be seen for a score that is not too low, with any threshold >= 0."""
    return min_count if score == "npmi" else min_count + 1


def pair_scores(how: Finding, a: Counts, b: Counts, ab: Counts, n: int, different: int) -> Doubles:
    """The scores of pairs whose words were seen a and b times, and together ab times."""
    if how.score == "npmi":
        p_a, p_b = a / float(n), b / float(n)
        p_ab = ab / float(n)
        return np.asarray(np.log(p_ab / (p_a * p_b)) / -np.log(p_ab), np.float64)
    times = n if how.score == "word2vec" else different
    return np.asarray((ab - how.min_count) / (a.astype(np.float64) * b) * times, np.float64)


def best_pairs(pairs: FrequentPairs, scores: Doubles, threshold: float, target: int | None) -> Any:
    """The places of pairs that score more than the threshold, best first; the best `target` of them."""
    above = np.flatnonzero(scores > threshold)
    # the last one decides first
    keys = (pairs.words[above], pairs.lefts[above], -pairs.counts[above], -scores[above])
    return above[np.lexsort(keys)][:target]
