import json
import math
from dataclasses import replace

import pytest

from unhot import SkipGram
from unhot.bench import Comparison, Measured, Settings, compare_outputs
from unhot.bench.outputs import chosen_layers
from unhot.bench.trials import Point
from unhot.errors import ConfigError
from unhot.evaluate import HeldOut, held_out
from unhot.outputs import LAYERS, parse_output

RESULT = HeldOut(
    model="skipgram", output="x", vocabulary=10, window=5, shrink=False, sample=0.0,
    tokenizer="whitespace", seed=1, words=100, unknown=0, pairs=900, cross_entropy=6.0,
    log_z_mean=1.25, log_z_variance=0.5,
)  # fmt: skip
SHORT = {"dim": 8, "window": 3, "min_count": 1, "seconds": 0.2, "held_out": 0.1, "threads": 1, "exact": False}


def test_layers_that_know_more_than_counts(planted):
    layers = ("softmax:bias=true", "negative", "hierarchical")
    found = compare_outputs(planted, layers, settings=Settings(**SHORT, lr=0.05))
    assert {each.layer for each in found.layers} == set(layers)
    assert found.vocabulary == 20
    assert 19 < found.unigram_perplexity < 22
    losses = []
    for each in found.layers:
        assert each.failed == ""
        assert each.result.perplexity < 0.6 * found.unigram_perplexity  # a topic has 5 words
        assert each.result.words == found.held_out_words
        assert each.seconds == each.curve[-1].seconds >= 0.2
        assert each.pairs == each.curve[-1].pairs > 10_000
        assert (each.engine, each.lr) == ("compiled", 0.05)
        assert each.training_bytes > 2 * each.learned_bytes
        losses.append(each.result.cross_entropy)
    assert losses == sorted(losses)
    softmax = next(each for each in found.layers if each.layer == "softmax:bias=true")
    assert softmax.learned_bytes == 4 * (20 * 8 + 20 * 8 + 20)
    assert found.to_full[softmax.layer] <= softmax.seconds


def test_figures_are_those_of_the_model_and_its_text(planted, monkeypatch):
    """The last look is at the model that is measured at the end."""
    models = []

    def looked(model, lines):
        models.append((model, lines))
        return held_out(model, lines)

    monkeypatch.setattr("unhot.bench.outputs.held_out", looked)
    found = compare_outputs(planted, ["softmax"], settings=Settings(**SHORT, lr=0.05)).layers[0]
    (last, curve), (model, lines) = models[-2:]
    assert last is model
    assert found.final_loss == pytest.approx(held_out(model, curve).cross_entropy)
    assert found.result == held_out(model, lines)
    assert (model.sample, model.shrink, model.window) == (0, False, 3)


def test_each_layer_finds_its_rate(planted):
    stages = []
    found = compare_outputs(
        planted, ["negative"], settings=Settings(**SHORT), tell=lambda status: stages.append(status.stage)
    )
    assert list(dict.fromkeys(stages)) == [
        *("reading", "planned", "preparing", "tuning", "training", "evaluating", "done")
    ]
    rungs = math.log(found.layers[0].lr / SkipGram.default_lr, 4)
    assert rungs == pytest.approx(round(rungs))
    assert found.layers[0].result.perplexity < 0.6 * found.unigram_perplexity


@pytest.mark.parametrize(
    ("layer", "numbers"),
    [
        # head, its biases; projection, tail
        ("adaptive:cutoffs=8,div_value=2,bias=true", 20 * 8 + (9 * 8 + 9) + (4 * 8 + 12 * 4)),
        ("differentiated:cutoffs=5,widths=6,2,bias=true", 20 * 8 + (5 * 6 + 15 * 2) + 20),
    ],
)
def test_layers_of_torch(planted, layer, numbers):
    comparison = compare_outputs(planted, [layer], settings=Settings(**SHORT, lr=0.05))
    found = comparison.layers[0]
    assert (found.failed, found.engine) == ("", "torch")
    assert found.learned_bytes == 4 * numbers
    assert found.result.perplexity < 0.9 * comparison.unigram_perplexity  # how far depends on the machine


