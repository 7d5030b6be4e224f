"""Standard output and standard error of all commands.

A word or a file name may hold characters that a terminal obeys: colours, cursor moves, bells, marks that turn
the direction of writing. So every command runs inside `escaped_terminals`: it puts a layer before each stream
that is a terminal, and there such characters become visible escapes. A new command need not think of it. What
is said to people (notes, errors, tables, `unhot info`) is escaped everywhere, because a pipe or a log may end
on a terminal. Results for machines go into a pipe or a file as they are.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from typing_extensions import Buffer

SHOWN = 200  # characters of a word that people see
ODD = re.compile(r"[^ -~]")  # what may need an escape in a word
ODD_IN_LINES = re.compile(r"[^ -~\n\t]")  # likewise in lines of output


def printable(word: str) -> str:
    """Return a word that any terminal can show; invalid UTF-8 and control characters become escapes."""
    return ODD.sub(_visible, word)


def shown(word: str, most: int = SHOWN) -> str:
    """Return a word that any terminal can show; a long one is cut, and its length is said."""
    return printable(word if len(word) <= most else f"{word[:most]}... ({len(word):,} characters)")


def printable_lines(text: str) -> str:
    """Return lines that any terminal can show; line feeds and tabs stay."""
    return ODD_IN_LINES.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    character = found[0]
    if character.isprintable():
        return character
    if "\udc80" <= character <= "\udcff":  # a byte that is not UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


class EscapedBytes(io.BufferedIOBase):
    """Takes bytes and writes them to a terminal as printable lines."""

    def __init__(self, screen: TextIO) -> None:
        """Write to `screen`, which is never closed."""
        self.screen = screen
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def writable(self) -> bool:
        """Return True: this is for writing."""
        return True

    def isatty(self) -> bool:
        """Return True: the bytes go to a terminal."""
        return True

    def fileno(self) -> int:
        """Return the terminal's file descriptor; on Windows none, or click would write to it directly."""
        if os.name == "nt":
            raise io.UnsupportedOperation("fileno")
        return self.screen.fileno()

    def write(self, data: Buffer, /) -> int:
        """Write bytes; the beginning of a character waits for the rest of it."""
        raw = bytes(data)
        self.screen.write(printable_lines(self._decoder.decode(raw)))
        return len(raw)

    def flush(self) -> None:
        """Write everything, also half a character."""
        self.screen.write(printable_lines(self._decoder.decode(b"", final=True)))
        self.screen.flush()


class EscapedText(io.TextIOWrapper):
    """Takes text, or through its `buffer` bytes, and writes it to a terminal as printable lines."""

    def __init__(self, screen: TextIO) -> None:
        """Write to `screen`."""
        layer: Any = EscapedBytes(screen)  # it has no name, and needs none
        super().__init__(layer, encoding="utf-8", newline="", write_through=True)
        self.screen = screen

    def write(self, text: str, /) -> int:
        """Write text; surrogates, which UTF-8 cannot hold, become escapes, too."""
        super().write(printable_lines(text))
        return len(text)


def terminal_of(stream: TextIO) -> TextIO:
    """Return the terminal behind a stream, for colours and cursor moves of our own; otherwise the stream."""
    return stream.screen if isinstance(stream, EscapedText) else stream


def escape_terminals() -> None:
    """Put a layer before standard output and standard error where they are terminals."""
    for name in ("stdout", "stderr"):
        stream: TextIO | None = getattr(sys, name)
        if stream is not None and stream.isatty() and not isinstance(stream, EscapedText):
            if isinstance(stream, io.TextIOWrapper):  # a terminal may lack characters that can be printed
                stream.reconfigure(errors="backslashreplace")
            setattr(sys, name, cast("TextIO", EscapedText(stream)))


@contextmanager
def escaped_terminals() -> Iterator[None]:
    """Call `escape_terminals` for the time of a block."""
    before = sys.stdout, sys.stderr
    escape_terminals()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def silence(stream: IO[str]) -> None:
    """Send the rest of a stream to nowhere, because no one reads it any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
