"""Encode a text: turn any source of text into a corpus of ids, in one pass.

    1. read blocks of text; scanner threads turn each into local ids and count words      -> spool on disk
    2. merge the threads' tables; drop rare words and order the others by count
    3. replace local ids by final ids                                                      -> shards on disk

The result does not depend on the number of threads or on the size of the blocks.
"""

import contextlib
import dataclasses
import functools
import os
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from unhot.corpus.corpus import BESIDE, Corpus, checked_names, save_corpus_index
from unhot.corpus.indexed_folder import save_vocabulary
from unhot.corpus.reading.lexicon import (
    Lexicon,
    check_given,
    cut_vocabulary,
    extended_vocabulary,
    given_vocabulary,
    invalid_tokens,
    lexicon,
    merge_tables,
)
from unhot.corpus.reading.scanner import NULS, PLACE, WHITE, Block, WordTable, grown, new_table, remap, scan
from unhot.corpus.reading.sources import BLOCK, Column, Source, TextReader
from unhot.corpus.reading.spool import PART, Spool
from unhot.corpus.reading.tokenizers import NAMES, TEXT, TOKEN_LISTS, Tokenizer
from unhot.corpus.report import LONGEST_WORD, Report
from unhot.corpus.shards import SHARD_IDS, WORDS_ONLY, Keeping, ShardWriter, map_shards
from unhot.corpus.workplace import Workplace
from unhot.errors import ConfigError, DataError, NothingLearned, at_least
from unhot.threads import in_order
from unhot.types import Ids, Starts
from unhot.vocab.vocabulary import Vocabulary, check_limits, encode_word

C = TypeVar("C", bound=Corpus)
Progress: TypeAlias = Callable[[int, int | None], None]

PROGRESS_SECONDS = 0.1


class EncodingSizes(NamedTuple):
    """Sizes of buffers and files; they change speed and memory, but not the encoded sentences."""

    block: int = BLOCK  # bytes of text in a block
    part: int = PART  # bytes in a part of the spool
    shard: int = SHARD_IDS  # ids in a shard
    table: int = 1 << 19  # words that fit into all threads' tables together at the beginning


class WordChoice(NamedTuple):
    """Which words the vocabulary keeps."""

    min_count: int
    max_vocab: int | None
    given: Vocabulary | None = None  # the vocabulary to use instead of one made from the text
    known: Vocabulary | None = None  # words that are always kept; their counts are added
    skipped: Collection[str] = ()  # words that are read as white space


