"""What word models share: settings, `fit`, the trained vectors, saving and loading.

`fit` is the data flow of the package in one place: source -> corpus -> tables and params -> training.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from unhot import __version__
from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import encode, warm
from unhot.corpus.inputs import Source, check_input, paths_of
from unhot.corpus.readers import STDIN
from unhot.errors import ConfigError, DataError, FormatError, at_least, one_of, whole
from unhot.kernels.bags import Bags
from unhot.kernels.cache import cache_directory
from unhot.models.engines import ENGINES, check_engine, make_engine, warm_up_engine
from unhot.models.inputs import InputRows, word_rows
from unhot.models.learned import NO_KEYS, LearnedWords, from_saved
from unhot.models.start import Start, check_frozen, check_layer, from_learned, from_vectors, frozen_words
from unhot.outputs import OutputLayer, parse_output
from unhot.train.batches import Batches
from unhot.train.checkpoint import Checkpoint, fingerprint
from unhot.train.history import History
from unhot.train.memory import check_plan, describe
from unhot.train.params import Begin
from unhot.train.progress import Callback
from unhot.train.run import Plan
from unhot.train.threads import in_background
from unhot.types import Bytes, Counts
from unhot.vectors.formats.directory import SavedModel, check_writable, checkpoint_of, remove_checkpoint, save_model
from unhot.vectors.store import Vectors
from unhot.vocab.subsampling import keep_probability
from unhot.vocab.vocabulary import Vocabulary

logger = logging.getLogger("unhot")
Model = TypeVar("Model", bound="WordModel")
SMALLEST_LR = 1e-30
RANGES = (
    ("dim", 1, 1 << 20),
    ("window", 1, 10_000),
    ("min_count", 1, 2**63 - 1),
    ("epochs", 1, 1 << 30),
    ("threads", 1, 1024),
    ("seed", 0, 2**64 - 1),
)
Note = Callable[[str], None]
Reading = Callable[[int, int | None], None]


class Telling(NamedTuple):
    """Whom a training tells what, and where it saves its state."""

    callbacks: Sequence[Callback]
    say: Note
    warn: Note
    checkpoint: Checkpoint | None


@dataclasses.dataclass(kw_only=True)
class WordModel(LearnedWords):
    """Settings of a word model; after `fit` or `load`, also what was learned."""

    dim: int = 100  # numbers in a vector
    window: int = 5  # words to each side of a centre
    shrink: bool = True  # draw each centre's reach from 1 .. window
    output: str | OutputLayer = "negative:k=5"  # the output layer
    min_count: int = 5  # words seen less often are dropped
    max_vocab: int | None = None  # keep at most so many words
    sample: float = 1e-3  # threshold of sub-sampling; 0: none
    epochs: int = 5
    lr: float | None = None  # None: the model's default
    seed: int = 1
    threads: int = 2
    tokenizer: Any = "whitespace"  # whitespace | words | text8 | a function: line -> tokens
    engine: str = "compiled"  # compiled | torch
    device: str = "cpu"  # torch: where it computes, such as cuda:0
    batch: int = 1024  # torch: examples of a step

    name: ClassVar[str]
    default_lr: ClassVar[float]
    has_bags: ClassVar[bool] = False  # words are made of several rows: `make_inputs` says which

    def __post_init__(self) -> None:
        """Check the ranges."""
        for field, low, high in RANGES:
            setattr(self, field, whole(field, getattr(self, field), low, high))
        if not isinstance(self.shrink, (bool, np.bool_)):
            raise ConfigError(f"shrink={self.shrink!r}: must be true or false")
        self.shrink = bool(self.shrink)
        self.max_vocab = None if self.max_vocab is None else whole("max_vocab", self.max_vocab, 1)
        self.sample = at_least("sample", self.sample, 0)
        self.lr = None if self.lr is None else at_least("lr", self.lr, SMALLEST_LR)
        super().__init__(parse_output(self.output))
        self._check_engine()
        self.history = History()
        self._text: dict[str, Any] = {}  # what the training under way reads: its source, if that has a name, and its fingerprint

    def step(self, bags: Bags | None = None) -> Any:
        """The value whose type chooses the compiled step; `bags`: what words are made of, if not of a row each."""
        raise NotImplementedError

    def make_inputs(self, vocabulary: Vocabulary, also: Counts) -> InputRows | None:
        """The input rows of a vocabulary, and of the keys of another model; None: each word has one, in their order."""
        return None

    def bag(self, bags: Bags) -> int:
        """How many rows the input of a step is made of at most."""
        raise NotImplementedError

    def begins(self) -> Begin:
        """How input rows begin."""
        return Begin()

    def inputs(self) -> int:
        """How many inputs a step has at most."""
        raise NotImplementedError

    def targets(self) -> int:
        """How many targets a step has at most."""
        raise NotImplementedError

    def rounds(self) -> int:
        """How many sets of draws a step has at most."""
        return 1

    def combines(self) -> str | None:
        """How the words around a centre are one input: mean or sum; None: each is one."""
        return None

    def batches(self) -> Batches:
        """How the torch engine makes batches."""
        raise NotImplementedError

    def _check_engine(self) -> None:
        one_of("engine", self.engine, ENGINES)
        self.batch = whole("batch", self.batch, 1, 1 << 30)
        if not isinstance(self.device, str) or not self.device:
            raise ConfigError(f"device={self.device!r}: must be the name of a device, such as cpu or cuda:0")
        if self.engine == "compiled":
            self.layer.check_compiled()
            if self.device != "cpu":
                raise ConfigError(f"device={self.device!r}: the compiled engine uses the cpu; for other devices set engine='torch'")

    def fit(
        self: Model,
        source: Source | Corpus,
        *,
        counts: Mapping[str, int] | Vocabulary | None = None,
        column: str | None = None,
        start: Vectors | WordModel | None = None,
        frozen: str | Iterable[str] | None = None,
        checkpoint: Checkpoint | None = None,
        callbacks: Sequence[Callback] = (),
        reading: Reading | None = None,
        note: Note | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> Model:
        """Learn from text (see `unhot.corpus.encode` for what a source can be) or from an encoded `Corpus`.

        counts      a vocabulary given from outside: word -> count
        column      of a table, where the sentences are
        start       vectors to begin from, for the words that have one; or a model to go on with, whose words are joined by new ones
        frozen      words whose input vectors stay as they are; "known": all that `start` has
        checkpoint  where and how often to save the state, to `resume` from
        callbacks   called with a `Progress` after every chunk and every epoch
        reading     called with bytes read and bytes there are while the text is read
        note        called with lines about what goes on: compiling, the memory plan, odd input; None: they are logged
        directory   where to keep the encoded text for another time; None: a temporary directory
        """
        if isinstance(source, Corpus) and (counts is not None or column is not None):
            raise ConfigError("counts or column with an encoded Corpus: its words are encoded already; leave them out")
        if frozen is not None and self.has_bags:
            raise ConfigError(f"frozen={frozen!r:.80}: words of {self.name} share their n-grams with others, so none can stay as it is")
        old = start.learned if isinstance(start, WordModel) else None
        self._check_start(start)
        check_frozen(frozen, start is not None)
        known = old.vocabulary if old is not None and counts is None and not isinstance(source, Corpus) else None
        if known is not None:
            self.layer.grown_rows(np.zeros(0, np.int32))  # refused before a long text is read, not after it
        reads = {"counts": counts, "known": known, "column": column, "progress": reading, "directory": directory}
        telling = _telling(callbacks, note, checkpoint)
        with self._reading(source, telling.say, reads) as corpus:
            inputs = self.make_inputs(corpus.vocabulary, NO_KEYS if old is None else old.keys)
            begin = None if start is None else self._begin(start, corpus.vocabulary, inputs)
            mask = frozen_words(frozen, corpus.vocabulary, begin)
            text = {"source": _names(source), "column": column, "fingerprint": fingerprint(corpus)}
            return self._train(corpus, inputs, telling, begin, mask if mask.any() else mask[:0], History(), text)

    def resume(
        self: Model,
        source: Source | Corpus | None = None,
        *,
        checkpoint: Checkpoint | None = None,
        callbacks: Sequence[Callback] = (),
        reading: Reading | None = None,
        note: Note | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> Model:
        """Go on with a training that was cut off, from its last checkpoint (see `unhot.load`) or from where Ctrl-C stopped it.

        The source must be the same text; None: the files that were named then. With one thread the result is the same, byte for byte, as
        if it had never stopped.
        """
        learned, done = self.learned, self.history.position
        if done.epoch >= self.epochs:
            raise DataError(f"this training is complete ({done.epoch} epochs): to learn from more text, use fit(text, start=model)")
        if source is None and self._text.get("source"):
            source = [Path(name) for name in self._text["source"]]  # not sentences, should they be gone
        if source is None:
            raise DataError("the text of this training was not a file that can be opened again: give it as source")
        reads = {"counts": learned.vocabulary, "column": self._text.get("column"), "progress": reading, "directory": directory}
        telling = _telling(callbacks, note, checkpoint)
        with self._reading(source, telling.say, reads) as corpus:
            if corpus.vocabulary != learned.vocabulary or fingerprint(corpus) != self._text.get("fingerprint"):
                raise DataError("this is not the text that the training began with, or it is tokenised differently: give the same text")
            self.history.interrupted = False
            inputs = self.make_inputs(corpus.vocabulary, learned.keys)
            begin = self._begin(self, corpus.vocabulary, inputs)
            telling.say(f"going on after {done.epoch} epochs and {done.chunk} chunks")
            return self._train(corpus, inputs, telling, begin, learned.frozen, self.history, self._text)

    @contextlib.contextmanager
    def _reading(self, source: Source | Corpus, say: Note, reads: dict[str, Any]) -> Iterator[Corpus]:
        """The encoded text; the kernels are compiled meanwhile."""
        self.layer.check_files()
        check_input(source, self.tokenizer)
        self._check_engine()  # it may have been set since
        check_engine(self)
        compiled = self._compile(say)
        if isinstance(source, Corpus):
            compiled()
            yield source
            return
        settings = {"tokenizer": self.tokenizer, "min_count": self.min_count, "max_vocab": self.max_vocab, "threads": self.threads}
        with encode(source, **settings, **reads) as corpus:
            for line in str(corpus.report).splitlines():
                say(line)
            compiled()
            yield corpus

    def _check_start(self, start: Vectors | WordModel | None) -> None:
        if start is None:
            return
        if not isinstance(start, (Vectors, WordModel)):
            raise ConfigError(f"start={start!r:.80}: must be Vectors or a model; open a file with unhot.Vectors.load or unhot.load")
        dim = start.dim if isinstance(start, WordModel) else start.vectors.shape[1]
        if dim != self.dim:
            raise ConfigError(f"dim={self.dim}: the vectors to start from have {dim} numbers; use dim={dim}")
        if isinstance(start, WordModel):
            if start.learned.keys.size and not self.has_bags:
                raise ConfigError(f"start: words of {start.name} have no rows of their own for {self.name}; start from its vectors")
            check_layer(self.layer, start.layer)

    def _begin(self, start: Vectors | WordModel, vocabulary: Vocabulary, inputs: InputRows | None) -> Start:
        if isinstance(start, Vectors):
            begin = from_vectors(start, vocabulary)
            return begin if inputs is None else begin._replace(in_rows=word_rows(inputs.keys, begin.in_rows))
        return from_learned(start.learned, vocabulary, self.layer, NO_KEYS if inputs is None else inputs.keys)

    def warm_up(self) -> None:
        """Compile the training kernel of these settings, or load it from disk."""
        warm_up_engine(self)

    def _compile(self, say: Note) -> Callable[[], None]:
        """Begin to compile, the scanner first: the training kernel follows while the text is read."""
        began = time.perf_counter()
        if not any(cache_directory().glob("*.nbi")):
            say(f"compiling kernels for this machine, once: some seconds, overlapping with reading (kept in {cache_directory()})")
        warm(self.tokenizer)
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

    def _train(
        self: Model,
        corpus: Corpus,
        inputs: InputRows | None,
        telling: Telling,
        start: Start | None,
        frozen: Bytes,
        history: History,
        text: dict[str, Any],
    ) -> Model:
        counts = corpus.vocabulary.counts
        engine = make_engine(self, corpus, frozen, inputs)
        check_plan(engine.memory, counts.size, self.dim)
        telling.say(f"memory: {describe(engine.memory)}")
        learned = engine.begin(start)
        self.history, self._text = history, text
        self._keep(learned)
        plan = Plan(
            epochs=self.epochs,
            lr=self.lr or self.default_lr,
            seed=self.seed,
            keep=keep_probability(counts, self.sample),
            history=self.history,
            callbacks=[lambda progress: self._stores.clear(), *telling.callbacks],  # what they look at is never older than they are
            checkpoint=telling.checkpoint,
            save=lambda: self._save_checkpoint(telling),
            warn=telling.warn,
            details={**self.config(), "vocabulary": counts.size, "corpus_words": corpus.words, "memory": sum(engine.memory.values())},
        )
        try:
            engine.train(plan)
        finally:
            self._stores.clear()
        if not (self.history.pairs or self.history.interrupted):
            logger.warning("nothing was learned: no sentence had two words left; lower min_count, join lines, or set sample=0")
        return self

    def config(self) -> dict[str, Any]:
        """The settings as plain data, enough to make the model again."""
        settings = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if callable(self.tokenizer):
            named = self.tokenizer if hasattr(self.tokenizer, "__qualname__") else type(self.tokenizer)
            settings["tokenizer"] = f"{named.__module__}.{named.__qualname__}"  # a name to remember it by
        return {"model": self.name, **settings, "output": self.layer.spec(), "lr": self.lr or self.default_lr}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model directory, all or nothing; nothing in it depends on when it was made. Its checkpoint is then removed.

        A model whose training was cut off also holds where it stood.
        """
        self._write(Path(path))
        remove_checkpoint(Path(path))

    def _save_checkpoint(self, telling: Telling) -> None:
        assert telling.checkpoint is not None
        self._write(checkpoint_of(telling.checkpoint.folder))
        telling.say(f"checkpoint: {self.history.words:,} words, in {checkpoint_of(telling.checkpoint.folder)}")

    def _write(self, folder: Path) -> None:
        learned, history = self.learned, self.history
        config = {**self.config(), "unhot": __version__, "losses": history.losses, "words": history.words}
        if history.position.epoch < self.epochs:
            config["losses"] = history.losses[: history.position.epoch]
            config["training"] = {**history.as_json(), **self._text}
        else:
            learned = learned._replace(frozen=learned.frozen[:0])
        save_model(folder, config, learned.vocabulary, learned.tensors())

    @classmethod
    def from_saved(cls: type[Model], saved: SavedModel) -> Model:
        """The model of a directory that was read."""
        missing = {"in_vectors", "out_vectors"} - saved.tensors.keys()
        dim = None if missing else saved.tensors["in_vectors"].shape[1]
        if missing or dim != saved.config.get("dim"):
            raise FormatError(f"a {cls.name} model without {' and '.join(missing) or 'vectors of its dim'}: read it with Vectors.load")
        names = {field.name for field in dataclasses.fields(cls)}
        model = cls(**{name: value for name, value in saved.config.items() if name in names})
        model._keep(from_saved(saved, model.layer))
        model.history = History.from_config(saved.config)
        training = saved.config.get("training") or {}
        model._text = {name: training.get(name) for name in ("source", "column", "fingerprint")}
        return model


def _telling(callbacks: Sequence[Callback], note: Note | None, checkpoint: Checkpoint | None) -> Telling:
    if checkpoint is not None:
        check_writable(checkpoint_of(checkpoint.folder))
    return Telling(callbacks, note or logger.info, note or logger.warning, checkpoint)


def _names(source: object) -> list[str] | None:
    """The paths that a source is made of, to open it again; None if it is not made of files."""
    paths = paths_of(source)
    if paths is None or STDIN in paths:
        return None
    return [os.path.abspath(path) for path in paths]  # noqa: PTH100 (a pattern is no path yet)
