"""What word models share: settings, `fit`, the trained vectors, saving and loading.

`fit` is the data flow of the package in one place: source -> corpus -> tables and params -> training.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.corpus import Corpus
from unhot.corpus.phrases import Phrases
from unhot.corpus.reading.sources import Source
from unhot.errors import ConfigError, DataError, FormatError, at_least, one_of, whole
from unhot.kernels.bags import Bags
from unhot.models import model as base
from unhot.models.cell_model import Counting
from unhot.models.engines import ENGINES, check_engine, make_engine, warm_up_engine
from unhot.models.learned_words import NO_KEYS, LearnedWords, from_saved
from unhot.models.model import (
    OTHER_TEXT,
    Note,
    Reading,
    Telling,
    TextModel,
    named_again,
    names_of,
    opened,
    telling,
)
from unhot.models.ngram_rows import InputRows, word_rows
from unhot.models.starting_point import (
    Start,
    check_frozen,
    check_layer,
    from_learned,
    from_vectors,
    frozen_words,
)
from unhot.outputs import OutputLayer, parse_output
from unhot.train.checkpoint import Checkpoint, fingerprint
from unhot.train.epoch_run import Plan
from unhot.train.history import History
from unhot.train.memory_plan import check_plan, describe
from unhot.train.params import Begin
from unhot.train.progress import Callback
from unhot.train.torch_batches import Batches
from unhot.types import Bytes, Counts
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors
from unhot.vocab.subsampling import keep_probability
from unhot.vocab.vocabulary import Vocabulary

logger = logging.getLogger("unhot")
Model = TypeVar("Model", bound="WordModel")
SMALLEST_LR = 1e-30
RANGES = (*base.RANGES, ("epochs", 1, 1 << 30))
NEEDED = frozenset({"in_vectors", "out_vectors"})


@dataclasses.dataclass(kw_only=True)
class WordModel(LearnedWords, TextModel):
    """Settings of a word model; after `fit` or `load`, also what was learned."""

    shrink: bool = True  # draw each centre's reach from 1 .. window
    output: str | OutputLayer = "negative:k=5"  # the output layer
    sample: float = 1e-3  # threshold of sub-sampling; 0: none
    epochs: int = 5
    lr: float | None = None  # None: the model's default
    engine: str = "compiled"  # compiled | torch
    device: str = "cpu"  # torch: where it computes, such as cuda:0
    batch: int = 1024  # torch: examples of a step

    default_lr: ClassVar[float]
    has_bags: ClassVar[bool] = False  # words are made of several rows: `make_inputs` says which

    def __post_init__(self) -> None:
        """Check the ranges."""
        TextModel.__post_init__(self)
        for field, low, high in RANGES:
            setattr(self, field, whole(field, getattr(self, field), low, high))
        if not isinstance(self.shrink, (bool, np.bool_)):
            raise ConfigError(f"shrink={self.shrink!r}: must be true or false")
        self.shrink = bool(self.shrink)
        self.sample = at_least("sample", self.sample, 0)
        self.lr = None if self.lr is None else at_least("lr", self.lr, SMALLEST_LR)
        super().__init__(parse_output(self.output))
        self._check_engine()

    def step(self, bags: Bags | None = None) -> Any:
        """The value whose type chooses the compiled step.

        `bags`: what words are made of, if not of a row each.
        """
        raise NotImplementedError

    def make_inputs(self, vocabulary: Vocabulary, also: Counts) -> InputRows | None:
        """The input rows of a vocabulary, and of the keys of another model.

        None: each word has one, in their order.
        """
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

    @property
    def complete(self) -> bool:
        """Whether all epochs are done."""
        return self.history.position.epoch >= self.epochs

    @property
    def first_lr(self) -> float:
        """The learning rate that a training begins with: `lr`, or the default."""
        return self.lr or self.default_lr

    def _check_engine(self) -> None:
        one_of("engine", self.engine, ENGINES)
        self.batch = whole("batch", self.batch, 1, 1 << 30)
        if not isinstance(self.device, str) or not self.device:
            raise ConfigError(f"device={self.device!r}: must be the name of a device, such as cpu or cuda:0")
        if self.engine == "compiled":
            self.layer.check_compiled()
            if self.device != "cpu":
                raise ConfigError(
                    f"device={self.device!r}: the compiled engine uses the cpu; for other devices set "
                    "engine='torch'"
                )

    def fit(
        self: Model,
        source: Source | Corpus | Cells,
        *,
        counts: Mapping[str, int] | Vocabulary | None = None,
        column: str | None = None,
        phrases: Phrases | None = None,
        start: Vectors | WordModel | None = None,
        frozen: str | Iterable[str] | None = None,
        checkpoint: Checkpoint | None = None,
        callbacks: Sequence[Callback] = (),
        reading: Reading | None = None,
        counting: Counting | None = None,
        note: Note | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> Model:
        """Learn from text (see `unhot.corpus.encode` for what a source can be) or from an encoded `Corpus`.

        On cells, also from these.

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
        names, source = names_of(source), opened(source)
        if isinstance(source, (Corpus, Cells)) and any(
            given is not None for given in (counts, column, phrases)
        ):
            raise ConfigError(
                "counts, column or phrases with an encoded Corpus: its words are encoded already; leave "
                "them out"
            )
        if frozen is not None and self.has_bags:
            raise ConfigError(
                f"frozen={frozen!r:.80}: words of {self.name} share their n-grams with others, so none can "
                "stay as it is"
            )
        old = start.learned if isinstance(start, WordModel) else None
        self._check_start(start)
        check_frozen(frozen, start is not None)
        known = (
            old.vocabulary
            if old is not None and counts is None and not isinstance(source, (Corpus, Cells))
            else None
        )
        if known is not None:
            self.layer.grown_rows(np.zeros(0, np.int32))  # refused before a long text is read, not after it
        reads: dict[str, Any] = {"counts": counts, "known": known, "column": column, "phrases": phrases}
        reads |= {"progress": reading, "counting": counting, "directory": directory}
        told = telling(callbacks, note, checkpoint)
        with self._opening(source, told.say, reads) as text:
            inputs = self.make_inputs(text.vocabulary, NO_KEYS if old is None else old.keys)
            begin = None if start is None else self._begin(start, text.vocabulary, inputs)
            mask = frozen_words(frozen, text.vocabulary, begin)
            which = {"source": names, "column": column, "fingerprint": fingerprint(text)}
            return self._train(text, inputs, told, begin, mask if mask.any() else mask[:0], History(), which)

    def resume(
        self: Model,
        source: Source | Corpus | Cells | None = None,
        *,
        phrases: Phrases | None = None,
        checkpoint: Checkpoint | None = None,
        callbacks: Sequence[Callback] = (),
        reading: Reading | None = None,
        counting: Counting | None = None,
        note: Note | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> Model:
        """Go on with a training that was cut off, from its last checkpoint (see `unhot.load`) or from where Ctrl-C stopped it.

        The source must be the same text, with the same phrases; None: the files that were named then.
        With one thread the result is the same, byte for byte, as if it had never stopped.
        """
        learned, done = self.learned, self.history.position
        if done.epoch >= self.epochs:
            raise DataError(
                f"this training is complete ({done.epoch} epochs): to learn from more text, use fit(text, "
                "start=model)"
            )
        source = opened(named_again(self._text) if source is None else source)
        reads = {
            "counts": learned.vocabulary,
            "column": self._text.get("column"),
            "phrases": phrases,
            "progress": reading,
            "counting": counting,
            "directory": directory,
        }
        told = telling(callbacks, note, checkpoint)
        with self._opening(source, told.say, reads) as text:
            if text.vocabulary != learned.vocabulary or fingerprint(text) != self._text.get("fingerprint"):
                raise DataError(OTHER_TEXT)
            self.history.interrupted = False
            inputs = self.make_inputs(text.vocabulary, learned.keys)
            begin = self._begin(self, text.vocabulary, inputs)
            told.say(f"going on after {done.epoch} epochs and {done.chunk} chunks")
            return self._train(text, inputs, told, begin, learned.frozen, self.history, self._text)

    def _opening(
        self, source: Source | Corpus | Cells, say: Note, reads: dict[str, Any]
    ) -> contextlib.AbstractContextManager[Corpus | Cells]:
        """What it is trained on: the encoded text, or its cells."""
        return self._encoding(source, say, reads)

    def _encoding(
        self, source: Source | Corpus | Cells, say: Note, reads: dict[str, Any]
    ) -> contextlib.AbstractContextManager[Corpus]:
        """The encoded text; what can be refused is refused before."""
        if isinstance(source, Cells):
            raise ConfigError(
                f"Cells as a source: {self.name} learns from text; they are for glove, svd, and skipgram "
                "with on='cells'"
            )
        self.layer.check_files()
        self._check_engine()  # it may have been set since
        check_engine(self)
        return self.reading(source, say, {name: value for name, value in reads.items() if name != "counting"})

    def _check_start(self, start: Vectors | WordModel | None) -> None:
        if start is None:
            return
        if not isinstance(start, (Vectors, WordModel)):
            raise ConfigError(
                f"start={start!r:.80}: must be Vectors or a model; open a file with unhot.Vectors.load or "
                "unhot.load"
            )
        dim = start.dim if isinstance(start, WordModel) else start.vectors.shape[1]
        if dim != self.dim:
            raise ConfigError(f"dim={self.dim}: the vectors to start from have {dim} numbers; use dim={dim}")
        if isinstance(start, WordModel):
            if start.learned.keys.size and not self.has_bags:
                raise ConfigError(
                    f"start: words of {start.name} have no rows of their own for {self.name}; start from "
                    "its vectors"
                )
            check_layer(self.layer, start.layer)

    def _begin(self, start: Vectors | WordModel, vocabulary: Vocabulary, inputs: InputRows | None) -> Start:
        if isinstance(start, Vectors):
            begin = from_vectors(start, vocabulary)
            return begin if inputs is None else begin._replace(in_rows=word_rows(inputs.keys, begin.in_rows))
        return from_learned(start.learned, vocabulary, self.layer, NO_KEYS if inputs is None else inputs.keys)

    def warm_up(self) -> None:
        """Compile the training kernel of these settings, or load it from disk."""
        warm_up_engine(self)

    def _train(
        self: Model,
        source: Corpus | Cells,
        inputs: InputRows | None,
        told: Telling,
        start: Start | None,
        frozen: Bytes,
        history: History,
        text: dict[str, Any],
    ) -> Model:
        counts = source.vocabulary.counts
        engine = make_engine(self, source, frozen, inputs)
        check_plan(engine.memory, counts.size, self.dim)
        told.say(f"memory: {describe(engine.memory)}")
        learned = engine.begin(start)
        self.history, self._text = history, text
        self._keep(learned)
        plan = Plan(
            epochs=self.epochs,
            lr=self.first_lr,
            seed=self.seed,
            keep=keep_probability(counts, self.sample),
            history=self.history,
            # what they look at is never older than they are
            callbacks=[lambda progress: self._stores.clear(), *told.callbacks],
            checkpoint=told.checkpoint,
            save=lambda: self.save_checkpoint(told),
            warn=told.warn,
            details={
                **self.config(),
                "vocabulary": counts.size,
                "corpus_words": source.words,
                "memory": sum(engine.memory.values()),
            },
        )
        try:
            engine.train(plan)
        finally:
            self._stores.clear()
        if not (self.history.pairs or self.history.interrupted):
            logger.warning(
                "nothing was learned: no sentence had two words left; lower min_count, join lines, or set "
                "sample=0"
            )
        return self

    def config(self) -> dict[str, Any]:
        """The settings as plain data, enough to make the model again."""
        return {**super().config(), "output": self.layer.spec(), "lr": self.first_lr}

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """All params; words that stay as they are are of no use any more when the training is complete."""
        learned = self.learned
        return (learned._replace(frozen=learned.frozen[:0]) if complete else learned).tensors()

    @classmethod
    def from_saved(cls: type[Model], saved: SavedModel) -> Model:
        """The model of a directory that was read."""
        if missing := NEEDED - saved.tensors.keys():
            raise FormatError(
                f"a {cls.name} model without {' and '.join(missing)}: read it with Vectors.load"
            )
        return super().from_saved(saved)

    def take(self, saved: SavedModel) -> None:
        """The params."""
        self._keep(from_saved(saved, self.layer))
