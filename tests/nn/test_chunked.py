"""The softmax that never holds all scores of a batch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
nn = pytest.importorskip("unhot.nn")

WORDS, DIM, BATCH = 5000, 8, 64


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
