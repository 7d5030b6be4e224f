"""What all heads do alike: settings, shapes, types, files, and several processes."""

import copy
import json
import re
from pathlib import Path

import numpy as np
import pytest
from grids import SOAK

from unhot.errors import ConfigError, DataError
from unhot.outputs import LAYERS, parse_output

torch = pytest.importorskip("torch")
nn = pytest.importorskip("unhot.nn")

GOLDEN = Path(__file__).parents[1] / "golden"
COUNTS = np.array([40, 30, 20, 10, 5, 3, 2, 9, 11, 6])
DIM, BATCH = 16, 8


# every name, and settings that change what all heads do alike
HEADS = [
    *sorted(LAYERS),
    "sampled:k=20,temperature=0.5,correct=false,normalized=true",
    "in_batch:temperature=0.5,correct=false,normalized=true",
    "mixed:k=20,temperature=0.5,normalized=true,hits=drop",
]


def make(spec, **settings):
    torch.manual_seed(1)
    head = nn.OutputHead(spec, DIM, COUNTS, **settings)
    if head.layer.name == "partition":
        head.set_partition([0, 2, 5, 7])
    return head


def batch(dtype=torch.float32):
    generator = torch.Generator().manual_seed(2)
    hidden = torch.randn(BATCH, DIM, generator=generator, dtype=torch.float64).to(dtype)
    return hidden, torch.randint(len(COUNTS), (BATCH,), generator=generator)


@pytest.mark.parametrize("name", HEADS)
def test_hidden_vectors_of_any_shape(name):
    head, (hidden, target) = make(name).eval(), batch()
    torch.manual_seed(0)
    flat = head(hidden, target, reduction="none")
    torch.manual_seed(0)
    shaped = head(hidden.reshape(2, 4, DIM), target.reshape(2, 4), reduction="none")
    torch.testing.assert_close(shaped.reshape(-1), flat)
    assert head.log_prob(hidden[0]).shape == (10,)
    assert head.topk(hidden.reshape(2, 4, DIM), 3)[0].shape == (2, 4, 3)
    assert head.sample(hidden[0], 2).shape == (2,)
    assert head(hidden[:0], target[:0], reduction="sum") == 0
    assert head(hidden[0], target[0]).shape == ()
    assert head(hidden, target.int()).shape == ()


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_every_type_gives_the_same_loss_as_far_as_it_goes(name, dtype):
    """Products of half types are rounded; tables and sums are not, so the loss is as good as the scores."""
    exact = make(name).double().eval()
    other = copy.deepcopy(exact).to(dtype)
    for buffer in other.exact:
        assert getattr(other, buffer).dtype == getattr(exact, buffer).dtype
    hidden, target = batch()
    torch.manual_seed(0)
    expected = exact(hidden.double(), target)
    torch.manual_seed(0)
    found = other(hidden.to(dtype), target)
    assert found.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    torch.testing.assert_close(
        found.double(), expected, rtol=0.03 if dtype != torch.float64 else 1e-12, atol=0.03
    )
    found.backward()
    assert all(
        parameter.grad.dtype == dtype and torch.isfinite(parameter.grad).all()
        for parameter in other.parameters()
    )


