"""Deep retrieval models: what they learn from, how they are trained, resumed, saved and asked."""

import dataclasses
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from grids import crossed, soak_only
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

import unhot  # noqa: E402
from unhot.errors import ConfigError, DataError, FormatError, NothingLearned  # noqa: E402
from unhot.evaluate.recommending import evaluate_recommender  # noqa: E402
from unhot.items.kept_log import NO_SIDES  # noqa: E402
from unhot.logs.encoding import read_log  # noqa: E402
from unhot.models.load import all_models  # noqa: E402
from unhot.models.towers.tower_answers import merged  # noqa: E402
from unhot.nn.towers import TOWERS  # noqa: E402
from unhot.outputs import LAYERS  # noqa: E402
from unhot.train.checkpoint import Checkpoint  # noqa: E402
from unhot.vectors.formats.directory import load_model, save_model  # noqa: E402

NAMES = sorted(TOWERS)
SMALL = {"dim": 8, "output": "softmax", "batch": 16, "lr": 0.03, "dropout": 0.0, "warmup": 5, "threads": 1}
OWN = {
    "gru4rec": {"units": 16, "epochs": 30},
    "mind": {"units": 16, "examples": 4, "interests": 2, "epochs": 12},
    "sasrec": {"blocks": 1, "epochs": 20},
    "sdm": {"examples": 4, "short": 5, "pause": 30.0, "epochs": 12},
    "youtube-dnn": {"units": 16, "examples": 4, "decay": 0.4, "epochs": 12},
}


def make(name, **settings):
    """A small model that learns quickly."""
    return all_models()[name](**{**SMALL, **OWN[name], **settings})


def items(found):
    return [each.item for each in found]


# ---- features: the device of an event decides which item comes next, and nothing else does

DEVICES = ("tv", "web", "app", "car")
FEATURES = {"features": "device,price,town", "side": "brand"}


def planted_devices(users=40, events=7, seed=1):
    rng, rows = np.random.default_rng(seed), []
    for user in range(users):
        item = rng.integers(4)
        for step in range(events):
            device = rng.integers(4)
            row = {"user": f"u{user}", "item": f"i{item}", "time": 600 * user + 120 * step}
            row |= {"device": DEVICES[device], "brand": f"b{item % 2}|b{item}"}
            row |= {"price": None if step == 2 else float(rng.integers(90)) / 10}
            rows.append(row | {"town": ["Rome", "Oslo", None][int(rng.integers(3))]})
            item = device
    return rows


DEVICE_ROWS = planted_devices()
ASKED = [
    [{"item": "i1", "time": 3, "device": "tv"}, {"item": "i2", "time": "9", "device": "app", "price": 3.2}],
    [{"item": "i0", "device": "car", "color": "red"}],
    [{"item": "i3", "device": "horse", "price": "a lot"}, "i2"],
    ["i1", "i2"],
    [],
]


@pytest.fixture(scope="module", params=NAMES)
def featured(request):
    """A model that learned from features of events and of items, and keeps the questions of its split."""
    return make(request.param, split="leave-last-out", **FEATURES).fit(DEVICE_ROWS)


@pytest.fixture(scope="module")
def reloaded(featured, tmp_path_factory):
    """The same model, saved and read back."""
    folder = tmp_path_factory.mktemp(featured.name) / "model"
    featured.save(folder)
    return unhot.load(folder, verify=True)


def by_device(model, device, before=()):
    """What a model recommends after an event on a device."""
    return items(model.recommend([*before, {"item": "i1", "device": device}], 1, exclude_seen=False))


def test_the_device_decides_the_next_item(featured):
    for number, device in enumerate(DEVICES):
        assert by_device(featured, device) == [f"i{number}"]
        before = [{"item": "i3", "device": "web"}, {"item": "i1", "device": "app"}]
        assert by_device(featured, device, before) == [f"i{number}"]
    found = evaluate_recommender(featured, ks=(1,), exclude_seen=False)
    assert found.figures["recall@1"] > 0.9  # the items alone say nothing: 0.25


