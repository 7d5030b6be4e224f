"""Mixtures of language models, with weights that are learned from a text; see `unhot/lm/mixing.py`."""

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from unhot.errors import ConfigError, FormatError
from unhot.lm.language_model import LanguageModel
from unhot.lm.mixing import MixtureScorer, learned_weights
from unhot.lm.scorer import IdLines
from unhot.models.fitting import Begins, Reads, Tells
from unhot.models.learned_words import under
from unhot.models.model import MODELS, Model, model
from unhot.models.state import AtOnce, FitState
from unhot.train.history import History
from unhot.types import Doubles
from unhot.vectors.formats.directory import SavedModel
from unhot.vocab.vocabulary import Vocabulary, joined_words, split_words

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
