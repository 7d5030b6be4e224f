"""What every language model can be asked, whatever it was made from."""

from collections.abc import Sequence
from typing import Any

from unhot.corpus.reading.tokenizers import NAMES, Tokenizer
from unhot.errors import ConfigError
from unhot.lm import sampling
from unhot.lm.sampling import WordProbability
from unhot.lm.scorer import Perplexity, Scorer, TokenScore
from unhot.probability import bits, entropy
from unhot.types import Doubles


def check_tokenizer(tokenizer: Tokenizer) -> None:
    """Raise a `ConfigError` if a tokenizer is only the name of a function."""
    if isinstance(tokenizer, str) and tokenizer not in NAMES:
        raise ConfigError(
            f"this model was trained with the function {tokenizer} as its tokenizer, and a saved "
            "model has only its name: set model.tokenizer to that function first"
        )


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
        return sampling.after(self.scorer, context, bos)

    def advance(self, state: Any, word: str) -> tuple[TokenScore, Any]:
        """Return the score of a word after a state, and the state after the word."""
        (number,) = self.scorer.ids([word]).tolist()
        log10, length, following = self.scorer.advance(state, number)
        return TokenScore(log10, length, number == 0), following

    def next_words(self, context: str = "", k: int = 10, bos: bool = True) -> list[WordProbability]:
        """Return the k most likely words after a context, with their probabilities."""
        return sampling.next_words(self.scorer, context, k, bos)

    def entropy(self, context: str = "", bos: bool = True) -> float:
        """Return the entropy of the next word after a context, in bits.

        It is the mean length of the shortest code for the next word, up to less than one bit.
        """
        p = 10.0 ** self.scorer.log10_all(self.state(context, bos))
        return float(bits(entropy(p / p.sum())))

    def generate(self, context: str = "", **how: Any) -> str:
        """Return a sentence drawn from the model; see `sampling.generate` for the other arguments."""
        return sampling.generate(self.scorer, context, **how)


class AskedModel(LanguageModel):
    """A model that can only be asked."""

    def __init__(self, scorer: Scorer) -> None:
        """Take what answers."""
        self.answers = scorer
