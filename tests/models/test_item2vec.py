"""Item vectors: planted tastes, what predicts what, vectors of users, layers, going on after a stop."""

import hashlib

import numpy as np
import pytest
from grids import SOAK

import unhot
from unhot.data.shop import make_shop, shop_rows
from unhot.errors import ConfigError
from unhot.items.histories import histories_of
from unhot.logs.encoding import read_log
from unhot.models import item_vectors
from unhot.models.item2vec import Item2Vec, user_mark
from unhot.models.load import load_unfinished
from unhot.train.checkpoint import Checkpoint
from unhot.vectors.formats.directory import checkpoint_of, is_model, load_model

SHOP = make_shop(users=250, items=60, tastes=4, markets=1, sessions=4, clicks=6, noise=0.05, seed=3)
ROWS = [row[:3] for row in shop_rows(SHOP)]
TASTE = dict(zip(SHOP.items, SHOP.taste_of.tolist(), strict=True))
COSINES = "mixed:k=20,temperature=0.2,normalized=true,bias=true"
SMALL = {"dim": 8, "threads": 1, "sample": 0.0, "lr": 0.05}


@pytest.fixture(scope="module")
def log():
    return read_log(ROWS)


@pytest.fixture(scope="module")
def model(log):
    return Item2Vec(**SMALL, epochs=8).fit(log)


def agreement(model):
    """How many of the five nearest items share the true taste."""
    shared = [
        TASTE[other] == TASTE[item] for item in model.catalogue.words for other, *_ in model.similar(item, 5)
    ]
    return np.mean(shared)


def test_neighbours_share_tastes(model):
    assert agreement(model) > 0.8


@pytest.mark.parametrize(
    "settings",
    [
        {"sides": "before"},
        {"sides": "both"},
        {"order": "ignored"},
        {"window": 0},
        {"window": 0, "order": "ignored", "shrink": False, "epochs": 3},
        {"output": "softmax"},
        {"output": "softmax", "sides": "before"},
        {"output": "hierarchical"},
        {"output": "nce:k=5"},
        {"engine": "torch", "lr": 0.02},
        {"engine": "torch", "lr": 0.02, "output": COSINES},
    ],
    ids=str,
)
def test_every_setting_learns(log, settings, tmp_path):
    model = Item2Vec(**SMALL | {"epochs": 6} | settings).fit(log)
    # chance is 0.25; whole lines join several tastes of a user
    assert agreement(model) > (0.4 if settings.get("window") == 0 else 0.6)
    popular = unhot.Popularity().fit(log)
    history = [item for user, item, _ in ROWS if user == SHOP.users[0]][:3]
    assert model.recommend(history) != popular.recommend(history)
    model.save(tmp_path / "m")
    loaded = unhot.load(tmp_path / "m")
    assert [each.item for each in loaded.recommend(history)] == [
        each.item for each in model.recommend(history)
    ]
    if settings.get("output") in ("softmax", "hierarchical", COSINES):  # scores rank as probabilities do
        probability = model.head.log_prob(model.answers.hidden(model.answers.of_lists([history])[0]))[0]
        scores = model.scores(model.answers.of_lists([history])[0])[0]
        assert np.argsort(-scores)[:5].tolist() == np.argsort(-probability)[:5].tolist()


def test_items_are_ranked_by_scores_from_which_nothing_was_subtracted(log):
    """Probabilities, which predict_word gives, have the popularity that the scores lack."""
    model = Item2Vec(**SMALL, epochs=6, engine="torch", output="in_batch:correct=false,q=counts").fit(log)
    histories = histories_of([[3, 5]])
    hidden, rows = model.answers.hidden(histories), model.out_vectors.vectors
    np.testing.assert_allclose(model.scores(histories), hidden @ rows.T, rtol=1e-5, atol=1e-6)
    log_prob = model.head.log_prob(hidden)[0]
    counts = model.catalogue.counts
    weights = np.log(counts) + model.scores(histories)[0]
    np.testing.assert_allclose(log_prob - log_prob.max(), weights - weights.max(), rtol=0, atol=1e-5)


