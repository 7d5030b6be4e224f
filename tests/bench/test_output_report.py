import csv
import math
from dataclasses import replace

import pytest

from unhot.bench import Comparison, Measured, Settings
from unhot.bench.output_report import COLUMNS, FIGURES, measured_by, output_report, summary
from unhot.bench.report import write_csv
from unhot.bench.trials import Point
from unhot.evaluate import HeldOut


def measured(layer, loss, **more):
    result = HeldOut(
        model="skipgram", output=layer, vocabulary=10, window=5, shrink=False, sample=0.0,
        tokenizer="whitespace", seed=1, words=100, unknown=0, pairs=900, cross_entropy=loss,
        log_z_mean=1.25, log_z_variance=0.5,
    )  # fmt: skip
    curve = tuple(Point(seconds, int(1e4 * seconds), loss + 1 / seconds) for seconds in (1.0, 10.0, 60.0))
    figures = {
        "spec": f"{layer}:bias=true",
        "engine": "compiled",
        "lr": 0.1,
        "seconds": 60.0,
        "pairs": 600_000,
    }
    return Measured(
        layer=layer,
        result=result,
        curve=curve,
        learned_bytes=8_000_000,
        training_bytes=20_400_000,
        **(figures | more),
    )


@pytest.fixture
def comparison():
    layers = (
        measured("softmax", 6.5),
        measured("nce", 6.0, pairs=60_000_000, engine="torch"),
        Measured(layer="a|b", engine="torch", failed="went wrong"),
    )
    numbers = {"words": 1_000_000, "vocabulary": 10_000, "held_out_words": 50_000, "curve_words": 10_000}
    return Comparison(
        settings=Settings(seconds=60.0),
        layers=layers,
        unigram_perplexity=900.0,
        curve_unigram_perplexity=880.0,
        **numbers,
    )


def test_rows(comparison):
    rows = output_report(comparison).table()
    assert rows[0] == ("nce", "torch", "0.1", "403.4", "1,000,000", "8.0", "20.4", "1.250", "0.500", "3.4")
    assert rows[1] == (
        "softmax",
        "compiled",
        "0.1",
        "665.1",
        "10,000",
        "8.0",
        "20.4",
        "1.250",
        "0.500",
        "60.0",
    )
    assert rows[2] == ("a|b", "torch", *["-"] * 8)
    assert all(len(row) == len(COLUMNS) for row in rows)
    assert output_report(comparison).failures == ["a|b: went wrong"]


def test_summary(comparison):
    for said in (
        "skipgram",
        "10,000 words",
        "2 threads",
        "60 s of training",
        "the best lr of a few",
        "1,000,000 words",
        "900.0",
    ):
        assert said in summary(comparison), said
    fixed = replace(comparison, settings=Settings(lr=0.2, threads=1, seconds=60.0), interrupted=True)
    assert "lr 0.2 for all" in summary(fixed)
    assert "1 thread;" in summary(fixed)
    assert "Interrupted" in summary(fixed)


def test_csv(comparison, tmp_path):
    write_csv(tmp_path / "x.csv", output_report(comparison).files[".csv"])
    with (tmp_path / "x.csv").open(newline="") as file:
        first, second, third = csv.DictReader(file)
    assert tuple(first) == FIGURES
    assert float(first["perplexity"]) == pytest.approx(math.exp(6.0), rel=1e-5)
    assert float(first["seconds_to_full"]) == pytest.approx(comparison.to_full["nce"], rel=1e-5)
    assert (second["layer"], second["spec"], second["pairs"]) == ("softmax", "softmax:bias=true", "600000")
    assert (third["layer"], third["failed"], third["perplexity"], third["lr"]) == (
        "a|b",
        "went wrong",
        "",
        "",
    )


def test_curves(comparison, tmp_path):
    write_csv(tmp_path / "x.csv", output_report(comparison).files["-curves.csv"])
    with (tmp_path / "x.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["layer", "seconds", "pairs", "loss"]
    assert rows[1] == ["nce", "1", "10000", "7"]
    assert len(rows) == 7


def test_bytes_that_are_not_utf8(comparison, tmp_path):
    odd = replace(comparison, layers=(replace(comparison.layers[0], layer="x\udcff"),))
    for records in output_report(odd).files.values():
        write_csv(tmp_path / "x.csv", records)
        assert "\nx\\udcff," in (tmp_path / "x.csv").read_text(encoding="utf-8")


def test_what_is_said_of_the_softmax(comparison):
    assert measured_by(comparison) == ""
    assert measured_by(replace(comparison, layers=())) == ""
    two = replace(comparison, layers=(measured("softmax", 6.5), measured("softmax:bias=true", 6.4)))
    assert measured_by(two) == "s to softmax: the reference is softmax:bias=true, the first in the table"
    nothing = replace(comparison, curve_unigram_perplexity=math.exp(6.5))
    assert "softmax itself has not learned" in measured_by(nothing)
    assert {row[-1] for row in output_report(nothing).table()} == {"-"}
    assert f"- {measured_by(nothing)}" in output_report(nothing).markdown("mine")


def test_links_are_quoted(comparison):
    page = output_report(comparison).markdown("a b(1)\udcff", [".svg"])
    for target in ("(a%20b%281%29%FF.csv)", "(a%20b%281%29%FF-curves.csv)", "(a%20b%281%29%FF.svg)"):
        assert target in page


def test_markdown(comparison):
    page = output_report(comparison).markdown("mine", [".svg"])
    assert page.startswith("# mine\n")
    assert "| `nce` | torch | 0.1 | 403.4 |" in page
    assert "`a\\|b`" in page
    assert "- failed: a|b: went wrong" in page
    assert "(mine.svg)" in page
    assert "- `softmax:bias=true`" in page
    lines = [line for line in page.splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in lines} == {len(COLUMNS) + 1}
    assert ".svg" not in output_report(comparison).markdown("mine")
