"""What every model is: settings, a name, a history, files; and `fit` and `resume`, which are only here.

A model is a dataclass of its settings, registered under a name. It says a few things itself:

    open_input    what is read, made ready to be trained on
    begin         a training of that, not yet begun: anything with `train()` and `close()`
    tensors, take what is saved of what it has learned, and back

What reads text adds text_model.py, what is learned in epochs epoch_model.py, what has vectors
vector_model.py. The comments behind its fields are the help texts of `unhot train`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Protocol, Self, TypeVar

from unhot.corpus.phrases import Phrases
from unhot.errors import ConfigError, DataError, FormatError
from unhot.models.fitting import Begins, Counting, Note, Origin, Reading, Reads, Tells, names_of, opened
from unhot.models.settings import Range, check_settings
from unhot.train.checkpoint import Checkpoint, fingerprint
from unhot.train.history import History
from unhot.train.progress import Callback
from unhot.vectors.formats.directory import COUNTS, SavedModel, checkpoint_of, remove_checkpoint, save_model
from unhot.version import __version__
from unhot.vocab.vocabulary import Vocabulary

MODELS: dict[str, type[Model[Any]]] = {}  # all that are registered by now, by name
AnyModel = TypeVar("AnyModel", bound="type[Model[Any]]")


class Learned(Protocol):
    """What a model has learned: at least of what it is."""

    @property
    def in_vocabulary(self) -> Vocabulary:
        """What goes in."""

    @property
    def out_vocabulary(self) -> Vocabulary:
        """What is predicted; the same object where that is what goes in."""


L = TypeVar("L", bound=Learned)


class Training(Protocol):
    """A training that can begin."""

    def train(self) -> None:
        """Train, and tell how far it came; on Ctrl-C keep what there is."""

    def close(self) -> None:
        """Let go of what only the training needs."""


@dataclasses.dataclass(kw_only=True)
class Model(ABC, Generic[L]):
    """Settings of a model; after `fit` or `load`, also what was learned."""

    # threads; with 1, the same seed gives the same bytes; glove: with any number
    threads: Annotated[int, Range(1, 1024)] = 2

    name: ClassVar[str]  # see `model`
    unit: ClassVar[str] = "words"  # what it is trained on
    labelled: ClassVar[bool] = False  # it learns from labels beside the text
    starts: ClassVar[bool] = False  # it can begin from vectors, or from another model

    def __post_init__(self) -> None:
        """Check the settings."""
        check_settings(self)
        self.history = History()
        self._origin = Origin()
        self._learned: L | None = None

    @property
    def learned(self) -> L:
        """What it has learned so far; a `DataError` before `fit`."""
        if self._learned is None:
            raise DataError(f"this {type(self).__name__} has learned nothing yet: call fit first")
        return self._learned

    def keep(self, learned: L) -> None:
        """Have learned that."""
        self._learned = learned
        self.forget()

    def forget(self) -> None:
        """Drop what was made of params that have changed since."""

    @property
    def vocabulary(self) -> Vocabulary | None:
        """What goes in, with counts; None before anything is learned."""
        return None if self._learned is None else self._learned.in_vocabulary

    @property
    def out_vocabulary(self) -> Vocabulary | None:
        """What is predicted; None before anything is learned."""
        return None if self._learned is None else self._learned.out_vocabulary

    @abstractmethod
    def open_input(self, reads: Reads, tells: Tells) -> contextlib.AbstractContextManager[Any]:
        """What is read, made ready: a corpus, cells, or what else has a vocabulary and a fingerprint."""

    @abstractmethod
    def begin(self, data: Any, begins: Begins, tells: Tells) -> Training:
        """The training of what was opened; from here on `learned` shows what there is of it."""

    @abstractmethod
    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """What is saved; if the training is not complete, also what it needs to go on."""

    @abstractmethod
    def take(self, saved: SavedModel) -> None:
        """Take over the tensors that were read."""

    @property
    def complete(self) -> bool:
        """Whether the training came to its end; what is not learned in epochs has none to go on with."""
        return True

    def warm_up(self) -> None:
        """Compile the kernels of these settings, or load them from disk."""

    def ended(self) -> None:
        """The training has ended, or was cut off.

        What is shown next is made of the params as they are now.
        """
        self.forget()

    def check_begins(self, begins: Begins) -> None:
        """Raise a `ConfigError` for what it cannot begin from: better before a text is read than after it."""
        for field in ("start", "frozen"):
            if getattr(begins, field) is not None and not self.starts:
                raise ConfigError(f"{field}: {self.name} begins anew every time; leave it out")

    def known(self, begins: Begins, reads: Reads) -> Vocabulary | None:
        """Words that stay, whatever the text has."""
        return None

    def fit(
        self,
        source: Any,
        labels: Any = None,
        *,
        counts: Mapping[str, int] | Vocabulary | None = None,
        column: str | None = None,
        phrases: Phrases | None = None,
        start: Any = None,
        frozen: str | Iterable[str] | None = None,
        checkpoint: Checkpoint | None = None,
        callbacks: Sequence[Callback] = (),
        reading: Reading | None = None,
        counting: Counting | None = None,
        note: Note | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from text (see `unhot.corpus.encode`), from an encoded `Corpus`, or from `Cells`.

        labels      what stands beside each line, for models that have labels
        counts      a vocabulary given from outside: word -> count
        column      of a table, where the sentences are
        phrases     to join in the text before anything else
        start       vectors to begin from, for the words that have one; or a model to go on with, whose words
                    are joined by new ones
        frozen      words whose input vectors stay as they are; "known": all that `start` has
        checkpoint  where and how often to save the state, to `resume` from
        callbacks   called with a `Progress` after every chunk and every epoch
        reading     called with bytes read and bytes there are while the text is read
        counting    on cells: called with rows counted and rows there are
        note        called with lines about what goes on: compiling, the memory plan, odd input; None: they
                    are logged
        directory   where to keep the encoded text for another time, and in its folder `cells` the cells, if
                    it is trained on them; None: a temporary directory. Of `Cells` that are given nothing is
                    read, counted or kept: the three have no use then
        """
        if labels is not None and not self.labelled:
            raise ConfigError(f"labels: {self.name} learns from text alone; leave them out")
        begins = Begins(start, frozen, History())
        self.check_begins(begins)
        tells = Tells(callbacks, reading, counting, note, checkpoint)
        reads = Reads(opened(source), labels, counts, column, phrases, directory)
        reads = dataclasses.replace(reads, known=self.known(begins, reads))
        with self.open_input(reads, tells) as data:
            origin = Origin(names_of(source), column, fingerprint(data), names_of(labels))
            with self._training(data, begins, tells, origin) as training:
                training.train()
        return self

    def resume(
        self,
        source: Any = None,
        labels: Any = None,
        *,
        phrases: Phrases | None = None,
        checkpoint: Checkpoint | None = None,
        callbacks: Sequence[Callback] = (),
        reading: Reading | None = None,
        counting: Counting | None = None,
        note: Note | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Go on with a training that was cut off: from its last checkpoint, or from where Ctrl-C stopped it.

        The source must be the same, with the same phrases; None: the files that were named then. With one
        thread the result is the same, byte for byte, as if it had never stopped; that of GloVe with any
        number.
        """
        vocabulary, done = self.learned.in_vocabulary, self.history.position
        if self.complete:
            more = "to learn from more text, use fit(text, start=model)" if self.starts else "fit again"
            raise DataError(f"this training is complete ({done.epoch} epochs): {more}")
        tells = Tells(callbacks, reading, counting, note, checkpoint)
        text = opened(self._origin.again() if source is None else source)
        labels = self._origin.labels_again() if labels is None else labels
        reads = Reads(text, labels, phrases=phrases, directory=directory)
        if not reads.encoded:
            reads = dataclasses.replace(reads, counts=vocabulary, column=self._origin.column)
        with self.open_input(reads, tells) as data:
            if data.vocabulary != vocabulary or fingerprint(data) != self._origin.fingerprint:
                raise DataError(
                    "this is not the text that the training began with, or it is tokenised differently, or "
                    "has other phrases: give the same text, and the same phrases"
                )
            self.history.interrupted = False
            tells.say(f"going on after {done.epoch} epochs and {done.chunk} chunks")
            begins = Begins(history=self.history, resumed=True)
            with self._training(data, begins, tells, self._origin) as training:
                training.train()
        return self

    @contextlib.contextmanager
    def _training(self, data: Any, begins: Begins, tells: Tells, origin: Origin) -> Iterator[Training]:
        """A training that has begun; until then the model stays as it was."""
        training = self.begin(data, begins, tells)
        self.history, self._origin = begins.history, origin
        try:
            yield training
        finally:
            training.close()
            self.ended()

    def config(self) -> dict[str, Any]:
        """The settings as plain data, enough to make the model again."""
        settings = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"model": self.name, **settings}

    def facts(self) -> dict[str, Any]:
        """What its folder says of it that is no setting."""
        return {}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model directory, all or nothing; nothing in it depends on when it was made.

        Its checkpoint is then removed. A model whose training was cut off also holds where it stood.
        """
        self._write(Path(path))
        remove_checkpoint(Path(path))

    def save_checkpoint(self, tells: Tells) -> None:
        """Write the state of a training under way."""
        assert tells.checkpoint is not None
        folder = checkpoint_of(tells.checkpoint.folder)
        self._write(folder)
        tells.say(f"checkpoint: {self.history.words:,} {self.unit}, in {folder}")

    def _write(self, folder: Path) -> None:
        history, learned = self.history, self.learned
        tensors = self.tensors(complete=self.complete)
        if taken := tensors.keys() & set(COUNTS.values()):
            raise ConfigError(f"a tensor {min(taken)!r}: the name is the vocabulary's; choose another")
        config = {**self.config(), **self.facts(), "unhot": __version__, "losses": history.losses}
        config[self.unit] = history.words
        if not self.complete:
            config["losses"] = history.losses[: history.position.epoch]
            config["training"] = {**history.as_json(), **self._origin.as_json()}
        predicted = None if learned.out_vocabulary is learned.in_vocabulary else learned.out_vocabulary
        save_model(folder, config, learned.in_vocabulary, tensors, predicted)

    @classmethod
    def from_saved(cls, saved: SavedModel) -> Self:
        """The model of a directory that was read."""
        names = {field.name for field in dataclasses.fields(cls)}
        model = cls(**{name: value for name, value in saved.config.items() if name in names})
        model.take(saved)
        model.history = History.from_config(saved.config)
        training = saved.config.get("training") or {}
        model._origin = Origin(*(training.get(field.name) for field in dataclasses.fields(Origin)))
        return model


def model(name: str) -> Callable[[AnyModel], AnyModel]:
    """Register a model under a name."""

    def decorate(kind: AnyModel) -> AnyModel:
        there = MODELS.get(name)
        if there is not None and (there.__module__, there.__qualname__) != (
            kind.__module__,
            kind.__qualname__,
        ):
            raise ConfigError(
                f"model {name!r}: {there.__module__} has registered one of that name; choose another"
            )
        kind.name = name
        MODELS[name] = kind
        return kind

    return decorate


def shaped_tensor(saved: SavedModel, name: str, shape: tuple[int, ...]) -> Any:
    """A tensor of a saved model; a `FormatError` unless it has that shape."""
    found = saved.tensors.get(name)
    if found is None or found.shape != shape:
        has = None if found is None else found.shape
        raise FormatError(
            f"a {saved.config.get('model')} model: tensor {name!r} has the shape {has}, it must be {shape}: "
            "the file is damaged"
        )
    return found
