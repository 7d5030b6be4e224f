"""The head of the partitioned softmax: the words of the part of the text at hand, set before it is read."""

from __future__ import annotations

import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn import functional

from unhot.errors import ConfigError, DataError
from unhot.nn.classes import check_whole
from unhot.nn.flat_batch import Batch
from unhot.nn.head import OutputHead, head_for
from unhot.nn.links import masked
from unhot.nn.number_types import widened
from unhot.outputs.partition import Partition
from unhot.types import Counts


@head_for(Partition)
class PartitionHead(OutputHead):
    """Softmax over each target and the words of the part.

    >>> head = OutputHead("partition:size=3", dim=2, counts=[4, 3, 2, 1])
    >>> head.set_partition([2, 0])
    >>> head(torch.zeros(5, 2), torch.full((5,), 2)).shape
    torch.Size([])
    """

    layer: Partition
    draws_noise = True  # `draws` is a part's set, in place of the one that was set

    part: Tensor  # int64 [size], filled up with -1

    def make(self, counts: Counts) -> None:
        """No set yet."""
        super().make(counts)
        # no buffer: DDP would give all processes the first one's
        self.part = torch.full((min(self.layer.size, self.words),), -1)
        self.ready = False

    def set_partition(self, ids: ArrayLike | Tensor) -> None:
        """The different words of the part of the text that comes now (`unhot.outputs.partition.partitions` cuts a text into such parts)."""
        given = torch.as_tensor(ids).reshape(-1)
        if given.numel():
            check_whole("a part", given)
        given = given.long().unique()
        if given.numel() > self.part.numel():
            raise ConfigError(
                f"a part of {given.numel()} different words: must have at most {self.part.numel()}; raise "
                "partition:size"
            )
        if given.numel() and not (given.min() >= 0 and given.max() < self.words):
            raise DataError(
                f"a part with ids {int(given.min())} to {int(given.max())}: ids are 0 to {self.words - 1}"
            )
        self.part = functional.pad(given, (0, self.part.numel() - given.numel()), value=-1).to(
            self.weight.device
        )
        self.ready = True

    def losses(self, batch: Batch) -> Tensor:
        """The formula of the layer, for each target."""
        if batch.draws is None and not self.ready:
            raise DataError("partition: call set_partition with the words of this part of the text first")
        if batch.draws is not None and batch.draws.ndim != 1:
            raise DataError("partition: all examples have the same set, draws [n]")
        part = self.part.to(batch.target.device) if batch.draws is None else batch.draws.sort().values
        # a word that is there twice is one column
        there = (part >= 0) & (part.diff(prepend=part.new_full((1,), -1)) != 0)
        ids = torch.where(there, part, 0)
        scores = widened(batch.hidden @ self.rows_of(ids).T) + self.bias_of(ids)  # [batch, n]
        own = widened(torch.bmm(self.rows_of(batch.target), batch.hidden[:, :, None])).squeeze(
            2
        ) + self.bias_of(batch.target)
        gone = ~there | (part == batch.target[:, :, None])  # [batch, true, n]
        others = masked(scores[:, None, :].expand(gone.shape), gone).logsumexp(dim=2)
        return ((torch.logaddexp(own, others) - own) * batch.known).sum(dim=1)

    def log_weight(self, hidden: Tensor) -> Tensor:
        """The score."""
        return self.scores(hidden)
