"""The next words of a language model, and sentences drawn from it."""

import math
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import ConfigError, at_least, whole
from unhot.largest import largest
from unhot.lm.scorer import Scorer
from unhot.lm.symbols import UNKNOWN
from unhot.probability import gumbel_max
from unhot.types import Doubles

LN10 = math.log(10)


class WordProbability(NamedTuple):
    """A word that may come next."""

    word: str
    probability: float


def after(scorer: Scorer, context: str, bos: bool = True) -> Any:
    """Return the state after the words of a context."""
    state = scorer.begin(bos)
    for word in scorer.ids(scorer.tokens(context)).tolist():
        state = scorer.advance(state, word)[2]
    return state


def next_words(scorer: Scorer, context: str, k: int, bos: bool = True) -> list[WordProbability]:
    """Return the k most likely words after a context, the most likely first."""
    whole("k", k, 1)
    log10 = scorer.log10_all(after(scorer, context, bos))
    best = largest(log10, k)
    with np.errstate(over="ignore"):  # a damaged file may have weights of any size
        p = 10.0 ** log10[best]
    return [WordProbability(scorer.words[i], each) for i, each in zip(best.tolist(), p.tolist(), strict=True)]


def restricted(scores: Doubles, top_k: int | None, top_p: float | None) -> Doubles:
    """Return scores with -inf for all but the `top_k` best, or the fewest best of probability `top_p`."""
    order = largest(scores, top_k if top_p is None else None)
    keep = scores.size if top_k is None else top_k
    if top_p is not None:
        p = np.exp(scores[order] - scores.max())
        keep = min(keep, int(np.searchsorted(np.cumsum(p / p.sum()), top_p)) + 1)
    out = np.full_like(scores, -np.inf)
    out[order[:keep]] = scores[order[:keep]]
    return out


def generate(
    scorer: Scorer,
    context: str = "",
    *,
    words: int = 100,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | None = None,
) -> str:
    """Draw words until a line ends, at most `words`; return them behind the context.

    temperature  above 1: more surprising, below 1: less, 0: always the most likely word
    top_k        draw from that many words, the most likely ones
    top_p        draw from the fewest words that have this probability together
    seed         the same seed draws the same words

    Unknown words are never drawn.
    """
    whole("words", words, 1)
    at_least("temperature", temperature, 0)
    if top_k is not None:
        whole("top_k", top_k, 1)
    if top_p is not None and not 0 < at_least("top_p", top_p, 0) <= 1:
        raise ConfigError(f"top_p={top_p}: must be above 0 and at most 1")
    rng = np.random.default_rng(seed)
    state, drawn = after(scorer, context), scorer.tokens(context)
    for _ in range(words):
        scores = LN10 * scorer.log10_all(state)
        scores[UNKNOWN] = -np.inf
        if not np.isfinite(scores.max()):
            break
        word = int(gumbel_max(restricted(scores, top_k, top_p), rng, temperature))
        if word == scorer.end:
            break
        drawn.append(scorer.words[word])
        state = scorer.advance(state, word)[2]
    return " ".join(drawn)
