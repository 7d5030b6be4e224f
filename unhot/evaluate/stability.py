"""Stability: measure how far similar models, such as those of different seeds, agree on neighbours.

If A and B are the k nearest neighbours of a word in two models:

    share = |A and B| / k          Jaccard = |A and B| / |A or B|

Both are averaged over words, and over all pairs of models. Neighbours are compared instead of vectors,
because the axes of two models may be rotated against each other. Only words that are in all models are used,
as questions and as neighbours. The questions are the first of these words in the first model (in most files
the most frequent ones), or a given list. Words whose vector has no direction in one of the models are left
out. The intervals are bootstraps over words.

Reference: Wendlandt, Kummerfeld and Mihalcea 2018.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from unhot.errors import ConfigError, DataError, whole
from unhot.evaluate.figures import FiguresWithIntervals, Interval, Progress, mean_interval
from unhot.types import Doubles
from unhot.vectors.store import Vectors


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """The mean overlap of neighbours in two models; `first` and `second` are their numbers, from 0."""

    first: int
    second: int
    share: float
    jaccard: float


@dataclass(frozen=True, kw_only=True)
class Stability(FiguresWithIntervals):
    """The mean overlap of neighbours between models, and how it was measured."""

    models: int
    k: int
    restrict_vocab: int | None
    common: int  # words that are in all models
    words: int  # words whose neighbours were compared
    unknown: int  # words of the list that are missing in a model, or have no direction
    share: float
    share_interval: Interval
    jaccard: float
    jaccard_interval: Interval
    pairs: tuple[Overlap, ...]


def stability(
    vectors: Vectors,
    others: Sequence[Vectors],
    *,
    k: int = 10,
    words: int | Sequence[str] | NDArray[np.str_] = 1000,
    restrict_vocab: int | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Stability:
    """Measure how far the neighbours of words agree between models.

    others           the other models
    k                number of neighbours of each word
    words            how many of the first common words to compare, or a list of words
    restrict_vocab   use only the first this many words of the first model; None: all
    seed             seed of the intervals
    progress         called with "neighbours", the models done and their number
    """
    if isinstance(others, Vectors) or not others:
        raise ConfigError("others: must be a list with at least one other model")
    k, seed = whole("k", k, 1), whole("seed", seed, 0, 2**64 - 1)
    limit = len(vectors) if restrict_vocab is None else whole("restrict_vocab", restrict_vocab, 1)
    models = _common([vectors, *others], limit)
    asked, unknown = _asked(models, words)
    neighbours = []
    for number, model in enumerate(models, start=1):
        neighbours.append(_neighbours(model, asked, k))
        if progress:
            progress("neighbours", number, len(models))
    pairs = list(combinations(range(len(models)), 2))
    overlaps = np.array(
        [[_overlap(a, b) for a, b in zip(neighbours[i], neighbours[j], strict=True)] for i, j in pairs]
    )
    by_word: Doubles = overlaps.mean(axis=0)  # [words, 2] of [pairs, words, 2]
    share, jaccard = by_word.mean(axis=0).tolist()
    return Stability(
        models=len(models),
        k=k,
        restrict_vocab=restrict_vocab,
        seed=seed,
        common=len(models[0]),
        words=len(asked),
        unknown=unknown,
        share=share,
        share_interval=mean_interval(by_word[:, 0], seed),
        jaccard=jaccard,
        jaccard_interval=mean_interval(by_word[:, 1], seed),
        pairs=tuple(
            Overlap(first=i, second=j, share=float(both[0]), jaccard=float(both[1]))
            for (i, j), both in zip(pairs, overlaps.mean(axis=1), strict=True)
        ),
    )


def _common(models: list[Vectors], limit: int) -> list[Vectors]:
    """Return the models with only the words that all of them have, in the order of the first."""
    first = models[0].index_to_key[:limit]
    words = [word for word in first if all(word in model for model in models[1:])]
    if len(words) < 2:
        raise DataError(
            f"the models have {len(words)} words in common, but at least two are needed; "
            "were they trained on the same text?"
        )
    return [model if model.index_to_key == words else _part(model, words) for model in models]


def _part(model: Vectors, words: list[str]) -> Vectors:
    part = Vectors(words, model[words])
    part.threads = model.threads
    return part


def _asked(models: list[Vectors], words: int | Sequence[str] | NDArray[np.str_]) -> tuple[list[int], int]:
    """Return the rows of the words to compare, and how many words of a list are left out."""
    first = models[0]
    directed = np.all([np.isfinite(model.norms) & (model.norms > 0) for model in models], axis=0)
    if isinstance(words, np.ndarray):
        words = words.tolist()
    if isinstance(words, str):
        raise ConfigError(f"words={words!r}: must be a number or a list of words")
    if isinstance(words, Sequence):
        listed = dict.fromkeys(words)
        rows = [row for word in listed if (row := first.key_to_index.get(word)) is not None and directed[row]]
        unknown = len(listed) - len(rows)
    else:
        rows, unknown = np.flatnonzero(directed)[: whole("words", words, 1)].tolist(), 0
    if not rows:
        raise DataError(
            "there is nothing to compare: no word has a vector in all models that is finite and not zero"
        )
    return rows, unknown


def _neighbours(model: Vectors, rows: list[int], k: int) -> list[set[int]]:
    """Return the k nearest rows of each row, without the row itself; fewer if there are no more."""
    found, _ = model.nearest([model.index_to_key[row] for row in rows], min(k, len(model)))
    return [set(near) - {-1} for near in found.tolist()]


def _overlap(a: set[int], b: set[int]) -> tuple[float, float]:
    """Return share and Jaccard of two sets; with fewer than k neighbours, divide by their number."""
    both, most = len(a & b), max(len(a), len(b))
    return (both / most, both / len(a | b)) if most else (1.0, 1.0)
