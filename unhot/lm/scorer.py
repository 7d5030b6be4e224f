"""Ask a model about texts: lines to words, words to log10 probabilities, on threads.

A model of a kind implements four methods: `score_ids`, `begin`, `advance` and `log10_all`. All else follows.
"""

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.reading.lexicon import add_words, spelt
from unhot.corpus.reading.scanner import WORDS, find_from, first_slot, new_table
from unhot.corpus.reading.sources import TextReader, lines_of
from unhot.corpus.reading.token_cuts import AHEAD, LINE_FEED, find_tokens, token_room
from unhot.corpus.reading.tokenizers import TEXT, Tokenizer, normalised, normaliser
from unhot.errors import DataError, FormatError, a_text, texts_of
from unhot.kernels.jit import kernel
from unhot.lines.line_rows import tokenize
from unhot.lines.predictor import TextBlock, block_of, text_blocks
from unhot.lm.symbols import UNKNOWN
from unhot.threads import in_order
from unhot.types import Doubles, Ids, Starts

PIECE = 1 << 17  # bytes of sentences from Python that a thread scores at once: few keep all threads busy
AT_ONCE = 1 << 14  # sentences that are taken from an iterable at once

OnBytes = Callable[[int, int | None], None]  # called with the bytes read, and their total if it is known


class TokenScore(NamedTuple):
    """A token of a sentence, or its end."""

    log10: float
    length: int  # the words of the n-gram that was found; 0: the model has no n-grams
    unknown: bool  # whether the word is not in the vocabulary


class Scored(NamedTuple):
    """Some lines with the log10 probability of each token."""

    log10: Doubles
    lengths: Any  # uint8
    sums: Doubles  # [lines, 5] tokens, unknown ones, those of probability zero, log10, that of known ones
    log_z: Doubles | None = None  # log of the sum of the model's own probabilities; None: they sum to one


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


class IdLines(NamedTuple):
    """Lines of ids, one behind the other, and what is around each line."""

    ids: Ids
    starts: Starts  # where each line begins, and the end of the last
    bos: bool = True  # the first word comes behind the beginning of a line
    eos: bool = True  # the end of a line is a token, too

    @property
    def sizes(self) -> Starts:
        """The tokens of each line."""
        return np.diff(self.starts) + self.eos

    def tokens(self, end: int) -> Ids:
        """Return the tokens of all lines; the end of a line has the id `end`."""
        if self.eos:
            return with_ends(self.ids, self.starts, end)
        return self.ids[self.starts[0] : self.starts[-1]]


def with_ends(ids: Ids, starts: Starts, end: int) -> Ids:
    """Return lines of ids with the id `end` behind each."""
    return np.insert(ids[starts[0] : starts[-1]], starts[1:] - starts[0], end).astype(np.int32)


def sums_of(targets: Ids, log10: Doubles, sizes: Starts) -> Doubles:
    """Return the sums of `Scored`, from all tokens with their ends, and the number of tokens of each line."""
    unknown, zero = targets == UNKNOWN, np.isneginf(log10)
    each = [np.ones(targets.size), unknown, zero, log10, np.where(unknown, 0.0, log10)]
    line = np.repeat(np.arange(sizes.size), sizes)
    return np.stack([np.bincount(line, part, sizes.size) for part in each], axis=1)


