"""Temperatures, corrections and cosines of sampled, in_batch and mixed; the columns of a batch."""

import math

import numpy as np
import pytest

from unhot.errors import ConfigError
from unhot.outputs import Head

torch = pytest.importorskip("torch")
nn = pytest.importorskip("unhot.nn")

COUNTS = np.array([8, 4, 3, 1])
Q = COUNTS / COUNTS.sum()
HIDDEN = np.array([3.0, -1.0])
ROWS = np.array([[2.0, 1.0], [-1.0, 0.5], [0.3, 4.0], [-5.0, -2.0]])
BIAS = np.array([0.3, -0.2, 0.1, 0.7])
# spec, c by its formula, what the other columns are
LAYERS = [
    ("sampled:k=3,power=1", 3 * Q, "draws"),
    ("in_batch:q=counts", 3 * Q, "targets"),
    ("mixed:k=1,q=counts", 2 * Q + 1 / 4, "both"),
]


def loss_of(spec, columns):
    """The loss of the target 0 with the other columns 1, 2, 2: draws, or targets of other examples."""
    head = nn.OutputHead(spec, 2, COUNTS, bias=True, dtype=torch.float64)
    head.begin(nn.OutputRows(torch.from_numpy(ROWS), torch.from_numpy(BIAS), None))
    ids = torch.tensor([1, 2, 2])
    drawn = {"draws": ids, "targets": ids[:0], "both": ids[2:]}[columns]
    target = torch.cat([torch.tensor([0]), ids[: 3 - drawn.numel()]])
    hidden = torch.zeros(target.numel(), 2, dtype=torch.float64)
    hidden[0] = torch.from_numpy(HIDDEN)
    call = {"draws": drawn} if drawn.numel() else {}
    return float(head(hidden, target, reduction="none", **call)[0].detach())


def by_hand(d):
    """The loss, of numbers d for each word."""
    return math.log(math.exp(d[0]) + math.exp(d[1]) + 2 * math.exp(d[2])) - d[0]


def length(rows):
    return np.sqrt((rows**2).sum(axis=-1))


@pytest.mark.parametrize(("spec", "c", "columns"), LAYERS)
def test_first_the_cosine_then_the_temperature_then_the_correction(spec, c, columns):
    found, log_c = loss_of(f"{spec},normalized=true,temperature=0.6", columns), np.log(c)
    half = ROWS @ HIDDEN / length(HIDDEN)
    cosine = half / length(ROWS)
    longer = ROWS @ HIDDEN + BIAS
    assert found == pytest.approx(by_hand((cosine + BIAS) / 0.6 - log_c), abs=1e-12)
    wrong = {
        "the temperature divides the correction": (cosine + BIAS - log_c) / 0.6,
        "the temperature is normalized away": cosine + BIAS - log_c,
        "the bias is not divided": cosine / 0.6 + BIAS - log_c,
        "the bias is a number of the vectors": longer
        / length(np.append(HIDDEN, 1))
        / length(np.column_stack([ROWS, BIAS]))
        / 0.6
        - log_c,
        "output vectors are not normalized": (half + BIAS) / 0.6 - log_c,
        "hidden vectors are not normalized": (cosine * length(HIDDEN) + BIAS) / 0.6 - log_c,
        "the correction is added": (cosine + BIAS) / 0.6 + log_c,
        "there is no correction": (cosine + BIAS) / 0.6,
    }
    for name, d in wrong.items():
        assert abs(found - by_hand(d)) > 0.01, name


@pytest.mark.parametrize(("spec", "c", "columns"), LAYERS)
def test_without_cosines(spec, c, columns):
    """The batch size is a setting for probabilities; the loss knows its batch."""
    scores = (ROWS @ HIDDEN + BIAS) / 2
    found = loss_of(f"{spec},temperature=2", columns)
    assert found == pytest.approx(by_hand(scores - np.log(c)), abs=1e-12)
    batch = ",batch=99" if "mixed" in spec else ""
    found = loss_of(f"{spec},temperature=2,correct=false{batch}", columns)
    assert found == pytest.approx(by_hand(scores), abs=1e-12)


# ---- cosines


