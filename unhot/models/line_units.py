"""The units of lines: the different words of each line, and its different runs of words.

A unit is a number: the id of a word, or the number of words plus the bucket of a run (run_hashes.py). The end
of a line is the word `</s>`, as in fastText. Each unit is listed once for each line that has it: how often a
line repeats a word says more about its length than about its label.
"""

import tempfile
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.corpus.reading.lexicon import spelt
from unhot.errors import DataError
from unhot.kernels.jit import kernel
from unhot.lines.run_buckets import hash_words, next_runs, run_settings
from unhot.types import Counts, Ids, Starts
from unhot.vocab.subwords import LINE_END
from unhot.vocab.vocabulary import Vocabulary

MOST_LINES = 2**31 - 1  # the number of a line is a stamp of 32 bits, so that more stamps fit the cache
BLOCK = 1 << 20  # ids of a text that are listed at a time


class Units(NamedTuple):
    """The units of all lines of a text: those of line i are ids[starts[i] : starts[i + 1]]."""

    ids: Ids
    starts: Starts  # [lines + 1]
    lines: Counts  # [words + buckets] how many lines have each unit


def with_line_ends(vocabulary: Vocabulary, lines: int) -> tuple[Vocabulary, Ids]:
    """Return a vocabulary that has the word `</s>`, once for each line, and the new id of each old word."""
    if LINE_END in vocabulary.words:  # written in the text: rare, and its rank may change
        counts = dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))
        counts[LINE_END] += lines
        grown = Vocabulary.from_counts(counts)
        return grown, np.array([grown.index[word] for word in vocabulary.words], np.int32)
    before = int(np.searchsorted(-vocabulary.counts, -lines))
    while (
        before < len(vocabulary)
        and vocabulary.counts[before] == lines
        and vocabulary.words[before] < LINE_END
    ):
        before += 1
    words = [*vocabulary.words[:before], LINE_END, *vocabulary.words[before:]]
    ids = np.arange(len(vocabulary), dtype=np.int32)
    return Vocabulary(words, np.insert(vocabulary.counts, before, lines)), ids + (ids >= before).astype(
        np.int32
    )


def list_units(corpus: Corpus, vocabulary: Vocabulary, moved: Ids, longest: int, buckets: int) -> Units:
    """List the units of a text's lines in a temporary file.

    `vocabulary` and `moved` are those of `with_line_ends`.
    """
    if corpus.sentences >= MOST_LINES:
        raise DataError(f"{corpus.sentences:,} lines: a classifier learns from fewer than {MOST_LINES:,}")
    words = len(vocabulary)
    text, offsets = spelt(vocabulary.words)
    runs, end = run_settings(longest, buckets), vocabulary.words.index(LINE_END)
    hashes = np.zeros(words, np.uint64)
    hash_words(text, offsets, hashes)
    units = words + (buckets if longest > 1 else 0)
    stamps, lines = np.zeros(units, np.int32), np.zeros(units, np.int64)
    starts = np.zeros(corpus.sentences + 1, np.int64)
    line = 0
    with tempfile.TemporaryFile(prefix="unhot-") as file:  # what is mapped stays when it is closed
        try:
            for shard in corpus.shards:
                first = 0
                while first < shard.starts.size - 1:
                    last = _block_end(shard.starts, first)
                    ids = moved[shard.ids[shard.starts[first] : shard.starts[last]]]
                    begins = shard.starts[first : last + 1] - shard.starts[first]
                    room = np.zeros((ids.size + last - first) * max(1, longest), np.int32)
                    states = np.zeros(max(1, longest), np.uint64)
                    size = list_lines(
                        ids, begins, line, runs, hashes, end, states, stamps, lines, room, starts
                    )
                    file.write(room[:size].data)
                    line, first = line + last - first, last
            file.flush()
        except OSError as error:
            raise no_room(error) from error
        return Units(np.asarray(np.memmap(file, np.int32, "r")), starts, lines)


def no_room(error: OSError) -> DataError:
    """Return an error that says what has no room."""
    return DataError(
        f"no room in {tempfile.gettempdir()} for the words and runs of words of all lines "
        f"({error.strerror}): set TMPDIR to a folder with more"
    )


def _block_end(starts: Starts, first: int) -> int:
    """Return the end of a block of lines with about BLOCK ids, at least one line."""
    end = int(np.searchsorted(starts, starts[first] + BLOCK, side="right")) - 1
    return min(max(end, first + 1), starts.size - 1)


@kernel
def list_lines(
    ids: Any, begins: Any, first: Any, runs: Any, hashes: Any, end: Any, states: Any, stamps: Any, lines: Any,
    out: Any, starts: Any,
) -> Any:  # fmt: skip
    """Write the units of a block of lines to `out`; return their number.

    Line i of the block is line first + i of the text. `stamps` holds 1 + the last line that has each unit.
    """
    at = 0
    begin = starts[first]
    for line in range(begins.size - 1):
        mark, open_runs = first + line + 1, 0
        for place in range(begins[line], begins[line + 1] + 1):
            word = np.int64(end)
            if place < begins[line + 1]:
                word = np.int64(ids[place])
            if stamps[word] != mark:
                stamps[word] = mark
                lines[word] += 1
                out[at] = word
                at += 1
            if runs.longest > 1:
                # the buckets are written behind the units, and then compared with those that are there
                stop = next_runs(runs, states, open_runs, hashes[word], out, at)
                open_runs = min(open_runs + 1, runs.longest - 1)
                for i in range(at, stop):
                    unit = hashes.size + np.int64(out[i])
                    if stamps[unit] != mark:
                        stamps[unit] = mark
                        lines[unit] += 1
                        out[at] = unit
                        at += 1
        starts[mark] = begin + at
    return at
