"""Figures of labels against brute force with sets, closed forms and resampling by hand."""

import json
import math

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st

from unhot.compat.fasttext.meter import Meter
from unhot.errors import ConfigError, DataError
from unhot.evaluate.classification import LabelCounts, classification, confusion, label_lists, most_confused

LABELS = 5
NAMES = [f"label{i}" for i in range(LABELS)]
KNOWN = st.lists(st.integers(0, LABELS - 1), max_size=4)
CASES = st.lists(st.tuples(KNOWN, st.integers(0, 2), KNOWN.map(lambda ids: list(dict.fromkeys(ids)))))


def counted(truth, predicted, *more, labels=LABELS, bins=15):
    counts = LabelCounts(labels, bins)
    counts.add(label_lists(truth), label_lists(predicted), *more)
    return counts


def quotient(a, b):
    return a / b if b else math.nan


def same(found, wanted):
    assert found == pytest.approx(wanted, nan_ok=True)


@given(CASES)
@examples(150)
def test_all_figures_by_sets(cases):
    truth = [[*known, *[-1] * unknown] for known, unknown, _ in cases]
    predicted = [ids for *_, ids in cases]
    found = classification(counted(truth, predicted), NAMES, k=4, threshold=0.1)
    sets = [(set(known) | {-i for i in range(1, unknown + 1)}, set(ids)) for known, unknown, ids in cases]
    right = sum(len(t & p) for t, p in sets)
    said, true = sum(len(p) for _, p in sets), sum(len(t) for t, _ in sets)
    assert (found.examples, found.k, found.threshold) == (len(cases), 4, 0.1)
    assert found.unknown_labels == sum(unknown for _, unknown, _ in cases)
    same(found.accuracy, quotient(sum(t == p for t, p in sets), len(cases)))
    same(found.precision, quotient(right, said))
    same(found.recall, quotient(right, true))
    same(found.f1, quotient(2 * right, said + true))
    each = []
    for i, name in enumerate(NAMES):
        true, said = sum(i in t for t, _ in sets), sum(i in p for _, p in sets)
        right = sum(i in t and i in p for t, p in sets)
        if true or said:
            figures = quotient(right, said), quotient(right, true), 2 * right / (true + said)
            each.append((name, true, said, *figures))
    for one, wanted in zip(found.labels, each, strict=True):
        assert (one.label, one.examples, one.predicted) == wanted[:3]
        same((one.precision, one.recall, one.f1), wanted[3:])
    means = [quotient(sum(0 if math.isnan(row[i]) else row[i] for row in each), len(each)) for i in (3, 4, 5)]
    same([found.macro_precision, found.macro_recall, found.macro_f1], means)


@given(CASES)
def test_the_meter_can_be_expressed(cases):
    """Without labels that stand twice, and with the labels that the model knows."""
    meter, counts = Meter(), LabelCounts(LABELS)
    for known, _, predicted in cases:
        truth = sorted(set(known))
        meter.add([NAMES[i] for i in truth], [NAMES[i] for i in predicted])
        counts.add(label_lists([truth]), label_lists([predicted]))
    figures = classification(counts, NAMES)
    assert meter.examples == counts.examples
    same([figures.precision, figures.recall], [meter.precision(), meter.recall()])
    for found, figure in zip(counts.figures(), (meter.precision, meter.recall, meter.f1), strict=True):
        same(found.tolist(), [figure(name) for name in NAMES])


@given(CASES, st.integers(0, 10), st.randoms(use_true_random=False))
def test_batches_and_their_order_change_nothing(cases, cut, random):
    confidence = {id(case): random.random() for case in cases}
    whole, parts = LabelCounts(LABELS), LabelCounts(LABELS)
    mixed = random.sample(cases, len(cases))
    for counts, batches in ((whole, [cases]), (parts, [mixed[:cut], mixed[cut:]])):
        for batch in batches:
            truth = label_lists([*known, *[-1] * unknown] for known, unknown, _ in batch)
            values = [confidence[id(case)] for case in batch]
            counts.add(truth, label_lists(ids for *_, ids in batch), values, [1.5] * len(batch))
    one, other = classification(whole, NAMES).as_dict(), classification(parts, NAMES).as_dict()
    for name, value in one.items():
        if name == "reliability":
            assert [each["examples"] for each in value] == [each["examples"] for each in other[name]]
        else:
            assert other[name] == (value if not isinstance(value, float) else pytest.approx(value)), name


