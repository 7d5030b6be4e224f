"""The exact loss of a layer over a whole text, computed from pair counts without random draws.

The skip-gram loss of a text depends only on how often each input i occurs with each target j. With X[i, j]
such pairs, N_i the sum of row i, and scores s[i, j]:

    softmax     L = sum_i N_i (log Z_i + alpha log^2 Z_i) - sum_ij X s,   Z_i = sum_j exp s[i, j]
                dL/ds = N_i (1 + 2 alpha log Z_i) p - X
    logistic    L = sum_ij W softplus(d) - X d,   d = s + offset_j,   W = X + c_j (N_i - hits X)
                dL/ds = W sigmoid(d) - X

c_j = k q_j is how often word j is expected among the draws of one pair; `hits` is 1 if draws that hit the
target are dropped, else 0. This is the expectation of the loss of negative sampling. nce and sampled_logistic
have offsets. one_vs_all is the case c_j = 1, as if every word were drawn once.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from unhot.types import Doubles, Floats, Starts


class RowCells(NamedTuple):
    """The cells of a block of rows."""

    at: Starts  # [cells] positions in the flattened scores of the block: row V + column
    value: Floats  # [cells] X
    total: Doubles  # [rows] N_i


class CountLoss(Protocol):
    """The loss of a layer as a function of a block of scores."""

    def link(self, scores: Floats, cells: RowCells) -> float:
        """Return the loss of a block of scores [rows, words], and overwrite the scores with dL/ds."""


@dataclass(frozen=True)
class SoftmaxLoss:
    """The loss of softmax and self_normalized."""

    alpha: float

    @np.errstate(over="ignore", invalid="ignore")  # a loss that is not finite ends the training
    def link(self, scores: Floats, cells: RowCells) -> float:
        """Compute loss and gradients by the softmax formula above."""
        flat = scores.reshape(-1)
        linear = float(np.dot(flat[cells.at].astype(np.float64), cells.value))
        top = scores.max(axis=1)
        np.subtract(scores, top[:, None], out=scores)
        np.exp(scores, out=scores)
        z = scores.sum(axis=1, dtype=np.float64)
        log_z = np.log(z) + top
        scores *= (cells.total * (1.0 + 2.0 * self.alpha * log_z) / z).astype(np.float32)[:, None]
        flat[cells.at] -= cells.value
        return float(cells.total @ (log_z + self.alpha * log_z**2)) - linear


@dataclass(frozen=True)
class LogisticLoss:
    """The loss of all layers with a logistic link."""

    expected: Floats  # [words] c
    drops_hits: bool
    offset: Floats  # [words], or empty: none

    @np.errstate(over="ignore", invalid="ignore")  # a loss that is not finite ends the training
    def link(self, scores: Floats, cells: RowCells) -> float:
        """Compute loss and gradients by the logistic formula above."""
        if self.offset.size:
            scores += self.offset
        flat, column = scores.reshape(-1), cells.at % scores.shape[1]
        own = cells.value * (1.0 - self.expected[column]) if self.drops_hits else cells.value  # W - c N
        linear = float(np.dot(flat[cells.at].astype(np.float64), cells.value))
        softplus, sigmoid = softplus_and_sigmoid(scores), scores
        loss = float(np.dot(own.astype(np.float64), softplus.reshape(-1)[cells.at])) - linear
        softplus *= self.expected
        loss += float(cells.total @ softplus.sum(axis=1, dtype=np.float64))
        own = own * flat[cells.at] - cells.value
        sigmoid *= self.expected
        sigmoid *= cells.total.astype(np.float32)[:, None]
        flat[cells.at] += own
        return loss


def softplus_and_sigmoid(scores: Floats) -> Floats:
    """Return log(1 + exp s) of scores, and overwrite the scores with sigmoid(s).

    Both are exact to the last bits even where they are tiny: log(1 + e) = log(u) + (e - (u - 1)) / u, where
    u is 1 + e rounded.
    """
    e = np.abs(scores)
    np.negative(e, out=e)
    np.exp(e, out=e)
    u = e + np.float32(1.0)
    out: Floats = e - (u - np.float32(1.0))
    out /= u
    out += np.log(u)
    positive = scores > 0
    out += np.maximum(scores, np.float32(0.0))
    np.copyto(e, np.float32(1.0), where=positive)
    np.divide(e, u, out=scores)
    return out
