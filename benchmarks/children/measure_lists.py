"""Measure the recommendations of any tool with the evaluator of unhot, which asks by scores.

The items of a list get the scores -1, -2, ..., and all others none. The evaluator excludes the items of the
history once more, so that no tool gains by recommending them.
"""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from unhot.evaluate.recommending import rank_figures
from unhot.items.histories import Histories
from unhot.items.ranking import case_ranks
from unhot.logs.encoding import read_log
from unhot.logs.splitting import split_log
from unhot.types import Floats

job = json.loads(sys.argv[1])
log = read_log(job["log"], format=job["format"])
cases = split_log(log, "leave-last-out").cases(job["part"])
lists = np.load(job["lists"])
row_of = {cases.user_words[user]: row for row, user in enumerate(cases.users)}


def scores_of(histories: Histories) -> Floats:
    """Return the scores of all items for the users of some histories."""
    scores = np.full((len(histories), len(log.items)), -np.inf, np.float32)
    for line, items in zip(scores, lists[histories.users], strict=True):
        listed = items[items >= 0]
        line[listed] = -1.0 - np.arange(listed.size)
    return scores


model: Any = SimpleNamespace(
    catalogue=log.items, scores=scores_of, user_row=lambda user: row_of.get(user, -1)
)
found = case_ranks(model, cases, exclude_seen=True)
np.save(job["ranks"], found.ranks)
figures, _ = rank_figures(found, cases, (10, 20))
figures["listed"] = float((lists >= 0).sum(axis=1).min())
sys.stdout.write(json.dumps({name: round(value, 6) for name, value in figures.items()}) + "\n")
