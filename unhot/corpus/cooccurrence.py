"""Count the co-occurrences of an encoded corpus exactly, within a budget of memory.

    X[i, j] = the sum of weight(d) over all pairs of a place of word i and a place of word j that are
              in the same sentence and d <= window words apart

    weights=distance    1 / d, as in GloVe
    weights=flat        1
    weights=dynamic     (window - d + 1) / window: the chance that a reach drawn from 1 .. window is
                        at least d

As in training, words outside the vocabulary and words dropped by sub-sampling are removed before distances
are measured. sides=both counts the words on both sides, so X is symmetric; sides=left counts only the words
before word i, sides=right only the words after it.

The text is cut into sections that fit the budget. Compiled code counts a section row by row
(cells/row_counts.py). Most texts fit into one section. Otherwise each section writes a run of sorted rows
to disk, and the runs are added up, row by row, at the end.

Sums are integers: multiples of 1 / lcm(1 .. window) for weights of 1 / d. So the result is the same to the
last bit for any budget and any number of threads. If large counts and a wide window could make such a sum
overflow 64 bits, 1 / d is rounded to a coarser unit that fits.
"""

import contextlib
import itertools
import math
import os
import tempfile
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.cells import Cells, CellsWriter, row_ranges
from unhot.corpus.cells.row_counts import (
    CountedRows,
    RowSums,
    count_rows,
    merge_rows,
    new_rows,
    new_section,
    new_sums,
    read_section,
)
from unhot.corpus.corpus import Corpus
from unhot.corpus.indexed_folder import append_numbers, map_numbers, read_only
from unhot.errors import ConfigError, DataError, at_least, one_of, whole
from unhot.kernels.rng import key_from, stream_key
from unhot.kernels.windows import Text, keep_threshold
from unhot.sizes import bytes_of
from unhot.threads import in_order
from unhot.types import Counts, Ids, Starts
from unhot.vocab.subsampling import keep_probability

WEIGHTS, SIDES = ("distance", "flat", "dynamic"), ("both", "left", "right")
LARGEST = 2**63 - 1
TASK_CELLS = 1 << 20  # cells counted and written in one task; never fewer than the vocabulary has words
FEWEST = 1 << 12  # the smallest section, in words
MOST = 1 << 30  # the largest section, in words: places are 32-bit
WORD_BYTES = 8  # bytes of a word in a section: its id and its place
CELL_BYTES = 12  # bytes of a cell: its column and its sum
ROW_BYTES = 40  # bytes of a row, shared by all threads: where it begins and ends, how long it is
PART = 1 << 17  # sums divided at a time

Progress = Callable[[int, int], None]
Write = Callable[[CountedRows, int, int], None]
Work = Callable[[int, int, RowSums, CountedRows], int]


class DistanceWeights(NamedTuple):
    """The integer weight of each distance d: entry d of an array is the weight times `unit`."""

    left: Counts  # [window + 1], for words before; of size 1 if that side is not counted
    right: Counts  # the same for words after
    unit: int  # the integer that stands for a weight of 1


