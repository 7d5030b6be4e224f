"""Open a file of rows, whatever its kind is."""

from collections.abc import Iterator
from pathlib import Path

from unhot.errors import DataError, UnhotError
from unhot.rows.batches import OpenedRows
from unhot.rows.delimited import open_delimited
from unhot.rows.json_lines import list_blocks, open_json_lines
from unhot.rows.kinds import HEAD, MARKED, marked_kind, text_kind
from unhot.rows.not_text import checked
from unhot.rows.records import RowBlock, blocks_of
from unhot.rows.streams import TextStream
from unhot.rows.tables import open_marked

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

    def blocks(self, size: int = BLOCK, quotes: bool = False) -> Iterator[RowBlock]:
        """Yield blocks of records; with quotes, a field may hold line feeds."""
        return blocks_of(self.pieces(), size, self.where, quotes)

    def progress(self) -> tuple[int, int | None]:
        """Return the bytes that were read, on disk if the file is a regular one, and their total."""
        return (self._read, None) if self._size is None else (self._stream.position(), self._size)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def rows(self, kind: str | None = None, quotes: bool = True, size: int = BLOCK) -> OpenedRows:
        """Open the rows of the file as those of its kind, or of another one, which is no plain text."""
        kind = kind if kind and self.kind != "list" else self.kind
        if kind == "list":
            text = b"".join(self.pieces())
            opened = open_json_lines(list_blocks(text, self.where), self.where, "row")
        elif kind == "jsonl":
            opened = open_json_lines(self.blocks(), self.where)
        else:
            opened = open_delimited(self.blocks(size, quotes), self.where, kind, quotes=quotes)
        return opened._replace(progress=self.progress, close=self.close)


def open_file(
    path: Path | None, kind: str | None = None, force: bool = False, quotes: bool = True
) -> OpenedRows | TextFile:
    """Open a file, or standard input (None), as rows; plain text is what it is."""
    marked = kind if kind in MARKED else None if kind else marked_kind(path)
    if marked is None:
        text = TextFile(path, kind, force)
        return text if text.kind == "text" else text.rows(quotes=quotes)
    if path is None or not path.is_file():
        raise DataError(
            f"{path or 'standard input'}: a {marked} file cannot be read from a pipe, because its index is "
            "at its end: give it as a file"
        )
    return open_marked(path, marked)