def test_one_label_a_line_is_plain_accuracy():
    rng = np.random.default_rng(1)
    truth, predicted = rng.integers(0, LABELS, (2, 500))
    found = classification(counted(truth[:, None].tolist(), predicted[:, None].tolist()), NAMES)
    accuracy = (truth == predicted).mean()
    assert found.accuracy == found.precision == found.recall == pytest.approx(accuracy)
    assert found.f1 == pytest.approx(accuracy)
    assert found.accuracy_interval == found.precision_interval == found.recall_interval == found.f1_interval
    half = 1.96 * math.sqrt(accuracy * (1 - accuracy) / 500)
    assert found.accuracy_interval == pytest.approx((accuracy - half, accuracy + half), abs=0.006)


def test_intervals_as_by_hand():
    rng = np.random.default_rng(2)
    truth = [rng.permutation(LABELS)[: rng.integers(1, 4)].tolist() for _ in range(80)]
    predicted = [rng.permutation(LABELS)[: rng.integers(0, 3)].tolist() for _ in range(80)]
    found = classification(counted(truth, predicted), NAMES)
    right, said, true = (
        np.array(column)
        for column in zip(
            *((len(set(t) & set(p)), len(p), len(t)) for t, p in zip(truth, predicted, strict=True)),
            strict=True,
        )
    )
    drawn = rng.integers(0, 80, (20_000, 80))
    right, said, true = (column[drawn].sum(axis=1) for column in (right, said, true))
    wanted = {"precision": right / said, "recall": right / true, "f1": 2 * right / (said + true)}
    for name, values in wanted.items():
        low, high = np.quantile(values, [0.025, 0.975])
        assert getattr(found, f"{name}_interval") == pytest.approx((low, high), abs=0.1 * (high - low)), name


def test_confidence_counts_where_there_is_a_prediction():
    truth, predicted = [[0], [1], [2], [3], [-1]], [[0, 1], [0, 1], [2], [], [4]]
    counts = counted(truth, predicted, [0.9, 0.8, 0.9, math.nan, 0.3], bins=5)
    found = classification(counts, NAMES)
    assert [each.examples for each in found.reliability] == [0, 1, 0, 0, 3]
    assert found.reliability[4].accuracy == pytest.approx(2 / 3)
    assert found.reliability[4].confidence == pytest.approx(2.6 / 3)
    assert found.expected_calibration_error == pytest.approx((0.3 + 0.6) / 4)


def test_the_mean_log_loss():
    assert math.isnan(classification(counted([[0]], [[0]]), NAMES).log_loss)
    assert classification(counted([[0], [1]], [[0], [0]], None, [0.5, 1.0]), NAMES).log_loss == 0.75


def test_plain_data_for_json():
    found = classification(counted([[0, 1], [-1]], [[0], [2]], [0.9, 0.4], [0.1, 2.0]), NAMES, k=1)
    data = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert {"examples", "accuracy", "precision", "recall", "f1", "labels", "unknown_labels"} <= set(data)
    assert (data["examples"], data["precision"], data["recall"], data["accuracy"]) == (2, 0.5, 1 / 3, 0)
    labels = {each["label"]: each for each in data["labels"]}
    assert list(labels) == NAMES[:3]
    assert labels["label1"] == {
        "label": "label1", "examples": 1, "predicted": 0, "precision": None, "recall": 0, "f1": 0
    }  # fmt: skip
    assert len(data["reliability"]) == 15
    empty = classification(LabelCounts(LABELS), NAMES).as_dict()
    assert (empty["examples"], empty["accuracy"], empty["labels"], empty["reliability"]) == (0, None, [], [])