def test_a_saved_model_knows_its_features(featured, reloaded):
    assert np.array_equal(reloaded.user_vectors(ASKED), featured.user_vectors(ASKED))
    assert reloaded.recommend_many(ASKED) == featured.recommend_many(ASKED)
    for before, after in zip(featured.learned.features, reloaded.learned.features, strict=True):
        assert (before.name, before.kind, [*before.words]) == (after.name, after.kind, [*after.words])
        assert np.array_equal(before.numbers, after.numbers)
    assert [each.kind for each in reloaded.learned.features] == ["categories", "buckets", "categories"]


def test_kept_questions_have_times_and_features(featured, reloaded):
    for part in ("validation", "test"):
        expected = evaluate_recommender(featured, DEVICE_ROWS, part, ks=(1,)).as_dict()
        for model in (featured, reloaded):
            found = evaluate_recommender(model, part=part, ks=(1,)).as_dict()
            assert {**found, "milliseconds": 0} == {**expected, "milliseconds": 0}


def test_users_of_a_log_have_times_and_features(featured, reloaded, tmp_path):
    """Given later, or kept with the model: always the vectors of the same events as dicts."""
    users = [f"u{user}" for user in range(5)]
    lines = [[event for event in DEVICE_ROWS if event["user"] == user] for user in users]
    told = [
        [{k: v for k, v in event.items() if k not in ("user", "brand")} for event in line] for line in lines
    ]
    with read_log(DEVICE_ROWS, features=("device", "price", "town")) as log:
        reloaded.learn_users(log)
    keeps = make(featured.name, epochs=1, with_users=True, **FEATURES).fit(DEVICE_ROWS)
    keeps.save(tmp_path / "m")
    for model in (reloaded, keeps, unhot.load(tmp_path / "m")):
        expected = model.user_vectors(told)
        assert model.user_vectors(users) == pytest.approx(expected, rel=1e-5, abs=1e-6)
        assert items(model.recommend("u3")) == items(model.recommend(told[3]))
        plain = model.user_vectors([[event["item"] for event in line] for line in lines])
        assert not np.isclose(plain, expected).all(axis=-1).any()


def test_new_items_are_recommended_by_their_side_values(featured):
    """The mean of the items that share their values, compared with the last items by cosines."""
    new = {"first": {"brand": "b1"}, "second": {"brand": ["b0", "b2"]}}
    vectors = featured.vectors.vectors / np.linalg.norm(featured.vectors.vectors, axis=1, keepdims=True)
    row = {item: vectors[featured.vectors.words.index(item)] for item in ("i1", "i3")}
    asking = 0.8 * row["i1"] + row["i3"]
    for found in featured.recommend_new(["i1", {"item": "i3", "device": "tv"}], new):
        item = featured.new_item(new[found.item])
        cosine = asking @ item / np.linalg.norm(asking) / np.linalg.norm(item)
        assert found.score == pytest.approx(cosine, abs=1e-5)


# ---- what is learned: users walk around a circle, and now and then jump


def planted_order(users=60, events=8, seed=1):
    rng, rows = np.random.default_rng(seed), []
    for user in range(users):
        item = rng.integers(16)
        for step in range(events):
            rows.append((f"u{user}", f"i{item}", 600 * user + 120 * step))
            item = (item + 1 if rng.random() < 0.9 else rng.integers(16)) % 16
    return rows


ORDER = planted_order()
# each layer with a tower
LEARNED = {
    "adaptive:cutoffs=4": "sasrec",
    "class_based": "youtube-dnn",
    "differentiated:cutoffs=4": "gru4rec",
    "hierarchical": "sdm",
    "in_batch": "mind",
    "infrequent": "gru4rec",
    "mixed:k=4,normalized=true,temperature=0.2": "sasrec",
    "nce": "sasrec",
    "negative": "youtube-dnn",
    "one_vs_all": "gru4rec",
    "partition": "sasrec",
    "sampled": "youtube-dnn",
    "sampled_logistic": "gru4rec",
    "self_normalized": "sasrec",
    "softmax": "youtube-dnn",
}
LONGER = {
    "gru4rec": {"lr": 0.1, "epochs": 30},
    "mind": {"lr": 0.05, "epochs": 12, "interests": 1},
    "sasrec": {"lr": 0.05, "epochs": 20},
    "sdm": {"lr": 0.05, "epochs": 8, "short": 3},
    "youtube-dnn": {"lr": 0.05, "epochs": 12},
}