def encode(
    source: Source,
    *,
    directory: str | os.PathLike[str] | None = None,
    tokenizer: Tokenizer = "whitespace",
    min_count: int = 5,
    max_vocab: int | None = None,
    counts: Mapping[str, int] | Vocabulary | None = None,
    known: Vocabulary | None = None,
    skipped: Collection[str] = (),
    column: str | None = None,
    empty_lines: bool = False,
    nulls: bool = True,
    unknown: bool = False,
    beside: Mapping[str, Source | Column | Callable[[], Source]] | None = None,
    strict: bool = False,
    threads: int = 2,
    progress: Progress | None = None,
    kind: str | None = None,
    header: str | Sequence[str] | None = None,
    separator: str | None = None,
    force: bool = False,
) -> Corpus:
    """Turn text into ids on disk and return them, memory-mapped, as a `Corpus`.

    source      one of: a path (file, folder with all files below it, pattern with * ? [ ], or "-" for
                standard input; compressed or not); a list of paths; an iterable, such as a generator, of
                strings (each is a sentence) or of token lists (taken as they are); a table (parquet files,
                an Arrow table or data frame, a Hugging Face dataset, or rows that are dicts). A list or
                tuple of strings is read as paths if all of them exist, as sentences if none exists, and is
                refused otherwise.
    directory   where to keep the result, see `Corpus.open`; None: a temporary directory, which is removed
                together with the corpus
    tokenizer   "whitespace", "words", "text8" (see tokenizers.py), or a function: line -> tokens; words of
                more than 1,048,576 bytes are left out, and the report counts them
    min_count   drop words that occur less often
    max_vocab   keep at most this many words
    counts      a vocabulary, or a mapping word -> count, to use instead of the words of the text
    known       a vocabulary to extend: all its words are kept, and its counts are added to those of the text
    skipped     words that are read as white space; the report counts them
    column      the column of a table that holds the sentences, as strings or lists of tokens; None: the
                column `text`, or else the only column that can hold sentences
    empty_lines keep lines without a known word as empty sentences, so that sentence i is line i of the text,
                item i of an iterable, row i of a table
    nulls       with empty_lines, rows of a table without a text and bad rows are empty sentences, too;
                otherwise they are left out
    unknown     keep the places of words outside the vocabulary, as ids of -1
    beside      name -> data that belongs to the text line by line, such as labels or users: another source,
                or Column(name) of the same table, or a function that returns a source, which is called when
                the text was read. It is split at white space, or is token lists. All its words are kept, in
                a vocabulary of its own; the result is the corpus `beside[name]`. This implies empty_lines.
    strict      raise a `DataError` at the first bad row of a table instead of counting it
    threads     number of threads that scan text
    progress    called now and then with the bytes read so far and the bytes in total (None if unknown)
    kind, header, separator, force   how files are read, see `format_of` in unhot/rows/opening.py
    """
    check_limits(min_count, max_vocab)
    at_least("threads", threads, 1)
    given = check_given(counts, min_count, max_vocab) if counts is not None else None
    sizes = EncodingSizes()
    keeping = Keeping(empty_lines or bool(beside), unknown)
    form: dict[str, Any] = {"kind": kind, "header": header, "separator": separator, "force": force}
    text = TextReader(source, tokenizer, column, keeping.empty_lines and nulls, strict, **form)
    beside = beside or {}
    checked_names(beside)
    with Workplace(directory) as place:

        def encode_some(functions: bool) -> dict[str, int]:
            return {
                name: _encode_beside(
                    other() if callable(other) else other, source, place, name, threads, form
                )
                for name, other in beside.items()
                if callable(other) == functions
            }

        lines = encode_some(functions=False)
        choice = WordChoice(min_count, max_vocab, given, known, skipped)
        return encode_input(
            text,
            choice,
            place,
            threads,
            sizes,
            progress,
            keeping,
            lambda: lines | encode_some(functions=True),
        )


def warm_up_encoding(*tokenizers: Tokenizer) -> None:
    """Compile the kernels of the named tokenisers (default: all), or load them from the disk cache."""
    for tokenizer in tokenizers or NAMES:
        _encode_once(tokenizer if isinstance(tokenizer, str) else "whitespace")


@functools.cache
def _encode_once(tokenizer: str) -> None:
    encode(iter(["a b"]), tokenizer=tokenizer, min_count=1).close()


