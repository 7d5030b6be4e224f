"""Heads of layers that draw k noise words.

Negative, nce, sampled_logistic (logistic link) and sampled (softmax).

    d(w) = s(w) + offset(w) (+ in_bias - ln_z),   columns: the targets and the draws

Shared by a batch, the draws are k rows and a matrix product; drawn for each example they are [batch, k] rows.
Several true classes share the draws: every one of them has the label 1, and a draw that is one of them is a
hit. Softmax has one group for each.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from unhot.errors import ConfigError
from unhot.nn.flat_batch import Batch
from unhot.nn.head import OutputHead, Rows, head_for
from unhot.nn.links import first_of_equals, hits, masked, no, yes
from unhot.nn.noise import alias_tensors, draw_alias, draw_different, draw_weights, expected_different
from unhot.nn.number_types import wide, widened
from unhot.noise.expected import expected_counts
from unhot.outputs.drawn import DrawnLayer
from unhot.outputs.nce import NCE
from unhot.outputs.negative import NegativeSampling
from unhot.outputs.sampled import SampledSoftmax
from unhot.outputs.sampled_logistic import SampledLogistic
from unhot.types import Counts


@head_for(DrawnLayer)
class DrawnHead(OutputHead):
    """Logistic link over the targets and the draws."""

    layer: DrawnLayer
    draws_noise = True
    exact = ("threshold", "alias", "q", "offset", "log_expected")

    threshold: Tensor  # the alias table
    alias: Tensor
    q: Tensor  # float64 [words]: of different draws; otherwise empty
    offset: Tensor  # float64 [words], or empty: none
    # float64 [words]: of how often a word is drawn, zero if never; of negative sampling, otherwise empty
    log_expected: Tensor
    ln_z: nn.Parameter | None

    def make(self, counts: Counts) -> None:
        """The noise and the offsets."""
        super().make(counts)
        layer = self.layer
        self.learns = layer.noise == "learned"
        if self.learns:
            self.seen = torch.ones(self.words, dtype=torch.int64)
        q = layer.probability(counts)
        threshold, alias = alias_tensors(q)
        self.register_buffer("threshold", threshold, persistent=False)
        self.register_buffer("alias", alias, persistent=False)
        self.register_buffer("q", torch.from_numpy(q if layer.unique else q[:0].copy()), persistent=False)
        self.register_buffer("offset", torch.from_numpy(layer.offset(q).copy()), persistent=False)
        expected = (
            expected_counts(q, layer.k, unique=layer.unique) if isinstance(layer, NegativeSampling) else q[:0]
        )
        self.register_buffer(
            "log_expected", torch.from_numpy(np.log(np.where(expected > 0, expected, 1.0))), persistent=False
        )
        self.ln_z = nn.Parameter(torch.zeros(1)) if layer.biases().ln_z else None

    def reset_parameters(self) -> None:
        """Ln Z begins at zero."""
        super().reset_parameters()
        if self.ln_z is not None:
            nn.init.zeros_(self.ln_z)

    def effective(self) -> Rows:
        """With ln Z."""
        return super().effective()._replace(ln_z=None if self.ln_z is None else self.ln_z.detach())

    @torch.no_grad()
    def begin(self, rows: Rows) -> None:
        """With ln Z."""
        super().begin(rows)
        if self.ln_z is not None and rows.ln_z is not None:
            self.ln_z.copy_(rows.ln_z)

    def losses(self, batch: Batch) -> Tensor:
        """The formula of the layer."""
        true, drawn, draws = self.columns(batch)
        known = (
            first_of_equals(batch.target, batch.known)
            if isinstance(self.layer, SampledLogistic)
            else batch.known
        )
        wrong = no(drawn)
        if self.layer.drops_hits():
            wrong = wrong.masked_fill(hits(draws, batch.target, batch.known), 0.0)
        return (yes(true) * known).sum(dim=1) + wrong.sum(dim=1)

    def columns(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of the targets [batch, true] and of the draws [batch, k], and the draws."""
        q = self._learned(batch.seen) if self.learns else None
        draws = self._draw(batch, q) if batch.draws is None else batch.draws
        offset = self._offset(q)
        if draws.ndim == 1:  # one look-up, so that there is one gradient as large as the weight
            ids = torch.cat([batch.target.reshape(-1), draws])
            rows, many = self.rows_of(ids), batch.target.numel()
            true = torch.bmm(
                rows[:many].reshape(*batch.target.shape, self.dim), batch.hidden[:, :, None]
            ).squeeze(2)
            more = self._more(ids, offset)
            return (
                self._shift(widened(true) + more[:many].reshape(batch.target.shape), batch),
                self._shift(widened(batch.hidden @ rows[many:].T) + more[many:], batch),
                draws,
            )
        ids = torch.cat([batch.target, draws], dim=1)
        scores = torch.bmm(self.rows_of(ids), batch.hidden[:, :, None]).squeeze(2)
        true, drawn = self._shift(widened(scores) + self._more(ids, offset), batch).tensor_split(
            [batch.target.shape[1]], dim=1
        )
        return true, drawn, draws

    def _more(self, ids: Tensor, offset: Tensor) -> Tensor:
        """What the score of a word has beside the product: its bias and its offset."""
        more = self.bias_of(ids)
        return more + offset[ids].to(wide(self.weight.dtype)) if offset.shape[0] else more

    def _shift(self, scores: Tensor, batch: Batch) -> Tensor:
        """What all scores of an example have more."""
        scores = scores if self.ln_z is None else scores - self.ln_z
        return scores if batch.in_bias is None else scores + batch.in_bias[:, None]

    def _draw(self, batch: Batch, q: Tensor | None) -> Tensor:
        k = self.layer.k
        shape = (k,) if self.share == "batch" else (batch.hidden.shape[0], k)
        if self.layer.unique:
            return draw_different(self.q if q is None else q, shape)
        return draw_alias(self.threshold, self.alias, shape) if q is None else draw_weights(q, shape)

    def _learned(self, seen: Tensor) -> Tensor:
        """The noise by what was counted."""
        weights = seen.to(self.offset.dtype) ** self.layer.power
        return weights / weights.sum()

    def _offset(self, q: Tensor | None) -> Tensor:
        """Of each word; of learned noise as it is now."""
        if q is None or self.offset.shape[0] == 0:
            return self.offset
        return self._fixed() - self._expected(q).log()

    def _expected(self, q: Tensor) -> Tensor:
        """How often each word is drawn."""
        return expected_different(q, self.layer.k) if self.layer.unique else self.layer.k * q

    def _fixed(self) -> float:
        """What the offset holds beside the log of the expected count."""
        return (
            -self.layer.ln_z if isinstance(self.layer, NCE) and not isinstance(self.layer.ln_z, str) else 0.0
        )

    def log_weight(self, hidden: Tensor) -> Tensor:
        """Of negative sampling: see `outputs/negative.py`; nce: the score minus ln Z.

        Sampled_logistic: log sigmoid(s).
        """
        scores, layer = self.scores(hidden), self.layer
        if isinstance(layer, NCE):
            return scores + self._fixed() - (0.0 if self.ln_z is None else self.ln_z)
        if isinstance(layer, SampledLogistic):
            return functional.logsigmoid(scores)
        if not isinstance(layer, NegativeSampling):
            raise ConfigError(
                f"{layer.name}: has no log_weight in torch; derive a head from DrawnHead that has one"
            )
        log_expected = self._expected(self._learned(self.seen)).log() if self.learns else self.log_expected
        shifted = scores + log_expected.to(scores.dtype)
        return shifted if layer.hits == "keep" else functional.logsigmoid(shifted)


@head_for(SampledSoftmax)
class SampledHead(DrawnHead):
    """Softmax over each target and the draws."""

    layer: SampledSoftmax

    def losses(self, batch: Batch) -> Tensor:
        """The formula of the layer, for each target."""
        true, drawn, draws = self.columns(batch)
        if self.layer.hits == "keep":
            others = drawn.logsumexp(dim=1, keepdim=True)  # [batch, 1]
        elif batch.target.shape[1] == 1:
            others = masked(drawn, hits(draws, batch.target, batch.known)).logsumexp(dim=1, keepdim=True)
        else:  # each target loses its own hits
            same = draws.reshape(-1, 1, draws.shape[-1]) == batch.target[:, :, None]  # [batch, true, k]
            others = masked(drawn[:, None, :].expand(same.shape), same).logsumexp(dim=2)
        return ((torch.logaddexp(true, others) - true) * batch.known).sum(dim=1)

    def log_weight(self, hidden: Tensor) -> Tensor:
        """The score."""
        return self.scores(hidden)
