"""The phrases of a text, in one pass: count pairs, score them, take the best."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from unhot.corpus.phrase_counts import count_pairs, first_words, words_of
from unhot.corpus.phrase_file import Entry
from unhot.corpus.phrase_joining import connector_flags
from unhot.corpus.phrase_scores import Sums, best_pairs, least_count, pair_scores
from unhot.corpus.phrase_text import Text


class Finding(NamedTuple):
    """How, see `Phrases`."""

    score: str
    target: int | None
    min_count: int
    connectors: frozenset[str]
    threads: int
    memory: int  # bytes


def find_phrases(text: Text, how: Finding, threshold: float, folder: Path) -> list[Entry]:
    """The phrases, best first; `folder`: for files meanwhile."""
    connectors = connector_flags(text.index, how.connectors)
    counted = count_pairs(
        text,
        connectors,
        least=least_count(how.score, how.min_count),
        rare=how.score == "gensim",
        threads=how.threads,
        memory=how.memory,
        folder=folder,
    )
    pairs, lefts = counted.pairs, counted.lefts
    a, b = text.counts[first_words(lefts, text.counts.size, pairs.lefts)], text.counts[pairs.words]
    kinds = int(np.count_nonzero(text.counts[connectors == 0])) + counted.different
    scores = pair_scores(how.score, a, b, pairs.counts, Sums(text.tokens, kinds, how.min_count))
    words, entries = list(text.index), list[Entry]()
    for place in best_pairs(pairs, scores, threshold, how.target).tolist():
        ids = [*words_of(lefts, len(words), int(pairs.lefts[place])), int(pairs.words[place])]
        entries.append((tuple(words[i] for i in ids), float(scores[place]), int(pairs.counts[place])))
    return entries