def encode_input(
    text: TextReader,
    choice: WordChoice,
    place: Workplace,
    threads: int,
    sizes: EncodingSizes,
    progress: Progress | None = None,
    keeping: Keeping = WORDS_ONLY,
    beside: Callable[[], Mapping[str, int]] = dict,
) -> Corpus:
    """Run the three steps of encoding.

    `beside` is called when the text was read: name -> number of lines of each corpus beside the text.
    """
    free = list[Block]()  # which are used again
    spool = Spool(place.work, sizes.part)
    writer = ShardWriter(place.work, sizes.shard, empty_lines=keeping.empty_lines)

    def estimate() -> tuple[float, bool]:
        done, total = text.progress()
        ids = spool.bytes * (total / done if total and done else 1)
        # while a part of the spool is copied into a shard, both are on disk
        return ids + min(ids, spool.part), bool(total)

    place.estimate = estimate

    def keep(block: Block) -> None:
        spool.write(block)
        scanner.odd += block.place[NULS:]
        free.append(block)
        place.check_room(spool.bytes)

    scanner = Scanner(text, threads, sizes.table // threads, keeping.empty_lines)
    _pipe(_reported(text, free, sizes.block, progress), scanner.scan, keep, threads)
    vocabulary, finals, report = count(text, scanner, choice)

    def remapped(block: Block) -> Block:
        remap(block.ids, block.breaks, block.place, finals[block.table], keeping)
        return block

    _pipe(spool.read(), remapped, lambda block: writer.append(*block.sentences()), threads)
    return finished(place, vocabulary, writer, report, keeping, beside())


def _encode_beside(
    other: Source | Column,
    text: Source,
    place: Workplace,
    name: str,
    threads: int,
    form: dict[str, Any],
) -> int:
    """Write the corpus of data beside a text; return the number of its lines."""
    source = text if isinstance(other, Column) else other
    column = other.name if isinstance(other, Column) else None
    if column is not None and isinstance(text, Iterator):
        raise ConfigError(
            f"beside: the column {column!r} needs a second pass, but a {type(text).__name__} can be read "
            "only once: give a table, or a list of rows"
        )
    with encode(
        source,
        directory=place.work / BESIDE / name,
        min_count=1,
        column=column,
        empty_lines=True,
        threads=threads,
        **form if isinstance(other, Column) else {"force": form["force"]},
    ) as corpus:
        return corpus.sentences


def finished(
    place: Workplace,
    vocabulary: Vocabulary,
    writer: ShardWriter,
    report: Report,
    keeping: Keeping = WORDS_ONLY,
    beside: Mapping[str, int] | None = None,
    kind: type[C] = Corpus,  # type: ignore[assignment]
) -> C:
    """Publish the shards that were written and return their corpus; `report`: numbers of what was read."""
    writer.close()
    if not report.kept:
        raise NothingLearned(
            f"none of the {len(vocabulary)} words in counts occurs in the text (counts: the vocabulary that "
            "was given, or that of the model): check the text and the tokenizer"
        )
    report = dataclasses.replace(report, sentences=sum(lines for _, lines in writer.lengths))
    beside = beside or {}
    for name, lines in beside.items():
        if lines != report.sentences:
            raise DataError(
                f"beside: {name} has {lines} lines, the text has {report.sentences}: give one line for each "
                "line of the text; it may be empty"
            )
    save_vocabulary(place.work, vocabulary)
    place.publish()
    corpus = kind(
        place.directory,
        vocabulary,
        map_shards(place.directory, len(writer.lengths)),
        report,
        keeping=keeping,
        beside={name: Corpus.open(place.directory / BESIDE / name) for name in beside},
        temporary=place.temporary,
    )
    save_corpus_index(corpus)
    return corpus


class Scanner:
    """Step 1 of encoding: scan blocks of text, with one table of words for each thread."""

    def __init__(self, text: TextReader, threads: int, words: int, empty_lines: bool) -> None:
        """Take the text to scan; `words`: how many words a new table has room for."""
        self.text = text
        self.empty_lines = empty_lines
        self.tables: list[WordTable] = [new_table(words, 8 * words) for _ in range(threads)]
        self.odd = np.zeros(PLACE - NULS, np.int64)  # NUL bytes, and words that are too long
        self._free = list(range(threads))  # tables that no thread uses

    def scan(self, block: Block) -> Block:
        """Scan a block with a free table; this runs in a thread."""
        text, size = self.text.normalise(block.text, block.size, block.normalised)
        block.normalised = text
        most = size // 2 + 1  # at most this many tokens, or sentences with a token: "a a a"
        block.reserve_ids(most, 1 + (size if self.empty_lines else most))
        block.place[:] = 0
        block.table = self._free.pop()
        table = self.tables[block.table]
        separators = TOKEN_LISTS if self.text.token_lists else TEXT
        # hashes overflow on purpose; NumPy warns only when the kernels run as plain Python
        with np.errstate(over="ignore"):
            while not scan(
                text, size, separators, table, block.ids, block.breaks, block.place, self.empty_lines
            ):
                table = grown(table, size)
        self.tables[block.table] = table
        self._free.append(block.table)
        return block


def count(text: TextReader, scanner: Scanner, choice: WordChoice) -> tuple[Vocabulary, list[Ids], Report]:
    """Step 2 of encoding: return the vocabulary, each table's final ids (-1: dropped), and the report.

    The last final id of each table is -1: that of the words that are too long.
    """
    table, ids = merge_tables(scanner.tables)
    words = lexicon(table, text.token_lists)
    counts = words.counts.copy()  # the counts in the table may change below
    skipped = _places(words, choice.skipped)
    left_out = int(counts[skipped].sum())
    words.counts[skipped] = counts[skipped] = 0
    nuls, long_words = scanner.odd.tolist()
    if long_words and not counts.size:
        raise DataError(
            f"every word of the text ({long_words:,}) is longer than {LONGEST_WORD:,} bytes: check that this "
            "is text with white space between words, or choose another tokenizer"
        )
    vocabulary, final = chosen_vocabulary(table, text.token_lists, choice)
    final[skipped] = WHITE
    report = Report(
        files=text.files,
        bytes=text.bytes,
        words=int(counts.sum()),
        kept=int(counts[final[: counts.size] >= 0].sum()),
        types=counts.size,
        invalid_utf8=invalid_tokens(words._replace(counts=counts)),
        nul_bytes=nuls,
        byte_order_marks=text.byte_order_marks,
        long_words=long_words,
        skipped=left_out,
        rows=text.rows.rows,
        bad_rows=text.rows.bad,
        said=(*text.rows.recognized, *text.rows.lines()),
    )
    return vocabulary, [np.append(final[local], np.int32(-1)) for local in ids], report


def _places(words: Lexicon, some: Collection[str]) -> Starts:
    """Return the ids of those of some words that the text has."""
    wanted = {encode_word(word) for word in some}
    shortest, longest = min(map(len, wanted), default=1), max(map(len, wanted), default=0)
    sizes = np.diff(words.offsets)
    ids = np.flatnonzero((sizes >= shortest) & (sizes <= longest))
    return ids[[raw in wanted for raw in words.raws(ids)]] if ids.size else ids


def chosen_vocabulary(table: WordTable, escapes: bool, choice: WordChoice) -> tuple[Vocabulary, Ids]:
    """Return the vocabulary, and the final id of each word of the table (-1: dropped)."""
    if choice.given is not None:
        return given_vocabulary(table, escapes, choice.given)
    if choice.known is not None:
        return extended_vocabulary(table, escapes, choice.known, choice.min_count, choice.max_vocab)
    return cut_vocabulary(lexicon(table, escapes), choice.min_count, choice.max_vocab)


def _pipe(
    blocks: Generator[Block, None, None],
    work: Callable[[Block], Block],
    write: Callable[[Block], None],
    threads: int,
) -> None:
    """Apply `work` to blocks in threads; write the results in order, in the calling thread."""
    with contextlib.closing(blocks), contextlib.closing(in_order(blocks, work, threads)) as results:
        for block in results:
            write(block)


def _reported(
    text: TextReader, free: list[Block], size: int, progress: Progress | None
) -> Generator[Block, None, None]:
    """Yield the blocks of a text, and call `progress` now and then."""
    last = time.monotonic()
    with contextlib.closing(text.blocks(size)) as blocks:
        for raw in blocks:
            block = free.pop() if free else Block()
            block.put(raw)
            yield block
            if progress is not None and time.monotonic() - last >= PROGRESS_SECONDS:
                progress(*text.progress())
                last = time.monotonic()
    if progress is not None:
        progress(*text.progress())
