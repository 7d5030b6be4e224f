"""Ask a model about texts: lines to words, words to log10 probabilities, on threads."""

import functools
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.reading.cuts import LINES
from unhot.corpus.reading.files import FileReader
from unhot.corpus.reading.lexicon import add_words, spelt
from unhot.corpus.reading.scanner import WORDS, new_table
from unhot.corpus.reading.sources import paths_of
from unhot.corpus.reading.token_cuts import token_room
from unhot.corpus.reading.tokenizers import TEXT, Tokenizer, normalised, normaliser
from unhot.errors import DataError, FormatError
from unhot.lines.line_rows import tokenize
from unhot.lines.predictor import TextBlock, block_of, is_short, text_blocks
from unhot.ngrams.asking import (
    LANES,
    State,
    advance_one,
    begin_one,
    cut_lines,
    new_state,
    score_lines,
    score_words,
)
from unhot.ngrams.symbols import BEGIN, UNKNOWN
from unhot.tables.text_lines import line_blocks
from unhot.threads import in_order
from unhot.types import Doubles, Ids, Starts
from unhot.vocab.vocabulary import decode_word

PIECE = 1 << 17  # bytes of sentences from Python that a thread scores at once: few keep all threads busy
AT_ONCE = 1 << 14  # sentences that are taken from an iterable at once

OnBytes = Callable[[int, int | None], None]  # called with the bytes read, and their total if it is known


class TokenScore(NamedTuple):
    """A token of a sentence, or its end."""

    log10: float
    length: int  # the words of the n-gram that was found
    unknown: bool  # whether the word is not in the vocabulary


class Scored(NamedTuple):
    """Some lines with the log10 probability of each token."""

    log10: Doubles
    lengths: Any  # uint8
    sums: Doubles  # [lines, 5] tokens, unknown ones, those of probability zero, log10, that of known ones


class Perplexity(NamedTuple):
    """How well a model predicts a text."""

    lines: int
    tokens: int  # words, and the ends of lines
    unknown: int  # words that are not in the vocabulary
    zero: int  # tokens of probability zero
    log10: float
    log10_without_unknown: float

    @property
    def perplexity(self) -> float:
        """10^(-log10 p / tokens)."""
        return _perplexity(self.log10, self.tokens)

    @property
    def perplexity_without_unknown(self) -> float:
        """The same of all tokens that are in the vocabulary."""
        return _perplexity(self.log10_without_unknown, self.tokens - self.unknown)

    @property
    def bits(self) -> float:
        """The cross-entropy of a token in bits: its mean length in a code made from the model."""
        return math.log2(self.perplexity) if self.tokens else math.nan

    def as_json(self) -> dict[str, float]:
        """Return all figures."""
        names = ("perplexity", "perplexity_without_unknown", "bits")
        return {**self._asdict(), **{name: getattr(self, name) for name in names}}


def _perplexity(log10: float, tokens: int) -> float:
    if not tokens:
        return math.nan
    try:
        return float(10 ** (-log10 / tokens))
    except OverflowError:
        return math.inf


def total(sums: Doubles) -> Perplexity:
    """Return the perplexity of lines, from their sums."""
    tokens, unknown, zero, log10, known = sums.sum(axis=0).tolist()
    return Perplexity(len(sums), int(tokens), int(unknown), int(zero), log10, known)


