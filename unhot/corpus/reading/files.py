"""Read the text of files, one file after another, in blocks of bytes; of tables, their text column."""

import contextlib
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from unhot.corpus.reading.column_text import column_chunks
from unhot.corpus.reading.cuts import LINES, TOKENS, WORDS, Cuts, without_middles
from unhot.corpus.reading.text_blocks import Block, Pool
from unhot.corpus.reading.tokenizers import SENTENCE_END
from unhot.errors import ConfigError, DataError
from unhot.rows.batches import OpenedRows, RowReport
from unhot.rows.columns import text_column
from unhot.rows.opening import TextFile, open_file, recognized
from unhot.rows.paths import STDIN, PathLike, find_files
from unhot.rows.streams import PIECE

LONGEST = 1 << 30  # bytes of a block, so that its positions fit int32
BLOCK = 1 << 20  # bytes of a block of lines


class FileReader:
    """Read the text of several files, one after another; the end of a file also ends a line.

    In a table, each row is a line.
    """

    def __init__(
        self,
        paths: Sequence[PathLike],
        cuts: Cuts = WORDS["whitespace"],
        column: str | None = None,
        nulls: bool = False,
        force: bool = False,
        kind: str | None = None,
        strict: bool = False,
    ) -> None:
        """Find the files of the paths; `cuts` says where the text may be cut into blocks.

        For tables, `column` names the column of the text, and `nulls` makes a null cell or a bad row an empty
        line. With `force`, also files that do not look like text are read. For `kind` see `open_file`, for
        `strict` see `RowReport`.
        """
        self._paths = [file for path in paths for file in find_files(path)]
        self._column, self._kind = column, kind
        self._nulls, self._force = nulls, force
        self.token_lists = self._are_token_lists()
        self._cuts, self._end = (TOKENS, SENTENCE_END) if self.token_lists else (cuts, b"\n")
        self._opened: OpenedRows | TextFile | None = None
        self._finished = 0  # bytes on disk of the files that were read completely
        known = [path.stat().st_size for path in self._paths if path is not None and path.is_file()]
        self._total = sum(known) if len(known) == len(self._paths) else None
        self.files = self.bytes = self.byte_order_marks = 0
        self.rows = RowReport(strict, several=len(self._paths) > 1)  # of tables
        self.recognized: list[str] = []  # which files are tables, and which column was taken

    def _are_token_lists(self) -> bool:
        """Return whether the files hold lists of tokens; raise a `DataError` if only some of them do.

        Nothing is read from a pipe: if it is a table, it holds strings.
        """
        found: dict[bool, str] = {}
        tables = pipes = 0
        for path in self._paths:
            if path is None or not path.is_file():
                pipes += 1
                continue
            with contextlib.closing(open_file(path, self._kind, self._force)) as opened:
                if isinstance(opened, TextFile):
                    found.setdefault(False, str(path))
                elif opened.names:
                    column = text_column(opened, self._column)
                    found.setdefault(column.tokens, f"{path}, column {column.name!r}")
                tables += isinstance(opened, OpenedRows)
        if self._column is not None and not tables and not pipes:
            raise ConfigError(
                f"column={self._column!r}: only tables have columns, but the source has none; leave it out"
            )
        if len(found) == 2:
            raise DataError(
                f"some files hold lists of tokens ({found[True]}), others text ({found[False]}): give only "
                "one kind, or choose a column"
            )
        return True in found

    def progress(self) -> tuple[int, int | None]:
        """Return the bytes on disk (compressed, if the files are) that were read, and their total.

        If an input is not a regular file, return the bytes of text that were read, and None.
        """
        if self._total is None:
            return self.bytes, None
        return self._finished + (self._opened.progress()[0] if self._opened else 0), self._total

    def blocks(self, pool: Pool, size: int) -> Generator[Block, None, None]:
        """Yield blocks of about `size` bytes; a block grows until a piece of text has a place to cut."""
        block = pool.take()
        with contextlib.closing(self._pieces(min(size, PIECE))) as pieces:
            for piece in without_middles(pieces, self._cuts) if self._cuts.skips else pieces:
                block.append(piece)
                cut = self._cuts.last(piece) if block.size >= size else 0
                if cut:
                    following = pool.take()
                    following.append(piece[cut:])
                    block.size -= len(piece) - cut
                    yield block
                    block = following
                elif block.size > LONGEST:
                    raise DataError(
                        f"{self._opened.where if self._opened else 'the text'}: {block.size} bytes without a "
                        "line end: check that this is text with lines"
                    )
        if block.size:
            yield block

    def _pieces(self, size: int) -> Generator[bytes, None, None]:
        """Yield the text of all files, at most `size` bytes at a time."""
        for path in self._paths:
            self._opened = opened = open_file(path, self._kind, self._force)
            self.files += 1
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
        elif opened.names:
            column = text_column(opened, self._column)
            if column.tokens != self.token_lists:
                raise DataError(f"{opened.where}: column {column.name!r} holds lists of tokens: give a file")
            self.recognized.append(recognized(opened.where, opened.kind, text=column.name))
            yield from column_chunks(opened, column, self._nulls, self.rows)


def open_lines(path: Path | None, force: bool = False, kind: str | None = None) -> FileReader:
    """Open a file, or standard input (None), that is read line by line."""
    return FileReader([STDIN if path is None else path], LINES, force=force, kind=kind)


def line_blocks(files: FileReader, size: int = BLOCK) -> Iterator[bytes]:
    """Yield the text of files in blocks of whole lines; the reader must cut at line feeds only."""
    pool = Pool()
    for block in files.blocks(pool, size):
        yield block.text[: block.size].tobytes()
        pool.give(block)
