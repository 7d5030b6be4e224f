"""engine="torch" against the compiled engine, and as a user meets it."""

import hashlib
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from grids import SOAK, crossed

import unhot
from unhot.errors import ConfigError, DataError, Diverged, FormatError, MissingExtra
from unhot.evaluate import held_out
from unhot.models.load import load_unfinished
from unhot.outputs import LAYERS
from unhot.train import torch_run, torch_window_net
from unhot.train.checkpoint import Checkpoint
from unhot.vectors.formats.directory import load_model, save_model

RNG = np.random.default_rng(7)
TEXT = [[f"w{i}" for i in RNG.zipf(1.5, RNG.integers(1, 40)) if i < 50] for _ in range(60)]
SMALL = {"dim": 8, "min_count": 2, "epochs": 2, "window": 3, "sample": 1e-2, "threads": 1}
TORCH = {**SMALL, "engine": "torch", "batch": 32}
MODELS = {
    "centre": (unhot.SkipGram, {"predict": "centre"}),
    "contexts": (unhot.SkipGram, {"predict": "contexts"}),
    "mean": (unhot.CBOW, {}),
    "sum": (unhot.CBOW, {"combine": "sum"}),
}
WITHOUT_DRAWS = [
    "softmax:bias=true",
    "self_normalized",
    "one_vs_all:bias=true",
    "hierarchical:bias=true",
    "class_based:bias=true",
]
WITH_DRAWS = [
    "negative:k=5",
    "nce:k=20,ln_z=per_input",
    "nce:k=20,ln_z=learned,bias=true",
    "sampled_logistic:k=5",
    "sampled:k=20,bias=true",
]
ADAPTIVE = "adaptive:div_value=2,cutoffs=4,12"
ODD = [
    f"{ADAPTIVE},bias=true",
    "differentiated:bias=true",
    "partition:size=9",
    "in_batch",
    "in_batch:temperature=0.2,correct=false,normalized=true",
    "mixed:k=5,bias=true",
    "infrequent",
    "negative:noise=learned",
]


def fitted(kind, settings, **how):
    return kind(**settings).fit(how.pop("text", TEXT), **how)


