"""The values of a fit: its input, listeners, start and origin; its training; the state that it leaves.

`Reads`, `Tells`, `Begins` and `Origin` are what `fit` and `resume` pass on. `InEpochs` and `AtOnce` are
trainings. `FitState` has what was learned, and how the training went.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar

from unhot.corpus.cells import Cells
from unhot.corpus.cells.cells import INDEX as CELLS_INDEX
from unhot.corpus.corpus import INDEX as CORPUS_INDEX
from unhot.corpus.corpus import Corpus
from unhot.corpus.phrases import Phrases
from unhot.errors import ConfigError, DataError, FormatError
from unhot.logs.log import INDEX as LOG_INDEX
from unhot.logs.log import Log
from unhot.regular import named_size
from unhot.rows.paths import STDIN, find_files, paths_of
from unhot.rows.remote import as_path, is_address
from unhot.screen.terminal import printable_lines
from unhot.train.bar import TrainingBar
from unhot.train.checkpoint import Checkpoint
from unhot.train.epoch_run import EpochRun, Plan, Validation
from unhot.train.history import History
from unhot.train.memory_plan import describe
from unhot.train.progress import Callback
from unhot.vectors.formats.model_claim import claimed_model
from unhot.vocab.vocabulary import Vocabulary

logger = logging.getLogger("unhot")
FORM = ("kind", "header", "separator")  # how files are read, see `format_of`
Note = Callable[[str], None]
Reading = Callable[[int, int | None], None]  # called with the bytes read and the total
Counting = Callable[[int, int], None]  # called with the rows counted and the total


@dataclass(frozen=True)
class Reads:
    """The input of a training."""

    source: Any  # text, an encoded Corpus, or Cells
    labels: Any = None  # the labels of each line of the text
    counts: Mapping[str, int] | Vocabulary | None = None  # a vocabulary given by the caller
    column: str | None = None  # the column of a table that holds the text
    phrases: Phrases | None = None  # phrases to join before anything else
    directory: str | os.PathLike[str] | None = None  # where to keep the encoded text
    known: Vocabulary | None = None  # words that stay in the vocabulary even if the text lacks them
    force: bool = False  # read files even if they do not look like text
    kind: str | None = None  # how files are read: see `format_of`
    header: str | Sequence[str] | None = None
    separator: str | None = None
    strict: bool = False  # stop at the first bad row of a table instead of counting bad rows
    validation: Any = None  # questions to watch a training on; None: none, or those of a split

    @property
    def encoded(self) -> bool:
        """Whether the source is already encoded (a Corpus) or counted (Cells)."""
        return isinstance(self.source, (Corpus, Cells))

    def __post_init__(self) -> None:
        """Raise a `ConfigError` for arguments that do not fit the source or each other."""
        if self.encoded and any(given is not None for given in (self.counts, self.column, self.phrases)):
            raise ConfigError(
                "counts, column or phrases with a Corpus or Cells: its text is encoded already; leave these "
                "arguments out"
            )
        if self.phrases is not None and self.labels is not None:
            raise ConfigError(
                "phrases with labels: join the phrases first (unhot phrases), then train on the joined text"
            )
        if self.phrases is not None and not isinstance(self.phrases, Phrases):
            raise ConfigError(
                f"phrases={self.phrases!r:.80}: must be a Phrases object; open a list with "
                "unhot.corpus.Phrases.load"
            )


@dataclass(frozen=True)
class Tells:
    """The listeners of a training, and where its state is saved."""

    callbacks: Sequence[Callback] = ()
    reading: Reading | None = None
    counting: Counting | None = None
    note: Note | None = None  # None: notes are logged
    checkpoint: Checkpoint | None = None
    save: Callable[[], None] = lambda: None  # writes a checkpoint

    @contextmanager
    def shown(self, progress: bool) -> Iterator[Self]:
        """Give these listeners and, if the progress is to be shown, a bar that listens, too.

        Whatever is told to nobody else is told to the bar.
        """
        if not isinstance(progress, bool):
            raise ConfigError(f"progress={progress!r:.80}: must be True, to show the progress, or False")
        if not progress:
            yield self
            return
        with TrainingBar() as bar:
            yield replace(
                self,
                callbacks=[bar, *self.callbacks],
                reading=self.reading or bar.reading,
                counting=self.counting or bar.counting,
                note=self.note or bar.note,
            )

    def claim(self) -> AbstractContextManager[None]:
        """Hold the folder of the checkpoints; raise an error now, not after hours, if it cannot be had."""
        return nullcontext() if self.checkpoint is None else claimed_model(self.checkpoint.folder)

    def say(self, line: str) -> None:
        """Report a line about what goes on."""
        (self.note or logger.info)(line)

    def warn(self, line: str) -> None:
        """Report a line about what went wrong, or what was left out; without `note` it is logged."""
        if self.note is None:
            logger.warning("%s", printable_lines(line))
        else:
            self.note(line)


@dataclass(frozen=True)
class Begins:
    """What a training starts from: nothing, given vectors or a model, or an interrupted training."""

    start: Any = None  # vectors or a model; `Model.check_begins` says which ones are accepted
    frozen: str | Iterable[str] | None = None  # words whose input vectors must not change
    history: History = field(default_factory=History)  # the losses and the progress so far
    learned: Any = None  # what an interrupted training has learned; None: it begins anew


@dataclass(frozen=True)
class Origin:
    """Where the input of a training came from, so that `resume` can find it again."""

    source: list[str] | None = None  # the text files; None: the text did not come from files
    column: str | None = None
    fingerprint: str | None = None  # of the encoded text, or of its cells
    labels: list[str] | None = None  # the label files; None: there are no labels, or not from files
    kind: str | None = None  # of the text files, if it was said
    header: list[str] | None = None  # likewise
    separator: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the fields as plain data, as they are saved."""
        return asdict(self)

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> "Origin":
        """Make an origin of what `as_json` returned; raise a `FormatError` if a field has another type."""
        found = cls(*(saved.get(field.name) for field in fields(cls)))
        lists = found.source, found.labels, found.header
        texts = found.column, found.fingerprint, found.kind, found.separator
        if not all(each is None or are_texts(each) for each in lists) or not all(
            each is None or isinstance(each, str) for each in texts
        ):
            raise FormatError(
                f"the origin of the training in the model's config is damaged ({found!r:.200}); train again "
                "from the text"
            )
        return found

    def files(self) -> list[str]:
        """Return the names of text and labels; raise an error if one is gone, or is a pipe or a device."""
        named = [*(self.source or ()), *(self.labels or ())]
        for name in named:
            for path in [] if Path(name).is_dir() else find_files(name):
                if path is not None:
                    named_size(path)
        return named

    def again(self) -> Any:
        """Return the text files as a source; raise a `DataError` if the text did not come from files."""
        if not self.source:
            raise DataError(
                "the text of this training did not come from a file, so it cannot be opened again: give it "
                "as source"
            )
        return _as_source(self.source)

    def labels_again(self) -> Any:
        """Return the label files as a source, or None if there are none."""
        return _as_source(self.labels) if self.labels else None


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


