"""The folder for what can be made again: compiled kernels, copies of files of other machines."""

import os
import stat
import sys
import tempfile
from pathlib import Path


def user_cache() -> Path:
    """Return the user's cache folder, which depends on the platform."""
    given = os.environ.get({"win32": "LOCALAPPDATA", "darwin": ""}.get(sys.platform, "XDG_CACHE_HOME"), "")
    if given:
        return Path(given)
    try:
        home = Path.home()
    except RuntimeError:  # neither HOME nor an entry of this user in the list of users
        return _private_folder()
    return home / {"win32": "AppData/Local", "darwin": "Library/Caches"}.get(sys.platform, ".cache")


def _private_folder() -> Path:
    """Return a folder in the temporary directory that only this user can write to.

    If somebody else made a folder of that name, return one that cannot exist: then nothing is kept. Kernels
    are programs, so nobody else may put any there.
    """
    folder = Path(tempfile.gettempdir()) / f"unhot-cache-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o022 and found.st_uid == os.getuid()
    except OSError:
        private = False
    return folder if private else Path(os.devnull) / "unhot"
