"""Models that predict through an output layer what stands near: words of a text, or items of a log.

    corpus -> a task and its data -> an engine -> vectors

A model's `wiring` says which words predict which. Its engine trains it (engine.py).
"""

from __future__ import annotations

import dataclasses
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
from unhot.models.engine import Engine, TaskData, WindowTask
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
from unhot.models.torch_engine import OnTorch
from unhot.models.vector_model import VectorModel
from unhot.models.wiring import Wiring
from unhot.outputs import Head, OutputLayer, parse_output
from unhot.train.epoch_run import EpochRun
from unhot.train.memory_plan import check_plan
from unhot.types import Counts, Floats, Ids
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary

NEEDED = frozenset({"in_vectors", "out_vectors"})
ENGINES: dict[str, type[Engine[WindowTask]]] = {"compiled": Compiled, "torch": OnTorch}


class WordInputs(NamedTuple):
    """The words of a model as inputs from which it predicts other words."""

    vectors: Floats  # [words, dim]
    bias: Floats  # [words], or empty
    sizes: Counts  # [words] the number of a word's rows, its weight in a mean of words; empty: all 1


@dataclasses.dataclass(kw_only=True)
class WindowModel(EpochModel[LearnedWords], VectorModel[LearnedWords]):
    """Settings of a model of windows; after `fit` or `load`, also its learned state."""

    window: Annotated[int, Range(1, 10_000)] = 5  # words on each side of the centre word
    # draw the size of each window from 1 to --window at random, or always use the full window
    shrink: bool = True
    output: str | OutputLayer = "negative:k=5"  # output layer
    sample: Annotated[float, Range(0)] = 1e-3  # threshold of sub-sampling frequent words; 0 turns it off
    # what trains the model: compiled kernels on the CPU, or PyTorch with any output layer on any device;
    # fasttext: compiled only
    engine: Literal["compiled", "torch"] = "compiled"
    device: str = "cpu"  # torch: the device to compute on, such as cuda:0
    batch: Annotated[int, Range(1, 1 << 30)] = 1024  # torch: pairs in a training step (cbow: centre words)

    starts = True
    default_lr: ClassVar[float]
    has_bags: ClassVar[bool] = False  # whether words are made of several rows; `input_rows` says which
    shared: ClassVar[str] = "n-gram buckets"  # what the rows are called that several words have

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        if not isinstance(self.device, str) or not self.device:
            raise ConfigError(f"device={self.device!r}: must be the name of a device, such as cpu or cuda:0")
        self.layer = parse_output(self.output)
        self.check_engine()

    @abstractmethod
    def wiring(self, bags: Bags | None = None) -> Wiring:
        """Return which words predict which; `bags` are the rows of each word if it has several."""

    def input_rows(self, vocabulary: Vocabulary, also: Counts) -> NgramRows | None:
        """Return the input rows for the words of a vocabulary and for the keys in `also`.

        None means one row for each word, in the order of the vocabulary.
        """
        return None

    def input_vocabulary(self, data: Corpus | Cells) -> Vocabulary:
        """Return what has an input row: the words of the text, unless a model has other inputs, too."""
        return data.vocabulary

    def beside(self, data: Corpus | Cells) -> Sequence[Ids]:
        """Return for each shard a number for each sentence, which feeders find in `Text.beside`."""
        return ()

    @property
    def predicts(self) -> str:
        """Which word of a window is predicted: the centre, or the contexts."""
        return self.layer.predicts

    def engine_kind(self) -> type[Engine[WindowTask]]:
        """Return the engine class that trains the model."""
        return ENGINES[self.engine]

    def check_engine(self) -> None:
        """Raise a `ConfigError` if the engine cannot train this model."""
        self.engine_kind().check(self.task())

    @property
    def usual_lr(self) -> float:
        """The model's default learning rate."""
        return self.default_lr

    def task(self, bags: Bags | None = None) -> WindowTask:
        """Return the settings that engines need."""
        return WindowTask(
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
        """Raise a `ConfigError` if the model cannot start from what is given."""
        super().check_begins(begins)
        start, frozen = begins.start, begins.frozen
        if frozen is not None and self.has_bags:
            raise ConfigError(
                f"frozen={frozen!r:.80}: words of {self.name} share n-grams with other words, so no vector "
                "can stay fixed; leave frozen out"
            )
        check_frozen(frozen, start is not None)
        if start is None:
            return
        if not isinstance(start, (Vectors, WindowModel)):
            raise ConfigError(
                f"start={start!r:.80}: must be Vectors or a model; open a file with unhot.Vectors.load or "
                "unhot.load"
            )
        dim = start.dim if isinstance(start, WindowModel) else start.vectors.shape[1]
        if dim != self.dim:
            raise ConfigError(f"dim={self.dim}: the vectors to start from have dim {dim}; use dim={dim}")
        if isinstance(start, WindowModel):
            if start.learned.keys.size and not self.has_bags:
                raise ConfigError(
                    f"start: words of {start.name} are made of n-grams, which {self.name} does not have; "
                    "start from its vectors"
                )
            check_layer(self.layer, start.layer)

    def known(self, begins: Begins, reads: Reads) -> Vocabulary | None:
        """Return the words of the model to start from; they stay in the vocabulary, new words join them."""
        if not isinstance(begins.start, WindowModel) or reads.counts is not None or reads.encoded:
            return None
        self.layer.grown_rows(np.zeros(0, np.int32))  # raises now, not after a long text is read
        return begins.start.learned.in_vocabulary

    def check_task(self) -> None:
        """Check settings, files and machine; the settings may have changed since the model was made."""
        self.layer.check_files()
        self.check_engine()
        self.engine_kind().check_machine(self.task())

    def begin(self, data: Corpus | Cells, begins: Begins, tells: Tells) -> EpochRun[Any]:
        """Make the engine and its run."""
        vocabulary, inputs = data.vocabulary, self.input_vocabulary(data)
        start: Any = self if begins.resumed else begins.start
        old = start.learned.keys if isinstance(start, WindowModel) else NO_KEYS
        rows = self.input_rows(vocabulary, old)
        point = None if start is None else self._starting_point(start, inputs, vocabulary, rows)
        frozen = self.learned.frozen if begins.resumed else frozen_words(begins.frozen, inputs, point)
        task_data = TaskData(
            data=data,
            in_vocabulary=inputs,
            out_vocabulary=vocabulary,
            frozen=frozen,
            rows=rows,
            shared=self.shared,
            beside=self.beside(data),
        )
        engine = self.engine_kind()(self.task(None if rows is None else rows.bags), task_data)
        check_plan(engine.memory, len(inputs), self.dim)
        counted = "corpus_words" if self.unit == "words" else self.unit
        facts = {"vocabulary": len(vocabulary), counted: data.words}
        self.keep(engine.begin(point))
        return engine.run(self.plan(begins, tells, engine.memory, **facts))

    def _starting_point(
        self, start: Vectors | WindowModel, inputs: Vocabulary, targets: Vocabulary, rows: NgramRows | None
    ) -> StartingPoint:
        if isinstance(start, WindowModel):
            keys = NO_KEYS if rows is None else rows.keys
            return from_learned(start.learned, inputs, targets, self.layer, keys)
        point = from_vectors(start, inputs)
        return point if rows is None else point._replace(in_rows=word_rows(rows.keys, point.in_rows))

    def ended(self) -> None:
        """Drop the mean squares of a complete training."""
        super().ended()
        if self.complete and self._learned is not None:
            self._learned = self._learned._replace(squares={})

    @property
    def out_vectors(self) -> Vectors:
        """The output vectors; raises a `ConfigError` unless the layer has one for each word."""
        if not self.layer.rows_are_words:
            raise ConfigError(
                f"out_vectors: {self.layer.name} has no output row for each word; use model.head instead"
            )
        return self.store("out_vectors")

    def make_store(self, name: str) -> Vectors:
        """Make the store of the input vectors or of the output vectors."""
        learned = self.learned
        words = learned.in_vocabulary if name == "in_vectors" else learned.out_vocabulary
        return Vectors(words.words, getattr(learned.params, name), words.counts)

    @property
    def head(self) -> Head:
        """The trained output layer, which gives the probabilities of all words for a hidden vector."""
        params, seen = self.learned.params, self.learned.seen
        ln_z = float(params.ln_z[0]) if params.ln_z.size else 0.0
        # learned noise drew from `seen`, which starts at one for each word
        counts = seen - 1 if seen.size else self.learned.out_vocabulary.counts
        bias = params.out_bias if params.out_bias.size else None
        return Head(self.layer, counts, params.out_vectors, bias, ln_z)

    def word_inputs(self) -> WordInputs:
        """Return the input vectors and biases of all words."""
        params = self.learned.params
        return WordInputs(params.in_vectors, params.in_bias, np.zeros(0, np.int64))

    def hidden(self, words: Sequence[str]) -> Floats:
        """Return the hidden vector of several words together.

        It is the mean of their vectors unless the model combines them differently.
        """
        if not words:
            raise DataError("no words were given: give at least one word that the model knows")
        mean: Floats = np.mean([self.vectors[word] for word in words], axis=0, dtype=np.float32)
        return mean

    def predict_word(self, context: Sequence[str], topn: int = 10) -> list[tuple[str, float]]:
        """Return the words most likely to stand near the given ones, with their probabilities."""
        words = self.learned.out_vocabulary.words
        topn = min(whole("topn", topn, 1), len(words))
        ids, log_prob = self.head.topk(self.hidden(context), topn)
        return [(words[i], float(p)) for i, p in zip(ids, np.exp(log_prob), strict=True)]

    def config(self) -> dict[str, Any]:
        """Return the settings as plain data, from which the model can be made again."""
        return {**super().config(), "output": self.layer.spec(), "lr": self.first_lr}

    def facts(self) -> dict[str, Any]:
        """Return whether output rows stand for words, so that readers can use them as word vectors."""
        return {"out_rows_are_words": self.layer.rows_are_words}

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return the tensors to save; the mask of frozen words only while the training is incomplete."""
        learned = self.learned
        return (learned._replace(frozen=learned.frozen[:0]) if complete else learned).tensors()

    @classmethod
    def from_saved(cls, saved: SavedModel) -> Self:
        """Make the model from a saved folder that was read."""
        if missing := NEEDED - saved.tensors.keys():
            raise FormatError(
                f"a {cls.name} model has no {' and no '.join(missing)}: read it with Vectors.load"
            )
        return super().from_saved(saved)

    def take(self, saved: SavedModel) -> None:
        """Take over the tensors of a saved model."""
        self.keep(learned_from(saved, self.layer))
