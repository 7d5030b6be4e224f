"""What every language model can be asked, whatever it was made from: scores, next words, drawn sentences."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.reading.tokenizers import NAMES, Tokenizer
from unhot.errors import ConfigError, a_text, at_least, whole
from unhot.largest import largest
from unhot.lm.scorer import Perplexity, Scorer, TokenScore
from unhot.lm.symbols import UNKNOWN
from unhot.probability import bits, entropy, gumbel_max
from unhot.types import Doubles

LN10 = math.log(10)


def check_tokenizer(tokenizer: Tokenizer) -> None:
    """Raise a `ConfigError` if a tokenizer is only the name of a function."""
    if isinstance(tokenizer, str) and tokenizer not in NAMES:
        raise ConfigError(
            f"this model was trained with the function {tokenizer} as its tokenizer, and a saved "
            "model has only its name: set model.tokenizer to that function first"
        )


class WordProbability(NamedTuple):
    """A word that may come next."""

    word: str
    probability: float


class LanguageModel:
    """Answers questions about sentences; all logarithms have base 10."""

    answers: Scorer  # what does the work

    @property
    def scorer(self) -> Scorer:
        """What answers all questions."""
        return self.answers

    def score(self, sentence: str, bos: bool = True, eos: bool = True) -> float:
        """Return log10 of the probability of a sentence.

        With `bos` the first word comes after `<s>`; with `eos` the sentence ends with `</s>`.
        """
        return sum(token.log10 for token in self.scorer.sentence(sentence, bos, eos))

    def full_scores(self, sentence: str, bos: bool = True, eos: bool = True) -> list[TokenScore]:
        """Return for each token: log10 p, the words of the n-gram that was found, whether it is unknown."""
        return self.scorer.sentence(sentence, bos, eos)

    def scores(self, sentences: Sequence[str], bos: bool = True, eos: bool = True) -> Doubles:
        """Return log10 of the probability of each sentence; many are scored on threads.

        A line feed inside a sentence is white space; `document_scores` takes each line as a sentence.
        """
        return self.scorer.sentences(sentences, bos, eos)[:, 3]

    def document_scores(self, documents: Sequence[str]) -> Doubles:
        """Return log10 of the probability of each document: the sum over its lines."""
        return self.scorer.documents(documents)[:, 3]

    def perplexity(self, source: Any, **how: Any) -> Perplexity:
        """Return how well the model predicts a text: files, or an iterable of sentences.

        See `Scorer.perplexity` for the other arguments.
        """
        return self.scorer.perplexity(source, **how)

    def state(self, context: str = "", bos: bool = True) -> Any:
        """Return the state after some words, to go on from with `advance`."""
        state = self.scorer.begin(bos)
        for word in self.scorer.ids(self.scorer.tokens(context)).tolist():
            state = self.scorer.advance(state, word)[2]
        return state

    def advance(self, state: Any, word: str) -> tuple[TokenScore, Any]:
        """Return the score of a word after a state, and the state after the word."""
        (number,) = self.scorer.ids([a_text("a word", word)]).tolist()
        log10, length, following = self.scorer.advance(state, number)
        return TokenScore(log10, length, number == 0), following

    def next_words(self, context: str = "", k: int = 10, bos: bool = True) -> list[WordProbability]:
        """Return the k most likely words after a context, with their probabilities."""
        whole("k", k, 1)
        log10 = self.scorer.log10_all(self.state(context, bos))
        best = largest(log10, k)
        with np.errstate(over="ignore"):  # a damaged file may have weights of any size
            p = 10.0 ** log10[best]
        return [
            WordProbability(self.scorer.words[i], each)
            for i, each in zip(best.tolist(), p.tolist(), strict=True)
        ]

    def entropy(self, context: str = "", bos: bool = True) -> float:
        """Return the entropy of the next word after a context, in bits.

        It is the mean length of the shortest code for the next word, up to less than one bit.
        """
        p = 10.0 ** self.scorer.log10_all(self.state(context, bos))
        return float(bits(entropy(p / p.sum())))

    def generate(
        self,
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
        state, drawn = self.state(context), self.scorer.tokens(context)
        for _ in range(words):
            scores = LN10 * self.scorer.log10_all(state)
            scores[UNKNOWN] = -np.inf
            if not np.isfinite(scores.max()):
                break
            word = int(gumbel_max(restricted(scores, top_k, top_p), rng, temperature))
            if word == self.scorer.end:
                break
            drawn.append(self.scorer.words[word])
            state = self.scorer.advance(state, word)[2]
        return " ".join(drawn)


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


class AskedModel(LanguageModel):
    """A model that can only be asked."""

    def __init__(self, scorer: Scorer) -> None:
        """Take what answers."""
        self.answers = scorer
