"""Output layers beside each other: the same model, text and time with every one of them.

Each layer trains a model of its own for the same time, with the learning rate that suits it, and then
predicts lines of the text that it was not trained on. Windows are whole and no word is left out, in training
as on the held-out lines, so both ask the same question. All probabilities are normalised exactly (see
`unhot.evaluate.held_out`), so all perplexities can be compared. By default all layers learn biases, and most
of them begin with what the words' counts say: none has to spend its time on these. For skip-gram the minimum
of the training loss is found first, without a clock (`unhot.bench.exact`), and every layer is compared with
that.
"""

import contextlib
import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from unhot.bench.exact import ExactSolution, exact_solution
from unhot.bench.results import EXACT, FULL, Comparison, Measured, learned_bytes, reason
from unhot.bench.settings import Settings
from unhot.bench.texts import Texts, split_text, unigram_loss
from unhot.bench.timed import LOOKS, RUNG, RUNGS, TUNING_LOOKS, Point, Stopwatch, best_lr, train_for
from unhot.corpus.encoding import encode
from unhot.corpus.reading.sources import Source
from unhot.errors import ConfigError, Diverged
from unhot.evaluate.held_out import held_out
from unhot.models.load import word_models
from unhot.models.word_model import WordModel
from unhot.outputs import LAYERS, OutputLayer, parse_output
from unhot.outputs.layer import FILE

# of the time, for each learning rate that is tried; a shorter training would favour low ones
TUNING_SHARE = 0.25
MOMENT, SMALL_LR = 1e-6, 1e-9  # one chunk, and nothing can go wrong with it


class Status(NamedTuple):
    """What is going on."""

    number: int  # of the layer, from 1; 0 while the text is read
    layers: int  # and the exact solution, which is the first
    layer: str
    stage: str  # reading | preparing | tuning | training | evaluating | done
    seconds_left: float = 0.0  # of this stage
    measured: Measured | None = None  # done: what came of it


Tell: TypeAlias = Callable[[Status], None]
Layers: TypeAlias = Iterable[str | OutputLayer] | str | OutputLayer


