"""Windows over words or items that are bags of rows.

fastText. A word is the bag of its own row and those of its n-grams:

    combine    a word with n rows     cbow, w words with N rows around a centre
    mean       h = 1/n sum of x[r]    h = 1/N sum of x[r]: the mean of all rows, so long words count more
    sum        h = sum of x[r]        h = 1/w sum of x[r]: the mean of the words

`combine` is about the rows of a word. The words of a window are averaged in either case.

Mean. A row that occurs m times in a bag has the gradient m/n dL/dh. Rows move by n^2 / S times that, where S
is the sum of m^2 over the different rows of the bag, n without repeats. So h moves by lr dL/dh whether a word
has 3 letters or 20 and whether its n-grams repeat or not, and the learning rate means the same for short
words, long words and the output. fastText moves rows by m lr dL/dh, which is the same without repeats. With
repeats h would move by S/n times the step, which diverges for words like "-----------".

Sum. Rows move by their gradient: dL/dh, in cbow 1/w dL/dh. So h moves by n lr dL/dh, in cbow by N/w^2 of it.
Output rows move by lr dL/do as ever. Scores h . o stay the same if h is multiplied by a number and o divided
by it. With the number that makes both sides move at the same rate, that rate is lr sqrt(n): so the sum
needs a rate about sqrt(n) times lower than the mean, not n times. A usual word of a text has n = 14, and a
quarter of the rate gives the same losses, epoch by epoch (`RATES` in fasttext.py).

A word is the sum over the *set* of its rows, as in the paper. If a row that occurs m times in a word counted
m times, the gradient would be m dL/dh, and any step of another word that has this row would move h by m such
steps. Then one word of 400 hyphens makes a training diverge, however short the word's own steps are.

A word of hundreds of letters has so many rows that n lr is too long a step. So where the gradient step would
move h by more than FARTHEST times lr dL/dh, the rows of the bag take the part of the step that moves h so
far. That keeps the direction of the gradient, and words of up to 30 letters never notice.

EGES and GES. An item is the bag of its own row and those of its side values:

    h_v = sum over the rows j of item v of w_j x_j,    w = softmax(a_v), learned (EGES), or 1 / n (GES)

The centre of a window predicts the items around it. Rows and weights move by their exact gradients:

    dL/dx_j = w_j dL/dh,    dL/da_v^j = w_j (x_j - h_v) . dL/dh
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.bags import Bags, fetch_bag, put_bag
from unhot.kernels.feeder import Bag, MixedBag, input_of, ones_at
from unhot.kernels.jit import inner
from unhot.kernels.window_feeder import centre_target, context_targets_with_draws, register_windows
from unhot.kernels.windows import Text, Window, contexts_of
from unhot.types import Doubles

FARTHEST = np.float32(128.0)  # combine=sum: a step moves h by at most this many times lr dL/dh


class NgramSkipGramFeeder(NamedTuple):
    """Examples of architecture=skipgram: the bag of a centre word predicts the words around it."""

    text: Text
    window: Window
    bags: Bags
    mean: bool  # whether the vector of a word is the mean of its rows; else it is their sum


class NgramCBOWFeeder(NamedTuple):
    """Examples of architecture=cbow: the bags of the words around a centre word predict it."""

    text: Text
    window: Window
    bags: Bags
    mean: bool  # likewise


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


def _fetch_centre(feeder: Any, shape: Any, params: Any, scratch: Any, place: Any, how: Any) -> None:
    fetch_bag(shape, params, feeder.bags, scratch.feed.word[place], how.hot)


def _fetch_entering(feeder: Any, shape: Any, params: Any, scratch: Any, place: Any, how: Any) -> None:
    fetch_bag(shape, params, feeder.bags, scratch.feed.word[place + feeder.window.size + 1], how.hot)


for _feeder in (NgramSkipGramFeeder, WeightedFeeder, MeanFeeder):
    register_windows(_feeder, context_targets_with_draws, _fetch_centre)
register_windows(NgramCBOWFeeder, centre_target, _fetch_entering)


@input_of.register(NgramSkipGramFeeder)
def _centre(feeder: Any, shape: Any, scratch: Any, centre: Any, how: Any) -> Any:
    kept, inputs = scratch.feed, scratch.inputs
    contexts, word = contexts_of(kept, centre), kept.word[centre]
    count = 0
    if contexts > 0:
        count = put_bag(feeder.bags, word, how.hot, inputs, 0)
    share, moved = _share_and_moved(feeder.mean, count, 1, feeder.bags.squares[word])
    return Bag(count, ones_at(inputs, count), contexts, share, moved, np.float32(1.0))


@input_of.register(NgramCBOWFeeder)
def _words_around(feeder: Any, shape: Any, scratch: Any, centre: Any, how: Any) -> Any:
    kept, inputs = scratch.feed, scratch.inputs
    bags = feeder.bags
    reach = kept.reach[centre]
    squares = np.float32(0.0)
    count = words = 0
    for place in range(max(kept.begin[centre], centre - reach), min(kept.end[centre], centre + reach + 1)):
        if place != centre:
            word = kept.word[place]
            count = put_bag(bags, word, how.hot, inputs, count)
            squares += bags.squares[word]  # repeats count within each word, not across words
            words += 1
    share, moved = _share_and_moved(feeder.mean, count, words, squares)
    return Bag(count, ones_at(inputs, count), 1, share, moved, np.float32(1.0))


@inner
def _share_and_moved(mean: Any, rows: Any, words: Any, squares: Any) -> Any:
    """Return `share` and `moved` of the `Bag` of some words with so many rows; see the top of this file."""
    one = np.float32(1.0)
    if mean:
        return one / np.float32(max(rows, 1)), np.float32(rows) / max(squares, one)
    share = one / np.float32(max(words, 1))
    return share, share / max(one, share * share * squares / FARTHEST)


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
