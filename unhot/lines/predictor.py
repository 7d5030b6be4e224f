"""Predict the labels of lines: a few in plain Python, many in compiled code on threads.

Loading the compiler takes longer than a few lines in Python, so the first lines of a process go through
line_rows.py. Many lines go through line_sums.py, in blocks of about a megabyte. If scores
belong to labels, and one label is asked for, compiled code also finds that label (`find_best`); all else goes
through choosing.py.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.reading.separators import PADDING
from unhot.corpus.reading.tokenizers import TEXT, normalised, normaliser
from unhot.errors import a_text
from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.jit import inner, kernel
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.simd.ranges import exponentials, largest, score_all
from unhot.kernels.simd.tiles import Shape, shape
from unhot.lines.choosing import Chosen, LabelScorer, check_asked, choose
from unhot.lines.line_rows import LineRows, tokenize
from unhot.lines.line_sums import (
    LineModel,
    LineScratch,
    line_kernel,
    line_scratch,
    line_settings,
    line_tables,
)
from unhot.threads import in_order
from unhot.types import Bytes, Doubles, Floats
from unhot.vocab.subwords import LINE_END
from unhot.vocab.vocabulary import encode_word

FEW = 1 << 14  # bytes of text that are not worth loading compiled code for
BLOCK = 1 << 20  # bytes of text that a thread reads at a time
AT_ONCE = 1 << 20  # probabilities in memory at once

Tokenizer = str | Callable[[str], Iterable[str]]


class TextBlock(NamedTuple):
    """Some lines as bytes, each with a line feed, with slack behind them for vector code."""

    text: Bytes
    size: int
    lines: int


class LinePredictor:
    """A model that gives labels to lines."""

    def __init__(
        self, model: LineModel, scorer: LabelScorer, tokenizer: Tokenizer = "whitespace", threads: int = 2
    ) -> None:
        self.model, self.scorer = model, scorer
        self._tokenizer, self.threads = tokenizer, threads
        self._free: list[LineScratch] = []  # buffers that no thread uses

    @functools.cached_property
    def lines(self) -> LineRows:
        """The same words and rows in plain Python."""
        index = {word: id for id, word in enumerate(self.model.words)}
        return LineRows(
            index, self.model.rows, self.model.longest, {}, self.model.prefix, self.model.distinct
        )

    def predict(self, texts: Sequence[str], k: int = 1, threshold: float = 0.0) -> Chosen:
        """Return the best labels of texts: at most k (-1: all), with probabilities from `threshold` on."""
        check_asked(k, threshold)
        parts = self.over(texts, lambda hidden, squares: self.choose(hidden, squares, k, threshold))
        return joined(list(parts))

    def probabilities(self, texts: Sequence[str]) -> Doubles:
        """Return the probabilities of all labels: [texts, labels]."""
        return self.scored(texts, self.scorer.probabilities)

    def scored(self, texts: Sequence[str], of: Callable[[Floats], Doubles]) -> Doubles:
        """Return numbers for all texts and labels, which `of` makes of the vectors of lines."""
        dim = self.model.rows.dim
        parts = self.over(texts, lambda hidden, _: of(hidden[:, :dim]))
        return np.concatenate([np.zeros((0, self.scorer.labels)), *parts])

    def choose(self, hidden: Floats, squares: Floats, k: int, threshold: float) -> Chosen:
        """Return the best labels of lines with these vectors; a line without a row gets none."""
        dim, at_once = self.model.rows.dim, max(1, AT_ONCE // max(1, self.scorer.labels))
        if k == 1 and self.scorer.plain is not None and hidden.shape[1] > dim:  # padded by compiled code
            best, found = self._best(hidden)
            enough = (found >= threshold) & (squares > 0)
            starts = np.append(0, np.cumsum(enough))
            return Chosen(starts, best[enough], found[enough].astype(np.float64) + self.scorer.floor)
        parts = [
            choose(self.scorer, hidden[first : first + at_once, :dim], k, threshold)
            for first in range(0, len(hidden), at_once)
        ]
        chosen = joined(parts)
        lines = np.repeat(np.arange(len(hidden)), np.diff(chosen.starts))
        there = squares[lines] > 0
        counts = np.bincount(lines[there], minlength=len(hidden))
        starts = np.append(0, np.cumsum(counts))
        return Chosen(starts, chosen.labels[there], chosen.probabilities[there])

    def over(self, texts: Sequence[str], work: Callable[[Floats, Floats], Any]) -> Iterator[Any]:
        """Yield work(vectors, squared weights) for the texts, some lines at a time, in their order."""
        few = sum(map(len, texts[: FEW + 1])) <= FEW and len(texts) <= FEW
        if callable(self._tokenizer) or (few and "_compiled" not in self.__dict__):
            at_once = max(1, AT_ONCE // max(1, self.scorer.labels))
            for first in range(0, len(texts), at_once):
                yield work(*self._in_python(texts[first : first + at_once]))
            return
        yield from self.over_blocks(text_blocks(texts), work)

    def over_blocks(
        self, blocks: Iterable[TextBlock], work: Callable[[Floats, Floats], Any]
    ) -> Iterator[Any]:
        """Yield work(vectors, squared weights) for blocks of lines, in order, on threads."""
        self.compile()
        return in_order(blocks, lambda block: work(*self.sums(block)), self.threads)

    def compile(self) -> None:
        """Compile the kernels, or load them, and make the tables; this is done once, before threads start."""
        self._compiled  # noqa: B018

    def hidden(self, words: Sequence[str]) -> tuple[Floats, float]:
        """Return the vector of a line of words, and the sum of its squared weights."""
        rows = self.lines.rows(words)
        taken, weights = self.model.rows.take(rows), np.ones(rows.size, np.float32)
        if self.model.weights.size:
            weights = self.model.weights[rows]
        squares = float(np.square(weights, dtype=np.float64).sum())
        share = squares**-self.model.power if squares else 1.0
        return (np.float32(share) * (weights @ taken)).astype(np.float32), squares

    def words_of(self, text: str) -> list[str]:
        """Return the words of a text, with the end of the line, as the model's tokenizer splits it."""
        a_text("a text", text)
        if callable(self._tokenizer):
            tokens = [token for token in self._tokenizer(text) if token]
        elif self._tokenizer == "whitespace":
            tokens = tokenize(text.replace("\n", " "))
        else:
            tokens = tokenize(normalised(text, self._tokenizer))
        index, prefix = self.lines.index, self.model.prefix
        words = (word for word in tokens if word in index or not word.startswith(prefix))
        return [*words, LINE_END]

    def _in_python(self, texts: Sequence[str]) -> tuple[Floats, Floats]:
        found = [self.hidden(self.words_of(text)) for text in texts]
        dim = self.model.rows.dim
        hidden = np.array([vector for vector, _ in found], np.float32).reshape(len(found), dim)
        return hidden, np.array([squares for _, squares in found], np.float32)

    @functools.cached_property
    def _compiled(self) -> Any:
        """The kernel, its tables and its settings."""
        tables = line_tables(self.model)
        end = self.lines.index.get(LINE_END)
        stride = tables.matrix.shape[1]
        assert isinstance(self._tokenizer, str)
        return (
            line_kernel(shape(stride)),
            tables,
            line_settings(self.model, end),
            TEXT,
            normaliser(self._tokenizer),
        )

    def sums(self, block: TextBlock) -> tuple[Floats, Floats]:
        """Return the vectors of a block's lines, and their sums of squared weights."""
        sum_all, tables, settings, separators, normalise = self._compiled
        text, size = normalise(block.text, block.size, np.empty(0, np.uint8))
        scratch = self._free.pop() if self._free else line_scratch(settings, tables)
        if scratch.marked.size < size + 2:  # a whole block may be one word
            scratch = scratch._replace(marked=np.empty(size + 2, np.uint8))
        hidden, squares = (
            aligned_zeros((block.lines, tables.matrix.shape[1])),
            np.zeros(block.lines, np.float32),
        )
        sum_all(text, size, separators, tables, settings, scratch, hidden, squares)
        self._free.append(scratch)
        return hidden, squares

    def _best(self, hidden: Floats) -> tuple[Any, Floats]:
        """Return the best label of each line and its probability, without the floor."""
        out_vectors, plain = self._out_vectors, self.scorer.plain
        assert plain is not None
        best, found = np.zeros(len(hidden), np.int32), np.zeros(len(hidden), np.float32)
        scores = aligned_zeros(len(plain.bias) + 2 * LANES)
        later = self.scorer.later_first
        find = best_kernel(shape(hidden.shape[1]))
        find(hidden, out_vectors, plain.bias, plain.softmax, later, scores, best, found)
        return best, found

    @functools.cached_property
    def _out_vectors(self) -> Floats:
        """The output rows, padded as the vectors of lines are."""
        assert self.scorer.plain is not None
        rows, stride = self.scorer.plain.out_vectors, self._compiled[1].matrix.shape[1]
        padded: Floats = aligned_zeros((len(rows), stride))
        padded[:, : rows.shape[1]] = rows
        return padded


