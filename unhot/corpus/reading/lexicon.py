"""Merge the tables of the scanner threads into one vocabulary, and map their local ids to final ids."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from unhot.corpus.reading.scanner import ARENA, WORDS, WordTable, grown, merge
from unhot.corpus.reading.separators import PADDING
from unhot.corpus.reading.tokenizers import ESCAPE, escaped, unescaped
from unhot.errors import DataError
from unhot.types import Bytes, Counts, Ids, Starts, Words64
from unhot.vocab.vocabulary import Vocabulary, decode_word, decode_words, encode_word, joined_words

CHUNK = 1 << 13  # words examined at a time
INVALID = re.compile("[\udc80-\udcff]")


class Lexicon(NamedTuple):
    """All words of a text with their counts."""

    arena: bytes  # the words, one after another
    offsets: Starts  # [words + 1]
    counts: Counts  # [words]

    def raws(self, ids: Starts) -> list[bytes]:
        """Return the bytes of the words with the given ids."""
        starts, ends = self.offsets[ids].tolist(), self.offsets[ids + 1].tolist()
        return [self.arena[start:end] for start, end in zip(starts, ends, strict=True)]


def spelt(words: Iterable[str], escapes: bool = False) -> tuple[Bytes, Starts]:
    """Return the bytes of all words, one after another with PADDING at the end, and where each begins.

    `escapes`: escape the words as in token lists.
    """
    if not escapes:
        raw, offsets = joined_words([*words])
        return np.append(raw, np.zeros(PADDING, np.uint8)), offsets
    raws = [escaped(encode_word(word)) for word in words]
    return np.frombuffer(b"".join(raws) + bytes(PADDING), np.uint8).copy(), _offsets(raws)


def merge_tables(tables: list[WordTable]) -> tuple[WordTable, list[Ids]]:
    """Merge all tables into one; return it, and for each table an array from its ids to ids there."""
    whole, ids = tables[0], [np.arange(tables[0].state[WORDS], dtype=np.int32)]
    for table in tables[1:]:
        n = int(table.state[WORDS])
        whole, new = add_words(whole, table.arena, table.offsets[: n + 1], table.counts)
        ids.append(new)
    return whole, ids


def add_words(table: WordTable, arena: Bytes, offsets: Starts, counts: Counts) -> tuple[WordTable, Ids]:
    """Add words to a table; return the table (a bigger one if it had to grow) and the words' ids there."""
    ids = np.empty(len(offsets) - 1, np.int32)
    with np.errstate(over="ignore"):  # hashes overflow on purpose; NumPy warns only in plain Python
        done = merge(arena, offsets, counts, table, ids, 0)
        while done < len(ids):
            table = grown(table, int(offsets[-1]))
            done = merge(arena, offsets, counts, table, ids, done)
    return table, ids


def lexicon(table: WordTable, escapes: bool) -> Lexicon:
    """Return the words of a table; `escapes`: they come from token lists, so unescape them."""
    n, used = int(table.state[WORDS]), int(table.state[ARENA])
    words = Lexicon(table.arena[:used].tobytes(), table.offsets[: n + 1], table.counts[:n])
    if not escapes or ESCAPE not in words.arena:
        return words
    raws = [unescaped(raw) for raw in words.raws(np.arange(n))]
    return Lexicon(b"".join(raws), _offsets(raws), words.counts)


def invalid_tokens(words: Lexicon) -> int:
    """Return the number of tokens whose bytes are not valid UTF-8."""
    total = 0
    for first in range(0, len(words.counts), CHUNK):
        last = min(first + CHUNK, len(words.counts))
        if words.arena[words.offsets[first] : words.offsets[last]].isascii():
            continue
        raws = words.raws(np.arange(first, last))
        if INVALID.search(decode_word(b"\n".join(raws))):
            total += sum(
                int(words.counts[first + i])
                for i, text in enumerate(decode_words(raws))
                if INVALID.search(text)
            )
    return total


def ranked(words: Lexicon, min_count: int, max_vocab: int | None) -> Starts:
    """Return the ids of the words to keep, most frequent first; words of equal count by their bytes."""
    ids = np.flatnonzero(words.counts >= min_count)
    # words below the count at the edge need not be sorted; ties at the edge must be
    if max_vocab is not None and len(ids) > max_vocab:
        edge = np.partition(words.counts[ids], len(ids) - max_vocab)[len(ids) - max_vocab]
        ids = ids[words.counts[ids] >= edge]
    ids = _sorted(words, ids)
    return ids[:max_vocab]


