"""Compare output layers on one neural language model, beside n-grams and mixtures of both.

Every layer trains the same body on the same text, for the same time or the same epochs, with the learning
rate that suits it. The clock stops while a model is measured. Rates are chosen on the validation text;
mixtures have their weights from it; figures are of the test text. All probabilities are normalised over all
words.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from unhot.bench.outputs import chosen_layers
from unhot.bench.results import reason
from unhot.bench.timed import LOOKS, TUNING_SHARE, ignored_overflow
from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import encode
from unhot.errors import ConfigError, Diverged, at_least, whole
from unhot.evaluate.figures import plain
from unhot.evaluate.language import LanguageFigures, measure_language
from unhot.models.mixture import Mixture
from unhot.models.neural_lm import NeuralLM
from unhot.models.ngram_model import NGramModel
from unhot.train.progress import Progress

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
        if not at_least("minutes", self.minutes, 0):
            raise ConfigError("minutes=0: must be more than 0")
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

    def seconds(self, layers: int) -> float:
        """Return about how long a comparison of so many layers takes, without measuring; NaN with epochs."""
        trials = 0.0 if self.lr else len(FACTORS) * TUNING_SHARE
        return layers * 60 * self.minutes * (self.seeds + trials) if self.epochs is None else math.nan


@dataclass(frozen=True, kw_only=True)
class LanguageRow:
    """The results of one model."""

    name: str  # the layer as it was given, `n-grams`, or a mixture
    kind: str  # layer, ngram or mixture
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
class LanguageComparison:
    """The results of all models."""

    settings: LanguageSettings
    words: int  # different words
    tokens: int  # of the training text
    rows: tuple[LanguageRow, ...]
    interrupted: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return dict(plain(self))


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
    chosen = list(layers) or [
        f"{name}:bias=true" if hasattr(layer, "bias") else name for name, layer in chosen_layers().items()
    ]
    rows: list[LanguageRow] = []
    interrupted = False
    keep: dict[str, Any] = {"unknown": True, "empty_lines": True, "min_count": settings.min_count}
    with encode(train, threads=settings.threads, **keep) as corpus:
        run = _Comparison(settings, corpus, Path(valid), Path(test), tell)
        try:
            rows.append(run.ngrams())
            for number, layer in enumerate(chosen, 1):
                tell(f"{number}/{len(chosen)} {layer}")
                rows += run.layer(layer)
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

    def ngrams(self) -> LanguageRow:
        """Train and measure the n-grams."""
        began = time.perf_counter()
        model = NGramModel(order=self.settings.order, min_count=self.settings.min_count)
        model.fit(self.corpus, note=lambda line: None)
        seconds = time.perf_counter() - began
        self.grams = model
        row = LanguageRow(
            name=f"{NGRAM}, order {self.settings.order}",
            kind="ngram",
            seconds=seconds,
            tokens=self.corpus.words,
            learned_bytes=sum(tensor.nbytes for tensor in model.tensors(complete=True).values()),
            figures=measure_language(model, self.test),
        )
        self._say(row)
        return row

    def layer(self, layer: str) -> list[LanguageRow]:
        """Return the rows of a layer: one for each seed, and a mixture with the n-grams."""
        rows: list[LanguageRow] = []
        model: NeuralLM | None = None
        try:
            with ignored_overflow():
                lr = self.settings.lr or self._best_lr(layer)
                for seed in range(1, self.settings.seeds + 1):
                    row, model = self._trained(layer, seed, lr)
                    rows.append(row)
                    self._say(row)
                if model is not None:
                    rows.append(self._mixed(layer, model))
                    self._say(rows[-1])
        except Exception as error:  # any error, as a layer may come from a plugin: the others go on
            rows.append(LanguageRow(name=layer, kind="layer", failed=reason(error)))
            self.tell(f"  failed: {rows[-1].failed}")
        return rows

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
            learned_bytes=sum(tensor.nbytes for tensor in model.tensors(complete=True).values()),
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
    with path.open(encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            lines.append(line.rstrip("\n"))
            words -= len(line.split()) + 1
            if words <= 0:
                break
    return lines
