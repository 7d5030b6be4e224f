"""The classifier: its step against the formula, what it learns, keeps, saves and refuses."""

import hashlib
import inspect
import json
from pathlib import Path

import numpy as np
import pytest
from commands import run
from programs import with_jit, without_jit

import unhot
from unhot import Classifier
from unhot.errors import ConfigError, DataError, FormatError
from unhot.evaluate import labeller_of, measure_labels
from unhot.evaluate.labeller import calibrate
from unhot.models import calibrating, labelled_source, line_engine
from unhot.models.load import load_unfinished
from unhot.outputs import LAYERS
from unhot.train.checkpoint import Checkpoint
from unhot.vectors.formats.directory import load_model, save_model

SMALL = {"dim": 8, "threads": 1, "buckets": 500}
TEXTS = ["good film", "fine film", "bad film", "poor film"] * 10
LABELS = ["pos", "pos", "neg", "neg"] * 10


def planted(lines=300, labels=4, seed=0):
    """Lines of words, of which some belong to the label and the others to none."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, labels, lines)
    texts = [
        " ".join(
            [
                *rng.choice([f"own{label}_{i}" for i in range(5)], 2),
                *rng.choice([f"w{i}" for i in range(20)], 6),
            ]
        )
        for label in truth
    ]
    return texts, [f"label{label}" for label in truth]


def digest(folder):
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


# ---- one step


STEP_TEXT = "film good good film a"
SPECS = ["softmax", "softmax:smoothing=0.2,bias=true", "self_normalized:alpha=0.3", "one_vs_all:bias=true"]
SPECS += ["hierarchical:bias=true", "class_based:classes=2"]
WEIGHTS = {"x": 3.0, "z": 0.5}


def loss_of(layer, scores, targets, weights, counts):
    """The loss of a line by the layer's own formula: the mean over its labels, or all of them together."""
    none = np.zeros(0, np.int32)
    weight = np.mean([weights[t] for t in targets])
    if layer.takes_together():
        return weight * (np.logaddexp(0, scores).sum() - scores[targets].sum())
    return weight * np.mean([layer.reference(scores, t, none, counts) for t in targets])


@pytest.mark.parametrize(
    "cut", [{}, {"minn": 2, "maxn": 3}, {"weighting": "none", "word_ngrams": 1}], ids=str
)
@pytest.mark.parametrize("targets", [["x"], ["x", "z"]], ids=str)
@pytest.mark.parametrize("spec", SPECS)
def test_a_step_is_the_gradient_of_the_formula(spec, targets, cut, monkeypatch):
    """A training of two lines that begins with known vectors, at a rate so small that steps do not meet."""
    begun = {}
    original = line_engine.LineEngine.begin

    def begin(self, point):
        """Fill the params with numbers that are far from zero, so that every gradient counts."""
        learned = original(self, point)
        rng = np.random.default_rng(5)
        for name in ("in_vectors", "out_vectors", "out_bias"):
            array = getattr(learned.params, name)
            array[:] = rng.normal(0, 0.7, array.shape)
            begun[name] = array.astype(np.float64)
        return learned

    monkeypatch.setattr(line_engine.LineEngine, "begin", begin)
    lr = 1e-4
    model = Classifier(**{**SMALL, "dim": 3, **cut}, output=spec, lr=lr, epochs=1, class_weights=WEIGHTS)
    model.fit([STEP_TEXT, "bad day"], [targets, ["z", "y"]])
    learned, layer = model.learned, model.layer
    counts = learned.out_vocabulary.counts
    weights = [WEIGHTS.get(name, 1.0) for name in model.labels]
    rates = [lr, lr / 2]  # the rate falls along the epoch: the first line of the order has the whole rate

    def total(arrays, line_rates):
        loss = 0.0
        for text, names, rate in zip((STEP_TEXT, "bad day"), (targets, ["z", "y"]), line_rates, strict=True):
            rows = np.array(model.predictor.lines.rows(model.predictor.words_of(text)))
            w = learned.weights[rows].astype(np.float64) if learned.weights.size else np.ones(rows.size)
            h = (w @ arrays["in_vectors"][rows]) / np.sqrt(w @ w)
            scores = arrays["out_vectors"] @ h + (arrays["out_bias"] if arrays["out_bias"].size else 0.0)
            loss += rate * loss_of(
                layer, scores, [model.labels.index(name) for name in names], weights, counts
            )
        return loss

    errors = []
    for line_rates in (rates, rates[::-1]):  # in either order of the lines
        worst = 0.0
        for name, before in begun.items():
            after = getattr(learned.params, name)
            for at in np.ndindex(before.shape):
                kept = before[at]
                before[at] = kept + 1e-5
                up = total(begun, line_rates)
                before[at] = kept - 1e-5
                down = total(begun, line_rates)
                before[at] = kept
                worst = max(worst, abs((after[at] - kept) + (up - down) / 2e-5) / lr)
        errors.append(worst)
    # float32 numbers around 1 change by multiples of 6e-8, which is 6e-4 of the rate
    assert min(errors) < 4e-3, errors
    assert max(errors) > 1e-2  # the rates tell the lines apart