def follows(model, first, second):
    """How much better the second item suits after the first than the first after the second."""
    ids = [[model.catalogue.id(item)] for item in (first, second)]
    scores = model.scores(histories_of(ids))
    return scores[0, ids[1][0]] - scores[1, ids[0][0]]


@pytest.mark.parametrize("output", ["softmax", *(["negative:k=5,power=0"] if SOAK else [])])
def test_sides_decide_what_is_learned(output):
    rows = [
        (f"u{n}", item, time) for n in range(100) for time, item in enumerate(f"{p}{n % 4}" for p in "abc")
    ]
    how = {**SMALL, "epochs": 20, "output": output, "lr": 0.1, "window": 1}
    before = Item2Vec(**how, sides="before").fit(rows)
    both = Item2Vec(**how, sides="both").fit(rows)
    mixed = Item2Vec(**how, sides="before", order="ignored").fit(rows)
    assert before.recommend(["a1"], 1)[0].item == "b1"
    assert before.recommend(["b1"], 1, exclude_seen=False)[0].item == "c1"
    assert follows(before, "a1", "b1") > 2
    assert abs(follows(both, "a1", "b1")) < 0.5 * follows(before, "a1", "b1")
    assert abs(follows(mixed, "a1", "b1")) < 0.5 * follows(before, "a1", "b1")
    assert {each.item for each in both.recommend(["b1"], 2)} == {"a1", "c1"}


def test_the_score_is_input_against_output(model):
    params, ids = model.learned.params, model.answers.history_of(SHOP.items[:3]).ids
    weights = np.array([0.8**2, 0.8, 1.0])
    hidden = weights @ params.in_vectors[ids].astype(np.float64) / weights.sum()
    assert model.scores(histories_of([ids]))[0] == pytest.approx(params.out_vectors @ hidden, abs=1e-5)
    cosine = model.vectors.similarity(SHOP.items[0], model.similar(SHOP.items[0], 1)[0].item)
    assert model.similar(SHOP.items[0], 1)[0].score == pytest.approx(cosine, abs=1e-5)


def test_a_graph_finds_nearly_the_same(log, model):
    pytest.importorskip("usearch")
    graph = Item2Vec(**SMALL, epochs=8, approximate=True).fit(log)
    exact = [
        {each.item for each in found} for found in model.recommend_many([[i] for i in SHOP.items[:20]], 5)
    ]
    found = [
        {each.item for each in found} for found in graph.recommend_many([[i] for i in SHOP.items[:20]], 5)
    ]
    assert sum(len(a & b) for a, b in zip(exact, found, strict=True)) >= 95


# users


def test_users_of_the_same_taste_are_near(log):
    model = Item2Vec(**SMALL, epochs=10, users="vector").fit(log)
    rows = [model.answers.user_row(user) for user in SHOP.users]
    assert min(rows) == len(model.catalogue)
    vectors = model.learned.params.in_vectors[rows].astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    sure = SHOP.tastes.max(axis=1) > 0.8
    taste, cosines = SHOP.tastes[sure].argmax(axis=1), vectors[sure] @ vectors[sure].T
    same = (taste[:, None] == taste) & ~np.eye(sure.sum(), dtype=bool)
    assert cosines[same].mean() > cosines[taste[:, None] != taste].mean() + 0.3
    # h is the user's vector, and without a log nothing is known to be seen
    user = SHOP.users[0]
    best = np.argmax(model.learned.params.out_vectors @ model.learned.params.in_vectors[rows[0]])
    assert model.recommend(user, 1)[0].item == model.catalogue.words[best]


def reference(x, o, line, user, sign, rates):
    """Train the one inner node o of a tree in float64: items before another, and the user, predict it."""
    for lr in rates:
        for place, target in enumerate(line):
            inputs = [*line[max(0, place - 2) : place], user] if place else []
            different = list(dict.fromkeys(inputs))  # a repeated input steps once, with its multiplicity
            errors = {i: sign[target] / (1 + np.exp(sign[target] * x[i] @ o)) for i in different}
            steps = {i: inputs.count(i) * errors[i] * lr for i in different}
            moved = o + sum(step * x[i] for i, step in steps.items())
            for i, step in steps.items():
                x[i] = x[i] + step * o
            o = moved
    return x, o