def recall(model):
    """How often the item that came next is the first one."""
    return evaluate_recommender(model, ks=(1,)).figures["recall@1"]


def test_every_layer_and_every_tower_learns():
    assert {spec.partition(":")[0] for spec in LEARNED} == {*LAYERS}
    assert {*LEARNED.values()} == {*NAMES}


def test_popularity_does_not_know_the_order():
    assert recall(all_models()["popularity"](split="leave-last-out").fit(ORDER)) < 0.25


@pytest.mark.parametrize("output", LEARNED)
def test_the_order_of_events_is_learned_through_every_layer(output, tmp_path):
    name = LEARNED[output]
    how = {"output": output, "batch": 8, "patience": 30, "split": "leave-last-out", **LONGER[name]}
    model = make(name, **how).fit(ORDER)
    assert recall(model) > 0.45
    assert model.history.losses[-1] < model.history.losses[0]
    model.save(tmp_path / "m")
    loaded, asked = unhot.load(tmp_path / "m"), [["i1", "i2"], ["i9"], []]
    assert loaded.recommend_many(asked) == model.recommend_many(asked)
    if output.partition(":")[0] in ("adaptive", "class_based", "hierarchical"):  # rows are no items
        scores = loaded.scores(loaded.answers.of_lists(asked)[0])
        assert np.exp(scores).sum(axis=1) == pytest.approx(np.ones(3), abs=1e-5)
        for history, row in zip(asked, scores, strict=True):
            best = loaded.recommend(history, 3, exclude_seen=False)
            assert [each.score for each in best] == pytest.approx(np.sort(row)[::-1][:3], abs=1e-4)


def planted_tastes(users=200, events=16, tastes=16, each=3, seed=1):
    """Users with two to four tastes, between which they alternate at random."""
    rng, rows = np.random.default_rng(seed), []
    for user in range(users):
        own = rng.choice(tastes, rng.integers(2, 5), replace=False)
        for step in range(events):
            rows.append((f"u{user}", f"i{rng.choice(own)}.{rng.integers(each)}", 600 * user + step))
    return rows


def test_several_interests_know_several_tastes():
    """Tastes have 3 items, so those of a user have at most 12."""
    rows, found = planted_tastes(), []
    how = {"dim": 6, "units": 32, "examples": 8, "batch": 32, "lr": 0.08, "epochs": 15, "patience": 100}
    for interests in (1, 4):
        model = make("mind", **how, interests=interests, split="leave-last-out").fit(rows)
        found.append(evaluate_recommender(model, ks=(12,), exclude_seen=False).figures["recall@12"])
    assert found[1] > found[0] + 0.1


def planted_brands(users, seed, brands=6, each=12):
    """Users whose first item has a brand, which decides the last one; in between all see the same."""
    rng, rows = np.random.default_rng(seed), []
    for user in range(users):
        brand = rng.integers(brands)
        line = [f"i{brand}.{rng.integers(each)}", "n0", "n1", f"box{brand}"]
        for step, item in enumerate(line):
            row = {"user": f"u{user}", "item": item, "time": 1000 * user + step}
            rows.append(row | {"brand": None if step else f"b{brand}"})
    return rows


