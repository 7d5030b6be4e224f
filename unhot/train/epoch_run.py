"""The part that all trainings in epochs share: loss, events, checkpoints, Ctrl-C.

A subclass of `EpochRun` says how a chunk is learned and which arrays change (hogwild.py: compiled kernels on
threads; torch_run.py: PyTorch; exact_run.py: matrix products; glove/glove_run.py: GloVe). Threads take chunks
from one queue. The main thread collects the results, calls the callbacks and handles Ctrl-C. A chunk whose
loss is not a finite number ends the training, and the state goes back to the beginning of the epoch. For a
checkpoint the threads finish their chunks; they start again when it is written.

    lr = first lr * max(FLOOR, 1 - share)

`share` is how much of the epochs, or of the minutes, has passed: the greater of the two. So a training whose
time is limited ends with a small rate, however far it came.

With validation, held-out examples are measured after each epoch. The training stops when the last `patience`
epochs brought nothing better, and ends with the state of the best epoch.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from unhot.errors import ConfigError, Diverged, FormatError, NothingLearned, UnhotError
from unhot.threads import working
from unhot.train.checkpoint import Checkpoint, Timer
from unhot.train.history import History, Position
from unhot.train.params import all_finite
from unhot.train.progress import Callback, Progress
from unhot.train.schedule import Chunk, TextChunk, learning_rate
from unhot.train.state_copy import StateCopy

NOTHING = (
    "nothing was learned: no word had another word near it in its sentence, after rare words were dropped "
    "and frequent words were sub-sampled: put several words on a line, lower min_count, set sample=0, or "
    "choose a wider window"
)


@dataclass(frozen=True)
class Validation:
    """How a training is measured, and when it stops."""

    measure: Callable[[], tuple[float, str]]  # returns the loss of held-out examples, and figures in words
    patience: int  # epochs without a better one, after which the training stops
    state: Mapping[str, Any]  # the named arrays of what is learned, to keep those of the best epoch
    kept: Mapping[str, Any] = field(default_factory=dict)  # the best epoch of an interrupted training


@dataclass(frozen=True)
class Plan:
    """The settings of a training, and the functions that it reports to."""

    epochs: int
    lr: float
    seed: int
    history: History  # the position to start from
    usual_lr: float = 0.0  # the model's default; 0: it has none
    callbacks: Sequence[Callback] = ()
    checkpoint: Checkpoint | None = None
    save: Callable[[], None] = lambda: None  # writes a checkpoint
    warn: Callable[[str], None] = lambda line: None  # reports a checkpoint that failed
    say: Callable[[str], None] = lambda line: None  # reports what goes on
    details: dict[str, Any] = field(default_factory=dict)  # details of the start event
    validation: Validation | None = None  # None: nothing is measured, and all epochs are trained
    minutes: float | None = None  # the most minutes of training; None: no limit
    keep_every: int = 1  # epochs from one copy of the state, to go back to, to the next


class Result(NamedTuple):
    """The position after a chunk, or the error that the chunk raised."""

    position: Position
    lr: float
    error: BaseException | None


C = TypeVar("C", Chunk, TextChunk)


class EpochRun(ABC, Generic[C]):
    """A training run in epochs, each of which consists of chunks."""

    paced: ClassVar[bool] = False  # True: no chunk is trained while callbacks run

    def __init__(
        self,
        chunks: list[C],
        size: int,
        plan: Plan,
        state: Sequence[Any],
        *,
        words: int = 0,
        threads: int = 1,
    ) -> None:
        """Prepare epochs of the given size and chunks; `state` has the arrays that training changes.

        Progress reports count an epoch as `words` words; 0: as its size.
        """
        self.chunks: list[C] = chunks
        self._size, self._words = size, words or size
        self._plan, self._threads = plan, threads
        self.history, self._lock = plan.history, threading.Lock()
        self._began, self._lr = time.perf_counter() - self.history.seconds, plan.lr
        self._before = self.history.position  # the position when `keep_state` was called
        self._first = self._before.epoch
        if self._before.chunk and self.history.chunks not in (0, len(chunks)):
            raise ConfigError(
                f"the training began with epochs of {self.history.chunks} chunks, with these settings they "
                f"have {len(chunks)}: resume it with the engine, batch and layer that it began with; if an "
                "earlier version began it, start a new training from its vectors instead (--start)"
            )
        self.history.chunks, self.history.epochs = len(chunks), plan.epochs
        if self._before.chunk > len(chunks):
            raise FormatError(
                f"the state of the training: {self._before.chunk} of {len(chunks)} chunks; it is damaged"
            )
        self._timer = Timer(plan.checkpoint)
        self._failed: BaseException | None = None  # a chunk's error: no later chunk is trained
        self.arrays = state
        self._good = StateCopy({str(number): array for number, array in enumerate(state)})
        # the seconds after which it is over, and the share of them that has passed
        self.limit, self._share = None if plan.minutes is None else 60 * plan.minutes, 0.0
        watch, losses = plan.validation, self.history.validation
        self._best = StateCopy({}) if watch is None else StateCopy(watch.state, watch.kept)
        # the epoch of the best state; 0: none is kept yet
        self._best_epoch = int(np.argmin(losses)) + 1 if self._best.tensors and losses else 0

    @abstractmethod
    def learn(self, epoch: int, chunk: C, lr: float, thread: int) -> tuple[float, int]:
        """Train a chunk; return its summed loss and its number of (input, target) pairs.

        The threads call this.
        """

    def keep_state(self) -> None:
        """Copy the state at the beginning of an epoch."""
        self._good.keep()

    def restore_state(self) -> None:
        """Restore the state from its copy."""
        self._good.restore()

    def finite(self) -> bool:
        """Return whether all numbers of the state are finite."""
        return all(all_finite(array) for array in self.arrays)

    @property
    def best(self) -> dict[str, Any]:
        """What was learned at the best epoch so far, for checkpoints; empty without validation."""
        return self._best.tensors

    def over(self) -> bool:
        """Return whether the minutes of the training are over; asked after each chunk."""
        return self._share >= 1.0

    def time_share(self) -> float:
        """Return the share of the minutes that has passed; 0 without a limit."""
        return 0.0 if self.limit is None else self.elapsed() / self.limit

    def elapsed(self) -> float:
        """Return the seconds of the training so far, with those before it was resumed."""
        return time.perf_counter() - self._began

    def publish(self) -> None:
        """Update the model, if it has copies of the state."""

    def close(self) -> None:
        """Close and remove files that only the training needs."""

    def train(self) -> None:
        """Train for all epochs, or until Ctrl-C; `history` says how far it came.

        Raise `Diverged`, with the model in the last good state, if a number is not finite. Raise
        `NothingLearned` if no epoch had a single pair to learn from.
        """
        self._tell("start", 0, None, self._plan.details)
        try:
            for epoch in range(self.history.position.epoch, self._plan.epochs):
                self._train_epoch(epoch)
                if self._no_better() or self.over():
                    self.history.stopped = True
                    break
            self._take_best()
            self._done("finished" if self.history.pairs else "nothing learned")
            if not self.history.pairs:
                raise NothingLearned(NOTHING)
        except KeyboardInterrupt:
            self._interrupt()
            self._done("interrupted")
        except Diverged:
            self._done("diverged")
            raise
        except BaseException:  # from a callback or a chunk: make the model match its position
            if self._failed is not None:
                self._restore()
            elif self.finite():
                self.publish()
            raise

    def rate(self, epoch: int, chunk: C) -> float:
        """Return the learning rate of a chunk."""
        return self.falling(self._plan.lr, epoch, chunk)

    def falling(self, lr: float, epoch: int, chunk: C) -> float:
        """Return a rate as it is after the share of epochs or time, whichever is greater, that has passed."""
        by_epochs = learning_rate(lr, epoch, self._plan.epochs, chunk.done / self._size)
        return by_epochs if self.limit is None else min(by_epochs, learning_rate(lr, 0, 1, self._share))

    def _train_epoch(self, epoch: int) -> None:
        """Train one epoch, or the rest of it; before every `keep_every`-th one, copy the state."""
        if self._keeps(epoch):
            self.keep_state()
            self._before = self.history.position
        due, last = False, epoch + 1 == self._plan.epochs
        while self.history.position.chunk < len(self.chunks) and np.isfinite(self.history.position.loss):
            if self.over():
                break
            if due:
                self._checkpoint()
            due = self._until_due(epoch)
        loss = self.history.position.loss
        if not np.isfinite(loss) or ((last or self._keeps(epoch + 1)) and not self.finite()):
            self._restore()
            chunks = f" and {self._before.chunk} chunks" if self._before.chunk else ""
            lower = min(self._plan.lr / 4, self._plan.usual_lr or np.inf)  # not above the model's default
            raise Diverged(
                f"training left the finite numbers in epoch {epoch + 1} with lr={self._plan.lr:g}: the "
                f"model is back to where it was after {self._before.epoch} epochs{chunks}; try a lower lr, "
                f"for example {lower:g}"
            )
        self.publish()
        self._validate(epoch)  # before the position moves on: after Ctrl-C, resuming measures again
        self.history.losses.append(loss / max(self.history.position.pairs, 1))
        self.history.position = Position(epoch + 1, all_pairs=self.history.position.all_pairs)
        self._tell("epoch", epoch + 1, self.history.losses[-1])
        if due and epoch + 1 < self._plan.epochs:
            self._checkpoint()

    def _validate(self, epoch: int) -> None:
        """Measure held-out examples after an epoch, and keep the state if it is the best so far."""
        if self._plan.validation is not None:
            losses, (loss, figures) = self.history.validation, self._plan.validation.measure()
            self._plan.say(f"validation after epoch {epoch + 1}: {figures}")
            if not self._best_epoch or loss <= losses[self._best_epoch - 1]:
                self._best.keep()
                self._best_epoch = len(losses) + 1
            losses.append(loss)

    def _no_better(self) -> bool:
        """Return whether the last epochs brought nothing better on held-out examples."""
        watch, losses = self._plan.validation, self.history.validation
        return watch is not None and len(losses) - 1 - int(np.argmin(losses)) >= watch.patience

    def _take_best(self) -> None:
        """Go back to the best epoch, if it was not the last."""
        if 0 < self._best_epoch < len(self.history.validation):
            self._best.restore()
            self._plan.say(f"the model is that of epoch {self._best_epoch}, which was the best")

    def _keeps(self, epoch: int) -> bool:
        """Return whether the state is checked and copied before an epoch."""
        return (epoch - self._first) % self._plan.keep_every == 0

    def _until_due(self, epoch: int) -> bool:
        """Train the remaining chunks; stop and return True when a checkpoint is due."""
        first, due = self.history.position.chunk, False
        dealt = threading.Semaphore(0) if self.paced else None
        train_chunk = partial(self._train_chunk, epoch)
        with working(self.chunks[first:], train_chunk, self._threads, dealt) as results:
            for _ in range(first, len(self.chunks)):
                self._report(results.get(), epoch)
                due = self._timer.due()
                if due or self.over() or not np.isfinite(self.history.position.loss):
                    break
                if dealt is not None:
                    dealt.release()
        while not results.empty():  # chunks that threads finished before they stopped
            self._report(results.get(), epoch)
        return due

    def _train_chunk(self, epoch: int, chunk: C, thread: int) -> Result:
        if self._failed is not None:
            return Result(self.history.position, 0.0, self._failed)
        try:
            self._share = self.time_share()
            lr = self.rate(epoch, chunk)
            loss, pairs = self.learn(epoch, chunk, lr, thread)
            with self._lock:  # counted here, not in the main thread, which Ctrl-C may stop anywhere
                at = self.history.position
                at = Position(at.epoch, at.chunk + 1, at.loss + loss, at.pairs + pairs, at.all_pairs + pairs)
                self.history.position = at
            return Result(at, lr, None)
        except BaseException as error:  # passed to the main thread, which raises it
            self._failed = error
            return Result(self.history.position, 0.0, error)

    def _report(self, result: Result, epoch: int) -> None:
        if result.error is not None:
            raise result.error
        at = result.position
        if np.isfinite(at.loss):
            self.history.words, self._lr = self._words_at(at), result.lr
            self._tell("progress", epoch + 1, at.loss / max(at.pairs, 1))

    def _checkpoint(self) -> None:
        """Save the state, which no thread is changing now.

        Nothing is saved before the first pair. A checkpoint that fails does not end the training.
        """
        self.history.words = self._words_at(self.history.position)
        if self.history.pairs and self.finite():
            self.publish()
            try:
                self._plan.save()
            except UnhotError as error:
                self._plan.warn(f"no checkpoint: {error}; training goes on")
        self._timer.begin()

    def _words_at(self, position: Position) -> int:
        """Return the number of words trained, as if words outside the vocabulary were spread evenly."""
        done = self.chunks[position.chunk].done if position.chunk < len(self.chunks) else self._size
        return position.epoch * self._words + round(self._words * done / self._size)

    def _interrupt(self) -> None:
        """Keep the state if it is finite; otherwise go back to the beginning of the epoch."""
        self.history.interrupted = True
        if self.finite():
            self.publish()
        else:
            self._restore()
        self._forget_later()  # Ctrl-C came before the position moved on

    def _restore(self) -> None:
        self.restore_state()
        self.publish()
        self.history.position = self._before
        self._forget_later()

    def _forget_later(self) -> None:
        """Forget the losses of epochs behind the position."""
        at = self.history.position
        del self.history.losses[at.epoch :], self.history.validation[at.epoch :]
        self.history.words = self._words_at(at)

    def _done(self, reason: str) -> None:
        """Report the end of the training."""
        losses = self.history.losses
        details = {"reason": reason, "pairs": self.history.pairs}
        self._tell("done", min(len(losses) + 1, self._plan.epochs), losses[-1] if losses else None, details)

    def _tell(
        self, event: str, epoch: int, loss: float | None, details: dict[str, Any] | None = None
    ) -> None:
        """Report an event to the callbacks."""
        self.history.seconds = self.elapsed()
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
            self.limit,
        )
        for callback in self._plan.callbacks:
            callback(progress)
