"""Figures of recommenders: by hand, against real draws, and from which log they come."""

import numpy as np
import pytest

import unhot
from unhot.errors import ConfigError, DataError
from unhot.evaluate.recommending import evaluate_recommender, rank_figures, sampled_figures
from unhot.items.ranking import CaseRanks
from unhot.logs.encoding import read_log
from unhot.logs.splitting import last_cases
from unhot.models.load import all_models
from unhot.models.popularity import Popularity
from unhot.models.recommender_model import RecommenderModel
from unhot.models.skip_markov import SkipMarkov

# popularity in train: a 4, b 3, c 2, d 1; then two events of each user are held out
TRAIN = {"u": "abca", "v": "abc", "w": "adb"}
HELD_OUT = {"u": "db", "v": "da", "w": "cx"}  # x occurs nowhere else
ROWS = [(u, i, t) for u in TRAIN for t, i in enumerate(TRAIN[u] + HELD_OUT[u])]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("user,item,time\n" + "".join(f"{u},{i},{t}\n" for u, i, t in ROWS))
    return path


@pytest.fixture(scope="module")
def model():
    return Popularity(split="leave-last-out").fit(ROWS)


@pytest.fixture(scope="module")
def log():
    return read_log(ROWS)


def test_by_hand(model, log):
    # seen items are left out, also the right one: u had abcad, so b is a miss; v had abcd, so a is one. w had
    # adbc: x is unknown.
    found = evaluate_recommender(model, log, ks=(1, 5))
    assert (found.users, found.cases, found.seen) == (3, 3, "excluded")
    assert (found.unknown, found.repeated, found.unanswered) == (1, 2, 0)
    assert (found.part, found.split, found.learned_from) == ("test", "leave-last-out", "train")
    for name in ("recall@1", "ndcg@1", "mrr@1", "hit_rate@1", "recall@5"):
        assert found.figures[name] == 0
    # all is ranked: u b 2, v a 1, w x unknown
    kept = evaluate_recommender(model, log, ks=(1, 5), exclude_seen=False).figures
    expected = {"recall@1": 1, "recall@5": 2, "ndcg@5": 1 + 1 / np.log2(3), "mrr@5": 1.5, "mrr@1": 1}
    for name, three in expected.items():
        assert kept[name] == pytest.approx(three / 3), name
    # everybody is recommended a b c d: ranks 1 2 3 4 by popularity, 4 3 2 1 of 10 events
    assert kept["coverage@10"] == 1
    assert kept["popularity_rank@10"] == 2.5
    assert kept["novelty@10"] == pytest.approx(-np.log2([0.4, 0.3, 0.2, 0.1]).mean())


# against the lists that users get

MODELS = {name: kind for name, kind in all_models().items() if issubclass(kind, RecommenderModel)}
RNG = np.random.default_rng(7)
# users walk around a circle of items and come back to some; of ten kinds of items many have equal counts
WALKS = {f"u{user}": [f"i{i % 10}" for i in user + np.cumsum(RNG.integers(0, 3, 7))] for user in range(40)}
WALKED = [(user, item, time) for user, line in WALKS.items() for time, item in enumerate(line)]
# the models do not know x and y
PREFIXES = [[f"i{i}" for i in RNG.integers(0, 10, size)] for size in RNG.integers(2, 6, 60)]
PREFIXES += [["x", "i1"], ["x", "y", "i2"], ["x", "i1", "i2"], ["i1", "x"], ["x", "y"]]


def by_lists(model, cases, seen, ks=(1, 3, 20)):
    """Recall, NDCG and MRR of (history, target), by the full lists with scores that a model gives."""
    lists = model.recommend_many([case[:-1] for case in cases], len(model.catalogue), exclude_seen=not seen)
    ranks = []
    for case, found in zip(cases, lists, strict=True):
        scores = np.array([each.score for each in found])
        own = [each.score for each in found if each.item == case[-1]]
        ranks.append((scores > own[0]).sum() + ((scores == own[0]).sum() + 1) / 2 if own else np.inf)
    hits = {k: np.array(ranks) <= k for k in ks}
    figures = {f"recall@{k}": hits[k].mean() for k in ks}
    figures |= {f"ndcg@{k}": (hits[k] / np.log2(1 + np.array(ranks))).mean() for k in ks}
    return figures | {f"mrr@{k}": (hits[k] / np.array(ranks)).mean() for k in ks}


