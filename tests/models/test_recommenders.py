"""What all recommenders have in common, and the counted ones against their references."""

import json

import numpy as np
import pandas as pd
import pytest
from programs import without_jit

import unhot
from unhot.errors import ConfigError, DataError, FormatError
from unhot.evaluate.recommending import evaluate_recommender
from unhot.items.histories import histories_of, newest
from unhot.logs.encoding import read_log
from unhot.models import ease, item_cosine, skip_markov
from unhot.models.load import all_models
from unhot.models.log_data import log_again
from unhot.models.recommender_model import RecommenderModel
from unhot.vectors.formats.directory import load_model, save_model

MODELS = {name: kind for name, kind in all_models().items() if issubclass(kind, RecommenderModel)}
TOWERS = ("gru4rec", "mind", "sasrec", "sdm", "youtube-dnn")
TRAINED = ("item2vec", "session", "graph", "eges", *TOWERS)  # in epochs
RNG = np.random.default_rng(5)
# users walk around a circle of items, with repeats
ROWS = [
    (f"u{user}", f"i{(start + step + RNG.integers(2)) % 9}", 100 * user + step)
    for user, start in enumerate(RNG.integers(9, size=25))
    for step in range(6)
]
HISTORIES = [["i1", "i2"], ["i5"], ["i3", "i4", "i3"], []]


def make(name, **settings):
    small = {"dim": 8, "epochs": 2} if name in TRAINED else {}
    more = {"output": "sampled:k=4"} if name in TOWERS else {"sample": 0.0} if small else {}
    more |= {"combine": "none"} if name == "eges" else {}
    return MODELS[name](threads=1, **small | more | settings)


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    """A model that keeps its log."""
    return make(request.param, with_users=True).fit(ROWS)


@pytest.fixture(scope="module")
def folder(fitted, tmp_path_factory):
    folder = tmp_path_factory.mktemp(fitted.name) / "model"
    fitted.save(folder)
    return folder


def scores(model, lines=HISTORIES):
    return model.scores(model.answers.of_lists(lines)[0])


def items(found):
    return [each.item for each in found]


def test_there_are_sixteen():
    assert len(MODELS) == 16


def test_a_saved_model_answers_the_same(fitted, folder):
    loaded = unhot.load(folder, verify=True)
    assert type(loaded) is type(fitted)
    assert loaded.config() == fitted.config()
    assert np.array_equal(scores(loaded), scores(fitted))
    assert loaded.recommend_many(HISTORIES) == fitted.recommend_many(HISTORIES)
    assert loaded.recommend("u3") == fitted.recommend("u3")
    assert loaded.similar("i1") == fitted.similar("i1")
    assert (loaded.learned.record.facts["users"], loaded.learned.record.facts["learned_from"]) == (25, "all")


def test_scores_decide_what_is_recommended(fitted):
    for line, row in zip(HISTORIES, scores(fitted), strict=True):
        found = fitted.recommend(line, 4, exclude_seen=False)
        best = np.argsort(-row, kind="stable")[:4]
        assert [each.score for each in found] == pytest.approx(row[best].tolist(), rel=1e-4, abs=1e-6)
        unseen = items(fitted.recommend(line, 100))
        assert sorted(unseen) == sorted(set(fitted.catalogue.words) - set(line))


def test_by_user(fitted):
    history = [item for user, item, _ in ROWS if user == "u3"]
    assert fitted.recommend("u3") == fitted.recommend(history)
    both = [fitted.recommend("u3"), fitted.recommend(["i1"])]
    assert [*map(items, fitted.recommend_many(["u3", ["i1"]]))] == [*map(items, both)]
    with pytest.raises(DataError, match="is not among the 25 users"):
        fitted.recommend("nobody")


def test_filters(fitted):
    assert set(items(fitted.recommend(["i1"], filter={"i1", "i2", "i3", "?"}))) == {"i2", "i3"}
    assert items(fitted.recommend(["i1"], filter=lambda item: item == "i7")) == ["i7"]
    assert fitted.recommend(["i1"], filter=set()) == []


def test_similar(fitted):
    found = items(fitted.similar("i1", 3))
    assert len(found) == 3
    assert "i1" not in found
    assert len(fitted.similar("i1", 10**9)) == 8
    with pytest.raises(DataError, match="'nothing'"):
        fitted.similar("nothing")