@pytest.mark.parametrize("spec", ["sampled:k=3", "in_batch", "mixed:k=3"])
def test_lengths_of_vectors_do_not_matter_to_cosines(spec):
    joint = "," if ":" in spec else ":"
    heads = [nn.OutputHead(f"{spec}{joint}normalized={on}", 2, COUNTS) for on in ("true", "false")]
    hidden, target = torch.tensor([[3.0, -1.0], [0.5, 2.0]]), torch.tensor([0, 2])
    for head, same in zip(heads, (True, False), strict=True):
        head.begin(nn.OutputRows(torch.from_numpy(ROWS), None, None))
        call = {"draws": torch.tensor([1, 3, 3])} if head.draws_noise else {}
        before = head.eval()(hidden, target, **call), head.log_prob(hidden), head.topk(hidden, 4)[1]
        with torch.no_grad():
            head.weight *= torch.tensor([[2.0], [0.1], [30.0], [1.0]])
        after = head(7 * hidden, target, **call), head.log_prob(7 * hidden), head.topk(7 * hidden, 4)[1]
        for one, other in zip(before, after, strict=True):
            assert torch.allclose(one, other, rtol=1e-5, atol=1e-5) == same


def test_rows_scores_and_exported_vectors_are_the_cosines():
    torch.manual_seed(0)
    embedding = torch.nn.Embedding(4, 2)
    head = nn.OutputHead("mixed:normalized=true,temperature=0.3", 2, COUNTS, weight=embedding.weight)
    hidden, rows = torch.randn(5, 2), embedding.weight.detach()
    cosines = torch.nn.functional.cosine_similarity(hidden[:, None], rows, dim=2) + head.bias
    torch.testing.assert_close(head.scores(hidden), cosines)
    torch.testing.assert_close(head.log_prob(hidden), (cosines / 0.3).log_softmax(dim=1))
    unit = rows / rows.norm(dim=1, keepdim=True)
    torch.testing.assert_close(head.rows_of(torch.arange(4)), unit)
    torch.testing.assert_close(head.effective().out_vectors, unit)
    assert head.effective().out_vectors.data_ptr() != embedding.weight.data_ptr()
    torch.testing.assert_close(embedding.weight.detach(), rows)  # the embedding keeps its lengths
    given = head.bias.detach().numpy()
    for vectors in (unit.numpy(), rows.numpy()):
        numpy_head = Head(head.layer, COUNTS, vectors, given)
        np.testing.assert_allclose(numpy_head.scores(hidden.numpy()), cosines.detach(), rtol=0, atol=1e-6)
        assert numpy_head.topk(hidden.numpy(), 4)[0].tolist() == cosines.topk(4)[1].tolist()
        np.testing.assert_allclose(  # of some rows
            numpy_head.scores(hidden.numpy(), [2, 0]), cosines.detach()[:, [2, 0]], rtol=0, atol=1e-6
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_vectors_of_zeros_have_the_cosine_zero(dtype):
    head = nn.OutputHead("in_batch:normalized=true", 2, 4, bias=False, dtype=dtype)
    torch.nn.init.zeros_(head.weight)
    hidden = torch.zeros(3, 2, dtype=dtype, requires_grad=True)
    assert head.scores(hidden).tolist() == [[0.0] * 4] * 3
    assert head.effective().out_vectors.tolist() == [[0.0] * 2] * 4
    loss = head(hidden, torch.tensor([0, 1, 1]))
    assert float(loss.detach()) == pytest.approx(math.log(3))
    loss.backward()
    assert torch.isfinite(hidden.grad).all()
    assert torch.isfinite(head.weight.grad).all()
    assert Head(head.layer, COUNTS, np.zeros((4, 2))).scores([0.0, 1.0]).tolist() == [0.0] * 4


def test_very_long_vectors_of_halves_have_cosines():
    """The squares of their numbers are no halves."""
    head = nn.OutputHead("sampled:k=2,normalized=true", 2, 4, bias=False, dtype=torch.float16)
    hidden = torch.tensor([[3e4, 3e4]], dtype=torch.float16)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[1e4, 1e4], [-3e4, 3e4], [1e-3, 1e-3], [-1.0, -1.0]]))
    np.testing.assert_allclose(head.scores(hidden).detach(), [[1.0, 0.0, 1.0, -1.0]], atol=2e-3)
    assert torch.isfinite(head(hidden, torch.tensor([1])).detach())


# ---- the columns of a batch


