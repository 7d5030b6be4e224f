"""How good a recommender is: where it ranks the item that came next, among all items.

    recall@k      share of questions whose item is among the first k
    ndcg@k        mean of 1 / log2(1 + rank), 0 beyond k
    mrr@k         mean of 1 / rank, 0 beyond k
    hit_rate@k    share of users, or sessions, with at least one question whose item is among the first k
    coverage@k    share of all items that are among the first k of somebody
    popularity_rank@k   mean rank by popularity of what is recommended; 1 is the most popular item
    novelty@k     mean of -log2(share of all events) of what is recommended, in bits

All items are ranked, and items with the same score share their mean rank. An item that the list of
recommendations cannot have is a miss: an unknown one, one of the history if its items are excluded, and any
item after a history of unknown items. Intervals are bootstrapped over users or sessions, because the
questions of one user are alike.

With `sampled` = n, the item is also ranked among n items that are drawn at random. Such figures are higher,
and may order models differently (Krichene and Rendle, On sampled metrics for item recommendation, 2020).
How many of the drawn items are above the right one is hypergeometric, so it is drawn from the full rank.
"""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from unhot.errors import ConfigError, DataError, one_of, whole
from unhot.evaluate.figures import Interval, bootstrap
from unhot.items.ranking import CaseRanks, case_ranks, ndcg
from unhot.json_file import plain
from unhot.logs.encoding import read_log
from unhot.logs.log import Log
from unhot.logs.splitting import Cases, last_cases, split_log
from unhot.models.fitting import Tells
from unhot.models.log_data import EVENTS_ALONE, cases_again, read_as
from unhot.models.recommender_model import RecommenderModel
from unhot.types import Counts, Doubles

