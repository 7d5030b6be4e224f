"""Ranks of right answers among all items."""

import numpy as np
import pytest

from unhot.errors import ConfigError, DataError
from unhot.items import ranking
from unhot.items.histories import histories_of
from unhot.items.kept_log import KeptLog, LogRecord
from unhot.items.ranking import case_ranks, mean_ndcg, ndcg
from unhot.items.recommender import Recommendation, Recommender
from unhot.logs.encoding import read_log
from unhot.logs.splitting import last_cases
from unhot.vocab.vocabulary import Vocabulary


class Fixed(Recommender):
    """Scores that do not depend on the history: 4 3 3 1 0 for a b c d e."""

    def __init__(self):
        record = LogRecord(KeptLog(("A", "B", "C", "D", "")), {}, {})
        super().__init__(Vocabulary(list("abcde"), [5, 4, 3, 2, 1]), record, self.fixed, leaves_out_seen=True)

    def fixed(self, histories):
        return np.tile(np.array([4, 3, 3, 1, 0], np.float32), (len(histories), 1))

    def of_users(self, users):
        return histories_of([{"u": [0, 1]}[user] for user in users]), np.ones(len(users), bool)


def questions(*lines):
    return last_cases(read_log([line.split() for line in lines], format="sessions"))


def test_ranks_with_ties_repeats_and_unknown_items():
    cases = questions("a b", "b d", "e e a d", "a x", "x c", "a a")
    found = case_ranks(Fixed(), cases, k=2)
    # b without a, tied with c: 1.5; d behind a, c; d behind b, c; x is unknown; x is the whole history; a
    # again, which is excluded
    assert found.ranks.tolist() == [1.5, 3, 3, np.inf, np.inf, np.inf]
    assert found.misses == (1, 1, 1)
    assert found.candidates.tolist() == [4, 4, 3, 4, 5, 4]
    assert found.top.tolist() == [[1, 2], [0, 2], [1, 2], [1, 2], [-1, -1], [1, 2]]
    kept = case_ranks(Fixed(), cases, exclude_seen=False, k=2)
    assert kept.ranks.tolist() == [2.5, 4, 4, np.inf, np.inf, 1]
    assert kept.misses == (1, 0, 1)
    assert kept.candidates.tolist() == [5] * 6
    assert kept.top.tolist() == [[0, 1]] * 4 + [[-1, -1], [0, 1]]


def test_blocks_do_not_matter(monkeypatch):
    cases = questions("a b", "b d", "e e a d", "a x", "x c", "a a")
    whole = case_ranks(Fixed(), cases, k=3)
    monkeypatch.setattr(ranking, "BLOCK_SCORES", 7)
    parts = case_ranks(Fixed(), cases, k=3)
    assert all(np.array_equal(*pair) for pair in zip(whole[:3], parts[:3], strict=True))


def test_ndcg():
    assert ndcg(np.array([1.0, 1.5, 3.0, 11.0, np.inf]), 10) == pytest.approx(
        [1, 1 / np.log2(2.5), 0.5, 0, 0]
    )
    assert mean_ndcg(Fixed(), questions("b a", "a x", "a a"), exclude_seen=True) == pytest.approx(1 / 3)


def test_recommend():
    model = Fixed()
    assert model.recommend(["a"], 2) == [Recommendation("b", 3.0, "B"), Recommendation("c", 3.0, "C")]
    assert [each.item for each in model.recommend("u")] == ["c", "d", "e"]
    assert [each.item for each in model.recommend(["a"], 10**15, exclude_seen=False)] == list("abcde")
    assert [each.item for each in model.recommend([], filter={"e", "d", "nothing"})] == ["d", "e"]
    assert [each.item for each in model.recommend([], filter=lambda item: item in "ce")] == ["c", "e"]
    assert model.recommend([], filter=[]) == []
    assert [len(each) for each in model.recommend_many(["u", ["a"], []])] == [3, 4, 5]
    assert model.recommend_many([]) == []
    assert [each.item for each in model.similar("b", 10**15)] == ["a", "c", "d", "e"]
    assert [each.item for each in model.recommend(["nothing", "a"], 1)] == ["b"]


def test_nonsense_is_refused():
    for k in (0, -1, 1.5, True):
        with pytest.raises(ConfigError):
            Fixed().recommend(["a"], k)
    with pytest.raises(DataError, match="none of the 2 items"):
        Fixed().recommend(["p", "q"])
    with pytest.raises(ConfigError, match="strings"):
        Fixed().recommend([1, 2])
    with pytest.raises(DataError):
        Fixed().similar("nothing")
