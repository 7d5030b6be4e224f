"""Compute the softmax of a linear layer a part of its scores at a time, so that they never fill memory.

    L = T (log Z + alpha log^2 Z) - (1 - e) sum_t s(t) - e T mean_w s(w),   s = H W' + b
    dL/ds(w) = T (1 + 2 alpha log Z) p(w) - (1 - e) [w = t] - e T / V

    T: the number of targets; e: label smoothing

*Blocks of examples.* The scores of some examples fill one buffer, where they turn into exponentials and then
into dL/ds. The gradients of the weight are added up from block to block. That makes three matrix products, as
in the usual way, without its copies of the scores.

*Chunks of words.* If so few examples fit that adding up would cost more than it saves, the scores of all
examples are computed a chunk of words at a time. A first sweep keeps the largest score and the sum of
exponentials of each example (Milakov & Gimelshein, Online normalizer calculation for softmax, 2018). A second
sweep computes the scores again and adds up the gradients: four products. The 16-bit types always go this way,
so that their sums are rounded once.

If only the sum of the losses is wanted, the forward pass makes the gradients and keeps them. If each loss is
wanted, the forward pass does the first sweep and the backward pass the second.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from unhot.nn.classes import readable
from unhot.nn.number_types import wide, widened
from unhot.outputs.softmax import scores_at_once

FEWEST_EXAMPLES = 64  # in a block; below, adding up the weight's gradients costs more than a fourth product
MOST_WORDS = 4096  # in a chunk; longer chunks are no quicker
STRIP = 2048  # words whose gradients one product makes; the product of all words is slower for dim 300


class Penalty(NamedTuple):
    """The terms of the loss in addition to log Z - s(t)."""

    alpha: float  # weight of log^2 Z
    smoothing: float  # share of the label that is spread over all words


def chunked_total(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    label: Tensor,
    target: Tensor,
    chunk: int,
    more: Penalty,
) -> Tensor:
    """Return the loss summed over examples and targets, weighted by their labels [batch, true]: a number."""
    given = hidden, weight, bias, label, target, chunk, *more
    found: Tensor
    wanted = any(one is not None and one.requires_grad for one in (hidden, weight, bias))
    # gradients computed now would be too small for float16: a loss scale applies only in the backward pass
    if hidden.dtype == torch.float16 or not (torch.is_grad_enabled() and wanted):
        found = sweep(*given)[0].sum()
    elif torch.compiler.is_compiling():
        found = total_and_gradients(*given)[0]
    else:
        found = _Total.apply(*given)  # type: ignore[no-untyped-call]
    return found


def losses_of(scores: Tensor, label: Tensor, target: Tensor, more: Penalty) -> Tensor:
    """Return the losses [batch] from the scores of all words [batch, words], by the formula above."""
    alpha, e = more
    log_z, targets = scores.logsumexp(dim=1), label.sum(dim=1)
    linear = (1 - e) * (label * scores.gather(1, target)).sum(dim=1)
    linear = linear + e * targets * scores.mean(dim=1) if e else linear
    return targets * (log_z + alpha * log_z**2 if alpha else log_z) - linear


class _Total(torch.autograd.Function):
    """The sum of the losses, outside of compiled graphs.

    It hands over its gradients; a custom operator would keep them and hand over a copy.
    """

    @staticmethod
    def forward(ctx: Any, *given: Any) -> Tensor:
        total: Tensor
        total, *ctx.found = total_and_gradients(*given)
        ctx.save_for_backward(*given[:5])
        ctx.how = given[5:]
        return total

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:
        above: Tensor = upstream[0]
        if torch.is_grad_enabled():  # create_graph
            hidden, weight, bias, label, target = ctx.saved_tensors
            if weight.shape[0] <= ctx.how[0]:  # all scores may be there at once
                scores = widened(functional.linear(hidden, weight, bias))
                total = losses_of(scores, label * above, target, Penalty(*ctx.how[1:])).sum()
                wanted = [one for one in (hidden, weight, bias) if one is not None and one.requires_grad]
                graph = iter(torch.autograd.grad(total, wanted, create_graph=True))
                return tuple(next(graph) if needed else None for needed in ctx.needs_input_grad)
            # `gradients` raises an error, as it has no derivative
            log_z = sweep(hidden, weight, bias, label, target, *ctx.how)[1]
            return by_input(ctx, gradients(hidden, weight, bias, label * above, target, log_z, *ctx.how))
        # with retain_graph, a second backward pass computes the gradients again
        found, ctx.found = ctx.found or total_and_gradients(*ctx.saved_tensors, *ctx.how)[1:], None
        if not readable(above) or above.item() != 1.0:
            for one in found:
                one.mul_(above)
        return by_input(ctx, found)


@torch.library.custom_op("unhot::chunked_sweep", mutates_args=())
def sweep(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    label: Tensor,
    target: Tensor,
    chunk: int,
    alpha: float,
    smoothing: float,
) -> tuple[Tensor, Tensor]:
    """Return the losses and log Z: [batch] each."""
    best = hidden.new_full((hidden.shape[0], 1), -torch.inf, dtype=wide(hidden.dtype))
    total = torch.zeros_like(best)
    chunk = min(chunk, MOST_WORDS)
    for first in range(0, weight.shape[0], chunk):
        scores = _scores(hidden, weight, bias, first, first + chunk)
        larger = torch.maximum(best, scores.amax(dim=1, keepdim=True))
        larger.clamp_(min=torch.finfo(scores.dtype).min)  # in case all scores are -inf
        total.mul_((best - larger).exp_()).add_(scores.sub_(larger).exp_().sum(dim=1, keepdim=True))
        best = larger
    log_z = (best + total.log()).squeeze(1)
    own = torch.bmm(weight[target], hidden[:, :, None]).squeeze(2).to(log_z.dtype)  # [batch, true]
    own = own if bias is None else own + bias[target]
    targets, linear = label.sum(dim=1), (label * own).sum(dim=1)
    if smoothing:
        mean = (hidden @ weight.mean(dim=0)).to(log_z.dtype) + (0.0 if bias is None else bias.mean())
        linear = (1 - smoothing) * linear + smoothing * targets * mean
    return targets * (log_z + alpha * log_z**2 if alpha else log_z) - linear, log_z


@torch.library.custom_op("unhot::chunked_gradients", mutates_args=())
def gradients(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    label: Tensor,
    target: Tensor,
    log_z: Tensor,
    chunk: int,
    alpha: float,
    smoothing: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of the summed losses by hidden vectors, weight and bias (empty without a bias)."""
    targets, words = label.sum(dim=1), weight.shape[0]
    slope = (targets * (1 + 2 * alpha * log_z))[:, None]  # [batch, 1]
    by_hidden = torch.zeros_like(hidden, dtype=wide(hidden.dtype))
    by_weight = torch.empty_like(weight)
    by_bias = torch.empty_like(weight[:, 0] if bias is None else bias)[: 0 if bias is None else words]
    even = smoothing / words * targets[:, None] if smoothing else None
    chunk = min(chunk, MOST_WORDS)
    for first in range(0, words, chunk):
        share = _scores(hidden, weight, bias, first, first + chunk).sub_(log_z[:, None]).exp_().mul_(slope)
        if even is not None:
            share.sub_(even)
        if bias is not None:
            by_bias[first : first + chunk] = share.sum(dim=0)
        share, rows = share.to(hidden.dtype), weight[first : first + chunk]
        by_hidden += share @ rows
        by_weight[first : first + chunk] = share.T @ hidden
    pull = (1 - smoothing) * label  # [batch, true]
    by_hidden -= torch.bmm(pull[:, None, :].to(weight.dtype), weight[target]).squeeze(1)
    flat = target.reshape(-1)
    pulled = (pull[:, :, None] * hidden[:, None, :]).reshape(-1, hidden.shape[1])
    by_weight.index_add_(0, flat, pulled.to(weight.dtype), alpha=-1)
    if bias is not None:
        by_bias.index_add_(0, flat, pull.reshape(-1).to(by_bias.dtype), alpha=-1)
    return by_hidden.to(hidden.dtype), by_weight, by_bias


