"""The layers' formulas against losses and gradients of TensorFlow and PyTorch (tests/golden/README.md)."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from unhot.outputs import LAYERS, Head, parse_output

GOLDEN = Path(__file__).parents[1] / "golden"
TF = json.loads((GOLDEN / "tf_sampled_losses.json").read_text(encoding="utf-8"))
TORCH = json.loads((GOLDEN / "torch_softmax_losses.json").read_text(encoding="utf-8"))
ADAPTIVE = json.loads((GOLDEN / "torch_adaptive_softmax.json").read_text(encoding="utf-8"))["cases"]
NONE = np.array([], np.int32)


# ---- TensorFlow: sampled softmax and NCE, with the sampled ids and expected counts of the file

# nce_loss without hits that were drawn is what is called sampled_logistic here
LAYER = {
    ("sampled_softmax_loss", False): ("sampled", {"hits": "keep"}),
    ("sampled_softmax_loss", True): ("sampled", {"hits": "drop"}),
    ("nce_loss", False): ("nce", {}),
    ("nce_loss", True): ("sampled_logistic", {}),
}
ONE_TARGET = [case for case in TF["cases"] if case["num_true"] == 1]


def given_counts(name, settings, expected):
    """The layer of that name with expected counts that are told, not computed."""
    kind = type("Given", (LAYERS[name],), {"log_counts": lambda self, q: np.log(expected)})
    return kind(**settings)


def columns(case, row):
    """Every column is a word of its own: the target is 0, the sample at position i is 1 + i.

    One that TensorFlow masks is the target.
    """
    data = TF["data"][case["data"]]
    ids = np.array([data["labels"][row][0], *data["sampled_ids"]])
    expected = np.array([data["true_expected_count"][row][0], *data["sampled_expected_count"]])
    draws = np.arange(1, ids.size, dtype=np.int32)
    draws[[position for r, position in case["masked_positions"] if r == row]] = 0
    return ids, expected, draws


def test_the_cases_are_there():
    assert len(ONE_TARGET) == 20
    assert {(case["op"], case["remove_accidental_hits"]) for case in ONE_TARGET} == set(LAYER)
    assert any(case["masked_positions"] for case in ONE_TARGET)


@pytest.mark.parametrize("case", ONE_TARGET, ids=lambda case: case["name"])
def test_tensorflow_has_the_same_sampled_losses(case, gradient):
    data = {
        name: np.array(values)
        for name, values in TF["data"][case["data"]].items()
        if name in ("weights", "biases", "inputs")
    }
    grad_inputs, grad_weights, grad_biases = np.zeros((4, 5)), np.zeros((12, 5)), np.zeros(12)
    for row, x in enumerate(data["inputs"]):
        ids, expected, draws = columns(case, row)
        layer = given_counts(*LAYER[case["op"], case["remove_accidental_hits"]], expected)
        scores = data["weights"][ids] @ x + data["biases"][ids]
        loss = partial(layer.reference, target=0, draws=draws, counts=np.ones(ids.size, np.int64))

        assert loss(scores) == pytest.approx(case["loss"][row], rel=1e-10, abs=1e-10)
        slope = gradient(loss, scores)
        grad_inputs[row] = slope @ data["weights"][ids]
        np.add.at(grad_weights, ids, np.outer(slope, x))
        np.add.at(grad_biases, ids, slope)
    for name, found in (
        ("grad_inputs", grad_inputs),
        ("grad_weights", grad_weights),
        ("grad_biases", grad_biases),
    ):
        np.testing.assert_allclose(found, case[name], rtol=1e-6, atol=1e-6, err_msg=name)


# ---- PyTorch: cross entropy is the softmax, binary cross entropy over all words is one-vs-all

WEIGHTS, BIASES, INPUTS = (np.array(TORCH[name]) for name in ("weights", "biases", "inputs"))
ONE_HOT = np.eye(TORCH["V"])[TORCH["targets"]]
# name: layer, what logits are multiplied with, what each word is worth as a target
TARGETS = {
    "ce_none_sum": ("softmax", 1.0, ONE_HOT),
    "ce_label_smoothing_0.1": ("softmax", 1.0, 0.9 * ONE_HOT + 0.1 / TORCH["V"]),
    "ce_temperature_0.5": ("softmax", 2.0, ONE_HOT),
    "ce_soft_targets": ("softmax", 1.0, np.array(TORCH["soft_targets"])),
    "ce_logits_scaled_1000": ("softmax", 1000.0, ONE_HOT),
    "bce_with_logits_multi_hot": ("one_vs_all", 1.0, np.array(TORCH["multi_hot"], np.float64)),
}


def test_the_cases_of_pytorch_are_there():
    assert {case["name"] for case in TORCH["cases"]} == set(TARGETS)


@pytest.mark.parametrize("case", TORCH["cases"], ids=lambda case: case["name"])
def test_pytorch_has_the_same_losses(case, gradient):
    """A loss is linear in what words are worth: that of one target, and differences to the others' scores."""
    name, scale, worth = TARGETS[case["name"]]
    layer, counts = parse_output(name), np.ones(TORCH["V"], np.int64)
    grad_biases = np.zeros(TORCH["V"])
    for row, x in enumerate(INPUTS):
        target, scores = int(worth[row].argmax()), scale * (WEIGHTS @ x + BIASES)
        others = worth[row] - np.eye(TORCH["V"])[target]

        def loss(s, target=target, others=others):
            return layer.reference(s, target, NONE, counts) - float(others @ s)

        assert loss(scores) == pytest.approx(case["loss"][row], rel=1e-10, abs=1e-10)
        slope = scale * gradient(loss, scores)
        np.testing.assert_allclose(slope @ WEIGHTS, case["grad_inputs"][row], rtol=1e-6, atol=1e-6)
        grad_biases += slope
    np.testing.assert_allclose(grad_biases, case["grad_biases"], rtol=1e-6, atol=1e-6)


