"""Compare output layers on one neural language model, beside n-grams and mixtures of both.

Every layer trains the same body on the same text, for the same time or the same epochs, with the learning
rate that suits it. The clock stops while a model is measured. Rates are chosen on the validation text;
mixtures have their weights from it; figures are of the test text. All probabilities are normalised over all
words.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from unhot.bench.outputs import chosen_layers
from unhot.bench.results import reason
from unhot.bench.timed import LOOKS, TUNING_SHARE, ignored_overflow
from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import encode
from unhot.errors import Diverged, whole
from unhot.evaluate.figures import Figures
from unhot.evaluate.language import LanguageFigures, measure_language
from unhot.models.load import models_of
from unhot.models.mixture import Mixture
from unhot.models.neural_lm import NeuralLM
from unhot.models.ngram_model import NGramModel
from unhot.outputs import LAYERS
from unhot.tables.files import open_lines
from unhot.tables.text_lines import line_blocks
from unhot.train.progress import Progress
from unhot.vocab.vocabulary import decode_word

SAMPLE = 5_000  # words of the validation text that curves and rates are measured on
FACTORS = (1, 4, 16)  # rates that are tried, by the usual one; short trainings need higher ones
NGRAM = "n-grams"
Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class LanguageSettings:
    """How layers are compared."""

    body: str = "lstm"
    dim: int = 200
    dropout: float = 0.2
    batch: int = 20
    steps: int = 35
    min_count: int = 1
    minutes: float = 3.0  # of training, for each layer and seed
    epochs: int | None = None  # of training, instead of minutes
    seeds: int = 1
    lr: float | None = None  # None: the best of a few for each layer
    order: int = 5  # of the n-grams
    threads: int = 2

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("seeds", "order", *(() if self.epochs is None else ("epochs",))):
            whole(name, getattr(self, name), 1)
        self.model("softmax", 1, None)  # checks all other settings

    def model(self, layer: str, seed: int, lr: float | None, share: float = 1.0) -> NeuralLM:
        """Return a model to train, for a share of the time."""
        names = ("body", "dim", "dropout", "batch", "steps", "min_count", "threads")
        given: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self.epochs is None:
            given |= {"minutes": share * self.minutes, "epochs": 1_000_000}
        else:
            given["epochs"] = max(1, round(share * self.epochs))
        return NeuralLM(output=layer, seed=seed, lr=lr, **given)

    @property
    def trainings(self) -> float:
        """How many trainings of full length a layer has: for its seeds, and shorter ones to find its rate."""
        return self.seeds + (0.0 if self.lr else len(FACTORS) * TUNING_SHARE)


@dataclass(frozen=True, kw_only=True)
class LanguageRow:
    """The results of one model."""

    name: str  # the layer as it was given, `n-grams`, a mixture, or another model
    kind: str  # layer, ngram, mixture or model
    seed: int = 0
    lr: float = math.nan
    seconds: float = 0.0  # of training
    tokens: int = 0  # trained
    learned_bytes: int = 0
    training_bytes: int = 0  # planned
    figures: LanguageFigures | None = None
    curve: tuple[tuple[float, float], ...] = ()  # seconds, perplexity of a part of the validation text
    weights: tuple[float, ...] = ()  # of a mixture
    failed: str = ""

    @property
    def speed(self) -> float:
        """Tokens trained in a second."""
        return self.tokens / self.seconds if self.seconds else math.nan


@dataclass(frozen=True, kw_only=True)
class LanguageComparison(Figures):
    """The results of all models."""

    settings: LanguageSettings
    words: int  # different words
    tokens: int  # of the training text
    rows: tuple[LanguageRow, ...]
    interrupted: bool = False


@dataclass
class Looks:
    """A callback that interrupts a training when it has come to the next look."""

    seconds: float  # of the whole training; 0: it is counted in words
    shares: list[float] = field(default_factory=lambda: list(LOOKS[:-1]))
    memory: int = 0
    mine: bool = False  # whether this callback interrupted

    def __call__(self, progress: Progress) -> None:
        """Look at the clock."""
        self.memory = progress.details.get("memory", self.memory)
        done = progress.seconds / self.seconds if self.seconds else progress.words / progress.total_words
        if progress.event == "progress" and self.shares and done >= self.shares[0]:
            self.shares = [share for share in self.shares if share > done]
            self.mine = True
            raise KeyboardInterrupt


def trained(model: NeuralLM, corpus: Corpus, looks: Looks) -> Iterator[None]:
    """Train a model, and yield at each look and at the end, for the caller to measure it."""
    learn: Any = model.fit
    while True:
        looks.mine = False
        learn(corpus, callbacks=[looks], note=lambda line: None)
        if model.history.interrupted and not looks.mine:
            raise KeyboardInterrupt
        yield
        if model.complete:
            return
        learn = model.resume


def compare_language(
    train: Any,
    valid: Any,
    test: Any,
    layers: Sequence[str] = (),
    *,
    settings: LanguageSettings | None = None,
    tell: Tell = lambda line: None,
) -> LanguageComparison:
    """Train and measure all layers, n-grams and mixtures; Ctrl-C returns the results so far.

    layers  specs of output layers; by default all registered ones
    tell    a function that is called with lines about what goes on
    """
    settings = settings or LanguageSettings()
    chosen = list(chosen_layers(layers))
    if not layers:
        chosen = [f"{name}:bias=true" if hasattr(LAYERS[name], "bias") else name for name in chosen]
    rows: list[LanguageRow] = []
    interrupted = False
    keep: dict[str, Any] = {"unknown": True, "empty_lines": True, "min_count": settings.min_count}
    with encode(train, threads=settings.threads, **keep) as corpus:
        run = _Comparison(settings, corpus, Path(valid), Path(test), tell)
        try:
            rows.extend(run.beside())
            tell(f"{len(chosen)} layers: at most about {run.seconds(len(chosen)) / 60:,.0f} minutes in all")
            for number, layer in enumerate(chosen, 1):
                tell(f"{number}/{len(chosen)} {layer}")
                rows.extend(run.layer(layer))  # one by one, so that Ctrl-C loses none
        except KeyboardInterrupt:
            interrupted = True
        return LanguageComparison(
            settings=settings,
            words=len(corpus.vocabulary),
            tokens=corpus.words + corpus.sentences,
            rows=tuple(rows),
            interrupted=interrupted,
        )


class _Comparison:
    """The texts, and what all models share."""

    def __init__(
        self, settings: LanguageSettings, corpus: Corpus, valid: Path, test: Path, tell: Tell
    ) -> None:
        self.settings, self.corpus = settings, corpus
        self.valid, self.test = valid, test
        self.tell = tell
        self.sample = _first_lines(valid, SAMPLE)
        self.grams: NGramModel | None = None

    def beside(self) -> Iterator[LanguageRow]:
        """Yield the rows of models without output layers: n-grams, then others with their defaults."""
        self.grams = NGramModel(order=self.settings.order, min_count=self.settings.min_count)
        models: dict[str, Any] = {f"{NGRAM}, order {self.settings.order}": self.grams}
        for name, kind in models_of("language").items():
            if kind not in (NGramModel, NeuralLM):
                own = {each.name for each in fields(kind)} & {"min_count", "threads"}
                models[name] = kind(**{each: getattr(self.settings, each) for each in own})
        for name, model in models.items():
            began = time.perf_counter()
            model.fit(self.corpus, note=lambda line: None)
            seconds = time.perf_counter() - began
            row = LanguageRow(
                name=name,
                kind="ngram" if model is self.grams else "model",
                seconds=seconds,
                tokens=self.corpus.words,
                learned_bytes=sum(tensor.nbytes for tensor in model.learned.tensors(complete=True).values()),
                figures=measure_language(model, self.test),
                curve=((seconds, model.perplexity(self.sample).perplexity),),
            )
            self._say(row)
            yield row

    def seconds(self, layers: int) -> float:
        """Return how long so many layers take, if all are as slow as the full softmax, from a short trial."""
        model = self.settings.model("softmax", 1, None)
        next(trained(model, self.corpus, Looks(0.0, [0.0])))
        began = time.perf_counter()
        tokens = model.perplexity(self.sample).tokens
        score = (time.perf_counter() - began) / tokens
        size = sum(len(line) + 1 for line in self.sample) / tokens  # bytes of a token
        valid, test = (path.stat().st_size / size for path in (self.valid, self.test))
        epochs = self.settings.epochs
        text = self.corpus.words + self.corpus.sentences
        speed = model.history.pairs / model.history.seconds
        train = 60 * self.settings.minutes if epochs is None else epochs * text / speed
        looks = self.settings.seeds * (len(LOOKS) * tokens + test) + valid + test
        return layers * (train * self.settings.trainings + score * looks)

    def layer(self, layer: str) -> Iterator[LanguageRow]:
        """Yield the rows of a layer: one for each seed, and a mixture with the n-grams."""
        try:
            with ignored_overflow():
                lr = self.settings.lr or self._best_lr(layer)
                for seed in range(1, self.settings.seeds + 1):
                    row, model = self._trained(layer, seed, lr)
                    self._say(row)
                    yield row
                row = self._mixed(layer, model)
                self._say(row)
                yield row
        except Exception as error:  # any error, as a layer may come from a plugin: the others go on
            self.tell(f"  failed: {reason(error)}")
            yield LanguageRow(name=layer, kind="layer", failed=reason(error))

    def _best_lr(self, layer: str) -> float:
        """Return the rate with the lowest loss after a short training."""
        losses: dict[float, float] = {}
        for factor in FACTORS:
            lr = factor * self.settings.model(layer, 1, None).usual_lr
            try:
                losses[lr] = self._tuning_loss(layer, lr)
            except Diverged:
                losses[lr] = math.inf
        return min(losses, key=losses.__getitem__)

    def _tuning_loss(self, layer: str, lr: float) -> float:
        """Return the loss after a short training at this rate."""
        model = self.settings.model(layer, 1, lr, TUNING_SHARE)
        model.fit(self.corpus, note=lambda line: None)
        if model.history.interrupted:
            raise KeyboardInterrupt
        return math.log(model.perplexity(self.sample).perplexity)

    def _trained(self, layer: str, seed: int, lr: float) -> tuple[LanguageRow, NeuralLM]:
        """Train for the full time, and measure on the way."""
        model = self.settings.model(layer, seed, lr)
        looks = Looks(0.0 if self.settings.epochs else 60 * self.settings.minutes)
        curve = []
        for _ in trained(model, self.corpus, looks):
            curve.append((model.history.seconds, model.perplexity(self.sample).perplexity))
        row = LanguageRow(
            name=layer,
            kind="layer",
            seed=seed,
            lr=lr,
            seconds=model.history.seconds,
            tokens=model.history.pairs,
            learned_bytes=sum(tensor.nbytes for tensor in model.learned.tensors(complete=True).values()),
            training_bytes=looks.memory,
            curve=tuple(curve),
        )
        return replace(row, figures=measure_language(model, self.test)), model

    def _mixed(self, layer: str, model: NeuralLM) -> LanguageRow:
        """Mix a model with the n-grams."""
        assert self.grams is not None
        mixture = Mixture.of([model, self.grams], self.valid)
        return LanguageRow(
            name=f"{layer} + {NGRAM}",
            kind="mixture",
            weights=tuple(mixture.weights),
            figures=measure_language(mixture, self.test),
        )

    def _say(self, row: LanguageRow) -> None:
        assert row.figures is not None
        speed = f", {row.speed:,.0f} tokens/s, lr {row.lr:.3g}" if row.kind == "layer" else ""
        self.tell(f"  {row.name}: perplexity {row.figures.result.perplexity:,.1f}{speed}")


def _first_lines(path: Path, words: int) -> list[str]:
    """Return the first lines of a text, with about so many words."""
    lines: list[str] = []
    for block in line_blocks(open_lines(path, force=False)):
        for line in decode_word(block).split("\n")[:-1]:
            lines.append(line)
            words -= len(line.split()) + 1
            if words <= 0:
                return lines
    return lines
