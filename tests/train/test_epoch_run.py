"""What all trainings in epochs share, on a training that learns one number: how many chunks it saw."""

import numpy as np
import pytest

from unhot.train import epoch_run
from unhot.train.epoch_run import EpochRun, Plan, Validation
from unhot.train.history import History
from unhot.train.schedule import even_chunks

CHUNKS = 4


class Counting(EpochRun):
    """Each chunk adds 1; all chunks have the loss 1."""

    def __init__(self, plan, seen, threads=1):
        super().__init__(even_chunks(CHUNKS, 100), 100, plan, [seen], threads=threads)
        self.rates = []

    def learn(self, epoch, chunk, lr, thread):
        self.arrays[0] += 1
        self.rates.append(lr)
        return 1.0, 1


def trained(losses, *, patience=9, told=None, history=None, kept=None, seen=None, **how):
    """Return a run whose held-out losses are given, and what it has seen."""
    seen = np.zeros(1, np.int64) if seen is None else seen
    history = History() if history is None else history

    def measure():
        return losses[int(seen[0]) // CHUNKS - 1], f"after {int(seen[0])} chunks"

    validation = Validation(measure, patience, {"seen": seen}, kept or {})
    say = (lambda line: None) if told is None else told
    plan = Plan(len(losses), 0.5, 1, history, validation=validation, say=say, **how)
    run = Counting(plan, seen)
    run.train()
    return run, seen


def test_it_ends_with_the_best_epoch():
    told, events = [], []

    def look(progress):
        events.append((progress.event, len(told), int(seen[0])))

    seen = np.zeros(1, np.int64)
    run, _ = trained([3.0, 1.0, 1.0, 2.0], told=told.append, seen=seen, callbacks=[look])
    assert seen[0] == 3 * CHUNKS == run.best["seen"][0]  # of equally good ones the last
    assert run.history.validation == [3.0, 1.0, 1.0, 2.0]
    assert not run.history.stopped
    assert told[0] == "validation after epoch 1: after 4 chunks"
    assert told[-1] == "the model is that of epoch 3, which was the best"
    epochs = [lines for event, lines, _ in events if event == "epoch"]
    assert epochs == [1, 2, 3, 4]  # measured before callbacks are told
    assert events[-1] == ("done", 5, 3 * CHUNKS)


@pytest.mark.parametrize(("patience", "epochs"), [(1, 3), (2, 4), (3, 6)])
def test_it_stops_when_nothing_better_comes(patience, epochs):
    run, seen = trained([2.0, 1.0, 1.5, 1.2, 0.5, 3.0], patience=patience)
    assert len(run.history.losses) == len(run.history.validation) == epochs
    assert run.history.stopped == (epochs < 6)
    assert seen[0] == CHUNKS * (2 if epochs < 6 else 5)


def test_without_validation_there_is_no_best():
    run = Counting(Plan(2, 0.5, 1, History()), np.zeros(1, np.int64))
    run.train()
    assert run.best == {}
    assert not run.history.validation


@pytest.mark.parametrize("words", ["after epoch 2:", "after epoch 3:"])
def test_ctrl_c_while_it_is_measured_loses_nothing(words):
    losses, lines, whole = [2.0, 1.0, 3.0, 4.0], [], []

    def interrupt(line):
        lines.append(line)
        if words in line and lines.count(line) == 1:
            raise KeyboardInterrupt

    run, seen = trained(losses, told=interrupt)
    assert run.history.interrupted
    assert run.history.position.chunk == CHUNKS
    kept = {name: array.copy() for name, array in run.best.items()}
    history = History(run.history.losses, position=run.history.position, validation=run.history.validation)
    again, seen = trained(losses, told=interrupt, history=history, kept=kept, seen=seen)
    assert again.history.validation == losses
    trained(losses, told=whole.append)
    assert [line for i, line in enumerate(lines) if line not in lines[:i]] == whole
    assert seen[0] == 2 * CHUNKS


@pytest.mark.parametrize("threads", [1, 2])
def test_the_rate_falls_with_epochs_or_with_time(threads, monkeypatch):
    run = Counting(Plan(2, 0.5, 1, History()), np.zeros(1, np.int64), threads)
    run.train()
    assert sorted(run.rates, reverse=True) == [0.5 * (1 - i / 8) for i in range(8)]
    clock = [0.0]

    def tick():
        clock[0] += 1.0
        return clock[0]

    monkeypatch.setattr(epoch_run.time, "perf_counter", tick)
    limited = Counting(Plan(10_000, 0.5, 1, History(), minutes=1.0), np.zeros(1, np.int64), threads)
    limited.train()
    assert limited.history.stopped
    assert 60 <= limited.history.seconds < 120  # every look at the clock is a second
    assert limited.rates[0] > 0.4
    assert min(limited.rates) < 0.05
