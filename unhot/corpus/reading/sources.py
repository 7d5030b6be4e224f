"""Recognise what kind of source the user gave, and read its text in blocks of bytes."""

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from unhot.corpus.reading.column_text import column_chunks
from unhot.corpus.reading.cuts import CUTS, SENTENCES, TOKENS, Cuts, without_middles
from unhot.corpus.reading.tokenizers import SENTENCE_END, TOKEN_END, Tokenizer, escaped, normaliser
from unhot.errors import ConfigError, DataError
from unhot.rows.batches import OpenedRows, TextReport
from unhot.rows.opening import RowFormat, TextFile, check_delimited, format_of, open_file
from unhot.rows.paths import PathLike, find_files, paths_of
from unhot.rows.tables import ArrowStream, open_table
from unhot.rows.values import open_objects
from unhot.vocab.vocabulary import decode_word, encode_word

Source: TypeAlias = (
    PathLike
    | Iterable[PathLike]
    | Iterable[str]
    | Iterable[Iterable[str]]
    | Iterable[Mapping[str, Any]]
    | ArrowStream
)
Part: TypeAlias = Path | OpenedRows | None  # a file, a table of Python's, or standard input

BLOCK = 1 << 20  # bytes of a block, so that its text and ids fit the second-level cache of one core
LONGEST = 1 << 30  # bytes of a block, so that its positions fit int32
NO_STRINGS = (
    "the column holds lists of tokens, but strings are needed (a tokenizer function takes str): choose a "
    "column of strings, or leave the function out"
)


class Column(NamedTuple):
    """A column of the text's own table, to encode beside the text (see `encode`)."""

    name: str


