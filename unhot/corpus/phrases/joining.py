"""Join phrases in a text of ids; write the result as another text, as a corpus, or as lines of words."""

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import Progress, WordChoice, chosen_vocabulary, encode, finished
from unhot.corpus.indexed_folder import read_only
from unhot.corpus.phrases.pair_kernels import Rules, add_counts, fill_map, join, new_map, next_cut, spell
from unhot.corpus.reading.lexicon import add_words, spelt
from unhot.corpus.reading.scanner import BREAKS, TOKENS, Block, new_table, remap
from unhot.corpus.reading.sources import Source
from unhot.corpus.reading.tokenizers import BLANKS, Tokenizer
from unhot.corpus.report import Report
from unhot.corpus.shards import WORDS_ONLY, Shard, ShardWriter, map_shards
from unhot.corpus.workplace import DiskFull, Workplace
from unhot.errors import ConfigError, DataError
from unhot.sizes import FULL
from unhot.threads import in_order
from unhot.types import Bytes, Counts, Ids, Starts
from unhot.vocab.vocabulary import Vocabulary, canonical, decode_word

CHUNK = 1 << 20  # tokens processed at a time

Parts = tuple[str, ...]  # a word, connectors, a word


@dataclasses.dataclass(frozen=True)
class GrowingText:
    """A text whose phrases are being joined: ids on disk, and a list of words that grows with every pass.

    The words need not be ordered by count.
    """

    shards: list[Shard]
    index: dict[str, int]  # word -> id, in the order of the ids
    counts: Counts  # [words] how often each occurs in the shards; 0: only inside phrases

    @property
    def tokens(self) -> int:
        """The number of tokens in the text."""
        return sum(shard.ids.size for shard in self.shards)


def opened_text(
    source: Source | Corpus,
    tokenizer: Tokenizer | None,
    column: str | None,
    threads: int,
    progress: Progress | None,
    **how: Any,
) -> contextlib.AbstractContextManager[Corpus]:
    """Encode a text with all its words, or take a corpus as it is; the parameters are those of `encode`."""
    if isinstance(source, Corpus):
        if tokenizer is not None or column is not None:
            raise ConfigError(
                "tokenizer or column given with an encoded Corpus, whose text is split already: leave them "
                "out"
            )
        return contextlib.nullcontext(source)
    return encode(
        source,
        tokenizer="whitespace" if tokenizer is None else tokenizer,
        column=column,
        min_count=1,
        threads=threads,
        progress=progress,
        **how,
    )


def whole_text(corpus: Corpus) -> GrowingText:
    """Return the text of a corpus without empty lines; raise a `DataError` if it lacks words."""
    corpus.check_windows()
    if corpus.ids != corpus.words:
        raise DataError(
            f"the corpus lacks {corpus.words - corpus.ids:,} of the text's {corpus.words:,} words (too rare "
            "ones were dropped), so words next to each other in it may not be neighbours in the text: encode "
            "it with min_count=1, or give the text itself"
        )
    # count again: the vocabulary's counts may come from the user, and kernels rely on exact counts
    counts = np.zeros(len(corpus.vocabulary), np.int64)
    for shard in corpus.shards:
        add_counts(shard.ids, counts)
    shards = corpus.shards
    if corpus.keeping.empty_lines:
        shards = [Shard(shard.ids, read_only(np.unique(shard.starts))) for shard in shards]
    return GrowingText(shards, corpus.vocabulary.index, counts)


def chunks(
    shards: list[Shard], cut: Callable[[Ids, int, int], int] | None = None
) -> Iterator[tuple[Ids, Ids]]:
    """Yield all tokens in chunks of about CHUNK, each with the ends of sentences in it.

    `cut(ids, at, end)` returns the first position from `at` on where a chunk may end inside a sentence; None:
    anywhere.
    """
    for shard in shards:
        begin = 0
        while begin < shard.ids.size:
            end = min(begin + CHUNK, shard.ids.size)
            following = int(np.searchsorted(shard.starts, end))  # the first sentence end at or after `end`
            if cut is not None and shard.starts[following] != end:
                end = int(cut(shard.ids, end, int(shard.starts[following])))
            first = int(np.searchsorted(shard.starts, begin, side="right"))
            last = int(np.searchsorted(shard.starts, end, side="right"))
            yield shard.ids[begin:end], (shard.starts[first:last] - begin).astype(np.int32)
            begin = end


class JoiningPlace(Workplace):
    """A temporary place for texts with joined phrases; nothing is published."""

    needs = "the text with phrases needs"


def connector_flags(index: dict[str, int], connectors: Collection[str]) -> Bytes:
    """Return an array with 1 for each word that is a connector, else 0."""
    flags = np.zeros(len(index), np.uint8)
    flags[[index[word] for word in connectors if word in index]] = 1
    return flags


def joined(parts: Iterable[str], delimiter: str) -> str:
    """Join parts into one word, decoded as if read from a file: invalid bytes may join to valid UTF-8."""
    return canonical(delimiter.join(parts))


def joined_words(
    words: Iterable[str], phrases: Mapping[Parts, str], connectors: frozenset[str]
) -> Iterator[str]:
    """Yield the words of a sentence with phrases joined; `phrases`: parts -> phrase.

    This is `pair_kernels.join` in plain Python.
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
    """Write the text with phrases joined to a folder, and return it.

    Words that joining created get ids after all others.
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
    """Return the rules for joining phrases, in ids; add the phrases to `index`.

    Phrases with a word that is not in `index` are left out.
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
    """Write a text as a corpus with the chosen words; `report`: the report of the original text."""
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
    """Return the vocabulary, and the final id of each word of the text (-1: dropped)."""
    seen = np.flatnonzero(text.counts)  # the other words occur only inside phrases
    every = list(text.index)
    spelling, offsets = spelt([every[i] for i in seen])
    table, ids = add_words(new_table(seen.size, spelling.size), spelling, offsets, text.counts[seen])
    vocabulary, chosen = chosen_vocabulary(table, False, choice)
    final = np.full(len(every), -1, np.int32)
    final[seen] = chosen[ids]
    return vocabulary, final


def write_text(text: GrowingText, file: IO[bytes]) -> None:
    """Write a text as lines of words with spaces between them."""
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
                "disk full: there is no room for the joined text: make room, or write it to another place"
            ) from error


def check_delimiter(delimiter: str) -> None:
    """Raise a `ConfigError` if the delimiter has white space, which would split phrases in a text."""
    if any(chr(blank) in delimiter for blank in BLANKS):
        raise ConfigError(
            f"delimiter={delimiter!r}: contains white space, which splits phrases again in a text; use "
            "another delimiter, such as _"
        )


def _check_blanks(spelling: Bytes, offsets: Starts) -> None:
    """Raise a `DataError` if a word has white space, which would split it in a text."""
    raw = spelling[: offsets[-1]].tobytes()
    at = max(raw.find(bytes([blank])) for blank in BLANKS)
    if at >= 0:
        word = int(np.searchsorted(offsets, at, side="right")) - 1
        blank = decode_word(raw[offsets[word] : offsets[word + 1]])
        raise DataError(
            f"the word {blank!r:.80} contains white space: in a text it would be several words; encode the "
            "corpus instead of writing text"
        )
