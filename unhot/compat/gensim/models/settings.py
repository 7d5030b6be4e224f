"""Translate gensim's parameters into settings of unhot, and back.

    sg = 1, 0               SkipGram, CBOW
    hs = 1, negative = 0    output = hierarchical
    hs = 0, negative = k    output = negative:k=k,power=ns_exponent
    alpha                   lr = alpha; for CBOW with the mean, lr = 4 alpha

In CBOW with the mean of m context vectors, the true gradient of each is divided by m. gensim leaves the
division out, so its rate is in effect m times as high. unhot divides; so a rate given here counts 4 times.
"""

from collections.abc import Callable
from typing import Any

from unhot.errors import ConfigError, at_least, whole
from unhot.models.cbow import CBOW
from unhot.models.settings import SMALLEST_LR, WHOLE, limits_of
from unhot.models.skipgram import SkipGram
from unhot.models.word_model import WordModel
from unhot.outputs import OutputLayer

MEAN_RATE = 4.0  # of unhot's rate for CBOW with the mean to gensim's alpha
LOWEST_SHARE = 0.1  # a last rate below this share of the first one counts as nearly zero
USUAL_LAST_RATE = 0.0001  # gensim's default, which the user did not choose
HIERARCHICAL, NEGATIVE = "hierarchical", "negative"
NAMES = {"dim": "vector_size", "threads": "workers"}  # unhot's setting -> gensim's name, if they differ


def output_spec(hs: int, negative: int, ns_exponent: float) -> str:
    """Return the output layer; raise a `ConfigError` if the parameters ask for two layers or none."""
    if hs and negative:
        raise ConfigError(
            f"hs={hs}, negative={negative}: a model can have only one output layer; "
            "add negative=0 for hierarchical softmax, or hs=0 for negative sampling"
        )
    if not hs and not negative:
        raise ConfigError("hs=0, negative=0: nothing would be learned; set negative=5, or hs=1")
    return HIERARCHICAL if hs else f"{NEGATIVE}:k={negative},power={ns_exponent}"


def rate_factor(sg: int, cbow_mean: int) -> float:
    """Return the factor that turns alpha into unhot's rate."""
    return 1.0 if sg or not cbow_mean else MEAN_RATE


def check_ranges(settings: dict[str, Any], alpha: float, max_final_vocab: int | None) -> None:
    """Raise a `ConfigError`, with gensim's name, if a parameter is out of range."""
    at_least("alpha", alpha, SMALLEST_LR)
    if max_final_vocab is not None:
        whole("max_final_vocab", max_final_vocab, 1)
    for field in WHOLE:
        low, high = limits_of(WordModel, field)
        whole(NAMES.get(field, field), settings[field], low, high)


def check_last_rate(name: str, last: float, first: float) -> None:
    """Raise a `ConfigError` if the last rate is not small.

    In unhot the rate falls to nearly 0 in each training.
    """
    if last > LOWEST_SHARE * first and last != USUAL_LAST_RATE:
        raise ConfigError(
            f"{name}={last}: the rate falls from {first} to nearly 0 within one call of train; "
            "instead of a loop over train, call it once with all epochs, and leave the last rate out"
        )


def check_unsupported(trim_rule: Callable[..., int] | None) -> None:
    """Raise a `ConfigError` for a parameter that unhot does not support."""
    if trim_rule is not None:
        raise ConfigError(
            "trim_rule: not supported; count the words, drop those you do not want, "
            "and call build_vocab_from_freq with a mapping word -> count"
        )


def gensim_settings(model: WordModel) -> dict[str, Any]:
    """Return the parameters of `Word2Vec` for a model of unhot."""
    # only the `combine` of CBOW is about the words of a window
    sg, mean = int(isinstance(model, SkipGram)), int(not isinstance(model, CBOW) or model.combine == "mean")
    return {
        "vector_size": model.dim,
        "alpha": model.first_lr / rate_factor(sg, mean),
        "window": model.window,
        "min_count": model.min_count,
        "max_final_vocab": model.max_vocab,
        "sample": model.sample,
        "seed": model.seed,
        "workers": model.threads,
        "sg": sg,
        "cbow_mean": mean,
        "epochs": model.epochs,
        "shrink_windows": model.shrink,
        **_layer_settings(model.layer),
    }


def _layer_settings(layer: OutputLayer) -> dict[str, Any]:
    """Return `hs`, `negative` and `ns_exponent` for an output layer.

    A layer that gensim does not have is described as negative sampling, the nearest one.
    """
    if layer.name == HIERARCHICAL:
        return {"hs": 1, "negative": 0}
    return {"negative": layer.draws() or 5, "ns_exponent": getattr(layer, "power", 0.75)}