class TextReader:
    """The text of a source, in blocks of bytes: files one after another, a table, or sentences from Python.

    The end of a file also ends a line. In a table, each row is a line.
    """

    def __init__(
        self,
        source: Source,
        tokenizer: Tokenizer | None = "whitespace",
        column: str | None = None,
        nulls: bool = False,
        strict: bool = False,
        **form: Any,
    ) -> None:
        """Recognise a source; the rules are in the docstring of `encode`.

        tokenizer   a function splits lines into tokens here; a name says where a text may be cut into blocks.
                    None: only where a line ends
        column      of a table: the name of the column of the text
        nulls       make a null cell or a bad row of a table an empty line
        strict      see `TextReport`
        form        kind, header, separator, force: see `format_of`
        """
        self._column, self._nulls = column, nulls
        self._form = format_of(**form)
        named = tokenizer if isinstance(tokenizer, str) else None
        normalise = normaliser("whitespace" if named is None else named)
        self._split = tokenizer if callable(tokenizer) else None
        self._parts, self.items, lists = _recognised(
            source, column, self._form
        )  # items: sentences from Python
        if self.items is None:
            lists = self._are_token_lists()
            if lists and self._split is not None:
                raise DataError(NO_STRINGS)
        self._cuts, self._end = (TOKENS, SENTENCE_END) if lists else (CUTS[named], b"\n")
        # whether blocks are token lists, not text
        self.token_lists = lists or self._split is not None
        self.normalise = normaliser("whitespace") if lists else normalise
        self._opened: OpenedRows | TextFile | None = None
        self._finished = 0  # bytes on disk of the files that were read completely
        files = [part for part in self._parts if part is not None and not isinstance(part, OpenedRows)]
        known = [file.stat().st_size for file in files if file.is_file()]
        self._total = sum(known) if known and len(known) == len(self._parts) else None
        self.files = self.bytes = self.byte_order_marks = 0
        self.rows = TextReport(strict, several=len(self._parts) > 1)  # of tables
        if nulls:
            self.rows.fate = self.rows.empty = "are empty lines"

    def _are_token_lists(self) -> bool:
        """Return whether the source holds lists of tokens; raise a `DataError` if only some files do.

        Nothing is read from a pipe: if it is a table, it holds strings.
        """
        found, texts = dict[bool, str](), 0
        for part in self._parts:
            if part is None or not (isinstance(part, OpenedRows) or part.is_file()):
                continue
            with contextlib.closing(self._open(part)) as opened:
                if isinstance(opened, TextFile):
                    found.setdefault(False, opened.where)
                    texts += 1
                elif opened.names:
                    column = opened.text_column(self._column, lists=True)
                    found.setdefault(bool(opened.holds[column]), f"{opened.where}, column {column!r}")
        if self._column is not None and texts == len(self._parts):
            raise ConfigError(
                f"column={self._column!r}: only tables have columns, but the source has none; leave it out"
            )
        if len(found) == 2:
            raise DataError(
                f"some files hold lists of tokens ({found[True]}), others text ({found[False]}): give only "
                "one kind, or choose a column"
            )
        return True in found

    def _open(self, part: Part) -> OpenedRows | TextFile:
        return part if isinstance(part, OpenedRows) else open_file(part, self._form)

    def progress(self) -> tuple[int, int | None]:
        """Return the bytes on disk (compressed, if the files are) that were read, and their total.

        If an input is not a regular file, return the bytes of text that were read, and None.
        """
        if self._total is None:
            return self.bytes, None
        return self._finished + (self._opened.progress()[0] if self._opened else 0), self._total

    def blocks(self, size: int = BLOCK) -> Generator[bytes, None, None]:
        """Yield the text in blocks of about `size` bytes, each of which ends where a token or a line ends."""
        if self.items is not None:
            for block in self._cut(self._sentences(self.items), SENTENCES, size):
                self.bytes += len(block)
                yield block
            return
        with contextlib.closing(self._pieces(size)) as pieces:
            blocks = self._cut(pieces, self._cuts, size)
            if self._split is not None:
                lines = chain.from_iterable(map(lines_of, blocks))
                blocks = self._cut(tokenized(lines, self._split), SENTENCES, size)
            yield from blocks

    def _sentences(self, items: Iterator[object]) -> Iterator[bytes]:
        """Return the sentences from Python as bytes."""
        if self._split is not None:
            return tokenized(items, self._split)
        return joined_lists(items) if self.token_lists else joined_strings(items)

    def _cut(self, pieces: Iterable[bytes], cuts: Cuts, size: int) -> Iterator[bytes]:
        """Cut a text into blocks; a block grows until a piece of text has a place to cut."""
        held, length = list[bytes](), 0
        for piece in without_middles(pieces, cuts) if cuts.skips else pieces:
            held.append(piece)
            length += len(piece)
            if length < size:
                continue
            if cut := cuts.last(piece):
                held[-1] = piece[:cut]
                yield b"".join(held)
                held, length = [piece[cut:]], len(piece) - cut
            elif length > LONGEST:
                raise DataError(
                    f"{self._opened.where if self._opened else 'the text'}: {length} bytes without a line "
                    "end: check that this is text with lines"
                )
        if length:
            yield b"".join(held)

    def _pieces(self, size: int) -> Generator[bytes, None, None]:
        """Yield the text of all parts, at most `size` bytes at a time."""
        for part in self._parts:
            self._opened = opened = self._open(part)
            self.files += not isinstance(part, OpenedRows)
            marked = isinstance(opened, TextFile) and opened.marked
            self.byte_order_marks += marked
            self.bytes += 3 * marked
            last = self._end
            with contextlib.closing(self._text_of(opened)) as texts:
                for text in texts:
                    self.bytes += len(text)
                    last = text[-1:] or last
                    for at in range(0, len(text), size):
                        yield text[at : at + size]
            self._finished += opened.progress()[0]
            self._opened = None
            if last != self._end:
                yield self._end

    def _text_of(self, opened: OpenedRows | TextFile) -> Generator[bytes, None, None]:
        """Yield the text of a file, or of the column of a table."""
        if isinstance(opened, TextFile):
            if self._column is not None:
                opened.close()
                raise ConfigError(
                    f"column={self._column!r}: only tables have columns, but {opened.where} is text; leave "
                    "column out"
                )
            yield from opened.pieces()
        elif not opened.names:  # an empty table, or rows that are all bad
            for batch in opened.batches({}):
                self.rows.take(batch)
            self.rows.recognize(opened)
            self.rows.check(opened.where)
        else:
            column = opened.text_column(self._column, lists=True)
            if opened.holds[column] != (self._cuts is TOKENS):
                raise DataError(f"{opened.where}: column {column!r} holds lists of tokens: give a file")
            self.rows.recognize(opened, text=column)
            yield from column_chunks(opened, column, self._nulls, self.rows)