@pytest.mark.parametrize("line", ["ab", "aab", "abba"])
def test_steps_with_a_user_against_float64(line):
    rows = [("u", item, time) for time, item in enumerate(line)]
    how = {**SMALL, "dim": 4, "shrink": False, "window": 2, "users": "vector", "sides": "before"}
    how |= {"output": "hierarchical", "epochs": 4}
    start = Item2Vec(**how | {"lr": 1e-30}).fit(rows).learned.params
    end = Item2Vec(**how | {"lr": 0.5}).fit(rows)
    index, params = end.learned.in_vocabulary.index, end.learned.params
    assert [*index] == ["a", "b", "user:u"]
    assert params.out_vectors.shape == (1, 4)
    rates = [0.5 * (1 - epoch / 4) for epoch in range(4)]
    first = end.head.log_prob(params.out_vectors)[0] > np.log(0.5)  # h = o: what the node says if h . o > 0
    sign = {item: 1.0 if first[index[item]] else -1.0 for item in "ab"}
    x = {word: start.in_vectors[row].astype(np.float64) for word, row in index.items()}
    x, o = reference(x, np.zeros(4), line, "user:u", sign, rates)
    assert params.out_vectors[0] == pytest.approx(o, rel=1e-3, abs=1e-5)
    for word, row in index.items():
        assert params.in_vectors[row] == pytest.approx(x[word], rel=1e-3, abs=1e-5), word
    assert np.abs(params.in_vectors[2] - start.in_vectors[2]).max() > 1e-3  # the user learned something


def test_names_of_users_and_items_may_meet(tmp_path):
    assert user_mark(["a", "user:1", "user::"]) == "user:::"
    rows = [("1", "user:1", 1), ("1", "a", 2), (":1", "a", 1), (":1", "user:1", 2)] * 3
    model = Item2Vec(**SMALL, epochs=1, users="vector").fit(rows)
    model.save(tmp_path / "m")
    loaded = unhot.load(tmp_path / "m")
    for user in ("1", ":1"):
        assert loaded.answers.user_row(user) == model.answers.user_row(user) >= 2
        assert loaded.recommend(user) == model.recommend(user)
    assert loaded.answers.user_row("user:1") == -1


def test_settings_that_contradict_each_other():
    with pytest.raises(ConfigError, match="users=vector"):
        Item2Vec(users="vector", engine="torch")
    with pytest.raises(ConfigError, match="users=vector"):
        Item2Vec(users="vector", output="softmax")


# a training that is stopped


@pytest.fixture
def second_is_best(monkeypatch):
    """The second epoch is the best on validation, whatever was learned."""
    usual = item_vectors.window_training

    def watched(model, wiring, windows, begins, tells, *, measure, **more):
        found = measure and (lambda learned: (abs(len(begins.history.validation) - 1.0), ""))
        return usual(model, wiring, windows, begins, tells, measure=found, **more)

    monkeypatch.setattr(item_vectors, "window_training", watched)


class Stop(Exception):
    """Ends a training from a callback."""


def digest(folder):
    return {
        path.name: hashlib.sha256(path.read_bytes()).digest() for path in folder.rglob("*") if path.is_file()
    }


def stop_at(epoch, folder):
    def stop(progress):
        if progress.event == "progress" and progress.epoch > epoch and is_model(checkpoint_of(folder)):
            raise Stop

    return stop


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"split": "leave-last-out", "patience": 9},
        {"split": "leave-last-out", "patience": 2, "epochs": 9},
        {"split": "leave-last-out", "patience": 2, "refit": True},
        {"users": "vector", "with_users": True, "order": "ignored"},
        {"engine": "torch", "split": "leave-last-out"},
    ],
    ids=str,
)
@pytest.mark.usefixtures("second_is_best")
def test_the_same_bytes_after_a_stop(settings, tmp_path):
    (tmp_path / "log.csv").write_text(
        "".join(f"{u},{i},{t}\n" for u, i, t in [("user", "item", "time"), *ROWS])
    )
    how, source = {**SMALL, "epochs": 4, **settings}, tmp_path / "log.csv"
    straight = Item2Vec(**how).fit(source)
    straight.save(tmp_path / "straight")
    stopped = Item2Vec(**how)
    after = max(straight.history.position.epoch - 1, 0)
    with pytest.raises(Stop):
        stopped.fit(
            source,
            checkpoint=Checkpoint(path=tmp_path / "m", chunks=1),
            callbacks=[stop_at(after, tmp_path / "m")],
        )
    again = load_unfinished(tmp_path / "m").resume()
    again.save(tmp_path / "m")
    assert again.history.losses == straight.history.losses
    assert digest(tmp_path / "m") == digest(tmp_path / "straight")


