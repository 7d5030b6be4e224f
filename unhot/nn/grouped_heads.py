"""Heads that choose among ranges of rows: classes and then a word, or a short softmax and then a tail."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from unhot.errors import ConfigError
from unhot.nn.grouped import grouped_losses
from unhot.nn.head import OutputHead, OutputRows, head_for
from unhot.nn.head_arguments import FlatBatch
from unhot.nn.number_types import as_product, widened
from unhot.outputs.adaptive import Adaptive
from unhot.outputs.class_based import ClassBased
from unhot.types import Counts


@head_for(ClassBased)
class ClassBasedHead(OutputHead):
    """A softmax over classes and words; the rows of `weight` are the classes of all levels, then words."""

    exact_loss = True

    layer: ClassBased

    first: Tensor  # int64 [groups]
    size: Tensor  # int64 [groups]
    group: Tensor  # int32 [words, levels + 1]
    row: Tensor  # int32 [words, levels + 1]
    group_of: Tensor  # int64 [rows]

    def make(self, counts: Counts) -> None:
        """Make the parameters and the groups of rows."""
        super().make(counts)
        groups = self.layer.groups(counts)
        first, size = (torch.from_numpy(one.astype("int64")) for one in (groups.first, groups.size))
        group, row = (torch.from_numpy(one.copy()) for one in (groups.group, groups.row))
        group_of = torch.arange(len(first)).repeat_interleave(size)
        self.keep(first=first, size=size, group=group, row=row, group_of=group_of)

    def losses(self, batch: FlatBatch) -> Tensor:
        """Return the loss of each example: the sum over targets and levels."""
        # [batch, true, levels + 1]
        group, row = self.group[batch.target].long(), self.row[batch.target].long()
        size = torch.where(batch.known[:, :, None], self.size[group], 0)
        choices = row.shape[1] * row.shape[2]
        (hidden,) = as_product(batch.hidden)
        every = hidden[:, None, :].expand(-1, choices, -1).reshape(-1, self.dim)
        found = grouped_losses(
            every,
            self.weight,
            self.bias,
            self.first[group].reshape(-1),
            size.reshape(-1),
            row.reshape(-1),
            self.sparse,
        )
        return found.reshape(batch.hidden.shape[0], choices).sum(dim=1)

    def log_weight(self, hidden: Tensor) -> Tensor:
        """Return log P of all words: the sum of the log-probabilities of all levels."""
        scores = self.scores(hidden)
        groups = self.group_of.expand_as(scores)
        best = scores.new_full((scores.shape[0], self.first.shape[0]), -torch.inf).scatter_reduce(
            1, groups, scores.detach(), "amax"
        )
        shifted = scores - best.gather(1, groups)
        total = torch.zeros_like(best).scatter_add(1, groups, shifted.exp())
        within = shifted - total.log().gather(1, groups)  # [batch, rows]
        return within[:, self.row.long()].sum(dim=2)


@head_for(Adaptive)
class AdaptiveHead(OutputHead):
    """A softmax over frequent words and tails, and a narrower softmax for each tail.

    `weight` is [head words + tails, dim]. Tail j has `projections[j]` [width, dim] and `tails[j]` [words,
    width].
    """

    exact_loss = True

    layer: Adaptive
    untied = "rare words have narrower rows than the embedding's"

    rank: Tensor  # int64 [words]: the rank of each id
    order: Tensor  # int64 [words]: the ids by rank

    def make(self, counts: Counts) -> None:
        """Make the parameters of the short softmax and of the tails."""
        clusters, widths = self.layer.clusters(counts), self.layer.widths(counts, self.dim)
        self.cutoffs = clusters.cutoffs
        top = self.cutoffs[0] + len(widths)
        self.weight = nn.Parameter(torch.empty(top, self.dim))
        self.bias = nn.Parameter(torch.empty(top)) if self.layer.bias else None
        self.projections = nn.ParameterList(nn.Parameter(torch.empty(width, self.dim)) for width in widths)
        sizes = [last - first for first, last in zip(self.cutoffs, self.cutoffs[1:], strict=False)]
        self.tails = nn.ParameterList(
            nn.Parameter(torch.empty(size, width)) for size, width in zip(sizes, widths, strict=True)
        )
        order = torch.from_numpy(clusters.order.astype("int64"))
        self.keep(order=order, rank=order.argsort())

    def matrices(self) -> list[nn.Parameter]:
        """Return all weights; each starts as that of a linear layer."""
        return [self.weight, *self.projections, *self.tails]

    def losses(self, batch: FlatBatch) -> Tensor:
        """Return the loss of each example: the short softmax, plus a tail's softmax for targets in it."""
        rank = torch.where(batch.known, self.rank[batch.target], -1)  # [batch, true]
        many = rank.shape[1]
        hidden = batch.hidden[:, None, :].expand(-1, many, -1).reshape(-1, self.dim)
        rank, row = rank.reshape(-1), rank.reshape(-1)
        zero = torch.zeros_like(rank)
        found = []
        for j, (projection, tail) in enumerate(zip(self.projections, self.tails, strict=True)):
            inside = (rank >= self.cutoffs[j]) & (rank < self.cutoffs[j + 1])
            row = torch.where(inside, self.cutoffs[0] + j, row)
            (narrow,) = as_product(functional.linear(hidden, projection))
            size = torch.where(inside, tail.shape[0], 0)
            place = torch.where(inside, rank - self.cutoffs[j], 0)
            found.append(grouped_losses(narrow, tail, None, zero, size, place, self.sparse))
        (short,) = as_product(hidden)
        size = torch.where(rank >= 0, self.weight.shape[0], 0)
        found.append(grouped_losses(short, self.weight, self.bias, zero, size, row.clamp(min=0), self.sparse))
        return torch.stack(found).sum(dim=0).reshape(batch.hidden.shape[0], many).sum(dim=1)

    def log_weight(self, hidden: Tensor) -> Tensor:
        """Return log P of all words: that in the short softmax, plus for a tail's words that in the tail."""
        head = widened(functional.linear(hidden, self.weight, self.bias)).log_softmax(dim=1)
        short = self.cutoffs[0]
        parts = [head[:, :short]]
        for j, (projection, tail) in enumerate(zip(self.projections, self.tails, strict=True)):
            scores = widened(functional.linear(functional.linear(hidden, projection), tail))
            parts.append(head[:, short + j, None] + scores.log_softmax(dim=1))
        return torch.cat(parts, dim=1)[:, self.rank]

    @torch.no_grad()
    def effective(self) -> OutputRows:
        """Return the rows of all words; a tail's rows are multiplied by its projection and have bias 0."""
        tails = [tail @ projection for projection, tail in zip(self.projections, self.tails, strict=True)]
        rows = torch.cat([self.weight, *tails])
        behind = rows.shape[0] - self.weight.shape[0]
        return OutputRows(rows, None if self.bias is None else functional.pad(self.bias, (0, behind)), None)

    @torch.no_grad()
    def begin(self, rows: OutputRows) -> None:
        """Set the rows of the short softmax; the tails' rows must be zero.

        Other rows cannot be split into a tail and its projection, because such factors are not unique.
        """
        self.check_rows(rows)
        top = self.weight.shape[0]
        if rows.out_vectors[top:].any():
            raise ConfigError(
                "adaptive: the rows of tails cannot be split into tails and projections; "
                "load a state_dict instead"
            )
        self.weight.copy_(rows.out_vectors[:top])
        for tail in self.tails:
            nn.init.zeros_(tail)
        if self.bias is not None and rows.out_bias is not None:
            self.bias.copy_(rows.out_bias[:top])
