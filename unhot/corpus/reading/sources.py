"""Recognise what kind of source the user gave, and choose its reader and the way to scan its bytes."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, NamedTuple, TypeAlias

from unhot.corpus.reading.column_text import column_chunks
from unhot.corpus.reading.cuts import LINES, WORDS
from unhot.corpus.reading.files import FileReader
from unhot.corpus.reading.sentences import (
    SentenceReader,
    file_lines,
    joined_lists,
    joined_strings,
    tokenized,
)
from unhot.corpus.reading.text_blocks import Block, Pool
from unhot.corpus.reading.tokenizers import TEXT, TOKEN_LISTS, Normaliser, Tokenizer, normaliser
from unhot.errors import ConfigError, DataError
from unhot.rows.batches import OpenedRows, RowReport
from unhot.rows.columns import ChosenColumn, text_column
from unhot.rows.paths import PathLike, find_files, paths_of
from unhot.rows.tables import ArrowStream, open_table
from unhot.rows.values import open_objects
from unhot.types import Bytes

Source: TypeAlias = (
    PathLike
    | Iterable[PathLike]
    | Iterable[str]
    | Iterable[Iterable[str]]
    | Iterable[Mapping[str, Any]]
    | ArrowStream
)


NO_STRINGS = (
    "the column holds lists of tokens, but strings are needed (a tokenizer function takes str): choose a "
    "column of strings, or leave the function out"
)


class Column(NamedTuple):
    """A column of the text's own table, to encode beside the text (see `encode`)."""

    name: str


class Input(NamedTuple):
    """An opened source: text as blocks of bytes, and how to read these bytes."""

    reader: FileReader | SentenceReader  # knows how much of the text was read
    blocks: Callable[[Pool, int], Generator[Block, None, None]]
    separators: Bytes  # see separators.py
    normalise: Normaliser | None

    @property
    def escapes(self) -> bool:
        """Whether the bytes of tokens are escaped, see `tokenizers.escaped`."""
        return self.separators is TOKEN_LISTS


def open_input(
    source: Source,
    tokenizer: Tokenizer,
    block: int,
    column: str | None = None,
    empty_lines: bool = False,
    force: bool = False,
    kind: str | None = None,
    strict: bool = False,
) -> Input:
    """Recognise a source and open it; the rules are in the docstring of `encode`."""
    paths = paths_of(source)
    if not isinstance(tokenizer, str):
        files = None if paths is None else FileReader(paths, LINES, column, empty_lines, force, kind, strict)
        return _split_by(tokenizer, source, files, block, column, empty_lines, strict)
    normalise = normaliser(tokenizer)
    if paths is not None:
        files = FileReader(paths, WORDS[tokenizer], column, empty_lines, force, kind, strict)
        return _input(files, files.token_lists, normalise)
    opened, items = _object(source, column)
    if opened is not None:
        return _input(*_column_reader(opened, column, empty_lines, strict), normalise)
    first = next(items, "")
    lists = not isinstance(first, str)
    items = chain([first], items)
    return _input(SentenceReader(joined_lists(items) if lists else joined_strings(items)), lists, normalise)


def _object(source: Source, column: str | None) -> tuple[OpenedRows | None, Iterator[object]]:
    """Return a table, or rows that are dicts; otherwise the sentences of an iterable."""
    opened = open_table(source, column is None)
    if opened is not None:
        return opened, iter(())
    if isinstance(source, (bytes, bytearray, memoryview)) or not isinstance(source, Iterable):
        raise DataError(
            f"the source has type {type(source).__name__}: give a path, a list of paths, a table, or an "
            "iterable of strings or of token lists"
        )
    items: Iterator[object] = iter(source)
    head = list(islice(items, 1))
    items = chain(head, items)
    if head and isinstance(head[0], Mapping):
        return open_objects(items, f"a {type(source).__name__}"), iter(())
    if column is not None:
        raise ConfigError(
            f"column={column!r}: only tables have columns, but the source is a {type(source).__name__}; "
            "leave column out"
        )
    return None, items


def _column_reader(
    opened: OpenedRows, asked: str | None, empty_lines: bool, strict: bool
) -> tuple[SentenceReader, bool]:
    """Return the text of a table, and whether it is lists of tokens."""
    column = text_column(opened, asked) if opened.names else ChosenColumn("", False)
    rows = RowReport(strict)
    texts = column_chunks(opened, column, empty_lines, rows) if opened.names else iter(())
    return SentenceReader(texts, rows), column.tokens


def _input(reader: FileReader | SentenceReader, lists: bool, normalise: Normaliser | None) -> Input:
    """Return the input of a reader; lists of tokens are not normalised."""
    if lists:
        return Input(reader, reader.blocks, TOKEN_LISTS, None)
    return Input(reader, reader.blocks, TEXT, normalise)


def _split_by(
    tokenizer: Callable[[str], Iterable[str]],
    source: Source,
    files: FileReader | None,
    block: int,
    column: str | None,
    empty_lines: bool,
    strict: bool,
) -> Input:
    """Return the input for a tokenizer function, which splits each string of a source."""
    opened, lines = _object(source, column) if files is None else (None, file_lines(files, block))
    reader, lists = (None, False) if opened is None else _column_reader(opened, column, empty_lines, strict)
    if lists or (files is not None and files.token_lists):
        raise DataError(NO_STRINGS)
    if reader is not None:
        lines = reader.lines()
    texts = SentenceReader(tokenized(lines, tokenizer), reader.rows if reader else None)
    return Input(files or texts, texts.blocks, TOKEN_LISTS, None)


def sentences_of(source: Any, column: str | None, nulls: bool) -> Iterator[object]:
    """Return the sentences of a table or of another iterable; `nulls`: see `column_chunks`."""
    opened, items = _object(source, column)
    if opened is None:
        return items
    reader, lists = _column_reader(opened, column, nulls, strict=False)
    if lists:
        raise DataError(NO_STRINGS)
    return reader.lines()


def check_input(source: object, tokenizer: Tokenizer) -> None:
    """Raise an error if the tokenizer or a file does not exist, before any kernel is compiled."""
    if isinstance(tokenizer, str):
        normaliser(tokenizer)
    for path in paths_of(source) or ():
        find_files(path)