def digest(folder):
    files = sorted(p for p in Path(folder).rglob("*") if p.is_file())
    return {p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def params_of(model):
    learned = model.learned
    return [
        np.array(array)
        for array in (*learned.params, learned.seen, *(array for _, array in sorted(learned.own.items())))
    ]


@pytest.fixture(scope="module")
def trained():
    """A model whose scores are not zero, by the compiled engine; trained once for each layer."""
    made = {}

    def make(name, output):
        kind, settings = MODELS[name]
        if (name, output) not in made:
            made[name, output] = fitted(kind, {**SMALL, **settings, "output": output})
        return made[name, output]

    return make


# ---- the same as the compiled engine


def standing(model, engine):
    """The loss of a trained model on its text, as an engine reports it while nothing moves."""
    settings = {**model.config(), "lr": 1e-30, "engine": engine, "batch": 100, "epochs": 3}
    settings.pop("model")
    again = fitted(type(model), settings, start=model, counts=model.vocabulary)
    assert np.abs(again.vectors.vectors - model.vectors.vectors).max() < 1e-20
    return again


SEVERAL = [(name, output) for name in ("contexts", "mean") for output in WITHOUT_DRAWS]
SEVERAL += [
    ("centre", "hierarchical:bias=true"),
    ("centre", "class_based:bias=true"),
    ("sum", "softmax:bias=true"),
]


@pytest.mark.parametrize(("name", "output"), SEVERAL)
def test_the_same_loss_on_the_same_pairs(name, output, trained):
    model = trained(name, output)
    compiled, by_torch = (standing(model, engine) for engine in ("compiled", "torch"))
    assert by_torch.history.pairs == compiled.history.pairs > 1000
    assert by_torch.history.losses == pytest.approx(compiled.history.losses, rel=1e-5)


OTHERS = [(name, output) for name in ("centre", "mean") for output in WITH_DRAWS]
OTHERS += [("contexts", "negative:k=5"), ("sum", "nce:k=20,ln_z=per_input")]


@pytest.mark.parametrize(("name", "output"), OTHERS)
def test_the_same_loss_but_for_the_draws(name, output, trained):
    model = trained(name, output)
    compiled, by_torch = (standing(model, engine) for engine in ("compiled", "torch"))
    assert by_torch.history.pairs == compiled.history.pairs
    spread = np.std(compiled.history.losses + by_torch.history.losses) / np.mean(compiled.history.losses)
    assert np.mean(by_torch.history.losses) == pytest.approx(
        np.mean(compiled.history.losses), rel=max(0.01, 4 * spread)
    )
    assert spread < 0.02


@pytest.mark.parametrize(("output", "name"), crossed(WITHOUT_DRAWS, ["mean", "sum"]))
def test_batches_of_one_centre_are_the_steps_of_the_compiled_engine(name, output):
    """In CBOW a window is an example, so both take the same steps: every parameter ends in the same place."""
    kind, settings = MODELS[name]
    settings = {**SMALL, **settings, "output": output, "epochs": 1}
    compiled, by_torch = (
        fitted(kind, {**settings, **more}, text=TEXT[:40]) for more in ({}, {"engine": "torch", "batch": 1})
    )
    for ours, theirs in zip(by_torch.learned.params, compiled.learned.params, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=2e-5)
    assert np.abs(by_torch.learned.params.out_vectors).max() > 1e-2
    assert by_torch.history.losses == pytest.approx(compiled.history.losses, rel=1e-4)


def test_engines_take_over_from_each_other():
    first = fitted(unhot.SkipGram, {**TORCH, "output": "nce:k=20,ln_z=learned,bias=true"})
    loss = first.history.losses[-1]
    second = fitted(unhot.SkipGram, {**SMALL, "output": first.layer, "lr": 1e-3}, start=first)
    third = fitted(unhot.SkipGram, {**TORCH, "output": first.layer, "lr": 1e-3}, start=second)
    assert second.history.losses[0] == pytest.approx(loss, rel=0.1)
    assert third.history.losses[0] == pytest.approx(loss, rel=0.1)


# ---- every layer learns


def planted():
    """Words of one half of the vocabulary never stand beside those of the other."""
    rng = np.random.default_rng(3)
    return [[f"{half}{i}" for i in rng.integers(0, 6, 12)] for half in rng.choice(["a", "b"], 70)]


@pytest.mark.parametrize(("output", "kind"), crossed(sorted(LAYERS), [unhot.SkipGram, unhot.CBOW]))
def test_every_layer_learns_what_was_planted(kind, output):
    spec = f"{output}:bias=true" if output == "one_vs_all" else output
    spec = f"{spec}:cutoffs=3,7" if output == "adaptive" else spec
    settings = {
        "dim": 16,
        "min_count": 1,
        "sample": 0,
        "epochs": 6,
        "window": 3,
        "threads": 1,
        "engine": "torch",
        "batch": 64,
    }
    model = fitted(kind, {**settings, "output": spec, "lr": 0.2}, text=planted())
    assert np.isfinite(model.history.losses).all()
    chances = dict(model.predict_word(["a1", "a2", "a3"], topn=12))
    own = sum(chance for word, chance in chances.items() if word.startswith("a"))
    assert sum(chances.values()) == pytest.approx(1)
    assert own > 0.8
    near = [word for word, _ in model.vectors.most_similar("b0", topn=5)]
    assert sum(word.startswith("b") for word in near) >= 4


def test_a_part_of_all_words_is_the_softmax():
    parts, softmax = (
        fitted(unhot.SkipGram, {**TORCH, "output": output, "predict": "centre"})
        for output in ("partition", "softmax")
    )
    assert parts.history.losses == pytest.approx(softmax.history.losses, rel=1e-4)
    np.testing.assert_allclose(parts.vectors.vectors, softmax.vectors.vectors, atol=1e-3)


# ---- cut off, saved, diverged


class Stop(Exception):
    """Ends a training from a callback."""


def after(chunks, error=Stop):
    seen = []

    def stop(progress):
        if progress.event == "progress":
            seen.append(progress)
            if len(seen) == chunks:
                raise error

    return stop


@pytest.mark.parametrize("output", ODD if not SOAK else [*WITH_DRAWS, *WITHOUT_DRAWS, *ODD])
def test_a_resumed_training_is_the_same_bytes(output, tmp_path):
    settings = {**TORCH, "output": output}
    fitted(unhot.SkipGram, settings).save(tmp_path / "whole")
    with pytest.raises(Stop):
        fitted(
            unhot.SkipGram,
            settings,
            checkpoint=Checkpoint(path=tmp_path / "cut", chunks=2),
            callbacks=[after(5)],
        )
    model = load_unfinished(tmp_path / "cut")
    assert model.history.position.chunk > 0 or model.history.position.epoch > 0
    model.resume(TEXT).save(tmp_path / "cut")
    assert digest(tmp_path / "cut") == digest(tmp_path / "whole")


@pytest.mark.parametrize("kind", [unhot.SkipGram, unhot.CBOW])
def test_ctrl_c_keeps_what_there_is(kind, tmp_path):
    settings = {**TORCH, "output": ADAPTIVE}
    whole = fitted(kind, settings)
    model = fitted(kind, settings, callbacks=[after(2, KeyboardInterrupt)])
    assert model.history.interrupted
    assert model.history.position.chunk == 2
    model.save(tmp_path / "m")
    again = load_unfinished(tmp_path / "m").resume(TEXT)
    for ours, theirs in zip(params_of(again), params_of(whole), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("output", ["softmax", "negative:noise=learned", ADAPTIVE, "differentiated"])
def test_divergence_goes_back_to_the_last_good_state(output, monkeypatch):
    monkeypatch.setattr(
        "unhot.train.epoch_run.learning_rate",
        lambda lr, epoch, epochs, share: lr if epoch < 1 else float("nan"),
    )
    model, good = unhot.SkipGram(**{**TORCH, "output": output}), []

    def look(progress):
        if progress.event == "epoch":
            good.extend(params_of(model))

    with pytest.raises(Diverged, match="in epoch 2 .* after 1 epochs"):
        model.fit(TEXT, callbacks=[look])
    assert len(model.history.losses) == 1
    assert np.abs(model.learned.params.out_vectors).max() > 0
    for ours, theirs in zip(params_of(model), good, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "output", [f"{ADAPTIVE},bias=true", "differentiated", "nce:k=20,ln_z=per_input", "partition:size=9"]
)
def test_what_is_saved_is_loaded(output, tmp_path):
    model = fitted(unhot.SkipGram, {**TORCH, "output": output})
    model.save(tmp_path / "m")
    loaded = unhot.load(tmp_path / "m", verify=True)
    assert loaded.config() == model.config()
    for ours, theirs in zip(params_of(loaded), params_of(model), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert loaded.predict_word(["w1", "w2"]) == model.predict_word(["w1", "w2"])
    assert 1 < held_out(loaded, TEXT[:30]).perplexity < 60
    gone_on = fitted(
        unhot.SkipGram, {**TORCH, "output": output, "lr": 1e-30}, start=loaded, counts=loaded.vocabulary
    )
    np.testing.assert_allclose(
        gone_on.learned.params.out_vectors, model.learned.params.out_vectors, atol=1e-6
    )


def test_a_damaged_tensor_of_the_head_is_named(tmp_path):
    model = fitted(unhot.SkipGram, {**TORCH, "output": ADAPTIVE})
    tensors = {**model.learned.tensors(), "head.tails.0": np.zeros((2, 2), np.float32)}
    save_model(tmp_path / "m", model.config(), model.vocabulary, tensors)
    assert "head.projections.1" in load_model(tmp_path / "m").tensors
    with pytest.raises(FormatError, match=r"its tensor 'tails\.0' \(2, 2\) is none of this layer's"):
        fitted(
            unhot.SkipGram,
            {**TORCH, "output": model.layer},
            start=unhot.load(tmp_path / "m"),
            counts=model.vocabulary,
        )


@pytest.mark.parametrize(("name", "output"), crossed(list(MODELS), ["negative", "nce:k=20,ln_z=per_input"]))
def test_frozen_rows_do_not_move_and_all_others_do(name, output):
    kind, settings = MODELS[name]
    settings = {**TORCH, **settings, "output": output}
    start = fitted(kind, settings)
    model = fitted(kind, {**settings, "lr": 0.05}, start=start, frozen=["w1", "w3"])
    rows = [model.vocabulary.id(word) for word in ("w1", "w3")]
    moved = np.abs(model.vectors.vectors - start.vectors.vectors).max(axis=1) > 0
    assert np.flatnonzero(~moved).tolist() == sorted(rows)
    if model.learned.params.in_bias.size:
        assert (model.learned.params.in_bias != start.learned.params.in_bias).sum() == len(moved) - 2


def test_new_words_join(tmp_path):
    first = fitted(unhot.SkipGram, {**TORCH, "output": "negative:noise=learned"})
    grown = fitted(
        unhot.SkipGram,
        {**TORCH, "output": first.layer, "lr": 1e-30},
        text=[["new", "w1", "words"]] * 9,
        start=first,
    )
    assert len(grown.vectors) == len(first.vectors) + 2
    np.testing.assert_allclose(grown.vectors["w1"], first.vectors["w1"])
    assert grown.learned.seen[grown.vocabulary.id("w4")] == first.learned.seen[first.vocabulary.id("w4")]
    adaptive = {**TORCH, "output": ADAPTIVE}
    first = fitted(unhot.SkipGram, adaptive)
    with pytest.raises(ConfigError, match="adaptive: its output rows"):
        fitted(unhot.SkipGram, adaptive, text=[["new", "w1"]] * 9, start=first)


# ---- beside the training


def test_where_parameters_are_elsewhere_they_are_copied(monkeypatch, tmp_path):
    """As on another device: what the model shows is brought up to date at every epoch, checkpoint and end."""
    settings = {**TORCH, "output": "nce:k=5,ln_z=learned,bias=true,noise=learned"}
    shared = fitted(unhot.SkipGram, settings)
    monkeypatch.setattr(torch_window_net, "_array", lambda tensor: tensor.detach().clone().numpy())
    seen = []
    model = unhot.SkipGram(**settings)
    model.fit(
        TEXT,
        callbacks=[lambda progress: seen.append((progress.event, model.learned.params.out_vectors.copy()))],
    )
    for ours, theirs in zip(params_of(model), params_of(shared), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    epochs = [vectors for event, vectors in seen if event == "epoch"]
    assert not np.array_equal(epochs[0], epochs[1])
    model = fitted(unhot.SkipGram, settings, callbacks=[after(5, KeyboardInterrupt)])
    model.save(tmp_path / "m")
    for ours, theirs in zip(
        params_of(load_unfinished(tmp_path / "m").resume(TEXT)), params_of(shared), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_the_generator_and_the_threads_of_others_are_left_alone():
    """Callbacks may draw as they like, and nothing is trained meanwhile."""
    whole = fitted(unhot.SkipGram, TORCH)
    torch.manual_seed(5)
    expected = torch.rand(200)
    torch.manual_seed(5)
    threads, drawn = torch.get_num_threads(), []

    def look(progress):
        if progress.event == "progress":
            before = model.learned.params.in_vectors.copy()
            drawn.append(torch.rand(1))
            time.sleep(0.01)
            np.testing.assert_array_equal(model.learned.params.in_vectors, before)

    model = unhot.SkipGram(**TORCH)
    model.fit(TEXT, callbacks=[look])
    np.testing.assert_array_equal(model.vectors.vectors, whole.vectors.vectors)
    np.testing.assert_array_equal(torch.cat(drawn), expected[: len(drawn)])
    assert torch.get_num_threads() == threads


def test_callbacks_see_every_chunk_and_epoch():
    seen = []
    model = fitted(unhot.SkipGram, TORCH, callbacks=[seen.append])
    events = [progress.event for progress in seen]
    assert (events[0], events[-1], events.count("epoch")) == ("start", "done", 2)
    assert events.count("progress") > 5
    assert [progress.loss for progress in seen if progress.event == "epoch"] == model.history.losses
    assert seen[-1].words == seen[-1].total_words == model.history.words
    assert seen[0].details["engine"] == "torch"
    rates = [progress.lr for progress in seen if progress.event == "progress"]
    assert rates == sorted(rates, reverse=True)


def test_no_row_leaps():
    """However many examples are in a batch, and whatever the rate."""
    model = fitted(unhot.CBOW, {**TORCH, "batch": 10**6, "lr": 1e3, "epochs": 1, "output": "hierarchical"})
    steps = model.history.chunks  # one batch each
    assert steps < 5
    assert np.linalg.norm(model.learned.params.out_vectors, axis=1).max() <= steps * torch_run.FARTHEST + 1e-3


def test_a_callback_sees_what_is_learned_in_other_arrays():
    """What adaptive learns is in other arrays than the model's: they are brought up to date."""

    class Enough(Exception):
        pass

    def fail(progress):
        if progress.event == "epoch":
            assert np.abs(model.learned.params.out_vectors).max() > 0
            raise Enough

    model = unhot.SkipGram(**{**TORCH, "output": "adaptive:div_value=1", "epochs": 2})
    with pytest.raises(Enough):
        model.fit(TEXT, callbacks=[fail])
    assert model.vocabulary is None


def test_a_training_is_resumed_with_the_batch_that_it_began_with():
    def stop(progress):
        if progress.event == "progress":
            raise KeyboardInterrupt

    text = TEXT * 4
    model = unhot.SkipGram(**{**TORCH, "batch": 64}).fit(text, callbacks=[stop])
    assert model.history.position.chunk > 0
    model.batch = 100_000
    with pytest.raises(ConfigError, match="resume it with the engine, batch and layer that it began with"):
        model.resume(text)
    model.batch = 64
    assert model.resume(text).history.position.epoch == model.epochs


def test_a_saved_head_must_be_complete(tmp_path):
    settings = {**TORCH, "output": "adaptive:div_value=1", "epochs": 1}
    model = unhot.SkipGram(**settings).fit(TEXT)
    model.learned.own.pop("weight")
    with pytest.raises(FormatError, match="without its tensor 'weight'"):
        unhot.SkipGram(**settings).fit(TEXT, start=model, counts=model.vocabulary)


def test_numbers_too_large_to_have_a_length_are_noticed():
    model = unhot.SkipGram(**TORCH)
    huge = unhot.Vectors(*_huge(model))
    with pytest.raises(Diverged):
        model.fit(TEXT, start=huge)


def _huge(model):
    words = sorted({word for sentence in TEXT for word in sentence})
    return words, np.full((len(words), model.dim), 1e25, np.float32)


def test_memory_is_planned_before_it_is_used(monkeypatch):
    monkeypatch.setattr("unhot.train.memory_plan.available_memory", lambda: 10_000)
    with pytest.raises(DataError, match=r"a batch .*10 kB of memory is free"):
        fitted(unhot.SkipGram, TORCH)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"engine": "numpy"}, "engine='numpy': must be one of compiled, torch"),
        (
            {"device": "cuda:0"},
            "device='cuda:0': the compiled engine runs on the cpu only; for other devices set engine='torch'",
        ),
        ({"engine": "torch", "device": ""}, "device='': must be the name of a device"),
        ({"engine": "torch", "batch": 0}, "batch=0: must be >= 1"),
        ({"output": "adaptive"}, "adaptive: has no compiled kernel: train with engine='torch'"),
    ],
)
def test_bad_settings_are_named(settings, told):
    with pytest.raises(ConfigError, match=told):
        unhot.SkipGram(**settings)


@pytest.mark.parametrize("device", ["nonsense", "cuda:77"])
def test_a_device_that_is_not_there_is_named_before_the_text_is_read(device):
    unread = (pytest.fail("the text was read") for _ in range(1))
    with pytest.raises(ConfigError, match=f"device='{device}': cannot be used here"):
        fitted(unhot.SkipGram, {**TORCH, "device": device}, text=unread)


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"engine='torch' needs torch.*pip install 'unhot\[torch\]'"):
        fitted(unhot.SkipGram, TORCH)


def test_torch_is_imported_when_a_training_begins():
    code = """if True:
        import sys, unhot
        unhot.SkipGram(engine='torch', output='adaptive')
        assert 'torch' not in sys.modules
    """
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