def test_a_model_holds_no_users_unless_asked(tmp_path, fitted):
    model = make(fitted.name).fit(ROWS)
    model.save(tmp_path / "m")
    config = load_model(tmp_path / "m").config
    assert config["log"]["holds_users"] is False
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"u11" not in files
    with pytest.raises(DataError, match="holds no users"):
        unhot.load(tmp_path / "m").recommend("u3")
    model.learn_users(read_log(ROWS))
    assert model.recommend("u3") == fitted.recommend("u3")


def test_damaged_tensors_are_refused(fitted, folder, tmp_path):
    saved = load_model(folder)
    for name, tensor in fitted.learned.tensors(complete=True).items():
        if name in fitted.learned.record.tensors():
            continue
        for number, damage in enumerate((None, tensor[:-1], tensor[..., None], tensor.astype(np.float16))):
            tensors = {key: np.array(each) for key, each in saved.tensors.items() if key != name}
            tensors |= {} if damage is None else {name: damage}
            target = tmp_path / f"{name}{number}"
            how = (saved.config, saved.vocabulary, tensors, saved.out_vocabulary)
            with pytest.raises((FormatError, DataError)):  # vectors are checked when they are saved, too
                assert save_model(target, *how) or unhot.load(target)


@pytest.mark.parametrize("log", [None, 3, {"paths": 1}, {"paths": [1]}])
def test_damaged_facts_are_refused(folder, tmp_path, log):
    saved = load_model(folder)
    save_model(tmp_path / "m", {**saved.config, "log": log}, saved.vocabulary, dict(saved.tensors), None)
    with pytest.raises(FormatError):
        unhot.load(tmp_path / "m")


# in a log where the last two items of each user occur nowhere else
FUTURE = [(u, i, t) for u, i, t in ROWS]
FUTURE += [(f"u{user}", f"before{user}", 100 * user + 10) for user in range(25)]
FUTURE += [(f"u{user}", f"last{user}", 100 * user + 11) for user in range(25)]


def test_nothing_is_learned_from_the_future(fitted):
    for refit, expected in ((False, set()), (True, {"before"})):
        model = make(fitted.name, split="leave-last-out", refit=refit).fit(FUTURE)
        kinds = {item.rstrip("0123456789") for item in model.catalogue.words} - {"i"}
        assert kinds == expected
        assert model.catalogue.counts.sum() == 25 * (6 + refit)
        assert model.learned.record.facts["learned_from"] == ("train + validation" if refit else "train")
        found = evaluate_recommender(model, read_log(FUTURE))
        assert (found.cases, found.unknown, found.figures["recall@20"]) == (25, 25, 0.0)
    if fitted.name != "popularity":
        early = make(fitted.name, split="time", share=0.2).fit(FUTURE)
        assert early.catalogue.counts.sum() < 0.6 * len(FUTURE) + 1


def test_every_source_gives_the_same(fitted, tmp_path):
    table = pd.DataFrame(ROWS, columns=["user", "item", "time"])
    table.to_csv(tmp_path / "log.csv", index=False)
    log = read_log(ROWS, directory=tmp_path / "log")
    expected = scores(fitted)
    for source in (log, table, tmp_path / "log.csv", str(tmp_path / "log.csv"), tmp_path / "log", iter(ROWS)):
        model = make(fitted.name).fit(source)
        assert np.array_equal(scores(model), expected), source
    assert make(fitted.name).fit(tmp_path / "log.csv").learned.record.facts["paths"] == [
        str(tmp_path / "log.csv")
    ]


def test_tiny_and_odd_logs(fitted, tmp_path):
    logs = [[("u", "a", 1), ("u", "b", 2)], [("u", "a", 1), ("u", "a", 2)]]
    logs += [[("1", "user:1", 1), ("user:1", "a b", 2), ("1", "x\ny", 3), ("user:1", "user:1", 4)]]
    for number, rows in enumerate(logs):
        model = make(fitted.name, with_users=True).fit(rows)
        model.save(tmp_path / str(number))
        loaded = unhot.load(tmp_path / str(number))
        first = rows[0][1]
        assert items(loaded.recommend([first])) == items(model.recommend([first]))
        assert {*items(loaded.recommend([], 10**12))} == {item for _, item, _ in rows}
        assert first not in items(loaded.recommend(rows[0][0]))


