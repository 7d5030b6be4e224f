"""Threads, progress, Ctrl-C and divergence."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import unhot
from unhot.errors import DataError, Diverged
from unhot.kernels.jit import kernel
from unhot.kernels.order import shuffled
from unhot.kernels.rng import stream_key
from unhot.train import memory_plan as memory
from unhot.train.progress import JsonLog
from unhot.train.schedule import learning_rate, text_chunks

RNG = np.random.default_rng(1)
TEXT = [[f"w{i}" for i in RNG.integers(0, 30, 50)] for _ in range(100)]


def test_callbacks_see_every_chunk_and_epoch():
    seen = []
    model = unhot.SkipGram(dim=8, epochs=3, threads=1).fit(TEXT, callbacks=[seen.append])
    events = [progress.event for progress in seen]
    assert events[0] == "start"
    assert events[-1] == "done"
    assert events.count("epoch") == 3
    assert events.count("progress") == 3 * 10  # chunks of 512 positions
    assert seen[-1].words == 3 * 5000 == seen[-1].total_words
    assert [progress.loss for progress in seen if progress.event == "epoch"] == model.history.losses
    words = [progress.words for progress in seen]
    assert words == sorted(words)
    rates = [progress.lr for progress in seen if progress.event == "progress"]
    assert rates[0] == 0.05
    assert rates == sorted(rates, reverse=True)


def test_a_failing_callback_ends_the_training():
    def fail(progress):
        if progress.event == "epoch":
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        unhot.SkipGram(dim=8, threads=2).fit(TEXT, callbacks=[fail])


def test_json_log(tmp_path):
    path = tmp_path / "log.jsonl"
    with JsonLog(path, seconds=0) as log:
        unhot.SkipGram(dim=8, epochs=2).fit(TEXT, callbacks=[log])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert {line["event"] for line in lines} == {"start", "progress", "epoch", "done"}
    assert {"epoch", "words", "words_per_second", "loss", "lr"} <= lines[5].keys()
    assert lines[0]["vocabulary"] == 30
    assert lines[-1]["event"] == "done"
    assert lines[-1]["words"] == 10_000
    assert lines[-1]["reason"] == "finished"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")  # noqa: PTH110
def test_a_log_that_cannot_be_written_does_not_end_the_training(caplog):
    with JsonLog("/dev/full", seconds=0) as log:
        model = unhot.SkipGram(dim=8, epochs=2).fit(TEXT, callbacks=[log])
    assert len(model.history.losses) == 2
    assert caplog.text.count("/dev/full: the log ends here (No space left on device); training goes on") == 1


def test_the_loss_is_the_mean_over_all_pairs():
    """With lr so small that nothing moves, every score is 0.

    So every pair costs (1 + its draws that are not hits) ln 2.
    """
    model = unhot.SkipGram(dim=8, epochs=1, lr=1e-30, output="negative:k=5,hits=keep", threads=2).fit(TEXT)
    assert model.history.losses == [pytest.approx(6 * np.log(2), rel=1e-6)]


@pytest.mark.parametrize("threads", [1, 2])
def test_divergence_goes_back_to_the_last_good_state(threads):
    model = unhot.SkipGram(dim=8, lr=1e8, threads=threads)
    with pytest.raises(Diverged, match=r"epoch 1 with lr=1e\+08.*try a lower lr, for example 0\.05$"):
        model.fit(TEXT)
    assert np.isfinite(model.vectors.vectors).all()
    assert np.abs(model.vectors.vectors).max() <= 0.5 / 8
    assert not model.out_vectors.vectors.any()


def test_divergence_in_a_later_epoch_keeps_the_epochs_before(monkeypatch):
    monkeypatch.setattr(
        "unhot.train.epoch_run.learning_rate", lambda lr, epoch, epochs, share: lr if epoch < 2 else 1e12
    )
    model = unhot.SkipGram(dim=8, threads=1, epochs=4)
    with pytest.raises(Diverged, match=r"after 2 epochs; try a lower lr, for example 0\.0125$"):
        model.fit(TEXT)
    monkeypatch.undo()
    assert len(model.history.losses) == 2
    assert np.isfinite(model.vectors.vectors).all()
    assert model.out_vectors.vectors.any()


INTERRUPTED = """
    import signal, sys, numpy as np, unhot
    # a job in the background begins with Ctrl-C ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    text = [[f"w{i}" for i in np.random.default_rng(0).integers(0, 50, 1000)] for _ in range(100)]
    def tell(progress):
        if progress.event == "epoch":
            print(progress.epoch, flush=True)
    model = unhot.SkipGram(dim=8, epochs=100000, threads=2).fit(text, callbacks=[tell])
    assert model.history.interrupted
    assert np.isfinite(model.vectors.vectors).all()
    model.save(sys.argv[1])
"""


def test_interrupt_keeps_what_there_is(tmp_path):
    code = textwrap.dedent(INTERRUPTED)
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "model")], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline().strip() == "1"
    time.sleep(0.2)
    os.kill(child.pid, signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == 0
    loaded = unhot.load(tmp_path / "model", verify=True)
    assert loaded.history.words >= 100_000
    assert len(loaded.history.losses) >= 1


def test_memory_is_planned_before_it_is_used(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 10_000)
    with pytest.raises(
        DataError,
        match=r"30 words with dim=100 needs .*10 kB of memory is free: raise min_count, set max_vocab",
    ):
        unhot.SkipGram(dim=100).fit(TEXT)


def test_memory_reads_this_machine():
    free = memory.available_memory()
    assert free is None or 10**7 < free < 10**14


def test_the_rate_falls_linearly_to_a_floor():
    assert learning_rate(0.1, 0, 4, 0.0) == pytest.approx(0.1)
    assert learning_rate(0.1, 2, 4, 0.0) == pytest.approx(0.05)
    assert learning_rate(0.1, 4, 4, 0.0) == pytest.approx(0.1 * 1e-4)


def test_chunks_cover_the_corpus_once():
    from unhot.corpus.shards import Shard

    shards = [
        Shard(np.zeros(n, np.int32), np.array([0, n // 2, n], np.int64)) for n in (100_000, 700, 300_000)
    ]
    chunks = text_chunks([shard.ids.size for shard in shards], 6)
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    done = 0
    for chunk in chunks:
        assert chunk.done == done
        done += chunk.stop - chunk.start
    assert done == 400_700
    for number, shard in enumerate(shards):
        parts = [chunk for chunk in chunks if chunk.shard == number]
        assert [chunk.start for chunk in parts] == [0, *(chunk.stop for chunk in parts[:-1])]
        assert parts[-1].stop == shard.ids.size
    assert {chunk.shard for chunk in chunks[: len(chunks) // 4]} == {0, 2}  # the long ones take turns


@pytest.mark.parametrize("count", [1, 2, 3, 64, 65, 1000])
def test_pieces_are_read_once_in_an_order_of_their_own(count):
    @kernel
    def places(key, count, out):
        for i in range(count):
            out[i] = shuffled(key, i, count)

    orders = np.zeros((3, count), np.int64)
    for epoch, order in enumerate(orders):
        places(stream_key(1, epoch, -1), count, order)
        assert sorted(order.tolist()) == list(range(count))
    if count >= 64:
        assert (orders[0] != orders[1]).mean() > 0.9
        assert abs(np.corrcoef(np.arange(count), orders[2])[0, 1]) < 0.4
