"""From encoded sentences to training windows, one chunk of the corpus at a time.

A chunk is some pieces of a shard. A piece is a range of positions. Its words are the centres to train; the
words around its edges are read too (the halo), so a window never notices where pieces are cut and a sentence
of any length is never cut at all. That works because whether a token survives sub-sampling, and how far it
sees as a centre, is decided by random bits that belong to its *position*: two pieces agree on the words they
share, and all output layers see the same windows. Words of the halo have a reach of zero: they see nothing.

A word that repeats inside a window is one input with a multiplicity: `previous` finds repeats, `fill_inputs`
merges them.

A centre may see only what comes before it, or only what comes after it. The words of a sentence may also be
read in a random order, another one in each epoch: then a sentence is a set, not a sequence.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.feeder import ones_at
from unhot.kernels.jit import generic, inner
from unhot.kernels.order import shuffled
from unhot.kernels.rng import bits_at
from unhot.kernels.simd.ids import copy_words, last_match
from unhot.kernels.simd.lanes import LANES
from unhot.types import Ids, Starts

_32, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
BOTH = 0  # a centre sees the words before it and after it
BEFORE, AFTER = 1, 2  # it sees only those before it, only those after it
NOTHING: Ids = np.zeros(0, np.int32)
NOTHING.flags.writeable = False


class Text(NamedTuple):
    """The text to read: a shard and, for each id, how often it is kept (`keep_threshold`)."""

    ids: Ids
    starts: Starts  # [sentences + 1]
    keep: Any  # uint32 [vocabulary]
    beside: Ids = NOTHING  # [sentences] a number for each sentence, such as its user; empty: there is none


class Window(NamedTuple):
    """How far a centre sees."""

    size: int
    shrink: bool  # draw the reach of each centre from 1 .. size
    sides: int = BOTH  # BOTH, BEFORE or AFTER
    mixed: bool = False  # read the words of a sentence in a random order


class Kept(NamedTuple):
    """The surviving words of a chunk and its halo, by place."""

    word: Ids
    row: Ids  # of in_vectors
    reach: Ids  # how many words to each side it sees as a centre
    begin: Ids  # place of the first word that it may see: mostly that of the first word of the sentence
    end: Ids  # place behind the last word that it may see
    previous: Ids  # place of the nearest same word to the left, at most 2 windows away, else -1
    # the largest `previous` of the sentence so far: a window that begins behind it has no repeats
    repeated: Ids
    line: Ids  # at the place of the first word of a sentence: the number of the sentence


def kept_buffer(tokens: int, window: int, pieces: int = 1) -> Kept:
    """Return buffers for a chunk of `tokens` positions in `pieces` pieces, with their halos."""
    return Kept(*(aligned_zeros(tokens + 2 * window * pieces + LANES, np.int32) for _ in range(8)))


def no_text() -> Text:
    """Return an empty text to compile with; it is read-only, as shards that are mapped for reading."""
    ids, starts = np.zeros(1, np.int32), np.zeros(2, np.int64)
    ids.flags.writeable = starts.flags.writeable = False
    return Text(ids, starts, keep_threshold(np.ones(1)))


def keep_threshold(probability: Any) -> Any:
    """Convert probabilities to thresholds for 32 random bits: a word is kept if bits <= threshold."""
    return np.maximum(np.rint(np.asarray(probability, np.float64) * 2.0**32) - 1, 0).astype(np.uint32)


@inner
def _read(text: Any, where: Any, window: Any, sentence: Any, position: Any, kept: Any, place: Any) -> Any:
    """Write the token at a position of a sentence to a place.

    Return 1 if the token survives, else 0: then the place is free again.

    The upper half of the position's bits decides whether it survives, the lower half its reach.
    """
    bits = bits_at(where.window_key, position)
    word = text.ids[position]
    if window.mixed:
        begin, end = text.starts[sentence], text.starts[sentence + 1]
        key = bits_at(where.window_key ^ _LOW, sentence)
        word = text.ids[begin + shuffled(key, position - begin, end - begin)]
    return put_word(text.keep, window, bits, word, kept, place)


@inner
def put_word(keep: Any, window: Any, bits: Any, word: Any, kept: Any, place: Any) -> Any:
    """Write a word and its reach to a place; return 1 if the word survives, else 0."""
    kept.word[place] = word
    reach = window.size
    if window.shrink:
        reach = 1 + np.int64(((bits & _LOW) * np.uint64(window.size)) >> _32)
    kept.reach[place] = reach
    return np.int64((bits >> _32) <= np.uint64(keep[word]))


@generic
def keep_words(text: Any, where: Any, window: Any, kept: Any) -> Any:
    """Sub-sample a chunk into `kept`, and return the place behind its last centre.

    Centres are the places from window.size on whose reach is above zero. What is not a `Text`, but gives
    sentences, too, registers a function of its own.
    """


@keep_words.register(Text)
def _keep_text(text: Any, where: Any, window: Any, kept: Any) -> Any:
    pieces = (where.end - where.begin + where.size - 1) // where.size
    place = stop = 0
    for number in range(where.first, where.last):
        start = where.begin + shuffled(where.order_key, number, pieces) * where.size
        stop, place = _keep_piece(text, where, window, start, min(start + where.size, where.end), kept, place)
    return stop


@inner
def _keep_piece(text: Any, where: Any, window: Any, start: Any, stop: Any, kept: Any, first: Any) -> Any:
    """Sub-sample the positions [start, stop), and their halo, to the places from `first` on.

    Returns the place behind the last centre, and the place behind the halo.
    """
    sentence = _sentence_of(text.starts, start)
    begin = place = first + window.size
    position = start - 1
    while begin > first and position >= text.starts[sentence]:
        begin -= _read(text, where, window, sentence, position, kept, begin - 1)
        position -= 1
    for free in range(first, begin):
        kept.begin[free], kept.end[free] = free, free + 1
        kept.previous[free], kept.repeated[free] = -1, -1
    position = start
    while True:
        end = text.starts[sentence + 1]
        while position < min(end, stop):
            place += _read(text, where, window, sentence, position, kept, place)
            position += 1
        centres = place
        while position < end and place < centres + window.size:
            place += _read(text, where, window, sentence, position, kept, place)
            position += 1
        close_sentence(kept, begin, place, window)
        kept.line[begin] = sentence
        if position >= stop:
            break
        sentence += 1
        begin = place
    kept.reach[first : first + window.size] = 0
    kept.reach[centres:place] = 0
    return centres, place


@inner
def _sentence_of(starts: Any, position: Any) -> Any:
    """Return the sentence that a position is in, by binary search."""
    low, high = 0, starts.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= position:
            low = middle
        else:
            high = middle
    return low


@inner
def close_sentence(kept: Any, begin: Any, end: Any, window: Any) -> None:
    """Note the repeats inside a sentence, and its bounds: a word sees nothing beyond these."""
    repeated = -1
    for place in range(begin, end):
        first = max(begin, place - 2 * window.size)
        match = last_match(kept.word, first, place - first, kept.word[place])
        previous = first + match if match >= 0 else -1
        repeated = max(repeated, previous)
        kept.begin[place] = place if window.sides == AFTER else begin
        kept.end[place] = place + 1 if window.sides == BEFORE else end
        kept.previous[place], kept.repeated[place] = previous, repeated


@inner
def contexts_of(kept: Any, centre: Any) -> Any:
    """Return how many words a centre sees."""
    reach = kept.reach[centre]
    return min(kept.end[centre], centre + reach + 1) - max(kept.begin[centre], centre - reach) - 1


@inner
def fill_inputs(kept: Any, source: Any, centre: Any, inputs: Any, group: Any) -> Any:
    """Write what `source` (kept.row or kept.word) has around a centre into `inputs`, each word once.

    The inputs are padded to a whole group. Returns the number of inputs, the index of their multiplicities,
    and how many words the centre sees.
    """
    reach = kept.reach[centre]
    left, right = max(kept.begin[centre], centre - reach), min(kept.end[centre], centre + reach + 1)
    contexts = right - left - 1
    if kept.repeated[right - 1] >= left:
        times = inputs.times.size // 2
        count = _merge_repeats(kept, source, left, centre, right, inputs, times)
    else:
        times, count = ones_at(inputs, contexts), contexts
        copy_words(source, left, inputs.row, 0, centre - left)
        copy_words(source, centre + 1, inputs.row, centre - left, right - centre - 1)
    for pad in range(count, count + group - 1):
        inputs.row[pad] = inputs.row[0]
    return count, times, contexts


@inner
def _merge_repeats(
    kept: Any, source: Any, left: Any, centre: Any, right: Any, inputs: Any, times: Any
) -> Any:
    """Write one input per different word, with its multiplicity; return the number of inputs."""
    count = 0
    for place in range(left, right):
        if place != centre:
            earlier = kept.previous[place]
            if earlier == centre:  # the centre itself is no input
                earlier = kept.previous[centre]
            if earlier >= left:
                slot = inputs.slot[earlier - left]
                inputs.times[times + slot] += np.float32(1.0)
            else:
                slot = count
                inputs.row[slot], inputs.times[times + slot] = source[place], np.float32(1.0)
                count += 1
            inputs.slot[place - left] = slot
    for pad in range(times + count, times + count + LANES):
        inputs.times[pad] = np.float32(0.0)
    return count
