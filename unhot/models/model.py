"""The base class of all models: settings, name, history, files, and the only `fit` and `resume`.

A model is a dataclass of its settings, registered under a name. Each model implements these methods:

    open_input      open the input and make it ready for training
    begin           make a training of it: an object with `train()` and `close()`
    tensors, take   return what is saved of the learned state, and take it back

Models that read text also derive from text_model.py, models trained in epochs from epoch_model.py, models
with vectors from vector_model.py. The comments at the fields are the help texts of `unhot train`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from unhot.corpus.phrases import Phrases
from unhot.corpus.workplace import DiskFull
from unhot.errors import ConfigError, DataError, FormatError, one_of
from unhot.models.families import FAMILIES
from unhot.models.fitting import Begins, Counting, Note, Origin, Reading, Reads, Tells, names_of, opened
from unhot.models.settings import Range, check_settings
from unhot.specs import registering
from unhot.train.checkpoint import Checkpoint, fingerprint
from unhot.train.disk_plan import ROUNDING, DiskPlan
from unhot.train.history import History
from unhot.train.progress import Callback
from unhot.vectors.formats.directory import COUNTS, SavedModel, checkpoint_of, remove_checkpoint, save_model
from unhot.version import __version__
from unhot.vocab.vocabulary import Vocabulary, words_text

MODELS: dict[str, type[Model[Any]]] = {}  # all registered models by name
AnyModel = TypeVar("AnyModel", bound="type[Model[Any]]")


class Learned(Protocol):
    """The learned state of a model: at least its vocabularies."""

    @property
    def in_vocabulary(self) -> Vocabulary:
        """The words that are inputs."""

    @property
    def out_vocabulary(self) -> Vocabulary:
        """The words that are predicted; the same object if they are the inputs."""


L = TypeVar("L", bound=Learned)


class Training(Protocol):
    """A training that is ready to run."""

    def train(self) -> None:
        """Train, and report progress; on Ctrl-C stop and keep what is learned so far."""

    def close(self) -> None:
        """Free what only the training needs."""


@dataclasses.dataclass(kw_only=True)
class Model(ABC, Generic[L]):
    """Settings of a model; after `fit` or `load`, also its learned state."""

    # number of threads; the same seed gives the same bytes with 1 thread (glove: with any number)
    threads: Annotated[int, Range(1, 1024)] = 2

    name: ClassVar[str]  # set by the decorator `model`
    family: ClassVar[str] = "words"  # likewise; models of the family "classify" learn from labels
    unit: ClassVar[str] = "words"  # the unit in which progress is counted
    starts: ClassVar[bool] = False  # whether it can start from vectors or from another model
    use: ClassVar[str] = ""  # what to do with a saved model, whose folder is {}

    def __post_init__(self) -> None:
        """Check the settings."""
        check_settings(self)
        self.history = History()
        self._origin = Origin()
        self._learned: L | None = None

    @property
    def learned(self) -> L:
        """The learned state so far; raises a `DataError` before `fit`."""
        if self._learned is None:
            raise DataError(f"this {type(self).__name__} has learned nothing yet: call fit first")
        return self._learned

    def keep(self, learned: L) -> None:
        """Set the learned state."""
        self._learned = learned
        self.forget()

    def forget(self) -> None:
        """Drop cached objects made from params that have changed since."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and copied: all but cached objects, such as stores and searches."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied.forget()
        return copied.__dict__

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The words that are inputs, with counts; None before anything is learned."""
        return None if self._learned is None else self._learned.in_vocabulary

    @property
    def out_vocabulary(self) -> Vocabulary | None:
        """The words that are predicted; None before anything is learned."""
        return None if self._learned is None else self._learned.out_vocabulary

    @abstractmethod
    def open_input(self, reads: Reads, tells: Tells) -> contextlib.AbstractContextManager[Any]:
        """Open the input: a corpus, cells, or anything else with a vocabulary and a fingerprint."""

    @abstractmethod
    def begin(self, data: Any, begins: Begins, tells: Tells) -> Training:
        """Make the training of the opened input; from now on `learned` shows its current state."""

    @abstractmethod
    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return the tensors to save; for an incomplete training also those that resuming needs."""

    @abstractmethod
    def take(self, saved: SavedModel) -> None:
        """Take over the tensors of a saved model."""

    @property
    def complete(self) -> bool:
        """Whether the training is complete; always True for models that are not trained in epochs."""
        return True

    def warm_up(self) -> None:
        """Compile the kernels of these settings, or load them from disk."""

    def ended(self) -> None:
        """Clean up after a training has ended or was interrupted.

        Cached objects are dropped, so that the next query sees the final params.
        """
        self.forget()

    def check_begins(self, begins: Begins) -> None:
        """Raise a `ConfigError` if the model cannot start from what is given; called before text is read."""
        for field in ("start", "frozen"):
            if getattr(begins, field) is not None and not self.starts:
                raise ConfigError(f"{field}: {self.name} always starts from scratch; leave {field} out")

    def text_words(self) -> Vocabulary | None:
        """Return the words to read the text with when resuming; None: they are counted again."""
        return self.learned.in_vocabulary

    def known(self, begins: Begins, reads: Reads) -> Vocabulary | None:
        """Return words that stay in the vocabulary even if the text lacks them; None: there are none."""
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
        progress: bool = False,
        callbacks: Sequence[Callback] = (),
        reading: Reading | None = None,
        counting: Counting | None = None,
        note: Note | None = None,
        directory: str | os.PathLike[str] | None = None,
        force: bool = False,
    ) -> Self:
        """Learn from text (see `unhot.corpus.encode`), from an encoded `Corpus`, or from `Cells`.

        labels      the labels of each line, for models that learn from labels
        counts      the vocabulary to use, word -> count, instead of the words of the text
        column      the column of a table that holds the sentences
        phrases     phrases to join in the text before anything else
        start       vectors to start from, for the words that have one; or a model to train further, whose
                    vocabulary then grows by the new words
        frozen      words whose input vectors must not change; "known": all words of `start`
        checkpoint  where and how often to save the state, to `resume` from
        progress    show the progress: a bar on a terminal or in a notebook, elsewhere a line for each epoch
        callbacks   functions called with a `Progress` after every chunk and every epoch
        reading     function called with the bytes read and the total while the text is read
        counting    function called with the rows counted and the total while cells are counted
        note        function called with lines about what goes on: compiling, the memory plan, odd input;
                    None: the lines are logged or, with `progress`, shown
        directory   where to keep the encoded text for later, and the cells in its folder `cells` if the
                    model is trained on cells; None: a temporary directory
        force       read files even if they do not look like text

        If the source is `Cells`, nothing is read, counted or kept, and `reading`, `counting`, `directory` and
        `force` have no effect.
        """
        if labels is not None and self.family != "classify":
            raise ConfigError(f"labels: {self.name} learns from text without labels; leave labels out")
        begins = Begins(start, frozen, History())
        self.check_begins(begins)
        listeners = Tells(callbacks, reading, counting, note, checkpoint)
        reads = Reads(opened(source), labels, counts, column, phrases, directory, force=force)
        reads = dataclasses.replace(reads, known=self.known(begins, reads))
        with listeners.shown(progress) as tells, tells.claim(), self.open_input(reads, tells) as data:
            files = labels is None or isinstance(labels, (str, os.PathLike))  # else the source is texts
            named, labelled = (names_of(given) if files else None for given in (source, labels))
            origin = Origin(named, column, fingerprint(data), labelled)
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
        progress: bool = False,
        callbacks: Sequence[Callback] = (),
        reading: Reading | None = None,
        counting: Counting | None = None,
        note: Note | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Continue an interrupted training, from its last checkpoint or from where Ctrl-C stopped it.

        The source and the phrases must be the same as before; source=None opens the same files again. With
        one thread the result is the same, byte for byte, as without the interruption; GloVe's result is the
        same with any number of threads.

        If the training is complete, nothing is left to do, and the model is returned as it is. A source that
        is given nevertheless is a `DataError`: it may be new text, which `resume` does not learn from.
        """
        done = self.history.position
        listeners = Tells(callbacks, reading, counting, note, checkpoint)
        if self.complete:
            if source is not None:
                more = "use fit(text, start=model)" if self.starts else "call fit again"
                raise DataError(f"this training is complete: to learn from more text, {more}")
            listeners.say("this training is complete: nothing is left to do")
            return self
        named = self._origin.files() if source is None else []
        text = opened(self._origin.again() if source is None else source)
        labels = self._origin.labels_again() if labels is None else labels
        # the text is compared with the one that the training began with, so it need not look like text
        reads = Reads(text, labels, phrases=phrases, directory=directory, force=True)
        if not reads.encoded:
            reads = dataclasses.replace(reads, counts=self.text_words(), column=self._origin.column)
        with listeners.shown(progress) as tells, tells.claim(), self._reopened(named, reads, tells) as data:
            if not named and fingerprint(data) != self._origin.fingerprint:
                raise DataError(
                    "this is not the text that the training started with, or it is tokenised differently, or "
                    "has other phrases: give the same text and the same phrases"
                )
            self.history.interrupted = False
            tells.say(f"resuming after {done.epoch} epochs and {done.chunk} chunks")
            begins = Begins(history=self.history, resumed=True)
            with self._training(data, begins, tells, self._origin) as training:
                training.train()
        return self

    @contextlib.contextmanager
    def _reopened(self, named: list[str], reads: Reads, tells: Tells) -> Iterator[Any]:
        """Open the input of a training that is resumed.

        If the checkpoint names the files, nothing of them is shown before their fingerprint is checked.
        """
        if not named:
            with self.open_input(reads, tells) as data:
                yield data
            return
        listed, held = ", ".join(named), list[str]()
        tells.say(f"reading {listed}, as the checkpoint says")
        with contextlib.ExitStack() as stack:
            try:
                data = stack.enter_context(
                    self.open_input(reads, dataclasses.replace(tells, note=held.append))
                )
                right = fingerprint(data) == self._origin.fingerprint
            except DiskFull:  # nothing of the files
                raise
            except (DataError, FormatError, ConfigError):
                right = False
            if not right:
                raise DataError(
                    f"{listed}: is not the text that the training started with, or it is tokenised "
                    "differently, or has other phrases: give the same text and the same phrases"
                ) from None
            for line in held:
                tells.say(line)
            yield data

    @contextlib.contextmanager
    def _training(self, data: Any, begins: Begins, tells: Tells, origin: Origin) -> Iterator[Training]:
        """Begin a training and clean up after it; the model is unchanged if `begin` fails."""
        training = self.begin(data, begins, tells)
        self.history, self._origin = begins.history, origin
        try:
            known = self.tensor_bytes(len(data.vocabulary), complete=True) > 0
            if tells.checkpoint is not None and known:
                tells.say(self._disk_plan(tells.checkpoint, data.vocabulary).check())
            yield training
        finally:
            training.close()
            self.ended()

    def tensor_bytes(self, words: int, *, complete: bool) -> int:
        """Return how many bytes the tensors of a saved model take; 0 if that is not known before training."""
        if self._learned is None:
            return 0
        return sum(tensor.nbytes for tensor in self.tensors(complete=complete).values())

    def _disk_plan(self, checkpoint: Checkpoint, vocabulary: Vocabulary) -> DiskPlan:
        """Return the disk space that the saved model and its checkpoints need."""
        words = len(vocabulary)
        text = len(words_text(vocabulary.words)) + vocabulary.counts.nbytes + ROUNDING
        model, state = (self.tensor_bytes(words, complete=complete) for complete in (True, False))
        return DiskPlan(checkpoint.folder, model + text, state + text if checkpoint.repeated else 0)

    def config(self) -> dict[str, Any]:
        """Return the settings as plain data, from which the model can be made again."""
        settings = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {"model": self.name, **settings}

    def facts(self) -> dict[str, Any]:
        """Return what a saved model's config holds in addition to the settings."""
        return {}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model folder atomically; its bytes do not depend on the time of writing.

        Then remove the model's checkpoint. The folder of an interrupted training also holds its position.
        """
        self._write(Path(path))
        remove_checkpoint(Path(path))

    def save_checkpoint(self, tells: Tells) -> None:
        """Write the current state of the training as a checkpoint."""
        assert tells.checkpoint is not None
        self._disk_plan(tells.checkpoint, self.learned.in_vocabulary).check_checkpoint()
        folder = checkpoint_of(tells.checkpoint.folder)
        self._write(folder)
        tells.say(f"checkpoint: {self.history.words:,} {self.unit}, in {folder}")

    def _write(self, folder: Path) -> None:
        history, learned = self.history, self.learned
        tensors = self.tensors(complete=self.complete)
        if taken := tensors.keys() & set(COUNTS.values()):
            raise ConfigError(f"tensor {min(taken)!r}: the vocabulary uses this name; choose another")
        config = {**self.config(), **self.facts(), "unhot": __version__, "losses": history.losses}
        config[self.unit] = history.words
        if not self.complete:
            config["losses"] = history.losses[: history.position.epoch]
            config["training"] = {**history.as_json(), **self._origin.as_json()}
        predicted = None if learned.out_vocabulary is learned.in_vocabulary else learned.out_vocabulary
        save_model(folder, config, learned.in_vocabulary, tensors, predicted)

    @classmethod
    def from_saved(cls, saved: SavedModel) -> Self:
        """Make the model from a saved folder that was read."""
        names = {field.name for field in dataclasses.fields(cls)}
        model = cls(**{name: value for name, value in saved.config.items() if name in names})
        model.take(saved)
        model.history = History.from_config(saved.config)
        model._origin = Origin.from_json(saved.config.get("training") or {})
        return model


def model(name: str, *, family: str | None = None) -> Callable[[AnyModel], AnyModel]:
    """Register a model under a name.

    family   whose commands train it, see `FAMILIES`; "": no command trains it; None: that of its base class,
             which is "words" unless a base class is registered in another family
    """
    one_of(f"family of {name}", family or "words", (*FAMILIES,))

    def decorate(kind: AnyModel) -> AnyModel:
        kind.family = kind.family if family is None else family
        return registering(MODELS, name, "model")(kind)

    return decorate


def shaped_tensor(saved: SavedModel, name: str, shape: tuple[int, ...], kind: Any = None) -> Any:
    """Return a tensor of a saved model; raise a `FormatError` unless it has that shape.

    kind   the type of its numbers, such as np.float32; None: any
    """
    found = saved.tensors.get(name)
    if found is None or found.shape != shape:
        has = None if found is None else found.shape
        raise FormatError(
            f"a {saved.config.get('model')} model: tensor {name!r} has the shape {has}, but must have "
            f"{shape}; the file is damaged"
        )
    if kind is not None and found.dtype != kind:
        raise FormatError(
            f"a {saved.config.get('model')} model: tensor {name!r} is {found.dtype}, but must be "
            f"{np.dtype(kind)}; the file is damaged"
        )
    return found