@torch.library.custom_op("unhot::chunked_total", mutates_args=())
def total_and_gradients(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    label: Tensor,
    target: Tensor,
    chunk: int,
    alpha: float,
    smoothing: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the sum of the losses, and its gradients."""
    rows = block_size(hidden, weight.shape[0], chunk)
    if rows:
        return _by_blocks(hidden, weight, bias, label, target, rows, Penalty(alpha, smoothing))
    losses, log_z = sweep(hidden, weight, bias, label, target, chunk, alpha, smoothing)
    return losses.sum(), *gradients(hidden, weight, bias, label, target, log_z, chunk, alpha, smoothing)


def block_size(hidden: Tensor, words: int, chunk: int) -> int:
    """Return the number of examples in a block; 0: go over chunks of words."""
    batch = hidden.shape[0]
    most = min(batch, scores_at_once(words, chunk, batch) // words)
    if hidden.dtype != wide(hidden.dtype) or most < max(1, min(batch, FEWEST_EXAMPLES)):
        return 0
    return math.ceil(batch / math.ceil(batch / most))  # blocks of about the same size


def _by_blocks(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    label: Tensor,
    target: Tensor,
    rows: int,
    more: Penalty,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the sum of the losses and its gradients, computed for some examples at a time."""
    (alpha, smoothing), words = more, weight.shape[0]
    by_hidden, by_weight, by_bias = empty_gradients(hidden, weight, bias)
    buffer = hidden.new_empty(rows, words)
    total = hidden.new_zeros(())
    for first in range(0, hidden.shape[0], rows):
        vectors, ids, own = (one[first : first + rows] for one in (hidden, target, label))
        scores = buffer[: vectors.shape[0]]
        if bias is None:
            torch.mm(vectors, weight.T, out=scores)
        else:
            torch.addmm(bias, vectors, weight.T, out=scores)
        targets, pull = own.sum(dim=1, keepdim=True), (1 - smoothing) * own
        total -= (pull * scores.gather(1, ids)).sum()
        if smoothing:
            total -= smoothing * (targets * scores.mean(dim=1, keepdim=True)).sum()
        top = scores.amax(dim=1, keepdim=True).clamp_(min=torch.finfo(scores.dtype).min)
        z = scores.sub_(top).exp_().sum(dim=1, keepdim=True)
        log_z = top.add_(z.log())
        total += (targets * (log_z + alpha * log_z**2 if alpha else log_z)).sum()
        scores.mul_(targets * (1 + 2 * alpha * log_z) / z)  # from here on the gradients of the scores
        if smoothing:
            scores.sub_(smoothing / words * targets)
        scores.scatter_add_(1, ids, -pull)
        torch.mm(scores, weight, out=by_hidden[first : first + rows])
        for begin in range(0, words, STRIP):
            strip = slice(begin, begin + STRIP)
            by_weight[strip].addmm_(scores[:, strip].T, vectors, beta=min(first, 1))  # the first overwrites
        if bias is not None:
            torch.sum(scores, dim=0, out=by_bias) if first == 0 else by_bias.add_(scores.sum(dim=0))
    return total, by_hidden, by_weight, by_bias


def _scores(hidden: Tensor, weight: Tensor, bias: Tensor | None, first: int, last: int) -> Tensor:
    """Return the scores of some words, in a type wide enough for exponentials; they may be overwritten."""
    scores = (hidden @ weight[first:last].T).to(wide(hidden.dtype))
    return scores if bias is None else scores.add_(bias[first:last])


def _keep_all(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(*inputs[:5], output[1])
    ctx.how = inputs[5:]


def _sweep_again(ctx: Any, above: Tensor, _: Any) -> tuple[Tensor | None, ...]:
    hidden, weight, bias, label, target, log_z = ctx.saved_tensors
    found = gradients(hidden, weight, bias, label * above[:, None], target, log_z, *ctx.how)
    return by_input(ctx, found)


def _keep_gradients(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.save_for_backward(*output[1:])


def _scale_gradients(ctx: Any, above: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
    return by_input(ctx, tuple(one * above.to(one.dtype) for one in ctx.saved_tensors))


def by_input(ctx: Any, found: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
    """Return one entry for each argument: its gradient if it is needed, otherwise None."""
    every = itertools.zip_longest(found, ctx.needs_input_grad)
    return tuple(one if needed else None for one, needed in every)


def _twice(ctx: Any, *above: Any) -> Any:
    raise RuntimeError(
        "softmax: gradients computed from a part of the scores at a time have no second derivative; use "
        "softmax:chunk=0"
    )


gradients.register_autograd(_twice)
sweep.register_autograd(_sweep_again, setup_context=_keep_all)
total_and_gradients.register_autograd(_scale_gradients, setup_context=_keep_gradients)


@sweep.register_fake
def _(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, label: Tensor, target: Tensor, *how: Any
) -> tuple[Tensor, Tensor]:
    one = hidden.new_empty(hidden.shape[0], dtype=wide(hidden.dtype))
    return one, torch.empty_like(one)


@gradients.register_fake
def empty_gradients(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, *rest: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Return empty gradients by hidden vectors, weight and bias, for tracing."""
    by_bias = weight.new_empty(0) if bias is None else torch.empty_like(bias)
    return torch.empty_like(hidden), torch.empty_like(weight), by_bias


@total_and_gradients.register_fake
def _(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, *rest: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return hidden.new_empty((), dtype=wide(hidden.dtype)), *empty_gradients(hidden, weight, bias)
