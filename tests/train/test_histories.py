"""Histories as batches: which events are read before which target, in which order, by which process."""

import numpy as np
import pytest

from unhot.logs.encoding import read_log
from unhot.logs.splitting import split_log
from unhot.train.histories import CHUNK, EventLog, HistoryBatches, ages_of, gaps_of

SIZES = [3, 1, 7, 0, 2, 12, 5, 9, 4, 6, 2, 11, 8, 3]
STARTS = np.append(0, np.cumsum(SIZES))
EVENTS = int(STARTS[-1])
LINE_OF = np.repeat(np.arange(len(SIZES)), SIZES)
IDS = np.arange(EVENTS, dtype=np.int32)  # each event is an item of its own
LOG = EventLog(
    IDS,
    STARTS,
    gaps=IDS.astype(np.float32) + 0.5,
    rows=np.stack([IDS % 5, IDS], axis=1).astype(np.int32),
    weights=np.stack([IDS, -IDS], axis=1).astype(np.float32),
    ages=IDS.astype(np.float32) / EVENTS,
)
TARGETS = [event for event in range(EVENTS) if event not in STARTS]


def source(examples, *, length=4, batch=3, seed=1, process=(0, 1), log=LOG):
    return HistoryBatches(log, length=length, batch=batch, examples=examples, seed=seed, process=process)


def steps_of(batches, epoch=0):
    """The arrays of all steps of an epoch."""
    found = [step for chunk in batches.chunks for step in batches.batches(epoch, chunk)]
    assert all(size == (arrays[-1] >= 0).sum() for arrays, size in found)
    return [arrays for arrays, _ in found]


def examples_of(batches, epoch=0):
    """The items and the targets of each example, without padding."""
    return [
        (items[items >= 0].tolist(), targets[targets >= 0].tolist())
        for arrays in steps_of(batches, epoch)
        for items, targets in zip(arrays[0], arrays[-1], strict=True)
    ]


@pytest.mark.parametrize("examples", [0, 3])
@pytest.mark.parametrize("length", [1, 4, 50])
def test_only_events_before_the_target_are_read(examples, length):
    for items, (target,) in examples_of(source(examples, length=length)):
        begin = max(STARTS[LINE_OF[target]], target - length)
        assert items == [*range(begin, target)]


def test_each_event_is_a_target_once():
    assert sorted(target for _, (target,) in examples_of(source(0))) == TARGETS
    assert source(0).size == len(TARGETS)


def test_each_line_gives_as_many_examples_drawn_anew():
    batches, seen = source(4), []
    for epoch in range(60):
        targets = [target for _, (target,) in examples_of(batches, epoch)]
        lines = LINE_OF[targets]
        assert np.bincount(lines, minlength=len(SIZES)).tolist() == [4 * (size > 1) for size in SIZES]
        seen.append(sorted(targets))
    assert len({*map(tuple, seen)}) == 60
    counts = np.bincount(np.concatenate(seen), minlength=EVENTS)
    for event in TARGETS:  # 240 draws of a line, all its targets alike
        share = 1 / (SIZES[LINE_OF[event]] - 1)
        assert abs(counts[event] - 240 * share) <= 4 * np.sqrt(240 * share * (1 - share))


@pytest.mark.parametrize("length", [1, 3, 4, 50])
def test_pieces_have_each_target_once(length):
    found = examples_of(source(None, length=length))
    assert sorted(target for _, targets in found for target in targets) == TARGETS
    for items, targets in found:
        assert [item + 1 for item in items] == targets  # the next event, after each
        assert 1 <= len(items) <= length
        assert len({*LINE_OF[[*items, *targets]].tolist()}) == 1
    # all but the first piece of a line are full
    short = [LINE_OF[items[0]] for items, _ in found if len(items) < length]
    assert len({*short}) == len(short)


@pytest.mark.parametrize("examples", [None, 0, 3])
def test_what_is_known_of_events_stands_beside_them(examples):
    for items, gaps, rows, weights, ages, targets in steps_of(source(examples)):
        there = items >= 0
        assert np.array_equal(gaps[there], LOG.gaps[items[there]])
        assert np.array_equal(rows[there], LOG.rows[items[there]])
        assert np.array_equal(weights[there], LOG.weights[items[there]])
        assert np.array_equal(ages[targets >= 0], LOG.ages[targets[targets >= 0]])
        assert not there[:, 1:][~there[:, :-1]].any()  # padded at the end
        assert there[:, -1].any()  # and no longer than needed
        assert (items.dtype, targets.dtype) == (np.int64, np.int64)


@pytest.mark.parametrize("examples", [None, 0, 3])
def test_batches_hold_histories_of_about_the_same_length(examples):
    lengths = [np.count_nonzero(arrays[0] >= 0, axis=1) for arrays in steps_of(source(examples, length=50))]
    ranges = [(int(each.min()), int(each.max())) for each in lengths]
    for (_, high), (low, _) in zip(sorted(ranges), sorted(ranges)[1:], strict=False):
        assert high <= low
    assert ranges != sorted(ranges)  # in a random order
    assert {each.size for each in lengths[:-1]} == {3}


