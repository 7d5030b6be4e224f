"""A new layer is one short file: that of docs/outputs/writing-your-own.md, used as a stranger would."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import run
from grids import SOAK

import unhot
from unhot.cli.outputs import load_plugin
from unhot.errors import ConfigError
from unhot.outputs import LAYERS, parse_output
from unhot.probability import log_softmax

TOY = Path(__file__).resolve().parents[2] / "docs" / "outputs" / "toy_layer.py"
RNG = np.random.default_rng(5)
SENTENCES = [[f"w{i}" for i in RNG.integers(0, 5, RNG.integers(2, 9))] for _ in range(12)]


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    path = tmp_path_factory.mktemp("toy") / "toy_layer.py"
    shutil.copy(TOY, path)
    assert "ring" not in LAYERS
    load_plugin(str(path))
    yield path
    module = LAYERS.pop("ring").__module__
    del sys.modules[module]


def test_it_has_the_sixty_lines_that_the_readme_promises():
    assert len(TOY.read_text().splitlines()) <= 60


def score_gradient(layer, scores, target, counts):
    """The reference's gradient, by central differences."""
    up, down = (
        [layer.reference(scores + step, target, None, counts) for step in e * np.eye(scores.size)]
        for e in (1e-6, -1e-6)
    )
    return np.subtract(up, down) / 2e-6


@pytest.mark.parametrize("predict", ["centre", "contexts"] if SOAK else ["centre"])
def test_training_is_gradient_descent_on_the_reference(toy, predict):
    settings = {
        "dim": 4,
        "window": 2,
        "shrink": False,
        "sample": 0,
        "min_count": 1,
        "epochs": 1,
        "threads": 1,
        "predict": predict,
    }
    x = unhot.SkipGram(**settings, output="ring", lr=1e-30).fit(SENTENCES).vectors.vectors.astype(np.float64)
    lr = 0.5
    model = unhot.SkipGram(**settings, output="ring", lr=lr).fit(SENTENCES)
    o, losses = np.zeros_like(x), []
    ids, counts = {word: i for i, word in enumerate(model.vectors.words)}, model.vocabulary.counts
    for sentence in SENTENCES:
        for place, word in enumerate(sentence):
            dx, do = np.zeros_like(x), np.zeros_like(o)
            for other in sentence[max(0, place - 2) : place] + sentence[place + 1 : place + 3]:
                source, target = (ids[other], ids[word]) if predict == "centre" else (ids[word], ids[other])
                scores = o @ x[source]
                losses.append(model.layer.reference(scores, target, None, counts))
                gradient = score_gradient(model.layer, scores, target, counts)
                dx[source] += gradient @ o
                do += np.outer(gradient, x[source])
            x -= lr * dx
            o -= lr * do
    assert np.std(losses) > 0.01  # the scores are not all near zero
    assert model.history.losses == pytest.approx([np.mean(losses)], rel=1e-5)
    np.testing.assert_allclose(model.vectors.vectors, x, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.out_vectors.vectors, o, rtol=1e-3, atol=1e-4)


def test_it_is_trained_by_name_and_learns(toy):
    text = [["a", "b"] * 5, ["c", "d"] * 5] * 50
    model = unhot.SkipGram(
        dim=8,
        window=1,
        min_count=1,
        sample=0,
        epochs=20,
        lr=0.025,
        threads=1,
        output="ring:bias=true",
        predict="contexts",
    ).fit(text)
    assert model.layer.spec() == "ring:bias=true"
    assert model.history.losses == sorted(model.history.losses, reverse=True)
    assert model.history.losses[-1] < 0.01 < 0.3 < model.history.losses[0]
    assert [model.predict_word([word], topn=1)[0][0] for word in "abcd"] == list("badc")


def test_scores_converge_to_what_the_docstring_says(toy):
    """There the expected loss has no gradient, and log_weight gives the probabilities back."""
    layer, counts = parse_output("ring"), np.ones(5, np.int64)
    p = np.array([0.4, 0.1, 0.25, 0.05, 0.2])
    scores = np.log(p / np.roll(p, 1))
    expected = sum(p[t] * score_gradient(layer, scores, t, counts) for t in range(5))
    np.testing.assert_allclose(expected, 0, atol=1e-8)
    np.testing.assert_allclose(np.exp(log_softmax(layer.log_weight(scores, counts))), p)


def test_the_shell_knows_it(toy, tmp_path, monkeypatch):
    layer = LAYERS["ring"]
    monkeypatch.delitem(LAYERS, "ring")
    monkeypatch.delitem(sys.modules, layer.__module__)
    listed = run("train", "--plugin", toy, "--help").stdout.partition("Output layers")[2]
    assert "  ring              Ring: tell the target from the word behind it." in listed.splitlines()
    assert "Ring:" not in run("train", "--help").stdout
    (tmp_path / "t.txt").write_text("\n".join(map(" ".join, SENTENCES)))
    command = (
        "train",
        tmp_path / "t.txt",
        "-o",
        tmp_path / "m",
        "--dim",
        4,
        "--min-count",
        1,
        "--output",
        "ring:bias=true",
        "--quiet",
    )
    refused = run(*command)
    assert refused.returncode == 2
    assert "there is no layer 'ring'" in refused.stderr
    trained = run(*command, "--plugin", toy)
    assert (trained.returncode, trained.stderr) == (0, "")
    assert json.loads(run("info", tmp_path / "m", "--json").stdout)["output"] == "ring:bias=true"
    with pytest.raises(ConfigError, match="there is no layer 'ring'"):
        unhot.load(tmp_path / "m")
    assert len(unhot.Vectors.load(tmp_path / "m")) == 5  # vectors need no layer
    monkeypatch.setitem(LAYERS, "ring", layer)
    assert unhot.load(tmp_path / "m").head.log_prob(np.zeros(4)).shape == (5,)
