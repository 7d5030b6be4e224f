"""Models that predict words near each other through an output layer: skip-gram, CBOW, fastText.

    source -> corpus -> a task and its data -> an engine -> vectors

What predicts what is a model's `wiring`; who trains it is its engine (engine.py).
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.corpus import Corpus
from unhot.errors import ConfigError, DataError, FormatError, whole
from unhot.kernels.bags import Bags
from unhot.kernels.windows import Window
from unhot.models.compiled_engine import Compiled
from unhot.models.engine import Engine, Task, TaskData
from unhot.models.epoch_model import EpochModel
from unhot.models.fitting import Begins, Reads, Tells
from unhot.models.learned_words import LearnedWords, learned_from
from unhot.models.ngram_rows import NO_KEYS, NgramRows, word_rows
from unhot.models.settings import Range
from unhot.models.starting_point import (
    StartingPoint,
    check_frozen,
    check_layer,
    from_learned,
    from_vectors,
    frozen_words,
)
from unhot.models.text_model import TextModel
from unhot.models.torch_engine import OnTorch
from unhot.models.vector_model import VectorModel
from unhot.models.wiring import Wiring
from unhot.outputs import Head, OutputLayer, parse_output
from unhot.train.epoch_run import EpochRun
from unhot.train.memory_plan import check_plan
from unhot.types import Counts, Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary

logger = logging.getLogger("unhot")
NEEDED = frozenset({"in_vectors", "out_vectors"})
ENGINES: dict[str, type[Engine]] = {"compiled": Compiled, "torch": OnTorch}


class WordInputs(NamedTuple):
    """What words are to a model that has to predict others from them."""

    vectors: Floats  # [words, dim]
    bias: Floats  # [words], or empty
    sizes: Counts  # [words] rows that each is made of, its weight in a mean of several words; empty: one


@dataclasses.dataclass(kw_only=True)
class WordModel(EpochModel[LearnedWords], TextModel[LearnedWords], VectorModel[LearnedWords]):
    """Settings of a word model; after `fit` or `load`, also what was learned."""

    window: Annotated[int, Range(1, 10_000)] = 5  # words to each side of a centre
    # draw each centre's reach from 1 to the window, or always use all of it
    shrink: bool = True
    output: str | OutputLayer = "negative:k=5"  # output layer
    sample: Annotated[float, Range(0)] = 1e-3  # threshold of sub-sampling frequent words; 0: none
    # what trains: compiled kernels on the CPU, or PyTorch, any layer and device; fasttext: compiled only
    engine: Literal["compiled", "torch"] = "compiled"
    device: str = "cpu"  # torch: where to compute, such as cuda:0
    batch: Annotated[int, Range(1, 1 << 30)] = 1024  # torch: pairs of a step; cbow: centres

    starts = True
    default_lr: ClassVar[float]
    has_bags: ClassVar[bool] = False  # words are made of several rows: `input_rows` says which

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        if not isinstance(self.device, str) or not self.device:
            raise ConfigError(f"device={self.device!r}: must be the name of a device, such as cpu or cuda:0")
        self.layer = parse_output(self.output)
        self.check_engine()

    @abstractmethod
    def wiring(self, bags: Bags | None = None) -> Wiring:
        """What predicts what; `bags`: what words are made of, if not of a row each."""

    def input_rows(self, vocabulary: Vocabulary, also: Counts) -> NgramRows | None:
        """The input rows of a vocabulary, and of the keys of another model.

        None: one for each word, in order.
        """
        return None

    def engine_kind(self) -> type[Engine]:
        """What trains it."""
        return ENGINES[self.engine]

    def check_engine(self) -> None:
        """Raise a `ConfigError` for what its engine cannot train."""
        self.engine_kind().check(self.task())

    @property
    def first_lr(self) -> float:
        """The learning rate that a training begins with: `lr`, or the default."""
        return self.lr or self.default_lr

    def task(self, bags: Bags | None = None) -> Task:
        """The settings that engines need."""
        return Task(
            name=self.name,
            layer=self.layer,
            wiring=self.wiring(bags),
            window=Window(self.window, self.shrink),
            sample=self.sample,
            dim=self.dim,
            seed=self.seed,
            threads=self.threads,
            device=self.device,
            batch=self.batch,
        )

    def warm_up(self) -> None:
        """Compile the training kernel of these settings, or load it from disk."""
        self.engine_kind().warm_up(self.task())

    def check_begins(self, begins: Begins) -> None:
        """Raise a `ConfigError` for what it cannot begin from."""
        start, frozen = begins.start, begins.frozen
        if frozen is not None and self.has_bags:
            raise ConfigError(
                f"frozen={frozen!r:.80}: words of {self.name} share their n-grams with others, so none can "
                "stay as it is"
            )
        check_frozen(frozen, start is not None)
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

    def known(self, begins: Begins, reads: Reads) -> Vocabulary | None:
        """The words of a model to go on with, which new ones join."""
        if not isinstance(begins.start, WordModel) or reads.counts is not None or reads.encoded:
            return None
        self.layer.grown_rows(np.zeros(0, np.int32))  # refused before a long text is read, not after it
        return begins.start.learned.in_vocabulary

    def open_input(self, reads: Reads, tells: Tells) -> contextlib.AbstractContextManager[Any]:
        """The encoded text; what can be refused is refused before."""
        if isinstance(reads.source, Cells):
            raise ConfigError(
                f"Cells as a source: {self.name} learns from text; they are for glove, svd, and skipgram "
                "with on='cells'"
            )
        self.check_task()
        return self.open_text(reads, tells)

    def check_task(self) -> None:
        """Raise an error for what is missing here; settings may have changed since the model was made."""
        self.layer.check_files()
        self.check_engine()
        self.engine_kind().check_machine(self.task())

    def begin(self, data: Corpus | Cells, begins: Begins, tells: Tells) -> EpochRun[Any]:
        """The run of the engine."""
        vocabulary = data.vocabulary
        start: Any = self if begins.resumed else begins.start
        old = start.learned.keys if isinstance(start, WordModel) else NO_KEYS
        rows = self.input_rows(vocabulary, old)
        point = None if start is None else self._starting_point(start, vocabulary, rows)
        frozen = self.learned.frozen if begins.resumed else frozen_words(begins.frozen, vocabulary, point)
        task_data = TaskData(
            data=data, in_vocabulary=vocabulary, out_vocabulary=vocabulary, frozen=frozen, rows=rows
        )
        engine = self.engine_kind()(self.task(None if rows is None else rows.bags), task_data)
        check_plan(engine.memory, len(vocabulary), self.dim)
        facts = {"vocabulary": len(vocabulary), "corpus_words": data.words}
        plan = self.plan(begins, tells, engine.memory, **facts)
        self.keep(engine.begin(point))
        return engine.run(plan)

    def _starting_point(
        self, start: Vectors | WordModel, vocabulary: Vocabulary, rows: NgramRows | None
    ) -> StartingPoint:
        if isinstance(start, WordModel):
            keys = NO_KEYS if rows is None else rows.keys
            return from_learned(start.learned, vocabulary, vocabulary, self.layer, keys)
        point = from_vectors(start, vocabulary)
        return point if rows is None else point._replace(in_rows=word_rows(rows.keys, point.in_rows))

    def ended(self) -> None:
        """Warn if nothing was learned; what only a training needs is of no use when it is complete."""
        super().ended()
        if self.complete and self._learned is not None:
            self._learned = self._learned._replace(squares={})
        if self.complete and not self.history.pairs:
            logger.warning(
                "nothing was learned: no sentence had two words left; lower min_count, join lines, or set "
                "sample=0"
            )

    @property
    def out_vectors(self) -> Vectors:
        """The output vectors, where the layer has one for each word."""
        if not self.layer.rows_are_words:
            raise ConfigError(
                f"out_vectors: the output rows of {self.layer.name} are not those of the words; see "
                "model.head"
            )
        return self.store("out_vectors")

    def make_store(self, name: str) -> Vectors:
        """Input vectors of what goes in, or output vectors of what is predicted."""
        learned = self.learned
        words = learned.in_vocabulary if name == "in_vectors" else learned.out_vocabulary
        return Vectors(words.words, getattr(learned.params, name), words.counts)

    @property
    def head(self) -> Head:
        """The output layer with what it has learned: probabilities of all words for hidden vectors."""
        params, seen = self.learned.params, self.learned.seen
        ln_z = float(params.ln_z[0]) if params.ln_z.size else 0.0
        # the noise it drew from; it began at one
        counts = seen - 1 if seen.size else self.learned.out_vocabulary.counts
        bias = params.out_bias if params.out_bias.size else None
        return Head(self.layer, counts, params.out_vectors, bias, ln_z)

    def word_inputs(self) -> WordInputs:
        """The inputs of all words."""
        params = self.learned.params
        return WordInputs(params.in_vectors, params.in_bias, np.zeros(0, np.int64))

    def hidden(self, words: Sequence[str]) -> Floats:
        """The hidden vector that words give together.

        The mean of their vectors, or what the model makes of them.
        """
        if not words:
            raise DataError("no words: give at least one that the model knows")
        mean: Floats = np.mean([self.vectors[word] for word in words], axis=0, dtype=np.float32)
        return mean

    def predict_word(self, context: Sequence[str], topn: int = 10) -> list[tuple[str, float]]:
        """The words most likely to stand near these, with their probabilities."""
        words = self.learned.out_vocabulary.words
        topn = min(whole("topn", topn, 1), len(words))
        ids, log_prob = self.head.topk(self.hidden(context), topn)
        return [(words[i], float(p)) for i, p in zip(ids, np.exp(log_prob), strict=True)]

    def config(self) -> dict[str, Any]:
        """The settings as plain data, enough to make the model again."""
        return {**super().config(), "output": self.layer.spec(), "lr": self.first_lr}

    def facts(self) -> dict[str, Any]:
        """Whether output rows stand for words: others cannot read them as vectors of words if not."""
        return {"out_rows_are_words": self.layer.rows_are_words}

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """All params; words that stay as they are are of no use any more when the training is complete."""
        learned = self.learned
        return (learned._replace(frozen=learned.frozen[:0]) if complete else learned).tensors()

    @classmethod
    def from_saved(cls, saved: SavedModel) -> Self:
        """The model of a directory that was read."""
        if missing := NEEDED - saved.tensors.keys():
            raise FormatError(
                f"a {cls.name} model without {' and '.join(missing)}: read it with Vectors.load"
            )
        return super().from_saved(saved)

    def take(self, saved: SavedModel) -> None:
        """The params."""
        self.keep(learned_from(saved, self.layer))