@pytest.mark.parametrize("name", [*HEADS, "softmax:chunk=3"])
def test_autocast(name):
    head, (hidden, target) = make(name).eval(), batch()
    torch.manual_seed(0)
    expected = head(hidden, target)
    torch.manual_seed(0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = head(hidden, target)
    assert found.dtype == torch.float32
    assert found != expected  # it did something
    torch.testing.assert_close(found, expected, rtol=0.03, atol=0.03)
    found.backward()
    assert all(parameter.grad.dtype == torch.float32 for parameter in head.parameters())


@pytest.mark.parametrize("name", HEADS)
def test_nothing_is_left_on_another_device(name):
    """The meta device computes shapes only, and refuses to work with tensors of any other."""
    head = make(name).to("meta")
    hidden, target = (
        torch.empty(BATCH, DIM, device="meta", requires_grad=True),
        torch.empty(BATCH, dtype=torch.int64, device="meta"),
    )
    loss = head(hidden, target)
    assert loss.device.type == "meta"
    loss.backward()
    assert {parameter.grad.device.type for parameter in head.parameters()} == {"meta"}
    assert head.log_prob(hidden).shape == (BATCH, len(COUNTS))


def test_a_device_and_a_type_may_be_given_at_once():
    head = nn.OutputHead("nce", DIM, torch.from_numpy(COUNTS), device="cpu", dtype=torch.bfloat16)
    assert {parameter.dtype for parameter in head.parameters()} == {torch.bfloat16}


@pytest.mark.parametrize("name", HEADS)
def test_state_dict_is_strict_and_complete(name):
    one, other = make(name).train(), make(name)
    hidden, target = batch()
    one(hidden, target)  # streaming counters move
    for parameter in one.parameters():
        torch.nn.init.normal_(parameter)
    other.load_state_dict(one.state_dict(), strict=True)
    torch.testing.assert_close(other.log_prob(hidden), one.log_prob(hidden))
    torch.testing.assert_close(other.seen, one.seen)
    with pytest.raises(RuntimeError, match="counts: are not the counts of this head"):
        nn.OutputHead(name, DIM, COUNTS + 1).load_state_dict(one.state_dict())


@pytest.mark.parametrize("name", HEADS)
def test_what_is_learned_goes_through_effective_and_begin(name):
    one, other, (hidden, _) = make(name), make(name), batch()
    for parameter in one.parameters():
        torch.nn.init.normal_(parameter)
    if name == "adaptive":
        with pytest.raises(ConfigError, match="the rows of tails cannot be split"):
            other.begin(one.effective())
        for tail in one.tails:
            torch.nn.init.zeros_(tail)
    other.begin(one.effective())
    torch.testing.assert_close(other.log_prob(hidden), one.log_prob(hidden))


# one of each kind of head
@pytest.mark.parametrize("name", HEADS if SOAK else ["adaptive", "hierarchical", HEADS[-1]])
def test_a_graph_takes_training_and_batches_that_change(name):
    """Draws and counters inside the graph, and other sizes without breaks."""
    torch.compiler.reset()
    head = make(name).train()
    before = head.seen.clone()
    compiled = torch.compile(head, fullgraph=True, backend="aot_eager")
    for size in (5, 8, 3):
        hidden, target = torch.randn(size, DIM, requires_grad=True), torch.randint(len(COUNTS), (size,))
        compiled(hidden, target).backward()
        assert torch.isfinite(hidden.grad).all()
    assert (head.seen - before).sum() == (16 if head.seen.numel() else 0)


def test_a_graph_takes_heads_with_other_settings():
    """A number that changes from graph to graph is a symbol in the next one."""
    torch.compiler.reset()
    for spec in ("in_batch:temperature=0.5", "in_batch:temperature=0.1", "nce:k=5", "sampled:k=6"):
        compiled = torch.compile(make(spec), fullgraph=True, backend="aot_eager")
        for size in (3, 5):
            hidden, target = torch.randn(size, DIM), torch.randint(len(COUNTS), (size,))
            assert torch.isfinite(compiled(hidden, target).detach())


@pytest.mark.parametrize("name", HEADS)
def test_what_is_ignored_may_be_no_number(name):
    head, (hidden, target) = make(name).eval(), batch()
    hidden[2], target[2] = torch.nan, -100
    hidden.requires_grad_()
    head(hidden, target).backward()
    assert torch.isfinite(hidden.grad).all()
    assert all(torch.isfinite(parameter.grad).all() for parameter in head.parameters())


@pytest.mark.parametrize("name", HEADS)
def test_the_exact_loss_of_validation(name, monkeypatch):
    head, (hidden, target) = make(name), batch()
    own = -head.log_prob(hidden).gather(1, target[:, None])[:, 0].detach()
    monkeypatch.setattr("unhot.nn.head.AT_ONCE", 3 * head.width())  # three examples at a time
    for mode in (head.train(), head.eval()):
        torch.testing.assert_close(mode.nll(hidden, target), own.mean())
    assert not head.nll(hidden, target).requires_grad
    shaped = head.nll(hidden.reshape(2, 4, DIM), target.reshape(2, 4), reduction="none")
    torch.testing.assert_close(shaped.reshape(-1), own)
    both = torch.tensor([[1, 3]])  # two true classes
    torch.testing.assert_close(head.nll(hidden[:1], both), -head.log_prob(hidden[0])[both[0]].sum().detach())
    target[2] = -100
    known = torch.arange(BATCH) != 2
    torch.testing.assert_close(head.nll(hidden, target), own[known].mean())
    torch.testing.assert_close(head.nll(hidden, target, reduction="sum"), own[known].sum())
    assert head.nll(hidden[:0], target[:0], reduction="sum") == 0
    with pytest.raises(DataError, match="target: id 10: must be between 0 and 9"):
        head.nll(hidden[:1], torch.tensor([10]))


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_a_wrong_target_is_named(name):
    hidden, target = batch()
    for wrong in (-1, 10):
        target[-1] = wrong
        with pytest.raises(DataError, match=f"target: id {wrong}: must be between 0 and 9"):
            make(name)(hidden, target)


def test_a_wrong_id_in_a_graph_is_named():
    """A compiled kernel that meets it in a thread would end the process."""
    torch.compiler.reset()
    compiled = torch.compile(make("sampled:k=5"), fullgraph=True, backend="aot_eager")
    hidden, target = batch()
    draws = torch.arange(5)
    compiled(hidden, target, draws=draws)
    for name, ids in (("target", target), ("draws", draws)):
        ids[-1] = 10
        with pytest.raises(DataError, match=f"{name}: id 10: must be between 0 and 9"):
            compiled(hidden, target, draws=draws)
        ids[-1] = 0


def test_as_many_draws_as_there_are_words():
    many = nn.OutputHead("sampled:k=5000", 4, 5000)
    assert many(torch.zeros(2, 4), torch.tensor([1, 2])).isfinite()
    with pytest.raises(ConfigError, match="sampled:k=5001: must be <= 5000"):
        nn.OutputHead("sampled:k=5001", 4, 5000)


@pytest.mark.parametrize("name", sorted(set(LAYERS) - {"in_batch", "mixed"}))
def test_no_true_class_at_all_costs_nothing(name):
    head, (hidden, _) = make(name), batch()
    losses = head(hidden, torch.zeros(BATCH, 0, dtype=torch.int64), reduction="none")
    assert losses.tolist() == [0.0] * BATCH


@pytest.mark.parametrize("name", ["class_based", "adaptive", "sampled", "hierarchical"])
def test_autocast_with_sparse_gradients(name):
    head, (hidden, target) = make(name, sparse=True), batch()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        head(hidden, target).backward()
    assert head.weight.grad.is_sparse
    assert head.weight.grad.dtype == torch.float32


def test_a_tied_head_goes_where_its_weight_is():
    weight = torch.nn.Parameter(torch.zeros(len(COUNTS), DIM, dtype=torch.float64))
    head = nn.OutputHead("nce", DIM, COUNTS, weight=weight)
    assert head.bias.dtype == torch.float64
    assert set(head.state_dict()) == {"weight", "bias", "counts", "seen"}
    assert [name for name, _ in head.named_parameters()] == ["weight", "bias"]
    with pytest.raises(ConfigError, match="the head takes those of its weight"):
        nn.OutputHead("nce", DIM, COUNTS, weight=weight, dtype=torch.float32)


def test_rows_to_begin_with_must_fit():
    head = make("nce")
    with pytest.raises(DataError, match=r"out_vectors of shape \(1, 16\)"):
        head.begin(nn.OutputRows(torch.zeros(1, DIM), None, None))
    with pytest.raises(DataError, match="this head has no biases"):
        make("nce:bias=false").begin(nn.OutputRows(torch.zeros(10, DIM), torch.zeros(10), None))


def test_a_very_cold_sample_is_the_best_word():
    head, (hidden, _) = make("softmax"), batch()
    assert head.sample(hidden, temperature=1e-300)[:, 0].tolist() == head.topk(hidden, 1)[0][:, 0].tolist()


def test_a_tied_weight_is_one_parameter():
    embedding = torch.nn.Embedding(len(COUNTS), DIM)
    before = embedding.weight.clone()
    head = nn.OutputHead("sampled:k=4", DIM, COUNTS, weight=embedding.weight)
    assert head.weight is embedding.weight
    torch.testing.assert_close(embedding.weight, before)  # it keeps what it has learned
    model = torch.nn.ModuleList([embedding, head])
    assert sum(parameter.numel() for parameter in model.parameters()) == len(COUNTS) * (DIM + 1)
    head(*batch()).backward()
    assert embedding.weight.grad is not None
    assert "tied" in repr(head)


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_tying_is_refused_with_the_reason(name):
    weight = torch.nn.Parameter(torch.zeros(len(COUNTS), DIM))
    if parse_output(name).rows_are_words and name != "differentiated":
        nn.OutputHead(name, DIM, COUNTS, weight=weight)
        with pytest.raises(ConfigError, match=re.escape("must be a Parameter [words, dim] = [10, 16]")):
            nn.OutputHead(name, DIM, COUNTS, weight=torch.nn.Parameter(torch.zeros(3, DIM)))
        return
    with pytest.raises(ConfigError, match="cannot share an embedding's"):
        nn.OutputHead(name, DIM, COUNTS, weight=weight)


def test_bias_is_what_the_spec_or_the_paper_says():
    assert nn.OutputHead("softmax", DIM, COUNTS).bias is not None
    assert nn.OutputHead("softmax:bias=false", DIM, COUNTS).bias is None
    assert nn.OutputHead("negative", DIM, COUNTS).bias is None
    assert nn.OutputHead("negative", DIM, COUNTS, bias=True).bias is not None
    assert nn.OutputHead(parse_output("softmax"), DIM, COUNTS).bias is None
    head = nn.OutputHead("softmax", DIM, COUNTS)
    np.testing.assert_allclose(
        head.log_prob(torch.zeros(DIM)).exp().detach(), COUNTS / COUNTS.sum(), rtol=1e-5
    )


def test_compiled_sparse_gradients_are_refused():
    head = nn.OutputHead("nce", DIM, COUNTS, sparse=True)
    torch.compiler.reset()
    with pytest.raises(Exception, match="torch.compile has no sparse gradients"):
        torch.compile(head, fullgraph=True, backend="aot_eager")(*batch())


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda h, x, t: h(x[:, :3], t), "must end with dim = 16"),
        (lambda h, x, t: h(x, t[:3]), "target of shape [3]: must be [8], or [8, true] for several"),
        (lambda h, x, t: h(x.numpy(), t), "hidden of type ndarray: must be a tensor"),
        (lambda h, x, t: h(x, t.tolist()), "target of type list: must be a tensor"),
        (lambda h, x, t: h(x, t.float()), "must be whole numbers"),
        (lambda h, x, t: h(x, t + 10), "must be between 0 and 9"),
        (lambda h, x, t: h(x, t, draws=torch.tensor([1.5, 2.0])), "draws of type torch.float32"),
        (lambda h, x, t: h(x, t, draws=torch.tensor([3, 99])), "draws: id 99: must be between 0 and 9"),
        (lambda h, x, t: h(x, t, draws=torch.zeros(3, 2, dtype=torch.int64)), "must be [k], or [8, k]"),
        (lambda h, x, t: h(x, t, in_bias=torch.zeros(BATCH)), "takes none; leave it out"),
        (lambda h, x, t: h(x, t, reduction="median"), "reduction='median': must be one of mean, sum, none"),
        (lambda h, x, t: h.topk(x, 11), "k=11: must be <= 10"),
        (lambda h, x, t: h.sample(x, temperature=-1), "temperature=-1"),
    ],
)
def test_nonsense_is_named(call, told):
    with pytest.raises((ConfigError, DataError), match=re.escape(told)):
        call(make("nce"), *batch())


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"counts": []}, "one for each word"),
        ({"counts": [1, -1]}, "numbers >= 0"),
        ({"counts": 0}, "counts=0: must be >= 1"),
        ({"counts": 10.0}, "counts=10.0: must be a whole number"),
        ({"counts": True}, "counts=True: must be a whole number"),
        ({"counts": 2**31}, "counts=2147483648: must be <= 2147483647"),
        ({"counts": [1.5, 2]}, "whole numbers"),
        ({"counts": [1e30, 2]}, "less than 2**63"),
        ({"dim": 0}, "dim=0"),
        ({"share": "all"}, "share='all'"),
        ({"label_smoothing": 0.1}, "label_smoothing=0.1: nce has no label smoothing"),
        ({"spec": "softmax", "label_smoothing": 1.5}, "between 0 and 1"),
        ({"spec": "softmax", "sparse": True}, "sparse=True: softmax scores all words"),
        ({"spec": "nothing"}, "there is no layer 'nothing'"),
    ],
)
def test_settings_that_do_not_fit_are_named(settings, told):
    with pytest.raises(ConfigError, match=re.escape(told)):
        nn.OutputHead(**{"spec": "nce", "dim": DIM, "counts": COUNTS, **settings})


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_a_number_of_words_means_equal_counts(name):
    hidden, target = batch()
    heads = []
    for counts in (10, np.int64(10), torch.tensor(10), np.ones(10, np.int64)):
        torch.manual_seed(1)
        head = nn.OutputHead(name, DIM, counts)
        if name == "partition":
            head.set_partition([0, 2, 5, 7])
        heads.append((head, float(head(hidden, target).detach())))
    (first, loss), *others = heads
    assert first.words == 10
    for head, other in others:
        assert other == loss
        assert all(torch.equal(one, head.state_dict()[key]) for key, one in first.state_dict().items())
    np.testing.assert_allclose(first.log_prob(hidden).exp().sum(dim=-1).detach(), 1.0, atol=1e-5)
    fresh = nn.OutputHead(name, DIM, 10)
    fresh.load_state_dict(first.state_dict())
    torch.testing.assert_close(fresh.log_prob(hidden), first.log_prob(hidden))
    with pytest.raises(RuntimeError, match="counts: are not the counts of this head"):
        make(name).load_state_dict(first.state_dict())