KS = (5, 10, 20)
LISTED = 10  # recommendations whose coverage, popularity and novelty are measured


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recommending:
    """The figures of a recommender."""

    model: str
    part: str  # validation, test, or prefixes
    split: str
    learned_from: str  # train, train + validation, or all
    seen: str  # whether items of the history were "excluded" from the ranking or "ranked"
    users: int  # users or sessions
    cases: int  # questions
    unknown: int  # questions whose item the model does not know: misses
    repeated: int  # questions whose item is in the history, which recommendations exclude: misses
    unanswered: int  # questions after a history of which the model knows no item: misses
    milliseconds: float  # per question
    figures: dict[str, float]
    intervals: dict[str, Interval]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as one object; figures are fractions, intervals have the key "intervals"."""
        facts = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in ("figures", "intervals")
        }
        return dict(plain({**facts, **self.figures, "intervals": self.intervals}))


def evaluate_recommender(
    model: RecommenderModel,
    log: Any = None,
    part: str = "test",
    *,
    prefixes: str | os.PathLike[str] | Log | None = None,
    ks: Sequence[int] = KS,
    exclude_seen: bool | None = None,
    sampled: int = 0,
) -> Recommending:
    """Ask a recommender which item came next, and compare.

    log           the log that it learned from, or its path; None: the questions that the model keeps
    part          test | validation: the part of the log, cut as in the training
    prefixes      instead of a log, a file of prefixes, one a line, with the target as the last item
    exclude_seen  do not rank the items of the history, and count a right item among them as a miss; None:
                  as `recommend` does, only if the log has users, not sessions alone
    sampled       also rank among so many items drawn at random
    """
    one_of("part", part, ("validation", "test"))
    leave_out = model.answers.leaves_out_seen if exclude_seen is None else exclude_seen
    if prefixes is not None:
        asked = prefixes if isinstance(prefixes, Log) else read_log(prefixes, format="sessions")
        return measure_cases(model, last_cases(asked), "prefixes", leave_out, ks, sampled)
    return measure_cases(model, _split_cases(model, log, part), part, leave_out, ks, sampled)


def measure_cases(
    model: RecommenderModel,
    cases: Cases,
    part: str,
    exclude_seen: bool,
    ks: Sequence[int] = KS,
    sampled: int = 0,
) -> Recommending:
    """Ask a recommender some questions; `part`: what they are called."""
    ks = [whole("ks", k, 1) for k in ks]
    found = case_ranks(model.answers, cases, exclude_seen=exclude_seen, k=LISTED)
    figures, intervals = rank_figures(found, cases, ks)
    figures |= list_figures(model, found)
    figures |= sampled_figures(found, ks, sampled) if sampled else {}
    return Recommending(
        model=model.name,
        part=part,
        split=model.split,
        learned_from=str(model.learned.record.facts.get("learned_from")),
        seen="excluded" if exclude_seen else "ranked",
        users=np.unique(_askers(cases)).size,
        cases=cases.ends.size,
        **found.misses._asdict(),
        milliseconds=1000 * found.seconds / cases.ends.size,
        figures=figures,
        intervals=intervals,
    )


def _split_cases(model: RecommenderModel, log: Any, part: str) -> Cases:
    if model.split == "none":
        raise ConfigError(
            "this model learned from all of its log (split=none), so nothing is left to ask: train it with a "
            "split, or give prefixes"
        )
    if part == "validation" and model.refit:
        raise ConfigError("this model learned from train and validation: ask for the test")
    if log is None:
        cases = cases_again(model, part)
    else:
        read = log if isinstance(log, Log) else read_as(model, log, Tells(), **EVENTS_ALONE)
        cases = split_log(read, model.split, model.share).cases(part)
    if not cases.ends.size:
        raise DataError(f"the {part} part of this log has no event with one before it: nothing to ask")
    return cases


def _askers(cases: Cases) -> Counts:
    """Return a number for the user of each question, or for its line if it has no user."""
    return np.where(cases.users >= 0, cases.users, len(cases.user_words) + cases.lines)


def rank_figures(
    found: CaseRanks, cases: Cases, ks: Sequence[int]
) -> tuple[dict[str, float], dict[str, Interval]]:
    """Return recall, NDCG, MRR and hit rate at each k, and their intervals."""
    _, line = np.unique(_askers(cases), return_inverse=True)
    asked = np.bincount(line).astype(np.float64)
    figures, intervals = {}, {}
    for k in ks:
        hit = found.ranks <= k
        for name, gain in (("recall", hit * 1.0), ("ndcg", ndcg(found.ranks, k)), ("mrr", hit / found.ranks)):
            sums = np.bincount(line, gain).astype(np.float64)
            figures[f"{name}@{k}"] = float(gain.mean())
            intervals[f"{name}@{k}"] = _interval(sums, asked)
        hits = (np.bincount(line, hit) > 0).astype(np.float64)
        figures[f"hit_rate@{k}"] = float(hits.mean())
        intervals[f"hit_rate@{k}"] = _interval(hits, np.ones(hits.size))
    return figures, intervals


def _interval(sums: Doubles, asked: Doubles) -> Interval:
    """Return the interval of sum(sums) / sum(asked) over users; equal users are counted together."""
    users, times = np.unique(np.stack([sums, asked]), axis=1, return_counts=True)
    return bootstrap(times, lambda weights: (weights @ users[0]) / (weights @ users[1]))


def list_figures(model: RecommenderModel, found: CaseRanks) -> dict[str, float]:
    """Return coverage, popularity and novelty of what is recommended."""
    counts, listed = model.catalogue.counts, found.top[found.top >= 0]
    share = np.maximum(counts, 1) / max(int(counts.sum()), 1)
    place = 1 + np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
    return {
        f"coverage@{LISTED}": np.unique(listed).size / counts.size,
        f"popularity_rank@{LISTED}": float(place[listed].mean()) if listed.size else 0.0,
        f"novelty@{LISTED}": float(-np.log2(share[listed]).mean()) if listed.size else 0.0,
    }


def sampled_figures(found: CaseRanks, ks: Sequence[int], drawn: int, seed: int = 1) -> dict[str, float]:
    """Return recall and NDCG among `drawn` random items; their names say so."""
    rng, known = np.random.default_rng(seed), np.isfinite(found.ranks)
    others = np.maximum(found.candidates - 1, 1)
    above = np.where(known, np.minimum(np.where(known, found.ranks, 1) - 1, others), others).astype(np.int64)
    drawn_above = rng.hypergeometric(above, others - above, np.minimum(drawn, others))
    ranks = np.where(known, 1.0 + drawn_above, np.inf)
    figures = {}
    for k in ks:
        figures[f"sampled{drawn}_recall@{k}"] = float((ranks <= k).mean())
        figures[f"sampled{drawn}_ndcg@{k}"] = float(ndcg(ranks, k).mean())
    return figures