def chosen_layers(layers: Layers = ()) -> dict[str, OutputLayer]:
    """Layers by what they are called.

    None given: all registered ones, with biases, the full softmax first as it is the measure of all.
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
        raise ConfigError(f"layers {', '.join(chosen)}: each can be given once")
    for layer in parsed:
        _refuse_files(layer)
    return chosen


def _refuse_files(layer: OutputLayer) -> None:
    """Line i of such a file is about id i, and nobody knows the ids before the text is split."""
    for setting in fields(layer):
        value = getattr(layer, setting.name)
        if isinstance(value, str) and value.startswith(FILE):
            raise ConfigError(
                f"{layer.name}:{setting.name}={value}: belongs to the ids of another vocabulary: "
                "a comparison counts words anew, in lines that it draws to train on; "
                f"leave {setting.name} out, or give one that is made from counts"
            )


def compare_outputs(
    source: Source, layers: Layers = (), *, settings: Settings | None = None, tell: Tell | None = None
) -> Comparison:
    """Train and measure every layer; a layer that fails says why, and Ctrl-C ends it with what there is.

    source      see `unhot.corpus.encode`
    layers      specs, or one; none: all that are registered, with biases
    tell        called with a `Status` now and then
    """
    settings, tell = settings or Settings(), tell or (lambda status: None)
    chosen = chosen_layers(layers)
    reading: dict[str, Any] = {
        name: getattr(settings, name) for name in ("tokenizer", "min_count", "max_vocab", "threads")
    }
    total = len(chosen) + settings.finds_exact()
    tell(Status(0, total, "", "reading"))
    with encode(source, **reading) as corpus:
        texts = split_text(corpus, settings.held_out, settings.held_out_words, settings.seed)
    exact: ExactSolution | None = None
    measured: list[Measured] = []
    interrupted = False
    with contextlib.ExitStack() as stack:
        stack.enter_context(texts.train)
        try:
            if settings.finds_exact():
                solving = exact_solution(settings, texts, partial(_tell_of, tell, (1, total, EXACT)))
                exact = stack.enter_context(solving)
                tell(Status(1, total, EXACT, "done", 0.0, exact.measured))
            for number, (name, layer) in enumerate(chosen.items(), 1 + settings.finds_exact()):
                told = partial(_tell_of, tell, (number, total, name))
                run = _LayerRun(name, layer, settings, texts, exact, told)
                measured.append(run.measure())
                tell(Status(number, total, name, "done", 0.0, measured[-1]))
                if run.interrupted:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:  # also between two layers
            interrupted = True
        return _comparison(settings, texts, exact, measured, interrupted)


def _tell_of(tell: Tell, at: tuple[int, int, str], stage: str, left: float = 0.0) -> None:
    tell(Status(*at, stage, left))


def _comparison(
    settings: Settings,
    texts: Texts,
    exact: ExactSolution | None,
    measured: Sequence[Measured],
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
        layers=tuple(measured),
        exact=exact.measured if exact else None,
        interrupted=interrupted,
    )


@dataclass
class _LayerRun:
    """One layer: its learning rate, its training, its figures."""

    name: str
    layer: OutputLayer
    settings: Settings
    texts: Texts
    exact: ExactSolution | None
    tell: Callable[..., None]  # called with a stage, and the seconds left of it
    curve: list[Point] = field(default_factory=list)
    lr: float = math.nan
    interrupted: bool = False

    def measure(self) -> Measured:
        """All there is to know; whatever goes wrong is written down."""
        begun: dict[str, Any] = {
            "layer": self.name,
            "spec": self.layer.spec(),
            "engine": self.settings.engine_of(self.layer),
        }
        try:
            with warnings.catch_warnings():
                # a rate that is too high ends in numbers that are not finite
                warnings.simplefilter("ignore", RuntimeWarning)
                return Measured(**begun, **self._figures())
        except KeyboardInterrupt:
            self.interrupted, why = True, "interrupted"
        # also a layer of somebody else's: one that fails must not cost the results of all others
        except Exception as error:
            why = reason(error)
        return Measured(**begun, curve=tuple(self.curve), failed=why)

    def _figures(self) -> dict[str, Any]:
        lr = self.settings.lr
        self._warm_up()
        first = word_models()[self.settings.model].default_lr
        model, watch = self._trained(lr) if lr else self._tuned(best_lr(self._tuning_loss, first))
        self.tell("evaluating")
        return {
            "lr": self.lr,
            "seconds": model.history.seconds,
            "pairs": model.history.pairs,
            "learned_bytes": learned_bytes(model.learned),
            "training_bytes": watch.memory,
            "result": held_out(model, self.texts.held_out),
            "curve": tuple(self.curve),
            "train_above": self.exact.above(model) if self.exact else math.nan,
        }

    def _warm_up(self) -> None:
        """Train a chunk and forget it: what is loaded and compiled for it must not be on the clock."""
        self.tell("preparing")
        model = self.settings.new_model(self.layer, SMALL_LR)
        for _ in train_for(model, self.texts.train, Stopwatch(MOMENT, lambda left: None), (1.0,)):
            pass

    def _tuned(self, lr: float) -> tuple[WordModel, Stopwatch]:
        """The whole training; at a lower rate if one that is good for a short training is too high for it."""
        for rung in range(RUNGS):
            try:
                return self._trained(lr * RUNG**-rung)
            except Diverged:
                pass
        return self._trained(lr * RUNG**-RUNGS)

    def _trained(self, lr: float) -> tuple[WordModel, Stopwatch]:
        """The whole training."""
        self.lr = lr
        self.curve.clear()
        model = self.settings.new_model(self.layer, lr)
        watch = Stopwatch(self.settings.seconds, partial(self.tell, "training"))
        for _ in train_for(model, self.texts.train, watch, LOOKS):
            loss = held_out(model, self.texts.curve).cross_entropy
            self.curve.append(Point(model.history.seconds, model.history.pairs, loss))
        return model, watch

    def _tuning_loss(self, lr: float) -> float:
        """What a short training at such a rate comes to, on lines of its own."""
        model = self.settings.new_model(self.layer, lr)
        watch = Stopwatch(TUNING_SHARE * self.settings.seconds, partial(self.tell, "tuning"))
        for _ in train_for(model, self.texts.train, watch, TUNING_LOOKS):
            pass
        return held_out(model, self.texts.tuning).cross_entropy
