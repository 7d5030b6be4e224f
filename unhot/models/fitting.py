"""What `fit` and `resume` hand on: what is read, who is told, where a training begins, what it began with."""

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from unhot.corpus.cells import Cells
from unhot.corpus.cells.cells import INDEX as CELLS_INDEX
from unhot.corpus.corpus import INDEX as CORPUS_INDEX
from unhot.corpus.corpus import Corpus
from unhot.corpus.phrases import Phrases
from unhot.corpus.reading.files import STDIN
from unhot.corpus.reading.sources import paths_of
from unhot.errors import ConfigError, DataError
from unhot.train.checkpoint import Checkpoint
from unhot.train.history import History
from unhot.train.progress import Callback
from unhot.vectors.formats.directory import check_writable, checkpoint_of
from unhot.vocab.vocabulary import Vocabulary

logger = logging.getLogger("unhot")
Note = Callable[[str], None]
Reading = Callable[[int, int | None], None]  # called with bytes read and bytes there are
Counting = Callable[[int, int], None]  # called with rows counted and rows there are


@dataclass(frozen=True)
class Reads:
    """What is read."""

    source: Any  # text, an encoded Corpus, or Cells
    labels: Any = None  # beside the text, line by line
    counts: Mapping[str, int] | Vocabulary | None = None  # a vocabulary given from outside
    column: str | None = None  # of a table
    phrases: Phrases | None = None  # to join first
    directory: str | os.PathLike[str] | None = None  # where to keep the encoded text
    known: Vocabulary | None = None  # words that stay, whatever the text has

    @property
    def encoded(self) -> bool:
        """Whether the text is encoded, or counted, already."""
        return isinstance(self.source, (Corpus, Cells))

    def __post_init__(self) -> None:
        """Refuse what comes too late for text that is encoded already."""
        if self.encoded and any(given is not None for given in (self.counts, self.column, self.phrases)):
            raise ConfigError(
                "counts, column or phrases with an encoded Corpus or Cells: their words are encoded already; "
                "leave them out"
            )
        if self.phrases is not None and self.labels is not None:
            raise ConfigError(
                "phrases with labels: join the phrases first (unhot phrases), then train on that"
            )
        if self.phrases is not None and not isinstance(self.phrases, Phrases):
            raise ConfigError(
                f"phrases={self.phrases!r:.80}: must be Phrases; open a list with unhot.corpus.Phrases.load"
            )


@dataclass(frozen=True)
class Tells:
    """Who is told what, and where the state is saved."""

    callbacks: Sequence[Callback] = ()
    reading: Reading | None = None
    counting: Counting | None = None
    note: Note | None = None  # None: notes are logged
    checkpoint: Checkpoint | None = None

    def __post_init__(self) -> None:
        """Refuse a place where no checkpoint can be written, now rather than later."""
        if self.checkpoint is not None:
            check_writable(checkpoint_of(self.checkpoint.folder))

    def say(self, line: str) -> None:
        """A line about what goes on."""
        (self.note or logger.info)(line)

    def warn(self, line: str) -> None:
        """A line about what went wrong."""
        (self.note or logger.warning)(line)


@dataclass(frozen=True)
class Begins:
    """Where a training begins: anew, from something given, or where it was cut off."""

    start: Any = None  # vectors or a model; what a model takes, it says itself
    frozen: str | Iterable[str] | None = None  # words whose input vectors stay as they are
    history: History = field(default_factory=History)  # what came of it so far
    resumed: bool = False


@dataclass(frozen=True)
class Origin:
    """What a training began with, to find it again."""

    source: list[str] | None = None  # the files; None: it was not made of files
    column: str | None = None
    fingerprint: str | None = None  # of the encoded text, or of its cells
    labels: list[str] | None = None  # the files with labels; None: there are none, or they are no files

    def as_json(self) -> dict[str, Any]:
        """As it is saved."""
        return asdict(self)

    def again(self) -> Any:
        """The files, as a source; a `DataError` if it did not begin with files."""
        if not self.source:
            raise DataError(
                "the text of this training was not a file that can be opened again: give it as source"
            )
        return _as_source(self.source)

    def labels_again(self) -> Any:
        """The files with labels, as a source; None: there are none."""
        return _as_source(self.labels) if self.labels else None


def _as_source(names: list[str]) -> Any:
    """Not strings, which would be sentences, should the files be gone."""
    paths = [Path(name) for name in names]
    return paths[0] if len(paths) == 1 else paths


def holds_cells(source: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder of cells."""
    return os.path.isfile(os.path.join(source, CELLS_INDEX))  # noqa: PTH113, PTH118 (may be a long sentence)


def holds_corpus(source: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder of an encoded corpus."""
    return os.path.isfile(os.path.join(source, CORPUS_INDEX))  # noqa: PTH113, PTH118


def opened(source: Any) -> Any:
    """A corpus, or cells, in place of the folder that they were kept in; any other source as it is."""
    if isinstance(source, (str, os.PathLike)):
        if holds_cells(source):
            return Cells.open(source)
        if holds_corpus(source):
            return Corpus.open(source)
    return source


def names_of(source: object) -> list[str] | None:
    """The paths that a source is made of, to open it again; None if it is not made of files."""
    paths = paths_of(source)
    if paths is None or STDIN in paths:
        return None
    return [os.path.abspath(path) for path in paths]  # noqa: PTH100 (a pattern is no path yet)
