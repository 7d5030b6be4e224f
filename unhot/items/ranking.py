"""Where the right item of each question stands among all items.

All items are ranked, without a sample of them. Items with the same score share the mean of their ranks.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import NamedTuple

import numpy as np

from unhot.index.best import ExcludedRows, best, ranks
from unhot.items.histories import case_blocks
from unhot.items.recommender import Recommender
from unhot.logs.splitting import Cases
from unhot.types import Counts, Doubles, Ids

BLOCK_SCORES = 1 << 24  # scores that are held at a time


class CaseRanks(NamedTuple):
    """The answers of a recommender to the questions of a test."""

    ranks: Doubles  # [cases]; infinite if the model does not know the item
    candidates: Counts  # [cases] items that were ranked
    top: Ids  # [cases, k] the items that are recommended, -1 where there are fewer
    seconds: float


def case_ranks(model: Recommender, cases: Cases, *, exclude_seen: bool = True, k: int = 0) -> CaseRanks:
    """Ask a model all questions; with k, also for the k items that it recommends.

    exclude_seen   do not rank the items of the history; the right item is always ranked
    """
    index = model.catalogue.index
    known = np.array([index.get(item, -1) for item in cases.item_words], np.int32)
    users = np.array([*map(model.user_row, cases.user_words), -1], np.int32)
    number, items = cases.ends.size, len(model.catalogue)
    found = np.empty(number)
    candidates, top = np.empty(number, np.int64), np.full((number, k), -1, np.int32)
    for histories, targets, _ in islice(case_blocks(cases, known, users, 1), 1):
        best(model.scores(histories), 1)  # so that loading kernels is not counted
        ranks(model.scores(histories), targets)
    began = time.perf_counter()
    for histories, targets, part in case_blocks(cases, known, users, max(1, BLOCK_SCORES // items)):
        scores = model.scores(histories)
        seen = ExcludedRows(histories.ids.astype(np.int64), histories.starts) if exclude_seen else None
        found[part] = np.where(targets >= 0, ranks(scores, targets, seen), np.inf)
        candidates[part] = (scores > -np.inf).sum(axis=1)  # `ranks` has set those of excluded items to -inf
        if k:
            top[part] = best(scores, k, seen)[0]
    return CaseRanks(found, candidates, top, time.perf_counter() - began)


def mean_ndcg(model: Recommender, cases: Cases, *, exclude_seen: bool, k: int = 10) -> float:
    """Return the mean of `ndcg` over all questions."""
    return float(ndcg(case_ranks(model, cases, exclude_seen=exclude_seen).ranks, k).mean())


def ndcg(found: Doubles, k: int) -> Doubles:
    """Return the discounted gain of each question with one right answer: 1 / log2(1 + rank), 0 beyond k."""
    return np.where(found <= k, 1.0 / np.log2(1.0 + found), 0.0)
