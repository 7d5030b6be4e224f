"""Phrases joined in a text of ids, which becomes another text, a corpus to train on, or lines of words."""

import contextlib
import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import WordChoice, chosen_vocabulary, finished
from unhot.corpus.phrases.growing_text import GrowingText, chunks
from unhot.corpus.phrases.pair_kernels import Rules, add_counts, fill_map, join, new_map, next_cut, spell
from unhot.corpus.reading.lexicon import add_words, spelt
from unhot.corpus.reading.scanner import BREAKS, TOKENS, new_table, remap
from unhot.corpus.reading.text_blocks import Block
from unhot.corpus.reading.tokenizers import BLANKS
from unhot.corpus.report import Report
from unhot.corpus.shards import WORDS_ONLY, ShardWriter, map_shards
from unhot.corpus.workplace import FULL, DiskFull, Workplace
from unhot.errors import ConfigError, DataError
from unhot.threads import in_order
from unhot.types import Bytes, Ids, Starts
from unhot.vocab.vocabulary import Vocabulary, canonical, decode_word

Parts = tuple[str, ...]  # a word, connectors, a word


def connector_flags(index: dict[str, int], connectors: Collection[str]) -> Bytes:
    """1 for each word that is a connector."""
    flags = np.zeros(len(index), np.uint8)
    flags[[index[word] for word in connectors if word in index]] = 1
    return flags


def joined(parts: Iterable[str], delimiter: str) -> str:
    """A phrase as one word, as it comes back from a file: bytes that are not UTF-8 may be, next to others."""
    return canonical(delimiter.join(parts))


def joined_words(
    words: Iterable[str], phrases: Mapping[Parts, str], connectors: frozenset[str]
) -> Iterator[str]:
    """A sentence with phrases joined; `phrases`: parts -> phrase.

    This is what `pair_kernels.join` does, in plain Python.
    """
    pending: list[str] = []
    for word in words:
        if word in connectors:
            if pending:
                pending.append(word)
            else:
                yield word
            continue
        phrase = phrases.get((*pending, word)) if pending else None
        if phrase is not None:
            yield phrase
            pending = []
        else:
            yield from pending
            pending = [word]
    yield from pending


def join_text(
    text: GrowingText,
    phrases: Iterable[Parts],
    connectors: Collection[str],
    delimiter: str,
    folder: Path,
    threads: int,
) -> GrowingText:
    """The text with phrases joined, written to a folder.

    Words that only joining made come behind all others.
    """
    index = dict(text.index)
    rules = joining_rules(index, phrases, connectors, delimiter)
    counts = np.zeros(len(index), np.int64)

    def work(chunk: tuple[Ids, Ids]) -> tuple[Ids, Ids]:
        ids, breaks = chunk
        ended = breaks.size > 0 and breaks[-1] == ids.size
        breaks = breaks if ended else np.append(breaks, np.int32(ids.size))
        out, ends = np.empty(ids.size, np.int32), np.empty(breaks.size, np.int32)
        n = join(ids, breaks, rules, out, ends)
        return out[:n], ends if ended else ends[:-1]

    cuttable = chunks(text.shards, lambda ids, at, end: int(next_cut(ids, at, end, rules)))
    writer = ShardWriter(folder)
    with contextlib.closing(in_order(cuttable, work, threads)) as results:
        for out, ends in results:
            add_counts(out, counts)
            writer.append(out, ends)
    writer.close()
    return GrowingText(map_shards(folder, len(writer.lengths)), index, counts)


def joining_rules(
    index: dict[str, int], phrases: Iterable[Parts], connectors: Collection[str], delimiter: str
) -> Rules:
    """What to join, in ids; phrases get an id in `index`.

    Phrases of words that are not there are left out.
    """
    entries: dict[tuple[int, int], int] = {}
    possible = [parts for parts in phrases if all(part in index for part in parts)]
    for parts in possible:
        index.setdefault(joined(parts, delimiter), len(index))
    lefts = len(index)
    for parts in possible:
        left = index[parts[0]]
        for part in parts[1:-1]:
            key = left, index[part]
            if key not in entries:
                entries[key] = lefts
                lefts += 1
            left = entries[key]
        entries[left, index[parts[-1]]] = index[joined(parts, delimiter)]
    table, begins = new_map(len(entries)), np.zeros(lefts, np.uint8)
    keys = np.array([*entries], np.int32).reshape(-1, 2)
    fill_map(table, keys[:, 0].copy(), keys[:, 1].copy(), np.array([*entries.values()], np.int64))
    begins[keys[:, 0]] = 1
    return Rules(table, begins, connector_flags(index, connectors))


def encoded_text(
    text: GrowingText, report: Report, choice: WordChoice, place: Workplace, threads: int
) -> Corpus:
    """A corpus of a text, with the words that stay; `report`: of what it was read from."""
    vocabulary, final = _vocabulary(text, choice)

    def work(chunk: tuple[Ids, Ids]) -> Block:
        block = Block()
        block.ids, block.breaks = chunk[0].copy(), chunk[1]
        block.place[TOKENS], block.place[BREAKS] = block.ids.size, block.breaks.size
        remap(block.ids, block.breaks, block.place, final, WORDS_ONLY)
        return block

    writer = ShardWriter(place.work)
    with contextlib.closing(in_order(chunks(text.shards), work, threads)) as results:
        for block in results:
            writer.append(*block.sentences())
    report = dataclasses.replace(
        report,
        words=text.tokens,
        kept=int(text.counts[final >= 0].sum()),
        types=int(np.count_nonzero(text.counts)),
    )
    return finished(place, vocabulary, writer, report)


def _vocabulary(text: GrowingText, choice: WordChoice) -> tuple[Vocabulary, Ids]:
    """The words that stay, and the final id of each (-1: dropped)."""
    seen = np.flatnonzero(text.counts)  # others are there in phrases only
    every = list(text.index)
    spelling, offsets = spelt([every[i] for i in seen])
    table, ids = add_words(new_table(seen.size, spelling.size), spelling, offsets, text.counts[seen])
    vocabulary, chosen = chosen_vocabulary(table, False, choice)
    final = np.full(len(every), -1, np.int32)
    final[seen] = chosen[ids]
    return vocabulary, final


def write_text(text: GrowingText, file: IO[bytes]) -> None:
    """Write a text as lines of words with spaces between."""
    spelling, offsets = spelt(text.index)
    _check_blanks(spelling, offsets)
    lengths = np.diff(offsets) + 1
    for ids, breaks in chunks(text.shards):
        out = np.empty(int(lengths[ids].sum()), np.uint8)
        spell(ids, breaks, spelling, offsets, out)
        try:
            file.write(out.data)
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise DiskFull(
                "disk full: the joined text does not fit where it is written: make room there, or write to "
                "another place"
            ) from error


def check_delimiter(delimiter: str) -> None:
    """A `ConfigError` if phrases would be several words in a text."""
    if any(chr(blank) in delimiter for blank in BLANKS):
        raise ConfigError(
            f"delimiter={delimiter!r}: in a text, phrases with white space are several words; use another "
            "one, such as _"
        )


def _check_blanks(spelling: Bytes, offsets: Starts) -> None:
    """A `DataError` if a word would be several ones in a text."""
    raw = spelling[: offsets[-1]].tobytes()
    at = max(raw.find(bytes([blank])) for blank in BLANKS)
    if at >= 0:
        word = int(np.searchsorted(offsets, at, side="right")) - 1
        blank = decode_word(raw[offsets[word] : offsets[word + 1]])
        raise DataError(
            f"the word {blank!r:.80} holds white space: as text it would be several words; encode instead "
            "of writing text"
        )