class Scorer:
    """The words of a model, and the model in a form that kernels read."""

    def __init__(
        self, words: Sequence[str], model: Any, *, tokenizer: Tokenizer = "whitespace", threads: int = 2
    ) -> None:
        """Take the words and a `Trie` or another type that the generics of asking.py know."""
        self.words, self.model = words, model
        self.tokenizer, self.threads = tokenizer, threads

    @functools.cached_property
    def index(self) -> dict[str, int]:
        """Word -> id."""
        found = {word: number for number, word in enumerate(self.words)}
        self._refuse_twice(len(found))
        return found

    @functools.cached_property
    def _table(self) -> Any:
        text, offsets = spelt(self.words)
        table = new_table(max(1, len(self.words)), max(1, text.size))
        table = add_words(table, text, offsets, np.ones(len(self.words), np.int64))[0]
        self._refuse_twice(int(table.state[WORDS]))
        return table

    def _refuse_twice(self, different: int) -> None:
        """Raise a `FormatError` unless all words are different: ids would be those of others."""
        if different != len(self.words):
            raise FormatError(
                f"a language model: only {different} of its {len(self.words)} words are different; the file "
                "is damaged, get or make it again"
            )

    def tokens(self, text: str) -> list[str]:
        """Split a text into words."""
        if callable(self.tokenizer):
            return list(self.tokenizer(text))
        if normaliser(self.tokenizer) is not None:
            text = normalised(text, self.tokenizer)
        return tokenize(text.replace("\n", " "))

    def score_ids(self, ids: Ids, starts: Starts, bos: bool, eos: bool, tokens: bool = True) -> Scored:
        """Score lines of ids; without `tokens`, only their sums."""
        size = int(starts[-1] - starts[0]) + (starts.size - 1 if eos else 0) if tokens else 0
        prob, lengths = np.empty(size), np.empty(size, np.uint8)
        sums, number = np.zeros((starts.size - 1, 5)), min(LANES, max(1, starts.size - 1))
        state, lanes = new_state(self.model.order, number), np.zeros((number, 4), np.int64)
        score_lines(self.model, ids, starts, bos, eos, state, lanes, prob, lengths, sums)
        return Scored(prob, lengths, sums)

    def score_block(self, block: TextBlock, bos: bool, eos: bool) -> Doubles:
        """Return the sums of lines of bytes."""
        text, size = block.text, block.size
        how = None if callable(self.tokenizer) else normaliser(self.tokenizer)
        if how is not None:
            text, size = how(text, size, np.empty(0, np.uint8))
        ids, starts = np.empty(size // 2 + 1, np.int32), np.empty(block.lines + 1, np.int64)
        cut_lines(text, size, TEXT, self._table, *token_room(), ids, starts)
        return self.score_ids(ids[: starts[-1]], starts, bos, eos, tokens=False).sums

    def over(
        self, blocks: Iterable[TextBlock], bos: bool = True, eos: bool = True
    ) -> Generator[Doubles, None, None]:
        """Yield the sums of blocks of lines, in order, on threads."""
        self._table  # noqa: B018 (made before threads start)
        return in_order(blocks, lambda block: self.score_block(block, bos, eos), self.threads)

    def sentences(self, texts: Sequence[str], bos: bool = True, eos: bool = True) -> Doubles:
        """Return the sums of many sentences: [sentences, 5], see `Scored`."""
        if callable(self.tokenizer):
            texts = [self._line(text) for text in texts]
        found = list(self.over(text_blocks(texts, PIECE), bos, eos))
        return np.concatenate(found) if found else np.zeros((0, 5))

    def sentence(self, text: str, bos: bool = True, eos: bool = True) -> list[TokenScore]:
        """Return the score of each token of a sentence."""
        ids = self.ids(self.tokens(text))
        found = self.score_ids(ids, np.array([0, ids.size]), bos, eos)
        unknown = [*(ids == UNKNOWN).tolist(), False]
        return [
            TokenScore(log10, length, new)
            for log10, length, new in zip(found.log10.tolist(), found.lengths.tolist(), unknown, strict=False)
        ]

    def ids(self, words: Iterable[str]) -> Ids:
        """Return the ids of words; that of `<unk>` for unknown ones."""
        index = self.index
        return np.array([index.get(word, UNKNOWN) if is_short(word) else UNKNOWN for word in words], np.int32)

    def perplexity(
        self,
        source: Any,
        *,
        column: str | None = None,
        bos: bool = True,
        eos: bool = True,
        force: bool = False,
        progress: OnBytes | None = None,
    ) -> Perplexity:
        """Return how well the model predicts a text: files, or an iterable of strings or of token lists."""
        blocks = self.blocks(source, column, force, progress)
        parts = [total(sums) for sums in self.over(blocks, bos, eos)]
        return Perplexity(*(sum(values) for values in zip(*parts, total(np.zeros((0, 5))), strict=True)))

    def blocks(
        self, source: Any, column: str | None = None, force: bool = False, progress: OnBytes | None = None
    ) -> Iterator[TextBlock]:
        """Yield the lines of a text as blocks."""
        paths = paths_of(source)
        if paths is None:
            yield from self._blocks_of(source)
            return
        reader = FileReader(paths, LINES, column, True, force)
        if reader.token_lists:
            raise DataError(f"column {column!r} holds lists of tokens: give a column of strings")
        for raw in line_blocks(reader):
            if callable(self.tokenizer):
                yield from self._blocks_of(decode_word(raw).split("\n")[:-1])
            else:
                yield block_of(raw, raw.count(b"\n"))
            if progress is not None:
                progress(*reader.progress())

    def _blocks_of(self, sentences: Iterable[Any]) -> Iterator[TextBlock]:
        """Yield sentences, strings or lists of tokens, as blocks."""
        some = iter(sentences)
        while held := list(islice(some, AT_ONCE)):
            yield from text_blocks([self._line(sentence) for sentence in held], PIECE)

    def _line(self, sentence: Any) -> str:
        """Return a sentence as words with spaces between them, or as the tokenizer of its bytes takes it."""
        if not isinstance(sentence, str):
            return " ".join(sentence)
        return " ".join(self.tokenizer(sentence)) if callable(self.tokenizer) else sentence

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