def plan_of(
    model: Any,
    begins: Begins,
    tells: Tells,
    memory: Mapping[str, int],
    *,
    lr: float,
    usual_lr: float = 0.0,
    epochs: int = 0,
    minutes: float | None = None,
    validation: Validation | None = None,
    keep_every: int = 1,
    **details: Any,
) -> Plan:
    """Return the plan of a run: settings, callbacks, checkpoints; `details` go into its start event.

    epochs   0: those of the settings
    """
    tells.say(f"memory: {describe(memory)}")
    told = {"model": model.name, **model.settings(), "lr": lr, "epochs": epochs or model.epochs}
    return Plan(
        epochs=epochs or model.epochs,
        lr=lr,
        usual_lr=usual_lr,
        seed=model.seed,
        history=begins.history,
        callbacks=tells.callbacks,
        checkpoint=tells.checkpoint,
        save=tells.save,
        say=tells.say,
        warn=tells.warn,
        minutes=minutes,
        validation=validation,
        keep_every=keep_every,
        details={**told, **details, "memory": sum(memory.values())},
    )


def nobody(line: str) -> None:
    """Tell nobody."""


def are_texts(names: object) -> bool:
    """Return whether a value of a config is a list of texts."""
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def _as_source(names: list[str]) -> Any:
    """Convert file names to paths: a string would be taken for a sentence if its file were gone."""
    paths = [as_path(name) for name in names]
    return paths[0] if len(paths) == 1 else paths


def holds_cells(source: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder of cells."""
    return os.path.isfile(os.path.join(source, CELLS_INDEX))  # noqa: PTH113, PTH118 (may be a long sentence)


def holds_corpus(source: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder of an encoded corpus."""
    return os.path.isfile(os.path.join(source, CORPUS_INDEX))  # noqa: PTH113, PTH118


def opened(source: Any) -> Any:
    """Open a source that is the folder of a corpus or of cells; return any other source unchanged."""
    if isinstance(source, (str, os.PathLike)):
        if holds_cells(source):
            return Cells.open(source)
        if holds_corpus(source):
            return (Log if os.path.isfile(os.path.join(source, LOG_INDEX)) else Corpus).open(source)  # noqa: PTH113, PTH118
    return source


def names_of(source: object) -> list[str] | None:
    """Return the absolute paths of a source's files; None if the source is not files."""
    paths = paths_of(source)
    if paths is None or STDIN in paths:
        return None
    # a pattern is no path yet
    return [str(path) if is_address(str(path)) else os.path.abspath(path) for path in paths]  # noqa: PTH100