def text_blocks(texts: Sequence[str], block: int = BLOCK) -> Iterator[TextBlock]:
    """Yield texts in blocks of about `block` bytes; a line feed inside a text becomes a space."""
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
    last = int(ends[-1]) if len(texts) else 0
    cuts = np.searchsorted(ends, np.arange(block, last, block)) + 1
    for first, end in pairwise(np.unique([0, *cuts, len(texts)]).tolist()):
        joined = "\n".join(texts[first:end])
        if joined.count("\n") != end - first - 1:
            joined = "\n".join([line.replace("\n", " ") for line in texts[first:end]])
        yield block_of(encode_word(joined + "\n"), end - first)


def block_of(raw: bytes, lines: int) -> TextBlock:
    """Return lines of bytes as a block."""
    return TextBlock(np.frombuffer(bytearray(raw + bytes(PADDING)), np.uint8), len(raw), lines)


def joined(parts: Sequence[Chosen]) -> Chosen:
    """Return the labels of several blocks of lines as those of one."""
    if not parts:
        return Chosen(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
    ends = np.cumsum([0, *(part.starts[-1] for part in parts)])
    starts = [part.starts[1:] + end for part, end in zip(parts, ends, strict=False)]
    return Chosen(
        np.concatenate([np.zeros(1, np.int64), *starts]),
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.probabilities for part in parts]),
    )


