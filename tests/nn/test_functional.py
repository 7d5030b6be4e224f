"""The functional losses against TensorFlow's values, finite differences, each other and nonsense.

The values are explained in tests/golden/README.md.
"""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError, DataError
from unhot.nn import functional as F
from unhot.nn.functional import (
    Candidates,
    compute_accidental_hits,
    hierarchical_softmax_loss,
    log_uniform,
    nce_loss,
    negative_sampling_loss,
    sampled_softmax_loss,
    tree_paths,
)
from unhot.outputs import parse_output
from unhot.tree.huffman import huffman
from unhot.tree.paths import balanced

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "tf_sampled_losses.json").read_text(encoding="utf-8")
)
DATA, CASES = GOLDEN["data"], GOLDEN["cases"]
CLASSES, DIM = GOLDEN["num_classes"], GOLDEN["dim"]
LOSSES = (sampled_softmax_loss, nce_loss, negative_sampling_loss)


def tensors(name, dtype=torch.float64):
    """weights, biases, labels, inputs and sampled values of the file."""
    data = DATA[name]
    weights, biases, inputs, true, sampled = (
        torch.tensor(data[key], dtype=dtype)
        for key in ("weights", "biases", "inputs", "true_expected_count", "sampled_expected_count")
    )
    for tensor in (weights, biases, inputs, true, sampled):
        tensor.requires_grad_()
    return (
        weights,
        biases,
        torch.tensor(data["labels"]),
        inputs,
        Candidates(torch.tensor(data["sampled_ids"]), true, sampled),
    )


def golden_loss(case, **more):
    weights, biases, labels, inputs, drawn = tensors(case["data"])
    op = getattr(F, case["op"])
    loss = op(
        weights,
        biases,
        labels,
        inputs,
        6,
        CLASSES,
        case["num_true"],
        drawn,
        case["remove_accidental_hits"],
        **more,
    )
    return loss, weights, biases, inputs, drawn


# ---- TensorFlow's values


