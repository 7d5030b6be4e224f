"""Heads of the layers whose columns come with the examples: the targets of a batch, the words of a part."""

import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn import functional

from unhot.errors import ConfigError, DataError
from unhot.nn.classes import check_whole
from unhot.nn.head import OutputHead, head_for
from unhot.nn.head_arguments import FlatBatch
from unhot.nn.links import masked
from unhot.nn.number_types import exact_type, widened
from unhot.outputs.in_batch import InBatch
from unhot.outputs.layer import log_share
from unhot.outputs.mixed import Mixed
from unhot.outputs.partition import Partition
from unhot.types import Counts


@head_for(InBatch)
class InBatchHead(OutputHead):
    """A softmax over the targets of the batch, without those of ignored examples."""

    layer: InBatch
    many_true = False

    log_q: Tensor  # float64 [words]: the log of each word's share; empty for q=streaming

    def make(self, counts: Counts) -> None:
        """Make the parameters, and the frequencies of words as targets."""
        super().make(counts)
        streams = self.layer.q == "streaming"
        if streams:
            self.seen = torch.ones(self.words, dtype=torch.int64)
        self.keep(log_q=torch.from_numpy(log_share(counts)[: 0 if streams else None].copy()))

    def draw(self, batch: FlatBatch) -> Tensor:
        """Return the draws that are further columns: of all examples [k], or of each [batch, k]."""
        return batch.target.new_empty(0)

    def losses(self, batch: FlatBatch) -> Tensor:
        """Return the loss of each example by the layer's formula; its own target is on the diagonal."""
        scores, ids = self.columns(batch)
        target, known = batch.target[:, 0], batch.known[:, 0]
        d = self.tempered(scores)  # [batch, columns]
        if self.layer.correct:
            d = d - self.log_c(ids, batch.seen, known.sum().clamp(min=1)).to(d.dtype)
        own = torch.eye(*d.shape, dtype=torch.bool, device=d.device)
        gone = functional.pad(~known, (0, d.shape[1] - d.shape[0]))
        if self.layer.hits == "drop":
            gone = gone | (target[:, None] == ids)
        return masked(d, gone & ~own).logsumexp(dim=1) - d.diagonal()

    def columns(self, batch: FlatBatch) -> tuple[Tensor, Tensor]:
        """Return the scores of the targets of the batch and of the draws [batch, columns], and their ids."""
        target, draws = batch.target[:, 0], self.draw(batch)
        hidden = self.unit(batch.hidden)
        rows = self.rows_of(torch.cat([target, draws.reshape(-1)]))  # one look-up, see `DrawnHead.columns`
        if draws.ndim == 1:
            ids, products = torch.cat([target, draws]), hidden @ rows.T
        else:
            shared, drawn = rows[: target.shape[0]], rows[target.shape[0] :].reshape(*draws.shape, self.dim)
            ids = torch.cat([target.expand(draws.shape[0], -1), draws], dim=1)
            products = torch.cat([hidden @ shared.T, torch.bmm(drawn, hidden[:, :, None]).squeeze(2)], dim=1)
        return widened(products) + self.bias_of(ids), ids

    def log_c(self, ids: Tensor | slice, seen: Tensor, size: Tensor | None = None) -> Tensor:
        """Return log c of words up to a constant, here log q.

        size   the number of targets of the batch, if c depends on it; None: as the settings say
        """
        return self.log_q[ids] if self.log_q.shape[0] else seen[ids].to(exact_type(seen.device)).log()

    def log_weight(self, hidden: Tensor) -> Tensor:
        """Return the scores divided by the temperature, plus the log c that was not subtracted."""
        weight = self.tempered(self.scores(hidden))
        if self.layer.correct:
            return weight
        return weight + self.log_c(slice(None), self.seen).to(weight.dtype)


@head_for(Mixed)
class MixedHead(InBatchHead):
    """A softmax over the targets of the batch and uniform draws."""

    layer: Mixed
    draws_noise = True

    def draw(self, batch: FlatBatch) -> Tensor:
        """Return the given draws, or uniform ones."""
        if batch.draws is not None:
            return batch.draws
        shape = (self.layer.k,) if self.share == "batch" else (batch.hidden.shape[0], self.layer.k)
        return torch.randint(self.words, shape, device=batch.target.device)

    def log_c(self, ids: Tensor | slice, seen: Tensor, size: Tensor | None = None) -> Tensor:
        """Return log((B - 1) q + k / V) of words."""
        q = super().log_c(ids, seen).exp() / seen.sum().clamp(min=1)  # q=counts sees nothing, and is a share
        others = (self.layer.batch if size is None else size) - 1
        return (others * q + self.layer.k / self.words).log()


@head_for(Partition)
class PartitionHead(OutputHead):
    """A softmax over each target and the words of the current part.

    >>> head = OutputHead("partition:size=3", dim=2, counts=[4, 3, 2, 1])
    >>> head.set_partition([2, 0])
    >>> head(torch.zeros(5, 2), torch.full((5,), 2)).shape
    torch.Size([])
    """

    layer: Partition
    draws_noise = True  # `draws` gives the words of a part, in place of those of `set_partition`

    # int64 [size], padded with -1; not a buffer, because DDP would copy the first process's to all
    part: Tensor | None = None

    def set_partition(self, ids: ArrayLike | Tensor) -> None:
        """Set the different words of the next part of the text.

        `unhot.outputs.partition.partitions` cuts a text into such parts.
        """
        given = torch.as_tensor(ids).reshape(-1)
        if given.numel():
            check_whole("a part", given)
        given, most = given.long().unique(), min(self.layer.size, self.words)
        if given.numel() > most:
            raise ConfigError(
                f"a part of {given.numel()} different words: must have at most {most}; raise partition:size"
            )
        if given.numel() and not (given.min() >= 0 and given.max() < self.words):
            raise DataError(
                f"a part with ids {int(given.min())} to {int(given.max())}: ids must be 0 to {self.words - 1}"
            )
        filled = functional.pad(given, (0, most - given.numel()), value=-1)
        self.part = filled.to(self.weight.device)

    def losses(self, batch: FlatBatch) -> Tensor:
        """Return the loss of each example by the layer's formula, summed over its targets."""
        part = self.part if batch.draws is None else batch.draws.sort().values
        if part is None:
            raise DataError("partition: first call set_partition with the words of this part of the text")
        if part.ndim != 1:
            raise DataError("partition: all examples share one set of words; give draws of shape [n]")
        part = part.to(batch.target.device)
        # a word that occurs twice is one column
        there = (part >= 0) & (part.diff(prepend=part.new_full((1,), -1)) != 0)
        ids = torch.where(there, part, 0)
        scores = widened(batch.hidden @ self.rows_of(ids).T) + self.bias_of(ids)  # [batch, n]
        own = self.own_scores(batch)
        gone = ~there | (part == batch.target[:, :, None])  # [batch, true, n]
        others = masked(scores[:, None, :].expand(gone.shape), gone).logsumexp(dim=2)
        return ((torch.logaddexp(own, others) - own) * batch.known).sum(dim=1)