@inner
def find_best(
    shape: Any, hidden: Any, out_vectors: Any, bias: Any, softmax: Any, later: Any, scores: Any, best: Any,
    probability: Any,
) -> None:  # fmt: skip
    """Write the best label of each line and its probability; of equal scores, the first or the `later`.

    The probability of a score s is exp(s) / sum of exp(s) with `softmax`, otherwise sigmoid(s).
    """
    rows = bias.size
    for line in range(best.size):
        score_all(shape, hidden, line, out_vectors, rows, scores)
        for row in range(rows):
            scores[row] += bias[row]
        top = largest(scores, rows)
        found = 0
        for row in range(rows):
            if scores[row] == top:
                found = row
                if not later:
                    break
        best[line] = found
        if softmax:
            probability[line] = np.float32(1.0) / exponentials(scores, rows, top)
        else:
            probability[line] = np.float32(1.0) / (np.float32(1.0) + np.exp(-top))


@functools.cache
def best_kernel(shape: Shape) -> Any:
    """Return `find_best` as a kernel whose length of rows is a constant."""

    @kernel
    def find_all(
        hidden: Any, out_vectors: Any, bias: Any, softmax: Any, later: Any, scores: Any, best: Any,
        probability: Any,
    ) -> None:  # fmt: skip
        find_best(shape, hidden, out_vectors, bias, softmax, later, scores, best, probability)

    return find_all
