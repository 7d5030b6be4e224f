"""Softmaxes over ranges of rows, with a different range for each example, for classes and tails.

    L = log sum of exp s(r) over the rows first .. first + size - 1,  minus s(row),   s = H W' + b

Examples with the same range are computed together, with one matrix product for each range that occurs. A
range of size zero has the loss zero. Gradients are dense, or sparse in the rows of the ranges that occur. The
backward pass computes the scores again, so that no scores are kept.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from unhot.nn.chunked import by_input, empty_gradients
from unhot.nn.number_types import wide


class RowRange(NamedTuple):
    """The examples that share a range of rows, and that range."""

    examples: Tensor
    first: int
    last: int


def grouped_losses(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    first: Tensor,
    size: Tensor,
    row: Tensor,
    sparse: bool,
) -> Tensor:
    """Return the loss of each example, with dense or sparse gradients: [batch]."""
    given = hidden, weight, bias, first, size, row
    out: Tensor = _Sparse.apply(*given) if sparse else losses(*given)  # type: ignore[no-untyped-call]
    return out


def ranges(first: Tensor, size: Tensor) -> Iterator[RowRange]:
    """Yield the ranges that occur, sorted by their first rows, each with its examples."""
    starts, order = first.sort()
    same = torch.unique_consecutive(starts, return_counts=True)
    at = 0
    sizes = size[order]
    for begin, count in zip(*(one.tolist() for one in same), strict=True):
        examples = order[at : at + count]
        length = int(sizes[at : at + count].max())
        if length > 0:
            here = sizes[at : at + count] > 0
            yield RowRange(examples if bool(here.all()) else examples[here], begin, begin + length)
        at += count


def _block(hidden: Tensor, weight: Tensor, bias: Tensor | None, part: RowRange) -> Tensor:
    """Return the scores of a range's examples for the rows of the range."""
    rows = weight[part.first : part.last].to(hidden.dtype)
    scores = (hidden[part.examples] @ rows.T).to(wide(hidden.dtype))
    return scores if bias is None else scores.add_(bias[part.first : part.last])


@torch.library.custom_op("unhot::grouped_losses", mutates_args=())
def losses(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, first: Tensor, size: Tensor, row: Tensor
) -> Tensor:
    """Return the loss of each example: [batch]."""
    out = hidden.new_zeros(hidden.shape[0], dtype=wide(hidden.dtype))
    for part in ranges(first, size):
        scores = _block(hidden, weight, bias, part)
        own = scores.gather(1, (row[part.examples] - part.first)[:, None])
        out[part.examples] = scores.logsumexp(dim=1) - own.squeeze(1)
    return out


def each_gradient(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    first: Tensor,
    size: Tensor,
    row: Tensor,
    above: Tensor,
    by_hidden: Tensor,
    by_bias: Tensor,
) -> Iterator[tuple[RowRange, Tensor]]:
    """Yield each range with the gradient of its losses by its rows.

    Each loss is multiplied by its upstream gradient `above`. The gradients by hidden vectors and biases are
    written to `by_hidden` and `by_bias`, which hold zeros.
    """
    for part in ranges(first, size):
        share = _block(hidden, weight, bias, part).softmax(dim=1)
        place = (row[part.examples] - part.first)[:, None]
        share.scatter_add_(1, place, share.new_full(place.shape, -1.0))
        share.mul_(above[part.examples, None])
        narrow = share.to(hidden.dtype)
        by_hidden[part.examples] = narrow @ weight[part.first : part.last].to(narrow.dtype)
        if bias is not None:
            by_bias[part.first : part.last] = share.sum(dim=0)
        yield part, (narrow.T @ hidden[part.examples]).to(weight.dtype)


@torch.library.custom_op("unhot::grouped_gradients", mutates_args=())
def gradients(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    first: Tensor,
    size: Tensor,
    row: Tensor,
    above: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return dense gradients by hidden vectors, weight and bias (empty without a bias)."""
    by_hidden, by_weight = torch.zeros_like(hidden), torch.zeros_like(weight)
    by_bias = weight.new_zeros(0) if bias is None else torch.zeros_like(bias)
    given = hidden, weight, bias, first, size, row, above
    for part, by_rows in each_gradient(*given, by_hidden, by_bias):
        by_weight[part.first : part.last] = by_rows
    return by_hidden, by_weight, by_bias


def sparse_gradients(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    first: Tensor,
    size: Tensor,
    row: Tensor,
    above: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients as `gradients` does; that by weight is sparse in its rows."""
    by_hidden = torch.zeros_like(hidden)
    by_bias = weight.new_zeros(0) if bias is None else torch.zeros_like(bias)
    rows = [torch.zeros(0, dtype=torch.int64, device=weight.device)]
    values = [weight.new_zeros(0, weight.shape[1])]
    given = hidden, weight, bias, first, size, row, above
    for part, by_rows in each_gradient(*given, by_hidden, by_bias):
        rows.append(torch.arange(part.first, part.last, device=weight.device))
        values.append(by_rows)
    # the ranges do not overlap and are sorted, so the result is coalesced
    by_weight = torch.sparse_coo_tensor(
        torch.cat(rows)[None], torch.cat(values), weight.shape, is_coalesced=True, check_invariants=False
    )
    return by_hidden, by_weight, by_bias


class _Sparse(torch.autograd.Function):
    """The losses with sparse gradients, which torch.compile does not support."""

    @staticmethod
    def forward(ctx: Any, *given: Any) -> Any:
        ctx.save_for_backward(*given)
        return losses(*given)

    @staticmethod
    def backward(ctx: Any, *above: Any) -> Any:
        return by_input(ctx, sparse_gradients(*ctx.saved_tensors, *above))


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _dense(ctx: Any, above: Tensor) -> tuple[Any, ...]:
    return by_input(ctx, gradients(*ctx.saved_tensors, above))


losses.register_autograd(_dense, setup_context=_keep)


@losses.register_fake
def _(hidden: Tensor, weight: Tensor, *rest: Any) -> Tensor:
    return hidden.new_empty(hidden.shape[0], dtype=wide(hidden.dtype))


gradients.register_fake(empty_gradients)
