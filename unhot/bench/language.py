"""Compare output layers on one neural language model, beside n-grams and mixtures of both.

Every layer trains the same body on the same text, for the same time or the same epochs, with the learning
rate that suits it. The clock stops while a model is measured. Rates are chosen on the validation text;
mixtures have their weights from it; figures are of the test text. All probabilities are normalised over all
words.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from unhot.bench.outputs import chosen_layers
from unhot.bench.trials import LOOKS, TUNING_SHARE, Stopwatch, Trial, pieces, run_trials
from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import encode
from unhot.corpus.reading.sources import TextReader, lines_of
from unhot.errors import Diverged, whole
from unhot.evaluate.figures import Figures
from unhot.evaluate.language import LanguageFigures, measure_language
from unhot.models.descent import rates_of
from unhot.models.load import models_of
from unhot.models.mixture import Mixture
from unhot.models.neural_lm import NeuralLM
from unhot.models.ngram_model import NGramModel
from unhot.outputs import LAYERS

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
    keep: dict[str, Any] = {"unknown": True, "empty_lines": True, "min_count": settings.min_count}
    with encode(train, threads=settings.threads, **keep) as corpus:
        run = _Comparison(settings, corpus, Path(valid), Path(test), tell)
        interrupted = run_trials(run.trials(chosen), rows, run.say)
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

    def trials(self, layers: Sequence[str]) -> Iterator[Trial[LanguageRow]]:
        """Yield n-grams and other models without output layers, with their defaults, then the layers."""
        grams = NGramModel(order=self.settings.order, min_count=self.settings.min_count)
        yield self._trial(f"{NGRAM}, order {self.settings.order}", "ngram", partial(self._fitted, grams))
        for name, kind in models_of("language").items():
            if kind not in (NGramModel, NeuralLM):
                own = {each.name for each in fields(kind)} & {"min_count", "threads"}
                model = kind(**{each: getattr(self.settings, each) for each in own})
                yield self._trial(name, "model", partial(self._fitted, model))
        self.tell(f"{len(layers)} layers: at most about {self.seconds(len(layers)) / 60:,.0f} minutes in all")
        for number, layer in enumerate(layers, 1):
            self.tell(f"{number}/{len(layers)} {layer}")
            yield self._trial(layer, "layer", partial(self._layer, grams))

    def _trial(self, name: str, kind: str, rows: Callable[..., Iterator[LanguageRow]]) -> Trial[LanguageRow]:
        row = LanguageRow(name=name, kind=kind)
        return Trial(partial(rows, row), partial(replace, row))

    def _fitted(self, model: Any, row: LanguageRow) -> Iterator[LanguageRow]:
        """Yield the row of a model without an output layer."""
        began = time.perf_counter()
        model.fit(self.corpus, note=lambda line: None)
        seconds = time.perf_counter() - began
        yield replace(
            row,
            seconds=seconds,
            tokens=self.corpus.words,
            learned_bytes=_learned_bytes(model),
            figures=measure_language(model, self.test),
            curve=((seconds, model.perplexity(self.sample).perplexity),),
        )

    def seconds(self, layers: int) -> float:
        """Return how long so many layers take, if all are as slow as the full softmax, from a short trial."""
        model = self.settings.model("softmax", 1, None)
        next(pieces(model, self.corpus, Stopwatch(0.0, shares=[0.0])))
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

    def _layer(self, grams: NGramModel, row: LanguageRow) -> Iterator[LanguageRow]:
        """Yield the rows of a layer: one for each seed, and a mixture with the n-grams."""
        rates = [factor * rates_of(self.settings.model(row.name, 1, None))["usual_lr"] for factor in FACTORS]
        lr = self.settings.lr or min(rates, key=partial(self._tuning_loss, row.name))
        for seed in range(1, self.settings.seeds + 1):
            model = self.settings.model(row.name, seed, lr)
            yield self._trained(model, replace(row, seed=seed, lr=lr))
        mixture = Mixture.of([model, grams], self.valid)
        yield LanguageRow(
            name=f"{row.name} + {NGRAM}",
            kind="mixture",
            weights=tuple(mixture.weights),
            figures=measure_language(mixture, self.test),
        )

    def _tuning_loss(self, layer: str, lr: float) -> float:
        """Return the loss after a short training at this rate; infinity if it diverges."""
        model = self.settings.model(layer, 1, lr, TUNING_SHARE)
        try:
            for _ in pieces(model, self.corpus, Stopwatch(0.0)):
                pass
        except Diverged:
            return math.inf
        return math.log(model.perplexity(self.sample).perplexity)

    def _trained(self, model: NeuralLM, row: LanguageRow) -> LanguageRow:
        """Train for the full time, and measure on the way."""
        watch = Stopwatch(0.0 if self.settings.epochs else 60 * self.settings.minutes, shares=LOOKS[:-1])
        curve = []
        for _ in pieces(model, self.corpus, watch):
            curve.append((model.history.seconds, model.perplexity(self.sample).perplexity))
        return replace(
            row,
            seconds=model.history.seconds,
            tokens=model.history.pairs,
            learned_bytes=_learned_bytes(model),
            training_bytes=watch.memory,
            curve=tuple(curve),
            figures=measure_language(model, self.test),
        )

    def say(self, row: LanguageRow) -> None:
        """Tell the result of a model in a line."""
        speed = f", {row.speed:,.0f} tokens/s, lr {row.lr:.3g}" if row.kind == "layer" else ""
        found = f"perplexity {row.figures.result.perplexity:,.1f}" if row.figures else ""
        self.tell(f"  failed: {row.failed}" if row.failed else f"  {row.name}: {found}{speed}")


def _learned_bytes(model: Any) -> int:
    return sum(tensor.nbytes for tensor in model.learned.tensors(complete=True).values())


def _first_lines(path: Path, words: int) -> list[str]:
    """Return the first lines of a text, with about so many words."""
    lines: list[str] = []
    for block in TextReader(path, None).blocks():
        for line in lines_of(block):
            lines.append(line)
            words -= len(line.split()) + 1
            if words <= 0:
                return lines
    return lines