class Scorer(ABC):
    """The words of a model, and what it says about them."""

    end: int  # the id of `</s>`
    begin_id = (
        -1
    )  # the id of `<s>`, which is never predicted: written in a text, it is unknown; -1: it has none
    carries = False  # whether its state after a line is worth something in the next line

    def __init__(
        self, words: Sequence[str], *, tokenizer: Tokenizer = "whitespace", threads: int = 2
    ) -> None:
        """Take the words; `<unk>` is the first."""
        self.words = words
        self.tokenizer, self.threads = tokenizer, threads

    @abstractmethod
    def score_ids(self, lines: IdLines, tokens: bool = True, carried: list[Any] | None = None) -> Scored:
        """Score lines of ids; without `tokens`, only their sums.

        carried  None: each line is scored alone. A list: each line goes on from the one before it; what the
                 next call needs is put into the list, which is empty at first. Models that do not look beyond
                 a line ignore it.
        """

    @abstractmethod
    def begin(self, bos: bool = True) -> Any:
        """Return the state of an empty history, or of one that is the beginning of a line."""

    @abstractmethod
    def advance(self, state: Any, word: int) -> tuple[float, int, Any]:
        """Return log10 p(word | history), the length of the n-gram found, and the state after the word."""

    @abstractmethod
    def log10_all(self, state: Any) -> Doubles:
        """Return log10 p(word | history) of all words, by id; of words never predicted, -inf."""

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
        a_text("a sentence", text)
        if callable(self.tokenizer):
            return list(self.tokenizer(text))
        if normaliser(self.tokenizer).run is not None:
            text = normalised(text, self.tokenizer)
        return tokenize(text.replace("\n", " "))

    def cut(self, block: TextBlock) -> tuple[Ids, Starts]:
        """Return the ids of lines of bytes, and where each line begins."""
        normalise = normaliser("whitespace" if callable(self.tokenizer) else self.tokenizer)
        text, size = normalise(block.text, block.size, np.empty(0, np.uint8))
        ids, starts = np.empty(size // 2 + 1, np.int32), np.empty(block.lines + 1, np.int64)
        cut_lines(text, size, TEXT, self._table, *token_room(), ids, starts)
        ids = ids[: starts[-1]]
        ids[ids == self.begin_id] = UNKNOWN
        return ids, starts

    def over(
        self, blocks: Iterable[TextBlock], bos: bool = True, eos: bool = True, carry: bool = False
    ) -> Generator[Doubles, None, None]:
        """Yield the sums of blocks of lines, in order; on threads, unless each goes on from the last."""
        self._table  # noqa: B018 (made before threads start)
        carried: list[Any] | None = [] if carry and self.carries else None
        threads = self.threads if carried is None else 1

        def sums(block: TextBlock) -> Doubles:
            return self.score_ids(IdLines(*self.cut(block), bos, eos), False, carried).sums

        return in_order(blocks, sums, threads)

    def documents(self, texts: Sequence[str]) -> Doubles:
        """Return the sums of many texts over their lines, each of which is a sentence: [texts, 5]."""
        lines = [text.removesuffix("\n").split("\n") for text in texts_of("documents", texts)]
        sums = self.sentences([line for each in lines for line in each])
        starts = np.cumsum([0, *map(len, lines)])[:-1]
        return np.add.reduceat(sums, starts) if lines else sums

    def sentences(self, texts: Sequence[str], bos: bool = True, eos: bool = True) -> Doubles:
        """Return the sums of many sentences: [sentences, 5], see `Scored`."""
        found = list(self.over(self._blocks_of(texts_of("sentences", texts)), bos, eos))
        return np.concatenate(found) if found else np.zeros((0, 5))

    def sentence(self, text: str, bos: bool = True, eos: bool = True) -> list[TokenScore]:
        """Return the score of each token of a sentence."""
        ids = self.ids(self.tokens(text))
        found = self.score_ids(IdLines(ids, np.array([0, ids.size]), bos, eos))
        unknown = [*(ids == UNKNOWN).tolist(), False]
        return [
            TokenScore(log10, length, new)
            for log10, length, new in zip(found.log10.tolist(), found.lengths.tolist(), unknown, strict=False)
        ]

    def ids(self, words: Iterable[str]) -> Ids:
        """Return the ids of words; that of `<unk>` for unknown ones."""
        index = self.index
        ids = np.array([index.get(word, UNKNOWN) for word in words], np.int32)
        ids[ids == self.begin_id] = UNKNOWN
        return ids

    def perplexity(
        self,
        source: Any,
        *,
        column: str | None = None,
        bos: bool = True,
        eos: bool = True,
        carry: bool = True,
        force: bool = False,
        progress: OnBytes | None = None,
        **how: Any,
    ) -> Perplexity:
        """Return how well the model predicts a text: files, or an iterable of strings or of token lists.

        With `carry`, a neural model goes on from line to line; otherwise it begins each line anew. Models of
        n-grams always do the latter. See `blocks` for the other arguments.
        """
        blocks = self.blocks(source, column, force, progress, **how)
        parts = [total(sums) for sums in self.over(blocks, bos, eos, carry)]
        return Perplexity(*(sum(values) for values in zip(*parts, total(np.zeros((0, 5))), strict=True)))

    def blocks(
        self,
        source: Any,
        column: str | None = None,
        force: bool = False,
        progress: OnBytes | None = None,
        strict: bool = False,
        tell: Callable[[str], None] = lambda line: None,
        **form: Any,
    ) -> Iterator[TextBlock]:
        """Yield the lines of a text as blocks.

        strict  raise a `DataError` at the first bad row of a table
        tell    called with lines about which files are tables, and about bad rows
        form    kind, header, separator: see `unhot.corpus.encode`
        """
        reader = TextReader(source, None, column, strict=strict, force=force, **form)
        if reader.items is not None:
            yield from self._blocks_of(reader.items)
            return
        if reader.token_lists:
            raise DataError(f"column {column!r} holds lists of tokens: give a column of strings")
        for raw in reader.blocks():
            if callable(self.tokenizer):
                yield from self._blocks_of(lines_of(raw))
            else:
                yield block_of(raw, raw.count(b"\n"))
            if progress is not None:
                progress(*reader.progress())
        for line in (*reader.rows.recognized, *reader.rows.lines()):
            tell(line)

    def _blocks_of(self, sentences: Iterable[Any]) -> Iterator[TextBlock]:
        """Yield sentences, strings or lists of tokens, as blocks."""
        some = iter(sentences)
        while held := list(islice(some, AT_ONCE)):
            yield from text_blocks([self._line(sentence) for sentence in held], PIECE)

    def _line(self, sentence: Any) -> str:
        """Return a sentence as words with spaces between them, or as the tokenizer of its bytes takes it."""
        if not isinstance(sentence, str):
            return " ".join(texts_of("a sentence", sentence))
        return " ".join(self.tokenizer(sentence)) if callable(self.tokenizer) else sentence


@kernel
def cut_lines(
    text: Any, size: Any, rows: Any, words: Any, token: Any, keys: Any, ids: Any, starts: Any
) -> Any:
    """Write the ids of the words of lines, and where each line begins; return the number of lines."""
    line = np.int64(0)
    n = np.int64(0)
    start = -1
    starts[0] = 0
    for base in range(0, size, AHEAD):
        tokens, start = find_tokens(text, base, size, rows, start, words, token, keys)
        for i in range(tokens):
            at, length = token[i, 0], token[i, 1]
            if length == LINE_FEED:
                line += 1
                starts[line] = n
            else:
                found, _ = find_from(words, text, at, length, keys[i], first_slot(words, keys[i]))
                ids[n] = max(found, UNKNOWN)
                n += 1
    return line
