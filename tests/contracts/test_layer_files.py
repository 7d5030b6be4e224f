"""Output layers that read a file: a saved model holds what the file held, and opens no file."""

from dataclasses import fields

import numpy as np
import pytest
from every_model import TEXT, TRAINED

import unhot
from unhot.errors import DataError, FormatError
from unhot.outputs import parse_output
from unhot.vectors.formats.directory import load_model, save_model

pytest.importorskip("torch")

LINES = {
    "negative:k=2,noise=file:{}": lambda i, words: i + 1,
    "class_based:classes=file:{}": lambda i, words: i % 3,
    "hierarchical:tree=file:{}": lambda i, words: "1" * i + "0" * (i + 1 < words),
}
NOISE, CLASSES, TREE = LINES
LINES["nce:k=2,noise=file:{}"] = LINES[NOISE]
WITH_OUTPUT = [name for name in TRAINED if "output" in {field.name for field in fields(getattr(unhot, name))}]
CASES = [*((name, NOISE) for name in WITH_OUTPUT), *(("SkipGram", spec) for spec in (CLASSES, TREE))]
CASES += [("NeuralLM", "nce:k=2,noise=file:{}")]


def train(name, spec, folder, **options):
    """Train with a file of one line a word, remove the file, and return the model."""
    source, settings = TRAINED[name]
    kind = getattr(unhot, name)
    words = len(kind(threads=1, **{**settings, "epochs": 1}).fit(source).out_vocabulary)
    (folder / "given.csv").write_text("".join(f"{LINES[spec](i, words)}\n" for i in range(words)))
    model = kind(threads=1, **settings, output=spec.format(folder / "given.csv")).fit(source, **options)
    (folder / "given.csv").unlink()
    return model


def answers(model):
    """Return the probabilities of a model, or else its vectors, as one array."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(["the old cat sleeps near the river"])
    if hasattr(model, "perplexity"):
        return np.array(model.perplexity(["the old cat sleeps near the river"]).perplexity)
    if hasattr(model, "head"):
        return model.head.log_prob(np.ones((1, model.dim)))
    return model.vectors.vectors


@pytest.mark.parametrize(("name", "spec"), CASES)
def test_a_saved_model_holds_what_the_file_held(name, spec, tmp_path, monkeypatch):
    """It gives the same answers, learns the same again, and does not know where the file was."""
    model = train(name, spec, tmp_path)
    model.save(tmp_path / "first")
    assert all(str(tmp_path).encode() not in path.read_bytes() for path in tmp_path.rglob("config.json"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "given.csv").write_text("another file of this name\n")  # is not opened
    loaded = unhot.load(tmp_path / "first")
    loaded.save(tmp_path / "second")
    again = unhot.load(tmp_path / "second")
    vars(again).update({"items": TRAINED[name][1]["items"]} if name == "EGES" else {})
    for other in (loaded, again, again.fit(TRAINED[name][0])):
        np.testing.assert_array_equal(answers(other), answers(model))


def test_a_checkpoint_holds_what_the_file_held(tmp_path):
    def stop(progress):
        if progress.event == "epoch":
            raise KeyboardInterrupt

    stopped = train("SkipGram", NOISE, tmp_path, callbacks=[stop])
    stopped.save(tmp_path / "stopped")
    resumed = unhot.load(tmp_path / "stopped").resume(TEXT)
    assert resumed.complete
    np.testing.assert_array_equal(answers(resumed), answers(train("SkipGram", NOISE, tmp_path)))


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        (lambda tensor: tensor.astype(np.float32), FormatError, "'file.noise' is float32"),
        (lambda tensor: tensor[None], FormatError, r"'file.noise' is float64 of shape \(1, "),
        (lambda tensor: tensor[1:], DataError, "the file has .* weights for .* words"),
        (lambda tensor: -tensor, DataError, "weights"),
    ],
)
def test_damaged_weights_are_an_error(change, error, told, tmp_path):
    train("SkipGram", NOISE, tmp_path).save(tmp_path / "m")
    saved = load_model(tmp_path / "m")
    tensors = {**saved.tensors, "file.noise": change(np.array(saved.tensors["file.noise"]))}
    save_model(tmp_path / "m", saved.config, saved.vocabulary, tensors, None)
    with pytest.raises((error, unhot.errors.ConfigError), match=told):
        unhot.load(tmp_path / "m").predict_word(["the"])


def test_a_layer_with_other_settings_keeps_what_its_file_held(tmp_path):
    (tmp_path / "given.csv").write_text("1\n2\n")
    layer = parse_output(f"nce:noise=file:{tmp_path / 'given.csv'}")
    q = layer.probability(np.array([5, 3]))
    (tmp_path / "given.csv").unlink()
    np.testing.assert_array_equal(layer.changed(bias=True).probability(np.array([5, 3])), q)
