"""What word models share: settings, `fit`, the trained vectors, saving and loading.

`fit` is the data flow of the package in one place: source -> corpus -> tables and params -> training.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from unhot import __version__
from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import encode, warm
from unhot.corpus.inputs import Source
from unhot.errors import ConfigError, DataError, FormatError, at_least, whole
from unhot.kernels.blocks import shape
from unhot.kernels.cache import cache_directory
from unhot.kernels.columns import candidates
from unhot.kernels.loop import Params, Room, scratch_bytes
from unhot.kernels.steps import All, link, step_shape, tile_shape
from unhot.kernels.windows import Window
from unhot.outputs import Head, OutputLayer, parse_output
from unhot.train.hot import HotSizes, hot_rows
from unhot.train.local import History, Kernel, Plan, in_background, train, warm_up
from unhot.train.memory import check_plan, describe
from unhot.train.params import Sizes, padded, start_params, without_copies
from unhot.train.progress import Callback
from unhot.train.schedule import chunk_size, pieces
from unhot.types import Counts, Floats
from unhot.vectors.formats.directory import SavedModel, save_model
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


@dataclasses.dataclass(kw_only=True)
class WordModel:
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

    name: ClassVar[str]
    default_lr: ClassVar[float]

    def __post_init__(self) -> None:
        """Check the ranges."""
        for field, low, high in RANGES:
            setattr(self, field, whole(field, getattr(self, field), low, high))
        self.max_vocab = None if self.max_vocab is None else whole("max_vocab", self.max_vocab, 1)
        self.sample = at_least("sample", self.sample, 0)
        self.lr = None if self.lr is None else at_least("lr", self.lr, SMALLEST_LR)
        self.layer: OutputLayer = parse_output(self.output)
        self.vocabulary: Vocabulary | None = None
        self.history = History()
        self._params: Params | None = None  # without the padding
        self._seen = np.zeros(0, np.int64)  # targets that learned noise has counted
        self._stores: dict[str, Vectors] = {}  # of the params as they are

    def step(self) -> Any:
        """The value whose type chooses the compiled step."""
        raise NotImplementedError

    def inputs(self) -> int:
        """How many inputs a step has at most."""
        raise NotImplementedError

    def targets(self) -> int:
        """How many targets a step has at most."""
        raise NotImplementedError

    def fit(
        self: Model,
        source: Source | Corpus,
        *,
        counts: Mapping[str, int] | None = None,
        callbacks: Sequence[Callback] = (),
        reading: Callable[[int, int | None], None] | None = None,
        note: Note | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> Model:
        """Learn from text (see `unhot.corpus.encode` for what a source can be) or from an encoded `Corpus`.

        counts      a vocabulary given from outside: word -> count
        callbacks   called with a `Progress` after every chunk and every epoch
        reading     called with bytes read and bytes there are while the text is read
        note        called with lines about what goes on: compiling, the memory plan, odd input; None: they are logged
        directory   where to keep the encoded text for another time; None: a temporary directory
        """
        say = note or logger.info
        self.layer.check_files()
        compiled = self._compile(say)
        if isinstance(source, Corpus):
            compiled()
            return self._train(source, callbacks, say)
        settings = {"tokenizer": self.tokenizer, "min_count": self.min_count, "max_vocab": self.max_vocab, "threads": self.threads}
        with encode(source, directory=directory, counts=counts, progress=reading, **settings) as corpus:
            for line in str(corpus.report).splitlines():
                say(line)
            compiled()
            return self._train(corpus, callbacks, say)

    def _kernel(self, counts: Counts | None) -> Kernel:
        """For a vocabulary of such counts; None: not known yet, enough to compile."""
        layer, stride = self.layer, padded(self.dim)
        tables = layer.sketch() if counts is None else layer.tables(counts)
        for needed in (candidates, link):
            if not needed.knows(type(tables)):
                raise ConfigError(f"{layer.name}: {needed.__name__} is not registered for its {type(tables).__name__}; a layer needs both")  # type: ignore[attr-defined]
        columns = 1 if counts is None else layer.columns(counts, self.targets())
        rows = 1 if counts is None else layer.rows(counts)
        step = All(shape(stride, 1, 1), rows) if layer.all_rows else step_shape(stride, self._fixed_columns(), self.inputs())
        room = Room(columns, len(tile_shape(step).width), rows if layer.all_rows else columns, self.inputs())
        return Kernel(self.step(), step, tables, layer.fresh, Window(self.window, self.shrink), room)

    def _fixed_columns(self) -> int | None:
        return self.layer.fixed_columns() if self.targets() == 1 else None

    def warm_up(self) -> None:
        """Compile the training kernel of these settings, or load it from disk."""
        warm_up(self._kernel(None), padded(self.dim))

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

    def _train(self: Model, corpus: Corpus, callbacks: Sequence[Callback], say: Note) -> Model:
        counts, words = corpus.vocabulary.counts, len(corpus.vocabulary)
        kernel = self._kernel(counts)
        threads = min(self.threads, len(pieces(corpus.shards, kernel.room.scored)))  # more would have nothing to do
        rows = self.layer.rows(counts)
        hot = HotSizes(hot_rows(words, threads), 0 if self.layer.all_rows else hot_rows(rows, threads))
        sizes = Sizes(words, rows, self.layer.biases(), hot, threads)
        vectors = 4 * padded(self.dim) * (words + rows + threads * sum(hot))
        buffers = threads * scratch_bytes(chunk_size(corpus.ids, kernel.room.scored), self.window, kernel.room, padded(self.dim))
        tables = sum(array.nbytes for array in kernel.tables if isinstance(array, np.ndarray))
        memory = {"vectors": vectors, "their last good state": vectors, "tables": tables, "buffers": buffers}
        check_plan(memory, words, self.dim)
        say(f"memory: {describe(memory)}")
        params = start_params(sizes, self.dim, self.seed)
        if params.out_bias.size:
            params.out_bias[:rows] = self.layer.start_bias(counts)
        details = {**self.config(), "vocabulary": words, "corpus_words": corpus.words, "memory": sum(memory.values())}
        self._keep(corpus.vocabulary, without_copies(params, sizes, self.dim))
        self.history = History()
        plan = Plan(self.epochs, self.lr or self.default_lr, self.seed, threads, hot, self.history, details)
        keep = keep_probability(counts, self.sample)
        callbacks = [lambda progress: self._stores.clear(), *callbacks]  # what callbacks look at is never older than they are
        self._seen = getattr(kernel.tables, "seen", self._seen)
        train(corpus, keep, kernel, params, plan, callbacks)
        self._stores.clear()
        if not (self.history.pairs or self.history.interrupted):
            logger.warning("nothing was learned: no sentence had two words left; lower min_count, join lines, or set sample=0")
        return self

    def _keep(self, vocabulary: Vocabulary, params: Params) -> None:
        self.vocabulary, self._params = vocabulary, params
        self._stores.clear()

    def _learned(self) -> tuple[Vocabulary, Params]:
        if self.vocabulary is None or self._params is None:
            raise DataError(f"this {type(self).__name__} has learned nothing yet: call fit first")
        return self.vocabulary, self._params

    @property
    def vectors(self) -> Vectors:
        """The input vectors: the word vectors proper."""
        return self._as_vectors("in_vectors")

    @property
    def out_vectors(self) -> Vectors:
        """The output vectors, where the layer has one for each word."""
        return self._as_vectors("out_vectors")

    @property
    def head(self) -> Head:
        """The output layer with what it has learned: probabilities of all words for hidden vectors."""
        vocabulary, params = self._learned()
        ln_z = float(params.ln_z[0]) if params.ln_z.size else 0.0
        counts = self._seen - 1 if self._seen.size else vocabulary.counts  # the noise it drew from; it began at one
        return Head(self.layer, counts, params.out_vectors, params.out_bias if params.out_bias.size else None, ln_z)

    def hidden(self, words: Sequence[str]) -> Floats:
        """The hidden vector that words give together: the mean of their vectors, or what the model makes of them."""
        if not words:
            raise DataError("no words: give at least one that the model knows")
        mean: Floats = np.mean([self.vectors[word] for word in words], axis=0, dtype=np.float32)
        return mean

    def predict_word(self, context: Sequence[str], topn: int = 10) -> list[tuple[str, float]]:
        """The words most likely to stand near these, with their probabilities."""
        vocabulary, _ = self._learned()
        topn = min(whole("topn", topn, 1), len(vocabulary))
        ids, log_prob = self.head.topk(self.hidden(context), topn)
        return [(vocabulary.words[i], float(p)) for i, p in zip(ids, np.exp(log_prob), strict=True)]

    def _as_vectors(self, name: str) -> Vectors:
        vocabulary, params = self._learned()
        if name == "out_vectors" and not self.layer.rows_are_words:
            raise ConfigError(f"out_vectors: the output rows of {self.layer.name} are not those of the words; see model.head")
        if name not in self._stores:
            self._stores[name] = Vectors(vocabulary.words, getattr(params, name), vocabulary.counts)
        return self._stores[name]

    def config(self) -> dict[str, Any]:
        """The settings as plain data, enough to make the model again."""
        settings = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if callable(self.tokenizer):
            named = self.tokenizer if hasattr(self.tokenizer, "__qualname__") else type(self.tokenizer)
            settings["tokenizer"] = f"{named.__module__}.{named.__qualname__}"  # a name to remember it by
        return {"model": self.name, **settings, "output": self.layer.spec(), "lr": self.lr or self.default_lr}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model directory, all or nothing; nothing in it depends on when it was made."""
        vocabulary, params = self._learned()
        config = {**self.config(), "unhot": __version__, "losses": self.history.losses, "words": self.history.words}
        tensors = {**params._asdict(), "seen": self._seen}
        save_model(Path(path), config, vocabulary, {name: array for name, array in tensors.items() if array.size > 0})

    @classmethod
    def from_saved(cls: type[Model], saved: SavedModel) -> Model:
        """The model of a directory that was read."""
        missing = {"in_vectors", "out_vectors"} - saved.tensors.keys()
        dim = None if missing else saved.tensors["in_vectors"].shape[1]
        if missing or dim != saved.config.get("dim"):
            raise FormatError(f"a {cls.name} model without {' and '.join(missing) or 'vectors of its dim'}: read it with Vectors.load")
        names = {field.name for field in dataclasses.fields(cls)}
        model = cls(**{name: value for name, value in saved.config.items() if name in names})
        model._keep(saved.vocabulary, _saved_params(saved, model.layer))
        model._seen = saved.tensors.get("seen", model._seen)
        model.history = History(losses=list(saved.config.get("losses", [])), words=int(saved.config.get("words", 0)))
        return model


def _saved_params(saved: SavedModel, layer: OutputLayer) -> Params:
    """The tensors of a saved model, with the biases that its layer learns and no others."""
    params = Params(*(saved.tensors.get(name, np.zeros(0, np.float32)) for name in Params._fields))
    learns = layer.biases()
    sizes = {
        "out_bias": len(params.out_vectors) * learns.out,
        "in_bias": len(saved.vocabulary) * learns.each_input,
        "ln_z": int(learns.ln_z),
    }
    for name, size in sizes.items():
        found = getattr(params, name).shape
        if found != (size,):
            raise FormatError(
                f"a model with {layer.spec()}: tensor {name!r} has the shape {found}, it must be ({size},); the file is damaged"
            )
    return params