def test_the_side_values_of_old_events_decide():
    """The short session of two events is the same for all, so alone it answers the same for all."""
    rows, asked = planted_brands(150, seed=1), planted_brands(60, seed=1001)
    histories = [[each["item"] for each in asked[at : at + 3]] for at in range(0, len(asked), 4)]
    how = {"short": 2, "heads": 2, "examples": 0, "batch": 8, "lr": 0.05, "side": "brand"}
    best = {}
    for long_term, epochs in ((True, 12), (False, 1)):
        model = make("sdm", **{**how, "epochs": epochs}, long_term=long_term).fit(rows)
        found = model.recommend_many(histories, 1, exclude_seen=False)
        best[long_term] = [items(each)[0] for each in found]
    assert len({*best[False]}) == 1
    expected = [each["item"] for each in asked[3::4]]
    right = np.mean([item == wanted for item, wanted in zip(best[True], expected, strict=True)])
    guess = max(map(expected.count, expected)) / len(expected)  # the best that one answer for all can be
    assert right > guess + 0.25


# ---- trainings that are interrupted, stopped, repeated

TRAINED = {"batch": 2, "epochs": 3, "output": "sampled:k=3", "split": "leave-last-out", "dropout": 0.2}
SHORT_LOG = ORDER[: 8 * 30]


class Stop(Exception):
    """Ends a training as a kill does: nothing but its checkpoint is left."""


def at_chunk(number, error):
    """A callback that raises an error after so many chunks."""
    seen = []

    def stop(progress):
        if progress.event == "progress":
            seen.append(progress.words)
            if len(seen) == number:
                raise error

    return stop


def files_of(folder):
    """The files of the saved version of a model, without the manifest, which lists their checksums."""
    (version,) = folder.glob("v*")
    return {name: (version / name).read_bytes() for name in ("model.safetensors", "config.json", "vocab.txt")}


@pytest.mark.parametrize(("name", "optimizer"), crossed(NAMES, ["adamw", "adagrad"]))
def test_a_resumed_training_gives_the_same_bytes(name, optimizer, tmp_path):
    """After a kill in the second epoch, which leaves a checkpoint, and after Ctrl-C in the third."""
    more = {} if all_models()[name].__dataclass_fields__.get("examples") is None else {"examples": 3}
    model = make(name, **TRAINED, **more, optimizer=optimizer)
    whole = dataclasses.replace(model).fit(SHORT_LOG)
    whole.save(tmp_path / "whole")
    per_epoch = whole.history.chunks
    assert per_epoch > 1
    checkpoint = Checkpoint(path=tmp_path / "cut", chunks=1, minutes=None)
    with pytest.raises(Stop):
        model.fit(SHORT_LOG, checkpoint=checkpoint, callbacks=[at_chunk(per_epoch + 2, Stop)])
    cut = unhot.load_unfinished(tmp_path / "cut")
    assert cut.history.position.epoch == 1
    assert cut.history.position.chunk > 0
    cut.resume(SHORT_LOG, callbacks=[at_chunk(per_epoch, KeyboardInterrupt)])
    assert cut.history.interrupted
    cut.save(tmp_path / "cut")
    again = unhot.load(tmp_path / "cut").resume(SHORT_LOG)
    assert again.history.validation == whole.history.validation
    again.save(tmp_path / "cut")
    assert files_of(tmp_path / "cut") == files_of(tmp_path / "whole")


def test_sparse_gradients_give_the_same_model():
    """Where a layer does not score all items, AdaGrad moves only the rows of a batch."""

    def trained(**how):
        model = make("sasrec", **{**TRAINED, "clip": 0.5, **how}, optimizer="adagrad").fit(SHORT_LOG)
        return model.learned.net.events.items, model.vectors.vectors

    (sparse, one), (dense, other) = trained(), trained(weight_decay=1e-30)
    assert (sparse.sparse, dense.sparse) == (True, False)
    assert one == pytest.approx(other, abs=1e-5)


def overfitted(**how):
    """Settings with which the best epoch is an early one."""
    return make("sasrec", **{**TRAINED, "lr": 0.2, "epochs": 9, "patience": 2, "dropout": 0.0, **how})


