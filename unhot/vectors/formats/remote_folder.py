"""Models on other machines: saved as a new version, and copied to a cache from which they are memory-mapped.

    s3://BUCKET/MODEL/v1234/...    the files of a version, of which manifest.json is written last
    s3://BUCKET/MODEL/CURRENT      "v1234", written after all of them

The number of a version is the time in microseconds, so two writers at the same time do not mix their files.
Nobody detects them: the last one to end wins. All other versions but the one before are removed.

A copy is in a folder of its own in `UNHOT_CACHE`, or in `unhot/models` of the user's cache folder. It is used
again if it has the manifest of the live version and right checksums of small files. Those of all files were
compared when it was made.
"""

import contextlib
import hashlib
import importlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unhot.atomic import replacing, replacing_folder
from unhot.errors import DataError, FormatError
from unhot.rows.arrow import fs
from unhot.rows.remote import RemotePath, as_path, upload_files, uploaded
from unhot.user_cache import user_cache
from unhot.vectors.formats.directory import (
    CURRENT,
    MANIFEST,
    VERSION_NAME,
    check_files,
    read_manifest,
)


def saved_at(path: Any) -> contextlib.AbstractContextManager[Path]:
    """Give a path to save a model to: if it is an address, a temporary one, which is uploaded at the end."""
    return uploaded(path, _upload)


def _upload(place: Path, target: RemotePath) -> None:
    """Upload a model as a new version, then the file that names it; or files of another format."""
    if not place.is_dir() or not (place / CURRENT).exists():
        return upload_files(place, target)
    names, new = check_remote(target), f"v{time.time_ns() // 1000}"
    before, folder = _live_version(target), place / (place / CURRENT).read_text("ascii").strip()
    for file in sorted(folder.iterdir(), key=lambda file: file.name == MANIFEST):
        target.at(f"{target.key}/{new}/{file.name}").copy(file, upload=True)
    (place / CURRENT).write_text(f"{new}\n", "ascii")
    target.at(f"{target.key}/{CURRENT}").copy(place / CURRENT, upload=True)
    with contextlib.suppress(DataError), target.explained():  # the new model is complete
        for name in names - {CURRENT, before}:  # others may be copying the version before
            target.system.delete_dir(f"{target.key}/{name}")


def check_remote(target: RemotePath) -> set[str]:
    """Return the names in a folder; raise a `DataError` if it is not that of a model, and not empty."""
    with target.explained():
        entries = fs.FileSelector(target.key, allow_not_found=True)
        names = {info.base_name for info in target.system.get_file_info(entries)}
    if not names:
        target.check_bucket()
    if any(VERSION_NAME.fullmatch(name) is None for name in names - {CURRENT}):
        raise DataError(f"{target}: this exists and is not an unhot model; choose another name")
    return names


def _live_version(source: RemotePath) -> str | None:
    """Return the version that CURRENT names; None if there is none."""
    name = source.read(CURRENT).removesuffix(b"\n").decode("latin-1")
    return name if VERSION_NAME.fullmatch(name) else None


def local_copy(path: Any) -> Path:
    """Return a path; if it is an address, that of a copy on this machine, made now unless it is there."""
    source = as_path(path)
    if not isinstance(source, RemotePath):
        return Path(source)
    cache = Path(os.environ.get("UNHOT_CACHE") or user_cache() / "unhot" / "models")
    home: Path = cache / hashlib.sha256(str(source).encode()).hexdigest()[:16] / source.name
    home.mkdir(parents=True, exist_ok=True)
    with _alone(home):
        return _copied(source, home)


@contextlib.contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Wait until no other process or thread copies into a folder."""
    with (home / "lock").open("w") as file:
        with contextlib.suppress(ImportError):  # Windows has no such locks
            fcntl = importlib.import_module("fcntl")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _copied(source: RemotePath, home: Path) -> Path:
    """Copy a model, or a file of another format, into a folder that nobody else writes to."""
    live = _live_version(source)
    if live is None:
        with replacing(home / source.name) as file, source.found()[0].open() as there_file:
            shutil.copyfileobj(there_file, file)
        return Path(home, source.name)
    manifest, version = source.read(f"{live}/{MANIFEST}"), home / live
    there = False
    with contextlib.suppress(OSError, FormatError):
        there = (version / MANIFEST).read_bytes() == manifest and bool(check_files(version))
    if not there:
        with replacing_folder(version, Path.exists) as new:
            (new / MANIFEST).write_bytes(manifest)
            try:
                for name in read_manifest(new):
                    source.at(f"{source.key}/{live}/{name}").copy(new / name)
                check_files(new, verify=True)
            except FormatError as error:
                raise FormatError(str(error).replace(str(new), f"{source}/{live}")) from None
    with replacing(home / CURRENT) as file:
        file.write(f"{live}\n".encode("ascii"))
    copies = sorted(entry.name for entry in home.iterdir() if VERSION_NAME.fullmatch(entry.name))
    for name in copies[:-2]:  # others may be opening the one before
        shutil.rmtree(home / name, ignore_errors=True)
    return home
