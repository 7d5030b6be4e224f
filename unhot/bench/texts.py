"""A text in parts: what is trained on, and lines that are held out.

Lines of more than `LONGEST` words are cut. Then it is drawn from a seed which lines are held out, and in which order the others are trained
on: a slow layer sees few of them, and should see some from all over the text, not its beginning. Words are counted in the training part
alone and ordered by these counts, so nothing of the rest reaches the training; words that it does not have are dropped.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unhot.corpus.corpus import Corpus
from unhot.corpus.report import Report
from unhot.corpus.shards import Shard, ShardWriter, map_shard
from unhot.corpus.workplace import Workplace
from unhot.errors import DataError
from unhot.types import Ids, Starts
from unhot.vocab.vocabulary import Vocabulary

LONGEST = 200  # words of a line
TUNING = 10_000  # words to choose learning rates by
CURVE = 10_000  # words that are looked at again and again while a layer is trained
TRAINED, HELD_OUT, TUNED = range(3)  # which part a line belongs to

Sentences: TypeAlias = list[list[str]]


class Texts(NamedTuple):
    """The parts."""

    train: Corpus
    held_out: Sentences
    curve: Sentences  # a part of held_out
    tuning: Sentences


class _Lines(NamedTuple):
    ids: Ids
    starts: Starts
    part: NDArray[np.int8]  # [lines]


def split_text(corpus: Corpus, share: float, most: int, seed: int) -> Texts:
    """Hold out a share of the lines, or fewer: about so many words at most."""
    share = min(share, most / corpus.ids)
    rng = np.random.default_rng(seed)
    shards = [_draw(shard, share, min(share, TUNING / corpus.ids), rng) for shard in corpus.shards]
    counts, words = np.zeros(len(corpus.vocabulary), np.int64), corpus.vocabulary.words
    for lines in shards:
        counts += np.bincount(_ids_of(lines, TRAINED), minlength=counts.size)
    vocabulary = Vocabulary.from_counts({word: int(count) for word, count in zip(words, counts, strict=True)})
    new = np.array([vocabulary.index.get(word, -1) for word in words], np.int32)
    held_out, tuning = (_sentences(shards, part, new, vocabulary) for part in (HELD_OUT, TUNED))
    if not len(vocabulary) or not any(len(line) > 1 for line in held_out):
        raise DataError(
            f"a text of {corpus.ids:,} known words in {sum(lines.part.size for lines in shards):,} lines, of which {share:.2%} were to be "
            "held out: nothing is left to train on or to measure by; give more text, or hold out more"
        )
    train = _train_corpus(shards, new, vocabulary)
    return Texts(train, held_out, _some(held_out, CURVE), tuning if any(len(line) > 1 for line in tuning) else held_out)


def unigram_loss(held_out: Sentences, vocabulary: Vocabulary, window: int, each: bool) -> float:
    """The loss without any input: every target predicted by its count alone. A target counts once for each word it sees, or once."""
    log_share, total, pairs = np.log(vocabulary.counts / vocabulary.counts.sum()), 0.0, 0
    for line in held_out:
        place = np.arange(len(line))
        sees = np.minimum(place, window) + np.minimum(len(line) - 1 - place, window)
        times = sees if each else sees > 0
        total -= float(times @ log_share[[vocabulary.id(word) for word in line]])
        pairs += int(times.sum())
    return total / pairs


def _draw(shard: Shard, held_out: float, tuned: float, rng: np.random.Generator) -> _Lines:
    """The lines of a shard, in the order they are trained in, with the part that each belongs to."""
    starts = cut_long(shard.starts, LONGEST)
    lengths, order = np.diff(starts), rng.permutation(starts.size - 1)
    drawn = rng.random(order.size)
    part = np.where(drawn < held_out, HELD_OUT, np.where(drawn < held_out + tuned, TUNED, TRAINED))
    ends = np.cumsum(lengths[order])
    places = np.repeat(starts[order] - ends + lengths[order], lengths[order]) + np.arange(shard.ids.size)
    return _Lines(shard.ids[places], np.append(0, ends), part.astype(np.int8))


def cut_long(starts: Starts, longest: int) -> Starts:
    """Where sentences begin, and the end of the last, once those that are too long are cut.

    >>> cut_long(np.array([0, 2, 7]), 3).tolist()
    [0, 2, 5, 7]
    """
    pieces = -(-np.diff(starts) // longest)
    number = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return np.append(np.repeat(starts[:-1], pieces) + longest * number, starts[-1])


def _ids_of(lines: _Lines, part: int) -> Ids:
    out: Ids = lines.ids[np.repeat(lines.part == part, np.diff(lines.starts))]
    return out


def _sentences(shards: list[_Lines], part: int, new: Ids, vocabulary: Vocabulary) -> Sentences:
    """The lines of a part as words that the vocabulary has; lines that have none are left out."""
    out: Sentences = []
    for lines in shards:
        for line in np.flatnonzero(lines.part == part):
            ids = new[lines.ids[lines.starts[line] : lines.starts[line + 1]]]
            out.append([vocabulary.words[i] for i in ids[ids >= 0]])
    return [line for line in out if line]


def _some(lines: Sentences, words: int) -> Sentences:
    """Lines from all over, with about so many words."""
    every = max(1, sum(map(len, lines)) // words)
    some = lines[::every]
    return some if any(len(line) > 1 for line in some) else lines


def _train_corpus(shards: list[_Lines], new: Ids, vocabulary: Vocabulary) -> Corpus:
    with Workplace(None) as place:
        writer = ShardWriter(place.work)
        for lines in shards:
            lengths = np.diff(lines.starts)[lines.part == TRAINED]
            writer.append(new[_ids_of(lines, TRAINED)], np.cumsum(lengths).astype(np.int32))
        writer.close()
        place.publish()
    ids, sentences = (sum(numbers) for numbers in zip(*writer.lengths, strict=True))
    report = Report(words=ids, kept=ids, sentences=sentences, types=len(vocabulary))
    mapped = [map_shard(place.directory, number) for number in range(len(writer.lengths))]
    return Corpus(place.directory, vocabulary, mapped, report, temporary=True)