# ---- what it learns


COMPILED = sorted(name for name, layer in LAYERS.items() if layer.compiled)


@pytest.mark.parametrize("name", COMPILED)
def test_planted_labels_are_learned_with_every_layer(name):
    spec = f"{name}:k=5" if hasattr(LAYERS[name](), "k") else name
    texts, labels = planted()
    model = Classifier(**SMALL, output=spec, epochs=20).fit(texts[:200], labels[:200])
    assert model.score(texts[200:], labels[200:]) > 0.95
    proba = model.predict_proba(texts[200:210])
    assert proba.shape == (10, 4)
    if not model.layer.independent:
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)
    assert model.classes_[proba.argmax(axis=1)].tolist() == model.predict(texts[200:210]).tolist()
    assert model.history.losses[-1] < model.history.losses[0]


def test_the_order_of_the_file_does_not_matter():
    texts, labels = planted(400)
    order = np.argsort(labels[:300], kind="stable")
    shuffled = Classifier(**SMALL, epochs=3).fit(texts[:300], labels[:300])
    ordered = Classifier(**SMALL, epochs=3).fit([texts[i] for i in order], [labels[i] for i in order])
    scores = [model.score(texts[300:], labels[300:]) for model in (shuffled, ordered)]
    assert scores[1] > scores[0] - 0.05
    assert scores[0] > 0.8


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        Classifier(**SMALL, epochs=2, seed=seed, minn=2, maxn=3).fit(TEXTS, LABELS).save(tmp_path / name)
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    assert digest(tmp_path / "a") != digest(tmp_path / "c")


def test_several_labels_of_a_line():
    texts, labels = ["good fun", "fun", "good", "dull"] * 20, [["g", "f"], ["f"], ["g"], ["d"]] * 20
    model = Classifier(**SMALL, output="one_vs_all:bias=true", epochs=30).fit(texts, labels)
    found = model.predict(["good fun", "good", "dull"], k=-1, threshold=0.5)
    assert [sorted(names) for names in found] == [["f", "g"], ["g"], ["d"]]
    assert model.layer.takes_together()


def test_few_lines_are_read_more_often():
    texts, labels = planted(300)
    for lines, epochs in ((20, 50), (250, 40), (300, 34)):
        model = Classifier(**SMALL).fit(texts[:lines], labels[:lines])
        assert len(model.history.losses) == epochs == model.config()["epochs"]
        assert model.epochs == 0
    assert len(Classifier(**SMALL, epochs=2).fit(texts, labels).history.losses) == 2


# ---- class weights


def test_balanced_weights_are_those_that_make_labels_count_alike():
    """As if each label had its weight by name; the loss is the weighted one."""
    texts, labels = ["a", "b", "b", "b"] * 5, ["x", "y", "y", "y"] * 5
    models = [
        Classifier(**SMALL, epochs=3, class_weights=given).fit(texts, labels)
        for given in ("balanced", {"x": 2.0, "y": 2 / 3}, f"x=2,y={2 / 3}", "none", None, {})
    ]
    same = [model.learned.params.in_vectors.tobytes() for model in models]
    assert same[0] == same[1] == same[2] != same[3]
    assert same[3] == same[4] == same[5]


