"""The third way: every layer as a torch module has the losses, gradients and probabilities of its formula."""

import dataclasses

import numpy as np
import pytest
from grids import SOAK, some

from unhot.errors import ConfigError
from unhot.outputs import LAYERS, Head, parse_output

torch = pytest.importorskip("torch")
nn = pytest.importorskip("unhot.nn")

DIM, BATCH = 16, 6
OF_THE_BATCH = ("in_batch", "mixed")  # layers that compare an example with the others of its batch


class Example:
    """A head in float64, a batch, and what the layer draws."""

    def __init__(self, layer, counts, seed=0, **settings):
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        self.layer, self.counts, words = layer, counts, counts.size
        self.head = nn.OutputHead(layer, DIM, counts, dtype=torch.float64, **settings)
        for parameter in self.head.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
        self.hidden = torch.randn(BATCH, DIM, dtype=torch.float64, requires_grad=True)
        self.target = torch.from_numpy(rng.integers(0, words, BATCH))
        self.call, self.draws = {}, np.zeros(0, np.int64)
        if hasattr(layer, "k"):
            unique = getattr(layer, "unique", False)
            self.draws = rng.permutation(words)[: layer.k] if unique else rng.integers(0, words, layer.k)
        elif layer.name == "partition":
            self.draws = rng.permutation(words)[: words // 2 + 1]
        if self.draws.size:
            self.call["draws"] = torch.from_numpy(self.draws)
        elif layer.name == "infrequent":
            self.call["draws"] = torch.tensor([0, 2])  # the examples with the penalty: 2 of 6
        if layer.biases().each_input:
            self.call["in_bias"] = torch.from_numpy(rng.normal(0, 1, BATCH)).requires_grad_()

    def losses(self, **call):
        return self.head(self.hidden, self.target, reduction="none", **self.call, **call)

    def scores(self):
        """By numpy: what unhot.outputs.Head makes of the head's rows."""
        scores = self.numpy_head().scores(self.hidden.detach().numpy())
        return scores + self.call["in_bias"].detach().numpy()[:, None] if "in_bias" in self.call else scores

    def numpy_head(self):
        rows = self.head.effective()
        bias = None if rows.out_bias is None else rows.out_bias.numpy()
        return Head(
            self.layer,
            self.known_counts(),
            rows.out_vectors.numpy(),
            bias,
            0.0 if rows.ln_z is None else float(rows.ln_z),
        )

    def known_counts(self):
        """Of layers that count targets: nothing yet. They begin at one by themselves."""
        return np.zeros_like(self.counts) if self.head.seen.numel() else self.counts

    def references(self):
        """Of each example, by the layer's formula."""
        layer = self.layer
        if layer.name == "infrequent":
            layer = dataclasses.replace(layer, gamma=2 / BATCH)
        return [
            layer.reference(s, int(t), self.drawn(i), self.known_counts())
            for i, (s, t) in enumerate(zip(self.scores(), self.target, strict=True))
        ]

    def drawn(self, i, own=None):
        """The draws of an example, which may have its own, and its other columns."""
        draws = self.draws if own is None else own
        if self.layer.name in OF_THE_BATCH:
            return np.append(np.delete(self.target.numpy(), i), draws)
        if self.layer.name == "infrequent":
            return np.array([0]) if i in (0, 2) else np.zeros(0, np.int64)
        return draws


@pytest.fixture
def example(build):
    def make(spec, counts, **settings):
        layer = build(spec, counts.size)
        return Example(dataclasses.replace(layer, **settings.pop("layer", {})), counts, **settings)

    return make


def test_losses_are_those_of_the_formula(every_spec, counts, example):
    for bias in (False, True):
        made = example(every_spec, counts, layer={"bias": bias})
        np.testing.assert_allclose(made.losses().detach(), made.references(), rtol=1e-10, atol=1e-10)


def test_probabilities_are_those_of_numpy(every_spec, counts, example):
    made = example(every_spec, counts, layer={"bias": True})
    hidden = made.hidden.detach()
    with torch.no_grad():
        log_prob = made.head.log_prob(hidden.reshape(2, 3, DIM))
    assert log_prob.shape == (2, 3, counts.size)
    np.testing.assert_allclose(
        log_prob.reshape(BATCH, -1), made.numpy_head().log_prob(hidden.numpy()), rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(log_prob.exp().sum(dim=-1), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        made.head.log_z(hidden).detach(), made.numpy_head().log_z(hidden.numpy()), rtol=0, atol=1e-10
    )
    for k in {1, counts.size // 2 + 1, counts.size}:
        ids, values = made.head.topk(hidden, k)
        np.testing.assert_allclose(
            values, log_prob.reshape(BATCH, -1).sort(descending=True).values[:, :k], rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(log_prob.reshape(BATCH, -1).gather(1, ids), values, rtol=0, atol=1e-12)


def test_gradients_are_those_of_finite_differences(every_spec, example):
    counts = 100 // (1 + np.arange(7)) + 1
    made = example(every_spec, counts, layer={"bias": True})
    made.head.eval()  # learned counters stand still
    inputs = [
        made.hidden,
        *made.head.parameters(),
        *([made.call["in_bias"]] if "in_bias" in made.call else []),
    ]
    assert torch.autograd.gradcheck(
        lambda *_: made.losses(), inputs, check_undefined_grad=False, fast_mode=every_spec not in LAYERS
    )
    expected = torch.autograd.grad(made.losses().sum(), inputs)
    found = torch.autograd.grad(made.head(made.hidden, made.target, reduction="sum", **made.call), inputs)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"] if SOAK else ["mean"])
def test_reductions_and_ignored_targets(every_spec, example, reduction):
    counts = 100 // (1 + np.arange(7)) + 1
    made = example(every_spec, counts)
    made.head.eval()
    if made.layer.name in (*OF_THE_BATCH, "infrequent"):
        made.call.pop("draws", None)
        torch.manual_seed(1)
    target = made.target.clone()
    target[[1, 4]] = -1
    torch.manual_seed(3)
    found = made.head(made.hidden, target, reduction=reduction, ignore_index=-1, **made.call)
    torch.manual_seed(3)
    losses = made.head(made.hidden, target, reduction="none", ignore_index=-1, **made.call)
    assert losses[[1, 4]].tolist() == [0.0, 0.0]
    if made.layer.name not in (*OF_THE_BATCH, "infrequent"):
        torch.testing.assert_close(losses[[0, 2, 3, 5]], made.losses()[[0, 2, 3, 5]])
    expected = {"mean": losses.sum() / 4, "sum": losses.sum(), "none": losses}[reduction]
    torch.testing.assert_close(found, expected)
    (gradient,) = torch.autograd.grad(found.sum(), made.hidden)
    assert not gradient[[1, 4]].any()
    everything = made.head(made.hidden, torch.full_like(target, -1), ignore_index=-1, **made.call)
    assert float(everything.detach()) == 0.0


@pytest.mark.parametrize("share", ["batch", "example"])
def test_draws_for_each_example_are_the_same_formula(share, every_spec, example):
    counts = 100 // (1 + np.arange(7)) + 1
    made = example(every_spec, counts, share=share)
    if not hasattr(made.layer, "k"):
        return
    own = torch.from_numpy(np.random.default_rng(4).integers(0, 7, (BATCH, made.layer.k)))
    made.call.pop("draws")
    expected = [
        made.layer.reference(s, int(t), made.drawn(i, d), made.known_counts())
        for i, (s, t, d) in enumerate(zip(made.scores(), made.target, own.numpy(), strict=True))
    ]
    made.head.eval()
    np.testing.assert_allclose(made.losses(draws=own).detach(), expected, rtol=1e-10, atol=1e-10)
    assert torch.isfinite(made.losses()).all()  # its own draws


def test_sparse_gradients_are_the_dense_ones(every_spec, example):
    counts = 100 // (1 + np.arange(60)) + 1
    dense = example(every_spec, counts)
    if dense.head.scores_all_words:
        with pytest.raises(ConfigError, match="sparse=True"):
            example(every_spec, counts, sparse=True)
        return
    sparse = example(every_spec, counts, sparse=True)
    sparse.head.load_state_dict(dense.head.state_dict())
    for made in (dense, sparse):
        made.losses().sum().backward()
    assert sparse.head.weight.grad.is_sparse
    for (name, one), (_, other) in zip(
        dense.head.named_parameters(), sparse.head.named_parameters(), strict=True
    ):
        torch.testing.assert_close(other.grad.to_dense(), one.grad, msg=name)
    torch.testing.assert_close(sparse.hidden.grad, dense.hidden.grad)


def test_samples_come_from_the_tempered_distribution(every_spec, example):
    counts = 100 // (1 + np.arange(7)) + 1
    made = example(every_spec, counts)
    hidden = 0.2 * made.hidden.detach()[:1]
    for temperature in (1.0, 0.5):
        p = made.head.log_prob(hidden).detach().div(temperature).softmax(dim=-1)[0].numpy()
        generator = torch.Generator().manual_seed(5)
        drawn = made.head.sample(hidden.expand(5000, DIM), 2, temperature=temperature, generator=generator)
        assert drawn.shape == (5000, 2)
        found, expected = np.bincount(drawn.reshape(-1), minlength=7), 10_000 * p
        cells = expected >= 5
        # six degrees of freedom, level 1e-6
        assert ((found - expected)[cells] ** 2 / expected[cells]).sum() < 38.26
    assert made.head.sample(hidden, 3, temperature=0).tolist() == [
        [int(made.head.log_prob(hidden).argmax())] * 3
    ]


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_several_true_classes(name, example):
    """Logistic layers take a set or bag with the draws shared; softmaxes a target at a time."""
    counts = 100 // (1 + np.arange(7)) + 1
    made = example(name + (":k=4" if hasattr(parse_output(name), "k") else ""), counts, seed=2)
    several = torch.tensor([[0, 1, 2], [3, 3, 4], [5, -100, -100], [6, 0, -100], [1, 2, 3], [4, 5, 6]])
    if name in OF_THE_BATCH:
        with pytest.raises(ConfigError, match="several true classes"):
            made.head(made.hidden, several)
        return
    found = made.head(made.hidden, several, reduction="none", **made.call).detach().numpy()
    scores = made.scores()
    for i, row in enumerate(several.tolist()):
        true = [t for t in row if t >= 0]
        assert found[i] == pytest.approx(by_hand(made, name, scores[i], true, made.drawn(i)), rel=1e-10)


def by_hand(made, name, scores, true, draws):
    layer = made.layer
    if name == "infrequent":
        layer = dataclasses.replace(layer, gamma=2 / BATCH)
    alone = [layer.reference(scores, t, draws, made.counts) for t in true]
    if name not in ("negative", "nce", "sampled_logistic", "one_vs_all"):
        return sum(alone)
    d = scores + (
        layer.offset(layer.probability(made.counts)) if hasattr(layer, "k") and name != "negative" else 0.0
    )
    if name in ("sampled_logistic", "one_vs_all"):
        true = sorted(set(true))
    wrong = np.arange(7) if name == "one_vs_all" else draws
    if name in ("negative", "sampled_logistic"):
        wrong = wrong[~np.isin(wrong, true)]
    if name == "one_vs_all":
        return np.logaddexp(0, d).sum() - d[true].sum()
    return np.logaddexp(0, -d[true]).sum() + np.logaddexp(0, d[wrong]).sum()


GRAPHS = [
    *sorted(LAYERS),
    "softmax:chunk=2",
    "nce:k=3,ln_z=learned,unique=true",
    "sampled:k=3,hits=drop",
    "sampled:k=3,temperature=0.5,normalized=true",
    "mixed:k=3,hits=drop,normalized=true",
    "class_based:levels=2",
]


@pytest.mark.parametrize("spec", some(GRAPHS, 5))
def test_no_graph_breaks(spec, example):
    """With given draws, so that the results can be compared; tests/nn has those that a graph makes."""
    counts = 100 // (1 + np.arange(7)) + 1
    made = example(spec, counts)
    torch.compiler.reset()
    made.head.eval()
    compiled = torch.compile(made.head, fullgraph=True, backend="aot_eager")
    found = compiled(made.hidden, made.target, **made.call)
    expected = made.head(made.hidden, made.target, **made.call)
    torch.testing.assert_close(found, expected)
    wanted = [made.hidden, *made.head.parameters()]
    for one, other in zip(
        torch.autograd.grad(found, wanted), torch.autograd.grad(expected, wanted), strict=True
    ):
        torch.testing.assert_close(one, other)