def test_repeated_labels_count_once():
    found = classification(counted([[1, 1]], [[1]]), NAMES)
    assert (found.accuracy, found.recall, found.labels[0].examples) == (1, 1, 1)
    assert classification(counted([[-1, -1]], [[1]]), NAMES).unknown_labels == 2


@given(CASES)
def test_confusion_by_hand(cases):
    truth = [[*known, *[-1] * unknown] for known, unknown, _ in cases]
    table = np.zeros((LABELS, LABELS), int)
    for true, (*_, predicted) in zip(truth, cases, strict=True):
        if len(set(true)) == 1 and true[0] >= 0 and predicted:
            table[true[0], predicted[0]] += 1
    found = confusion(label_lists(truth), label_lists(ids for *_, ids in cases), LABELS)
    assert found.dtype == np.int64
    assert found.tolist() == table.tolist()


def test_the_most_confused():
    table = np.array([[9, 1, 0], [4, 5, 1], [0, 0, 0]])
    found = most_confused(table, ["a", "b", "c"])
    assert [(each.label, each.predicted, each.examples) for each in found] == [
        ("b", "a", 4), ("a", "b", 1), ("b", "c", 1)
    ]  # fmt: skip
    assert [each.share for each in found] == [0.4, 0.1, 0.1]
    assert most_confused(table, ["a", "b", "c"], 1) == found[:1]
    assert most_confused(np.diag([3, 4]), ["a", "b"]) == []
    assert table[0, 0] == 9


@pytest.mark.parametrize(
    ("truth", "predicted", "more", "message"),
    [
        ([[0]], [[0], [1]], {}, "1 examples, 2 with predictions"),
        ([[5]], [[0]], {}, "truth has ids from 5 to 5: must be from -1 to 4"),
        ([[0]], [[-1]], {}, "predicted has ids from -1 to -1: must be from 0 to 4"),
        ([[0]], [[0]], {"confidence": [0.5, 0.5]}, "one number for each of 1 examples"),
        ([[0]], [[0]], {"confidence": [math.nan]}, "NaN"),
        ([[0]], [[0]], {"log_loss": 3.0}, "one number for each of 1 examples"),
    ],
)
def test_bad_batches(truth, predicted, more, message):
    counts = LabelCounts(LABELS)
    with pytest.raises(DataError, match=message):
        counts.add(label_lists(truth), label_lists(predicted), **more)
    assert counts.examples == counts.by_label.sum() == 0


@pytest.mark.parametrize("starts", [[], [1, 1], [0, 2], [0, 2, 1]])
def test_bad_starts(starts):
    lists = np.array(starts, np.int64), np.array([1], np.int32)
    with pytest.raises(DataError, match="starts must rise from 0"):
        LabelCounts(LABELS).add(lists, lists)


def test_bad_settings():
    with pytest.raises(ConfigError, match="2 for 5 labels"):
        classification(LabelCounts(LABELS), ["a", "b"])
    with pytest.raises(ConfigError, match="labels"):
        LabelCounts(0)
    with pytest.raises(ConfigError, match="labels"):
        confusion(label_lists([]), label_lists([]), 1_000_000)


def test_a_million_examples():
    rng = np.random.default_rng(3)
    starts = np.arange(0, 2_000_001, 2)
    truth = starts, rng.integers(0, 50, 2_000_000).astype(np.int32)
    counts = LabelCounts(50)
    counts.add(truth, (np.arange(1_000_001), truth[1][::2].copy()), rng.random(1_000_000))
    found = classification(counts, [str(i) for i in range(50)])
    assert found.precision == found.reliability[0].accuracy == 1
    # the second label is the first with probability 1/50
    assert found.recall == pytest.approx(1 / (2 - 1 / 50), abs=0.001)
    assert found.accuracy == pytest.approx(1 / 50, abs=0.001)
    assert found.accuracy_interval[1] - found.accuracy_interval[0] < 0.001
