"""Split a text into lines to train on and held-out lines.

Lines of more than `LONGEST` words are cut. Then a seeded random choice decides which lines are held out and
in which order the others are trained on: a slow layer sees few lines, which should come from all over the
text, not from its beginning. From a long text, lines with about `TRAINING` words are chosen, and only these
are kept in memory. Words are counted in the training lines alone and sorted by these counts, so nothing of
the held-out lines reaches the training. Words that the training lines do not have are dropped.
"""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unhot.corpus.corpus import Corpus
from unhot.corpus.report import Report
from unhot.corpus.shards import ShardWriter, map_shards
from unhot.corpus.workplace import Workplace
from unhot.errors import DataError
from unhot.types import Ids, Starts
from unhot.vocab.vocabulary import Vocabulary

LONGEST = 200  # the most words of a line
TUNING = 5_000  # words for choosing learning rates
CURVE = 5_000  # words on which the curve is measured, again and again during training
TRAINING = 50_000_000  # words to train on: more than any layer reads in some minutes
TOGETHER = 1 << 16  # the number of lines gathered at a time
HELD_OUT, TUNED, TRAINED, LEFT_OUT = range(4)  # the part that a line belongs to

Sentences: TypeAlias = list[list[str]]


class Texts(NamedTuple):
    """The parts of a text."""

    train: Corpus
    held_out: Sentences
    curve: Sentences  # a part of held_out
    tuning: Sentences


class _Lines(NamedTuple):
    ids: Ids
    starts: Starts
    part: NDArray[np.int8]  # [lines]


def split_text(corpus: Corpus, share: float, most: int, seed: int) -> Texts:
    """Split a text; hold out a share of the lines, but at most about `most` words."""
    share = min(share, most / corpus.ids)
    rng = np.random.default_rng(seed)
    lines = _draw(corpus, share, min(share, TUNING / corpus.ids), rng)
    order = _with_tuning(lines, rng.permutation(np.flatnonzero(lines.part == TRAINED)))
    words = corpus.vocabulary.words
    counts = np.zeros(len(words), np.int64)
    for ids, _ in _gather(lines.ids, lines.starts, order):
        counts += np.bincount(ids, minlength=counts.size)
    vocabulary = Vocabulary.from_counts({word: int(count) for word, count in zip(words, counts, strict=True)})
    new = np.array([vocabulary.index.get(word, -1) for word in words], np.int32)
    held_out, tuning = (_sentences(lines, part, new, vocabulary) for part in (HELD_OUT, TUNED))
    if not len(vocabulary) or not all(any(len(line) > 1 for line in part) for part in (held_out, tuning)):
        raise DataError(
            f"the text has {corpus.ids:,} known words in {lines.part.size:,} lines; holding out {share:.2%} "
            "leaves nothing to train on or to measure on; give more text, or hold out more"
        )
    return Texts(_train_corpus(lines, order, new, vocabulary), held_out, _some(held_out, CURVE), tuning)


def unigram_loss(held_out: Sentences, vocabulary: Vocabulary, window: int, each: bool) -> float:
    """Return the loss without any input, where every target is predicted by its count alone.

    With `each`, a target counts once for each word in its window, otherwise once.
    """
    log_share = np.log(vocabulary.counts / vocabulary.counts.sum())
    total, pairs = 0.0, 0
    for line in held_out:
        place = np.arange(len(line))
        sees = np.minimum(place, window) + np.minimum(len(line) - 1 - place, window)
        times = sees if each else sees > 0
        total -= float(times @ log_share[[vocabulary.id(word) for word in line]])
        pairs += int(times.sum())
    return total / pairs


def _draw(corpus: Corpus, held_out: float, tuned: float, rng: np.random.Generator) -> _Lines:
    """Assign the lines of all shards to parts at random; lines that belong to no part are not kept."""
    upto = np.cumsum([held_out, tuned, TRAINING / corpus.ids])
    ids = [np.empty(0, np.int32)]
    lengths = [np.zeros(1, np.int64)]
    parts = []
    for shard in corpus.shards:
        starts = cut_long(shard.starts, LONGEST)
        part = np.searchsorted(upto, rng.random(starts.size - 1), side="right").astype(np.int8)
        for some, sizes in _gather(shard.ids, starts, np.flatnonzero(part != LEFT_OUT)):
            ids.append(some)
            lengths.append(sizes)
        parts.append(part[part != LEFT_OUT])
    return _Lines(np.concatenate(ids), np.cumsum(np.concatenate(lengths)), np.concatenate(parts))


def _gather(ids: Ids, starts: Starts, lines: Starts) -> Iterator[tuple[Ids, Starts]]:
    """Yield the ids of some lines, one after the other, and the lengths of the lines.

    They come in blocks of lines, because the positions take more memory than the ids.
    """
    for first in range(0, lines.size, TOGETHER):
        begin = starts[lines[first : first + TOGETHER]]
        lengths = starts[lines[first : first + TOGETHER] + 1] - begin
        before = np.cumsum(lengths) - lengths
        yield ids[np.repeat(begin - before, lengths) + np.arange(lengths.sum())], lengths


def _with_tuning(lines: _Lines, order: Starts) -> Starts:
    """Return the lines to train on; if no line was chosen for tuning, move the last usable one there."""
    long = np.diff(lines.starts) > 1
    usable = np.flatnonzero(long[order])
    if (long & (lines.part == TUNED)).any() or not usable.size:
        return order
    lines.part[order[usable[-1]]] = TUNED
    return np.delete(order, usable[-1])


def cut_long(starts: Starts, longest: int) -> Starts:
    """Return where sentences begin, and the end of the last, after cutting those that are too long.

    >>> cut_long(np.array([0, 2, 7]), 3).tolist()
    [0, 2, 5, 7]
    """
    parts = -(-np.diff(starts) // longest)
    number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.append(np.repeat(starts[:-1], parts) + longest * number, starts[-1])


def _sentences(lines: _Lines, part: int, new: Ids, vocabulary: Vocabulary) -> Sentences:
    """Return the lines of a part as known words; lines without known words are left out."""
    out: Sentences = []
    for line in np.flatnonzero(lines.part == part):
        ids = new[lines.ids[lines.starts[line] : lines.starts[line + 1]]]
        out.append([vocabulary.words[i] for i in ids[ids >= 0]])
    return [line for line in out if line]


def _some(lines: Sentences, words: int) -> Sentences:
    """Return lines from all over a part, with about the given number of words."""
    every = max(1, sum(map(len, lines)) // words)
    some = lines[::every]
    return some if any(len(line) > 1 for line in some) else lines


def _train_corpus(lines: _Lines, order: Starts, new: Ids, vocabulary: Vocabulary) -> Corpus:
    with Workplace(None) as place:
        writer = ShardWriter(place.work)
        for ids, lengths in _gather(lines.ids, lines.starts, order):
            writer.append(new[ids], np.cumsum(lengths).astype(np.int32))
        writer.close()
        place.publish()
    words, sentences = (sum(numbers) for numbers in zip(*writer.lengths, strict=True))
    report = Report(words=words, kept=words, sentences=sentences, types=len(vocabulary))
    mapped = map_shards(place.directory, len(writer.lengths))
    return Corpus(place.directory, vocabulary, mapped, report, temporary=True)
