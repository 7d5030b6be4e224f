"""Where a corpus is made: files are written in a hidden folder and moved to their place when all is done.

Whatever stops the work (an error, Ctrl-C), the folder goes, and with it a directory that was made for this
corpus only. A full disk becomes a `DataError` that says how much is needed where.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from unhot.corpus.corpus import BESIDE, INDEX
from unhot.errors import DataError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
HIDDEN = ".encoding-"


class DiskFull(DataError):
    """A full disk, explained."""


class Workplace:
    """A context: `work` is the folder to write into, `directory` where `publish` moves the files.

    `estimate`, if it is set, tells how many bytes the work takes, and whether all of the text is known.
    """

    needs = "the ids need"
    advice = "make room, or give another place (directory, or TMPDIR in the environment)"
    estimate: Callable[[], tuple[float, bool]] | None = None

    def __init__(self, directory: str | os.PathLike[str] | None) -> None:
        """None: a temporary directory, which goes if nothing is published."""
        self.temporary = directory is None
        self.made = self.temporary
        self._published = False
        try:
            if directory is None:
                self.directory = Path(tempfile.mkdtemp(prefix="unhot-"))
            else:
                self.directory = Path(directory)
                self.made = not self.directory.exists()
                self.directory.mkdir(parents=True, exist_ok=True)
            self.work = Path(tempfile.mkdtemp(prefix=HIDDEN, dir=self.directory))
        except OSError as error:
            where = "the temporary directory (see TMPDIR)" if directory is None else os.fspath(directory)
            raise DataError(
                f"{where}: cannot be written: {error.strerror}; give a directory that can"
            ) from error

    def __enter__(self) -> Self:
        """The workplace itself."""
        return self

    def __exit__(self, kind: object, error: BaseException | None, *stopped: object) -> None:
        """Clean up, and explain a full disk."""
        # where an index is written, a full disk is a `DataError` already, but not one that says enough
        cause = error.__cause__ if isinstance(error, DataError) and not isinstance(error, DiskFull) else error
        full = self._full_disk() if isinstance(cause, OSError) and cause.errno in FULL else None
        shutil.rmtree(self.work, ignore_errors=True)
        if self.made and (kind is not None or not self._published):
            shutil.rmtree(self.directory, ignore_errors=True)
        if full is not None:
            raise full from error

    def _full_disk(self) -> DiskFull:
        """How much was needed, and what there was before this work began."""
        used = sum(path.stat().st_size for path in self.directory.glob(f"{HIDDEN}*/**/*"))
        free = shutil.disk_usage(self.directory).free + used
        need, known = (used, False) if self.estimate is None else self.estimate()
        return DiskFull(
            f"{self.directory}: disk full: {self.needs} {'about' if known else 'more than'} "
            f"{need / 1e9:.3g} GB there, {free / 1e9:.3g} GB were free: {self.advice}"
        )

    def publish(self, index: str = INDEX, numbered: Sequence[str] = ("[0-9]*.ids", "[0-9]*.starts")) -> None:
        """Move all files from the work folder to the directory.

        What was there, valid by its index, is not valid from then on. `numbered`: patterns of files that
        there may have been more of.
        """
        self._published = True
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