def test_equal_counts_make_balanced_tables():
    assert set(nn.OutputHead("hierarchical", DIM, 16).start.diff().tolist()) == {4}
    assert set(nn.OutputHead("class_based:classes=4", DIM, 16).size.tolist()) == {4}
    q = nn.OutputHead("sampled:unique=true,k=3", DIM, 16).q
    np.testing.assert_allclose(q, 1 / 16, rtol=1e-12)
    # equal counts rank words by id, as torch's adaptive softmax does
    assert nn.OutputHead("adaptive:cutoffs=4,8", DIM, 16).order.tolist() == list(range(16))


@pytest.mark.parametrize("spec", ["nce", "sampled", "sampled_logistic", "sampled:k=9,unique=true"])
def test_words_without_a_count_are_named_with_what_to_do(spec):
    counts = np.array([0, 0, *COUNTS])
    told = (
        f"{spec.split(':')[0]}:noise=unigram: 2 of 12 words have the count 0 (ids 0, 1) and are never drawn"
    )
    with pytest.raises(ConfigError, match=re.escape(told) + ".*counts.clip\\(1\\).*noise=uniform"):
        nn.OutputHead(spec, DIM, counts)
    with pytest.raises(ConfigError, match="ids 0, 1, 2, 3, 4, ...\\)"):
        nn.OutputHead(spec, DIM, np.array([0] * 9 + [5]))
    nn.OutputHead(spec, DIM, counts.clip(1))
    nn.OutputHead(spec, DIM, torch.from_numpy(counts).clip(1))


