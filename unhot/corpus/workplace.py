"""Where a corpus is made: files are written in a hidden folder and moved to their place when all is done.

Whatever stops the work (an error, Ctrl-C), the folder goes, and with it a directory that was made for this
corpus only.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from unhot.corpus.corpus import BESIDE, INDEX
from unhot.errors import DataError

if TYPE_CHECKING:
    from unhot.corpus.reading.spool import Spool

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Workplace:
    """A context: `work` is the folder to write into, `directory` where `publish` moves the files."""

    def __init__(self, directory: str | os.PathLike[str] | None) -> None:
        """None: a temporary directory."""
        self.temporary = directory is None
        self.made = self.temporary
        try:
            if directory is None:
                self.directory = Path(tempfile.mkdtemp(prefix="unhot-"))
            else:
                self.directory = Path(directory)
                self.made = not self.directory.exists()
                self.directory.mkdir(parents=True, exist_ok=True)
            self.work = Path(tempfile.mkdtemp(prefix=".encoding-", dir=self.directory))
        except OSError as error:
            where = "the temporary directory (see TMPDIR)" if directory is None else os.fspath(directory)
            raise DataError(
                f"{where}: cannot be written: {error.strerror}; give a directory that can"
            ) from error

    def __enter__(self) -> Self:
        """The workplace itself."""
        return self

    def __exit__(self, kind: object, *stopped: object) -> None:
        """Clean up."""
        shutil.rmtree(self.work, ignore_errors=True)
        if kind is not None and self.made:
            shutil.rmtree(self.directory, ignore_errors=True)

    def publish(self, index: str = INDEX, numbered: Sequence[str] = ("[0-9]*.ids", "[0-9]*.starts")) -> None:
        """Move all files from the work folder to the directory.

        What was there, valid by its index, is not valid from then on. `numbered`: patterns of files that
        there may have been more of.
        """
        (self.directory / index).unlink(missing_ok=True)
        for pattern in numbered:
            for old in self.directory.glob(pattern):
                old.unlink()
        for old in self.directory.glob(f"{BESIDE}/*/{INDEX}"):
            shutil.rmtree(old.parent)
        for path in sorted(self.work.rglob("*")):
            target = self.directory / path.relative_to(self.work)
            if path.is_dir():
                target.mkdir(exist_ok=True)
            else:
                path.replace(target)

    @contextlib.contextmanager
    def disk_full_explained(
        self, progress: Callable[[], tuple[int, int | None]], spool: Spool
    ) -> Iterator[None]:
        """Turn a full disk into a `DataError` that says how much is needed where.

        `progress` tells how much of the text is read, and of how much.
        """
        try:
            yield
        except OSError as error:
            if error.errno not in FULL:
                raise
            done, total = progress()
            ids = spool.bytes * (total / done if total and done else 1)
            # while a part of the spool becomes part of a shard, both are there
            need = ids + min(ids, spool.part)
            free = shutil.disk_usage(self.directory).free + sum(
                path.stat().st_size for path in self.work.iterdir()
            )
            about = "about" if total else "more than"
            raise DataError(
                f"{self.directory}: disk full: the ids need {about} {need / 1e9:.3g} GB there, "
                f"{free / 1e9:.3g} GB were free: make room, or give another place (directory, or TMPDIR in "
                "the environment)"
            ) from error