@pytest.mark.usefixtures("second_is_best")
def test_validation_keeps_the_best_epoch(log):
    told, states = [], []
    model = Item2Vec(**SMALL, epochs=9, patience=2, split="leave-last-out")
    model.fit(
        log, note=told.append, callbacks=[lambda _: states.append(model.learned.params.in_vectors.copy())]
    )
    assert model.history.validation == [1, 0, 1, 2]
    assert model.complete
    assert any("that of epoch 2, which was the best" in line for line in told)
    assert any(np.array_equal(state, model.learned.params.in_vectors) for state in states[:-3])
    again = Item2Vec(**SMALL, epochs=9, patience=2, split="leave-last-out", refit=True).fit(log)
    assert again.learned.epochs_found == len(again.history.losses) == 2
    assert again.catalogue.counts.sum() == model.catalogue.counts.sum() + 250


def test_validation_measures_ndcg(log):
    told = []
    Item2Vec(**SMALL, epochs=2, split="leave-last-out").fit(log, note=told.append)
    assert sum("NDCG@10" in line and "of 250 cases" in line for line in told) == 2


def test_ctrl_c_while_epochs_are_found_stops_everything(log):
    def interrupt(progress):
        if progress.event == "epoch":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Item2Vec(**SMALL, epochs=3, split="leave-last-out", refit=True).fit(log, callbacks=[interrupt])


def test_a_damaged_best_epoch_is_refused(log, tmp_path):
    def interrupt(progress):
        if progress.event == "epoch" and progress.epoch == 2:
            raise KeyboardInterrupt

    model = Item2Vec(**SMALL, epochs=3, split="leave-last-out").fit(log, callbacks=[interrupt])
    model.save(tmp_path / "m")
    saved = load_model(tmp_path / "m")
    best = [name for name in saved.tensors if name.startswith("best.")]
    assert sorted(best) == ["best.in_vectors", "best.out_vectors"]
    whole = {**saved.tensors}
    for damaged in ({best[0]: whole[best[0]][1:]}, {best[0]: whole[best[0]].astype(np.float64)}):
        with pytest.raises(unhot.errors.FormatError, match="best epoch of an interrupted training"):
            Item2Vec.from_saved(saved._replace(tensors=whole | damaged)).resume(log)
    del whole[best[0]]
    with pytest.raises(unhot.errors.FormatError, match="best epoch of an interrupted training"):
        Item2Vec.from_saved(saved._replace(tensors=whole)).resume(log)


@pytest.mark.parametrize("how", [{"window": 0, "order": "ignored"}, {"window": 0}, {"window": 400}])
def test_whole_baskets_do_not_diverge(how):
    """Hundreds of items that predict an item at once add up to a step that is far too long."""
    rng, chances = np.random.default_rng(1), 1 / np.arange(1, 301)
    sizes = [6] * 100 + [400] * 6 + [6] * 100
    lines = [[f"i{i}" for i in rng.choice(300, size, p=chances / chances.sum())] for size in sizes]
    told = []
    model = Item2Vec(**{**SMALL, "epochs": 2, "lr": None}, format="sessions", **how).fit(
        lines, note=told.append
    )
    assert 21 * np.log(2) > model.history.losses[0] > model.history.losses[-1]  # one target and 20 draws
    assert any("items of a line predict an item at once" in line for line in told)
