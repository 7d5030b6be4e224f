"""Find the files that a path names, and read their text, one file after another, in blocks of bytes."""

import contextlib
import glob
import os
from collections.abc import Generator, Sequence
from pathlib import Path

from unhot.atomic import TEMPORARY
from unhot.corpus.cells.cells import INDEX as CELLS_INDEX
from unhot.corpus.corpus import INDEX as CORPUS_INDEX
from unhot.corpus.reading.arrow import ParquetStream, is_parquet
from unhot.corpus.reading.cuts import TOKENS, WORDS, Cuts, without_middles
from unhot.corpus.reading.not_text import checked
from unhot.corpus.reading.streams import PIECE, TextStream
from unhot.corpus.reading.text_blocks import Block, Pool
from unhot.corpus.reading.tokenizers import SENTENCE_END
from unhot.errors import ConfigError, DataError

STDIN = "-"
LONGEST = 1 << 30  # bytes of a block, so that its positions fit int32
PEEK = 1000  # how many strings of a list are examined to tell paths from sentences

PathLike = str | os.PathLike[str]


def find_files(path: PathLike) -> list[Path | None]:
    """Return the files that a path names: the file, all files below a folder, or the matches of a pattern.

    Files of a folder or pattern are sorted. None stands for standard input.
    """
    if path == STDIN:
        return [None]
    place = Path(path)
    if not _names_a_file(os.fspath(path)):
        raise DataError(
            f"{os.fspath(path) or repr(path):.200}: no such file or folder, and no match: give an existing "
            "path (in Python, to give sentences, put them into a list or another iterable)"
        )
    if place.is_dir():
        refuse_encoded(place)
        files = _below(place)
        if not files:
            raise DataError(f"{place}: the folder has no files: give a folder that holds text files")
        return files
    if place.exists():
        return [place]
    matches = _matches(os.fspath(path))
    for match in matches:
        refuse_encoded(match)
    return [file for match in matches for file in (_below(match) if match.is_dir() else [match])]


def refuse_encoded(folder: Path) -> None:
    """Raise a `DataError` if a folder holds cells or an encoded corpus, whose bytes are not text."""
    for index, what in (
        (CELLS_INDEX, "cells, not text: open them with Cells.open"),
        (CORPUS_INDEX, "an encoded corpus, not text: open it with Corpus.open"),
    ):
        if (folder / index).is_file():
            raise DataError(
                f"{folder}: the folder holds {what}, or give the folder as the only input of unhot train"
            )


def are_paths(items: Sequence[object]) -> bool:
    """Return whether a list holds paths: `pathlib` paths, or strings that all name existing files.

    If none of the strings names a file, they are sentences; if only some do, raise a `DataError`.
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
            f"in a list of {len(items)} strings, some name files and some do not, such as "
            f"{missing[0][:80]!r}: give paths as pathlib.Path, sentences as an iterator (iter(sentences))"
        )
    return not missing


def _below(folder: Path) -> list[Path | None]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(TEMPORARY))
    return [*sorted(files)]


def _matches(pattern: str) -> list[Path]:
    if not any(c in pattern for c in "*?["):
        return []
    # Path.glob does not accept absolute patterns
    return [Path(match) for match in sorted(glob.glob(pattern, recursive=True))]  # noqa: PTH207


def _names_a_file(text: str) -> bool:
    if text == STDIN:
        return True
    if not text or len(text) > 4096 or "\n" in text or "\0" in text:
        return False
    try:
        return Path(text).exists() or bool(_matches(text))
    except (OSError, ValueError):  # the name is too long, or cannot be encoded
        return False


class FileReader:
    """Read the text of several files, one after another; the end of a file also ends a line.

    In a parquet file, each row is a line.
    """

    def __init__(
        self,
        paths: Sequence[PathLike],
        cuts: Cuts = WORDS["whitespace"],
        column: str | None = None,
        nulls: bool = False,
        force: bool = False,
    ) -> None:
        """Find the files of the paths; `cuts` says where the text may be cut into blocks.

        For parquet files, `column` names the column of the text, and `nulls` makes a null cell an empty line.
        With `force`, also files that do not look like text are read.
        """
        self._paths = [file for path in paths for file in find_files(path)]
        self._parquet = {path for path in self._paths if path is not None and is_parquet(path)}
        self._column = column
        self._nulls, self._force = nulls, force
        self.token_lists = self._are_token_lists()
        self._cuts, self._end = (TOKENS, SENTENCE_END) if self.token_lists else (cuts, b"\n")
        self._stream: TextStream | ParquetStream | None = None
        self._finished = 0  # bytes on disk of the files that were read completely
        known = [path.stat().st_size for path in self._paths if path is not None and path.is_file()]
        self._total = sum(known) if len(known) == len(self._paths) else None
        self.files = self.bytes = self.byte_order_marks = 0

    def _are_token_lists(self) -> bool:
        """Return whether the files hold lists of tokens; raise a `DataError` if only some of them do."""
        if self._column is not None and not self._parquet:
            raise ConfigError(
                f"column={self._column!r}: only parquet files and tables have columns, but the source has "
                "none of these; leave column out"
            )
        others = [str(path or STDIN) for path in self._paths if path not in self._parquet]
        found = {False: others[0]} if others else {}
        for path in sorted(self._parquet):
            stream = ParquetStream(path, self._column)
            stream.close()
            found[stream.column.tokens] = f"{path}, column {stream.column.name!r}"
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
        return self._finished + (self._stream.position() if self._stream else 0), self._total

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
                        f"{self._stream.name if self._stream else 'the text'}: {block.size} bytes without a "
                        "line end: check that this is text with lines"
                    )
        if block.size:
            yield block

    def _pieces(self, size: int) -> Generator[bytes, None, None]:
        """Yield the text of all files, at most `size` bytes at a time."""
        for path in self._paths:
            if path is not None and path in self._parquet:
                stream: TextStream | ParquetStream = ParquetStream(path, self._column, self._nulls)
            else:
                stream = TextStream(path)
            self._stream = stream
            self.files += 1
            self.byte_order_marks += stream.marked
            self.bytes += 3 * stream.marked
            last = self._end
            with contextlib.closing(stream):
                unchecked = self._force or path in self._parquet
                for text in stream if unchecked else checked(stream, stream.name):
                    self.bytes += len(text)
                    last = text[-1:] or last
                    for at in range(0, len(text), size):
                        yield text[at : at + size]
                self._finished += stream.position()
            self._stream = None
            if last != self._end:
                yield self._end