def test_the_engine_can_be_chosen(planted):
    found = compare_outputs(
        planted, ["softmax", "in_batch"], settings=Settings(**SHORT, lr=0.05, engine="compiled")
    )
    assert (found.layers[0].layer, found.layers[0].engine, found.layers[0].failed) == (
        "softmax",
        "compiled",
        "",
    )
    assert "engine='torch'" in found.layers[1].failed
    assert (
        compare_outputs(planted, ["softmax"], settings=Settings(**SHORT, lr=0.05, engine="torch"))
        .layers[0]
        .engine
        == "torch"
    )


@pytest.mark.parametrize(
    ("layer", "engine"),
    [("sampled", "compiled"), ("sampled:temperature=0.5", "torch"), ("sampled:k=5000", "torch")]
    + [("mixed", "torch")],
)
def test_an_engine_that_can_train_the_layer_is_chosen(layer, engine):
    assert Settings().engine_of(parse_output(layer)) == engine


def test_cbow(planted):
    found = compare_outputs(planted, ["softmax"], settings=Settings(**SHORT, lr=0.2, model="cbow"))
    assert found.layers[0].result.perplexity < 0.6 * found.unigram_perplexity
    assert found.layers[0].result.pairs == found.held_out_words


def test_a_layer_that_fails_is_a_row(planted):
    layers = ["class_based:classes=1000", "negative", "softmax"]
    found = compare_outputs(planted, layers, settings=Settings(**SHORT, lr=0.05))
    assert [each.layer for each in found.layers][-1] == layers[0]
    assert "classes=1000" in found.layers[-1].failed
    assert found.layers[-1].result is None
    assert all(each.result for each in found.layers[:2])
    assert layers[0] not in found.to_full


def test_a_rate_that_is_too_high_is_a_row(planted):
    found = compare_outputs(planted, ["softmax"], settings=Settings(**SHORT, lr=1e30)).layers[0]
    assert found.result is None
    assert "finite numbers" in found.failed


def test_a_bug_in_a_layer_does_not_cost_the_others(planted, monkeypatch):
    monkeypatch.setattr(LAYERS["negative"], "tables", lambda self, counts: 1 / 0)
    found = compare_outputs(planted, ["negative", "softmax"], settings=Settings(**SHORT, lr=0.05))
    assert found.layers[0].layer == "softmax"
    assert found.layers[1].failed == "ZeroDivisionError: division by zero"


def test_an_interrupt_keeps_what_there_is(planted):
    def press(status):
        if status.layer == "negative" and status.stage == "training":
            raise KeyboardInterrupt

    found = compare_outputs(
        planted, ["softmax", "negative", "nce"], settings=Settings(**SHORT, lr=0.05), tell=press
    )
    assert found.interrupted
    assert [(each.layer, each.failed) for each in found.layers] == [
        ("softmax", ""),
        ("negative", "interrupted"),
    ]


@pytest.mark.parametrize(("layer", "done"), [("softmax", 1), ("negative", 2)])
def test_an_interrupt_between_layers(planted, layer, done):
    def press(status):
        if status.layer == layer and status.stage == "done":
            raise KeyboardInterrupt

    found = compare_outputs(planted, ["softmax", "negative"], settings=Settings(**SHORT, lr=0.05), tell=press)
    assert found.interrupted
    assert [each.failed for each in found.layers] == [""] * done


def test_plain_data(planted):
    lines = [" ".join(line) for line in planted]
    settings = Settings(**SHORT, lr=0.05, tokenizer=str.split)
    found = compare_outputs(lines, ["softmax", "class_based:classes=1000"], settings=settings)
    facts = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    first, second = facts["layers"]
    assert first["result"]["perplexity"] == pytest.approx(found.layers[0].result.perplexity)
    assert first["curve"][-1] == {
        "seconds": first["seconds"],
        "pairs": first["pairs"],
        "loss": first["final_loss"],
    }
    assert first["seconds_to_full"] == pytest.approx(found.to_full["softmax"])
    assert facts["full"] == "softmax"
    assert (second["result"], second["seconds_to_full"], second["lr"]) == (None, None, None)
    assert facts["settings"]["tokenizer"] == "str.split"


def measured(layer, losses, times=(1.0, 10.0, 100.0), **more):
    curve = tuple(Point(seconds, 7, loss) for seconds, loss in zip(times, losses, strict=True))
    return Measured(layer=layer, spec=layer, curve=curve, **more)


