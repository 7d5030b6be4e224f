"""Heads of the layers that score all words at once.

They are those of softmax, self_normalized, one_vs_all, infrequent and differentiated.

For the softmax, T true classes count as T examples: L = T log Z - sum_t s(t). For one_vs_all, they are a set,
in which each class counts once.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from unhot.nn.chunked import Penalty, chunked_total, losses_of, sweep
from unhot.nn.head import OutputHead, OutputRows, head_for
from unhot.nn.head_arguments import FlatBatch
from unhot.nn.links import first_of_equals, no
from unhot.nn.number_types import as_product, wide, widened
from unhot.outputs.differentiated import Differentiated
from unhot.outputs.infrequent import Infrequent
from unhot.outputs.one_vs_all import OneVsAll
from unhot.outputs.softmax import Softmax
from unhot.types import Counts


@head_for(Softmax)
class SoftmaxHead(OutputHead):
    """Softmax over all words, computed from a part of the scores at a time."""

    layer: Softmax
    scores_all_words = True
    smooths = True

    def losses(self, batch: FlatBatch) -> Tensor:
        """Return the loss of each example: T (log Z + alpha log^2 Z) - sum_t s(t)."""
        label = batch.known.to(wide(batch.hidden.dtype))
        more, chunk = self._penalty(), self.layer.chunk
        if 0 < chunk < self.words:
            losses: Tensor = sweep(*self._operands(batch), label, batch.target, chunk, *more)[0]
            return losses
        return losses_of(self.scores(batch.hidden), label, batch.target, more)

    def total(self, batch: FlatBatch, scale: Tensor) -> Tensor:
        """Return the scaled sum of the losses; the scales are known, so the forward pass makes gradients."""
        if self.layer.chunk == 0:
            return super().total(batch, scale)
        label = batch.known * scale[:, None]
        return chunked_total(*self._operands(batch), label, batch.target, self.layer.chunk, self._penalty())

    def _operands(self, batch: FlatBatch) -> tuple[Tensor, Tensor, Tensor | None]:
        hidden, weight = as_product(batch.hidden, self.weight)
        return hidden, weight, self.bias

    def _penalty(self) -> Penalty:
        return Penalty(self.layer.penalty(), self.label_smoothing or self.layer.smoothing)


@head_for(OneVsAll)
class OneVsAllHead(OutputHead):
    """A logistic regression for every word."""

    scores_all_words = True

    def losses(self, batch: FlatBatch) -> Tensor:
        """Return the loss of each example: sum_w softplus(s(w)), minus the scores of the set of targets."""
        scores = self.scores(batch.hidden)
        own = scores.gather(1, batch.target) * first_of_equals(batch.target, batch.known)
        return no(scores).sum(dim=1) - own.sum(dim=1)

    def log_weight(self, hidden: Tensor) -> Tensor:
        """Return log sigmoid(s) of all words."""
        return functional.logsigmoid(self.scores(hidden))


@head_for(Infrequent)
class InfrequentHead(OutputHead):
    """The loss -s(t), plus a penalty on log^2 Z for some examples of a batch.

    Of B examples, m = gamma B (at least one) have the penalty, multiplied by B / m. They are drawn at random,
    or given as `draws` [m].
    """

    layer: Infrequent
    scores_all_words = True
    draws_noise = True

    def losses(self, batch: FlatBatch) -> Tensor:
        """Return the loss of each example: -sum_t s(t), plus T (B / m) alpha log^2 Z if it was drawn."""
        size, chosen = batch.hidden.shape[0], batch.draws
        linear = -(self.own_scores(batch) * batch.known).sum(dim=1)
        if chosen is None:
            chosen = torch.randperm(size, device=linear.device)[: max(1, round(self.layer.gamma * size))]
        log_z = self.scores(batch.hidden[chosen]).logsumexp(dim=1)
        weight = self.layer.alpha * size / max(1, chosen.shape[0])
        penalty = weight * log_z**2 * batch.known[chosen].sum(dim=1)
        return linear.index_add(0, chosen, penalty.to(linear.dtype))

    def drawn_from(self, batch: FlatBatch) -> int:
        """Return the size of the batch: draws are positions in the batch."""
        return batch.hidden.shape[0]

    def log_weight(self, hidden: Tensor) -> Tensor:
        """Return the scores minus the shift, by which they exceed log P at the optimum."""
        return self.scores(hidden) - self.layer.shift()


@head_for(Differentiated)
class DifferentiatedHead(OutputHead):
    """One softmax over all bands; the weight of a band is [words of the band, width of its slice]."""

    layer: Differentiated
    scores_all_words = True
    untied = "its rows are narrower than the embedding's"

    order: Tensor  # int64 [words]: the ids by rank
    rank: Tensor  # int64 [words]: the rank of each id

    def make(self, counts: Counts) -> None:
        """Make the weights of the bands."""
        bands = self.layer.bands(counts, self.dim)
        self.slices = [(band.first, band.last) for band in bands]
        self.weights = nn.ParameterList(
            nn.Parameter(torch.empty(band.ids.size, band.last - band.first)) for band in bands
        )
        self.bias = nn.Parameter(torch.empty(self.words)) if self.layer.bias else None
        order = torch.cat([torch.from_numpy(band.ids.astype("int64")) for band in bands])
        self.keep(order=order, rank=order.argsort())

    def matrices(self) -> list[nn.Parameter]:
        """Return the weights of the bands; each starts as that of a linear layer."""
        return list(self.weights)

    def scores(self, hidden: Tensor) -> Tensor:
        """Return the scores of all words by rank, each band from its slice: [batch, words]."""
        parts = [
            functional.linear(hidden[:, first:last], weight)
            for (first, last), weight in zip(self.slices, self.weights, strict=True)
        ]
        scores = widened(torch.cat(parts, dim=1))
        return scores if self.bias is None else scores + self.bias[self.order]

    def losses(self, batch: FlatBatch) -> Tensor:
        """Return the loss of each example: T log Z - sum_t s(t)."""
        scores = self.scores(batch.hidden)
        own = scores.gather(1, self.rank[batch.target])
        return ((scores.logsumexp(dim=1, keepdim=True) - own) * batch.known).sum(dim=1)

    def log_weight(self, hidden: Tensor) -> Tensor:
        """Return the scores of all words by id."""
        return self.scores(hidden)[:, self.rank]

    @torch.no_grad()
    def effective(self) -> OutputRows:
        """Return the rows of all words, with zeros outside their slices."""
        rows = self.weights[0].new_zeros(self.words, self.dim)
        for ids, (first, last), weight in self._bands():
            rows[ids, first:last] = weight
        return OutputRows(rows, None if self.bias is None else self.bias.detach(), None)

    @torch.no_grad()
    def begin(self, rows: OutputRows) -> None:
        """Set the weights from a matrix of output vectors; numbers outside the slices are ignored."""
        self.check_rows(rows)
        for ids, (first, last), weight in self._bands():
            weight.copy_(rows.out_vectors[ids.to(rows.out_vectors.device), first:last])
        if self.bias is not None and rows.out_bias is not None:
            self.bias.copy_(rows.out_bias)

    def _bands(self) -> list[tuple[Tensor, tuple[int, int], nn.Parameter]]:
        words = self.order.split([weight.shape[0] for weight in self.weights])
        return list(zip(words, self.slices, self.weights, strict=True))
