import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st

from unhot.bench import Comparison, Measured, Settings
from unhot.bench.output_report import output_report
from unhot.bench.report import draw
from unhot.bench.trials import Point
from unhot.errors import MissingExtra
from unhot.evaluate import HeldOut
from unhot.plots.curves import TICKS, nice_numbers, spread_out

RESULT = HeldOut(
    model="skipgram", output="x", vocabulary=10, window=5, shrink=False, sample=0.0,
    tokenizer="whitespace", seed=1, words=100, unknown=0, pairs=900, cross_entropy=6.0,
    log_z_mean=1.25, log_z_variance=0.5,
)  # fmt: skip
NUMBERS = {
    "words": 10,
    "vocabulary": 10,
    "held_out_words": 10,
    "curve_words": 10,
    "unigram_perplexity": 880.0,
}


def comparison(*layers):
    return Comparison(
        settings=Settings(seconds=60.0), layers=layers, curve_unigram_perplexity=880.0, **NUMBERS
    )


def plot_layers(found, path):
    draw(output_report(found).pictures[".svg"], path)


def measured(layer, *losses, **more):
    curve = tuple(Point(2.0**i, 7, loss) for i, loss in enumerate(losses))
    return Measured(layer=layer, spec=layer, engine="compiled", curve=curve, result=RESULT, **more)


@given(st.lists(st.floats(0, 1), max_size=20), st.floats(0.01, 0.1))
@examples(200)
def test_names_are_apart(places, gap):
    found = spread_out(places, gap)
    assert len(found) == len(places)
    assert (np.diff(sorted(found)) >= gap - 1e-9).all()
    for a, b in zip(np.argsort(places, kind="stable"), np.argsort(places, kind="stable")[1:], strict=False):
        assert places[a] == places[b] or found[a] < found[b]
    if len(places) > 1 and np.diff(sorted(places)).min() >= gap:
        assert found == pytest.approx(places)
    if gap * len(places) <= 1:
        assert all(-1e-9 <= place <= 1 + 1e-9 for place in found)


@given(st.floats(1e-3, 1e6), st.floats(1.05, 1e5))
def test_nice_numbers(first, factor):
    found = nice_numbers(first, first * factor)
    assert len(found) <= TICKS
    assert found == sorted(found)
    assert all(first <= number <= first * factor for number in found)
    assert len(found) >= math.floor(math.log10(factor))


def test_every_layer_is_named(tmp_path):
    layers = [measured(f"layer{i}", 8.0, 7.0, 6.5 + i / 100) for i in range(14)]
    failed = Measured(layer="broken", failed="why")
    plot_layers(
        comparison(
            measured("softmax", 7.0, 6.9), *layers, replace(layers[0], layer="last", engine="torch"), failed
        ),
        tmp_path / "x.svg",
    )
    drawn = (tmp_path / "x.svg").read_text()
    for name in ("softmax", "layer0", "layer13", "last (torch)", "counts alone", "seconds of training"):
        assert f"<!-- {name} -->" in drawn, name
    assert "broken" not in drawn


def test_the_same_bytes_again(tmp_path):
    some = comparison(measured("softmax", 7.0, 6.9), measured("nce", 9.0, 6.4))
    for name in ("a.svg", "b.svg"):
        plot_layers(some, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_names_are_not_formulas(tmp_path):
    plot_layers(comparison(measured("a$x^$", 7.0, 6.0), measured("b\udcff", 7.0, 6.0)), tmp_path / "x.svg")
    drawn = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert "<!-- a$x^$ -->" in drawn
    assert "<!-- b\\udcff -->" in drawn


def test_a_bad_layer_does_not_ruin_the_picture(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    found = []
    monkeypatch.setattr(
        Figure, "savefig", lambda figure, path, **how: found.append((figure.axes[0], how["format"]))
    )
    bad = (measured("awful", 40.0, 30.0), measured("broken", 7.0, math.nan), measured("lost", math.inf))
    plot_layers(comparison(measured("softmax", 7.0, 6.5), *bad), tmp_path / "x")
    [(axes, kind)] = found
    assert kind == "svg"
    assert axes.get_ylim()[1] < 2.1 * 880
    names = {text.get_text(): text for text in axes.texts}
    assert names["awful: 1.07e+13"].xy[1] == axes.get_ylim()[1]
    assert names["softmax"].xy[1] == pytest.approx(math.exp(6.5))


def test_odd_comparisons(tmp_path):
    for number, layers in enumerate(
        [[], [measured("a", 6.0)], [measured("b", 5000.0, 7.0)], [Measured(layer="c", failed="why")]]
    ):
        path = tmp_path / f"{number}.png"
        plot_layers(comparison(*layers), path)
        assert path.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"unhot\[plot\]"):
        plot_layers(comparison(), tmp_path / "x.svg")