def test_a_label_of_weight_zero_teaches_nothing():
    model = Classifier(**SMALL, epochs=20, class_weights={"pos": 0}).fit(TEXTS, LABELS)
    assert set(model.predict(TEXTS)) == {"neg"}
    assert model.history.losses[-1] < 0.4


@pytest.mark.parametrize(
    "given", ["abc", "pos=much", {"pos": -1}, {"pos": float("nan")}, {"pos": "x"}, [1, 2], 3]
)
def test_nonsense_as_class_weights_is_named(given):
    with pytest.raises(ConfigError, match="class_weights"):
        Classifier(class_weights=given)


def test_weights_of_labels_that_are_not_there_are_named():
    with pytest.raises(DataError, match="'other' is none of the 2 labels"):
        Classifier(**SMALL, class_weights="other=2").fit(TEXTS, LABELS)


# ---- files


ODD = [
    "two words",
    "tab\there",
    "\u00e9t\u00e9\U0001f642",
    "__label__x",
    "a,b=c",
    "line\nfeed",
    " ",
    "\udcff",
]


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([1, 1, 0, 0], int),
        ([True, True, False, False], bool),
        ([0.5, 0.5, 2.0, 2.0], float),
        (ODD[:4], str),
        (ODD[4:], str),
    ],
    ids=str,
)
def test_labels_come_back_as_they_were_given(labels, kind, tmp_path):
    model = Classifier(**SMALL, epochs=30).fit(TEXTS, labels * 10)
    model.save(tmp_path / "m")
    for each in (model, unhot.load(tmp_path / "m", verify=True)):
        assert each.predict(TEXTS[:4]).tolist() == labels
        assert {type(label) for label in each.predict(TEXTS[:4]).tolist()} == {kind}
        assert each.score(TEXTS, labels * 10) == 1.0
        assert sorted(each.classes_.tolist()) == sorted(set(labels))
        assert [names[0] for names in each.predict(TEXTS[:4], k=2)] == labels
        assert each.explain(TEXTS[0], labels[0]).label == str(labels[0])


@pytest.mark.parametrize("labels", [[1, "a"], [1, 2.5], [True, 2], ["a", 1], [2, True]])
def test_labels_of_several_types_come_back_as_text(labels):
    model = Classifier(**SMALL, epochs=2).fit(TEXTS, labels * 20)
    assert sorted(model.classes_.tolist()) == sorted(map(str, labels))


def test_numbers_of_numpy_and_none():
    labels = np.array([3, 3, -1, -1] * 10)
    model = Classifier(**SMALL, epochs=30).fit(TEXTS, labels)
    assert model.score(TEXTS, labels) == 1.0
    notes = []
    left_out = [None, *labels[1:].tolist()]
    assert Classifier(**SMALL, epochs=30).fit(TEXTS, left_out, note=notes.append).predict(TEXTS)[0] == 3
    assert "1 of 40 rows have no label and were left out" in notes


def test_a_saved_model_is_the_same(tmp_path):
    texts, labels = planted()
    model = Classifier(**SMALL, epochs=5, minn=2, maxn=3, output="softmax:bias=true").fit(
        texts[:200], labels[:200]
    )
    calibrate(model, zip(texts[200:], ([label] for label in labels[200:]), strict=True))
    assert model.temperature != 1.0
    model.save(tmp_path / "m")
    again = unhot.load(tmp_path / "m", verify=True)
    assert again.temperature == model.temperature
    assert again.config() == model.config()
    np.testing.assert_array_equal(again.predict_proba(texts[:20]), model.predict_proba(texts[:20]))
    assert again.history.losses == model.history.losses
    model.fit(texts, labels)
    assert model.temperature == 1.0  # that of other params is nothing to these