def test_early_stopping_keeps_the_best_epoch(tmp_path):
    told = []
    model = overfitted().fit(SHORT_LOG, note=told.append)
    losses = model.history.validation
    best = int(np.argmin(losses)) + 1
    assert model.complete
    assert len(losses) == len(model.history.losses) == best + 2 < 9
    assert any(f"that of epoch {best}, which was the best" in line for line in told)
    found = evaluate_recommender(model, part="validation").figures["ndcg@10"]
    assert found == pytest.approx(-min(losses))
    # interrupted behind its best epoch, it ends with the same one
    cut = overfitted()
    cut.fit(SHORT_LOG, callbacks=[at_chunk((best + 1) * model.history.chunks, KeyboardInterrupt)])
    cut.save(tmp_path / "cut")
    again = unhot.load(tmp_path / "cut").resume(SHORT_LOG)
    again.save(tmp_path / "cut")
    model.save(tmp_path / "whole")
    assert files_of(tmp_path / "cut") == files_of(tmp_path / "whole")


def test_a_refit_learns_for_the_epochs_that_were_best():
    trial = overfitted().fit(SHORT_LOG)
    best = int(np.argmin(trial.history.validation)) + 1
    model = overfitted(refit=True).fit(SHORT_LOG)
    assert model.learned.epochs_found == len(model.history.losses) == best
    assert model.history.validation == []
    assert model.learned.record.facts["learned_from"] == "train + validation"
    assert model.catalogue.counts.sum() == len(SHORT_LOG) - 30


def test_the_seed_decides():
    found = [make("gru4rec", epochs=2, seed=seed).fit(SHORT_LOG).vectors.vectors for seed in (1, 1, 2)]
    assert np.array_equal(found[0], found[1])
    assert not np.isclose(found[0], found[2]).any(axis=1).all()
    beginnings = [
        make("mind", seed=seed).new_net(np.arange(9, 0, -1), NO_SIDES, []).own_state() for seed in (1, 1, 2)
    ]
    for name, tensor in beginnings[0].items():
        assert torch.equal(tensor, beginnings[1][name])
        assert not torch.equal(tensor, beginnings[2][name]), name  # the fixed logits of MIND, too


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"minutes": 0}, "minutes=0: must be more than 0"),
        ({"dropout": 1}, "dropout=1.0: must be less than 1"),
        ({"length": 0}, "length=0"),
        ({"output": "brain"}, "brain"),
        ({"optimizer": "adam"}, "optimizer"),
        ({"device": "brain"}, "device='brain': cannot be used here"),
        ({"tie": True, "output": "hierarchical"}, "cannot share"),
    ],
)
def test_wrong_settings(wrong, why):
    for name in NAMES:
        with pytest.raises(ConfigError, match=why):
            make(name, **wrong).fit(SHORT_LOG)


def test_minutes_end_a_training():
    rates = []
    model = make("gru4rec", minutes=0.005, epochs=100_000)
    model.fit(SHORT_LOG, callbacks=[lambda progress: rates.append(progress.lr)])
    assert model.complete
    assert 0.25 < model.history.seconds < 20
    assert rates[-1] < 0.2 * max(rates)


TWO = """
import json, os, sys
import unhot
from unhot.models.load import all_models
file, place = sys.argv[1:]
rows, kinds = json.load(open(file))
found = {}
for name, settings in kinds.items():
    model = all_models()[name](**settings).fit(rows)
    vectors = [model.user_vectors([["i1", "i2"], ["i9"]]), model.out_vectors.vectors]
    found[name] = [model.history.validation, *(each.tolist() for each in vectors)]
rank = os.environ["RANK"]
json.dump(found, open(f"{place}/{rank}.json", "w"))
os._exit(0)  # gloo's threads may abort an orderly end
"""