@pytest.mark.parametrize("examples", [None, 0, 3])
def test_the_seed_and_the_epoch_decide(examples):
    def all_of(epoch, **how):
        return [[one.tolist() for one in arrays] for arrays in steps_of(source(examples, **how), epoch)]

    assert all_of(0) == all_of(0)
    assert all_of(0) != all_of(1)
    assert all_of(0) != all_of(0, seed=2)


@pytest.mark.parametrize("examples", [None, 0, 3])
def test_a_chunk_can_be_had_alone(examples):
    """After a resume, when nothing else of the epoch was asked for."""
    batches = source(examples, batch=2)
    assert len(batches.chunks) > 1
    whole = steps_of(batches, 3)
    last = batches.chunks[-1]
    alone = [arrays for arrays, _ in source(examples, batch=2).batches(3, last)]
    for one, other in zip(alone, whole[CHUNK * last.number :], strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert 0 < len(alone) <= CHUNK


@pytest.mark.parametrize("examples", [None, 0, 3])
@pytest.mark.parametrize("batch", [2, 5, 7])
@pytest.mark.parametrize("parts", [2, 3])
def test_processes_share_each_batch(examples, batch, parts):
    whole = steps_of(source(examples, batch=batch))
    shared = [steps_of(source(examples, batch=batch, process=(part, parts))) for part in range(parts)]
    assert {len(each) for each in shared} == {len(whole)}
    for step, arrays in enumerate(whole):
        own = [examples_of_step(each[step]) for each in shared]
        together = [example for each in own for example in each]
        expected = examples_of_step(arrays)
        assert all(own)
        if len(expected) >= parts:
            assert sorted(together) == sorted(expected)
        else:  # the last batch is too small: an example counts several times
            assert {*together} == {*expected}
            assert len(together) == parts


def examples_of_step(arrays):
    return [
        (*items[items >= 0].tolist(), -1, *targets[targets >= 0].tolist())
        for items, targets in zip(arrays[0], arrays[-1], strict=True)
    ]


def test_processes_draw_their_own_numbers():
    keys = {
        source(0, batch=1, process=(part, 2), seed=seed).draw_key(epoch, chunk)
        for part in (0, 1)
        for seed in (1, 2)
        for epoch in (0, 1)
        for chunk in source(0, batch=1).chunks
    }
    assert len(keys) == 8 * len(source(0, batch=1).chunks)


def test_what_an_epoch_counts():
    for examples, size in ((None, 20), (0, len(TARGETS)), (3, 36)):
        batches = source(examples)
        assert (batches.size, batches.words) == (size, len(TARGETS))
        assert [chunk.number for chunk in batches.chunks] == [*range(-(-size // (3 * CHUNK)))]


def test_padding_has_no_features():
    """Nor has an empty history, beside others or in a log without events."""
    for begins, sizes in (([5, 0], [2, 0]), ([0], [0])):
        items, _, rows, _ = LOG.padded(np.array(begins), np.array(sizes))
        assert (rows[items < 0] == -1).all()
        assert (items >= 0).sum(axis=1).tolist() == sizes
    none = EventLog(IDS[:0], STARTS[:1], rows=LOG.rows[:0], weights=LOG.weights[:0])
    items, gaps, rows, weights = none.padded(np.zeros(2, np.int64), np.zeros(2, np.int64))
    assert (items.tolist(), gaps, weights.shape) == ([[-1], [-1]], None, (2, 1, 2))
    assert (rows == -1).all()


def test_lines_of_one_event_teach_nothing():
    starts = np.array([0, 1, 1, 2])
    for examples in (None, 0, 3):
        batches = source(examples, log=EventLog(IDS[:2], starts))
        assert (batches.size, batches.words, batches.chunks) == (0, 0, [])


def test_nothing_comes_from_beyond_a_split():
    rows = [
        (f"u{u}", ("late" if t >= 4 else "early") + str(t), 100 * u + t) for u in range(5) for t in range(6)
    ]
    log = read_log(rows)
    with log.part(split_log(log, "leave-last-out").train) as part:
        events = EventLog(part.ids_of_lines, part.starts, ages=ages_of(part.times))
        for examples in (None, 0, 3):
            found = examples_of(source(examples, log=events))
            words = {part.items.words[item] for example in found for items in example for item in items}
            assert words == {"early0", "early1", "early2", "early3"}
        assert events.ages.min() == 0.0


def test_minutes_since_the_event_before():
    times = np.array([0.0, 60.0, 90.0, 5.0, 7.0, np.nan, 67.0])
    found = gaps_of(times, np.array([0, 3, 3, 5, 7, 7]))
    assert found.tolist() == pytest.approx([0, 1, 0.5, 0, 2 / 60, 0, 0])
    assert found.dtype == np.float32
    assert gaps_of(np.zeros(0), np.array([0, 2])) is None


def test_ages_are_shares_of_the_time_of_the_log():
    assert ages_of(np.array([20.0, 10.0, 30.0])).tolist() == [0.5, 1.0, 0.0]
    assert ages_of(np.array([7.0, 7.0])).tolist() == [0.0, 0.0]
    assert ages_of(np.zeros(0)) is None