@pytest.mark.parametrize("name", MODELS)
def test_the_figures_are_those_of_the_lists(name):
    small = {"dim": 8, "epochs": 2} if hasattr(MODELS[name], "dim") else {}
    small |= {"sample": 0.0} if hasattr(MODELS[name], "sample") else {}
    small |= {"combine": "none"} if name == "eges" else {}
    model = MODELS[name](threads=1, split="leave-last-out", **small).fit(WALKED)
    for seen in (False, True):
        how = {"ks": (1, 3, 20), "exclude_seen": not seen}
        parts = {"test": [*WALKS.values()], "validation": [line[:-1] for line in WALKS.values()]}
        for part, cases in parts.items():
            found = evaluate_recommender(model, read_log(WALKED), part, **how)
            expected = by_lists(model, cases, seen)
            assert {name: found.figures[name] for name in expected} == pytest.approx(
                expected, rel=0, abs=1e-9
            )
            assert found.repeated == (0 if seen else sum(case[-1] in case[:-1] for case in cases))
        found = evaluate_recommender(model, prefixes=read_log(PREFIXES, format="sessions"), **how)
        expected = by_lists(model, PREFIXES, seen)
        assert {name: found.figures[name] for name in expected} == pytest.approx(expected, rel=0, abs=1e-9)
        assert (found.unknown, found.unanswered) == (2, 2)


def test_the_lists_leave_out_what_was_seen(model, log):
    found = evaluate_recommender(model, log).figures  # all three users had all four items before the test
    assert (found["coverage@10"], found["popularity_rank@10"], found["novelty@10"]) == (0, 0, 0)
    found = evaluate_recommender(model, log, "validation")
    # u had abca and asks for d, v abc for d, w adb for c: the only ones that are left
    assert found.figures["recall@5"] == found.figures["ndcg@5"] == 1
    assert found.figures["coverage@10"] == 0.5
    assert found.figures["popularity_rank@10"] == pytest.approx((4 + 4 + 3) / 3)


def cases_of(lines):
    """Questions with these lines."""
    found = last_cases(read_log([["a", "b"]] * len(lines), format="sessions"))
    return found._replace(lines=np.array(lines))


def test_ties_and_several_questions_of_a_line():
    ranks = np.array([1.5, 4.0, np.inf, 2.0])
    found = CaseRanks(ranks, np.full(4, 9), np.zeros((4, 0), np.int32), 1.0)
    figures, intervals = rank_figures(found, cases_of([0, 0, 1, 2]), [1, 3, 4])
    assert figures["recall@1"] == figures["mrr@1"] == 0
    assert figures["recall@3"] == 2 / 4
    assert figures["recall@4"] == 3 / 4
    assert figures["hit_rate@3"] == figures["hit_rate@4"] == 2 / 3  # lines 0 and 2
    assert figures["mrr@4"] == pytest.approx((1 / 1.5 + 1 / 4 + 1 / 2) / 4)
    assert figures["ndcg@4"] == pytest.approx((1 / np.log2(2.5) + 1 / np.log2(5) + 1 / np.log2(3)) / 4)
    assert intervals.keys() == figures.keys()
    for name, (low, high) in intervals.items():
        assert 0 <= low <= figures[name] <= high <= 1


def test_intervals_shrink_with_users():
    rng, widths = np.random.default_rng(1), []
    for users in (50, 5000):
        ranks = np.where(rng.random(users) < 0.3, 1.0, 50.0)
        found = CaseRanks(ranks, np.full(users, 100), np.zeros((users, 0), np.int32), 1.0)
        figures, intervals = rank_figures(found, cases_of(range(users)), [10])
        low, high = intervals["recall@10"]
        assert low < figures["recall@10"] < high
        widths.append(high - low)
    # 2 * 1.96 sqrt(0.3 * 0.7 / n)
    assert widths == pytest.approx([0.254, 0.0254], rel=0.25)


