"""Training on this machine: threads that take chunks from one queue and update the same matrices without locks.

The threads never run Python for long: a chunk is one call of a compiled kernel that lets go of the interpreter. Results come back to the
main thread, which adds up the loss, calls the callbacks and takes Ctrl-C. With one thread the result depends on the seed alone, byte for
byte.

A chunk whose loss is not a finite number ends the training: the matrices go back to where they stood at the beginning of the epoch.
For a checkpoint the threads end the chunks they are at and begin again when it is written.

Reference: Niu et al., Hogwild!, 2011.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.errors import Diverged, FormatError, UnhotError
from unhot.kernels.loop import Params, Room, Scratch, scratch, train_chunk
from unhot.kernels.rng import key_from, stream_key
from unhot.kernels.windows import Chunk, Hot, Text, Window, keep_threshold
from unhot.train.checkpoint import Checkpoint, Timer
from unhot.train.history import History, Position
from unhot.train.hot import HotRows
from unhot.train.params import Sizes, finite
from unhot.train.progress import Callback, Progress
from unhot.train.schedule import Piece, chunk_size, learning_rate, pieces
from unhot.types import Bytes, Counts, Doubles


class Kernel(NamedTuple):
    """What is trained: a model's step and a layer's tables in a shape, over windows."""

    step: Any
    shape: Any
    tables: Any
    fresh: Callable[[Any], Any]  # the tables for the next chunk
    window: Window
    room: Room


@dataclass(frozen=True)
class Plan:
    """How it is trained."""

    epochs: int
    lr: float
    seed: int
    sizes: Sizes  # of the params, and how many threads
    history: History  # where it stands; it goes on from there
    seen: Counts  # what learned noise has counted, which is part of the state; of size zero where nothing is
    frozen: Bytes  # [input rows]: 1 where a row stays as it is; of size zero where none does
    checkpoint: Checkpoint | None = None
    save: Callable[[], None] = lambda: None  # writes a checkpoint
    warn: Callable[[str], None] = lambda line: None  # of a checkpoint that failed
    details: dict[str, Any] = field(default_factory=dict)  # for the start event


class _Result(NamedTuple):
    position: Position
    words: int
    lr: float
    error: BaseException | None


def warm_up(kernel: Kernel, stride: int) -> None:
    """Compile the kernel, or load it from disk, by training nothing."""
    nothing, start = np.zeros(1, np.int32), np.zeros(2, np.int64)
    nothing.flags.writeable = start.flags.writeable = False  # as the shards are, which are mapped for reading
    text = Text(nothing, start, keep_threshold(np.ones(1)))
    params = Params(*(np.zeros((1, stride), np.float32) for _ in range(2)), *(np.zeros(0, np.float32) for _ in range(3)))
    chunk = Chunk(0, 0, 0, np.uint64(0), np.uint64(0), np.float32(0), Hot(0, 0, 0, 0, 0, 0), np.zeros(0, np.uint8))
    buffers = scratch(0, kernel.window.size, kernel.room, stride)
    train_chunk(kernel.step, kernel.shape, kernel.tables, text, kernel.window, params, buffers, chunk)


def train(corpus: Corpus, keep: Doubles, kernel: Kernel, params: Params, plan: Plan, callbacks: Sequence[Callback] = ()) -> None:
    """Train for all epochs, or until Ctrl-C; `plan.history` tells how far. Raises `Diverged` with `params` in the last good state."""
    run = _Run(corpus, keep, kernel, params, plan, callbacks)
    run.tell("start", 0, None, plan.details)
    try:
        for epoch in range(plan.history.position.epoch, plan.epochs):
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
        self._scratch = [scratch(tokens, kernel.window.size, kernel.room, stride) for _ in range(plan.sizes.threads)]
        self._hot = HotRows(params, plan.sizes)
        self._good, self._good_seen = Params(*(np.empty_like(matrix) for matrix in params)), plan.seen.copy()
        self.history, self._lock = plan.history, threading.Lock()
        self._began, self._lr = time.perf_counter() - self.history.seconds, plan.lr
        self._before = self.history.position  # when `_good` was copied
        if self._before.chunk > len(self._pieces):
            raise FormatError(f"the state of the training: {self._before.chunk} of {len(self._pieces)} chunks; it is damaged")
        self._timer = Timer(plan.checkpoint)

    def epoch(self, epoch: int) -> None:
        """Train one epoch, or the rest of it, and keep a copy of what stood before."""
        for good, matrix in zip(self._good, self._params, strict=True):
            good[:] = matrix
        self._good_seen[:] = self._plan.seen
        self._hot.refresh()
        self._before = self.history.position
        due = False
        while self.history.position.chunk < len(self._pieces) and np.isfinite(self.history.position.loss):
            if due:
                self._checkpoint()
            due = self._until_due(epoch)
        loss = self.history.position.loss
        if not np.isfinite(loss) or not finite(self._params):
            self._restore()
            raise Diverged(
                f"training left the finite numbers in epoch {epoch + 1} with lr={self._plan.lr:g}: the model is back to where it was "
                f"after {epoch} epochs{self._chunks_before()}; try a lower lr, for example {self._plan.lr / 4:g}"
            )
        self.history.losses.append(loss / max(self.history.position.pairs, 1))
        self.history.position = Position(epoch + 1, all_pairs=self.history.position.all_pairs)
        self.tell("epoch", epoch + 1, self.history.losses[-1])
        if due and epoch + 1 < self._plan.epochs:
            self._checkpoint()

    def _chunks_before(self) -> str:
        return f" and {self._before.chunk} chunks" if self._before.chunk else ""

    def _until_due(self, epoch: int) -> bool:
        """Train the chunks that are left; stop, and return True, when a checkpoint is due."""
        first, due = self.history.position.chunk, False
        with self._threads(epoch, first) as results:
            for _ in range(first, len(self._pieces)):
                self._report(results.get(), epoch)
                due = self._timer.due()
                if due or not np.isfinite(self.history.position.loss):
                    break
        while not results.empty():  # what threads finished before they stopped
            self._report(results.get(), epoch)
        return due

    def _report(self, result: _Result, epoch: int) -> None:
        if result.error is not None:
            raise result.error
        at = result.position
        if np.isfinite(at.loss):
            self.history.words, self._lr = result.words, result.lr
            self.tell("progress", epoch + 1, at.loss / max(at.pairs, 1))

    def _checkpoint(self) -> None:
        """Save the state, which no thread is changing now; a checkpoint that fails does not end the training."""
        self.history.words = self._words_at(self.history.position)
        if finite(self._params):
            try:
                self._plan.save()
            except UnhotError as error:
                self._plan.warn(f"no checkpoint: {error}; training goes on")
        self._timer.begin()

    def _words_at(self, position: Position) -> int:
        """Words trained; those outside the vocabulary are spread evenly over the epoch, as far as their count goes."""
        done = self._pieces[position.chunk].done if position.chunk < len(self._pieces) else self._ids
        return position.epoch * self._words + round(self._words * done / self._ids)

    def interrupt(self) -> None:
        """Keep what there is, unless it is not finite: then what there was at the beginning of the epoch."""
        self.history.interrupted = True
        if not finite(self._params):
            self._restore()
        del self.history.losses[self.history.position.epoch :]  # Ctrl-C came between the two
        self.history.words = self._words_at(self.history.position)

    def _restore(self) -> None:
        for good, matrix in zip(self._good, self._params, strict=True):
            matrix[:] = good
        self._plan.seen[:] = self._good_seen
        self.history.position = self._before
        self.history.words = self._words_at(self._before)

    @contextlib.contextmanager
    def _threads(self, epoch: int, first: int) -> Iterator[queue.SimpleQueue[_Result]]:
        """Results of the epoch's chunks from the first on, as threads finish them; leaving the context stops the threads."""
        todo, stop = iter(self._pieces[first:]), threading.Event()
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
            yield results
        finally:
            stop.set()
            pressed = [_join(thread) for thread in threads]
        for error in filter(None, pressed):
            raise error

    def _train(self, epoch: int, piece: Piece, thread: int, buffers: Scratch) -> _Result:
        try:
            plan, kernel = self._plan, self._kernel
            lr = learning_rate(plan.lr, epoch, plan.epochs, piece.done / self._ids)
            windows = key_from(stream_key(plan.seed, epoch, 0), piece.done - piece.start)  # bits belong to positions of the whole corpus
            draws = stream_key(plan.seed, epoch, 1 + piece.number)
            place = self._hot.places[thread]
            chunk = Chunk(piece.start, piece.stop, piece.sentence, windows, draws, np.float32(lr), place, plan.frozen)
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
            with self._lock:  # counted here, not in the main thread, which Ctrl-C may stop anywhere
                at = self.history.position
                at = Position(at.epoch, at.chunk + 1, at.loss + float(loss), at.pairs + int(pairs), at.all_pairs + int(pairs))
                self.history.position = at
            return _Result(at, self._words_at(at), lr, None)
        except BaseException as error:  # handed to the main thread, which raises it
            return _Result(self.history.position, 0, 0.0, error)

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


def _join(thread: threading.Thread) -> KeyboardInterrupt | None:
    """Wait for a thread to end its chunk, however often Ctrl-C is pressed: nobody may write while the model is saved."""
    pressed: KeyboardInterrupt | None = None
    while thread.is_alive():
        try:
            thread.join()
        except KeyboardInterrupt as error:
            pressed = error
    return pressed


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
