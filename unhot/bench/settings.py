"""The settings that all layers of a comparison share: the model, the text, the time."""

from dataclasses import dataclass
from typing import Any, Literal

from unhot.errors import ConfigError, at_least, one_of, whole
from unhot.models.load import word_models
from unhot.models.word_model import WordModel
from unhot.outputs import OutputLayer, parse_output

EPOCHS = 1 << 30  # never reached: the clock ends the training


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings that all layers share."""

    model: str = "skipgram"  # skipgram | cbow
    dim: int = 100
    window: int = 5
    min_count: int = 5
    max_vocab: int = 10_000
    tokenizer: Any = "whitespace"
    held_out: float = 0.05  # share of the lines to hold out
    held_out_words: int = 100_000  # hold out at most about this many words
    minutes: float = 5.0  # of the whole comparison
    seconds: float | None = None  # training time of each layer; None: what the minutes allow
    lr: float | None = None  # the learning rate of all layers; None: the best of a few for each layer
    engine: Literal["auto", "compiled", "torch"] = "auto"  # auto: compiled if the layer has kernels
    threads: int = 2
    seed: int = 1
    force: bool = False  # read files even if they do not look like text
    exact: bool = True  # skipgram: find the exact solution first, and compare each layer with it

    def __post_init__(self) -> None:
        """Check the ranges."""
        one_of("model", self.model, tuple(word_models()))
        one_of("engine", self.engine, ("auto", "compiled", "torch"))
        at_least("minutes", self.minutes, 1e-3)
        if self.seconds is not None:
            at_least("seconds", self.seconds, 1e-3)
        if not isinstance(self.exact, bool):
            raise ConfigError(f"exact={self.exact!r}: must be true or false")
        whole("held_out_words", self.held_out_words, 1)
        if not 0 < at_least("held_out", self.held_out, 0) <= 0.5:
            raise ConfigError(
                f"held_out={self.held_out!r}: must be a share of the lines above 0 and at most 0.5"
            )
        self.new_model(parse_output("softmax"), self.lr)  # checks all other settings

    def finds_exact(self) -> bool:
        """Return whether the exact solution is wanted and available.

        Counts of pairs determine the loss of skip-gram, but not that of CBOW.
        """
        return self.exact and self.model == "skipgram"

    def engine_of(self, layer: OutputLayer) -> Literal["compiled", "torch"]:
        """Return the engine that trains a layer."""
        return self.engine if self.engine != "auto" else "compiled" if layer.compiled else "torch"

    def new_model(self, layer: OutputLayer, lr: float | None) -> WordModel:
        """Make a model to train until the clock stops it, with the windows and words of `held_out`."""
        shared = ("dim", "window", "min_count", "max_vocab", "threads", "seed")
        given: dict[str, Any] = {name: getattr(self, name) for name in shared}
        return word_models()[self.model](
            **given,
            output=layer,
            engine=self.engine_of(layer),
            lr=lr,
            epochs=EPOCHS,
            shrink=False,
            sample=0.0,
        )
