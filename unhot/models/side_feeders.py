"""The examples of items that are made of several rows: their own, and those of their side values.

    h_v = sum over the rows j of item v of w_j x_j,    w = softmax(a_v), learned (EGES), or 1 / n (GES)

The centre of a window predicts the items around it. Rows and weights move by their exact gradients:

    dL/dx_j = w_j dL/dh,    dL/da_v^j = w_j (x_j - h_v) . dL/dh
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.bags import Bags, fetch_bag, put_bag
from unhot.kernels.feeder import Bag, MixedBag, fetch, input_of, ones_at, prepare, targets_of
from unhot.kernels.window_feeder import context_targets_with_draws, prepare_windows
from unhot.kernels.windows import Window, contexts_of
from unhot.types import Doubles


class WeightedFeeder(NamedTuple):
    """Examples whose centre is a mean with learned weights."""

    text: Any
    window: Window
    bags: Bags
    rate: Any  # float32: the learning rate of the weights, relative to that of the rows


class MeanFeeder(NamedTuple):
    """Examples whose centre is a plain mean."""

    text: Any
    window: Window
    bags: Bags


def reference(rows: Doubles, mixing: Doubles, out: Doubles, labels: Doubles) -> tuple[Doubles, ...]:
    """Compute a step with the logistic link: the loss, and its gradients for rows, mixing and columns.

    rows [n, dim]; mixing [n], or empty for the plain mean; out [columns, dim]; labels [columns] 1 or 0

    >>> loss, *gradients = reference(np.eye(2), np.zeros(2), np.ones((1, 2)), np.ones(1))
    >>> float(loss.round(4)), gradients[0].round(4).tolist()
    (0.3133, [[-0.1345, -0.1345], [-0.1345, -0.1345]])
    """
    powers = np.exp(mixing - mixing.max()) if mixing.size else np.ones(len(rows))
    w = powers / powers.sum()
    h = w @ rows
    scores = out @ h
    loss = (np.logaddexp(0.0, scores) - labels * scores).sum()
    error = 1.0 / (1.0 + np.exp(-scores)) - labels
    step = error @ out
    return loss, np.outer(w, step), w * ((rows - h) @ step), np.outer(error, h)


for _feeder in (WeightedFeeder, MeanFeeder):
    prepare.register(_feeder)(prepare_windows)
    targets_of.register(_feeder)(context_targets_with_draws)


@fetch.register(MeanFeeder)
@fetch.register(WeightedFeeder)
def _fetch_centre(feeder: Any, shape: Any, params: Any, scratch: Any, place: Any, how: Any) -> None:
    fetch_bag(shape, params, feeder.bags, scratch.feed.word[place], how.hot)


@input_of.register(MeanFeeder)
def _mean(feeder: Any, shape: Any, scratch: Any, centre: Any, how: Any) -> Any:
    inputs, contexts = scratch.inputs, contexts_of(scratch.feed, centre)
    count = 0
    if contexts > 0:
        count = put_bag(feeder.bags, scratch.feed.word[centre], how.hot, inputs, 0)
    share = np.float32(1.0) / np.float32(max(count, 1))
    return Bag(count, ones_at(inputs, count), contexts, share, share, np.float32(1.0))


@input_of.register(WeightedFeeder)
def _weighted(feeder: Any, shape: Any, scratch: Any, centre: Any, how: Any) -> Any:
    inputs, contexts = scratch.inputs, contexts_of(scratch.feed, centre)
    bags, word = feeder.bags, scratch.feed.word[centre]
    at, times = bags.starts[word], inputs.times.size // 2
    count = 0
    if contexts > 0:
        count = put_bag(bags, word, how.hot, inputs, 0)
    highest, total = np.float32(-np.inf), np.float32(0.0)
    for j in range(count):
        highest = max(highest, bags.mixing[at + j])
    for j in range(count):
        inputs.times[times + j] = np.exp(bags.mixing[at + j] - highest)
    for j in range(count):  # a loop of its own, see `_put_rows` of line_engine.py
        total += inputs.times[times + j]
    for j in range(count):
        inputs.times[times + j] /= total
    one = np.float32(1.0)
    return MixedBag(count, times, contexts, one, one, one, bags.mixing, at, feeder.rate)