@pytest.mark.parametrize("spec", ["in_batch:hits=drop", "mixed:k=3,q=counts", "mixed:k=3"])
@pytest.mark.parametrize("share", ["batch", "example"])
def test_ignored_examples_are_no_columns_and_do_not_count(spec, share):
    head = nn.OutputHead(spec, 2, COUNTS, share=share, dtype=torch.float64).eval()
    hidden, target = torch.randn(5, 2, dtype=torch.float64), torch.tensor([0, 2, 2, 1, 3])
    some, ignored = torch.tensor([0, 1, 3]), target.clone()
    ignored[[2, 4]] = -100
    draws = torch.tensor([[0, 2, 3]] * 5) if share == "example" else torch.tensor([0, 2, 3])
    calls = [{"draws": draws}, {"draws": draws[some] if share == "example" else draws}]
    calls = calls if head.draws_noise else [{}, {}]
    found = head(hidden, ignored, reduction="none", **calls[0])
    expected = head(hidden[some], target[some], reduction="none", **calls[1])
    torch.testing.assert_close(found[some], expected)


def test_a_batch_of_one_example_is_compared_with_draws_alone():
    hidden, target = torch.randn(1, 2), torch.tensor([2])
    assert float(nn.OutputHead("in_batch", 2, COUNTS)(hidden, target).detach()) == 0.0
    mixed, sampled = (nn.OutputHead(spec, 2, COUNTS) for spec in ("mixed:k=3", "sampled:k=3,noise=uniform"))
    sampled.load_state_dict({**mixed.state_dict(), "seen": sampled.seen})
    draws = torch.tensor([0, 1, 1])
    torch.testing.assert_close(mixed(hidden, target, draws=draws), sampled(hidden, target, draws=draws))


@pytest.mark.parametrize("share", ["batch", "example"])
def test_draws_of_mixed_are_uniform(share):
    """With so many draws the loss is log sum_w exp s(w) - d(t), d = s - log(k / V)."""
    torch.manual_seed(0)
    head = nn.OutputHead("mixed:k=50000", 2, COUNTS, share=share, dtype=torch.float64)
    hidden, target = torch.randn(3, 2, dtype=torch.float64), torch.tensor([0, 2, 3])
    losses = head(hidden, target, reduction="none").detach() - math.log(50_000 / 4)
    expected = head.nll(hidden, target, reduction="none")
    torch.testing.assert_close(losses, expected, atol=0.02, rtol=0)
    with torch.no_grad():  # each example has its own draws, or all have the same
        same = head(hidden[:1].expand(3, 2), target[:1].expand(3), reduction="none")
    assert (same[0] == same[1]) == (share == "batch")


@pytest.mark.parametrize("spec", ["in_batch", "mixed:k=4"])
def test_what_was_not_subtracted_is_put_back_by_the_counts_so_far(spec):
    batch = ",batch=6" if "mixed" in spec else ""
    more = f"correct=false{batch}"
    head = nn.OutputHead(f"{spec}{',' if ':' in spec else ':'}{more}", 2, COUNTS, bias=False)
    hidden, target = torch.randn(6, 2), torch.tensor([3, 3, 3, 0, 3, -100])
    head.train()(hidden, target)
    seen = np.array([2, 1, 1, 5])  # one each, and the targets
    assert head.seen.tolist() == seen.tolist()
    q = seen / seen.sum()
    c = q if "in_batch" in spec else 5 * q + 4 / 4
    expected = (head.scores(hidden) + torch.tensor(np.log(c))).log_softmax(dim=1)
    torch.testing.assert_close(head.log_prob(hidden).double(), expected)
    rows = head.effective().out_vectors.numpy()  # the counts without the one that each word begins with
    numpy_head = Head(head.layer, seen - 1, rows)
    np.testing.assert_allclose(numpy_head.log_prob(hidden.numpy()), expected.detach(), rtol=0, atol=1e-6)


def test_learned_noise_that_was_not_subtracted_is_put_back():
    head = nn.OutputHead("sampled:k=3,noise=learned,power=1,correct=false", 2, COUNTS, bias=False)
    hidden = torch.randn(5, 2)
    head.train()(hidden, torch.tensor([3, 3, 3, 0, 3]))
    expected = (head.scores(hidden) + torch.tensor([2.0, 1.0, 1.0, 5.0]).log()).log_softmax(dim=1)
    torch.testing.assert_close(head.log_prob(hidden), expected)


def test_words_that_are_never_drawn_are_named_with_and_without_the_correction():
    for setting in ("correct=true", "correct=false"):
        with pytest.raises(
            ConfigError, match=r"needs the log of how often a word is drawn.*counts.clip\(1\)"
        ):
            nn.OutputHead(f"sampled:{setting}", 2, np.array([3, 0]))