def test_sampled_figures_are_those_of_real_draws():
    rng, candidates, drawn = np.random.default_rng(2), 50, 9
    ranks = rng.integers(1, candidates + 1, 4000).astype(np.float64)
    found = CaseRanks(ranks, np.full(4000, candidates), np.zeros((4000, 0), np.int32), 1.0)
    figures = sampled_figures(found, [3], drawn)
    assert figures.keys() == {"sampled9_recall@3", "sampled9_ndcg@3"}
    others = np.array([rng.choice(candidates - 1, drawn, replace=False) for _ in ranks])
    real = 1 + (others < (ranks - 1)[:, None]).sum(axis=1)
    assert figures["sampled9_recall@3"] == pytest.approx((real <= 3).mean(), abs=0.03)
    assert figures["sampled9_recall@3"] > (ranks <= 3).mean() + 0.1  # why they are labelled


def test_sampled_figures_at_the_edges():
    ranks = np.array([np.inf, 1.0, 3.0])
    found = CaseRanks(ranks, np.array([5, 1, 3]), np.zeros((3, 0), np.int32), 1.0)
    # an unknown item is never found; an item alone is first; one behind two others stays there
    assert sampled_figures(found, [2, 9], 100) == pytest.approx(
        {
            "sampled100_recall@2": 1 / 3,
            "sampled100_ndcg@2": 1 / 3,
            "sampled100_recall@9": 2 / 3,
            "sampled100_ndcg@9": 1.5 / 3,
        }
    )


def test_sampled_only_on_request(model, log):
    assert not any("sampled" in name for name in evaluate_recommender(model, log).figures)
    found = evaluate_recommender(model, log, sampled=2, ks=(1,)).as_dict()
    assert {"sampled2_recall@1", "sampled2_ndcg@1", "recall@1"} <= found.keys()
    assert found["intervals"]["recall@1"] == list(
        evaluate_recommender(model, log, ks=(1,)).intervals["recall@1"]
    )


# where the log comes from


def test_a_kept_log_needs_no_file(path, tmp_path):
    model = SkipMarkov(split="time", share=0.2, threads=1, with_users=True).fit(path)
    expected = evaluate_recommender(model, read_log(ROWS))
    model.save(tmp_path / "m")
    path.unlink()
    found = evaluate_recommender(unhot.load(tmp_path / "m"))
    assert (found.figures, found.cases) == (expected.figures, expected.cases)


def test_prefixes(model, tmp_path):
    (tmp_path / "prefixes.txt").write_text("a b\nq\nc a d\nx a\nc x\n")
    found = evaluate_recommender(model, prefixes=tmp_path / "prefixes.txt", ks=(1, 2, 4), exclude_seen=False)
    # b 2, d 4, a after an unknown item, x unknown; a line of one item asks nothing
    assert (found.part, found.cases, found.unknown, found.unanswered) == ("prefixes", 4, 1, 1)
    assert [found.figures[f"recall@{k}"] for k in (1, 2, 4)] == [0, 0.25, 0.5]
    whole = Popularity().fit(ROWS)  # a model without a split can be asked with prefixes
    assert evaluate_recommender(whole, prefixes=tmp_path / "prefixes.txt").learned_from == "all"


def test_sessions_rank_what_was_seen():
    model = Popularity(format="sessions", split="session", share=0.4).fit(
        [["a", "b"], ["b", "b"], ["a", "b"]]
    )
    assert not model.answers.leaves_out_seen
    found = evaluate_recommender(model, read_log([["a", "b"], ["b", "b"], ["a", "b"]], format="sessions"))
    assert (found.seen, found.users) == ("ranked", 1)


def test_what_cannot_be_asked(log, model):
    with pytest.raises(ConfigError, match="split=none"):
        evaluate_recommender(Popularity().fit(log), log)
    refit = Popularity(split="leave-last-out", refit=True).fit(log)
    assert evaluate_recommender(refit, log).learned_from == "train + validation"
    with pytest.raises(ConfigError, match="ask for the test"):
        evaluate_recommender(refit, log, "validation")
    with pytest.raises(ConfigError, match="part"):
        evaluate_recommender(model, log, "train")
    with pytest.raises(ConfigError, match="ks"):
        evaluate_recommender(model, log, ks=(0,))
    with pytest.raises(DataError, match="nothing to ask"):
        evaluate_recommender(model, read_log([("u", "a"), ("v", "b")]))