@pytest.mark.parametrize("name", sorted(set(LAYERS) - {"nce", "sampled", "sampled_logistic"}))
def test_other_layers_take_words_without_a_count(name):
    head = nn.OutputHead(name, DIM, np.array([0, 0, *COUNTS]))
    assert torch.isfinite(head.log_prob(batch()[0])).all()


@pytest.mark.parametrize(
    "spec", ["negative", "nce", "sampled:k=4", "hierarchical", "class_based", "adaptive"]
)
def test_sparse_adam_trains_the_rows_and_adamw_the_rest(spec):
    """Sparse gradients have the rows of `weight`, and for adaptive those of the tails."""
    torch.manual_seed(1)
    head, (hidden, target) = nn.OutputHead(spec, DIM, 40, sparse=True), batch()
    body = torch.nn.Linear(DIM, DIM)
    rows = [head.weight, *getattr(head, "tails", ())]
    rest = [p for p in [*body.parameters(), *head.parameters()] if all(p is not row for row in rows)]
    optimizers = [torch.optim.SparseAdam(rows, lr=0.02), torch.optim.AdamW(rest, lr=0.02)]

    def held_out():
        with torch.no_grad():
            return -float(head.log_prob(body(hidden)).gather(1, target[:, None]).mean())

    before = held_out()
    for _ in range(60):
        for optimizer in optimizers:
            optimizer.zero_grad()
        head(body(hidden), target).backward()
        assert all(row.grad.is_sparse for row in rows)
        for optimizer in optimizers:
            optimizer.step()
    assert held_out() < 0.6 * before