def test_nonsense_is_refused(fitted):
    for settings in (
        {"refit": True},
        {"share": 0.5},
        {"share": 0},
        {"split": "x"},
        {"repeats": "x"},
        {"core": -1},
        {"format": "x"},
        {"decay": float("nan")},
    ):
        with pytest.raises((ConfigError, TypeError)):
            make(fitted.name, **settings).fit(ROWS)
    with pytest.raises(TypeError, match="counts"):
        make(fitted.name).fit(ROWS, counts={"i1": 1})
    with pytest.raises(DataError, match="no row is left"):
        make(fitted.name, split="leave-last-out").fit([])
    with pytest.raises(DataError, match="learned nothing"):
        make(fitted.name).recommend(["i1"])


PLAIN = """
import json, sys
from tests.models.test_recommenders import MODELS, ROWS, TRAINED, make, scores
found = {}
for name in MODELS:
    model = make(name, **({"dim": 4, "epochs": 1} if name in TRAINED else {})).fit(ROWS[:30])
    found[name] = scores(model, [["i1"], ["i2", "i3", "i2"]]).tolist()
    model.recommend(["i1"])
json.dump(found, sys.stdout)
"""


def test_without_a_compiler():
    for name, found in json.loads(without_jit(PLAIN)).items():
        settings = {"dim": 4, "epochs": 1} if name in TRAINED else {}
        expected = scores(make(name, **settings).fit(ROWS[:30]), [["i1"], ["i2", "i3", "i2"]])
        assert np.array(found) == pytest.approx(expected, rel=1e-3, abs=1e-6), name


# references


@pytest.fixture(scope="module")
def log():
    return read_log(ROWS)


def zeros_and_ones(log):
    x = np.zeros((log.sentences, len(log.items)))
    x[np.repeat(np.arange(log.sentences), np.diff(log.starts)), log.ids_of_lines] = 1
    return x


def asked(model, matrix):
    """The scores of the histories by a matrix of items, in float64."""
    lines = newest(model.answers.of_lists(HISTORIES)[0], model.last, model.decay)
    parts = [slice(a, b) for a, b in zip(lines.starts, lines.starts[1:], strict=False)]
    return np.array([lines.weights[part].astype(np.float64) @ matrix[lines.ids[part]] for part in parts])


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("itemknn", {}),
        ("itemknn", {"shrinkage": 3.0, "last": 1}),
        ("last-cosine", {}),
        ("last-cosine", {"decay": 0.3}),
    ],
)
def test_cosines(log, name, settings):
    model = make(name, **settings).fit(log)
    matrix = item_cosine.reference(zeros_and_ones(log), model.shrinkage)
    assert scores(model) == pytest.approx(asked(model, matrix), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("backward", [0.0, 0.5])
@pytest.mark.parametrize("window", [1, 3])
def test_skip_markov(log, backward, window):
    model = make("skip-markov", backward=backward, window=window).fit(log)
    lines = [log.ids_of_lines[a:b].tolist() for a, b in zip(log.starts, log.starts[1:], strict=False)]
    matrix = skip_markov.reference(lines, len(log.items), window, backward)
    assert scores(model) == pytest.approx(asked(model, matrix), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("settings", [{}, {"regularisation": 2.0, "last": 2, "decay": 0.5}])
def test_ease(log, settings):
    model = make("ease", **settings).fit(log)
    matrix = ease.reference(zeros_and_ones(log), model.regularisation)
    assert scores(model) == pytest.approx(asked(model, matrix), rel=1e-4, abs=1e-6)


def test_ease_by_halves(monkeypatch):
    x = RNG.normal(size=(50, 33))
    gram = x.T @ x + np.eye(33)
    monkeypatch.setattr(ease, "SMALL", 4)
    assert ease.positive_inverse(gram) == pytest.approx(np.linalg.inv(gram), rel=1e-8, abs=1e-10)


def test_ease_says_what_it_needs(log, monkeypatch):
    told = []
    make("ease").fit(log, note=told.append)
    assert any("of memory and 1 s" in line for line in told)
    monkeypatch.setattr(ease, "available_memory", lambda: 100)
    with pytest.raises(DataError, match="100 bytes are free"):
        make("ease").fit(log)


def test_only_so_many_neighbours(log):
    few = make("itemknn", neighbours=2).fit(log)
    assert np.diff(few.learned.counted.starts).max() == 2
    whole = make("itemknn").fit(log)
    row = whole.scores(histories_of([[0]]))[0]
    kept = few.scores(histories_of([[0]]))[0]
    assert sorted(kept[kept > 0]) == sorted(row)[-2:]


def test_popularity_counts_events(log):
    assert make("popularity").fit(log).learned.counted.events.tolist() == log.items.counts.tolist()


DAY = 86_400
DAYS = [("u", "old", 0), ("v", "old", 1), ("w", "old", 2), ("u", "new", 9 * DAY), ("v", "new", 9.5 * DAY)]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({"days": 1.0}, (0, 2)), ({"days": 30.0}, (3, 2)), ({"events": 1}, (0, 1)), ({"events": 4}, (2, 2))],
)
def test_recent_popularity(settings, expected):
    model = make("recent-popularity", **settings).fit(DAYS)
    found = {item: model.learned.counted.events[id] for item, id in model.catalogue.index.items()}
    assert (found["old"], found["new"]) == expected


