"""The head of the in-batch softmax: a matrix product of the batch with its own targets."""

import torch
from torch import Tensor

from unhot.nn.head import OutputHead, head_for
from unhot.nn.head_arguments import FlatBatch
from unhot.nn.links import masked
from unhot.nn.number_types import exact_type, widened
from unhot.outputs.in_batch import InBatch
from unhot.outputs.layer import log_share
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

    def losses(self, batch: FlatBatch) -> Tensor:
        """Return the loss of each example by the layer's formula; its own target is on the diagonal."""
        target, known = batch.target[:, 0], batch.known[:, 0]
        scores = widened(batch.hidden @ self.rows_of(target).T) + self.bias_of(target)
        if self.log_q.shape[0]:
            log_q = self.log_q[target]
        else:
            log_q = batch.seen[target].to(exact_type(target.device)).log()
        d = scores / self.layer.temperature - log_q.to(scores.dtype)  # [batch, batch]
        own = torch.eye(target.shape[0], dtype=torch.bool, device=target.device)
        gone = ~known.expand_as(own)
        if self.layer.hits == "drop":
            gone = gone | (target[:, None] == target)
        return masked(d, gone & ~own).logsumexp(dim=1) - d.diagonal()

    def log_weight(self, hidden: Tensor) -> Tensor:
        """Return the scores divided by the temperature, without the correction."""
        return self.scores(hidden) / self.layer.temperature