@pytest.mark.parametrize(
    "damage",
    [
        {"row_keys": lambda keys: keys[::-1] + 7},
        {"row_keys": lambda keys: np.where(keys >= 0, 7, keys)},
        {"row_weights": lambda weights: weights[:-1].copy()},
        {"out_vectors": lambda rows: rows[:-1].copy()},
        {"out_bias": lambda bias: bias[:-1].copy()},
        {"temperature": "hot"},
        {"temperature": -1.0},
        {"label_kind": "colour"},
        {"label_kind": ["int"]},
    ],
    ids=lambda damage: next(iter(damage)),
)
def test_damaged_files_are_format_errors(damage, tmp_path):
    Classifier(**SMALL, epochs=1, output="softmax:bias=true").fit(TEXTS, LABELS).save(tmp_path / "m")
    saved = load_model(tmp_path / "m")
    tensors, config = {name: np.array(array) for name, array in saved.tensors.items()}, dict(saved.config)
    for name, value in damage.items():
        if callable(value):
            tensors[name] = value(tensors[name])
        else:
            config[name] = value
    save_model(tmp_path / "n", config, saved.vocabulary, tensors, saved.out_vocabulary)
    with pytest.raises(FormatError):
        unhot.load(tmp_path / "n")


class Stop(Exception):
    """Ends a training from a callback."""


def cut_off(model, folder, *source):
    """Train with checkpoints, and stop in the second epoch."""

    def stop(progress):
        if progress.event == "progress" and progress.epoch == 2 and (folder / "checkpoint").exists():
            raise Stop

    with pytest.raises(Stop):
        model.fit(*source, checkpoint=Checkpoint(path=folder, chunks=3), callbacks=[stop])
    return load_unfinished(folder)


@pytest.mark.parametrize(
    "settings",
    [{}, {"minn": 2, "maxn": 3, "output": "one_vs_all:bias=true"}, {"output": "negative:k=5,noise=learned"}],
    ids=str,
)
def test_a_resumed_training_is_the_same_bytes(settings, tmp_path):
    texts, labels = planted(200)
    path = tmp_path / "train.txt"
    path.write_text("".join(f"__label__{label} {text}\n" for text, label in zip(texts, labels, strict=True)))
    settings = {**SMALL, **settings, "epochs": 3, "class_weights": "balanced"}
    Classifier(**settings).fit(path).save(tmp_path / "whole")
    half = cut_off(Classifier(**settings), tmp_path / "cut", path)
    assert not half.complete
    assert half.predict(texts[:1])[0] in labels  # a checkpoint is a model
    half.resume().save(tmp_path / "cut")
    assert digest(tmp_path / "cut") == digest(tmp_path / "whole")


def test_texts_from_python_are_given_again(tmp_path):
    texts, labels = planted(200)
    whole = Classifier(**SMALL, epochs=3).fit(texts, labels)
    half = cut_off(Classifier(**SMALL, epochs=3), tmp_path / "cut", texts, labels)
    with pytest.raises(DataError, match="not the text that the training started with"):
        half.resume(texts, labels[::-1])
    half.resume(texts, labels)
    np.testing.assert_array_equal(half.learned.params.in_vectors, whole.learned.params.in_vectors)


# ---- starting points


def test_it_starts_from_vectors_and_frozen_words_do_not_change():
    words, rng = ["good", "film", "other"], np.random.default_rng(0)
    start = unhot.Vectors(words, rng.normal(size=(3, 8)).astype(np.float32))
    for frozen, kept in ((None, []), (["good"], ["good"]), ("known", ["good", "film"])):
        model = Classifier(**SMALL, epochs=5).fit(TEXTS, LABELS, start=start, frozen=frozen)
        for word in ("good", "film"):
            row = model.learned.params.in_vectors[
                model.learned.keys.tolist().index(-1 - model.learned.in_vocabulary.id(word))
            ]
            same = bool((row == start[word]).all())
            assert same == (word in kept)
            assert np.abs(row - start[word]).max() < 1  # it began there
    with pytest.raises(ConfigError, match="dim=5: the vectors to start from have dim 8"):
        Classifier(**{**SMALL, "dim": 5}).fit(TEXTS, LABELS, start=start)
    with pytest.raises(ConfigError, match="a classifier starts from Vectors"):
        Classifier(**SMALL).fit(TEXTS, LABELS, start=model)
    with pytest.raises(ConfigError, match="frozen"):
        Classifier(**SMALL).fit(TEXTS, LABELS, frozen="known")


# ---- validation


