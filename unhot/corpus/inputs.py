"""What the user gave: which reader turns it into blocks, and how the scanner has to look at them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple, TypeAlias

from unhot.corpus.blocks import Reader
from unhot.corpus.readers import FileReader, PathLike, are_paths
from unhot.corpus.sentences import SentenceReader, line_pieces, string_pieces, token_pieces, tokenized
from unhot.corpus.tokenizers import TEXT, TOKEN_LISTS, Normaliser, Tokenizer, normaliser
from unhot.errors import DataError
from unhot.types import Bytes

Source: TypeAlias = PathLike | Iterable[PathLike] | Iterable[str] | Iterable[Iterable[str]]


class Input(NamedTuple):
    """A reader, and what its bytes mean."""

    reader: Reader
    separators: Bytes  # see runs.py
    normalise: Normaliser | None

    @property
    def escapes(self) -> bool:
        """Whether tokens are escaped, see `tokenizers.escaped`."""
        return self.separators is TOKEN_LISTS


def open_input(source: Source, tokenizer: Tokenizer, block: int) -> Input:
    """Find out what a source is (the rules are in `encode`)."""
    paths = _paths(source)
    if not isinstance(tokenizer, str):
        if paths is None:
            return Input(SentenceReader(tokenized(_items(source), tokenizer)), TOKEN_LISTS, None)
        reader = FileReader(paths, cuts=b"\n")
        return Input(SentenceReader(line_pieces(reader, block, tokenizer), reader), TOKEN_LISTS, None)
    normalise = normaliser(tokenizer)
    if paths is not None:
        return Input(FileReader(paths), TEXT, normalise)
    items = _items(source)
    first = next(items, "")
    items = chain([first], items)
    if isinstance(first, str):
        return Input(SentenceReader(string_pieces(items)), TEXT, normalise)
    return Input(SentenceReader(token_pieces(items)), TOKEN_LISTS, None)


def _paths(source: Source) -> list[PathLike] | None:
    """The paths that a source is made of; None if it is sentences."""
    if isinstance(source, (str, os.PathLike)):
        return [source]
    if isinstance(source, (list, tuple)) and are_paths(source):
        return list(source)
    return None


def _items(source: Source) -> Iterator[object]:
    if isinstance(source, (bytes, bytearray, memoryview)) or not isinstance(source, Iterable):
        kind = type(source).__name__
        raise DataError(f"a source of type {kind}: give a path, a list of paths, or an iterable of strings or of token lists")
    return iter(source)
