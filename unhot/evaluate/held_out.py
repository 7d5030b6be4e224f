"""Held-out loss: how well a model with any output layer predicts a text that it was not trained on.

    cross entropy = -1/N sum over the N examples of log P(target | h),   perplexity = exp(cross entropy)

P is normalised exactly, over the whole vocabulary, whatever the training loss of the layer was
(`Head.log_prob`), so all layers can be compared. An example of skip-gram is a pair: a word predicts a centre
near it. An example of CBOW is a centre that the words around it predict together. log Z is the log of the sum
of the layer's own estimates of the probabilities. It is zero if the layer is normalised; otherwise its mean
and variance over the examples show how far the layer is from that.

Words that are not in the vocabulary are removed before windows are formed. By default every word counts and
every window has its full size (`shrink=False, sample=0`), whatever the training did. So the result depends
only on model and text, not on random draws.

Equal pairs of skip-gram are scored once, and all targets of an input share one hidden vector. Each centre of
CBOW with at least one context has one hidden vector, made from all its contexts.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import encode
from unhot.corpus.reading.sources import Source
from unhot.corpus.reading.tokenizers import Tokenizer
from unhot.errors import ConfigError, DataError, at_least, whole
from unhot.evaluate.figures import Figures, Progress
from unhot.kernels.window_lists import WindowList, list_windows, window_buffer
from unhot.kernels.windows import Window
from unhot.models.word_answers import WordInputs
from unhot.models.word_model import WordModel
from unhot.train.chunked_text import ChunkedText
from unhot.train.schedule import chunks_of_size
from unhot.types import Counts, Doubles, Floats, Ids
from unhot.vocab.subsampling import keep_probability
from unhot.vocab.vocabulary import Vocabulary

CONTEXTS = 1 << 22  # contexts that are paired at a time
DISTINCT = 1 << 23  # different pairs that are collected before they are scored
PAIRS = 1 << 18  # pairs scored at a time
FLOATS = 1 << 23  # numbers in the context vectors that are combined at a time
SCORES = 1 << 26  # scores between two calls of progress


@dataclass(frozen=True, kw_only=True)
class HeldOut(Figures):
    """The loss of a text, and how it was measured; `str` describes the measurement."""

    model: str
    together: bool = False  # whether the words around a centre predict it together (CBOW)
    output: str  # the layer's spec
    vocabulary: int
    window: int
    shrink: bool
    sample: float
    tokenizer: str
    seed: int
    words: int  # tokens read
    unknown: int  # tokens that are not in the vocabulary
    pairs: int  # number of examples (input, target)
    cross_entropy: float  # nats per pair
    log_z_mean: float  # mean over the examples
    log_z_variance: float  # variance over the examples

    @property
    def bits(self) -> float:
        """The cross entropy in bits per pair."""
        return self.cross_entropy / math.log(2)

    @property
    def perplexity(self) -> float:
        """exp(cross entropy): this many equally likely words would be as hard to predict."""
        return math.exp(self.cross_entropy) if self.cross_entropy < 709 else math.inf  # above, exp overflows

    def __str__(self) -> str:
        """Describe how the loss was measured."""
        who = (
            "the words around a centre together predict it"
            if self.together
            else "each word around a centre predicts it"
        )
        reach = (
            f"a reach drawn from 1 to {self.window}" if self.shrink else f"a fixed window of {self.window}"
        )
        draws = "no sub-sampling" if self.sample == 0 else f"sub-sampling at {self.sample:g}"
        seed = f" (seed {self.seed})" if self.shrink or self.sample else ""
        share = self.unknown / self.words
        return (
            f"{self.model} with {self.output}: {who}, with {reach} words to each side, cut at the ends of "
            f"lines, and {draws}{seed}; "
            f"{self.unknown:,} of {self.words:,} words ({share:.2%}) are not in the vocabulary and were "
            "removed before windows "
            f"were formed; tokenizer {self.tokenizer}; probabilities are normalised over all "
            f"{self.vocabulary:,} words."
        )


def held_out(
    model: WordModel,
    source: Source,
    *,
    window: int | None = None,
    shrink: bool = False,
    sample: float = 0.0,
    tokenizer: Tokenizer | None = None,
    seed: int = 1,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda line: None,
    **reading: Any,
) -> HeldOut:
    """Compute the exact cross entropy of a text under a trained model.

    source      the text, see `unhot.corpus.encode`
    window      words to each side of a centre; None: the model's window
    shrink      draw each centre's reach from 1 .. window
    sample      threshold of sub-sampling, by the model's counts; 0: no sub-sampling
    tokenizer   None: the model's tokenizer
    seed        seed of the draws of shrink and sample
    progress    called now and then with "reading", "pairing" or "scoring", the work done and its total (None
                if unknown)
    say         called with lines about which files are tables, and about bad rows
    reading     column, kind, strict and force, see `unhot.corpus.encode`

    >>> from unhot import SkipGram
    >>> model = SkipGram(dim=4, min_count=1, epochs=1, sample=0, output="softmax").fit([["a", "b", "c"]])
    >>> result = held_out(model, [["a", "b", "x", "c"]], window=1)
    >>> result.pairs, result.unknown, round(result.perplexity)
    (4, 1, 3)
    """
    if not isinstance(model, WordModel):
        raise ConfigError(
            f"the model has type {type(model).__name__}: only models that predict words have a held-out loss"
        )
    vocabulary = model.learned.in_vocabulary
    reach = Window(whole("window", model.window if window is None else window, 1, 10_000), bool(shrink))
    sample, seed = at_least("sample", sample, 0), whole("seed", seed, 0, 2**64 - 1)
    tokenizer = model.tokenizer if tokenizer is None else tokenizer
    tell = progress or (lambda stage, done, total: None)
    with _encode(source, vocabulary, tokenizer, model.threads, tell, reading) as corpus:
        for line in corpus.report.said:
            say(line)
        loss = _loss(
            model, HeldOutText(corpus, reach, keep_probability(vocabulary.counts, sample), seed), tell
        )
        words, unknown = corpus.words, corpus.words - corpus.ids
    if not loss.pairs:
        raise DataError(
            f"the text of {words:,} words, {unknown:,} of them not in the vocabulary, has no pairs: no line "
            "has two known words; "
            "give more text, check the tokenizer, or join lines"
        )
    return HeldOut(
        model=model.name,
        together=model.wiring().combine is not None,
        output=model.layer.spec(),
        vocabulary=len(vocabulary),
        window=reach.size,
        shrink=reach.shrink,
        sample=sample,
        tokenizer=tokenizer
        if isinstance(tokenizer, str)
        else getattr(tokenizer, "__name__", type(tokenizer).__name__),
        seed=seed,
        words=words,
        unknown=unknown,
        pairs=loss.pairs,
        cross_entropy=loss.total / loss.pairs,
        log_z_mean=loss.mean,
        log_z_variance=loss.squares / loss.pairs,
    )


def _encode(
    source: Source,
    vocabulary: Vocabulary,
    tokenizer: Tokenizer,
    threads: int,
    tell: Progress,
    reading: Mapping[str, Any],
) -> Corpus:
    """Encode the text with the ids of the model."""
    # `encode` orders a given vocabulary by counts and drops words with count 0: with falling counts, every
    # word keeps its id
    ranks = {word: len(vocabulary) - i for i, word in enumerate(vocabulary.words)}
    corpus = encode(
        source,
        counts=ranks,
        min_count=1,
        tokenizer=tokenizer,
        threads=threads,
        progress=lambda done, total: tell("reading", done, total),
        **reading,
    )
    if corpus.vocabulary.words != vocabulary.words:
        corpus.close()
        raise DataError(
            "the model's vocabulary has an empty word, or a word twice: such a model has no held-out loss"
        )
    return corpus


class HeldOutText(NamedTuple):
    """A held-out text, and how its windows are formed."""

    corpus: Corpus
    window: Window
    keep: Doubles  # probability that sub-sampling keeps each word
    seed: int


class HeldOutExamples(NamedTuple):
    """Hidden vectors, and the targets that each must predict."""

    hidden: Floats  # [inputs, dim]
    bias: Doubles  # [inputs] added to all scores of an input
    which: Ids  # [pairs] the hidden vector of each pair, rising
    targets: Ids  # [pairs]
    times: Counts  # [pairs] how often each pair occurs


def read_windows(text: HeldOutText, room: int) -> Iterator[tuple[WindowList, int]]:
    """Yield the windows of a text, and how many of its positions are done.

    Each item has about `room` contexts, whatever the size of the window.
    """
    size = max(1, room // (2 * text.window.size))
    chunks = chunks_of_size(text.corpus.shards, size)
    chunked = ChunkedText(text.corpus, text.keep, text.seed, chunks)
    shards, buffer = chunked.texts(), window_buffer(chunked.longest, text.window.size)
    for chunk in chunks:
        where = chunked.where(0, chunk)
        windows = list_windows(shards[chunk.shard], text.window, where, buffer)
        yield windows, chunk.done + chunk.stop - chunk.start


def each_alone(text: HeldOutText, inputs: WordInputs, tell: Progress) -> Iterator[HeldOutExamples]:
    """Yield the examples of skip-gram, where each context predicts the centre alone."""
    pairs, words = NO_PAIRS, len(text.corpus.vocabulary)
    ids = text.corpus.ids
    for windows, done in read_windows(text, CONTEXTS):
        pairs = merge_pairs(pairs, count_pairs(windows, words))
        tell("pairing", done, ids)
        if pairs.keys.size > DISTINCT:
            yield from _by_input(pairs, words, inputs, tell)
            pairs = NO_PAIRS
    yield from _by_input(pairs, words, inputs, tell)


def all_together(
    text: HeldOutText, inputs: WordInputs, mean: bool, tell: Progress
) -> Iterator[HeldOutExamples]:
    """Yield the examples of CBOW: the mean or sum of a centre's contexts; repeated contexts count again."""
    for windows, done in read_windows(text, max(1, FLOATS // inputs.vectors.shape[1])):
        n = windows.centres.size
        if n:
            starts = windows.starts[:-1]
            weight = inputs.sizes[windows.contexts] if inputs.sizes.size else np.ones(windows.contexts.size)
            share = 1.0 / np.add.reduceat(weight, starts) if mean else np.ones(n)
            hidden = (
                np.add.reduceat(weight[:, None] * inputs.vectors[windows.contexts], starts) * share[:, None]
            )
            bias = np.add.reduceat(weight * _bias(inputs, windows.contexts), starts) * share
            yield HeldOutExamples(
                hidden.astype(np.float32),
                bias,
                np.arange(n, dtype=np.int32),
                windows.centres,
                np.ones(n, np.int64),
            )
        tell("scoring", done, text.corpus.ids)


def _bias(inputs: WordInputs, words: Ids | Counts) -> Doubles:
    return inputs.bias[words].astype(np.float64) if inputs.bias.size else np.zeros(words.size)


class PairCounts(NamedTuple):
    """Different (input, target) pairs, ordered by input, then target, and how often each occurs."""

    keys: Counts  # input * words + target
    times: Counts


NO_PAIRS = PairCounts(np.zeros(0, np.int64), np.zeros(0, np.int64))


def count_pairs(windows: WindowList, words: int) -> PairCounts:
    """Count the pairs of some windows."""
    keys = windows.contexts.astype(np.int64) * words + np.repeat(windows.centres, np.diff(windows.starts))
    return PairCounts(*np.unique(keys, return_counts=True))


def merge_pairs(some: PairCounts, others: PairCounts) -> PairCounts:
    """Return the sum of two pair counts."""
    if not (some.keys.size and others.keys.size):
        return some if some.keys.size else others
    keys = np.concatenate([some.keys, others.keys])
    order = np.argsort(keys, kind="stable")  # fast: a stable sort merges two sorted runs
    keys = keys[order]
    first = _first_of_each(keys)
    return PairCounts(keys[first], np.add.reduceat(np.concatenate([some.times, others.times])[order], first))


def _first_of_each(ordered: Counts) -> Counts:
    """Return where each different number of a sorted array begins, in less memory than `np.unique`."""
    return np.flatnonzero(np.append(ordered.size > 0, ordered[1:] != ordered[:-1])[: ordered.size])


def _by_input(
    pairs: PairCounts, words: int, inputs_of: WordInputs, tell: Progress
) -> Iterator[HeldOutExamples]:
    """Yield examples for some inputs at a time, each with all its targets."""
    first = _first_of_each(pairs.keys // words)
    inputs = pairs.keys[first] // words
    ends, block = np.append(first, pairs.keys.size), max(1, SCORES // words)
    begin = 0
    while begin < inputs.size:
        # take fewer inputs if they have many targets, as frequent words do
        full = int(np.searchsorted(ends, ends[begin] + PAIRS, side="right")) - 1
        stop = min(begin + block, inputs.size, max(begin + 1, full))
        rows, part = inputs[begin:stop], slice(ends[begin], ends[stop])
        which = np.repeat(np.arange(rows.size, dtype=np.int32), np.diff(ends[begin : stop + 1]))
        targets = (pairs.keys[part] % words).astype(np.int32)
        yield HeldOutExamples(
            inputs_of.vectors[rows], _bias(inputs_of, rows), which, targets, pairs.times[part]
        )
        tell("scoring", stop, inputs.size)
        begin = stop


@dataclass
class _Loss:
    """Sums over the examples; the moments of log Z are merged in a way that loses no digits."""

    pairs: int = 0
    total: float = 0.0
    mean: float = 0.0  # of log Z
    squares: float = 0.0  # sum of squared distances of log Z from its mean

    def add(self, log_prob: Doubles, times: Counts, log_z: Doubles, weight: Doubles) -> None:
        """Add pairs with their counts (`times`), and inputs weighted by the number of their pairs."""
        n = int(times.sum())
        mean = float(weight @ log_z) / n
        squares, apart = float(weight @ (log_z - mean) ** 2), mean - self.mean
        pairs = self.pairs + n
        # the sum of squares about the common mean (the update of Chan, Golub and LeVeque)
        self.squares += squares + apart**2 * self.pairs * n / pairs
        self.mean += apart * n / pairs
        self.total -= float(times @ log_prob)
        self.pairs = pairs


def _loss(model: WordModel, text: HeldOutText, tell: Progress) -> _Loss:
    """Compute the loss of all examples of a text."""
    loss, head = _Loss(), model.head
    inputs, how = model.answers.word_inputs(), model.wiring().combine
    for some in (
        each_alone(text, inputs, tell) if how is None else all_together(text, inputs, how == "mean", tell)
    ):
        log_prob, log_z = head.pairs_log_prob(some.hidden, some.which, some.targets)
        weight = np.bincount(some.which, some.times, minlength=len(some.hidden)).astype(np.float64)
        # an input's bias shifts all its scores: this changes log Z, but no probability
        loss.add(log_prob, some.times, log_z + some.bias, weight)
    return loss
