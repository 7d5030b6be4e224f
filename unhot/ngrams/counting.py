"""Count the n-grams of an encoded text, in a budget of memory.

A section of the text that fits the budget is sorted in memory (sorting.py), cut into parts for the threads.
If there is one section, its levels are the result. Otherwise each section leaves a run of sorted levels on
disk, one run behind another in the same files, and the runs are merged, again part by part. A part is a range
of first words, so parts have no n-gram in common, and neither their number nor that of the threads nor the
budget changes a byte of the result.

Beyond the budget, merging holds the n-grams of `threads + 1` parts. The largest part is at least that of the
most frequent word: in English, some six per cent of the text.
"""

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np

from unhot.corpus.cells.sparse_rows import cuts
from unhot.corpus.corpus import Corpus
from unhot.errors import ConfigError, DataError, whole
from unhot.leftovers import temporary_folder
from unhot.lm.symbols import model_words
from unhot.ngrams.levels import WIDE, CountLevel, LevelWriter, NgramCounts
from unhot.ngrams.sorting import (
    LevelParts,
    Merged,
    SortScratch,
    add_part,
    fill_tokens,
    list_places,
    merge_level,
    new_parts,
    new_scratch,
    tally,
)
from unhot.ngrams.symbols import SYMBOLS, Keys, keys_of
from unhot.sizes import FULL, bytes_of, readable
from unhot.threads import in_order
from unhot.types import Counts, Ids, Starts

SMALLEST = 10**6  # bytes of the smallest budget
LEVEL_BYTES = 16  # of an n-gram in a file, at most
TOKEN_BYTES = 16  # of a section: its tokens, their places, and a share of the buffers
PARTS = 64  # parts of a section or of runs, unless the n-grams of one word are a larger part
LONGEST_SECTION = (1 << 31) - 1
HIGHEST_ORDER = 16

OnPart = Callable[[int, int], None]  # called with how much of the work is done, and of how much
MergedLevel = tuple[Ids, Counts, Starts]


class LineChoice(NamedTuple):
    """Which lines are counted: all but each `step`-th one, or only these."""

    step: int = 1 << 62
    held: bool = False


ALL_LINES = LineChoice()


class LineRange(NamedTuple):
    """Lines of a shard."""

    shard: int
    first: int
    last: int


