"""Linear mixtures of language models: p(w | before) = sum over models i of weight_i p_i(w | before).

The models may have different words. A word that a model lacks is one of the words that its `<unk>` stands
for: it gets an even share of p_i(<unk>), so the mixture sums to one over the words of all models.

The weights are learned by expectation and maximisation, on a text that no model was trained on:

    r_i(t) = weight_i p_i(t) / sum over j of weight_j p_j(t),   weight_i = mean over the tokens t of r_i(t)
"""

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from unhot.errors import ConfigError, DataError, FormatError
from unhot.lm.language_model import LanguageModel
from unhot.lm.scorer import IdLines, Scored, Scorer, sums_of
from unhot.lm.symbols import BEGIN_WORD, STREAM_END, STREAM_SYMBOLS, UNKNOWN
from unhot.models.fitting import AtOnce, Begins, FitState, Reads, Tells
from unhot.models.learned_words import under
from unhot.models.model import MODELS, Model, model
from unhot.train.history import History
from unhot.types import Doubles, Ids
from unhot.vectors.formats.directory import SavedModel
from unhot.vocab.vocabulary import Vocabulary, joined_words, split_words

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
        # for each model, its ids of all words, and log10 of the share of p(<unk>) that each word gets
        self.own = [
            np.array([scorer.index.get(word, UNKNOWN) for word in words], np.int32) for scorer in scorers
        ]
        unknown = [ids == UNKNOWN for ids in self.own]
        self.shares = [np.where(lacks, -np.log10(lacks.sum()), 0.0) for lacks in unknown]

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


SHORT = 0.01  # weights may miss one by so much


class LearnedMixture(NamedTuple):
    """The models of a mixture."""

    in_vocabulary: Vocabulary
    out_vocabulary: Vocabulary
    models: Sequence[Model[Any, Any]]

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return the words, counts and tensors of all models, each under its number."""
        found: dict[str, Any] = {}
        for number, learned in enumerate(each.learned for each in self.models):
            words = learned.in_vocabulary
            text, starts = joined_words(words.words)
            own = {"words": text, "starts": starts, "counts": words.counts, **learned.tensors(complete=True)}
            found |= {f"{number}.{name}": tensor for name, tensor in own.items()}
        return found

    def facts(self) -> dict[str, Any]:
        """Return the settings of all models."""
        return {"models": [{**each.config(), **each.learned.facts()} for each in self.models]}


@model("mixture", family="")
@dataclasses.dataclass(kw_only=True)
class Mixture(LanguageModel, Model[LearnedMixture, Any]):
    """Some language models, and how much each counts."""

    weights: Any = ()  # one for each model; together they are one

    use = "try: unhot lm generate {0}, or unhot lm perplexity {0} TEXT"

    @classmethod
    def of(cls, models: Sequence[LanguageModel], source: Any, *, carry: bool = True) -> Self:
        """Mix models with the weights that suit a text best; no model should have seen the text."""
        for each in models:
            if not isinstance(each, Model):
                raise ConfigError(
                    "a binary file of KenLM can be asked, but not saved in a mixture: give the ARPA file "
                    "that it was made from"
                )
        if len(models) < 2:
            raise ConfigError(f"a mixture of {len(models)} model: give two or more")
        even = np.full(len(models), 1 / len(models))
        scorer = MixtureScorer([each.scorer for each in models], even)
        carried: list[Any] | None = [] if carry else None
        blocks = map(scorer.cut, scorer.blocks(source))
        parts = [scorer.each(IdLines(*block), carried)[1] for block in blocks]
        weights = learned_weights(np.concatenate(parts, axis=1))
        mixture = cls(weights=[float(weight) for weight in weights])
        mixture.fit_state = FitState(
            _learned([each for each in models if isinstance(each, Model)]), History()
        )
        return mixture

    def prepare(self, reads: Reads, begins: Begins, tells: Tells) -> contextlib.AbstractContextManager[Any]:
        """Raise a `ConfigError`: the models are trained, not the mixture."""
        raise ConfigError("a mixture is made of trained models: use Mixture.of, or unhot lm mix")

    def training(self, data: Any, begins: Begins, tells: Tells) -> AtOnce[LearnedMixture]:
        """Never called, because there is no input."""
        raise NotImplementedError

    def make_answers(self, learned: LearnedMixture) -> MixtureScorer:
        """Return what asks all models."""
        scorers = [each.scorer for each in learned.models if isinstance(each, LanguageModel)]
        return MixtureScorer(scorers, np.array(self.weights), threads=self.threads)

    def restore(self, saved: SavedModel) -> LearnedMixture:
        """Make all models again."""
        configs = saved.config.get("models")
        if not isinstance(configs, list) or not _fit(self.weights, len(configs)):
            raise FormatError(
                f"a mixture: weights={self.weights!r:.80}: not one for each model; it is damaged"
            )
        models: list[Model[Any, Any]] = []
        for number, config in enumerate(configs):
            kind = MODELS.get(str(config.get("model"))) if isinstance(config, dict) else None
            own = under(saved.tensors, f"{number}.")
            if (
                kind is None
                or not issubclass(kind, LanguageModel)
                or not {"words", "starts", "counts"} <= {*own}
                or own["counts"].dtype != np.int64
            ):
                raise FormatError(f"a mixture: its model {number} is damaged, or of a kind that is not known")
            words = split_words(own.pop("words"), own.pop("starts"))
            vocabulary = Vocabulary(words, np.array(own.pop("counts"), np.int64))
            models.append(MODELS[config["model"]].from_saved(SavedModel(config, vocabulary, own)))
        return _learned(models)


def _fit(weights: Any, models: int) -> bool:
    """Return whether weights are numbers >= 0 for so many models, and together one."""
    if not isinstance(weights, list) or len(weights) != models or models < 2:
        return False
    numbers: Doubles = np.array([w if isinstance(w, float) else -1.0 for w in weights])
    return bool((numbers >= 0).all()) and abs(float(numbers.sum()) - 1) < SHORT


def _learned(models: Sequence[Model[Any, Any]]) -> LearnedMixture:
    """Return the models, with the words of all of them, each with its largest count."""
    counts: dict[str, int] = {}
    for each in models:
        vocabulary = each.learned.in_vocabulary
        for word, count in zip(vocabulary.words, vocabulary.counts.tolist(), strict=True):
            counts[word] = max(count, counts.get(word, 0))
    words = Vocabulary(list(counts), np.array(list(counts.values()), np.int64))
    return LearnedMixture(words, words, models)
