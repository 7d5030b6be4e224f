"""The exact solution beside the layers of a comparison."""

import csv
import json
import math

import numpy as np
import pytest

from unhot.bench import Comparison, Measured, Settings, compare_outputs
from unhot.bench.exact import INPUTS, chosen_inputs, exact_solution
from unhot.bench.plot import plot_layers
from unhot.bench.table import FROM_EXACT, HEADER, failures, header, markdown, summary, table, write_csv, write_curves
from unhot.bench.texts import split_text
from unhot.corpus import encode
from unhot.outputs import parse_output

SHORT = {"dim": 8, "window": 3, "min_count": 1, "seconds": 0.2, "held_out": 0.1, "threads": 1, "lr": 0.05}


@pytest.fixture(scope="module")
def found(planted):
    stages = []
    comparison = compare_outputs(planted, ["softmax:bias=true", "negative"], settings=Settings(**SHORT), tell=stages.append)
    return comparison, stages


def test_it_is_the_best_there_is(found):
    comparison, stages = found
    exact = comparison.exact
    assert (exact.layer, exact.engine, exact.failed, exact.divergence) == ("exact", "cells", "", 0.0)
    assert exact.result.perplexity < 6.5  # a topic has 5 words
    assert exact.lr == 0.05
    assert exact.training_bytes > exact.learned_bytes == 4 * (20 * 8 + 20 * 8 + 20)
    assert "exact" not in [each.layer for each in comparison.layers]
    for each in comparison.layers:
        assert comparison.above_exact(each) == each.result.cross_entropy - exact.result.cross_entropy
        assert -0.02 < comparison.above_exact(each) < 0.2  # held-out lines: nearly nothing can be below it
        assert 0 < each.divergence < 0.2
    assert [status.stage for status in stages if status.layer == "exact"][-1] == "done"
    assert {status.layers for status in stages} == {3}
    assert [status.number for status in stages if status.stage == "done"] == [1, 2, 3]


def test_tables_and_files(found, tmp_path):
    comparison, _ = found
    rows = table(comparison)
    assert header(comparison) == (*HEADER, *FROM_EXACT)
    assert rows[0][:2] == ("exact", "cells")
    assert rows[0][-2:] == ("0.000", "0.000")
    assert {len(row) for row in rows} == {len(HEADER) + 2}
    write_csv(comparison, tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as file:
        first, *others = csv.DictReader(file)
    assert (first["layer"], float(first["above_exact"]), float(first["divergence"])) == ("exact", 0.0, 0.0)
    assert float(others[0]["divergence"]) == pytest.approx(comparison.layers[0].divergence, rel=1e-4)
    write_curves(comparison, tmp_path / "y.csv")
    assert "\nexact," in (tmp_path / "y.csv").read_text()
    page = markdown(comparison, "mine")
    for said in ("| above exact | KL |", "| `exact` | cells |", "- KL: the mean", "The exact solution took"):
        assert said in page, said
    plot_layers(comparison, tmp_path / "x.svg")
    assert "<!-- exact -->" in (tmp_path / "x.svg").read_text()


def test_plain_data(found):
    comparison, _ = found
    facts = json.loads(json.dumps(comparison.as_dict(), allow_nan=False))
    assert facts["settings"]["exact"] is True
    assert facts["exact"]["above_exact"] == 0.0
    assert facts["exact"]["curve"][0]["loss"] == pytest.approx(comparison.exact.final_loss)
    assert facts["layers"][0]["above_exact"] == pytest.approx(comparison.above_exact(comparison.layers[0]))
    assert "rows" not in facts


def test_the_divergence_is_what_it_says(planted):
    with encode(planted, min_count=1) as corpus:
        texts = split_text(corpus, 0.1, 1000, 1)
    settings = Settings(**SHORT)
    with texts.train:
        exact = exact_solution(settings, texts, lambda *told: None)
        model = settings.new_model(parse_output("negative"), 0.05)
        model.epochs = 1
        model.fit(texts.train)
    counts = texts.train.vocabulary.counts
    total = 0.0
    for place, word in enumerate(texts.train.vocabulary.words):
        p, log_q = np.exp(exact.log_prob[place]), model.head.log_prob(model.vectors[word])
        total += counts[place] * float(p @ (np.log(p) - log_q))
        assert p.sum() == pytest.approx(1.0)
    assert exact.divergence(model) == pytest.approx(total / counts.sum())


def test_inputs_of_a_large_vocabulary():
    counts = np.sort(np.random.default_rng(1).zipf(1.3, 5000).clip(max=100_000))[::-1]
    inputs, weight = chosen_inputs(counts, INPUTS)
    assert inputs.size <= INPUTS
    assert weight.sum() == pytest.approx(1.0)
    assert (np.diff(inputs) > 0).all()
    assert weight[0] == pytest.approx(counts[0] / counts.sum(), abs=1 / INPUTS)
    rank = np.log1p(np.arange(counts.size))
    assert weight @ rank[inputs] == pytest.approx(counts @ rank / counts.sum(), rel=0.01)  # a mean over words is that of all


def test_only_for_skipgram_and_only_if_wanted(planted):
    for settings in (Settings(**SHORT, model="cbow"), Settings(**SHORT, exact=False)):
        comparison = compare_outputs(planted, ["softmax"], settings=settings)
        assert comparison.exact is None
        assert header(comparison) == HEADER
        assert math.isnan(comparison.layers[0].divergence)
        assert comparison.as_dict()["exact"] is None


def test_what_goes_wrong_is_a_row(planted, monkeypatch):
    monkeypatch.setattr("unhot.models.counted.MOST_WORDS", 10)
    comparison = compare_outputs(planted, ["negative"], settings=Settings(**SHORT))
    assert "at most 10 are taken" in comparison.exact.failed
    assert comparison.layers[0].result is not None
    assert table(comparison)[0] == ("exact", "cells", *["-"] * 10)
    assert table(comparison)[1][-2:] == ("-", "-")
    assert failures(comparison)[0].startswith("exact: 20 words")
    assert "exact solution took" not in summary(comparison)


def test_interrupted(planted):
    def press(status):
        if (status.layer, status.stage) == ("exact", "training"):
            raise KeyboardInterrupt

    comparison = compare_outputs(planted, ["negative"], settings=Settings(**SHORT), tell=press)
    assert comparison.interrupted
    assert comparison.layers == ()


def test_odd_pictures(tmp_path):
    numbers = {"words": 10, "vocabulary": 10, "held_out_words": 10, "curve_words": 10, "unigram_perplexity": 880.0}
    failed = Measured(layer="exact", engine="cells", failed="why")
    comparison = Comparison(settings=Settings(), layers=(), curve_unigram_perplexity=880.0, exact=failed, **numbers)
    plot_layers(comparison, tmp_path / "x.svg")
    assert "exact" not in (tmp_path / "x.svg").read_text()
