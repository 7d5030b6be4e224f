"""Where the right item of each question stands among all items.

All items are ranked, without a sample of them. Items with the same score share the mean of their ranks. A
question is a miss, whatever the length of the list, if the list of recommendations cannot have its item:

    unknown      the model does not know the item
    repeated     the item is in the history, whose items are excluded
    unanswered   the model knows no item of the history, so there is no list
"""

import time
from itertools import islice
from typing import NamedTuple

import numpy as np

from unhot.index.best import ExcludedRows, best, ranks
from unhot.items.histories import case_blocks, histories_of
from unhot.items.recommender import BLOCK_SCORES, Recommender
from unhot.logs.splitting import Cases
from unhot.types import Counts, Doubles, Ids


class Misses(NamedTuple):
    """The numbers of questions whose item no list can have, by the reason; each question counts once."""

    unknown: int = 0
    repeated: int = 0
    unanswered: int = 0


class CaseRanks(NamedTuple):
    """The answers of a recommender to the questions of a test."""

    ranks: Doubles  # [cases]; infinite: no list has the item
    candidates: Counts  # [cases] items that were ranked
    top: Ids  # [cases, k] the items that are recommended, -1 where there are fewer
    seconds: float
    misses: Misses = Misses()


def case_ranks(model: Recommender, cases: Cases, *, exclude_seen: bool = True, k: int = 0) -> CaseRanks:
    """Ask a model all questions; with k, also for the k items that it recommends.

    exclude_seen   do not rank the items of the history, not even if the right item is one of them
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
    misses, began = np.zeros(len(Misses()), np.int64), time.perf_counter()
    for histories, targets, part in case_blocks(cases, known, users, max(1, BLOCK_SCORES // items)):
        scores, lines = model.scores(histories), np.arange(len(histories))
        excluded = histories if exclude_seen else histories_of([[]] * len(histories))
        seen = ExcludedRows(excluded.ids.astype(np.int64), excluded.starts)
        found[part] = ranks(scores, targets, seen)  # the scores of excluded items are -inf from here on
        unknown, answered = targets < 0, (np.diff(histories.starts) > 0) | (histories.users >= 0)
        owners = np.repeat(lines, np.diff(excluded.starts))
        repeated = np.bincount(owners, excluded.ids == targets[owners], len(histories)) > 0
        misses += [unknown.sum(), repeated.sum(), (~unknown & ~answered).sum()]
        found[part][unknown | ~answered | ~(scores[lines, targets] > -np.inf)] = np.inf
        candidates[part] = (scores > -np.inf).sum(axis=1)
        if k:
            top[part] = np.where(answered[:, None], best(scores, k, seen)[0], -1)
    return CaseRanks(found, candidates, top, time.perf_counter() - began, Misses(*misses.tolist()))


def mean_ndcg(model: Recommender, cases: Cases, *, exclude_seen: bool, k: int = 10) -> float:
    """Return the mean of `ndcg` over all questions."""
    return float(ndcg(case_ranks(model, cases, exclude_seen=exclude_seen).ranks, k).mean())


def ndcg(found: Doubles, k: int) -> Doubles:
    """Return the discounted gain of each question with one right answer: 1 / log2(1 + rank), 0 beyond k."""
    return np.where(found <= k, 1.0 / np.log2(1.0 + found), 0.0)
