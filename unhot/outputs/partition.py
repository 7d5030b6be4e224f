"""Partitioned vocabulary: a softmax over only the words of the current part of the text.

The text is cut into parts with at most `size` different targets. Each part is trained with the softmax over
the set D of its own words:

    L = -s(t) + log sum_{w in D or w = t} exp s(w)

Each word is one column, even if it is the target and in D, or in D twice.

Converges to  s -> log P(w | h) + K(h) if D holds all words. Otherwise it is biased by design: a word is
              compared with others only in the parts that contain it, so rare words come out too probable.
Limits        if D holds all words it is the softmax.
Cost          O(size dim) per input, as one matrix product: all examples of a part have the same columns.
Normalised    no: log_prob is log-softmax(s) over all words.
Wins          where a fixed block of output vectors must fit a device's memory for a long stretch of text.
Reference     Jean et al., On using very large target vocabulary for neural machine translation, 2015.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from unhot.errors import DataError, whole
from unhot.outputs.layer import LogProbabilityLayer, output
from unhot.probability import log_sum_exp
from unhot.specs import Range
from unhot.types import Counts, Doubles, Ids


@output("partition")
@dataclass(frozen=True, kw_only=True)
class Partition(LogProbabilityLayer):
    """Softmax over the words of a part of the text."""

    size: Annotated[int, Range(1)] = 30_000  # the most different targets in a part of the text
    bias: bool = False  # learn a bias for each word

    compiled = False

    def part_words(self) -> int:
        """Return the most different words of a part."""
        return self.size

    def batch_columns(self, counts: Counts, size: int) -> int:
        """Return the number of columns: the words of a part."""
        return min(counts.size, self.size)

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """Compute the loss by the formula above; the draws are the set D of the part."""
        columns = np.union1d(draws, [target])
        return float(log_sum_exp(scores[columns]) - scores[target])


class Part(NamedTuple):
    """The targets first .. last - 1 of a text, and the different words among them, ascending."""

    first: int
    last: int
    ids: Ids


def partitions(targets: Iterable[Any] | np.ndarray[Any, Any], size: int) -> Iterator[Part]:
    """Cut a text into consecutive parts of at most `size` different words, each as long as it can be.

    The text is an array of target ids, or a stream of such arrays. The time is linear in the length of the
    text; memory holds one array of the stream and the ids of one part.

    >>> [(part.first, part.last, part.ids.tolist()) for part in partitions(np.array([3, 1, 3, 2, 2, 0]), 2)]
    [(0, 3, [1, 3]), (3, 6, [0, 2])]
    """
    size = whole("size", size, 1)
    return _parts((targets,) if isinstance(targets, np.ndarray) else targets, size)


def _parts(blocks: Iterable[Any], size: int) -> Iterator[Part]:
    """Yield the parts of a stream of id arrays, from `size` targets at a time.

    At most one part ends among `size` targets: those after its end cannot fill another part.
    """
    # for each id: the part it was last seen in, counted from 1; its position among the current targets
    part_of = place = np.zeros(0, np.int64)
    part = 1  # the number of the part that is being filled
    first = 0  # the position where it begins
    at = 0  # the position up to which the text was read
    filled = 0  # the number of different words of the part
    words: list[Ids] = []  # the different words of the part
    for block in map(_checked, blocks):
        if block.size and int(block.max()) >= part_of.size:
            more = np.zeros(max(int(block.max()) + 1 - part_of.size, part_of.size), np.int64)
            part_of, place = np.append(part_of, more), np.append(place, more)
        for begin in range(0, block.size, size):
            some = block[begin : begin + size]
            new = np.flatnonzero(_is_first(some, place) & (part_of[some] != part))
            cut = int(new[size - filled]) if new.size > size - filled else some.size
            words.append(some[new[: size - filled]])
            if cut < some.size:
                yield Part(first, at + cut, np.sort(np.concatenate(words)).astype(np.int32))
                rest = some[cut:]
                words = [rest[_is_first(rest, place)]]
                part += 1
                first = at + cut
                filled = 0
            part_of[words[-1]] = part
            filled += words[-1].size
            at += some.size
    if at > first:
        yield Part(first, at, np.sort(np.concatenate(words)).astype(np.int32))


def _is_first(some: Ids, place: Counts) -> Any:
    """Return where a word occurs for the first time among some; `place` (by id) is overwritten."""
    order = np.arange(some.size)
    place[some[::-1]] = order[::-1]  # written backwards, so a word's first position stays
    return place[some] == order


def _checked(block: Any) -> Ids:
    ids = np.asarray(block)
    if ids.ndim != 1 or (ids.size and (ids.dtype.kind not in "iu" or ids.min() < 0 or ids.max() >= 2**31)):
        raise DataError(
            f"targets of shape {ids.shape} and type {ids.dtype}: "
            "must be arrays of ids, whole numbers from 0 to 2**31 - 1"
        )
    return ids
