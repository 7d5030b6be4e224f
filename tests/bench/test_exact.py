"""The exact solution beside the layers of a comparison."""

import csv
import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from unhot.bench import Comparison, Measured, Settings, compare_outputs
from unhot.bench.exact import ExactSolution, cells_loss, counted_cells, epochs_of
from unhot.bench.output_report import COLUMNS, FROM_EXACT, output_report, summary
from unhot.bench.report import draw, write_csv
from unhot.bench.texts import split_text
from unhot.corpus import encode
from unhot.corpus.cooccurrence import cooccurrences
from unhot.evaluate import held_out
from unhot.models.skipgram import SkipGram
from unhot.outputs import parse_output
from unhot.train.exact_run import steps_of_epoch

HEADER = [column.title for column in COLUMNS]
SHORT = {"dim": 8, "window": 3, "min_count": 1, "seconds": 0.2, "held_out": 0.1, "threads": 1, "lr": 0.05}


@pytest.fixture(scope="module")
def found(planted):
    stages = []
    comparison = compare_outputs(
        planted, ["softmax:bias=true", "negative"], settings=Settings(**SHORT), tell=stages.append
    )
    return comparison, stages


def test_it_is_the_best_there_is(found):
    comparison, stages = found
    exact = comparison.exact
    assert (exact.layer, exact.engine, exact.failed, exact.train_above) == ("exact", "cells", "", 0.0)
    assert exact.result.perplexity < 6.5  # a topic has 5 words
    assert exact.lr == 0.05
    assert exact.training_bytes > exact.learned_bytes == 4 * (20 * 8 + 20 * 8 + 20)
    assert "exact" not in [each.layer for each in comparison.layers]
    for each in comparison.layers:
        assert comparison.above_exact(each) == each.result.cross_entropy - exact.result.cross_entropy
        assert -0.02 < comparison.above_exact(each) < 0.7  # held-out lines: nearly nothing can be below it
        assert 0 < each.train_above < 0.7  # it is the minimum, and a busy machine trains little
    assert [status.stage for status in stages if status.layer == "exact"][-1] == "done"
    assert {status.layers for status in stages} == {3}
    assert [status.number for status in stages if status.stage == "done"] == [1, 2, 3]


def test_tables_and_files(found, tmp_path):
    comparison, _ = found
    report = output_report(comparison)
    rows = report.table()
    assert report.header() == [*HEADER, *(column.title for column in FROM_EXACT)]
    assert rows[0][:2] == ("exact", "cells")
    assert rows[0][-2:] == ("0.000", "0.000")
    assert {len(row) for row in rows} == {len(HEADER) + 2}
    speed = HEADER.index("examples/s")
    assert rows[0][speed] == "-"  # on cells a pair costs nothing
    assert int(rows[1][speed].replace(",", "")) > 0
    write_csv(tmp_path / "x.csv", report.files[".csv"])
    with (tmp_path / "x.csv").open(newline="") as file:
        first, *others = csv.DictReader(file)
    assert (first["layer"], float(first["above_exact"]), float(first["train_above"])) == ("exact", 0.0, 0.0)
    assert first["pairs_per_second"] == ""
    assert float(others[0]["train_above"]) == pytest.approx(comparison.layers[0].train_above, rel=1e-4)
    write_csv(tmp_path / "y.csv", report.files["-curves.csv"])
    assert "\nexact," in (tmp_path / "y.csv").read_text()
    page = report.markdown("mine")
    for said in (
        "| above exact | train above |",
        "| `exact` | cells |",
        "- train above: loss on all",
        "The exact solution took",
    ):
        assert said in page, said
    draw(report.pictures[".svg"], tmp_path / "x.svg")
    assert "<!-- exact -->" in (tmp_path / "x.svg").read_text()


def test_plain_data(found):
    comparison, _ = found
    facts = json.loads(json.dumps(comparison.as_dict(), allow_nan=False))
    assert facts["settings"]["exact"] is True
    assert facts["exact"]["above_exact"] == facts["exact"]["train_above"] == 0.0
    assert facts["exact"]["pairs_per_second"] is None
    assert facts["exact"]["curve"][0]["loss"] == pytest.approx(comparison.exact.final_loss)
    assert facts["layers"][0]["above_exact"] == pytest.approx(comparison.above_exact(comparison.layers[0]))
    assert "rows" not in facts


@pytest.fixture(scope="module")
def texts(planted):
    with encode(planted, min_count=1) as corpus:
        split = split_text(corpus, 0.1, 1000, 1)
    with split.train:
        yield split


def lines_of(corpus):
    words = corpus.vocabulary.words
    return [
        [words[i] for i in shard.ids[a:b]]
        for shard in corpus.shards
        for a, b in itertools.pairwise(shard.starts)
    ]


@pytest.mark.parametrize("output", ["negative", "hierarchical", "softmax:bias=true"])
@pytest.mark.parametrize("at_once", [1, 70, 1 << 20])
def test_the_loss_of_the_training_lines_is_what_it_says(output, at_once, texts, monkeypatch):
    """Cells give what `held_out` of the same lines gives, pair by pair."""
    monkeypatch.setattr("unhot.bench.exact.AT_ONCE", at_once)
    model = Settings(**SHORT).new_model(parse_output(output), 0.05)
    model.epochs = 1
    model.fit(texts.train)
    with cooccurrences(texts.train, window=3, weights="flat") as cells:
        assert cells_loss(model, cells) == pytest.approx(
            held_out(model, lines_of(texts.train)).cross_entropy, rel=1e-7
        )