def _recognised(
    source: Source, column: str | None, form: RowFormat
) -> tuple[list[Part], Iterator[object] | None, bool]:
    """Return the files or the table of a source.

    If it is another iterable, return its sentences, and whether they are token lists.
    """
    paths = paths_of(source)
    if paths is not None:
        return [file for path in paths for file in find_files(path)], None, False
    check_delimited("the source", f"a {type(source).__name__}", form)
    opened = open_table(source, column is None)
    if opened is not None:
        return [opened], None, False
    if isinstance(source, (bytes, bytearray, memoryview)) or not isinstance(source, Iterable):
        raise DataError(
            f"the source has type {type(source).__name__}: give a path, a list of paths, a table, or an "
            "iterable of strings or of token lists"
        )
    items: Iterator[object] = iter(source)
    head = list(islice(items, 1))
    items = chain(head, items)
    if head and isinstance(head[0], Mapping):
        return [open_objects(items, f"a {type(source).__name__}")], None, False
    if column is not None:
        raise ConfigError(
            f"column={column!r}: only tables have columns, but the source is a {type(source).__name__}; "
            "leave column out"
        )
    return [], items, bool(head) and not isinstance(head[0], str)


def check_input(source: object, tokenizer: Tokenizer) -> None:
    """Raise an error if the tokenizer or a file does not exist, before any kernel is compiled."""
    if isinstance(tokenizer, str):
        normaliser(tokenizer)
    for path in paths_of(source) or ():
        find_files(path)


def joined_strings(sentences: Iterable[object]) -> Iterator[bytes]:
    """Yield strings as bytes for the text scanner; a line feed inside a sentence becomes a space."""
    for number, sentence in enumerate(sentences, 1):
        if not isinstance(sentence, str):
            raise DataError(
                f"sentence {number} is of type {type(sentence).__name__}, but the first one was a str: give "
                "strings or token lists, not both"
            )
        yield encode_word(sentence.replace("\n", " ")) + b"\n"


def joined_lists(sentences: Iterable[object]) -> Iterator[bytes]:
    """Yield token lists as bytes for the scanner of token lists; the scanner ignores empty tokens."""
    for number, sentence in enumerate(sentences, 1):
        yield joined(sentence, number, " is of type {}: give a list of str for each sentence")


def joined(sentence: object, number: int, wrong: str) -> bytes:
    """Return the tokens of one sentence in the form that the scanner reads; `wrong`: if it is no list."""
    if isinstance(sentence, (str, bytes)) or not isinstance(sentence, Iterable):
        raise DataError(f"sentence {number}{wrong.format(type(sentence).__name__)}")
    tokens = sentence if isinstance(sentence, (list, tuple)) else list(sentence)
    try:
        text = "\n".join(tokens)
        # the fast path: no token contains a line feed or invalid UTF-8
        if text.count("\n") == len(tokens) - 1:
            return text.encode().replace(b"\n", TOKEN_END) + SENTENCE_END
        raws = [token.encode() for token in tokens]
    except UnicodeEncodeError:
        raws = [escaped(encode_word(token)) for token in tokens]
    except TypeError:
        wrong_one = next(token for token in tokens if not isinstance(token, str))
        raise DataError(
            f"sentence {number} holds {wrong_one!r:.80} of type {type(wrong_one).__name__}: tokens must be "
            "str; convert them with str()"
        ) from None
    return TOKEN_END.join(raws) + SENTENCE_END


def lines_of(block: bytes) -> list[str]:
    """Return the lines of a block, each of which ends with a line feed, without their ends."""
    return [line.removesuffix("\r") for line in decode_word(block).split("\n")[:-1]]


def tokenized(lines: Iterable[object], tokenizer: Callable[[str], Iterable[str]]) -> Iterator[bytes]:
    """Yield strings, split by a tokenizer function, as bytes for the scanner of token lists."""
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise DataError(
                f"sentence {number} is of type {type(line).__name__}: a tokenizer function takes str; give "
                "strings"
            )
        yield joined(tokenizer(line), number, ": the tokenizer returned {}: it must return a list of str")
