import math
import time

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st

from unhot import SkipGram
from unhot.bench.trials import DOWN, LOOKS, NOISE, RUNG, RUNGS, Stopwatch, best_lr, train_for
from unhot.corpus.encoding import encode
from unhot.errors import Diverged


@pytest.fixture
def corpus(planted):
    with encode(planted, min_count=1) as corpus:
        yield corpus


def model(**settings):
    return SkipGram(
        **{"dim": 8, "min_count": 1, "epochs": 1 << 30, "sample": 0, "threads": 1, "lr": 0.1, **settings}
    )


def test_the_clock_stands_still_while_we_look(corpus):
    trained, watch, seconds, pairs = model(), Stopwatch(0.2, lambda left: None), [], []
    began = time.perf_counter()
    for _ in train_for(trained, corpus, watch, LOOKS):
        seconds.append(trained.history.seconds)
        pairs.append(trained.history.pairs)
        time.sleep(0.05)
    assert time.perf_counter() - began > 0.2 + 0.05 * len(seconds)
    assert 0.2 <= seconds[-1] < 0.7
    assert 2 <= len(seconds) <= len(LOOKS)
    assert (np.diff(pairs) > 0).all()
    assert (np.diff(seconds) > 0).all()
    assert watch.memory > 0


def test_the_rate_falls_with_the_time(corpus):
    rates, left = [], []
    trained, watch = model(), Stopwatch(0.2, left.append)
    for _ in train_for(trained, corpus, watch, (0.5, 0.75, 1.0)):
        rates.append(trained.lr)
    assert rates == pytest.approx([0.1 * share for share in (0.75, 0.375, 0.125)][-len(rates) :])
    assert left[-1] == 0
    assert max(left) <= 0.2


def test_a_clock_that_is_late_leaves_looks_out(corpus):
    trained, watch = model(), Stopwatch(1e-6, lambda left: None)
    assert len(list(train_for(trained, corpus, watch, LOOKS))) == 1
    assert trained.history.pairs > 0


def test_training_in_pieces_learns(corpus):
    trained, watch = model(output="softmax"), Stopwatch(0.5, lambda left: None)
    for _ in train_for(trained, corpus, watch, LOOKS):
        pass
    vectors = trained.vectors
    assert vectors.similarity("w0", "w1") > vectors.similarity("w0", "w7") + 0.5


def test_a_true_interrupt_is_passed_on(corpus):
    def pressed(left):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(train_for(model(), corpus, Stopwatch(0.2, pressed), LOOKS))


@given(st.floats(-RUNGS, RUNGS), st.one_of(st.none(), st.integers(-RUNGS + 1, RUNGS)))
@examples(200)
def test_best_lr(best, diverges):
    """Of a convex loss in log lr that ends somewhere, the best rung of the ladder.

    Far down, the first that is finite.
    """
    tried = []

    def loss(lr):
        rung = math.log(lr / 0.025, RUNG)
        tried.append(round(rung))
        if diverges is not None and rung > diverges - 0.5:
            raise Diverged("too high")
        return (rung - best) ** 2

    top = RUNGS if diverges is None else diverges - 1
    expected = min(
        range(min(-DOWN, top), top + 1) if top >= -DOWN else [top], key=lambda rung: (rung - best) ** 2
    )
    found = math.log(best_lr(loss, 0.025) / 0.025, RUNG)
    assert (1 - NOISE) * (found - best) ** 2 <= (expected - best) ** 2 + 1e-9
    assert len(tried) == len(set(tried))


def test_learning_nothing_does_not_win():
    assert best_lr(lambda lr: lr, 1.0) == RUNG**-DOWN
    assert best_lr(lambda lr: 6.7 + 0.01 * lr, 1.0) == 1.0  # noise


def test_not_a_number_is_no_loss():
    assert best_lr(lambda lr: math.nan if lr > 0.03 else lr, 0.025) < 0.025


def test_every_rate_diverges():
    with pytest.raises(Diverged, match=r"every lr from 0.1 down to"):
        best_lr(lambda lr: math.inf, 0.025)
