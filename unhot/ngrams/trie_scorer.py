"""Ask an n-gram model: the compiled functions of asking.py behind the methods of a scorer."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unhot.corpus.reading.tokenizers import Tokenizer
from unhot.lm.scorer import IdLines, Scored, Scorer
from unhot.ngrams.asking import LANES, State, advance_one, begin_one, new_state, score_lines, score_words
from unhot.ngrams.symbols import BEGIN, END
from unhot.types import Doubles


class TrieScorer(Scorer):
    """The words of a model, and the model in a form that kernels read."""

    end, begin_id = END, BEGIN

    def __init__(
        self, words: Sequence[str], model: Any, *, tokenizer: Tokenizer = "whitespace", threads: int = 2
    ) -> None:
        """Take the words and a `Trie` or another type that the generics of asking.py know."""
        super().__init__(words, tokenizer=tokenizer, threads=threads)
        self.model = model

    def score_ids(self, lines: IdLines, tokens: bool = True, carried: list[Any] | None = None) -> Scored:
        """Score lines of ids, each alone; without `tokens`, only their sums."""
        size = int(lines.sizes.sum()) if tokens else 0
        prob, lengths = np.empty(size), np.empty(size, np.uint8)
        rows = lines.starts.size - 1
        sums, number = np.zeros((rows, 5)), min(LANES, max(1, rows))
        state, lanes = new_state(self.model.order, number), np.zeros((number, 4), np.int64)
        score_lines(self.model, *lines, state, lanes, prob, lengths, sums)
        return Scored(prob, lengths, sums)

    def begin(self, bos: bool = True) -> State:
        """Return the state of an empty history, or of one that is `<s>`."""
        state = new_state(self.model.order)
        if bos:
            begin_one(self.model, state)
        return state

    def advance(self, state: State, word: int) -> tuple[float, int, State]:
        """Return log10 p(word | history), the length of the n-gram found, and the state after the word."""
        after = State(state.chain.copy(), state.ends.copy(), state.backoffs.copy(), state.size.copy())
        log10, length = advance_one(self.model, after, word)
        return log10, length, after

    def log10_all(self, state: State) -> Doubles:
        """Return log10 p(word | history) of all words, by id; of `<s>`, which is never predicted, -inf."""
        both = State(*(np.repeat(part, 2, axis=0) for part in state))  # type: ignore[arg-type]
        prob = np.empty(len(self.words))
        score_words(self.model, both, prob)
        prob[BEGIN] = -np.inf
        return prob
