"""How well a language model predicts a text, in detail: by frequency, by log Z, by characters.

perplexity of a band = exp(-mean of log p over the tokens whose word occurs so often in the training text)
log Z = log of the sum of the model's own probabilities of all words; 0: they sum to one
own perplexity = exp(-mean of (log p + log Z)): what the model believes without normalising
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import DataError
from unhot.lm.language_model import LanguageModel
from unhot.lm.scorer import IdLines, OnBytes, Perplexity, total
from unhot.lm.symbols import UNKNOWN
from unhot.types import Counts, Doubles, Ids

LN10 = math.log(10)
EDGES = (10, 100, 1_000, 10_000)  # counts at which bands begin


class FrequencyBand(NamedTuple):
    """Tokens whose words are about equally frequent."""

    name: str
    tokens: int
    perplexity: float


@dataclass(frozen=True)
class LanguageFigures:
    """All figures of a model on a text."""

    result: Perplexity
    bands: tuple[FrequencyBand, ...]  # from rare to frequent; none if the counts of words are not known
    log_z_mean: float  # 0 for models that are normalised
    log_z_variance: float
    own_perplexity: float  # without normalising
    characters: int

    @property
    def bits_per_character(self) -> float:
        """The cross-entropy of a character: the ends of lines and the spaces count as characters."""
        return -self.result.log10 * math.log2(10) / self.characters if self.characters else math.nan

    def as_json(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        names = ("log_z_mean", "log_z_variance", "own_perplexity", "characters", "bits_per_character")
        bands = {band.name: {"tokens": band.tokens, "perplexity": band.perplexity} for band in self.bands}
        return {**self.result.as_json(), **{name: getattr(self, name) for name in names}, "bands": bands}


def measure_language(
    model: LanguageModel,
    source: Any,
    *,
    counts: Counts | None = None,
    carry: bool = True,
    column: str | None = None,
    force: bool = False,
    progress: OnBytes | None = None,
    **how: Any,
) -> LanguageFigures:
    """Measure a model on a text: files, or an iterable of sentences.

    counts  how often each word of the model occurs in the training text; None: as the model says
    carry   let a neural model go on from line to line
    """
    scorer = model.scorer
    counts = _counts(model) if counts is None else counts
    carried: list[Any] | None = [] if carry and scorer.carries else None
    sums, characters = np.zeros((0, 5)), 0
    tokens: list[Ids] = [np.zeros(0, np.int32)]
    logs, norms = [np.zeros(0)], [np.zeros(0)]
    for block in scorer.blocks(source, column, force, progress, **how):
        lines = IdLines(*scorer.cut(block))
        scored = scorer.score_ids(lines, True, carried)
        tokens.append(lines.tokens(scorer.end))
        logs.append(scored.log10 * LN10)
        norms.append(np.zeros(scored.log10.size) if scored.log_z is None else scored.log_z)
        sums = np.concatenate([sums, scored.sums])
        characters += int(np.count_nonzero(block.text[: block.size] & 0xC0 != 0x80))
    log_p, log_z = np.concatenate(logs), np.concatenate(norms)
    if not log_p.size:
        raise DataError("the text has no lines: there is nothing to measure")
    return LanguageFigures(
        total(sums),
        bands_of(np.concatenate(tokens), log_p, counts),
        float(log_z.mean()),
        float(log_z.var()),
        _exp(-float((log_p + log_z).mean())),
        characters,
    )


def bands_of(tokens: Ids, log_p: Doubles, counts: Counts) -> tuple[FrequencyBand, ...]:
    """Return the perplexity of each band of tokens; no bands if no word has a count."""
    if not counts.any():
        return ()
    seen = np.where(tokens == UNKNOWN, 0, counts[tokens])
    number = np.where(tokens == UNKNOWN, 0, 1 + np.searchsorted(EDGES, seen, side="right"))
    found = []
    ranges = [f"{low:,}-{high - 1:,}" for low, high in itertools.pairwise((1, *EDGES))]
    for band, name in enumerate(("unknown", *ranges, f"{EDGES[-1]:,}+")):
        own = log_p[number == band]
        if own.size:
            found.append(FrequencyBand(name, own.size, _exp(-float(own.mean()))))
    return tuple(found)


def _counts(model: LanguageModel) -> Counts:
    """Return the counts of the scorer's words; zeros if the model has none."""
    vocabulary = getattr(model, "vocabulary", None)
    words = model.scorer.words
    if vocabulary is None:
        return np.zeros(len(words), np.int64)
    index = vocabulary.index
    return np.array([vocabulary.counts[index[word]] if word in index else 0 for word in words], np.int64)


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf
