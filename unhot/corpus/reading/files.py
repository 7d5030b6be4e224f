"""Files as blocks of bytes: which files a source names, and their text one behind the other."""

from __future__ import annotations

import glob
import os
from collections.abc import Generator, Sequence
from pathlib import Path

from unhot.corpus.cells.cells import INDEX as CELLS_INDEX
from unhot.corpus.corpus import INDEX as CORPUS_INDEX
from unhot.corpus.reading.arrow import ParquetStream, is_parquet
from unhot.corpus.reading.separators import PADDING
from unhot.corpus.reading.streams import TextStream
from unhot.corpus.reading.text_blocks import Block, Pool
from unhot.corpus.reading.tokenizers import BLANKS, SENTENCE_END, TOKEN_END
from unhot.errors import ConfigError, DataError

STDIN = "-"
WINDOW = 256  # bytes in which the last separator is looked for first
LONGEST = 1 << 30  # bytes of a block, so that its positions fit int32
PEEK = 1000  # strings of a list that are looked at to tell paths from sentences

PathLike = str | os.PathLike[str]


def find_files(path: PathLike) -> list[Path | None]:
    """The files that a path names: itself, all below a folder (sorted), the matches of a pattern (sorted).

    None is standard input.
    """
    if path == STDIN:
        return [None]
    place = Path(path)
    if not _names_a_file(os.fspath(path)):
        name = os.fspath(path)
        raise DataError(
            f"{name:.200}: no such file, folder or match: give an existing path; sentences go into a list "
            "or another iterable"
        )
    if place.is_dir():
        refuse_encoded(place)
        files = _below(place)
        if not files:
            raise DataError(f"{place}: a folder without files: give a folder that holds text files")
        return files
    if place.exists():
        return [place]
    matches = _matches(os.fspath(path))
    for match in matches:
        refuse_encoded(match)
    return [file for match in matches for file in (_below(match) if match.is_dir() else [match])]


def refuse_encoded(folder: Path) -> None:
    """Raise a `DataError` if a folder holds cells or an encoded corpus: their bytes are no text."""
    for index, what in (
        (CELLS_INDEX, "cells: open them with Cells.open"),
        (CORPUS_INDEX, "an encoded text: open it with Corpus.open"),
    ):
        if (folder / index).is_file():
            raise DataError(
                f"{folder}: holds {what}, or give it alone to unhot train; text is what is read here"
            )


def are_paths(items: Sequence[object]) -> bool:
    """Whether a list holds paths: `pathlib` paths, or strings that all exist.

    Strings of which none exists are sentences.
    """
    strings = [item for item in items[:PEEK] if isinstance(item, str)]
    paths = [item for item in items[:PEEK] if isinstance(item, os.PathLike)]
    if not items or len(strings) + len(paths) < len(items[:PEEK]):
        return False
    if paths:
        return True
    missing = [item for item in strings if not _names_a_file(item)]
    if missing and len(missing) < len(strings):
        raise DataError(
            f"a list of {len(items)} strings, some of which name files and some do not, like "
            f"{missing[0][:80]!r}: give paths as pathlib.Path, sentences as an iterator (iter(sentences))"
        )
    return not missing


def _below(folder: Path) -> list[Path | None]:
    return [*sorted(path for path in folder.rglob("*") if path.is_file())]


def _matches(pattern: str) -> list[Path]:
    if not any(c in pattern for c in "*?["):
        return []
    # Path.glob takes no absolute pattern
    return [Path(match) for match in sorted(glob.glob(pattern, recursive=True))]  # noqa: PTH207


def _names_a_file(text: str) -> bool:
    if text == STDIN:
        return True
    if not text or len(text) > 4096 or "\n" in text or "\0" in text:
        return False
    try:
        return Path(text).exists() or bool(_matches(text))
    except (OSError, ValueError):  # a name too long, or not to be encoded
        return False


class FileReader:
    """The text of files, one behind the other; the end of a file ends a line.

    In parquet files, a row is a line.
    """

    def __init__(
        self,
        paths: Sequence[PathLike],
        cuts: bytes = BLANKS,
        column: str | None = None,
        nulls: bool = False,
    ) -> None:
        """`cuts`: the bytes behind which the text may be cut into blocks.

        Of parquet files: `column`, where the text is; `nulls`, a cell without value is a line, too.
        """
        self._paths = [file for path in paths for file in find_files(path)]
        self._parquet = {path for path in self._paths if path is not None and is_parquet(path)}
        self._column = column
        self._nulls = nulls
        self.token_lists = self._are_token_lists()
        self._cuts, self._end = (
            (TOKEN_END + SENTENCE_END, SENTENCE_END) if self.token_lists else (cuts, b"\n")
        )
        self._stream: TextStream | ParquetStream | None = None
        self._next = 0
        self._in_line = False  # the last byte read ended no line
        self._finished = 0  # bytes on disk of the files that are read
        known = [path.stat().st_size for path in self._paths if path is not None and path.is_file()]
        self._total = sum(known) if len(known) == len(self._paths) else None
        self.files = self.bytes = self.byte_order_marks = 0

    def _are_token_lists(self) -> bool:
        """Whether the files are parquet files with lists of tokens; all must be, or none."""
        if self._column is not None and not self._parquet:
            raise ConfigError(
                f"column={self._column!r}: only parquet files and tables have columns, and none is given; "
                "leave it out"
            )
        others = [str(path or STDIN) for path in self._paths if path not in self._parquet]
        found = {False: others[0]} if others else {}
        for path in sorted(self._parquet):
            stream = ParquetStream(path, self._column)
            stream.close()
            found[stream.column.tokens] = f"{path}, column {stream.column.name!r}"
        if len(found) == 2:
            raise DataError(
                f"lists of tokens ({found[True]}) and text ({found[False]}) together: give one kind, or "
                "choose a column"
            )
        return True in found

    def progress(self) -> tuple[int, int | None]:
        """Bytes on disk (compressed ones if the files are) that are read, and all of them.

        If one is not a real file, the bytes of text that are read.
        """
        if self._total is None:
            return self.bytes, None
        return self._finished + (self._stream.position() if self._stream else 0), self._total

    def blocks(self, pool: Pool, size: int) -> Generator[Block, None, None]:
        """Blocks of about `size` bytes; longer if there is nowhere to cut."""
        block = pool.take()
        try:
            while True:
                if block.size > LONGEST:
                    where = self._stream.name if self._stream else "the text"
                    missing = "white space" if b" " in self._cuts else "a line end"
                    raise DataError(
                        f"{where}: {block.size} bytes without {missing}: check that it is text with words"
                    )
                block.reserve(max(size, 2 * block.size))  # twice: the block is full and has no cut
                more = self._fill(block)
                cut = self._last_cut(block) if more else block.size
                if cut == 0 and more:
                    continue
                following = pool.take()
                following.reserve(size)
                following.append(block.text.data[cut : block.size])
                block.size = cut
                yield block
                if not more:
                    return
                block = following
        finally:
            self.close()

    def close(self) -> None:
        """Close the file that is open."""
        if self._stream is not None:
            self._finished += self._stream.position()
            self._stream.close()
            self._stream = None

    def _fill(self, block: Block) -> bool:
        """Read until the block is full (True) or all files are read (False)."""
        view = block.text.data
        room = len(view) - PADDING
        while block.size < room:
            if self._stream is None and not self._open():
                return False
            assert self._stream is not None
            got = self._stream.readinto(view[block.size : room])
            if got:
                block.size += got
                self.bytes += got
                self._in_line = view[block.size - 1] != self._end[0]
                continue
            if self._in_line:
                block.append(self._end)
                self._in_line = False
            self.close()
        return True

    def _open(self) -> bool:
        if self._next == len(self._paths):
            return False
        path = self._paths[self._next]
        if path is not None and path in self._parquet:
            self._stream = ParquetStream(path, self._column, self._nulls)
        else:
            self._stream = TextStream(path)
        self._next += 1
        self.files += 1
        self.bytes += 3 * self._stream.marked
        self.byte_order_marks += self._stream.marked
        return True

    def _last_cut(self, block: Block) -> int:
        """The position behind the last byte where the text may be cut; 0 if there is none."""
        end, window = block.size, WINDOW
        while end > 0:
            start = max(0, end - window)
            tail = block.text[start:end].tobytes()
            found = max(tail.rfind(cut) for cut in self._cuts)
            if found >= 0:
                return start + found + 1
            end, window = start, 8 * window
        return 0
