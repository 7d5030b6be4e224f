"""Recognise what kind of source the user gave, and choose its reader and the way to scan its bytes."""

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, NamedTuple, TypeAlias

from unhot.corpus.reading.cuts import LINES, WORDS
from unhot.corpus.reading.files import FileReader, PathLike, are_paths, find_files
from unhot.corpus.reading.sentences import (
    SentenceReader,
    file_lines,
    joined_lists,
    joined_strings,
    tokenized,
)
from unhot.corpus.reading.tables import ArrowStream, row_cells, table_chunks, table_lines
from unhot.corpus.reading.text_blocks import Block, Pool
from unhot.corpus.reading.tokenizers import TEXT, TOKEN_LISTS, Normaliser, Tokenizer, normaliser
from unhot.errors import ConfigError, DataError
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
) -> Input:
    """Recognise a source and open it; the rules are in the docstring of `encode`."""
    paths = paths_of(source)
    if not isinstance(tokenizer, str):
        files = None if paths is None else FileReader(paths, LINES, column, empty_lines, force)
        return _split_by(tokenizer, source, files, block, column, empty_lines)
    normalise = normaliser(tokenizer)
    if paths is not None:
        files = FileReader(paths, WORDS[tokenizer], column, empty_lines, force)
        return _input(files, files.token_lists, normalise)
    table = table_chunks(source, column, empty_lines)
    if table is not None:
        return _input(SentenceReader(table[1]), table[0].tokens, normalise)
    items = _items(source, column, empty_lines)
    first = next(items, "")
    lists = not isinstance(first, str)
    items = chain([first], items)
    return _input(SentenceReader(joined_lists(items) if lists else joined_strings(items)), lists, normalise)


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
) -> Input:
    """Return the input for a tokenizer function, which splits each string of a source."""
    if files is not None and files.token_lists:
        raise DataError(NO_STRINGS)
    lines = sentences_of(source, column, empty_lines) if files is None else file_lines(files, block)
    reader = SentenceReader(tokenized(lines, tokenizer))
    return Input(files or reader, reader.blocks, TOKEN_LISTS, None)


def sentences_of(source: Any, column: str | None, nulls: bool) -> Iterator[object]:
    """Return the sentences of a table or of another iterable; `nulls`: see `table_chunks`."""
    table = table_chunks(source, column, nulls)
    if table is None:
        return _items(source, column, nulls)
    if table[0].tokens:
        raise DataError(NO_STRINGS)
    return table_lines(table[1])


def check_input(source: object, tokenizer: Tokenizer) -> None:
    """Raise an error if the tokenizer or a file does not exist, before any kernel is compiled."""
    if isinstance(tokenizer, str):
        normaliser(tokenizer)
    for path in paths_of(source) or ():
        find_files(path)


def paths_of(source: object) -> list[PathLike] | None:
    """Return the paths of a source; None if the source does not consist of paths."""
    if isinstance(source, (str, os.PathLike)):
        return [source]
    if isinstance(source, (list, tuple)) and are_paths(source):
        return list(source)
    return None


def _items(source: Source, column: str | None, nulls: bool) -> Iterator[object]:
    """Return the sentences of an iterable; for rows that are dicts, the text column."""
    if isinstance(source, (bytes, bytearray, memoryview)) or not isinstance(source, Iterable):
        raise DataError(
            f"the source has type {type(source).__name__}: give a path, a list of paths, a table, or an "
            "iterable of strings or of token lists"
        )
    items: Iterator[object] = iter(source)
    head = list(islice(items, 1))
    items = chain(head, items)
    if head and isinstance(head[0], Mapping):
        return row_cells(items, column, nulls)
    if column is not None:
        raise ConfigError(
            f"column={column!r}: only parquet files and tables have columns, but the source is a "
            f"{type(source).__name__}; leave column out"
        )
    return items
