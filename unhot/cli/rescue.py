"""Save what a command has learned, even if there is no room for it where it should be.

A training may have taken days, so a save that fails must not lose it. The state stays in memory. On a
terminal the command asks where to save it. Without a terminal, or if nobody answers, it saves to a new folder
beside the encoded text, in the working directory, or in the home directory. If all disks are full, it waits
for room.
"""

import contextlib
import errno
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click

from unhot.cli.show import note
from unhot.errors import DataError

WAIT = 30.0  # seconds between two tries if all disks are full

Save = Callable[[str], None]  # saves to the given place, or raises an error


def save_somewhere(save: Save, place: str, beside: Path, stop_bar: Callable[[], None]) -> str:
    """Save to a place, or to another one that the user gives now, and return which.

    Raise a `DataError` that says where it is if it had to be saved elsewhere without asking.
    """
    while True:
        failure = _tried(save, place)
        if failure is None:
            return place
        stop_bar()
        answer = _answer(failure)
        if answer is None:
            return _save_elsewhere(save, place, beside, failure)
        place = answer or place


def _tried(save: Save, place: str) -> Exception | None:
    """Try to save; return the error if it fails."""
    try:
        save(place)
    except (DataError, OSError) as error:
        return error
    return None


def _answer(failure: Exception) -> str | None:
    """Ask for a place; return an empty string to try the same place again, and None if nobody answers."""
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    question = (
        f"{failure}\nThe training is not lost: it is in memory. Make room and press Enter to try again, or "
        "type another folder"
    )
    try:
        return str(click.prompt(question, default="", show_default=False, err=True)).strip()
    except click.Abort:  # Ctrl-C, or the end of the input
        return None


def _save_elsewhere(save: Save, place: str, beside: Path, failure: Exception) -> str:
    """Save to the first folder that takes it, and raise a `DataError` that says which.

    Return the place itself if there was room in the end.
    """
    folders = dict.fromkeys([beside.absolute(), *_usual_folders()])
    for folder in folders:
        refuge = _refuge(folder, Path(place).name)
        if refuge is not None:
            if _tried(save, str(refuge)) is None:
                raise DataError(f"{failure}; saved it to {refuge} instead: move it to where you want it")
            shutil.rmtree(refuge, ignore_errors=True)
    tried = ", ".join(map(str, folders))
    while _is_full(failure):
        note(
            f"unhot: {failure}; nor is there room in {tried}; the training is kept in memory: make room, "
            f"and it will be saved within {WAIT:.0f} seconds"
        )
        time.sleep(WAIT)
        later = _tried(save, place)
        if later is None:
            return place
        failure = later
    raise DataError(f"{failure}; it could not be saved in {tried} either") from failure


def _usual_folders() -> list[Path]:
    """Return the working directory and the home directory, as far as there are any."""
    folders = []
    for folder in (Path.cwd, Path.home):
        with contextlib.suppress(OSError, RuntimeError):
            folders.append(folder().absolute())
    return folders


def _refuge(folder: Path, name: str) -> Path | None:
    """Make a new folder in a folder; None if that is not possible."""
    try:
        return Path(tempfile.mkdtemp(prefix=f"unhot-{name}-", dir=folder))
    except OSError:
        return None


def _is_full(failure: Exception) -> bool:
    """Return whether a disk or a quota was full: then waiting may help."""
    cause = failure.__cause__ if isinstance(failure, DataError) else failure
    return isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT)
