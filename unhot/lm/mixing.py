"""Linear mixtures of language models: p(w | before) = sum over models i of weight_i p_i(w | before).

The models may have different words. A word that a model lacks is one of the words that its `<unk>` stands
for: it gets an even share of p_i(<unk>), so the mixture sums to one over the words of all models.

The weights are learned by expectation and maximisation, on a text that no model was trained on:

    r_i(t) = weight_i p_i(t) / sum over j of weight_j p_j(t),   weight_i = mean over the tokens t of r_i(t)
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unhot.errors import DataError
from unhot.lm.scorer import IdLines, Scored, Scorer, sums_of
from unhot.lm.symbols import BEGIN_WORD, STREAM_END, STREAM_SYMBOLS, UNKNOWN
from unhot.types import Doubles, Ids

STEPS, ENOUGH = 1000, 1e-9  # the most steps of EM, and the change of weights that ends it


class MixtureScorer(Scorer):
    """Asks several models, and mixes their answers."""

    end = STREAM_END

    def __init__(self, scorers: Sequence[Scorer], weights: Doubles, *, threads: int = 2) -> None:
        """Take the models, and how much each counts; lines are cut as the first one cuts them."""
        everything = dict.fromkeys(word for scorer in scorers for word in scorer.words)
        words = [*STREAM_SYMBOLS]
        words += [word for word in everything if word not in (*STREAM_SYMBOLS, BEGIN_WORD)]
        self.scorers, self.carries = scorers, any(scorer.carries for scorer in scorers)
        # PyTorch has threads of its own
        super().__init__(words, tokenizer=scorers[0].tokenizer, threads=1 if self.carries else threads)
        with np.errstate(divide="ignore"):  # a model may have no weight
            self.log_weights = np.log10(weights)
        self.own: list[Ids] = []  # for each model, its ids of all words
        self.shares: list[Doubles] = []  # log10 of the share of p(<unk>) that each word gets
        for scorer in scorers:
            ids = np.array([scorer.index.get(word, UNKNOWN) for word in words], np.int32)
            self.own.append(ids)
            self.shares.append(np.where(ids == UNKNOWN, -np.log10((ids == UNKNOWN).sum()), 0.0))

    def each(self, lines: IdLines, carried: list[Any] | None = None) -> tuple[Ids, Doubles]:
        """Return all tokens of lines, and their log10 probabilities under each model: [models, tokens]."""
        targets = lines.tokens(STREAM_END)
        if carried is not None and not carried:
            carried += [[] for _ in self.scorers]
        found = []
        for number, scorer in enumerate(self.scorers):
            state = None if carried is None else carried[number]
            scored = scorer.score_ids(lines._replace(ids=self.own[number][lines.ids]), True, state)
            found.append(scored.log10 + self.shares[number][targets])
        return targets, np.stack(found)

    def score_ids(self, lines: IdLines, tokens: bool = True, carried: list[Any] | None = None) -> Scored:
        """Score lines of ids under all models, and mix."""
        targets, log10 = self.each(lines, carried)
        mixed = self._mixed(log10)
        sums = sums_of(targets, mixed, lines.sizes)
        return Scored(mixed, np.zeros(targets.size, np.uint8), sums)

    def _mixed(self, log10: Doubles) -> Doubles:
        """Return the mixture of log10 probabilities [models, ...]."""
        weighted = log10 + self.log_weights.reshape(-1, *(1,) * (log10.ndim - 1))
        best = np.maximum(weighted.max(axis=0), np.finfo(np.float64).min)
        with np.errstate(divide="ignore"):  # no model may give it a probability
            mixed: Doubles = best + np.log10((10.0 ** (weighted - best)).sum(axis=0))
        return mixed

    def begin(self, bos: bool = True) -> list[Any]:
        """Return the state of each model."""
        return [scorer.begin(bos) for scorer in self.scorers]

    def advance(self, state: list[Any], word: int) -> tuple[float, int, list[Any]]:
        """Return log10 p(word | history), the longest n-gram that a model found, and the next states."""
        both = zip(self.scorers, state, self.own, strict=True)
        found = [scorer.advance(own, int(ids[word])) for scorer, own, ids in both]
        log10 = np.array([each[0] for each in found]) + [share[word] for share in self.shares]
        length = max(each[1] for each in found)
        return float(self._mixed(log10)), length, [each[2] for each in found]

    def log10_all(self, state: list[Any]) -> Doubles:
        """Return log10 p(word | history) of all words."""
        both = zip(self.scorers, state, self.own, self.shares, strict=True)
        return self._mixed(np.stack([scorer.log10_all(own)[ids] + share for scorer, own, ids, share in both]))


def learned_weights(log10: Doubles) -> Doubles:
    """Return the weights with which models [models, tokens] predict the tokens best together."""
    some = log10[:, np.isfinite(log10.max(axis=0))]
    if not some.size:
        raise DataError("no token of the text has a probability under any of the models: give other text")
    p = 10.0 ** (some - some.max(axis=0))
    weights = np.full(len(p), 1 / len(p))
    for _ in range(STEPS):
        shares = weights[:, None] * p
        new = (shares / shares.sum(axis=0)).mean(axis=1)
        if np.abs(new - weights).max() < ENOUGH:
            break
        weights = new
    return weights