@soak_only  # importing what processes share takes each of them seven seconds
def test_two_processes_learn_what_one_learns(tmp_path):
    """Each takes half of every batch; all histories have the same length, so both halves count alike."""
    same = {**SMALL, "batch": 6, "epochs": 2, "lr": 0.3, "clip": 0.0, "optimizer": "sgd"}
    kinds = {name: {**OWN[name], **same, "split": "leave-last-out", **FEATURES} for name in NAMES}
    kinds = {name: {**how, **({"examples": 3} if "examples" in how else {})} for name, how in kinds.items()}
    (tmp_path / "two.py").write_text(TWO)
    (tmp_path / "given.json").write_text(json.dumps([DEVICE_ROWS, kinds]))
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", tmp_path / "two.py"]
    given = [sys.executable, *map(str, [*command, tmp_path / "given.json", tmp_path])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(given, capture_output=True, text=True, timeout=240, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    one, other = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2))
    assert one == other
    for name, (validation, users, out) in one.items():
        alone = all_models()[name](**kinds[name]).fit(DEVICE_ROWS)
        assert validation == pytest.approx(alone.history.validation, rel=1e-3), name
        assert np.array(users) == pytest.approx(alone.user_vectors([["i1", "i2"], ["i9"]]), abs=1e-4), name
        assert np.array(out) == pytest.approx(alone.out_vectors.vectors, abs=1e-4), name


# ---- folders that are damaged


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model with features, side values, kept users and interests, as it is read from its folder."""
    folder = tmp_path_factory.mktemp("saved") / "model"
    make("mind", epochs=1, with_users=True, **FEATURES).fit(DEVICE_ROWS).save(folder)
    return load_model(folder)


def save_with(saved, folder, tensors=(), **config):
    """Save a model with other tensors, None: without one, and another config; checksums are right."""
    kept = {
        name: np.array(tensor)
        for name, tensor in {**saved.tensors, **dict(tensors)}.items()
        if tensor is not None
    }
    save_model(folder, {**saved.config, **config}, saved.vocabulary, kept, None)


@pytest.mark.parametrize(
    "config",
    [
        {"dim": 9},
        {"dim": 65536},  # more than memory
        {"units": 17},
        {"interests": 3},
        {"length": 10_000},
        {"tie": False},
        {"output": "hierarchical"},
        {"epochs_found": "many"},
        {"epochs_found": 0},
        {"epochs_found": [3]},
    ],
)
def test_a_config_that_does_not_fit_is_refused(saved, tmp_path, config):
    save_with(saved, tmp_path / "m", **config)
    with pytest.raises(FormatError):
        unhot.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("feature0.text", lambda _: None),
        ("feature0.text", lambda array: array[:-1]),
        ("feature1.numbers", lambda array: array[:-1]),
        ("feature2.starts", lambda array: array[:-1]),
        ("side_ids", lambda array: array + 1),
        ("side_starts", lambda array: array[:-1]),
        ("log_times", lambda array: array[:-1]),
        ("log_0.values", lambda array: array + 1),
        ("log_1.missing", lambda array: array[:-1]),
        ("in_vectors", lambda array: array[:-1]),
        ("net.tower.start", lambda array: array[:-1]),
        ("net.events.features.weight", lambda array: array[:-1]),
        ("net.events.sides.weight", lambda array: array * np.nan),
        ("net.tower.extra", lambda _: np.zeros(3, np.float32)),
    ],
)
def test_damaged_tensors_are_refused(saved, tmp_path, name, change):
    damaged = {name: change(saved.tensors.get(name))}
    with pytest.raises((FormatError, DataError)):  # vectors are checked when they are saved, too
        assert save_with(saved, tmp_path / "m", damaged) or unhot.load(tmp_path / "m")


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "vocab.txt"])
def test_a_truncated_folder_is_refused(tmp_path, file):
    make("sasrec", epochs=1).fit(SHORT_LOG).save(tmp_path / "m")
    path = tmp_path / "m" / "v1" / file
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(FormatError):
        unhot.load(tmp_path / "m")


def test_a_damaged_state_of_a_training_is_refused(tmp_path):
    model = make("gru4rec", **TRAINED)
    model.fit(SHORT_LOG, callbacks=[at_chunk(2, KeyboardInterrupt)])
    model.save(tmp_path / "cut")
    cut = load_model(tmp_path / "cut")
    moment = "optimizer.events.items.weight.exp_avg"
    for wrong in (np.zeros((3, 8), np.float32), np.array(cut.tensors[moment]).astype(np.float64)):
        save_with(cut, tmp_path / "m", {moment: wrong})
        with pytest.raises(FormatError, match=f"{moment} has the shape"):
            unhot.load_unfinished(tmp_path / "m").resume(SHORT_LOG)
    with pytest.raises(DataError, match="not the text that the training started with"):
        unhot.load_unfinished(tmp_path / "cut").resume(ORDER)


# ---- answers


@given(
    st.integers(1, 6).flatmap(
        lambda width: st.lists(
            st.lists(st.tuples(st.integers(-1, 5), st.integers(-9, 9)), min_size=width, max_size=width),
            min_size=1,
            max_size=3,
        )
    ),
    st.integers(1, 6),
)
def test_several_interests_are_merged_by_their_best_scores(lines, k):
    ids = np.array([[item for item, _ in line] for line in lines], np.int64)
    scores = np.array(
        [[score if item >= 0 else -np.inf for item, score in line] for line in lines], np.float32
    )
    found, best = merged(ids, scores, k)
    for line, items_found, scores_found in zip(lines, found.tolist(), best.tolist(), strict=True):
        known = {}
        for item, score in line:
            if item >= 0:
                known[item] = max(score, known.get(item, score))
        expected = sorted(known.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
        missing = k - len(expected)
        assert items_found == [item for item, _ in expected] + [-1] * missing
        assert scores_found == [score for _, score in expected] + [-np.inf] * missing


@pytest.fixture(scope="module")
def interests():
    """A model with interests that differ much, of items with biases."""
    model = make("mind", epochs=1, output="nce:k=3,bias=true", interests=3, tie=False).fit(ORDER)
    net, rng = model.learned.net, np.random.default_rng(3)
    for parameter in net.parameters():
        parameter.data = torch.from_numpy(rng.normal(size=parameter.shape)).float()
    model.fit_state.learned = model.learned.as_it_is()
    return model


MANY = [[f"i{i}" for i in line] for line in ([1], [3, 4], range(9), [5] * 12, [15, 2, 7, 7, 1, 0, 3, 9], [])]


@pytest.mark.parametrize("exclude_seen", [True, False])
@pytest.mark.parametrize("filter", [None, {"i1", "i2", "i3", "i9", "i15"}])
def test_the_best_interest_of_each_item_counts(interests, exclude_seen, filter):
    users = interests.user_vectors(MANY)
    out, bias = interests.learned.params.out_vectors, interests.learned.params.out_bias
    assert users.shape == (6, 3, 8)
    words = np.array(interests.catalogue.words)
    for k in (1, 4, 100):
        answers = interests.recommend_many(MANY, k, exclude_seen=exclude_seen, filter=filter)
        for line, user, answer in zip(MANY, users, answers, strict=True):
            scores = (user @ out.T + bias).max(axis=0)
            barred = np.isin(words, line) & exclude_seen | ~np.isin(words, [*(filter or words)])
            order = [i for i in np.argsort(-scores, kind="stable") if not barred[i]][:k]
            assert items(answer) == words[order].tolist()
            assert [each.score for each in answer] == pytest.approx(scores[order].tolist(), rel=1e-5)
    assert len({tuple(items(each)) for each in answers}) > 2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("output", ["softmax", "nce:k=3,bias=true"])
def test_scores_are_products_of_users_and_items(name, output):
    model = make(name, epochs=1, output=output).fit(ORDER)
    users, bias = model.user_vectors(MANY), model.learned.params.out_bias
    products = users @ model.out_vectors.vectors.T + (bias if bias.size else 0)
    products = products.max(axis=1) if name == "mind" else products
    assert model.scores(model.answers.of_lists(MANY)[0]) == pytest.approx(products, abs=1e-5)
    assert model.out_vectors.words == model.catalogue.words
    nearest = model.vectors.most_similar("i3", topn=4)
    assert [(each.item, each.score) for each in model.similar("i3", 4)] == nearest


@pytest.mark.parametrize("name", NAMES)
def test_only_the_last_events_of_a_long_history_are_read(name):
    model = make(name, epochs=1, length=5, output="softmax").fit(ORDER)
    line = [f"i{i}" for i in (3, 1, 4, 1, 5, 9, 2, 6)]
    found = model.user_vectors([line, line[-5:], line[-4:], ["i8", *line[-5:]]])
    assert found[0] == pytest.approx(found[1], abs=1e-6)
    assert found[0] == pytest.approx(found[3], abs=1e-6)
    assert not np.isclose(found[0], found[2]).all()
    seen = items(model.recommend(line, 100))  # but none of its items is recommended again
    assert sorted(seen) == sorted({*model.catalogue.words} - {*line})


def test_a_graph_finds_what_exact_search_finds():
    pytest.importorskip("usearch")
    rows = [(f"u{u}", f"i{(7 * u + t) % 200}", 100 * u + t) for u in range(100) for t in range(6)]
    exact = make("mind", epochs=5).fit(rows)
    graph = dataclasses.replace(exact, approximate=True)
    graph.fit_state = dataclasses.replace(exact.fit_state, made={})
    asked = [[f"i{(i + t) % 200}" for t in range(5)] for i in range(0, 200, 3)]
    expected, found = exact.recommend_many(asked, 10), graph.recommend_many(asked, 10)
    assert graph.answers.search._graph is not None
    shared = [len({*items(a)} & {*items(b)}) for a, b in zip(expected, found, strict=True)]
    assert np.mean(shared) > 9.8
    for before, after in zip(expected, found, strict=True):
        scores = {each.item: each.score for each in before}
        for each in after:
            assert each.score == pytest.approx(scores.get(each.item, each.score), rel=1e-4)
    assert all(not {*items(line)} & {*history} for line, history in zip(found, asked, strict=True))


def test_answers_for_nobody():
    model = make("mind", epochs=1).fit(ORDER)
    assert model.recommend_many([]) == []
    assert model.scores(model.answers.of_lists([])[0]).shape == (0, 16)
    one, two = model.user_vectors([["nothing", "i?"]]), model.user_vectors([[]])
    assert np.array_equal(one, two)  # of unknown items nothing is known
    assert model.recommend_many([["nothing"]]) == [[]]
    with pytest.raises(DataError, match="none of the 1 items"):
        model.recommend(["nothing"])
    with pytest.raises(ConfigError, match="dicts with an item"):
        model.recommend([{"device": "tv"}])
    with pytest.raises(DataError, match="neither all numbers nor all dates"):
        model.recommend([{"item": "i1", "time": "yesterday"}])


# ---- logs and histories of which little is known


@pytest.mark.parametrize("name", NAMES)
def test_a_column_without_values_has_no_vectors(name):
    rows = [{"user": f"u{n % 7}", "item": f"i{n % 9}", "time": n, "price": None} for n in range(60)]
    model = make(name, epochs=1, features="price").fit(rows)
    history = [{"item": "i1", "price": 3}, "i2"]
    assert items(model.recommend(history, 3)) == items(model.recommend(["i1", "i2"], 3))


def test_columns_are_named_in_a_string():
    with pytest.raises(DataError, match="features: .*'price'.* list: give a string"):
        make("sasrec", features=["price"]).fit(ORDER)


def test_lines_of_one_event_say_what_is_missing():
    with pytest.raises(NothingLearned, match=r"no user and no session has two events.*--session"):
        make("gru4rec").fit([(f"u{n}", f"i{n % 5}", n) for n in range(30)])


def test_a_history_may_be_one_event():
    model = make("sasrec", epochs=1).fit(ORDER)
    assert model.recommend({"item": "i1"}, 3) == model.recommend(["i1"], 3)
    with pytest.raises(DataError, match=r"none of the 1 items of the history \({'item': 'x'}"):
        model.recommend({"item": "x"})