@pytest.mark.parametrize("given", ["share", "file", "pairs"])
def test_early_stopping_keeps_the_best_epoch(given, tmp_path):
    """The labels are noise, so that the loss of other lines rises soon."""
    rng, texts = np.random.default_rng(1), planted(200)[0]
    labels = [f"label{i}" for i in rng.integers(0, 3, 200)]
    path = tmp_path / "valid.txt"
    path.write_text(
        "".join(f"__label__{label} {text}\n" for text, label in zip(texts[150:], labels[150:], strict=True))
    )
    validation = {"share": 0.25, "file": str(path), "pairs": (texts[150:], labels[150:])}[given]
    source = (texts, labels) if given == "share" else (texts[:150], labels[:150])
    notes, kept = [], []

    def keep(progress):
        if progress.event == "epoch":
            kept.append(model.learned.params.in_vectors.copy())

    model = Classifier(**SMALL, epochs=40, lr=1.0, validation=validation, patience=2)
    model.fit(*source, note=notes.append, callbacks=[keep])
    losses = model.history.validation
    best = int(np.argmin(losses))
    assert model.history.stopped
    assert model.complete
    assert len(losses) == len(model.history.losses) == len(kept) == best + 1 + 2 < 40
    np.testing.assert_array_equal(model.learned.params.in_vectors, kept[best])
    assert not np.array_equal(kept[best], kept[-1])
    assert f"the model is that of epoch {best + 1}, which was the best" in notes
    if given == "pairs":
        probabilities = model.predict_proba(texts[150:])
        own = probabilities[np.arange(50), [model.classes_.tolist().index(label) for label in labels[150:]]]
        assert losses[best] == pytest.approx(-np.log(own).mean(), rel=1e-5)
    model.save(tmp_path / "m")
    assert unhot.load(tmp_path / "m").complete


def test_a_share_is_held_out_and_not_learned_from():
    texts = [f"word{i}" for i in range(200)]
    model = Classifier(**SMALL, epochs=2, validation=0.3).fit(texts, ["a", "b"] * 100)
    assert 100 < len(model.vocabulary) - 1 < 180
    assert len(model.history.validation) == 2
    assert not model.history.stopped


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        (1.5, ConfigError, "validation=1.5: a share of the lines must be above 0 and below 1"),
        ("0", ConfigError, "validation='0': a share"),
        (1e-9, DataError, "validation: none of 0 lines has a label"),
        (0.9999999, DataError, "all 40 rows with a label are held out"),
        (
            (["good"], ["other"]),
            DataError,
            "validation: none of 1 lines has a label of the lines to learn from",
        ),
        ("no/such/file.txt", DataError, "no/such/file.txt: no such file"),
    ],
)
def test_bad_validation_is_named(given, error, told):
    with pytest.raises(error, match=told):
        Classifier(**SMALL, epochs=1, validation=given).fit(TEXTS, LABELS)


def test_a_fit_that_is_refused_leaves_the_model_as_it_was():
    model = Classifier(**SMALL, epochs=20).fit(TEXTS, LABELS)
    before = model.predict_proba(TEXTS[:4])
    for source in ((["x"], [None]), (["x"], []), ([], [])):
        with pytest.raises(DataError):
            model.fit(*source)
    model.validation = (["good"], ["other"])
    with pytest.raises(DataError, match="validation"):
        model.fit(["x", "y"], ["a", "b"])
    np.testing.assert_array_equal(model.predict_proba(TEXTS[:4]), before)


# ---- odd input


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ((["good film", "bad"],), "none of the 2 rows has a label: label lines look like"),
        ((["good", "bad"], [None, None]), "none of the 2 rows has a label"),
        (([],), "there are no rows"),
        (([], []), "there are no rows"),
        ((TEXTS, LABELS[:-1]), "there are 40 texts, but 39 labels"),
        (([{"text": "a", "z": "b"}],), "there is no column label or labels"),
        ((["__label__ a"],), "row 1: a label is empty"),
        (("no/such/file.txt",), "no such file"),
    ],
    ids=lambda value: None if isinstance(value, tuple) else value[:30],
)
def test_input_that_cannot_be_learned_is_named(source, told):
    with pytest.raises(DataError, match=told):
        Classifier(**SMALL).fit(*source)