def test_recent_popularity_chooses_on_validation():
    # each day has an item of its own, which everybody has several times that day
    rows = [(f"u{n}", f"day{t // 4}", t * DAY / 4) for t in range(40) for n in range(3 + t // 10)]
    model = make("recent-popularity", split="leave-last-out").fit(rows)
    assert model.config()["days"] == 1.0
    assert make("recent-popularity", split="leave-last-out", days=7.0).fit(rows).config()["days"] == 7.0
    plain = make("recent-popularity", split="leave-last-out", in_order=True).fit([row[:2] for row in rows])
    assert plain.config()["events"] is not None
    with pytest.raises(ConfigError, match="give one of them"):
        make("recent-popularity", days=1.0, events=2)
    with pytest.raises(ConfigError, match="no times"):
        make("recent-popularity", days=1.0).fit([row[:2] for row in rows])


def test_recent_events_are_the_last_rows_if_there_are_no_times():
    rows = [("u1", "x"), ("u2", "old"), ("u2", "old"), ("u2", "old"), ("u1", "new"), ("u1", "new")]
    model = all_models()["recent-popularity"](events=2).fit(rows)
    counts = dict(zip(model.catalogue.words, model.learned.counted.events.tolist(), strict=True))
    assert counts == {"new": 2, "old": 0, "x": 0}


def test_a_model_is_asked_without_its_file_of_items(tmp_path, monkeypatch):
    (tmp_path / "log.csv").write_text(
        "user,item,time\n" + "".join(f"u{u},i{i},{i}\n" for u in range(4) for i in range(5))
    )
    (tmp_path / "items.csv").write_text("item,name\ni0,an apple\n")
    monkeypatch.chdir(tmp_path)
    model = all_models()["popularity"](split="leave-last-out", items="items.csv").fit("log.csv")
    (tmp_path / "items.csv").unlink()
    assert log_again(model).sentences == 4
    assert {each.name for each in model.recommend(["i1"])} == {"", "an apple"}


@pytest.mark.parametrize("filter", ["i0003", 5])
def test_a_filter_is_items_or_a_function(filter):
    model = all_models()["popularity"]().fit([("u", "a"), ("u", "b")])
    with pytest.raises(ConfigError, match="filter="):
        model.recommend(["a"], filter=filter)
    with pytest.raises(ConfigError, match="history"):
        model.recommend(5)


def test_recent_popularity_chooses_again_for_another_log():
    model = all_models()["recent-popularity"](split="leave-last-out", in_order=True)
    first = model.fit([(f"u{u}", f"i{i}", i) for u in range(4) for i in range(5)]).config()["days"]
    assert first is not None
    again = model.fit([(f"u{u}", f"i{i}") for u in range(4) for i in range(5)])  # without times
    assert again.config()["days"] is None
    assert again.config()["events"] is not None


def test_a_saved_model_is_evaluated_without_its_log_and_names_no_file(fitted, tmp_path):
    """Its questions, and so its figures, are those of the log."""
    table = pd.DataFrame(ROWS, columns=["user", "item", "time"])
    table.to_csv(tmp_path / "log.csv", index=False)
    for split in ("leave-last-out", "time"):
        model = make(fitted.name, split=split, share=0.2).fit(tmp_path / "log.csv")
        model.save(tmp_path / split)
        for part in ("validation", "test"):
            expected = evaluate_recommender(model, tmp_path / "log.csv", part).as_dict()
            found = evaluate_recommender(unhot.load(tmp_path / split), part=part).as_dict()
            assert {**found, "milliseconds": 0} == {**expected, "milliseconds": 0}
        config = (tmp_path / split / "v1" / "config.json").read_text()
        assert str(tmp_path) not in config
        tensors = load_model(tmp_path / split).tensors
        assert not any(
            b"u1" in np.asarray(tensor).tobytes() for name, tensor in tensors.items() if "text" in name
        )


def test_what_was_seen_follows_one_rule(tmp_path):
    rows = [("u", item, 10 * time) for time, item in enumerate("abcab")]
    kept = read_log(rows, gap=60.0, directory=tmp_path / "kept")  # lines are sessions
    for model in (make("popularity", gap=60.0).fit(rows), make("popularity").fit(kept)):
        assert "a" in items(model.recommend(["a"]))
        model.save(tmp_path / "m")
        assert "a" in items(unhot.load(tmp_path / "m").recommend(["a"]))
        found = evaluate_recommender(model, prefixes=read_log([["a", "a"]], format="sessions"))
        assert (found.seen, found.repeated) == ("ranked", 0)
        assert "a" not in items(model.recommend(["a"], exclude_seen=True))
    histories = make("popularity").fit(rows)
    assert "a" not in items(histories.recommend(["a"]))
    assert (
        evaluate_recommender(histories, prefixes=read_log([["a", "b"]], format="sessions")).seen == "excluded"
    )


def test_a_log_that_is_read_already_takes_no_other_settings(tmp_path):
    read_log(ROWS, gap=30.0, core=2, repeats="merge", directory=tmp_path / "log")
    kept = unhot.Log.open(tmp_path / "log")
    for settings in (
        {"gap": 5.0},
        {"core": 3},
        {"min_rating": 2.0},
        {"session": "x"},
        {"items": "items.csv"},
    ):
        name = next(iter(settings))
        for source in (kept, tmp_path / "log"):
            with pytest.raises(ConfigError, match=f"{name}=.* this log is read already, with {name}="):
                make("popularity", **settings).fit(source)
    # the same settings, or none
    make("popularity", gap=30.0, core=2, repeats="merge", time="time", split="time", share=0.2).fit(kept)
    make("item2vec", split="leave-last-out", refit=True).fit(kept)


def test_rows_without_a_rating_count_unless_ratings_do(tmp_path):
    (tmp_path / "log.csv").write_text("user,item,time,rating\nu,a,1,5\nu,b,2,\nu,c,3,?\nv,a,4,1\n")
    assert make("popularity").fit(tmp_path / "log.csv").learned.record.facts["events"] == 4
    assert make("popularity", min_rating=2).fit(tmp_path / "log.csv").learned.record.facts["events"] == 1


def test_anything_like_a_list_is_a_history():
    polars = pytest.importorskip("polars")
    model = make("popularity").fit([("u", "a"), ("u", "b"), ("v", "c")])
    series = polars.Series(["a", "b"])
    for history in (
        np.array(["a", "b"]),
        pd.Series(["a", "b"], index=[5, 6]),
        pd.Series(["a", "b"], dtype="category"),
        series,
        series.cast(polars.Categorical),
    ):
        assert items(model.recommend(history)) == ["c"]
        assert items(model.recommend(each for each in history)) == ["c"]
        assert items(model.recommend([], filter=history)) == ["a", "b"]
        assert [*map(items, model.recommend_many([history, ["c"]]))] == [["c"], ["a", "b"]]
        sessions = make("popularity", format="sessions").fit([history, ["b", "c"]])
        assert dict(zip(sessions.catalogue.words, sessions.catalogue.counts, strict=True)) == {
            "a": 1,
            "b": 2,
            "c": 1,
        }
    table = polars.DataFrame({"user": ["u", "v"], "item": series}).with_columns(
        polars.all().cast(polars.Categorical)
    )
    assert make("popularity").fit(table).catalogue.words == ["a", "b"]
    assert make("popularity").fit(np.array([["u", "a"], ["v", "b"]])).catalogue.words == ["a", "b"]
    with pytest.raises(ConfigError, match="as strings"):
        model.recommend(["a"], filter={1, 2})
    with pytest.raises(ConfigError, match="give a list of users"):
        model.recommend_many("u")
