"""The skeleton of all models: what a model has to say, and what it gets for it.

A model is a dataclass of its settings, registered under a name. It says four things. None of them changes the
model; values go from one to the next.

    prepare(reads, begins, tells)    check what is given, and open the input: a context manager that gives a
                                     value with all that the training needs. The value is a `Corpus` or
                                     `Cells`, or has one as `text`
    training(data, begins, tells)    return a training of it (state.py): `InEpochs` or `AtOnce`
    make_answers(learned)            return what answers questions about a learned value; it is made when it
                                     is first asked, and a new state has a new one
    restore(saved)                   return the learned value of a saved model

For that it gets `resume`, `save`, `load`, checkpoints, progress, Ctrl-C and the command line. `fit` belongs
to the kind of input: `fit_text`, `fit_log`, `fit_graph`; all of them call `Model.fit`.

`fit` and `resume` assign `fit_state`, and nothing else is ever assigned. If they fail, the old state
is back. While a training runs, callbacks see its current state in the model. Ctrl-C is no failure: it keeps
the current state. If the numbers of a training become infinite (`Diverged`), the last good state stays.

The comments at the fields are the help texts of the commands.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from unhot.corpus.phrases import Phrases
from unhot.corpus.workplace import DiskFull
from unhot.errors import ConfigError, DataError, Diverged, FormatError, UnhotError, one_of
from unhot.models.families import FAMILIES
from unhot.models.fitting import FORM, Begins, Counting, Note, Origin, Reading, Reads, Tells, names_of, opened
from unhot.models.settings import Range, check_settings
from unhot.models.state import FitState, L, Learned, Training
from unhot.outputs import parse_output
from unhot.rows.opening import format_of
from unhot.rows.remote import hidden
from unhot.specs import registering
from unhot.train.checkpoint import ROUNDING, Checkpoint, DiskPlan, fingerprint
from unhot.train.history import History
from unhot.train.progress import Callback, Progress
from unhot.vectors.formats.directory import COUNTS, SavedModel, checkpoint_of, remove_checkpoint, save_model
from unhot.vectors.formats.remote_folder import saved_at
from unhot.version import __version__
from unhot.vocab.vocabulary import Vocabulary, words_text

MODELS: dict[str, type[Any]] = {}  # all registered models by name
AnyModel = TypeVar("AnyModel", bound="type[Any]")
A = TypeVar("A")  # what answers questions
OTHER_TEXT = (
    "not the text that the training started with, or it is tokenised differently, or has other phrases: give "
    "the same text and the same phrases"
)


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


@dataclasses.dataclass(kw_only=True)
class Model(ABC, Generic[L, A]):
    """Settings of a model; after `fit` or `load`, also its state."""

    # number of threads; the same seed gives the same bytes with 1 thread (glove: with any number)
    threads: Annotated[int, Range(1, 1024)] = 2

    name: ClassVar[str]  # set by the decorator `model`
    family: ClassVar[str] = "words"  # likewise; models of the family "classify" learn from labels
    unit: ClassVar[str] = "words"  # the unit in which progress is counted
    starts: ClassVar[bool] = False  # whether it can start from vectors or from another model
    own_words: ClassVar[bool] = True  # whether the words of the model are those of the text, for `resume`
    use: ClassVar[str] = ""  # what to do with a saved model, whose folder is {}

    def __post_init__(self) -> None:
        """Check the settings."""
        self.fit_state: FitState[L] | None = None
        check_settings(self)
        self.check()

    def check(self) -> None:
        """Raise a `ConfigError` if settings contradict each other."""

    @abstractmethod
    def prepare(self, reads: Reads, begins: Begins, tells: Tells) -> contextlib.AbstractContextManager[Any]:
        """Check what is given, and open the input; give what the training needs."""

    @abstractmethod
    def training(self, data: Any, begins: Begins, tells: Tells) -> Training[L]:
        """Return a training of what `prepare` gave."""

    @abstractmethod
    def make_answers(self, learned: L) -> A:
        """Return what answers questions about a learned value."""

    @abstractmethod
    def restore(self, saved: SavedModel) -> L:
        """Return the learned value of a saved model; raise a `FormatError` if it is damaged."""

    def warm_up(self) -> None:
        """Compile the kernels of these settings, or load them from disk."""

    @property
    def learned(self) -> L:
        """What is learned so far; raises a `DataError` before `fit`."""
        if self.fit_state is None:
            raise DataError(f"this {type(self).__name__} has learned nothing yet: call fit first")
        return self.fit_state.learned

    @property
    def answers(self) -> A:
        """What answers questions about the learned value; it is made once for each state."""
        learned, made = self.learned, getattr(self.fit_state, "made", {})
        if not made:
            made["answers"] = self.make_answers(learned)
        found: A = made["answers"]
        return found

    @property
    def history(self) -> History:
        """The losses of the training, and how far it came."""
        return History() if self.fit_state is None else self.fit_state.history

    @property
    def complete(self) -> bool:
        """Whether the training is complete."""
        return self.fit_state is not None and self.fit_state.history.complete

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The words that are inputs, with counts; None before anything is learned."""
        return None if self.fit_state is None else self.fit_state.learned.in_vocabulary

    @property
    def out_vocabulary(self) -> Vocabulary | None:
        """The words that are predicted; None before anything is learned."""
        return None if self.fit_state is None else self.fit_state.learned.out_vocabulary

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and copied: all but what answers questions, which is made again."""
        state = None if self.fit_state is None else dataclasses.replace(self.fit_state, made={})
        return {**self.__dict__, "fit_state": state}

    def fit(self, source: Any, *labels: Any, **options: Any) -> Self:
        """Learn from a source; `help(type(model).fit)` lists the options of each kind of model."""
        self.check()  # settings may have changed since the model was made
        before, job = self.fit_state, Job(source, *labels, **options)

        def show(state: FitState[L] | None) -> None:
            self.fit_state = state

        with job.tells.shown(job.progress) as tells, tells.claim():
            with self.prepare(job.reads, job.begins, tells) as data:
                _train(self, data, job.begins, tells, job.origin(data), show, before)
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
        before, listeners = self.fit_state, Tells(callbacks, reading, counting, note, checkpoint)
        origin = Origin() if before is None else before.origin
        if self.complete:
            if source is not None:
                more = "use fit(text, start=model)" if self.starts else "call fit again"
                raise DataError(f"this training is complete: to learn from more text, {more}")
            listeners.say("this training is complete: nothing is left to do")
            return self
        named = origin.files() if source is None else []
        text = opened(origin.again() if source is None else source)
        labels = origin.labels_again() if labels is None else labels
        # the text is compared with the one that the training began with, so it need not look like text
        reads = Reads(text, labels, phrases=phrases, directory=directory, force=True)
        history = copy.deepcopy(self.history)
        history.interrupted = False
        begins = Begins(history=history, learned=self.learned)
        if not reads.encoded:
            words = self.learned.in_vocabulary if self.own_words else None
            form = {name: getattr(origin, name) for name in ("column", *FORM)}
            reads = dataclasses.replace(reads, counts=words, **form)

        def show(state: FitState[L] | None) -> None:
            self.fit_state = state

        with listeners.shown(progress) as tells, tells.claim():
            with _reopened(self, named, reads, begins, tells, origin) as data:
                at = history.position
                tells.say(f"resuming after {at.epoch} epochs and {at.chunk} chunks")
                _train(self, data, begins, tells, origin, show, before)
        return self

    def settings(self) -> dict[str, Any]:
        """Return the settings as plain data: a function, such as a tokenizer, as its name."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        for name, value in found.items():
            if callable(value):
                named = value if hasattr(value, "__qualname__") else type(value)
                found[name] = f"{named.__module__}.{named.__qualname__}"
        return found

    def config(self) -> dict[str, Any]:
        """Return what a saved model is made of again: its name, its settings, and what training chose."""
        return {
            "model": self.name,
            **{name: hidden(value) for name, value in self.settings().items()},
            **({} if self.fit_state is None else self.fit_state.chosen),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model folder atomically; its bytes do not depend on the time of writing.

        Then remove the model's checkpoint. The folder of an interrupted training also holds its position.
        """
        with saved_at(path) as place:
            write(self, place)
            remove_checkpoint(place)

    @classmethod
    def from_saved(cls, saved: SavedModel) -> Self:
        """Make the model from a saved folder that was read."""
        names = {field.name for field in dataclasses.fields(cls)}
        settings = {name: value for name, value in saved.config.items() if name in names}
        if "output" in settings and (layer := parse_output(settings["output"])).files():
            settings["output"] = layer.with_saved_files(saved.tensors)
        made = cls(**settings)
        learned, history = made.restore(saved), History.from_config(saved.config)
        made.fit_state = FitState(learned, history, Origin.from_json(saved.config.get("training") or {}))
        return made


class Job:
    """What `fit` was asked to do: what to read, what to begin with, whom to tell."""

    def __init__(
        self,
        source: Any,
        labels: Any = None,
        *,
        start: Any = None,
        frozen: Any = None,
        checkpoint: Checkpoint | None = None,
        progress: bool = False,
        callbacks: Sequence[Callback] = (),
        reading: Reading | None = None,
        counting: Counting | None = None,
        note: Note | None = None,
        **reads: Any,
    ) -> None:
        """Take the arguments of `fit`; `reads`: those of `Reads`."""
        self.begins, self.progress = Begins(start, frozen, History()), progress
        self.tells = Tells(callbacks, reading, counting, note, checkpoint)
        self.reads = Reads(opened(source), labels, **reads)
        files = labels is None or isinstance(labels, (str, os.PathLike))  # else the source is texts
        self._named, self._labelled = (names_of(given) if files else None for given in (source, labels))

    def origin(self, data: Any) -> Origin:
        """Return where the input came from, so that `resume` finds it again."""
        reads = self.reads
        header = None if reads.header is None else [*format_of(header=reads.header).header]
        return Origin(
            self._named,
            reads.column,
            fingerprint_of(data),
            self._labelled,
            reads.kind,
            header,
            reads.separator,
        )


def fingerprint_of(data: Any) -> str:
    """Return a checksum of what a training learns from: a text or cells, maybe part of a larger value."""
    return fingerprint(getattr(data, "text", data))


def _train(
    model: Model[L, Any],
    data: Any,
    begins: Begins,
    tells: Tells,
    origin: Origin,
    show: Callable[[FitState[L] | None], None],
    before: FitState[L] | None,
) -> None:
    """Run a training; `show` is called with its state, which changes, or with the old one if it fails."""

    def now(progress: Progress | None = None) -> None:
        if training is not None and training.learned is not None:
            show(FitState(training.learned, begins.history, origin, training.chosen))

    def save() -> None:
        now()
        assert tells.checkpoint is not None
        _disk_plan(tells.checkpoint, model.learned).check_checkpoint()
        folder = checkpoint_of(tells.checkpoint.folder)
        write(model, folder)
        tells.say(f"checkpoint: {begins.history.words:,} {model.unit}, in {folder}")

    told = dataclasses.replace(tells, callbacks=[now, *tells.callbacks], save=save)
    training: Any = model.training(data, begins, told)
    try:
        now()
        if tells.checkpoint is not None and training.learned is not None:
            tells.say(_disk_plan(tells.checkpoint, training.learned).check())
        training.train()
        now()
    except Diverged:
        now()
        raise
    except BaseException as error:
        if isinstance(error, UnhotError):
            error.state = model.fit_state
        show(before)
        raise
    finally:
        training.close()
        training = None  # its callbacks hold it: what it trained would stay in memory without the model


@contextlib.contextmanager
def _reopened(
    model: Model[Any, Any], named: list[str], reads: Reads, begins: Begins, tells: Tells, origin: Origin
) -> Iterator[Any]:
    """Open the input of a training that is resumed, and compare it with the one that it began with.

    If the checkpoint names the files, nothing of them is shown before their fingerprint is checked.
    """
    if not named:
        with model.prepare(reads, begins, tells) as data:
            if fingerprint_of(data) != origin.fingerprint:
                raise DataError(f"this is {OTHER_TEXT}")
            yield data
        return
    listed, held = ", ".join(named), list[str]()
    tells.say(f"reading {listed}, as the checkpoint says")
    with contextlib.ExitStack() as stack:
        try:
            quiet = dataclasses.replace(tells, note=held.append)
            data = stack.enter_context(model.prepare(reads, begins, quiet))
            right = fingerprint_of(data) == origin.fingerprint
        except DiskFull:  # nothing of the files
            raise
        except (DataError, FormatError, ConfigError):
            right = False
        if not right:
            raise DataError(f"{listed}: is {OTHER_TEXT}") from None
        for line in held:
            tells.say(line)
        yield data


def write(model: Model[Any, Any], folder: Path) -> None:
    """Write the folder of a model as it is now."""
    learned, history = model.learned, model.history
    complete = history.complete
    assert model.fit_state is not None
    tensors = learned.tensors(complete=complete)
    if taken := tensors.keys() & set(COUNTS.values()):
        raise ConfigError(f"tensor {min(taken)!r}: the vocabulary uses this name; choose another")
    layer = getattr(model, "layer", None)
    named: dict[str, Any] = {}
    if layer is not None and layer.files():
        named["output"], tensors = layer.saved_spec(), tensors | layer.saved_files()
    config = {
        **model.config(),
        **named,
        **getattr(learned, "facts", dict)(),
        "unhot": __version__,
        "losses": history.losses,
    }
    config[model.unit] = history.words
    if not complete:
        config["losses"] = history.losses[: history.position.epoch]
        config["training"] = {**history.as_json(), **model.fit_state.origin.as_json()}
    predicted = None if learned.out_vocabulary is learned.in_vocabulary else learned.out_vocabulary
    save_model(folder, config, learned.in_vocabulary, tensors, predicted)


def disk_plan(checkpoint: Checkpoint, words: Vocabulary, model: int, state: int) -> DiskPlan:
    """Return the disk space for a saved model and its checkpoints, whose tensors have so many bytes."""
    text = len(words_text(words.words)) + words.counts.nbytes + ROUNDING
    return DiskPlan(checkpoint.folder, model + text, state + text if checkpoint.repeated else 0)


def _disk_plan(checkpoint: Checkpoint, learned: Learned) -> DiskPlan:
    sizes = (sum(x.nbytes for x in learned.tensors(complete=done).values()) for done in (True, False))
    return disk_plan(checkpoint, learned.in_vocabulary, *sizes)


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