def test_a_part_must_be_set_and_fit():
    head = nn.OutputHead("partition:size=3", DIM, COUNTS)
    with pytest.raises(DataError, match="call set_partition"):
        head(*batch())
    with pytest.raises(ConfigError, match="must have at most 3"):
        head.set_partition([0, 1, 2, 3])
    with pytest.raises(DataError, match="ids must be 0 to 9"):
        head.set_partition([0, 10])


def test_a_layer_of_ones_own_needs_a_head_of_its_own():
    class Mine(LAYERS["softmax"].__mro__[1]):
        name = "mine"

    with pytest.raises(ConfigError, match="mine: has no torch module; register one with unhot.nn.head_for"):
        nn.OutputHead(Mine(), DIM, COUNTS)


# ---- values of other libraries


@pytest.mark.parametrize("chunk", [0, 7, 4096])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize(("name", "smoothing"), [("ce_none_sum", 0.0), ("ce_label_smoothing_0.1", 0.1)])
def test_softmax_is_pytorchs_cross_entropy(name, smoothing, chunk, reduction):
    given = json.loads((GOLDEN / "torch_softmax_losses.json").read_text(encoding="utf-8"))
    case = next(case for case in given["cases"] if case["name"] == name)
    settings = {"label_smoothing": smoothing, "bias": True, "dtype": torch.float64}
    head = nn.OutputHead(
        f"softmax:chunk={chunk}", len(given["weights"][0]), np.ones(given["V"], np.int64), **settings
    )
    rows = (torch.tensor(given[name], dtype=torch.float64) for name in ("weights", "biases"))
    head.begin(nn.OutputRows(*rows, None))
    inputs = torch.tensor(given["inputs"], dtype=torch.float64, requires_grad=True)
    loss = head(inputs, torch.tensor(given["targets"]), reduction=reduction)
    parts = 1 if reduction != "mean" else len(case["loss"])
    expected = case["loss"] if reduction == "none" else np.sum(case["loss"]) / parts
    np.testing.assert_allclose(loss.detach(), expected, rtol=1e-10)
    loss.sum().backward()
    np.testing.assert_allclose(parts * inputs.grad, case["grad_inputs"], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(parts * head.bias.grad, case["grad_biases"], rtol=1e-9, atol=1e-10)
    scores = torch.nn.functional.linear(inputs, head.weight, head.bias)
    plain = torch.nn.functional.cross_entropy(
        scores, torch.tensor(given["targets"]), reduction="sum", label_smoothing=smoothing
    )
    torch.testing.assert_close(
        parts * head.weight.grad, torch.autograd.grad(plain, head.weight)[0], rtol=1e-9, atol=1e-10
    )


ADAPTIVE = json.loads((GOLDEN / "torch_adaptive_softmax.json").read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("case", ADAPTIVE, ids=lambda case: case["name"])
@pytest.mark.parametrize("sparse", [False, True])
def test_adaptive_is_pytorchs_own(case, sparse):
    words, dim = case["n_classes"], case["in_features"]
    bias = case["head_bias_values"]
    spec = f"adaptive:cutoffs={','.join(map(str, case['cutoffs']))},div_value={case['div_value']}"
    head = nn.OutputHead(
        spec, dim, np.arange(words, 0, -1), bias=bias is not None, dtype=torch.float64, sparse=sparse
    )
    with torch.no_grad():
        head.weight.copy_(torch.tensor(case["head_weight"], dtype=torch.float64))
        if bias is not None:
            head.bias.copy_(torch.tensor(bias, dtype=torch.float64))
        for j, tail in enumerate(case["tail"]):
            head.projections[j].copy_(torch.tensor(tail["projection_weight"], dtype=torch.float64))
            head.tails[j].copy_(torch.tensor(tail["output_weight"], dtype=torch.float64))
    hidden = torch.tensor(case["inputs"], dtype=torch.float64, requires_grad=True)
    target = torch.tensor(case["targets"])
    loss = head(hidden, target)
    assert float(loss.detach()) == pytest.approx(case["loss"], rel=1e-10)
    np.testing.assert_allclose(
        -head(hidden, target, reduction="none").detach(), case["output_log_prob_of_target"], rtol=1e-10
    )
    np.testing.assert_allclose(head.log_prob(hidden).detach(), case["log_prob"], rtol=1e-10, atol=1e-10)
    assert head.topk(hidden, 1)[0][:, 0].tolist() == case["predict"]
    loss.backward()
    np.testing.assert_allclose(hidden.grad, case["grad_inputs"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(head.weight.grad.to_dense(), case["grad_head_weight"], rtol=1e-9, atol=1e-12)
