"""How long a comparison takes is planned before it begins."""

import time

import pytest

from unhot.bench import Settings, compare_outputs
from unhot.bench.texts import split_text
from unhot.bench.timetable import FEWEST_EPOCHS, LEAST, Speeds, make_timetable, score_seconds
from unhot.bench.trials import MOST_TRIALS, RUNG, RUNGS, TUNING_SHARE, best_lr
from unhot.corpus import encode
from unhot.errors import Diverged

FAST = Speeds(score=1e-8, epoch=1.0)
SMALL = {"dim": 8, "window": 3, "min_count": 1, "held_out": 0.1, "threads": 1}


@pytest.fixture(scope="module")
def texts(planted):
    with encode(planted, min_count=1) as corpus:
        texts = split_text(corpus, 0.1, 100_000, 1)
    with texts.train:
        yield texts


def test_all_layers_are_done_in_the_minutes(texts):
    for minutes, layers in ((5, 14), (5, 3), (60, 14)):
        timetable = make_timetable(Settings(minutes=minutes), texts, layers, FAST, 40, gone=7.0)
        assert 7.0 + timetable.latest == pytest.approx(60 * minutes, rel=0.02)
        assert 0.6 * timetable.latest < timetable.about < timetable.latest
        assert timetable.exact + timetable.layers * timetable.seconds < timetable.about
        assert (timetable.epochs, timetable.exact) == (40, 40.0)


def test_the_exact_solution_has_a_share_of_the_minutes(texts):
    slow = Speeds(score=1e-8, epoch=4.0)
    assert make_timetable(Settings(), texts, 3, slow, 40, 0.0).exact == 60
    assert make_timetable(Settings(minutes=60), texts, 3, slow, 40, 0.0).epochs == 40
    assert make_timetable(Settings(seconds=1), texts, 3, slow, 40, 0.0).epochs == 40
    assert make_timetable(Settings(minutes=0.1), texts, 3, slow, 40, 0.0).epochs == FEWEST_EPOCHS
    assert make_timetable(Settings(), texts, 3, Speeds(1e-8), 0, 0.0)[2:4] == (0, 0.0)


def test_given_seconds_are_kept(texts):
    timetable = make_timetable(Settings(seconds=30), texts, 14, FAST, 40, gone=0.0)
    assert timetable.seconds == 30
    assert timetable.latest > 14 * 30 * (1 + MOST_TRIALS * TUNING_SHARE)
    one = make_timetable(
        Settings(seconds=30, lr=0.1), texts, 14, FAST, 40, gone=0.0
    )  # no rate is searched for
    assert one.each == one.most < 40


def test_minutes_that_are_too_short(texts):
    timetable = make_timetable(Settings(minutes=0.5), texts, 14, FAST, 0, gone=10.0)
    assert timetable.seconds == LEAST
    assert timetable.latest > 30


def test_measuring_costs_time_that_training_lacks(texts):
    quick, slow = (make_timetable(Settings(), texts, 14, Speeds(score), 0, 0.0) for score in (1e-9, 1e-3))
    assert quick.seconds > slow.seconds > LEAST
    together = make_timetable(Settings(model="cbow"), texts, 14, Speeds(1e-3), 0, 0.0)
    assert slow.seconds > together.seconds  # each place has a hidden vector, not each word


@pytest.mark.parametrize("good", range(-RUNGS, RUNGS + 1))
@pytest.mark.parametrize("highest", [None, 0, -RUNGS])
def test_no_search_tries_more_rates(good, highest):
    tried = []

    def loss(lr):
        tried.append(lr)
        if highest is not None and lr > 1.5 * RUNG**highest:
            raise Diverged("too high")
        return 5 + abs(round(RUNGS * (lr / RUNG**good)))

    best_lr(loss, 1.0)
    assert len(tried) <= MOST_TRIALS


def test_the_probe_measures_a_product():
    assert 1e-11 < score_seconds(2000, 100) < 1e-5


def test_a_comparison_keeps_to_its_plan(planted, monkeypatch):
    """The timetable is told first; then every layer trains for its seconds."""
    monkeypatch.setattr("unhot.bench.timetable.LEAST", 0.2)
    told, began = [], time.perf_counter()
    found = compare_outputs(
        planted, ["softmax", "negative"], settings=Settings(**SMALL, minutes=0.02), tell=told.append
    )
    timetable = next(status.timetable for status in told if status.timetable)
    assert [status.stage for status in told][:2] == ["reading", "planned"]
    assert timetable.layers == 2
    assert 0.2 <= timetable.seconds == found.settings.seconds
    assert time.perf_counter() - began > timetable.layers * timetable.seconds
    for each in found.layers:
        assert timetable.seconds <= each.seconds < timetable.seconds + 2
