"""The softmax that never holds all scores of a batch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
nn = pytest.importorskip("unhot.nn")

WORDS, DIM, BATCH = 5000, 8, 64


@pytest.fixture(autouse=True)
def no_least(monkeypatch):
    """Take the chunk at its word also where all scores would fit into 32 MiB."""
    monkeypatch.setattr("unhot.outputs.softmax.LEAST_AT_ONCE", 0)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("unhot.nn.chunked.FEWEST_EXAMPLES", 1)


def head(chunk, **settings):
    torch.manual_seed(0)
    return nn.OutputHead(f"softmax:chunk={chunk}", DIM, np.arange(WORDS, 0, -1), **settings)


def batch():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(BATCH, DIM, generator=generator), torch.randint(WORDS, (BATCH,), generator=generator)


def largest_allocation(made, reduction):
    """In bytes, of a forward and backward pass."""
    from torch.profiler import ProfilerActivity, profile

    hidden, target = batch()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        made(hidden.requires_grad_(), target, reduction=reduction).sum().backward()
    return max(
        event.nbytes() for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"
    )


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_all_scores_are_never_there_at_once(reduction):
    all_scores = 4 * BATCH * WORDS
    assert largest_allocation(head(0), reduction) >= all_scores
    # the weight's gradient, or a chunk
    assert largest_allocation(head(256), reduction) <= max(4 * WORDS * DIM, all_scores // 10)


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_gradients_are_scaled_and_may_be_asked_for_again(reduction):
    made, plain, (hidden, target) = head(700), head(0), batch()
    hidden.requires_grad_()
    loss, expected = (one(hidden, target, reduction=reduction) for one in (made, plain))
    scale = torch.linspace(0.5, 2.0, BATCH) if reduction == "none" else torch.tensor(3.0)
    for again in range(3):
        made.zero_grad()
        (loss * scale).sum().backward(retain_graph=True)
        wanted = torch.autograd.grad((expected * scale).sum(), [plain.weight, plain.bias], retain_graph=True)
        torch.testing.assert_close(made.weight.grad, wanted[0], msg=f"time {again}")
        torch.testing.assert_close(made.bias.grad, wanted[1], msg=f"time {again}")


def test_without_gradients_there_is_one_sweep(monkeypatch):
    made, plain = head(700), head(0)
    monkeypatch.setattr("unhot.nn.chunked.total_and_gradients", None)  # would be an error
    with torch.no_grad():
        torch.testing.assert_close(made(*batch()), plain(*batch()))
    for parameter in made.parameters():
        parameter.requires_grad_(False)
    assert not made(*batch()).requires_grad


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_second_derivatives_are_refused(reduction):
    hidden, target = batch()
    hidden.requires_grad_()
    (gradient,) = torch.autograd.grad(
        head(700)(hidden, target, reduction=reduction).sum(), hidden, create_graph=True
    )
    with pytest.raises(RuntimeError, match="use softmax:chunk=0"):
        gradient.square().sum().backward()
    (gradient,) = torch.autograd.grad(
        head(0)(hidden, target, reduction=reduction).sum(), hidden, create_graph=True
    )
    gradient.square().sum().backward()


def test_a_loss_scale_helps_float16():
    """Gradients are made when the scale is known, so no row of words that are no targets becomes zero."""
    made = head(700, dtype=torch.float16)
    hidden, target = batch()
    (made(hidden.half(), target) * 65536).backward()
    assert (made.weight.grad.float().abs().sum(dim=1) > 0).all()


def test_words_that_are_masked_by_their_bias():
    made, plain = head(700), head(0)
    for one in (made, plain):
        with torch.no_grad():
            one.bias[:1400] = -torch.inf
    hidden, target = batch()
    target = 1400 + target % 3000
    torch.testing.assert_close(made(hidden, target), plain(hidden, target))
    made(hidden, target).backward()
    assert torch.isfinite(made.weight.grad).all()


@pytest.mark.parametrize("scale", [1e4, -1e4])
def test_large_scores_are_no_trouble(scale):
    made, plain, (hidden, target) = head(700), head(0), batch()
    found, expected = (one(scale * hidden, target) for one in (made, plain))
    torch.testing.assert_close(found, expected)
    found.backward()
    assert torch.isfinite(made.weight.grad).all()


def test_examples_of_any_number():
    made = head(700)
    for size in (0, 1, 3):
        hidden = torch.randn(size, DIM, requires_grad=True)
        made(hidden, torch.zeros(size, dtype=torch.int64)).backward()
        assert hidden.grad.shape == (size, DIM)


# ---- blocks of examples


def test_the_size_of_a_block(monkeypatch):
    from unhot.nn import chunked

    def size(batch, words, chunk, dtype=torch.float32):
        return chunked.block_size(torch.empty(batch, DIM, dtype=dtype), words, chunk)

    assert size(700, 10_000, 4096) == 234  # three blocks of at most 286, about equal
    assert size(700, 33_000, 4096) == 78
    assert size(700, 60_000, 4096) == 0  # 47 would fit: chunks of words
    assert size(3, 5000, 5000) == 3
    assert size(3, 5000, 4999) == 0
    assert size(0, 5000, 5000) == 0
    assert size(700, 10_000, 10_000, torch.bfloat16) == 0
    monkeypatch.setattr("unhot.outputs.softmax.LEAST_AT_ONCE", 1 << 23)
    assert size(700, 10_000, 4096) == size(700, 10_000, 1) == 700
    assert size(700, 33_000, 4096) == 234
    assert size(1024, 200_000, 4096) == 0


@pytest.mark.parametrize("spec", ["softmax", "softmax:smoothing=0.2", "self_normalized:alpha=0.7"])
@pytest.mark.parametrize("chunk", [79, 700, 1100, 5000])  # blocks of 1, 8, 13 (the last: 12) and 64
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("true", [None, 3])
def test_blocks_are_the_formula(small_blocks, monkeypatch, spec, chunk, bias, true):
    monkeypatch.setattr("unhot.nn.chunked.sweep", None)  # would be an error
    hidden, target = batch()
    target = target if true is None else torch.stack([target, target.flip(0), target], dim=1)
    target[5], target[-1] = -100, 0
    if true:
        target[7, 1:] = -100
    found = []
    for one in (chunk, 0):
        torch.manual_seed(0)
        made = nn.OutputHead(
            f"{spec}{',' if ':' in spec else ':'}chunk={one}", DIM, WORDS, bias=bias, dtype=torch.float64
        )
        vectors = hidden.double().requires_grad_()
        loss = made(vectors, target)
        (3 * loss).backward()
        found.append([loss, vectors.grad, *(parameter.grad for parameter in made.parameters())])
    for one, expected in zip(*found, strict=True):
        torch.testing.assert_close(one, expected, rtol=1e-10, atol=1e-10)


def test_one_example_is_one_block():
    hidden, target = batch()
    found = [made(hidden[:1], target[:1]) for made in (head(WORDS), head(0))]
    torch.testing.assert_close(*found)


def test_blocks_hold_no_more_than_the_chunk_says(small_blocks):
    assert largest_allocation(head(256), "mean") <= 4 * max(WORDS * DIM, BATCH * 256)


def test_blocks_of_masked_words_and_large_scores(small_blocks):
    made, (hidden, target) = head(700), batch()
    with torch.no_grad():
        made.bias[:1400] = -torch.inf
    loss = made(1e4 * hidden, 1400 + target % 3000)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(made.weight.grad).all()
    assert not made.weight.grad[:1400].any()


def test_second_derivatives_where_all_scores_may_be_there():
    hidden, target = batch()
    found = []
    for made in (head(WORDS), head(0)):
        vectors = hidden.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(3 * made(vectors, target), vectors, create_graph=True)
        gradient.square().sum().backward()
        found.append([vectors.grad, made.weight.grad, made.bias.grad])
    for one, expected in zip(*found, strict=True):
        torch.testing.assert_close(one, expected)