def test_a_text_without_labels_is_refused():
    with (
        unhot.corpus.encode(TEXTS, min_count=1) as corpus,
        pytest.raises(ConfigError, match="lines with labels"),
    ):
        Classifier(**SMALL).fit(corpus)
    with pytest.raises(DataError, match="min_count=1000: no word occurs so often"):
        Classifier(**SMALL, min_count=1000).fit(TEXTS, LABELS)
    with pytest.raises(ConfigError, match="output=adaptive: a classifier cannot use it; choose one of"):
        Classifier(output="adaptive")


def test_labels_alone_and_empty_lines():
    """A line of nothing has its end, and so it has a label, too."""
    model = Classifier(**SMALL, epochs=30).fit(["__label__a", "", "__label__a ", "__label__b x"] * 10)
    assert model.predict(["", "x"]).tolist() == ["a", "b"]
    model = Classifier(**SMALL, epochs=30).fit(["", " ", "x", "x"] * 10, ["a", "a", "b", "b"] * 10)
    assert model.predict(["", "x", "\0"]).tolist() == ["a", "b", "a"]


def test_one_label_is_always_right():
    for output in ("softmax", "one_vs_all:bias=true", "negative:k=5"):
        model = Classifier(**SMALL, epochs=1, output=output).fit(TEXTS, ["only"] * 40)
        assert model.predict(["good", "unseen", ""]).tolist() == ["only"] * 3
        assert model.predict_proba(["good"]).shape == (1, 1)


def test_lines_that_are_not_text(tmp_path):
    path = tmp_path / "train.txt"
    path.write_bytes(b"__label__a caf\xe9 \xff\n__label__b caf\xc3\xa9\n" * 20)
    model = Classifier(**SMALL, epochs=30).fit(path)
    assert model.predict(["caf\udce9", "caf\u00e9"]).tolist() == ["a", "b"]


def test_questions_that_cannot_be_answered_are_named():
    model = Classifier(**SMALL, epochs=1)
    with pytest.raises(DataError, match="has learned nothing yet: call fit first"):
        model.predict(["good"])
    model.fit(TEXTS, LABELS)
    for texts, told in (
        ("good", "is of type str; give a list of texts"),
        ([None], "None is of type NoneType: give strings"),
        ([0], "0 is of type int"),
    ):
        with pytest.raises(DataError, match=told):
            model.predict(texts)
    with pytest.raises(DataError, match="'other' is none of the 2 labels"):
        model.explain("good", "other")
    for labels in (LABELS[:-1], ["pos"]):
        with pytest.raises(DataError, match=f"there are 40 texts, but {len(labels)} labels"):
            model.score(TEXTS, labels)
    assert model.score(TEXTS[:1], ["never seen"]) == 0.0
    model.set_params(dim=5)
    with pytest.raises(DataError, match="call fit first"):
        model.predict(["good"])


def test_a_threshold_leaves_texts_without_a_label():
    model = Classifier(**SMALL, epochs=30).fit(TEXTS, LABELS)
    assert model.predict(["good film"], threshold=1.0).tolist() == [None]
    assert model.predict(["good film", "good"], k=2, threshold=1.0) == [[], []]
    assert model.predict([]).tolist() == []
    assert model.predict([], k=2) == []
    assert model.predict_proba([]).shape == (0, 2)
    scores = model.decision_function(TEXTS[:4])
    assert scores.shape == (4,)
    assert np.array_equal(scores > 0, model.predict(TEXTS[:4]) == model.classes_[1])


def test_one_answer_needs_no_compiled_code():
    model = Classifier(**SMALL, epochs=2).fit(TEXTS, LABELS)
    model.predict(["good film"])
    assert "_compiled" not in model.predictor.__dict__
    few = model.predict_proba(TEXTS)
    many = model.predict_proba(TEXTS * 100)
    assert "_compiled" not in model.predictor.__dict__ or len(TEXTS * 100) > 1000
    np.testing.assert_allclose(many[:40], few, atol=1e-6)


