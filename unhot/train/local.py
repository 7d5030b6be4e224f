"""Training on this machine: threads that take chunks from one queue and update the same matrices without locks.

The threads never run Python for long: a chunk is one call of a compiled kernel that lets go of the interpreter. Results come back to the
main thread, which adds up the loss, calls the callbacks and takes Ctrl-C. With one thread the result depends on the seed alone, byte for
byte.

A chunk whose loss is not a finite number ends the training: the matrices go back to where they stood at the beginning of the epoch.

Reference: Niu et al., Hogwild!, 2011.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.errors import Diverged
from unhot.kernels.loop import Params, Room, Scratch, scratch, train_chunk
from unhot.kernels.rng import key_from, stream_key
from unhot.kernels.windows import Chunk, Hot, Text, Window, keep_threshold
from unhot.train.hot import HotRows, HotSizes
from unhot.train.params import finite
from unhot.train.progress import Callback, Progress
from unhot.train.schedule import Piece, chunk_size, learning_rate, pieces
from unhot.types import Doubles


class Kernel(NamedTuple):
    """What is trained: a model's step and a layer's tables in a shape, over windows."""

    step: Any
    shape: Any
    tables: Any
    fresh: Callable[[Any], Any]  # the tables for the next chunk
    window: Window
    room: Room


@dataclass
class History:
    """What came of it."""

    losses: list[float] = field(default_factory=list)  # exact mean of each whole epoch
    words: int = 0
    pairs: int = 0  # (input, target) pairs trained
    seconds: float = 0.0
    interrupted: bool = False


@dataclass(frozen=True)
class Plan:
    """How it is trained."""

    epochs: int
    lr: float
    seed: int
    threads: int
    hot: HotSizes  # rows copied for each thread
    history: History
    details: dict[str, Any] = field(default_factory=dict)  # for the start event


class _Result(NamedTuple):
    piece: Piece
    loss: float
    pairs: int
    lr: float
    error: BaseException | None


def warm_up(kernel: Kernel, stride: int) -> None:
    """Compile the kernel, or load it from disk, by training nothing."""
    nothing, start = np.zeros(1, np.int32), np.zeros(2, np.int64)
    nothing.flags.writeable = start.flags.writeable = False  # as the shards are, which are mapped for reading
    text = Text(nothing, start, keep_threshold(np.ones(1)))
    params = Params(*(np.zeros((1, stride), np.float32) for _ in range(2)), *(np.zeros(0, np.float32) for _ in range(3)))
    chunk = Chunk(0, 0, 0, np.uint64(0), np.uint64(0), np.float32(0), Hot(0, 0, 0, 0, 0))
    buffers = scratch(0, kernel.window.size, kernel.room, stride)
    train_chunk(kernel.step, kernel.shape, kernel.tables, text, kernel.window, params, buffers, chunk)


def train(corpus: Corpus, keep: Doubles, kernel: Kernel, params: Params, plan: Plan, callbacks: Sequence[Callback] = ()) -> None:
    """Train for all epochs, or until Ctrl-C; `plan.history` tells how far. Raises `Diverged` with `params` in the last good state."""
    run = _Run(corpus, keep, kernel, params, plan, callbacks)
    run.tell("start", 0, None, plan.details)
    try:
        for epoch in range(plan.epochs):
            run.epoch(epoch)
        run.done("finished")
    except KeyboardInterrupt:
        run.interrupt()
        run.done("interrupted")
    except Diverged:
        run.done("diverged")
        raise


class _Run:
    """One training under way."""

    def __init__(self, corpus: Corpus, keep: Doubles, kernel: Kernel, params: Params, plan: Plan, callbacks: Sequence[Callback]) -> None:
        threshold = keep_threshold(keep)
        self._texts = [Text(shard.ids, shard.starts, threshold) for shard in corpus.shards]
        self._pieces = pieces(corpus.shards, kernel.room.scored)
        self._ids, self._words = corpus.ids, corpus.words
        self._kernel, self._params, self._plan, self._callbacks = kernel, params, plan, callbacks
        tokens, stride = chunk_size(corpus.ids, kernel.room.scored), params.in_vectors.shape[1]
        self._scratch = [scratch(tokens, kernel.window.size, kernel.room, stride) for _ in range(plan.threads)]
        self._hot = HotRows(params, plan.hot, plan.threads)
        self._good = Params(*(np.empty_like(matrix) for matrix in params))
        self._began, self._lr = time.perf_counter(), plan.lr
        self.history = plan.history
        self._before = (0, 0)  # words and pairs at the beginning of the epoch

    def epoch(self, epoch: int) -> None:
        """Train one epoch and keep a copy of what stood before it."""
        for good, matrix in zip(self._good, self._params, strict=True):
            good[:] = matrix
        self._hot.refresh()
        self._before = self.history.words, self.history.pairs
        loss, pairs, done = 0.0, 0, 0
        with self._threads(epoch) as results:
            for result in itertools.islice(results, len(self._pieces)):
                if result.error is not None:
                    raise result.error
                loss, pairs, done = loss + result.loss, pairs + result.pairs, done + result.piece.stop - result.piece.start
                if not np.isfinite(loss):
                    break
                self.history.pairs += result.pairs
                # out-of-vocabulary words are spread evenly over the epoch, as far as the count of words goes
                self.history.words = epoch * self._words + round(self._words * done / self._ids)
                self._lr = result.lr
                self.tell("progress", epoch + 1, loss / max(pairs, 1))
        if not np.isfinite(loss) or not finite(self._params):
            self._restore()
            raise Diverged(
                f"training left the finite numbers in epoch {epoch + 1} with lr={self._plan.lr:g}: "
                f"the model is back to where it was after {epoch} epochs; try a lower lr, for example {self._plan.lr / 4:g}"
            )
        self.history.losses.append(loss / max(pairs, 1))
        self.tell("epoch", epoch + 1, self.history.losses[-1])

    def interrupt(self) -> None:
        """Keep what there is, unless it is not finite: then what there was at the beginning of the epoch."""
        self.history.interrupted = True
        if not finite(self._params):
            self._restore()

    def _restore(self) -> None:
        for good, matrix in zip(self._good, self._params, strict=True):
            matrix[:] = good
        self.history.words, self.history.pairs = self._before

    @contextlib.contextmanager
    def _threads(self, epoch: int) -> Iterator[Iterator[_Result]]:
        """Results of the epoch's chunks, as threads finish them; leaving the context stops the threads."""
        todo, stop = iter(self._pieces), threading.Event()
        lock, results = threading.Lock(), queue.SimpleQueue[_Result]()

        def work(thread: int, buffers: Scratch) -> None:
            while not stop.is_set():
                with lock:
                    piece = next(todo, None)
                if piece is None:
                    return
                results.put(self._train(epoch, piece, thread, buffers))

        threads = [threading.Thread(target=work, args=given, daemon=True) for given in enumerate(self._scratch)]
        try:
            for thread in threads:
                thread.start()
            yield iter(results.get, None)
        finally:
            stop.set()
            for thread in threads:
                _join(thread)

    def _train(self, epoch: int, piece: Piece, thread: int, buffers: Scratch) -> _Result:
        try:
            plan, kernel = self._plan, self._kernel
            lr = learning_rate(plan.lr, epoch, plan.epochs, piece.done / self._ids)
            windows = key_from(stream_key(plan.seed, epoch, 0), piece.done - piece.start)  # bits belong to positions of the whole corpus
            draws = stream_key(plan.seed, epoch, 1 + piece.number)
            chunk = Chunk(piece.start, piece.stop, piece.sentence, windows, draws, np.float32(lr), self._hot.places[thread])
            loss, pairs = train_chunk(
                kernel.step,
                kernel.shape,
                kernel.fresh(kernel.tables),
                self._texts[piece.shard],
                kernel.window,
                self._params,
                buffers,
                chunk,
            )
            self._hot.exchange(thread)
            return _Result(piece, float(loss), int(pairs), lr, None)
        except BaseException as error:  # handed to the main thread, which raises it
            return _Result(piece, 0.0, 0, 0.0, error)

    def done(self, reason: str) -> None:
        """Report the end."""
        losses = self.history.losses
        details = {"reason": reason, "pairs": self.history.pairs}
        self.tell("done", min(len(losses) + 1, self._plan.epochs), losses[-1] if losses else None, details)

    def tell(self, event: str, epoch: int, loss: float | None, details: dict[str, Any] | None = None) -> None:
        """Report to the callbacks."""
        self.history.seconds = time.perf_counter() - self._began
        progress = Progress(
            event,
            epoch,
            self._plan.epochs,
            self.history.words,
            self._plan.epochs * self._words,
            self.history.seconds,
            loss,
            self._lr,
            details or {},
        )
        for callback in self._callbacks:
            callback(progress)


def _join(thread: threading.Thread) -> None:
    """Wait for a thread to end its chunk, however often Ctrl-C is pressed: nobody may write while the model is saved."""
    while thread.is_alive():
        with contextlib.suppress(KeyboardInterrupt):
            thread.join()


def in_background(work: Callable[[], None]) -> Callable[[], None]:
    """Start some work in a thread; the function returned waits for it and raises what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def wait() -> None:
        thread.join()
        if raised:
            raise raised[0]

    return wait
