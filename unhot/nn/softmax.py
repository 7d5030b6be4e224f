"""Heads of the layers that score all words at once: softmax, self_normalized, one_vs_all, infrequent.

Several true classes: of the softmax each is an example of its own, L = T log Z - sum_t s(t); one_vs_all takes
them for a set.
"""

import torch
from torch import Tensor
from torch.nn import functional

from unhot.nn.chunked import Penalty, chunked_total, sweep
from unhot.nn.head import OutputHead, head_for
from unhot.nn.head_arguments import FlatBatch
from unhot.nn.links import first_of_equals, no
from unhot.nn.number_types import as_product, wide
from unhot.outputs.infrequent import Infrequent
from unhot.outputs.one_vs_all import OneVsAll
from unhot.outputs.softmax import Softmax


@head_for(Softmax)
class SoftmaxHead(OutputHead):
    """Softmax over all words, a chunk of them at a time where there are more."""

    layer: Softmax
    scores_all_words = True
    smooths = True

    def losses(self, batch: FlatBatch) -> Tensor:
        """T (log Z + alpha log^2 Z) - sum_t s(t)."""
        label = batch.known.to(wide(batch.hidden.dtype))
        more, chunk = self._penalty(), self.layer.chunk
        if self._chunks():
            losses: Tensor = sweep(*self._operands(batch), label, batch.target, chunk, *more)[0]
            return losses
        scores = self.scores(batch.hidden)
        log_z, targets = scores.logsumexp(dim=1), label.sum(dim=1)
        alpha, e = more
        linear = (1 - e) * (label * scores.gather(1, batch.target)).sum(dim=1)
        linear = linear + e * targets * scores.mean(dim=1) if e else linear
        return targets * (log_z + alpha * log_z**2 if alpha else log_z) - linear

    def total(self, batch: FlatBatch, scale: Tensor) -> Tensor:
        """The scales are known, so gradients are made in the forward pass."""
        if not self._chunks():
            return super().total(batch, scale)
        label = batch.known * scale[:, None]
        return chunked_total(*self._operands(batch), label, batch.target, self.layer.chunk, self._penalty())

    def log_weight(self, hidden: Tensor) -> Tensor:
        """The score."""
        return self.scores(hidden)

    def _chunks(self) -> bool:
        return 0 < self.layer.chunk < self.words

    def _operands(self, batch: FlatBatch) -> tuple[Tensor, Tensor, Tensor | None]:
        hidden, weight = as_product(batch.hidden, self.weight)
        return hidden, weight, self.bias

    def _penalty(self) -> Penalty:
        return Penalty(self.layer.penalty(), self.label_smoothing)


@head_for(OneVsAll)
class OneVsAllHead(OutputHead):
    """A logistic regression for every word."""

    scores_all_words = True

    def losses(self, batch: FlatBatch) -> Tensor:
        """Sum over words of softplus(s), minus the scores of the set of targets."""
        scores = self.scores(batch.hidden)
        own = scores.gather(1, batch.target) * first_of_equals(batch.target, batch.known)
        return no(scores).sum(dim=1) - own.sum(dim=1)

    def log_weight(self, hidden: Tensor) -> Tensor:
        """Log sigmoid(s)."""
        return functional.logsigmoid(self.scores(hidden))


@head_for(Infrequent)
class InfrequentHead(OutputHead):
    """Of a batch of B examples, m = gamma B (at least one) have the penalty, times B / m.

    Which ones have it is drawn, or given as `draws` [m].
    """

    layer: Infrequent
    scores_all_words = True
    draws_noise = True

    def losses(self, batch: FlatBatch) -> Tensor:
        """T (minus the scores of the targets, plus alpha log^2 Z of the examples that were drawn)."""
        size, chosen = batch.hidden.shape[0], batch.draws
        linear = -(self.own_scores(batch) * batch.known).sum(dim=1)
        if chosen is None:
            chosen = torch.randperm(size, device=linear.device)[: max(1, round(self.layer.gamma * size))]
        log_z = self.scores(batch.hidden[chosen]).logsumexp(dim=1)
        weight = self.layer.alpha * size / max(1, chosen.shape[0])
        penalty = weight * log_z**2 * batch.known[chosen].sum(dim=1)
        return linear.index_add(0, chosen, penalty.to(linear.dtype))

    def drawn_from(self, batch: FlatBatch) -> int:
        """Draws are places in the batch."""
        return batch.hidden.shape[0]

    def log_weight(self, hidden: Tensor) -> Tensor:
        """The score without what it has more than log P at the optimum."""
        return self.scores(hidden) - self.layer.shift()
