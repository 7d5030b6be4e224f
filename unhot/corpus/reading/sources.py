"""What the user gave: which reader turns it into blocks, and how the scanner has to look at them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, NamedTuple, TypeAlias

from unhot.corpus.reading.files import FileReader, PathLike, are_paths, find_files
from unhot.corpus.reading.sentences import SentenceReader, line_pieces, string_pieces, token_pieces, tokenized
from unhot.corpus.reading.tables import ArrowStream, row_cells, table_lines, table_pieces
from unhot.corpus.reading.text_blocks import Reader
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


class Input(NamedTuple):
    """A reader, and what its bytes mean."""

    reader: Reader
    separators: Bytes  # see separators.py
    normalise: Normaliser | None

    @property
    def escapes(self) -> bool:
        """Whether tokens are escaped, see `tokenizers.escaped`."""
        return self.separators is TOKEN_LISTS


def open_input(source: Source, tokenizer: Tokenizer, block: int, column: str | None = None) -> Input:
    """Find out what a source is (the rules are in `encode`)."""
    paths = paths_of(source)
    if not isinstance(tokenizer, str):
        return _split_by(tokenizer, source, paths, block, column)
    normalise = normaliser(tokenizer)
    if paths is not None:
        reader = FileReader(paths, column=column)
        return Input(reader, TOKEN_LISTS, None) if reader.token_lists else Input(reader, TEXT, normalise)
    table = table_pieces(source, column)
    if table is not None:
        lists, pieces = table[0].tokens, table[1]
    else:
        items = _items(source, column)
        first = next(items, "")
        lists, items = not isinstance(first, str), chain([first], items)
        pieces = token_pieces(items) if lists else string_pieces(items)
    return (
        Input(SentenceReader(pieces), TOKEN_LISTS, None)
        if lists
        else Input(SentenceReader(pieces), TEXT, normalise)
    )


def _split_by(
    tokenizer: Callable[[str], Iterable[str]],
    source: Source,
    paths: list[PathLike] | None,
    block: int,
    column: str | None,
) -> Input:
    """A function splits what must be strings."""
    if paths is not None:
        reader = FileReader(paths, cuts=b"\n", column=column)
        if not reader.token_lists:
            return Input(SentenceReader(line_pieces(reader, block, tokenizer), reader), TOKEN_LISTS, None)
    table = table_pieces(source, column) if paths is None else None
    if paths is not None or (table is not None and table[0].tokens):
        raise DataError(
            "a column with lists of tokens: a tokenizer function takes str; leave it out, or choose a "
            "column of strings"
        )
    lines = table_lines(table[1]) if table is not None else _items(source, column)
    return Input(SentenceReader(tokenized(lines, tokenizer)), TOKEN_LISTS, None)


def check_input(source: object, tokenizer: Tokenizer) -> None:
    """Raise an error for a tokeniser or a file that does not exist.

    Better before kernels are compiled than after it.
    """
    if isinstance(tokenizer, str):
        normaliser(tokenizer)
    for path in paths_of(source) or ():
        find_files(path)


def paths_of(source: object) -> list[PathLike] | None:
    """The paths that a source is made of; None if it is sentences."""
    if isinstance(source, (str, os.PathLike)):
        return [source]
    if isinstance(source, (list, tuple)) and are_paths(source):
        return list(source)
    return None


def _items(source: Source, column: str | None) -> Iterator[object]:
    """The sentences of an iterable; of rows that are dicts, the text column."""
    if isinstance(source, (bytes, bytearray, memoryview)) or not isinstance(source, Iterable):
        kind = type(source).__name__
        raise DataError(
            f"a source of type {kind}: give a path, a list of paths, a table, or an iterable of strings or "
            "of token lists"
        )
    items: Iterator[object] = iter(source)
    head = list(islice(items, 1))
    items = chain(head, items)
    if head and isinstance(head[0], Mapping):
        return row_cells(items, column)
    if column is not None:
        raise ConfigError(
            f"column={column!r}: only parquet files and tables have columns, this is a "
            f"{type(source).__name__}; leave it out"
        )
    return items
