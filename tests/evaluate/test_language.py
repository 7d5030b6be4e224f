"""Figures of language models: bands, log Z, characters."""

import math

import numpy as np
import pytest

import unhot
from unhot.errors import DataError
from unhot.evaluate.language import EDGES, bands_of, measure_language

TRAIN = ["a b a", "a", "b a c"] * 4


@pytest.fixture(scope="module")
def model():
    return unhot.NGramModel(order=2, smoothing="witten_bell").fit(iter(TRAIN))


def test_figures_are_those_of_the_perplexity(model):
    found = measure_language(model, ["a b", "c zebra é"])
    assert found.result == model.perplexity(["a b", "c zebra é"])
    assert (found.log_z_mean, found.log_z_variance) == (0.0, 0.0)
    assert found.own_perplexity == pytest.approx(found.result.perplexity)
    assert found.characters == len("a b\nc zebra é\n")
    bits = -found.result.log10 / math.log10(2) / found.characters
    assert found.bits_per_character == pytest.approx(bits)
    assert [band.name for band in found.bands] == ["unknown", "1-9", "10-99"]
    assert sum(band.tokens for band in found.bands) == found.result.tokens
    mean = sum(band.tokens * math.log(band.perplexity) for band in found.bands) / found.result.tokens
    assert math.exp(mean) == pytest.approx(found.result.perplexity)
    assert found.as_json()["bands"]["unknown"]["tokens"] == 2


def test_bands_begin_at_their_edges():
    counts = np.array([0, 1, *(each for edge in EDGES for each in (edge - 1, edge))])
    bands = bands_of(np.arange(counts.size, dtype=np.int32), np.log(np.full(counts.size, 0.5)), counts)
    assert [(band.name, band.tokens) for band in bands] == [
        ("unknown", 1),
        ("1-9", 2),
        ("10-99", 2),
        ("100-999", 2),
        ("1,000-9,999", 2),
        ("10,000+", 1),
    ]
    assert all(band.perplexity == pytest.approx(2) for band in bands)
    assert bands_of(np.zeros(1, np.int32), np.zeros(1), np.zeros(3, np.int64)) == ()


def test_a_text_without_lines(model):
    with pytest.raises(DataError, match="nothing to measure"):
        measure_language(model, iter([]))


def test_log_z_of_a_neural_model():
    torch = pytest.importorskip("torch")
    neural = unhot.NeuralLM(dim=6, batch=2, steps=3, epochs=2, threads=1, output="nce:k=2").fit(TRAIN)
    found = measure_language(neural, ["a b", "c"])
    net = neural.learned.net.eval()
    ids = [1, *(neural.vocabulary.id(word) for word in ["a", "b", "</s>", "c", "</s>"])]
    hidden, _ = net.body(torch.tensor([ids[:-1]]), net.begin(1))
    log_z = net.head.log_z(hidden[0]).double()
    assert found.log_z_mean == pytest.approx(log_z.mean().item(), abs=1e-5)
    assert found.log_z_variance == pytest.approx(log_z.var(correction=0).item(), abs=1e-5)
    own = net.head.log_weight(hidden[0]).gather(1, torch.tensor(ids[1:])[:, None]).mean()
    assert found.own_perplexity == pytest.approx(math.exp(-own.item()), rel=1e-5)
