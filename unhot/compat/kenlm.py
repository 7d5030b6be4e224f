"""The names of KenLM's Python module: change `import kenlm` to `import unhot.compat.kenlm as kenlm`.

`Model` opens ARPA files, compressed or not, KenLM's binary files of the probing kind, and folders of unhot.
"""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from unhot.errors import FormatError
from unhot.models.load import load_language_model
from unhot.ngrams.asking import State as Chain
from unhot.ngrams.trie_scorer import TrieScorer


class LoadMethod:
    """How KenLM loads a file; unhot always maps it."""

    LAZY, POPULATE_OR_LAZY, POPULATE_OR_READ, READ, PARALLEL_READ = range(5)


class ARPALoadComplain:
    """What KenLM complains about in ARPA files; unhot complains about errors."""

    ALL, EXPENSIVE, NONE = range(3)


class Config:
    """Settings of KenLM, with its defaults, which have no effect here."""

    show_progress = True
    arpa_complain = ARPALoadComplain.ALL
    load_method = LoadMethod.POPULATE_OR_READ


class FullScoreReturn(NamedTuple):
    """The score of a word, the words of the n-gram that was found, and whether the word is unknown."""

    log_prob: float
    ngram_length: int
    oov: bool


class State:
    """A history to go on from."""

    def __init__(self) -> None:
        """Make a state for `BeginSentenceWrite`, `NullContextWrite` or `BaseScore` to write to."""
        self.chain: Chain | None = None

    def _key(self) -> tuple[Any, ...]:
        if self.chain is None:
            return ()
        length = int(self.chain.size[0, 0])
        parts = (self.chain.chain, self.chain.ends, self.chain.backoffs)
        return (length, *(tuple(part[0, :length].tolist()) for part in parts))

    def __eq__(self, other: object) -> bool:
        """Return whether all words have the same scores after both."""
        return isinstance(other, State) and self._key() == other._key()

    def __hash__(self) -> int:
        """Return equal numbers for equal states."""
        return hash(self._key())


class Model:
    """A language model."""

    def __init__(self, path: str | os.PathLike[str], config: Config | None = None) -> None:
        """Open a file or a folder."""
        self.path = os.fsdecode(os.path.abspath(os.fspath(path)))  # noqa: PTH100
        self._model = load_language_model(self.path)
        if not isinstance(self._model.scorer, TrieScorer):
            raise FormatError(f"{self.path}: is not an n-gram model; use unhot.load_language_model")
        self._order = int(self._model.scorer.model.order)

    @property
    def order(self) -> int:
        """The number of words of the longest n-grams."""
        return self._order

    def score(self, sentence: str, bos: bool = True, eos: bool = True) -> float:
        """Return log10 of the probability of a sentence of words with spaces between them."""
        return self._model.score(sentence, bos, eos)

    def perplexity(self, sentence: str) -> float:
        """Return the perplexity of a sentence, with its end."""
        return float(10 ** (-self.score(sentence) / (len(sentence.split()) + 1)))

    def full_scores(
        self, sentence: str, bos: bool = True, eos: bool = True
    ) -> Iterator[tuple[float, int, bool]]:
        """Yield for each word log10 p, the words of the n-gram that was found, and whether it is unknown."""
        yield from map(tuple, self._model.full_scores(sentence, bos, eos))

    def BeginSentenceWrite(self, state: State) -> None:  # noqa: N802
        """Make a state that of the history `<s>`."""
        state.chain = self._model.state()

    def NullContextWrite(self, state: State) -> None:  # noqa: N802
        """Make a state that of an empty history."""
        state.chain = self._model.state(bos=False)

    def BaseScore(self, in_state: State, word: str, out_state: State) -> float:  # noqa: N802
        """Return log10 p of a word after a state, and make the other state the one after the word."""
        return self.BaseFullScore(in_state, word, out_state).log_prob

    def BaseFullScore(self, in_state: State, word: str, out_state: State) -> FullScoreReturn:  # noqa: N802
        """Do the same, and also return the words of the n-gram found and whether the word is unknown."""
        chain = self._model.state(bos=False) if in_state.chain is None else in_state.chain
        token, out_state.chain = self._model.advance(chain, word)
        return FullScoreReturn(*token)

    def __contains__(self, word: str) -> bool:
        """Return whether a word is known."""
        return self._model.scorer.index.get(word, 0) != 0

    def __repr__(self) -> str:
        """Show the file."""
        return f"<Model from {os.path.basename(self.path)}>"  # noqa: PTH119

    def __reduce__(self) -> tuple[type["Model"], tuple[str]]:
        """Pickle the path alone."""
        return Model, (self.path,)


LanguageModel = Model  # the older name