WITHOUT_JIT = """
import json, sys, unhot
out = []
for settings in ({}, {"minn": 2, "maxn": 3, "output": "one_vs_all:bias=true"}):
    model = unhot.Classifier(dim=4, buckets=50, epochs=2, threads=1, lr=0.5, **settings)
    model.fit(["good film", "bad film"] * 3, ["pos", "neg"] * 3)
    model.predictor._compiled
    found = model.predict_proba(["good film", "unseen", ""]).tolist()
    out.append([model.history.losses, found, model.predict(["good"]).tolist()])
print(json.dumps(out))
"""


def test_the_same_without_the_jit():
    results = [json.loads(run(WITHOUT_JIT)) for run in (with_jit, without_jit)]
    for (losses, found, best), (other_losses, other, other_best) in zip(*results, strict=True):
        np.testing.assert_allclose(losses, other_losses, rtol=1e-4)
        np.testing.assert_allclose(found, other, atol=1e-4)
        assert best == other_best


# ---- texts without spaces


def pages(size, seed=1):
    """Texts without a space, of at least so many bytes: of two alphabets."""
    rng = np.random.default_rng(seed)
    alphabets = [[chr(first + i) for i in range(40)] for first in (0x3042, 0x0E01)]
    return ["".join(rng.choice(letters, size // 3 + 1)) for letters in alphabets]


@pytest.mark.parametrize("size", [30, 20_000])
def test_texts_without_spaces_have_all_their_ngrams(size):
    """A page that is one long word: learned from and told apart, alone in Python and together compiled."""
    how = SMALL | {"buckets": 20_000}
    model = Classifier(**how, minn=2, maxn=2, epochs=10).fit(pages(size) * 20, ["ja", "th"] * 20)
    asked = pages(70_000, seed=2)
    assert [*model.predict(asked)] == ["ja", "th"]
    assert [model.predict([page[:5000]])[0] for page in asked] == ["ja", "th"]
    ja, th, empty = model.predict_proba([*asked, ""])
    assert ja[0] != empty[0] != th[0]


# ---- calibration


def noisy(lines=2000, seed=0):
    """Lines of which every fifth has a random label."""
    texts, labels = planted(lines, seed=seed)
    rng = np.random.default_rng(seed + 1)
    return texts, [label if rng.random() < 0.8 else f"label{rng.integers(0, 4)}" for label in labels]


def labelled_file(path, texts, labels):
    path.write_text("".join(f"__label__{label} {text}\n" for text, label in zip(texts, labels, strict=True)))
    return path


CALIBRATED = SMALL | {"epochs": 3, "calibration": 0.15, "output": "softmax:smoothing=0.5"}


def error_of(model, texts, labels):
    rows = zip(texts, ([label] for label in labels), strict=True)
    return measure_labels(labeller_of(model), rows).figures.expected_calibration_error


def test_probabilities_are_calibrated_on_held_out_lines(tmp_path):
    """The temperature is saved, and all that answers with probabilities uses it."""
    source, said = noisy(), []
    model = Classifier(**CALIBRATED).fit(*source, note=said.append)
    assert any(line.startswith("calibrated on 2") and "expected calibration error" in line for line in said)
    careful = Classifier(**CALIBRATED | {"calibration": 0.0}).fit(*source)
    assert careful.temperature == 1.0 != model.temperature
    texts, labels = noisy(1000, seed=5)
    assert error_of(model, texts, labels) < 0.1 < 0.2 < error_of(careful, texts, labels)
    model.save(tmp_path / "m")
    loaded = unhot.load(tmp_path / "m")
    assert loaded.temperature == model.temperature
    asked = model.predict_proba(texts[:1])[0].max()
    assert loaded.predict_proba(texts[:1]).max() == pytest.approx(asked)
    assert loaded.explain(texts[0]).probability == pytest.approx(asked)
    (tmp_path / "new.jsonl").write_text(json.dumps({"text": texts[0]}) + "\n")
    (tmp_path / "new.txt").write_text("\n".join(texts) + "\n")
    _, out, _ = run("classify", "predict", tmp_path / "m", tmp_path / "new.jsonl", "-o", "-")
    assert json.loads(out)["score"] == pytest.approx(asked)
    _, out, _ = run("classify", "predict", tmp_path / "m", tmp_path / "new.txt", "-o", "-")
    assert float(out.split()[1]) == pytest.approx(asked, abs=1e-5)


def test_too_few_lines_are_all_learned_from():
    """The model is that without calibration, and one line says so."""
    texts, labels = noisy(1000)
    said = []
    model = Classifier(**CALIBRATED).fit(texts, labels, note=said.append)
    plain = Classifier(**CALIBRATED | {"calibration": 0.0}).fit(texts, labels)
    np.testing.assert_array_equal(model.learned.params.in_vectors, plain.learned.params.in_vectors)
    assert model.temperature == 1.0
    assert sum("no temperature: it needs 200 held-out lines, and there are 0" in line for line in said) == 1


def test_one_label_has_no_temperature():
    said = []
    model = Classifier(**CALIBRATED).fit(noisy()[0], ["only"] * 2000, note=said.append)
    assert (model.temperature, model.learned.out_vocabulary.counts.tolist()) == (1.0, [2000])
    assert "no temperature: there is only one label" in said


def test_every_label_is_learned_though_lines_are_held_out():
    texts, labels = noisy()
    rare = [f"rare{i}" if i % 20 == 0 else label for i, label in enumerate(labels)]
    model = Classifier(**CALIBRATED).fit(texts, rare)
    assert set(model.labels) == set(rare)
    assert model.temperature != 1.0


def test_at_most_so_many_lines_are_held_out(monkeypatch):
    monkeypatch.setattr(labelled_source, "MOST", 210)
    model = Classifier(**CALIBRATED).fit(*noisy())
    assert int(model.learned.out_vocabulary.counts.sum()) == 2000 - 210


def test_validation_lines_calibrate_and_independent_labels_have_a_temperature():
    texts, labels = noisy()
    said = []
    lines = (texts[1700:], labels[1700:])
    model = Classifier(**CALIBRATED, validation=lines).fit(texts[:1700], labels[:1700], note=said.append)
    assert int(model.learned.out_vocabulary.counts.sum()) == 1700
    assert any("calibrated on 300 held-out lines" in line for line in said)
    apart = Classifier(**CALIBRATED | {"output": "one_vs_all"}).fit(texts, labels)
    assert apart.temperature != 1.0


def test_a_calibrated_training_resumes_to_the_same_bytes(tmp_path):
    path = labelled_file(tmp_path / "train.txt", *noisy())
    Classifier(**CALIBRATED).fit(path).save(tmp_path / "whole")
    half = cut_off(Classifier(**CALIBRATED), tmp_path / "cut", path)
    assert half.temperature == 1.0
    half.resume().save(tmp_path / "cut")
    assert digest(tmp_path / "cut") == digest(tmp_path / "whole")
    assert unhot.load(tmp_path / "cut").temperature != 1.0


# ---- states


def test_a_resumed_training_goes_back_to_the_best_epoch_before_it_was_cut_off(tmp_path):
    """The labels are noise, so that the first epoch is the best."""
    rng, texts = np.random.default_rng(1), planted(200)[0]
    path = labelled_file(tmp_path / "train.txt", texts, rng.integers(0, 3, 200))
    settings = SMALL | {"epochs": 40, "lr": 1.0, "validation": 0.25, "patience": 2}
    whole = Classifier(**settings).fit(path)
    assert int(np.argmin(whole.history.validation)) == 0
    whole.save(tmp_path / "whole")
    cut_off(Classifier(**settings), tmp_path / "cut", path).resume().save(tmp_path / "cut")
    assert digest(tmp_path / "cut") == digest(tmp_path / "whole")


def test_ctrl_c_while_the_temperature_is_fitted_keeps_the_model(monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(calibrating, "scored_lines", interrupted)
    source = noisy()
    model = Classifier(**CALIBRATED).fit(*source)
    assert (model.complete, model.history.interrupted, model.temperature) == (True, True, 1.0)
    assert model.score(*source) > 0.5


def test_fit_takes_what_a_classifier_needs():
    taken = inspect.signature(Classifier.fit).parameters
    assert {"labels", "column", "start", "frozen", "checkpoint"} <= taken.keys()
    assert not {"counts", "phrases", "counting"} & taken.keys()