def _sorted(words: Lexicon, ids: Starts) -> Starts:
    """Sort words by falling count, then bytes: count and first 16 bytes in NumPy, ties in Python."""
    parts = [ids[i : i + CHUNK] for i in range(0, len(ids), CHUNK)]
    keys = [
        np.concatenate([np.empty(0, np.uint64), *(_bytes_at(words, part, skip) for part in parts)])
        for skip in (0, 8)
    ]
    order = np.lexsort((keys[1], keys[0], -words.counts[ids]))
    ids = ids[order]
    same = np.diff(words.counts[ids]) == 0
    for key in keys:
        same &= key[order][1:] == key[order][:-1]
    ties = np.flatnonzero(same)
    for run in np.split(ties, np.flatnonzero(np.diff(ties) > 1) + 1) if len(ties) else ():
        part = slice(int(run[0]), int(run[-1]) + 2)
        raws = words.raws(ids[part])
        ids[part] = ids[part][sorted(range(len(raws)), key=raws.__getitem__)]
    return ids


def _bytes_at(words: Lexicon, ids: Starts, skip: int) -> Words64:
    """Return eight bytes of words, behind the first `skip`, as numbers that sort like the bytes."""
    starts, ends = words.offsets[ids], words.offsets[ids + 1]
    places = starts[:, None] + skip + np.arange(8)  # [ids, 8]
    found = np.where(
        places < ends[:, None],
        np.frombuffer(words.arena, np.uint8)[np.minimum(places, len(words.arena) - 1)],
        np.uint8(0),
    )
    return found.view(">u8").ravel().astype(np.uint64)


def cut_vocabulary(words: Lexicon, min_count: int, max_vocab: int | None) -> tuple[Vocabulary, Ids]:
    """Return the vocabulary after dropping rare words, and each word's final id (-1: dropped)."""
    if not len(words.counts):
        raise DataError("the text has no words: give text, and a tokenizer that fits it")
    ids = ranked(words, min_count, max_vocab)
    if not len(ids):
        raise DataError(
            f"min_count={min_count} drops all {words.counts.sum()} words ({len(words.counts)} "
            f"different ones): the highest count is {words.counts.max()}; lower min_count"
        )
    return Vocabulary(decode_words(words.raws(ids)), words.counts[ids]), _finals(len(words.counts), ids)


def given_vocabulary(table: WordTable, escapes: bool, vocabulary: Vocabulary) -> tuple[Vocabulary, Ids]:
    """Return the vocabulary given by the user, and the final id (-1: dropped) of each word of the table."""
    table, ids = add_words(table, *spelt(vocabulary.words, escapes), np.zeros(len(vocabulary), np.int64))
    return vocabulary, _finals(int(table.state[WORDS]), ids)


def extended_vocabulary(
    table: WordTable, escapes: bool, known: Vocabulary, min_count: int, max_vocab: int | None
) -> tuple[Vocabulary, Ids]:
    """Add the frequent words of a text to a known vocabulary, with summed counts; also return final ids.

    The result has at most `max_vocab` words, but no known word is dropped.
    """
    text = lexicon(table, escapes)
    table, ids = add_words(table, *spelt(known.words, escapes), known.counts)
    new = ranked(text, min_count, None)
    new = new[~np.isin(new, ids)][: None if max_vocab is None else max(0, max_vocab - len(ids))]
    words = lexicon(table, escapes)
    stay = _sorted(words, np.union1d(new, ids))
    final = _finals(len(words.counts), stay)
    return Vocabulary(decode_words(words.raws(stay)), words.counts[stay]), final


def _finals(words: int, ids: Ids | Starts) -> Ids:
    """Return the final id of each of `words` words, if `ids` are kept, in this order (-1: dropped)."""
    final = np.full(words, -1, np.int32)
    final[ids] = np.arange(len(ids), dtype=np.int32)
    return final


def check_given(counts: Mapping[str, int] | Vocabulary, min_count: int, max_vocab: int | None) -> Vocabulary:
    """Return the vocabulary of a mapping word -> count; raise a `DataError` if no word is left.

    A `Vocabulary` is returned as it is.
    """
    if isinstance(counts, Vocabulary):
        if len(counts.index) and counts.is_ordered():
            return counts
        raise DataError(
            "counts: the vocabulary has no words, or they are not ordered by their counts; make one with "
            "Vocabulary.from_counts"
        )
    named = {word: count for word, count in counts.items() if word != ""}  # tokens are never empty
    vocabulary = Vocabulary.from_counts(named, min_count=min_count, max_vocab=max_vocab)
    if not len(vocabulary):
        raise DataError(
            f"counts: none of the {len(counts)} words has a count >= min_count={min_count}: lower min_count, "
            "or give more words"
        )
    return vocabulary


def _offsets(raws: list[bytes]) -> Starts:
    return np.cumsum([0, *map(len, raws)], dtype=np.int64)