def count_ngrams(
    corpus: Corpus,
    order: int,
    *,
    memory: int | str = "1GB",
    threads: int = 2,
    lines: LineChoice = ALL_LINES,
    on_section: OnPart | None = None,
) -> NgramCounts:
    """Count all n-grams of up to `order` words; the corpus must keep empty lines and unknown words."""
    whole("order", order, 1, HIGHEST_ORDER)
    if not (corpus.keeping.empty_lines and corpus.keeping.unknown):
        raise ConfigError(
            "the corpus leaves out empty lines or unknown words, which n-grams need: encode the text with "
            "empty_lines=True, unknown=True"
        )
    budget = checked_budget(memory)
    tell = on_section or (lambda done, total: None)
    words, ids = model_words(corpus, SYMBOLS)
    tokens = _tokens_of(corpus)
    counts = NgramCounts(temporary_folder(), words)
    try:
        runs = LevelWriter(counts.directory / "runs", order, tokens >= WIDE)
        sections = list(_sections(corpus, min(budget // TOKEN_BYTES, LONGEST_SECTION)))
        sizes, begins = np.zeros(len(words), np.int64), []
        for number, section in enumerate(sections):
            text = _tokens(corpus, section, ids, lines)
            tell(number, len(sections))
            here = np.zeros(len(words), np.int64)
            tally(text, here, counts.seen)
            begins.append(_add_section(runs, text, here, keys_of(len(words)), threads))
            sizes += here
        runs.finish()
        tell(len(sections), len(sections))
        levels = runs
        if len(sections) > 1:
            levels = LevelWriter(counts.directory / "merged", order, tokens >= WIDE)
            begins = [_merge(runs, begins, levels, keys_of(len(words)).bits, threads, tell)]
            levels.finish()
            runs.remove()
        counts.keep(levels, sizes, begins[0])
    except BaseException as error:
        counts.close()
        if isinstance(error, OSError) and error.errno in FULL:
            raise DataError(
                f"{counts.directory.parent}: disk full: n-grams of {tokens:,} tokens take up to "
                f"{readable(LEVEL_BYTES * order * tokens)} there; make room, or set TMPDIR to another place"
            ) from error
        raise
    return counts


def memory_plan(corpus: Corpus, order: int, memory: int | str) -> dict[str, int]:
    """Return the most memory that counting needs, by purpose; mapped files take room of `ulimit -v`."""
    tokens = _tokens_of(corpus)
    counting = min(checked_budget(memory), TOKEN_BYTES * tokens)
    return {"counting": counting, "n-grams in mapped files": 2 * LEVEL_BYTES * order * tokens}


def _tokens_of(corpus: Corpus) -> int:
    return sum(shard.ids.size + 2 * (shard.starts.size - 1) for shard in corpus.shards)


def checked_budget(memory: int | str) -> int:
    """Return a budget in bytes; raise a `ConfigError` if it is no size, or too small."""
    budget = bytes_of("memory", memory)
    if budget < SMALLEST:
        raise ConfigError(f"memory={memory}: must be at least 1 MB")
    return budget


def _sections(corpus: Corpus, most: int) -> Iterator[list[LineRange]]:
    """Cut a text into sections of whole lines with at most so many tokens, if no line is longer."""
    section: list[LineRange] = []
    room = most
    for number, shard in enumerate(corpus.shards):
        ends = shard.starts[1:] + 2 * np.arange(1, shard.starts.size)  # tokens up to the end of each line
        first, done = 0, 0
        while first < ends.size:
            last = int(np.searchsorted(ends, done + room, side="right"))
            if last == first and not section:  # a line that is longer than a section
                last += 1
            if last > first:
                section.append(LineRange(number, first, last))
                room -= int(ends[last - 1]) - done
                first, done = last, int(ends[last - 1])
            if first < ends.size:
                yield section
                section, room = [], most
    if section:
        yield section


def _tokens(corpus: Corpus, section: list[LineRange], ids: Ids, lines: LineChoice) -> Ids:
    """Return the tokens of a section."""
    starts = [corpus.shards[part.shard].starts[part.first : part.last + 1] for part in section]
    firsts = np.cumsum([0, *(shard.starts.size - 1 for shard in corpus.shards)])
    tokens = np.empty(sum(int(each[-1] - each[0]) + 2 * (each.size - 1) for each in starts), np.int32)
    done = 0
    for part, each in zip(section, starts, strict=True):
        first = int(firsts[part.shard]) + part.first
        done += fill_tokens(corpus.shards[part.shard].ids, each, first, *lines, ids, tokens[done:])
    return tokens[:done]


def held_tokens(corpus: Corpus, step: int) -> Ids:
    """Return the tokens of each `step`-th line."""
    whole_text = [LineRange(number, 0, shard.starts.size - 1) for number, shard in enumerate(corpus.shards)]
    return _tokens(corpus, whole_text, model_words(corpus, SYMBOLS)[1], LineChoice(step, held=True))


def _add_section(runs: LevelWriter, tokens: Ids, sizes: Counts, keys: Keys, threads: int) -> Starts:
    """Append the levels of a section to the runs; return where the bigrams of each word begin."""
    starts = np.concatenate([[0], np.cumsum(sizes)])
    begins = np.zeros(sizes.size + 1, np.int64)
    if runs.order > 1:
        places = np.empty(tokens.size, np.int32)
        list_places(tokens, starts[:-1].copy(), places)
        parts = cuts(starts, PARTS)
        most = max(int(starts[last] - starts[first]) for first, last in parts)
        free: SimpleQueue[tuple[LevelParts, SortScratch]] = SimpleQueue()
        for _ in range(threads + 2):
            free.put((new_parts(runs.order, max(most, sizes.size)), new_scratch(most)))

        def work(part: tuple[int, int]) -> tuple[LevelParts, SortScratch]:
            first, last = part
            found, scratch = free.get()
            here = places[starts[first] : starts[last]]
            add_part(tokens, here, sizes[first:last], first, runs.order, keys, found, scratch)
            return found, scratch

        for (first, last), (found, scratch) in zip(parts, in_order(parts, work, threads), strict=True):
            begins[first:last] = found.begins[1, : last - first] + runs.made[2]
            for level in range(2, runs.order + 1):
                made = found.made[level]
                if level < runs.order:
                    runs.begin(level, found.begins[level, :made])
                runs.append(level, found.keys[level, :made], found.counts[level, :made])
            free.put((found, scratch))
        begins[-1] = runs.made[2]
    return begins


def _merge(
    runs: LevelWriter, firsts: list[Starts], levels: LevelWriter, bits: int, threads: int, tell: OnPart
) -> Starts:
    """Merge the runs into levels; return where the bigrams of each word begin."""
    flat, words = np.concatenate(firsts), firsts[0].size - 1
    begins = np.zeros(words + 1, np.int64)
    if runs.order > 1:
        found = [CountLevel(np.zeros(0, np.int32), np.zeros(0, runs.kind), flat)]
        found += [runs.level(number) for number in range(2, runs.order + 1)]
        parts = cuts(np.sum(firsts, axis=0), PARTS)

        def work(part: tuple[int, int]) -> list[MergedLevel]:
            here = np.arange(*part)
            sizes = np.full(here.size, len(firsts))
            nodes = (here[:, None] + np.arange(len(firsts)) * (words + 1)).ravel()
            return list(_merged(found, sizes, nodes, bits))

        for (first, last), merged in zip(parts, in_order(parts, work, threads), strict=True):
            begins[first:last] = merged[0][2] + levels.made[2]
            for level, (keys, counts, _) in enumerate(merged, 2):
                if level < levels.order:
                    levels.begin(level, merged[level - 1][2])
                levels.append(level, keys, counts)
            tell(last, words)
        begins[-1] = levels.made[2]
    return begins


def _merged(levels: list[CountLevel], sizes: Counts, nodes: Starts, bits: int) -> Iterator[MergedLevel]:
    """Yield for each level from the second on: keys, counts, and where the n-grams before continue."""
    for level in range(1, len(levels)):
        begins, after = levels[level - 1].begins, levels[level]
        numbers = (begins[nodes + 1] - begins[nodes]).astype(np.int64)
        total = int(numbers.sum())
        edges = np.concatenate([[0], np.cumsum(sizes)])
        sums = np.concatenate([[0], np.cumsum(numbers)])
        scratch = new_scratch(int(np.diff(sums[edges]).max(initial=0)))
        merged = Merged(
            np.empty(total, np.int32), *(np.empty(n, np.int64) for n in (total, sizes.size, total, total))
        )
        n = merge_level(sizes, nodes, begins, after.keys, after.counts, bits, merged, scratch)
        yield merged.keys[:n], merged.counts[:n], merged.begins
        sizes, nodes = merged.sizes[:n], merged.nodes
