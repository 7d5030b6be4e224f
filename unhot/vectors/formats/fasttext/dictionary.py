r"""The dictionary of a fastText file: words and labels with counts, and the n-grams kept by pruning.

    int32 entries, int32 words, int32 labels, int64 tokens, int64 size of the prune index (-1: none)
    for each entry, words first        the bytes of the word, \0, int64 count, int8: 0 a word, 1 a label
    for each pair of the index         int32 bucket, int32 row, counted from the first row after the words

A word may contain any byte but \0, so the ends of the words are found one after another; everything else is
done on whole arrays.
"""

import struct
from array import array
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from unhot.errors import DataError
from unhot.types import Counts, Ids, Starts
from unhot.vectors.formats.fasttext.header import PLACES, Cursor, Header
from unhot.vectors.formats.table import checked_counts, decode
from unhot.vocab.vocabulary import encode_word

BEHIND = 9  # bytes of an entry after the \0 of its word
WORD, LABEL = 0, 1


class Pruned(NamedTuple):
    """The buckets that have rows in a pruned model, in the file's order."""

    buckets: Ids
    rows: Ids  # counted from the first row after the words


class Dictionary(NamedTuple):
    """The words and labels that have rows, in the order of the rows."""

    words: list[str]
    word_counts: Counts
    labels: list[str]
    label_counts: Counts
    tokens: int  # number of tokens in the training text
    pruned: Pruned | None = None


def read_dictionary(cursor: Cursor, header: Header, bad_utf8: str) -> Dictionary:
    """Read the dictionary of a file."""
    at = cursor.at
    entries, words, labels, tokens, kept = cursor.numbers("3i2q", "the dictionary's sizes")
    if words < 0 or labels < 0 or words + labels != entries:
        raise cursor.error(
            at,
            f"there are {entries} entries, {words} words and {labels} labels: words and labels must add up "
            "to the entries",
        )
    if tokens < 0:
        raise cursor.error(at + 12, f"the number of tokens is {tokens}: it must be >= 0")
    if not -1 <= kept <= header.bucket:
        raise cursor.error(
            at + 20,
            f"the prune index has {kept} pairs: it must be from -1 to {header.bucket}, the number of buckets",
        )
    cursor.need(entries * (1 + BEHIND), f"{entries} words and labels")
    start = cursor.at
    ends = _find_ends(cursor, entries)
    tails = sliding_window_view(cursor.all_bytes(), BEHIND)[ends + 1]  # [entries, 9]
    counts = np.ascontiguousarray(tails[:, :-1]).view("<i8")[:, 0].astype(np.int64, copy=False)
    wrong = np.flatnonzero((tails[:, -1] != np.repeat([WORD, LABEL], [words, labels])) | (counts < 0))
    if wrong.size:
        entry = int(wrong[0])
        raise cursor.error(
            int(ends[entry]) + 1,
            f"entry {entry + 1} has count {counts[entry]} and type {tails[entry, -1]}: "
            f"a count is >= 0, and {words} words (0) come before {labels} labels (1)",
        )
    names = _names(cursor, start, ends, bad_utf8)
    # if the n-grams would take too much time or memory, maxn must be damaged
    excess = header.subwords.excess(np.fromiter(map(len, names[:words]), np.int64, words), cursor.size)
    if excess is not None:
        raise cursor.error(PLACES["maxn"], excess)
    pruned = None if kept < 0 else _read_pruned(cursor, kept, header.bucket)
    return Dictionary(names[:words], counts[:words], names[words:], counts[words:], tokens, pruned)


def _find_ends(cursor: Cursor, entries: int) -> Starts:
    """Return the positions where the words end, from the cursor on.

    A plain loop over `find` is as fast as a compiled loop, which would have to be loaded first.
    """
    ends = array("q")
    find, add = cursor.map.find, ends.append
    at = cursor.at
    for _ in range(entries):
        end = find(b"\0", at)
        if end < 0:
            break
        add(end)
        at = end + 1 + BEHIND
    if len(ends) < entries or at > cursor.size:
        cursor.at = min(at, cursor.size)
        raise cursor.error(
            cursor.at, f"entry {len(ends)} of {entries} is not complete; the file is cut short or damaged"
        )
    cursor.at = at
    return np.array(ends, np.int64)


def _names(cursor: Cursor, start: int, ends: Starts, bad_utf8: str) -> list[str]:
    """Return the words and labels: the bytes of all entries without counts and types."""
    if not len(ends):
        return []
    entries = cursor.all_bytes()[start : cursor.at]
    is_name = np.ones(len(entries), np.bool_)
    for behind in range(1, BEHIND + 1):
        is_name[ends - start + behind] = False
    raw = entries[is_name].tobytes()[:-1]
    names = decode(raw, cursor.path, bad_utf8, lambda at: start + at + BEHIND * raw.count(b"\0", 0, at))
    return names.split("\0")


def _read_pruned(cursor: Cursor, kept: int, buckets: int) -> Pruned:
    at = cursor.at
    pairs = cursor.array("<i4", 2 * kept, f"a prune index of {kept} pairs").astype(np.int32).reshape(kept, 2)
    wrong = np.flatnonzero((pairs < 0).any(axis=1) | (pairs[:, 0] >= buckets) | (pairs[:, 1] >= kept))
    if wrong.size:
        bucket, row = pairs[wrong[0]].tolist()
        raise cursor.error(
            at + 8 * int(wrong[0]),
            f"bucket {bucket} has row {row}, but there are {buckets} buckets and {kept} rows",
        )
    if len(np.unique(pairs[:, 0])) < kept:
        raise cursor.error(at, "a bucket occurs twice in the prune index")
    return Pruned(pairs[:, 0], pairs[:, 1])


def dictionary_chunks(dictionary: Dictionary) -> Iterator[bytes]:
    """Yield the bytes of a dictionary in chunks."""
    words, labels = dictionary.words, dictionary.labels
    kept = -1 if dictionary.pruned is None else len(dictionary.pruned.buckets)
    yield struct.pack("<3i2q", len(words) + len(labels), len(words), len(labels), dictionary.tokens, kept)
    for kind, names, counts in (
        (WORD, words, dictionary.word_counts),
        (LABEL, labels, dictionary.label_counts),
    ):
        for name, count in zip(names, checked_counts(counts, len(names)).tolist(), strict=True):
            raw = encode_word(name)
            if 0 in raw:
                raise DataError(
                    f"the word {name!r} contains a NUL, which ends a word in fastText's files; rename it"
                )
            yield raw + struct.pack("<xqb", count, kind)
    if dictionary.pruned is not None:
        yield np.stack(dictionary.pruned, axis=1).astype("<i4").tobytes()
