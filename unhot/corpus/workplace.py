"""A work folder for a corpus: files are written to a hidden folder and moved to their place at the end.

If an error or Ctrl-C stops the work, the hidden folder is removed, and so is a directory that was made only
for this corpus. A full disk becomes a `DataError` that says where how much space is needed.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from unhot.claims import CLAIM, claimed
from unhot.corpus.corpus import BESIDE, INDEX
from unhot.errors import ConfigError, DataError
from unhot.leftovers import temporary_folder
from unhot.rows.remote import is_address
from unhot.sizes import FULL, free_space, readable

HIDDEN = ".encoding-"
CHECKED = 1 << 23  # bytes of the work between two checks that the rest will fit


class DiskFull(DataError):
    """The disk is full; the message says how much space the work needs."""


class Workplace:
    """A context manager: write files to `work`; `publish` moves them to `directory`.

    `estimate`, if set, returns the number of bytes that the work needs, and whether that covers the whole
    text.
    """

    needs = "the ids need"
    advice = "make room, or give another place (directory, or TMPDIR in the environment)"
    estimate: Callable[[], tuple[float, bool]] | None = None

    def __init__(self, directory: str | os.PathLike[str] | None) -> None:
        """Make the folders; None: a temporary directory, which is removed if nothing is published."""
        if is_address(directory):
            raise ConfigError(f"{directory}: is kept on this machine only: give a folder here")
        self.temporary = directory is None
        self.made = self.temporary
        self._published = False
        self._claim, self._checked = ExitStack(), 0
        try:
            if directory is None:
                self.directory = temporary_folder()
            else:
                self.directory = Path(directory)
                self.made = not self.directory.exists()
                self.directory.mkdir(parents=True, exist_ok=True)
            self.work = temporary_folder(self.directory, HIDDEN)
        except OSError as error:
            where = "the temporary directory (see TMPDIR)" if directory is None else os.fspath(directory)
            raise DataError(
                f"{where}: cannot be written: {error.strerror}; give a directory that you can write to"
            ) from error

    def __enter__(self) -> Self:
        """Hold the directory, unless it is temporary: nobody else may write a result there meanwhile."""
        try:
            if not self.temporary:
                self._claim.enter_context(claimed(self.directory / CLAIM, self.directory))
        except DataError:
            shutil.rmtree(self.work, ignore_errors=True)
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, *stopped: object) -> None:
        """Remove the work folder, and turn a full disk into a `DiskFull` error."""
        # writing an index turns a full disk into a `DataError`, but one without the space needed
        cause = error.__cause__ if isinstance(error, DataError) and not isinstance(error, DiskFull) else error
        try:
            # NumPy's error of a short write has no number: "20000 requested and 1536 written"
            wrote_less = isinstance(cause, OSError) and (cause.errno in FULL or "requested and" in str(cause))
            full = self._full_disk() if wrote_less else None
        finally:
            shutil.rmtree(self.work, ignore_errors=True)
            self._claim.close()
            if self.made and (kind is not None or not self._published):
                shutil.rmtree(self.directory, ignore_errors=True)
        if full is not None:
            raise full from error

    def check_room(self, written: int) -> None:
        """Raise a `DiskFull` error now if the work, as far as it can be estimated, will not fit.

        `written`: bytes written so far; the disk is asked after each `CHECKED` of them.
        """
        if self.estimate is not None and written - self._checked >= CHECKED:
            self._checked = written
            need, known = self.estimate()
            if known and need > free_space(self.directory) + self._used():
                raise self._full_disk()

    def _used(self) -> int:
        """Return how much space the work takes now."""
        return sum(path.stat().st_size for path in self.directory.glob(f"{HIDDEN}*/**/*"))

    def _full_disk(self) -> DiskFull:
        """Return an error that says how much space was needed, and how much was free before the work."""
        free = readable(free_space(self.directory) + self._used())
        need, known = (0, False) if self.estimate is None else self.estimate()
        space = f"about {readable(need)} there, {free} were free" if known else f"more than the {free} there"
        return DiskFull(f"{self.directory}: disk full: {self.needs} {space}: {self.advice}")

    def publish(self, index: str = INDEX, numbered: Sequence[str] = ("[0-9]*.ids", "[0-9]*.starts")) -> None:
        """Move all files from the work folder to the directory.

        First remove the index of an older result there, which makes that result invalid, and then its
        numbered files (`numbered`: their patterns), because the new result may have fewer of them.
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
