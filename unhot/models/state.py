"""What a fit leaves behind, as values: what was learned, how the training went, where its input came from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from unhot.models.fitting import Origin
from unhot.train.epoch_run import EpochRun
from unhot.train.history import History
from unhot.vocab.vocabulary import Vocabulary


class Learned(Protocol):
    """What a model has learned: a value that knows its words, and how it is saved.

    It may also have a method `facts`, which returns what the saved config holds in addition to the settings.
    """

    @property
    def in_vocabulary(self) -> Vocabulary:
        """The words that are inputs."""

    @property
    def out_vocabulary(self) -> Vocabulary:
        """The words that are predicted; the same object if they are the inputs."""

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return the tensors to save; of an incomplete training also those that resuming needs."""


L = TypeVar("L", bound=Learned)


@dataclass
class FitState(Generic[L]):
    """The state of a model after a fit, or while it is trained."""

    learned: L
    history: History
    origin: Origin = field(default_factory=Origin)
    chosen: Mapping[str, Any] = field(default_factory=dict)  # settings that the training has chosen itself
    made: dict[str, Any] = field(default_factory=dict)  # what answers questions; it is made once


@dataclass
class InEpochs(Generic[L]):
    """A training in epochs."""

    run: EpochRun[Any]
    now: Callable[[], L]  # returns what is learned so far
    chosen: Mapping[str, Any] = field(default_factory=dict)
    finish: Callable[[L], L] = lambda learned: learned  # called once, when all epochs are done
    finished: L | None = None

    @property
    def learned(self) -> L:
        """What is learned so far."""
        return self.now() if self.finished is None else self.finished

    def train(self) -> None:
        """Train until all epochs are done, or until Ctrl-C, which may also come while it finishes."""
        self.run.train()
        try:
            if self.run.history.complete:
                self.finished = self.finish(self.now())
        except KeyboardInterrupt:
            self.run.history.interrupted = True

    def close(self) -> None:
        """Free what only the training needs."""
        self.run.close()


@dataclass
class AtOnce(Generic[L]):
    """A training without epochs: it counts, or solves an equation. Ctrl-C leaves nothing."""

    learn: Callable[[], L]
    history: History
    words: int  # that it learns from
    chosen: Mapping[str, Any] = field(default_factory=dict)
    learned: L | None = None

    def train(self) -> None:
        """Learn everything."""
        self.learned = self.learn()
        self.history.words = self.words

    def close(self) -> None:
        """Do nothing: nothing is open."""


Training: TypeAlias = InEpochs[L] | AtOnce[L]  # a training that is ready to run