def test_pytorch_has_the_same_smoothing(gradient):
    """The layer's own setting has the losses and gradients of `label_smoothing`."""
    (case,) = (case for case in TORCH["cases"] if case["name"] == "ce_label_smoothing_0.1")
    layer, counts = parse_output("softmax:smoothing=0.1"), np.ones(TORCH["V"], np.int64)
    grad_biases = np.zeros(TORCH["V"])
    for row, x in enumerate(INPUTS):
        loss = partial(layer.reference, target=TORCH["targets"][row], draws=NONE, counts=counts)
        scores = WEIGHTS @ x + BIASES
        assert loss(scores) == pytest.approx(case["loss"][row], rel=1e-10, abs=1e-10)
        slope = gradient(loss, scores)
        np.testing.assert_allclose(slope @ WEIGHTS, case["grad_inputs"][row], rtol=1e-6, atol=1e-6)
        grad_biases += slope
    np.testing.assert_allclose(grad_biases, case["grad_biases"], rtol=1e-6, atol=1e-6)


# ---- PyTorch: adaptive softmax, with ids in any order


class AdaptiveCase:
    """A case of the file as our layer, whose words have ids in no order of their ranks."""

    def __init__(self, case):
        words, (head, *tails) = (
            case["n_classes"],
            [case["head_weight"], *((t["output_weight"], t["projection_weight"]) for t in case["tail"])],
        )
        self.id_of = np.random.default_rng(0).permutation(words)  # by rank
        self.counts = np.empty(words, np.int64)
        self.counts[self.id_of] = 1000 - np.arange(words)
        self.layer = parse_output(
            f"adaptive:cutoffs={','.join(map(str, case['cutoffs']))},div_value={case['div_value']}"
        )
        self.tails = [tuple(map(np.array, tail)) for tail in tails]
        self.rows = np.concatenate([np.array(head), *(own @ projection for own, projection in self.tails)])
        self.bias = np.zeros(len(self.rows))
        self.bias[: len(head)] = case["head_bias_values"] or 0.0
        self.inputs, self.targets = np.array(case["inputs"]), self.id_of[case["targets"]]


def test_the_cases_of_adaptive_softmax_are_there():
    assert [len(case["tail"]) for case in ADAPTIVE] == [2, 3, 1]
    assert [case["head_bias"] for case in ADAPTIVE] == [False, True, False]


@pytest.mark.parametrize("case", ADAPTIVE, ids=lambda case: case["name"])
def test_pytorch_has_the_same_adaptive_softmax(case):
    own = AdaptiveCase(case)
    assert own.layer.widths(own.counts, case["in_features"]) == case["tail_hidden_sizes"]
    head = Head(own.layer, own.counts, own.rows, own.bias)
    np.testing.assert_allclose(head.log_prob(own.inputs)[:, own.id_of], case["log_prob"], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(head.topk(own.inputs, 1)[0][:, 0], own.id_of[case["predict"]])
    scores = head.scores(own.inputs)
    found = [own.layer.reference(s, t, NONE, own.counts) for s, t in zip(scores, own.targets, strict=True)]
    np.testing.assert_allclose(found, -np.array(case["output_log_prob_of_target"]), rtol=0, atol=1e-12)
    assert np.mean(found) == pytest.approx(case["loss"], rel=1e-12)
    np.testing.assert_allclose(
        own.layer.log_weight(scores, own.counts), head.log_prob(own.inputs), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("case", ADAPTIVE, ids=lambda case: case["name"])
def test_pytorch_has_the_same_gradients_of_adaptive_softmax(case, gradient):
    own, top = AdaptiveCase(case), len(case["head_weight"])
    scores = own.inputs @ own.rows.T + own.bias
    losses = [partial(own.layer.reference, target=t, draws=NONE, counts=own.counts) for t in own.targets]
    slope = np.array([gradient(loss, s) for loss, s in zip(losses, scores, strict=True)]) / len(losses)
    np.testing.assert_allclose(slope @ own.rows, case["grad_inputs"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(slope[:, :top].T @ own.inputs, case["grad_head_weight"], rtol=0, atol=1e-9)
    for (output, projection), expected in zip(own.tails, case["grad_tail"], strict=True):
        inside, top = slope[:, top : top + len(output)], top + len(output)
        found = {
            "output_weight": inside.T @ (own.inputs @ projection.T),
            "projection_weight": (inside @ output).T @ own.inputs,
        }
        for name, values in expected.items():
            np.testing.assert_allclose(
                found[name], 0.0 if values is None else values, rtol=0, atol=1e-9, err_msg=name
            )