def cooccurrences(
    corpus: Corpus,
    *,
    window: int = 10,
    weights: str = "distance",
    sides: str = "both",
    sample: float = 0.0,
    seed: int = 1,
    threads: int = 2,
    memory: int | str = "1GB",
    directory: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Cells:
    """Count how often the words of a corpus stand near each other.

    window      words to each side
    weights     distance | flat | dynamic, see the top of this module
    sides       both | left | right
    sample      threshold of sub-sampling frequent words; the same words are dropped as in the first epoch of
                a training with this seed. 0: no sub-sampling
    memory      bytes for all buffers, as a number or as text such as 200MB, 1GB
    directory   where to keep the cells, see `Cells.open`; None: a temporary directory, which is removed
                together with the cells
    progress    called now and then with the work done so far and the work in total
    """
    corpus.check_windows()
    how = counting_settings(window, weights, sides, sample, seed)
    threads = whole("threads", threads, 1, 1024)
    counter = _Counter(corpus, how, threads, bytes_of("memory", memory), progress)
    with CellsWriter(corpus.vocabulary, directory) as writer:
        counter.count(writer)
        del counter  # frees its buffers before the words are written
        return writer.finish(how)


def counting_settings(window: int, weights: str, sides: str, sample: float, seed: int) -> dict[str, Any]:
    """Return how to count, as kept with the cells; raise a `ConfigError` if a setting is wrong."""
    one_of("weights", weights, WEIGHTS)
    one_of("sides", sides, SIDES)
    return {
        "window": whole("window", window, 1, 10_000),
        "weights": weights,
        "sides": sides,
        "sample": at_least("sample", sample, 0),
        "seed": whole("seed", seed, 0),
    }


def warm_up_counting() -> None:
    """Compile the counting kernels, or load them from disk, by counting two words; write no file."""
    ids, starts = read_only(np.arange(2, dtype=np.int32)), read_only(np.array([0, 2]))
    text = Text(ids, starts, keep_threshold(np.ones(2)))
    section = new_section(8, 2)
    read_section(text, key_from(stream_key(0, 0, 0), 0), 0, 2, 0, 1, section)
    weights = weights_of("flat", "both", 1, 2)
    count_rows(section, 0, 2, weights.left, weights.right, new_sums(2), new_rows(2, 4))


def weights_of(weights: str, sides: str, window: int, most: int) -> DistanceWeights:
    """Return integer weights whose sums fit 64 bits for a word that occurs at most `most` times."""
    distances = range(1, window + 1)
    if weights == "distance":
        unit = math.lcm(*distances)
        if 2 * most * sum(unit // d for d in distances) > LARGEST:
            unit = 1 << int(math.log2(LARGEST / (2 * most * (1 + math.log(window)))))
        each = [(2 * unit + d) // (2 * d) for d in distances]  # unit / d, rounded to the nearest integer
    else:
        unit = window if weights == "dynamic" else 1
        each = [window - d + 1 if weights == "dynamic" else 1 for d in distances]
    both, none = np.array([0, *each], np.int64), np.zeros(1, np.int64)
    return DistanceWeights(both if sides != "right" else none, both if sides != "left" else none, unit)


class _Part(NamedTuple):
    """A section of the text: positions start .. stop - 1 of a shard."""

    shard: int
    start: int
    stop: int
    sentence: int  # the sentence that contains `start`
    before: int  # positions in all earlier shards
    room: int  # entries needed for its words and gaps


class _Counter:
    """Count a corpus: holds the plan of its sections and the buffers."""

    def __init__(
        self, corpus: Corpus, how: dict[str, Any], threads: int, memory: int, progress: Progress | None
    ) -> None:
        counts = corpus.vocabulary.counts
        self._corpus = corpus
        self._threads = threads
        self._words = counts.size
        self._window = how["window"]
        # counts given by the user may be smaller than the counts in the text
        most = int(counts.max()) if int(counts.sum()) == corpus.ids else corpus.ids
        self._weights = weights_of(how["weights"], how["sides"], how["window"], most)
        self._key = stream_key(how["seed"], 0, 0)
        self._keep = keep_threshold(keep_probability(counts, how["sample"]))
        room, self._cells = self._plan(memory)
        self._parts = self._cut(room)
        if not self._parts:
            raise DataError("the corpus has no text: it was closed, or made of cells; encode the text again")
        self._section = new_section(max(part.room for part in self._parts), self._words)
        self._buffers = [
            (new_sums(self._words), new_rows(self._words, self._cells)) for _ in range(threads + 1)
        ]
        self._progress, self._done = progress, 0
        self._steps = self._words * (len(self._parts) + (len(self._parts) > 1))

    def count(self, writer: CellsWriter) -> None:
        """Count the corpus and write all rows."""

        def write(out: CountedRows, rows: int, cells: int) -> None:
            for at in range(0, max(cells, 1), PART):
                part = slice(at, min(at + PART, cells))
                writer.append(
                    out.lengths[: 0 if at else rows], out.columns[part], out.sums[part] / self._weights.unit
                )

        if len(self._parts) == 1:
            self._count_part(self._parts[0], write)
            return
        with tempfile.TemporaryDirectory(dir=writer.work) as folder:
            runs = _Runs(Path(folder))
            for part in self._parts:
                self._count_part(part, runs.write)
                runs.end()
            self._merge(runs, write)

    def _plan(self, memory: int) -> tuple[int, int]:
        """Return how many words a section and how many cells a task may have, to fit into `memory` bytes."""
        words, buffers = self._words, self._threads + 1
        # for each buffer: a row (8 bytes and a mark for each word) and the cells it becomes; for all of them:
        # where rows begin, their ends and lengths; and the numbers that are being written
        fixed = buffers * (17 + CELL_BYTES) * words + ROW_BYTES * (words + 1) + 3 * 8 * PART
        least = fixed + max(FEWEST, 4 * self._window) * WORD_BYTES
        if memory < least:
            raise ConfigError(
                f"memory={memory}: counting {words:,} words with {self._threads} threads needs at least "
                f"{least:,} bytes; allow more, use fewer threads, or keep fewer words (min_count, max_vocab)"
            )
        spare = (memory - least) // (4 * buffers * CELL_BYTES)  # a quarter of the remaining memory
        more = max(0, min(TASK_CELLS - words, words**2 - words, spare))
        return min((memory - fixed - buffers * CELL_BYTES * more) // WORD_BYTES, MOST), words + more

    def _cut(self, room: int) -> list[_Part]:
        """Cut the text into parts of at most `room` entries.

        The entries are words, gaps between sentences, and the words that windows reach at both ends.
        """
        parts, before = [], 0
        around = 2 * self._window + 3  # the words that windows reach at both ends, and gaps there
        for number, shard in enumerate(self._corpus.shards):
            start = 0
            while start < shard.ids.size:
                sentence = bisect_right(shard.starts, start) - 1
                taken = start + sentence  # tokens and gaps before `start`
                last = _last_at_most(taken + room - around, shard.starts)
                if last > sentence:
                    stop = int(shard.starts[last])
                else:
                    stop = min(start + room - around - 1, int(shard.starts[sentence + 1]))
                needed = stop - start + max(last - sentence, 1) + around
                parts.append(_Part(number, start, stop, sentence, before, needed))
                start = stop
            before += shard.ids.size
        return parts

    def _count_part(self, part: _Part, write: Write) -> None:
        text = Text(*self._corpus.shards[part.shard], self._keep)
        section = self._section
        key = key_from(self._key, part.before)
        read_section(text, key, part.start, part.stop, part.sentence, self._window, section)
        left, right, _ = self._weights
        most = np.diff(section.starts) * (left.size - 1 + right.size - 1)
        self._each(
            most,
            lambda first, last, row, out: count_rows(section, first, last, left, right, row, out),
            write,
        )

    def _merge(self, runs: "_Runs", write: Write) -> None:
        starts, columns, sums = runs.map(self._words)
        most = sum(map(np.diff, starts))
        self._each(
            most,
            lambda first, last, row, out: merge_rows(starts, columns, sums, first, last, row, out),
            write,
        )

    def _each(self, most: Counts, work: Work, write: Write) -> None:
        """Compute all rows on threads and write them in order; row i has at most `most[i]` cells."""
        ranges = row_ranges(np.minimum(most, self._words), self._cells)

        def run(task: tuple[tuple[int, int], tuple[RowSums, CountedRows]]) -> tuple[CountedRows, int, int]:
            (first, last), (row, out) = task  # no other thread uses these buffers meanwhile
            return out, last - first, int(work(first, last, row, out))

        tasks = zip(ranges, itertools.cycle(self._buffers), strict=False)
        with contextlib.closing(in_order(tasks, run, self._threads)) as results:
            for out, rows, cells in results:
                write(out, rows, cells)
                self._done += rows
                if self._progress is not None:
                    self._progress(self._done, self._steps)


def _last_at_most(most: int, starts: Starts) -> int:
    """Return the last sentence that has at most `most` tokens and gaps before it."""
    return bisect_right(range(starts.size), most, key=lambda s: int(starts[s]) + s) - 1


class _Runs:
    """Runs of sorted rows on disk.

    Two files hold the columns and sums of all runs, one run after another. A third file holds where each
    row begins.
    """

    def __init__(self, folder: Path) -> None:
        self._paths = [folder / f"runs.{name}" for name in ("starts", "columns", "sums")]
        self._at = 0

    def write(self, out: CountedRows, rows: int, cells: int) -> None:
        """Add rows to the current run."""
        starts, columns, sums = self._paths
        ends = self._at + np.cumsum(out.lengths[:rows])
        append_numbers(starts, ends - out.lengths[:rows], "<i8")
        append_numbers(columns, out.columns[:cells], "<i4")
        append_numbers(sums, out.sums[:cells], "<i8")
        self._at = int(ends[-1])

    def end(self) -> None:
        """End the current run: the next row begins a new one."""
        append_numbers(self._paths[0], np.array([self._at]), "<i8")

    def map(self, words: int) -> tuple[Starts, Ids, Counts]:
        """Map all runs into memory: where rows begin [runs, words + 1], columns and sums."""
        starts, columns, sums = self._paths
        return (
            map_numbers(starts, np.int64).reshape(-1, words + 1),
            map_numbers(columns, np.int32),
            map_numbers(sums, np.int64),
        )
