"""Heads of the layers that draw k noise words.

negative, nce and sampled_logistic have a logistic link, sampled has a softmax link:

    d(w) = s(w) / temperature + offset(w) (+ in_bias - ln_z),   columns: the targets and the draws

If a batch shares the draws, they are k rows and one matrix product; if each example has its own draws, they
are [batch, k] rows. Several true classes of an example share the draws: each true class has the label 1, and
a draw that is one of them is a hit. With the softmax link, each true class has its own softmax.
"""

import torch
from torch import Tensor
from torch.nn import functional

from unhot.errors import whole
from unhot.nn.head import OutputHead, head_for
from unhot.nn.head_arguments import FlatBatch
from unhot.nn.links import first_of_equals, hits, masked, no, yes
from unhot.nn.noise import alias_tensors, draw_alias, draw_different, draw_weights, expected_different
from unhot.nn.number_types import wide, widened
from unhot.outputs.drawn import MAX_K, DrawnLayer
from unhot.outputs.sampled import SampledSoftmax
from unhot.types import Counts


@head_for(DrawnLayer)
class DrawnHead(OutputHead):
    """A logistic link over the targets and the draws."""

    layer: DrawnLayer
    draws_noise = True

    threshold: Tensor  # the alias table, see `alias_tensors`
    alias: Tensor
    q: Tensor  # float64 [words]: the noise, for distinct draws; otherwise empty
    offset: Tensor  # float64 [words]: added to the scores; empty: no offset
    shift: Tensor  # float64 [words] or [1]: log P - s of trained scores, see `DrawnLayer.shift`

    def make(self, counts: Counts) -> None:
        """Make the parameters, the noise and the offsets."""
        super().make(counts)
        layer = self.layer
        whole(f"{layer.name}:k", layer.k, 1, max(MAX_K, self.words))
        self.learns = layer.noise == "learned"
        if self.learns:
            self.seen = torch.ones(self.words, dtype=torch.int64)
        q = layer.probability(counts)
        threshold, alias = alias_tensors(q)
        self.keep(threshold=threshold, alias=alias)
        self.keep(q=torch.from_numpy(q if layer.unique else q[:0].copy()))
        self.keep(offset=torch.from_numpy(layer.offset(q)), shift=torch.from_numpy(layer.shift(counts)))

    def losses(self, batch: FlatBatch) -> Tensor:
        """Return the loss of each example by the layer's formula."""
        true, drawn, draws = self.columns(batch)
        known = first_of_equals(batch.target, batch.known) if self.layer.target_set else batch.known
        wrong = no(drawn)
        if self.layer.drops_hits():
            wrong = wrong.masked_fill(hits(draws, batch.target, batch.known), 0.0)
        return (yes(true) * known).sum(dim=1) + wrong.sum(dim=1)

    def columns(self, batch: FlatBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Return the scores of the targets [batch, true] and of the draws [batch, k], and the draws."""
        q = self._learned(batch.seen) if self.learns else None
        draws = self._draw(batch, q) if batch.draws is None else batch.draws
        offset = self.offset
        if q is not None and offset.shape[0]:
            offset = -self.layer.fixed_ln_z() - self._expected(q).log()
        target, hidden = batch.target, self.unit(batch.hidden)[:, :, None]
        if draws.ndim == 1:  # one look-up, so that only one gradient as large as the weight is made
            ids = torch.cat([target.reshape(-1), draws])
            rows, many = self.rows_of(ids), target.numel()
            more = self._more(ids, offset)
            true = torch.bmm(rows[:many].reshape(*target.shape, self.dim), hidden).squeeze(2)
            true = self.tempered(widened(true)) + more[:many].reshape(target.shape)
            drawn = self.tempered(widened(hidden[:, :, 0] @ rows[many:].T)) + more[many:]
            return self._shift(true, batch), self._shift(drawn, batch), draws
        ids = torch.cat([target, draws], dim=1)
        scores = self.tempered(widened(torch.bmm(self.rows_of(ids), hidden).squeeze(2)))
        scores = scores + self._more(ids, offset)
        true, drawn = self._shift(scores, batch).tensor_split([target.shape[1]], dim=1)
        return true, drawn, draws

    def _more(self, ids: Tensor, offset: Tensor) -> Tensor:
        """Return what is added to the product of each row: bias / temperature + offset."""
        more = self.tempered(widened(self.bias_of(ids)))
        return more + offset[ids].to(wide(self.weight.dtype)) if offset.shape[0] else more

    def _shift(self, scores: Tensor, batch: FlatBatch) -> Tensor:
        """Add the terms that all scores of an example share: -ln_z and in_bias."""
        scores = scores if self.ln_z is None else scores - self.ln_z
        return scores if batch.in_bias is None else scores + batch.in_bias[:, None]

    def _draw(self, batch: FlatBatch, q: Tensor | None) -> Tensor:
        k = self.layer.k
        shape = (k,) if self.share == "batch" else (batch.hidden.shape[0], k)
        if self.layer.unique:
            return draw_different(self.q if q is None else q, shape)
        return draw_alias(self.threshold, self.alias, shape) if q is None else draw_weights(q, shape)

    def _learned(self, seen: Tensor) -> Tensor:
        """Return the learned noise, in proportion to the counts of targets ** power."""
        weights = seen.to(self.offset.dtype) ** self.layer.power
        return weights / weights.sum()

    def _expected(self, q: Tensor) -> Tensor:
        """Return how often each word is expected among the draws."""
        return expected_different(q, self.layer.k) if self.layer.unique else self.layer.k * q

    def log_weight(self, hidden: Tensor) -> Tensor:
        """Return log P of all words, from the limit of trained scores (see `DrawnLayer.shift`)."""
        scores, shift = self.tempered(self.scores(hidden)), self.shift
        if self.learns and not self.offset.shape[0]:
            shift = self._expected(self._learned(self.seen)).log()
        scores = scores + shift.to(scores.dtype)
        scores = scores if self.ln_z is None else scores - self.ln_z
        return functional.logsigmoid(scores) if self.layer.drops_hits() else scores


@head_for(SampledSoftmax)
class SampledHead(DrawnHead):
    """A softmax over each target and the draws."""

    layer: SampledSoftmax

    def losses(self, batch: FlatBatch) -> Tensor:
        """Return the loss of each example by the layer's formula, summed over its targets."""
        true, drawn, draws = self.columns(batch)
        if self.layer.hits == "keep":
            others = drawn.logsumexp(dim=1, keepdim=True)  # [batch, 1]
        elif batch.target.shape[1] == 1:
            others = masked(drawn, hits(draws, batch.target, batch.known)).logsumexp(dim=1, keepdim=True)
        else:  # each target loses its own hits
            same = draws.reshape(-1, 1, draws.shape[-1]) == batch.target[:, :, None]  # [batch, true, k]
            others = masked(drawn[:, None, :].expand(same.shape), same).logsumexp(dim=2)
        return ((torch.logaddexp(true, others) - true) * batch.known).sum(dim=1)
