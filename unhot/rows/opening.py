"""Open a file of rows, whatever its kind is."""

import functools
from collections.abc import Iterator
from pathlib import Path

from unhot.errors import DataError, UnhotError
from unhot.rows.arrow_rows import open_arrow_file
from unhot.rows.batches import OpenedRows
from unhot.rows.delimited import SEPARATORS, open_delimited
from unhot.rows.json_lines import list_blocks, open_json_lines
from unhot.rows.kinds import HEAD, UNQUOTED, marked_kind, text_kind
from unhot.rows.not_text import checked
from unhot.rows.parquet import open_parquet
from unhot.rows.records import Records, lines_of, quoted_records, record_blocks
from unhot.rows.streams import TextStream

BLOCK = 1 << 20  # bytes of a block: as strings of Python they are several times as many


class TextFile:
    """A file of text that is being read: its kind, and its records."""

    def __init__(self, path: Path | None, kind: str | None = None, force: bool = False) -> None:
        """Open a file, or standard input (None), and find its kind; `force`: it may look like no text."""
        self._stream = TextStream(path)
        self.where, self.marked = self._stream.name, self._stream.marked
        try:
            self.head = self._stream.peek(HEAD)
            self.kind = text_kind(path, self.head, kind)
        except UnhotError:
            self.close()
            raise
        self._size = path.stat().st_size if path is not None and path.is_file() else None
        self._read, self._force = 0, force

    def pieces(self) -> Iterator[bytes]:
        """Yield the text, some bytes at a time, and close the file."""
        try:
            for text in self._stream if self._force else checked(self._stream, self.where):
                self._read += len(text)
                yield text
        finally:
            self.close()

    def records(self, separator: str = "", size: int = BLOCK) -> Iterator[Records]:
        """Yield blocks of records; fields with a separator between them may be in quotes."""
        ends = functools.partial(quoted_records, separator=separator) if separator else lines_of
        return record_blocks(self.pieces(), size, self.where, ends)

    def progress(self) -> tuple[int, int | None]:
        """Return the bytes that were read, on disk if the file is a regular one, and their total."""
        return (self._read, None) if self._size is None else (self._stream.position(), self._size)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def rows(self, kind: str | None = None, size: int = BLOCK) -> OpenedRows:
        """Open the rows of the file as those of its kind, or of another one, which is no plain text."""
        kind = kind if kind and self.kind != "list" else self.kind
        if kind == "list":
            text = b"".join(self.pieces())
            opened = open_json_lines(list_blocks(text, self.where), self.where, "row")
        elif kind == "jsonl":
            opened = open_json_lines(self.records(), self.where)
        else:
            quotes = kind not in UNQUOTED
            blocks = self.records(SEPARATORS[kind] if quotes else "", size)
            opened = open_delimited(blocks, self.where, kind, quotes=quotes)
        return opened._replace(progress=self.progress, close=self.close)


def open_file(path: Path | None, kind: str | None = None, force: bool = False) -> OpenedRows | TextFile:
    """Open a file, or standard input (None), as rows; plain text is what it is."""
    marked = kind if kind in ("parquet", "arrow") else None if kind else marked_kind(path)
    if marked is None:
        text = TextFile(path, kind, force)
        return text if text.kind == "text" else text.rows()
    if path is None or not path.is_file():
        raise DataError(
            f"{path or 'standard input'}: a {marked} file cannot be read from a pipe, because its index is "
            "at its end: give it as a file"
        )
    return open_marked(path, marked)


def open_marked(path: Path, kind: str) -> OpenedRows:
    """Open a parquet or an Arrow file."""
    return open_parquet(path) if kind == "parquet" else open_arrow_file(path)
