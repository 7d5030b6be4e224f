"""The head of the class-based softmax: on every level a softmax over a range of rows."""

import torch
from torch import Tensor

from unhot.nn.grouped import grouped_losses
from unhot.nn.head import OutputHead, head_for
from unhot.nn.head_arguments import FlatBatch
from unhot.nn.number_types import as_product
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
