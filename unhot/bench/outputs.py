"""Compare output layers: train the same model on the same text for the same time with each layer.

Each layer trains its own model for the same time, with the learning rate that suits it, and then predicts
lines of the text that it was not trained on. Windows have their full size and no word is sub-sampled, in
training and on the held-out lines alike. All probabilities are normalised exactly (see
`unhot.evaluate.held_out`), so all perplexities can be compared. By default all layers learn biases. Most
layers start them from the words' counts, so that no time is spent on learning these. For skip-gram the
minimum of the training loss is found first, without a time limit (`unhot.bench.exact`), and every layer is
compared with it.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from unhot.bench.exact import BEGUN, ExactSolution, counted_cells
from unhot.bench.results import CELLS, EXACT, FULL, Comparison, Measured, Settings, learned_bytes
from unhot.bench.texts import Texts, split_text, unigram_loss
from unhot.bench.timetable import Speeds, Timetable, make_timetable, score_seconds
from unhot.bench.trials import (
    LOOKS,
    RUNG,
    RUNGS,
    TUNING_LOOKS,
    TUNING_SHARE,
    Point,
    Stopwatch,
    Trial,
    best_lr,
    run_trials,
    train_for,
)
from unhot.corpus.encoding import encode
from unhot.corpus.reading.sources import Source
from unhot.errors import ConfigError, Diverged
from unhot.evaluate.held_out import held_out
from unhot.models.load import word_models
from unhot.models.word_model import WordModel
from unhot.outputs import LAYERS, OutputLayer, parse_output
from unhot.outputs.layer import FILE

MOMENT, SMALL_LR = 1e-6, 1e-9  # for warming up: a single chunk, at a rate that cannot diverge


class Status(NamedTuple):
    """The current state of a comparison."""

    number: int  # the number of the layer, from 1; 0 while the text is read
    layers: int  # the number of layers, plus one for the exact solution, which comes first
    layer: str
    stage: str  # reading | planned | preparing | tuning | training | evaluating | done
    seconds_left: float = 0.0  # of this stage
    measured: Measured | None = None  # the layer's result, at stage done
    timetable: Timetable | None = None  # how long everything takes, at stage planned


Tell: TypeAlias = Callable[[Status], None]
Layers: TypeAlias = Iterable[str | OutputLayer] | str | OutputLayer


def chosen_layers(layers: Layers = ()) -> dict[str, OutputLayer]:
    """Return the chosen layers by their names.

    Without a choice, return all registered layers with biases; the full softmax, their reference, is first.
    """
    given = list(layers) if isinstance(layers, Iterable) and not isinstance(layers, str) else [layers]
    if not given:
        names = sorted(LAYERS, key=lambda name: (name != FULL, name))
        return {
            name: parse_output(f"{name}:bias=true" if hasattr(LAYERS[name], "bias") else name)
            for name in names
        }
    parsed = [parse_output(layer) for layer in given]
    chosen = {
        name if isinstance(name, str) else layer.spec(): layer
        for name, layer in zip(given, parsed, strict=True)
    }
    if len(chosen) < len(given):
        raise ConfigError(f"layers {', '.join(chosen)}: a layer was given twice; give each layer once")
    for layer in parsed:
        _refuse_files(layer)
    return chosen


def _refuse_files(layer: OutputLayer) -> None:
    """Raise a `ConfigError` if a layer reads a file: its line i is about id i, but ids are not known yet."""
    for setting in fields(layer):
        value = getattr(layer, setting.name)
        if isinstance(value, str) and value.startswith(FILE):
            raise ConfigError(
                f"{layer.name}:{setting.name}={value}: the file belongs to the ids of another vocabulary: "
                "a comparison counts the words of randomly chosen training lines; "
                f"leave {setting.name} out, or give a value that is made from counts"
            )


def compare_outputs(
    source: Source, layers: Layers = (), *, settings: Settings | None = None, tell: Tell | None = None
) -> Comparison:
    """Train and measure every layer; the result says why a layer failed. Ctrl-C returns the results so far.

    source      the text, see `unhot.corpus.encode`
    layers      one spec or several; by default all registered layers, with biases
    tell        a function that is called with a `Status` now and then
    """
    settings, tell = settings or Settings(), tell or (lambda status: None)
    chosen, began = chosen_layers(layers), time.perf_counter()
    reading: dict[str, Any] = {
        name: getattr(settings, name) for name in ("tokenizer", "min_count", "max_vocab", "threads", "force")
    }
    total = len(chosen) + settings.finds_exact()
    tell(Status(0, total, "", "reading"))
    with encode(source, **reading) as corpus:
        texts = split_text(corpus, settings.held_out, settings.held_out_words, settings.seed)
    rows: list[Measured] = []
    with texts.train, counted_cells(settings, texts) as counted:
        speeds = Speeds(score_seconds(len(texts.train.vocabulary), settings.dim), counted.epoch)
        gone = time.perf_counter() - began
        timetable = make_timetable(settings, texts, len(chosen), speeds, counted.epochs, gone)
        settings = replace(settings, seconds=timetable.seconds)
        tell(Status(0, total, "", "planned", timetable=timetable))

        def trials() -> Iterator[Trial[Measured]]:
            exact = None
            if settings.finds_exact():
                told = partial(_tell_of, tell, (1, total, EXACT))
                exact = ExactSolution(settings, texts, counted, timetable.epochs, told)
                yield Trial(exact.rows, partial(Measured, **BEGUN))
            for number, (name, layer) in enumerate(chosen.items(), 1 + settings.finds_exact()):
                told = partial(_tell_of, tell, (number, total, name))
                run = _LayerRun(name, layer, settings, texts, timetable.seconds, exact, told)
                yield Trial(run.rows, run.failed)

        def done(row: Measured) -> None:
            tell(Status(len(rows), total, row.layer, "done", 0.0, row))

        interrupted = run_trials(trials(), rows, done)
        return _comparison(settings, texts, rows, interrupted)


def _tell_of(tell: Tell, at: tuple[int, int, str], stage: str, left: float = 0.0) -> None:
    tell(Status(*at, stage, left))


def _comparison(
    settings: Settings,
    texts: Texts,
    rows: Sequence[Measured],
    interrupted: bool,
) -> Comparison:
    vocabulary, each = texts.train.vocabulary, settings.model == "skipgram"
    whole, part = (
        math.exp(unigram_loss(lines, vocabulary, settings.window, each))
        for lines in (texts.held_out, texts.curve)
    )
    return Comparison(
        settings=settings,
        words=texts.train.ids,
        vocabulary=len(vocabulary),
        held_out_words=sum(map(len, texts.held_out)),
        curve_words=sum(map(len, texts.curve)),
        unigram_perplexity=whole,
        curve_unigram_perplexity=part,
        layers=tuple(each for each in rows if each.engine != CELLS),
        exact=next((each for each in rows if each.engine == CELLS), None),
        interrupted=interrupted,
    )


@dataclass
class _LayerRun:
    """The measurement of one layer: finds its learning rate, trains it, collects its figures."""

    name: str
    layer: OutputLayer
    settings: Settings
    texts: Texts
    seconds: float  # of training
    exact: ExactSolution | None
    tell: Callable[..., None]  # called with a stage and the seconds left in it
    curve: list[Point] = field(default_factory=list)
    lr: float = math.nan

    @property
    def begun(self) -> dict[str, Any]:
        """What is known of the layer before it is trained."""
        engine = self.settings.engine_of(self.layer)
        return {"layer": self.name, "spec": self.layer.spec(), "engine": engine}

    def rows(self) -> Iterator[Measured]:
        """Yield the results of the layer."""
        self._warm_up()
        first = word_models()[self.settings.model].default_lr
        lr = self.settings.lr
        model, watch = self._trained(lr) if lr else self._tuned(best_lr(self._tuning_loss, first))
        self.tell("evaluating")
        yield Measured(
            **self.begun,
            lr=self.lr,
            seconds=model.history.seconds,
            pairs=model.history.pairs,
            learned_bytes=learned_bytes(model.learned),
            training_bytes=watch.memory,
            result=held_out(model, self.texts.held_out),
            curve=tuple(self.curve),
            train_above=self.exact.above(model) if self.exact else math.nan,
        )

    def failed(self, failed: str) -> Measured:
        """Return the results of a layer that failed: its curve so far, and why."""
        return Measured(**self.begun, curve=tuple(self.curve), failed=failed)

    def _warm_up(self) -> None:
        """Train one chunk and discard it, so that loading and compiling do not count as training time."""
        self.tell("preparing")
        model = self.settings.new_model(self.layer, SMALL_LR)
        for _ in train_for(model, self.texts.train, Stopwatch(MOMENT), (1.0,)):
            pass

    def _tuned(self, lr: float) -> tuple[WordModel, Stopwatch]:
        """Train for the full time; if the tuned rate diverges in the longer training, try lower rates."""
        for rung in range(RUNGS):
            try:
                return self._trained(lr * RUNG**-rung)
            except Diverged:
                pass
        return self._trained(lr * RUNG**-RUNGS)

    def _trained(self, lr: float) -> tuple[WordModel, Stopwatch]:
        """Train for the full time at one rate, and evaluate the model on the way."""
        self.lr = lr
        self.curve.clear()
        model = self.settings.new_model(self.layer, lr)
        watch = Stopwatch(self.seconds, partial(self.tell, "training"))
        for _ in train_for(model, self.texts.train, watch, LOOKS):
            loss = held_out(model, self.texts.curve).cross_entropy
            self.curve.append(Point(model.history.seconds, model.history.pairs, loss))
        return model, watch

    def _tuning_loss(self, lr: float) -> float:
        """Return the loss after a short training at this rate, on the lines reserved for tuning."""
        model = self.settings.new_model(self.layer, lr)
        watch = Stopwatch(TUNING_SHARE * self.seconds, partial(self.tell, "tuning"))
        for _ in train_for(model, self.texts.train, watch, TUNING_LOOKS):
            pass
        return held_out(model, self.texts.tuning).cross_entropy
