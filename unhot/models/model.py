"""What all models of text share: settings, reading the text, saving what was learned and where a training stands."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from unhot import __version__
from unhot.corpus.cells import Cells
from unhot.corpus.cells.cells import INDEX as CELLS_INDEX
from unhot.corpus.corpus import INDEX as CORPUS_INDEX
from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import encode, warm_up_encoding
from unhot.corpus.phrases import Phrases
from unhot.corpus.reading.files import STDIN
from unhot.corpus.reading.sources import Source, check_input, paths_of
from unhot.errors import ConfigError, DataError, FormatError, whole
from unhot.kernels.cache import cache_directory
from unhot.threads import in_background
from unhot.train.checkpoint import Checkpoint
from unhot.train.history import History
from unhot.train.progress import Callback
from unhot.vectors.formats.directory import (
    SavedModel,
    check_writable,
    checkpoint_of,
    remove_checkpoint,
    save_model,
)
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary

logger = logging.getLogger("unhot")
AnyModel = TypeVar("AnyModel", bound="TextModel")
RANGES = (
    ("dim", 1, 1 << 20),
    ("window", 1, 10_000),
    ("min_count", 1, 2**63 - 1),
    ("threads", 1, 1024),
    ("seed", 0, 2**64 - 1),
)
OTHER_TEXT = (
    "this is not the text that the training began with, or it is tokenised differently, or has other "
    "phrases: give the same text, and "
    "the same phrases"
)
Note = Callable[[str], None]
Reading = Callable[[int, int | None], None]


class Telling(NamedTuple):
    """Whom a training tells what, and where it saves its state."""

    callbacks: Sequence[Callback]
    say: Note
    warn: Note
    checkpoint: Checkpoint | None


def telling(
    callbacks: Sequence[Callback], note: Note | None, checkpoint: Checkpoint | None = None
) -> Telling:
    """Notes are logged if nobody takes them; a place where no checkpoint can be written is refused now."""
    if checkpoint is not None:
        check_writable(checkpoint_of(checkpoint.folder))
    return Telling(callbacks, note or logger.info, note or logger.warning, checkpoint)


@dataclasses.dataclass(kw_only=True)
class TextModel(ABC):
    """Settings of a model; after `fit` or `load`, also what was learned."""

    dim: int = 100  # numbers in a vector
    window: int = 5  # words to each side of a centre
    min_count: int = 5  # words seen less often are dropped
    max_vocab: int | None = None  # keep at most so many words
    seed: int = 1
    threads: int = 2
    tokenizer: Any = "whitespace"  # whitespace | words | text8 | a function: line -> tokens

    name: ClassVar[str]
    unit: ClassVar[str] = "words"  # what it is trained on

    def __post_init__(self) -> None:
        """Check the ranges."""
        for field, low, high in RANGES:
            setattr(self, field, whole(field, getattr(self, field), low, high))
        self.max_vocab = None if self.max_vocab is None else whole("max_vocab", self.max_vocab, 1)
        self.history = History()
        # what the training under way reads: its source, if that has a name, and its fingerprint
        self._text: dict[str, Any] = {}

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary | None:
        """The words, with their counts; None before anything is learned."""

    @property
    @abstractmethod
    def vectors(self) -> Vectors:
        """The word vectors."""

    @abstractmethod
    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """What is saved; if the training is not complete, also what it needs to go on."""

    @abstractmethod
    def take(self, saved: SavedModel) -> None:
        """Take over the tensors that were read."""

    @abstractmethod
    def warm_up(self) -> None:
        """Compile the kernels of these settings, or load them from disk."""

    @property
    def complete(self) -> bool:
        """Whether the training came to its end; what is not learned in epochs has none to go on with."""
        return True

    @contextlib.contextmanager
    def reading(self, source: Source | Corpus, say: Note, reads: dict[str, Any]) -> Iterator[Corpus]:
        """The encoded text; the kernels are compiled meanwhile."""
        check_input(source, self.tokenizer)
        compiled = self._compile(say)
        if isinstance(source, Corpus):
            compiled()
            yield source
            return
        settings = {
            "tokenizer": self.tokenizer,
            "min_count": self.min_count,
            "max_vocab": self.max_vocab,
            "threads": self.threads,
        }
        phrases = reads.pop("phrases", None)
        if phrases is not None and not isinstance(phrases, Phrases):
            raise ConfigError(
                f"phrases={phrases!r:.80}: must be Phrases; open a list with unhot.corpus.Phrases.load"
            )
        with (encode if phrases is None else phrases.encode)(source, **settings, **reads) as encoded:
            for line in str(encoded.report).splitlines():
                say(line)
            compiled()
            yield encoded

    def _compile(self, say: Note) -> Callable[[], None]:
        """Begin to compile, the scanner first: the training kernel follows while the text is read."""
        began = time.perf_counter()
        if not any(cache_directory().glob("*.nbi")):
            say(
                "compiling kernels for this machine, once: some seconds, overlapping with reading (kept in "
                f"{cache_directory()})"
            )
        warm_up_encoding(self.tokenizer)
        ready = began

        def work() -> None:
            nonlocal ready
            self.warm_up()
            ready = time.perf_counter()

        wait = in_background(work)

        def finish() -> None:
            wait()
            if ready - began > 2:
                say(f"kernels ready after {ready - began:.1f} s")

        return finish

    def config(self) -> dict[str, Any]:
        """The settings as plain data, enough to make the model again."""
        settings = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if callable(self.tokenizer):
            named = self.tokenizer if hasattr(self.tokenizer, "__qualname__") else type(self.tokenizer)
            settings["tokenizer"] = f"{named.__module__}.{named.__qualname__}"  # a name to remember it by
        return {"model": self.name, **settings}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model directory, all or nothing; nothing in it depends on when it was made.

        Its checkpoint is then removed.

        A model whose training was cut off also holds where it stood.
        """
        self._write(Path(path))
        remove_checkpoint(Path(path))

    def save_checkpoint(self, told: Telling) -> None:
        """Write the state of a training under way."""
        assert told.checkpoint is not None
        self._write(checkpoint_of(told.checkpoint.folder))
        told.say(
            f"checkpoint: {self.history.words:,} {self.unit}, in {checkpoint_of(told.checkpoint.folder)}"
        )

    def _write(self, folder: Path) -> None:
        history, tensors, vocabulary = self.history, self.tensors(complete=self.complete), self.vocabulary
        assert vocabulary is not None
        config = {**self.config(), "unhot": __version__, "losses": history.losses, self.unit: history.words}
        if not self.complete:
            config["losses"] = history.losses[: history.position.epoch]
            config["training"] = {**history.as_json(), **self._text}
        save_model(folder, config, vocabulary, tensors)

    @classmethod
    def from_saved(cls: type[AnyModel], saved: SavedModel) -> AnyModel:
        """The model of a directory that was read."""
        vectors = saved.tensors.get("in_vectors")
        if vectors is None or vectors.shape[1] != saved.config.get("dim"):
            raise FormatError(f"a {cls.name} model without vectors of its dim: read it with Vectors.load")
        names = {field.name for field in dataclasses.fields(cls)}
        model = cls(**{name: value for name, value in saved.config.items() if name in names})
        model.take(saved)
        model.history = History.from_config(saved.config)
        training = saved.config.get("training") or {}
        model._text = {name: training.get(name) for name in ("source", "column", "fingerprint")}
        return model


def holds_cells(source: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder of cells."""
    return os.path.isfile(os.path.join(source, CELLS_INDEX))  # noqa: PTH113, PTH118 (a sentence may be too long for a Path)


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


def named_again(text: dict[str, Any]) -> Any:
    """The files that a training began with, as a source; a `DataError` if it did not begin with files."""
    # not strings, which would be sentences, should they be gone
    names = [Path(name) for name in text.get("source") or ()]
    if not names:
        raise DataError(
            "the text of this training was not a file that can be opened again: give it as source"
        )
    return names[0] if len(names) == 1 else names


def names_of(source: object) -> list[str] | None:
    """The paths that a source is made of, to open it again; None if it is not made of files."""
    paths = paths_of(source)
    if paths is None or STDIN in paths:
        return None
    return [os.path.abspath(path) for path in paths]  # noqa: PTH100 (a pattern is no path yet)