def test_seeds_do_not_matter_and_the_minimum_is_near(texts):
    """Two exact solutions are as good as each other, and much more training finds nothing better."""
    told = []
    settings = [Settings(**SHORT, seed=seed) for seed in (1, 2)]
    with (
        counted_cells(settings[0], texts) as cells,
        counted_cells(settings[1], texts) as others,
    ):
        assert cells.epochs == others.epochs == epochs_of(20)
        assert 0 < cells.epoch < 10
        one = ExactSolution(settings[0], texts, cells, cells.epochs, lambda *stage: told.append(stage))
        other = ExactSolution(settings[1], texts, others, others.epochs, print)
        assert [each.failed for run in (one, other) for each in run.rows()] == ["", ""]
        assert abs(one.loss - other.loss) < 1e-3
        same = {"output": "softmax:bias=true", "shrink": False, "sample": 0.0, "on": "cells", "dim": 8}
        same["threads"] = 1
        longer = SkipGram(**same, epochs=2 * epochs_of(20)).fit(cells.cells)
        assert -1e-3 < one.above(longer)
        shorter = SkipGram(**same, epochs=40).fit(cells.cells)
        assert one.above(shorter) > 0.002  # so 40 epochs of so few steps were not enough
    assert [stage[0] for stage in told][-1] == "evaluating"


def test_few_words_have_many_epochs():
    for words in (1, 20, 300, 2000, 10_000, 50_000):
        assert epochs_of(words) >= 40
        assert epochs_of(words) * steps_of_epoch(words) > 1500


def test_only_for_skipgram_and_only_if_wanted(planted):
    for settings in (Settings(**SHORT, model="cbow"), Settings(**SHORT, exact=False)):
        comparison = compare_outputs(planted, ["softmax"], settings=settings)
        assert comparison.exact is None
        assert output_report(comparison).header() == HEADER
        assert math.isnan(comparison.layers[0].train_above)
        assert comparison.as_dict()["exact"] is None


def test_what_goes_wrong_is_a_row(planted, monkeypatch):
    monkeypatch.setattr("unhot.bench.exact.MOST_WORDS", 10)
    comparison = compare_outputs(planted, ["negative"], settings=Settings(**SHORT))
    assert "at most 10 are allowed; lower max_vocab" in comparison.exact.failed
    assert comparison.layers[0].result is not None
    report = output_report(comparison)
    assert report.table()[0] == ("exact", "cells", *["-"] * 10)
    assert report.table()[1][-2:] == ("-", "-")
    assert report.failures[0].startswith("exact: 20 words")
    assert "exact solution took" not in summary(comparison)


def test_what_is_not_ours_goes_wrong_alike(planted, monkeypatch):
    """It must not lose the comparison."""

    def fail(*args, **settings):
        np.divide(1.0, np.zeros(1))  # no warning, either
        raise MemoryError("too\nmuch")

    monkeypatch.setattr("unhot.models.exact.OnCells.begin", fail)
    comparison = compare_outputs(planted, ["negative"], settings=Settings(**SHORT))
    assert comparison.exact.failed == "MemoryError: too much"
    assert comparison.layers[0].result is not None
    assert math.isnan(comparison.layers[0].train_above)


def test_by_heart(found):
    """A note where counts alone are better on the held-out lines."""
    comparison, _ = found
    assert "has memorised" not in summary(comparison)
    better = replace(comparison, unigram_perplexity=comparison.exact.result.perplexity - 1)
    assert "worse than counts alone" in summary(better)
    assert "worse than counts alone" in output_report(better).markdown("mine")


def test_interrupted(planted):
    def press(status):
        if (status.layer, status.stage) == ("exact", "training"):
            raise KeyboardInterrupt

    comparison = compare_outputs(planted, ["negative"], settings=Settings(**SHORT), tell=press)
    assert comparison.interrupted
    assert comparison.layers == ()


def test_odd_pictures(tmp_path):
    numbers = {
        "words": 10,
        "vocabulary": 10,
        "held_out_words": 10,
        "curve_words": 10,
        "unigram_perplexity": 880.0,
    }
    failed = Measured(layer="exact", engine="cells", failed="why")
    comparison = Comparison(
        settings=Settings(seconds=60.0), layers=(), curve_unigram_perplexity=880.0, exact=failed, **numbers
    )
    draw(output_report(comparison).pictures[".svg"], tmp_path / "x.svg")
    assert "exact" not in (tmp_path / "x.svg").read_text()


def test_exact_far_above_is_left_out_of_the_picture(found, tmp_path, monkeypatch):
    """And lines that are drawn later do not move the limits."""
    comparison, _ = found
    heights = []
    monkeypatch.setattr(
        "unhot.plots.curves._name_lines", lambda axes, points, colours: heights.append(axes.get_ylim())
    )
    point = comparison.exact.curve[0]
    for loss, shown in ((point.loss, True), (point.loss + 5, False)):
        curve = (point._replace(loss=loss),)
        odd = replace(comparison, exact=replace(comparison.exact, curve=curve))
        draw(output_report(odd).pictures[".svg"], tmp_path / "x.svg")
        assert ("<!-- exact -->" in (tmp_path / "x.svg").read_text()) == shown
    assert heights[-1][1] == pytest.approx(2 * comparison.curve_unigram_perplexity * 1.03)