def test_the_cases_are_there():
    assert len(CASES) == 32
    assert {case["num_true"] for case in CASES} == {1, 3}
    assert sum(bool(case["masked_positions"]) for case in CASES) >= 10


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_losses_and_gradients_are_those_of_tensorflow(case, sparse):
    loss, weights, biases, inputs, drawn = golden_loss(case, sparse=sparse)
    np.testing.assert_allclose(loss.detach(), case["loss"], rtol=1e-10, atol=1e-10)
    loss.sum().backward()
    assert weights.grad.is_sparse == biases.grad.is_sparse == sparse
    np.testing.assert_allclose(inputs.grad, case["grad_inputs"], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(weights.grad.to_dense(), case["grad_weights"], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(biases.grad.to_dense(), case["grad_biases"], rtol=1e-10, atol=1e-10)
    assert drawn.true_expected_count.grad is None
    assert drawn.sampled_expected_count.grad is None


@pytest.mark.parametrize("name", DATA)
def test_accidental_hits_are_those_of_tensorflow(name):
    _, _, labels, _, drawn = tensors(name)
    expected = DATA[name]["tf_compute_accidental_hits"]
    hits = compute_accidental_hits(labels, drawn.sampled_candidates, labels.shape[1])
    assert hits.indices.tolist() == expected["indices"]
    assert hits.ids.tolist() == expected["ids"]
    assert set(hits.weights.tolist()) == set(expected["weight"])
    assert hits.weights.dtype == torch.float32


def test_parameters_have_tensorflows_names_order_and_defaults():
    names = [
        "weights",
        "biases",
        "labels",
        "inputs",
        "num_sampled",
        "num_classes",
        "num_true",
        "sampled_values",
        "remove_accidental_hits",
    ]
    for loss, removed in zip(LOSSES, (True, False, True), strict=True):
        parameters = inspect.signature(loss).parameters
        assert list(parameters) == [*names, "seed", "sparse"]
        assert parameters["num_true"].default == 1
        assert parameters["sampled_values"].default is None
        assert parameters["remove_accidental_hits"].default is removed


# ---- what the losses are


def test_a_removed_draw_is_as_good_as_not_drawn():
    """Loss and gradient are the same as without the column, also where the score is huge."""
    weights, biases, labels, inputs, _ = tensors("t1_large_logits")
    one, label = slice(0, 1), labels[:1]
    ids = torch.tensor([int(label), 1, 2])
    rest = ids[1:]

    def loss(ids, removed):
        c = torch.full(ids.shape, 0.3)
        found = sampled_softmax_loss(
            100 * weights, biases, label, inputs[one], len(ids), CLASSES, 1, (ids, c[:1, None], c), removed
        )
        return found, torch.autograd.grad(found.sum(), (weights, inputs))

    (with_hit, grads), (without, rest_grads) = loss(ids, True), loss(rest, False)
    torch.testing.assert_close(with_hit, without, rtol=0, atol=0)
    for found, expected in zip(grads, rest_grads, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    assert torch.isfinite(loss(torch.full((3,), int(label)), True)[0])


def test_all_classes_sampled_and_hits_removed_is_the_full_softmax():
    weights, biases, labels, inputs, _ = tensors("t1_hits")
    found = sampled_softmax_loss(
        weights, biases, labels, inputs, CLASSES, CLASSES, sampled_values=F.all(labels, 1, CLASSES, True)
    )
    torch.testing.assert_close(
        found, torch.nn.functional.cross_entropy(inputs @ weights.T + biases, labels[:, 0], reduction="none")
    )


@pytest.mark.parametrize("removed", [True, False])
def test_negative_sampling_is_the_formula_of_the_layer(removed):
    weights, biases, labels, inputs, drawn = tensors("t1_duplicate_samples")
    found = negative_sampling_loss(
        weights, biases, labels, inputs, 6, CLASSES, sampled_values=drawn, remove_accidental_hits=removed
    )
    layer, scores = (
        parse_output(f"negative:k=6,hits={'drop' if removed else 'keep'}"),
        (inputs @ weights.T + biases).detach().numpy(),
    )
    ids, counts = drawn.sampled_candidates.numpy().astype(np.int32), np.ones(CLASSES, np.int64)
    expected = [layer.reference(s, int(y), ids, counts) for s, y in zip(scores, labels, strict=True)]
    np.testing.assert_allclose(found.detach(), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["t3_hits", "t3_duplicate_labels", "t3_no_hits"])
@pytest.mark.parametrize("removed", [True, False])
def test_negative_sampling_is_nce_without_counts(name, removed):
    weights, biases, labels, inputs, drawn = tensors(name)
    ones = Candidates(drawn.sampled_candidates, torch.ones(labels.shape), torch.ones(6))
    arguments = (weights, biases, labels, inputs, 6, CLASSES, 3, ones, removed)
    torch.testing.assert_close(negative_sampling_loss(*arguments), nce_loss(*arguments))


@pytest.mark.parametrize("make", [huffman, balanced])
def test_the_tree_sums_to_one_and_is_the_layer(make):
    rng = torch.Generator().manual_seed(1)
    counts = np.arange(1, 14)[::-1].copy()
    tree = make(counts)
    weights, biases = (torch.randn(*shape, generator=rng, dtype=torch.float64) for shape in ((12, 4), (12,)))
    inputs = torch.randn(1, 4, generator=rng, dtype=torch.float64).expand(13, 4)
    loss = hierarchical_softmax_loss(weights, biases, torch.arange(13), inputs, tree)
    assert torch.exp(-loss).sum().item() == pytest.approx(1.0, abs=1e-12)
    layer, scores = (
        parse_output("hierarchical" if make is huffman else "hierarchical:tree=balanced"),
        inputs[0] @ weights.T + biases,
    )
    expected = [layer.reference(scores.numpy(), word, np.zeros(0, np.int32), counts) for word in range(13)]
    np.testing.assert_allclose(loss, expected, rtol=1e-12)
    several = hierarchical_softmax_loss(
        weights, biases, torch.tensor([[0, 5, 12]]), inputs[:1], tree_paths(tree)
    )
    torch.testing.assert_close(several, loss[[0, 5, 12]].mean(0, keepdim=True))


def test_a_tree_of_one_class_has_nothing_to_decide():
    weights = torch.randn(1, 3, requires_grad=True)
    loss = hierarchical_softmax_loss(
        weights, None, torch.zeros(2, dtype=torch.int64), torch.randn(2, 3), huffman([7])
    )
    loss.sum().backward()
    assert loss.tolist() == [0.0, 0.0]


def test_without_biases_they_are_zero():
    weights, biases, labels, inputs, drawn = tensors("t3_hits")
    for loss in LOSSES:
        with_zeros = loss(weights, torch.zeros_like(biases), labels, inputs, 6, CLASSES, 3, drawn)
        torch.testing.assert_close(loss(weights, None, labels, inputs, 6, CLASSES, 3, drawn), with_zeros)


@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_are_differences(loss, removed):
    for name in ("t1_duplicate_samples", "t3_duplicate_labels"):
        weights, biases, labels, inputs, drawn = tensors(name)

        def of(w, b, x, labels=labels, drawn=drawn):
            return loss(w, b, labels, x, 6, CLASSES, labels.shape[1], drawn, removed)

        assert torch.autograd.gradcheck(of, (weights, biases, inputs), fast_mode=True)


def test_gradients_of_the_tree_are_differences():
    weights, biases, labels, inputs, _ = tensors("t3_hits")
    tree = huffman(np.arange(1, CLASSES + 2))
    assert torch.autograd.gradcheck(
        lambda w, b, x: hierarchical_softmax_loss(w, b, labels, x, tree),
        (weights, biases, inputs),
        fast_mode=True,
    )


# ---- draws of the losses' own


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("loss", LOSSES)
def test_without_sampled_values_log_uniform_draws(loss, dtype):
    weights, biases, labels, inputs, _ = tensors("t3_hits", dtype)
    found = loss(weights, biases, labels, inputs, 5, CLASSES, 3, seed=4)
    drawn = log_uniform(
        labels,
        3,
        5,
        loss is not negative_sampling_loss,
        CLASSES,
        seed=4,
        dtype=torch.promote_types(dtype, torch.float32),
    )
    torch.testing.assert_close(found, loss(weights, biases, labels, inputs, 5, CLASSES, 3, drawn))
    assert found.dtype == drawn.true_expected_count.dtype
    found.sum().backward()
    assert torch.isfinite(weights.grad).all()


def test_draws_follow_the_seed():
    weights, biases, labels, inputs, _ = tensors("t1_hits")
    arguments = (weights, biases, labels, inputs, 5, CLASSES)
    assert torch.equal(nce_loss(*arguments, seed=1), nce_loss(*arguments, seed=1))
    assert not torch.equal(nce_loss(*arguments, seed=1), nce_loss(*arguments, seed=2))
    goes_on = torch.Generator().manual_seed(1)
    first, second = (nce_loss(*arguments, seed=goes_on) for _ in range(2))
    assert torch.equal(first, nce_loss(*arguments, seed=1))
    assert not torch.equal(first, second)
    assert not torch.equal(nce_loss(*arguments), nce_loss(*arguments))


@given(st.data())
def test_hits_are_found_as_by_comparing_all_with_all(data):
    small = st.integers(0, 6)
    num_true = data.draw(st.integers(1, 3))
    labels = data.draw(
        st.lists(st.lists(small, min_size=num_true, max_size=num_true), min_size=1, max_size=4)
    )
    sampled = data.draw(st.lists(small, min_size=0, max_size=8))
    hits = compute_accidental_hits(torch.tensor(labels), torch.tensor(sampled, dtype=torch.int64), num_true)
    last = {word: place for place, word in enumerate(sampled)}
    expected = [(row, last[word]) for row, words in enumerate(labels) for word in words if word in last]
    assert list(zip(hits.indices.tolist(), hits.ids.tolist(), strict=True)) == expected


# ---- graphs, autocast


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_one_graph(loss):
    torch._dynamo.reset()
    weights, biases, labels, inputs, drawn = tensors("t3_duplicate_labels")
    graph = torch.compile(loss, backend="aot_eager", fullgraph=True)
    for removed in (True, False):
        arguments = (weights, biases, labels, inputs, 6, CLASSES, 3, drawn, removed)
        found, expected = graph(*arguments), loss(*arguments)
        torch.testing.assert_close(found, expected)
        for ours, theirs in zip(
            *(torch.autograd.grad(of.sum(), (weights, biases, inputs)) for of in (found, expected)),
            strict=True,
        ):
            torch.testing.assert_close(ours, theirs)


def test_sparse_gradients_in_a_graph_are_refused():
    torch._dynamo.reset()
    weights, biases, labels, inputs, drawn = tensors("t1_hits")
    graph = torch.compile(sampled_softmax_loss, backend="aot_eager", fullgraph=True)
    with pytest.raises(
        torch._dynamo.exc.Unsupported, match="sparse=True: torch.compile has no sparse gradients"
    ):
        graph(weights, biases, labels, inputs, 6, CLASSES, 1, drawn, sparse=True)


def test_negative_sampling_with_its_own_draws_is_one_graph():
    torch._dynamo.reset()
    weights, biases, labels, inputs, _ = tensors("t1_hits")
    graph = torch.compile(negative_sampling_loss, backend="aot_eager", fullgraph=True)
    found = torch.stack([graph(weights, biases, labels, inputs, 5, CLASSES) for _ in range(20)])
    assert torch.isfinite(found).all()
    assert len(found.unique(dim=0)) > 1


def test_the_tree_is_one_graph():
    torch._dynamo.reset()
    weights, biases, labels, inputs, _ = tensors("t3_hits")
    tree = tree_paths(huffman(np.arange(1, CLASSES + 2)))
    graph = torch.compile(hierarchical_softmax_loss, backend="aot_eager", fullgraph=True)
    arguments = (weights, biases, labels, inputs, tree)
    torch.testing.assert_close(graph(*arguments), hierarchical_softmax_loss(*arguments))


def test_no_loss_waits_for_its_device():
    """Tensors without values can be neither read nor copied to the CPU."""
    weights, biases, labels, inputs, drawn = tensors("t3_hits")
    weights, biases, inputs = (
        tensor.detach().to("meta").requires_grad_() for tensor in (weights, biases, inputs)
    )
    labels = labels.to("meta")
    for loss in LOSSES:
        for sampled_values in (None, Candidates(*(part.detach().to("meta") for part in drawn))):
            found = loss(weights, biases, labels, inputs, 6, CLASSES, 3, sampled_values, True)
            found.sum().backward()
            assert found.shape == (4,)
            assert found.is_meta
    tree = tree_paths(huffman(np.ones(12, np.int64)), "meta")
    assert hierarchical_softmax_loss(weights, biases, labels, inputs, tree).is_meta


@pytest.mark.parametrize("loss", LOSSES)
def test_autocast(loss):
    weights, biases, labels, inputs, drawn = tensors("t1_hits", torch.float32)
    exact = loss(weights, biases, labels, inputs, 6, CLASSES, 1, drawn)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = loss(weights, biases, labels, inputs, 6, CLASSES, 1, drawn)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, exact, rtol=0.05, atol=0.05)


# ---- nonsense


def call(loss=sampled_softmax_loss, **changed):
    weights, biases, labels, inputs, drawn = tensors("t3_hits")
    given = dict(
        weights=weights,
        biases=biases,
        labels=labels,
        inputs=inputs,
        num_sampled=6,
        num_classes=CLASSES,
        num_true=3,
    )
    return loss(**{**given, "sampled_values": drawn, **changed})


_W, _B, _LABELS, _X, _DRAWN = tensors("t3_hits")
NONSENSE = {
    "labels in a row": (
        dict(labels=_LABELS[:, 0], num_true=1),
        DataError,
        r"labels of shape \(4,\).*unsqueeze",
    ),
    "another num_true": (
        dict(num_true=2),
        DataError,
        r"labels of shape \(4, 3\): must be \[batch, num_true\] with num_true=2",
    ),
    "no true class": (dict(num_true=0), ConfigError, "num_true=0"),
    "labels of floats": (dict(labels=_LABELS.double()), DataError, "must be whole numbers"),
    "a label too high": (dict(labels=_LABELS + 1), DataError, "id 12: must be between 0 and 11"),
    "a label below zero": (dict(labels=_LABELS - 1), DataError, "id -1: must be between 0 and 11"),
    "labels of another batch": (dict(labels=_LABELS[:2]), DataError, "2 examples and inputs for 4"),
    "inputs of another dim": (dict(inputs=_X[:, :2]), DataError, r"inputs of shape \(4, 2\)"),
    "inputs in a row": (dict(inputs=_X[0]), DataError, r"inputs of shape \(5,\)"),
    "weights in pieces": (dict(weights=[_W]), ConfigError, "join pieces with torch.cat"),
    "too few weights": (dict(weights=_W[:3], biases=_B[:3]), ConfigError, "at least 12 rows: num_classes"),
    "biases of another size": (dict(biases=_B[:3]), DataError, r"biases of shape \(3,\)"),
    "labels in a list": (
        dict(labels=_LABELS.tolist()),
        DataError,
        "labels of type list: must be a tensor; convert it with torch.as_tensor",
    ),
    "labels in an array": (
        dict(labels=_LABELS.numpy()),
        DataError,
        "labels of type ndarray: must be a tensor",
    ),
    "inputs in an array": (
        dict(inputs=_X.detach().numpy()),
        DataError,
        "inputs of type ndarray: must be a tensor",
    ),
    "biases in a list": (dict(biases=_B.tolist()), DataError, "biases of type list: must be a tensor"),
    "inputs of another type": (
        dict(inputs=_X.float()),
        DataError,
        "weights of type torch.float64 and inputs of type torch.float32",
    ),
    "no class": (dict(num_classes=0), ConfigError, "num_classes=0"),
    "two sampled values": (
        dict(sampled_values=_DRAWN[:2]),
        ConfigError,
        "sampled_candidates, true_expected_count, sampled_expected_count",
    ),
    "one sampled value": (dict(sampled_values=_DRAWN[0]), ConfigError, "the result of a sampler"),
    "a number of sampled values": (dict(sampled_values=3), ConfigError, "the result of a sampler"),
    "sampled ids in a list": (
        dict(sampled_values=_DRAWN._replace(sampled_candidates=_DRAWN[0].tolist())),
        DataError,
        "sampled_values: sampled_candidates of type list: must be a tensor",
    ),
    "counts in an array": (
        dict(sampled_values=_DRAWN._replace(sampled_expected_count=_DRAWN[2].detach().numpy())),
        DataError,
        "sampled_expected_count of type ndarray: must be a tensor",
    ),
    "another num_sampled": (
        dict(num_sampled=5),
        DataError,
        r"sampled_candidates of shape \(6,\): must be \(5,\)",
    ),
    "counts of another batch": (
        dict(sampled_values=_DRAWN._replace(true_expected_count=_DRAWN[1][:2])),
        DataError,
        r"true_.*must be \(4, 3\)",
    ),
    "counts of zero": (
        dict(sampled_values=_DRAWN._replace(true_expected_count=_DRAWN[1] * 0)),
        DataError,
        "a sampler that can draw every label",
    ),
    "counts of nan": (
        dict(sampled_values=_DRAWN._replace(sampled_expected_count=_DRAWN[2] * torch.nan)),
        DataError,
        "some expected counts are not above zero",
    ),
    "sampled ids of floats": (
        dict(sampled_values=_DRAWN._replace(sampled_candidates=_DRAWN[2])),
        DataError,
        "whole numbers",
    ),
    "a sampled id too high": (
        dict(sampled_values=_DRAWN._replace(sampled_candidates=_DRAWN[0] + 9)),
        DataError,
        "must be between 0 and 11",
    ),
    "more than there are": (
        dict(num_sampled=13, sampled_values=None),
        ConfigError,
        "num_sampled=13 distinct draws: must be <= 12",
    ),
    "nothing sampled": (dict(num_sampled=0, sampled_values=None), ConfigError, "num_sampled=0"),
    "nothing sampled, as given": (
        dict(num_sampled=0, sampled_values=(_DRAWN[0][:0], _DRAWN[1], _DRAWN[2][:0])),
        ConfigError,
        "num_sampled=0: must be >= 1",
    ),
    "a seed below zero": (dict(seed=-1, sampled_values=None), ConfigError, "seed=-1"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_named(name):
    changed, error, message = NONSENSE[name]
    with pytest.raises(error, match=message):
        call(**changed)


def test_negative_sampling_takes_labels_that_are_never_drawn():
    drawn = F.fixed_unigram(_LABELS, 3, 6, False, CLASSES, num_reserved_ids=9, unigrams=[3, 2, 1])
    assert torch.isfinite(call(negative_sampling_loss, sampled_values=drawn)).all()
    with pytest.raises(DataError, match="a sampler that can draw every label"):
        call(nce_loss, sampled_values=drawn)


def test_nonsense_for_trees_is_named():
    tree = huffman(np.ones(9, np.int64))
    inputs = torch.randn(2, 3)
    with pytest.raises(
        ConfigError, match="at least 8 rows: classes - 1, the inner nodes of a tree of 9 classes"
    ):
        hierarchical_softmax_loss(torch.randn(7, 3), None, torch.tensor([1, 2]), inputs, tree)
    with pytest.raises(DataError, match="id 9: must be between 0 and 8"):
        hierarchical_softmax_loss(torch.randn(8, 3), None, torch.tensor([1, 9]), inputs, tree)
    with pytest.raises(DataError, match="3 examples and inputs for 2"):
        hierarchical_softmax_loss(torch.randn(8, 3), None, torch.tensor([1, 2, 3]), inputs, tree)
    with pytest.raises(DataError, match="labels of shape"):
        hierarchical_softmax_loss(
            torch.randn(8, 3), None, torch.ones(2, 1, 1, dtype=torch.int64), inputs, tree
        )


def test_an_empty_batch_has_no_losses():
    weights, biases, labels, inputs, _ = tensors("t1_hits")
    for loss in LOSSES:
        assert loss(weights, biases, labels[:0], inputs[:0], 5, CLASSES).shape == (0,)
    assert hierarchical_softmax_loss(
        weights, biases, labels[:0], inputs[:0], huffman(np.ones(12, np.int64))
    ).shape == (0,)


def test_hits_of_lists_are_named():
    for true, sampled, name in (
        ([[1]], torch.tensor([1]), "true_classes"),
        (torch.tensor([[1]]), [1], "sampled_candidates"),
    ):
        with pytest.raises(DataError, match=f"{name} of type list: must be a tensor"):
            compute_accidental_hits(true, sampled, 1)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int32])
def test_ids_of_any_whole_type(dtype):
    drawn = _DRAWN._replace(sampled_candidates=_DRAWN[0].to(dtype))
    torch.testing.assert_close(call(labels=_LABELS.to(dtype), sampled_values=drawn), call())
    hits = compute_accidental_hits(_LABELS.to(dtype), drawn.sampled_candidates, 3)
    assert hits.ids.tolist() == compute_accidental_hits(_LABELS, _DRAWN[0], 3).ids.tolist()
    with pytest.raises(DataError, match="id 12: must be between 0 and 11"):
        call(labels=(_LABELS + 1).to(dtype))


def test_under_autocast_types_may_differ():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = call(weights=_W.float(), biases=_B.float(), inputs=_X.bfloat16())
    torch.testing.assert_close(found, call().float(), rtol=0.05, atol=0.05)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        (
            dict(labels=torch.tensor(1)),
            DataError,
            r"labels of shape \(\): must be \[batch\], or \[batch, num_true\]",
        ),
        (dict(labels=_LABELS[:, :0]), DataError, r"labels of shape \(4, 0\): must be"),
        (dict(labels=_LABELS[None]), DataError, r"labels of shape \(1, 4, 3\): must be"),
        (dict(labels=_LABELS.tolist()), DataError, "labels of type list: must be a tensor"),
        (dict(inputs=_X.tolist()), DataError, "inputs of type list: must be a tensor"),
        (dict(inputs=_X.float()), DataError, "inputs of type torch.float32: must be the same"),
        (dict(tree=None), ConfigError, "tree of type NoneType: must be a tree of unhot.tree"),
    ],
)
def test_nonsense_for_the_tree_is_named(changed, error, message):
    given = dict(weights=_W, biases=_B, labels=_LABELS, inputs=_X, tree=huffman(np.arange(1, CLASSES + 2)))
    with pytest.raises(error, match=message):
        hierarchical_softmax_loss(**{**given, **changed})


def test_a_tree_that_is_read_only_is_copied():
    """Warnings are errors here; what may be written to is shared."""
    tree = huffman(np.arange(1, 9))
    assert tree_paths(tree).node.data_ptr() == tree.node.ctypes.data
    for part in tree:
        part.flags.writeable = False
    paths = tree_paths(tree)
    assert paths.node.tolist() == tree.node.tolist()
    assert paths.node.data_ptr() != tree.node.ctypes.data


def test_a_tree_of_arrays_is_one_graph():
    """Without gradients; for them the length of the longest path must be known: `tree_paths`, as above."""
    torch._dynamo.reset()
    arguments = (_W.detach(), _B.detach(), _LABELS, _X.detach(), huffman(np.arange(1, CLASSES + 2)))
    graph = torch.compile(hierarchical_softmax_loss, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(graph(*arguments), hierarchical_softmax_loss(*arguments))