def test_when_a_loss_is_reached():
    curve = measured("a", (6.0, 5.0, 3.0))
    assert curve.seconds_to(6.5) == curve.seconds_to(6.0) == 1.0
    assert curve.seconds_to(5.0) == pytest.approx(10)
    assert curve.seconds_to(5.5) == pytest.approx(math.sqrt(10))
    assert curve.seconds_to(3.0) == pytest.approx(100)
    assert math.isnan(curve.seconds_to(2.9))
    assert measured("b", (6.0, 7.0, 5.0)).seconds_to(6.0) == 1.0  # the first time counts
    assert math.isnan(Measured(layer="c").seconds_to(1.0))
    assert math.isnan(Measured(layer="c").pairs_per_second)


def test_without_the_full_softmax_nothing_is_measured_by_it(planted):
    found = compare_outputs(planted, ["negative"], settings=Settings(**SHORT, lr=0.05))
    assert found.to_full == {}


def compared(*layers):
    numbers = {
        "words": 10,
        "vocabulary": 10,
        "held_out_words": 10,
        "curve_words": 10,
        "unigram_perplexity": 900.0,
    }
    return Comparison(
        settings=Settings(seconds=60.0), layers=layers, curve_unigram_perplexity=math.exp(5.0), **numbers
    )


def test_a_softmax_that_learned_nothing_is_no_measure():
    other = measured("nce", (6.0, 5.0, 3.0), result=RESULT)
    for last, learned in ((5.2, False), (4.996, False), (4.99, True)):
        found = compared(measured("softmax", (6.0, 5.5, last), result=RESULT), other)
        assert (found.full, bool(found.to_full)) == ("softmax", learned)


def test_the_first_softmax_of_the_table_is_the_measure():
    worse = measured("softmax", (6.0, 5.0, 4.0), result=replace(RESULT, cross_entropy=6.5))
    found = compared(worse, measured("softmax:bias=true", (6.0, 5.0, 3.0), result=RESULT))
    assert found.full == "softmax:bias=true"
    assert found.to_full["softmax:bias=true"] == pytest.approx(100)
    assert math.isnan(found.to_full["softmax"])
    assert replace(found, interrupted=True).full == found.full


def test_layers_are_checked_before_the_text_is_read(planted):
    negative = parse_output("negative")
    assert chosen_layers("negative") == {"negative": negative}
    assert chosen_layers(negative) == {negative.spec(): negative}
    assert chosen_layers(name for name in ("negative",)) == {"negative": negative}
    for wrong in ([None], None, [3]):
        with pytest.raises(ConfigError, match="must be an output layer or its spec"):
            compare_outputs(planted, wrong)
    for spec in ("class_based:classes=file:a", "hierarchical:tree=file:a", "nce:noise=file:a"):
        with pytest.raises(ConfigError, match="=file:a: the file belongs to the ids of another vocabulary"):
            chosen_layers(["softmax", spec])


def test_all_layers_by_default():
    layers = chosen_layers()
    assert list(layers)[0] == "softmax"
    assert layers.keys() == LAYERS.keys()
    assert all(getattr(layer, "bias", True) for layer in layers.values())
    given = parse_output("nce:k=5")
    assert chosen_layers(["negative", given]) == {"negative": parse_output("negative"), given.spec(): given}
    with pytest.raises(ConfigError, match="give each layer once"):
        chosen_layers(["negative", "negative"])
    with pytest.raises(ConfigError, match="there is no layer 'nonsense'"):
        chosen_layers(["nonsense"])


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"model": "glove"}, "model='glove'"),
        ({"engine": "gpu"}, "engine='gpu'"),
        ({"seconds": 0}, "seconds=0"),
        ({"held_out": 0}, "held_out=0"),
        ({"held_out": 0.9}, "held_out=0.9"),
        ({"held_out_words": 0}, "held_out_words=0"),
        ({"lr": 0}, "lr=0"),
        ({"dim": 0}, "dim=0"),
        ({"threads": 0}, "threads=0"),
    ],
)
def test_wrong_settings(settings, told):
    with pytest.raises(ConfigError, match=told):
        Settings(**settings)
