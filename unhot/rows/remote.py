"""Files on other machines, through the file systems of Arrow: s3://bucket/key, gs://, hdfs://, memory://, ...

An address may hold credentials, as in s3://KEY:SECRET@bucket/key?endpoint_override=HOST. What is shown,
logged or saved is the address without the user and without what follows the question mark. This process
remembers the whole of it, so the shown address opens the same file.

Files are read where they are, in pieces, and of parquet files only the parts that are needed. A result is
written to the temporary directory and uploaded when it is complete, so that no half of it appears.
"""

import contextlib
import importlib
import io
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import parse_qsl, unquote

from unhot.errors import DataError, UnhotError
from unhot.leftovers import scratch_folder
from unhot.rows.arrow import fs, pa

# maybe an option of a command, a scheme, a user, a place, a query; a user has no slash, but a secret key may
# have some, and a port is no password
ADDRESS = re.compile(
    r"(--[\w-]+=)?([A-Za-z][\w+.-]+)://(?:(/*[^/@:]*:(?!\d+(?:/|$))[^@]*|[^/@]*)@)?([^?\0\n]*)(?:\?([^\0\n]*))?"
)
# how a place begins: whatever is before it is the rest of a secret key that holds an @
PLACE = re.compile(r"/*[a-z0-9][\w.-]*(?::\d+)?(?:/|$)")
PASSWORD = re.compile(r"/*[^/@:]+:(?!:|\d+(?:/|$))")  # how a user begins behind whom the @ is missing
OF_ARROW = ("s3", "gs", "gcs", "hdfs", "viewfs", "abfs", "abfss", "file")  # all others are those of fsspec
CHECK = (
    "check the address, the credentials and the server (S3: AWS_ENDPOINT_URL); addresses begin with s3://, "
    "gs:// or hdfs://, or are of another kind that fsspec knows, if it and what it needs are installed"
)
BUCKETS = ("s3", "gcs")  # file systems in which folders need not exist, but buckets
HIDDEN = (".", "_")  # how files and folders begin that are no data: .unhot-..., _SUCCESS, .ipynb_checkpoints
PIECE = 1 << 21  # bytes of a request: fewer take about as long
SECONDS = 5.0  # to wait for a server of S3, which is tried three times

_whole: dict[str, str] = {}  # shown address -> what it was given as


def is_address(path: object) -> bool:
    """Return whether a value is a string such as s3://bucket/key."""
    return isinstance(path, str) and ADDRESS.fullmatch(path) is not None


def hidden(text: Any) -> Any:
    """Return an address without its user and its query, which are remembered; any other value as it is."""
    if not is_address(text):
        return text
    option, scheme, user, place, query = _parts(text)
    shown = f"{scheme}://{place.rstrip('/')}"
    if user or query:
        _whole[shown] = text.removeprefix(option)
    return option + shown


def _parts(address: str) -> list[str]:
    """Return the parts of an address: an option, the scheme, the user, the place, the query."""
    option, scheme, user, place, query = ADDRESS.fullmatch(address).groups("")  # type: ignore[union-attr]
    while "@" in place and not PLACE.match(place):
        more, _, place = place.partition("@")
        user += "@" * bool(user) + more
    if not user and PASSWORD.match(place):
        user, place = place, ""
    return [option, scheme, user, place, query]


def as_path(path: Any) -> Any:
    """Return a path of any kind as a `Path`, an address as a `RemotePath`, and `-` as it is."""
    if is_address(path):
        return _connected(hidden(path))
    return path if isinstance(path, RemotePath) or path == "-" else Path(path)


class RemotePath:
    """A file, a folder or a pattern on another machine, with what readers use of `pathlib.Path`."""

    def __init__(
        self, shown: str, secrets: list[str], system: Any = None, key: str = "", size: int | None = None
    ) -> None:
        """Take the address as it is shown, what must not be, Arrow's file system, and the file's key there.

        size   its bytes, if they are known: otherwise it is read like a pipe
        """
        self.shown, self.secrets = shown, secrets
        self.system, self.key = system, key
        self.size = size

    def __getattr__(self, name: str) -> Any:
        return getattr(PurePosixPath(self.__dict__["shown"]), name)

    def __str__(self) -> str:
        return self.shown

    __fspath__ = __str__

    def is_file(self) -> bool:
        """Return whether this is a file of a known size."""
        return self.size is not None

    def stat(self) -> os.stat_result:
        """Return the size of the file; without one it is a pipe. Its address is its number."""
        kind = stat.S_IFIFO if self.size is None else stat.S_IFREG
        return os.stat_result((kind, hash(self.shown), 0, 0, 0, 0, self.size or 0, 0, 0, 0))

    def open(self, mode: str = "rb", buffering: int = PIECE) -> BinaryIO:
        """Open the file for reading; whatever `buffering` says, in large pieces."""
        return io.BufferedReader(RemoteBytes(self), PIECE)

    def at(self, key: str, size: int | None = None) -> "RemotePath":
        """Return another file of the same file system."""
        shown = self.shown.removesuffix(self.key.lstrip("/")) + key.lstrip("/")
        return RemotePath(self.shown if key == self.key else shown, self.secrets, self.system, key, size)

    def found(self) -> list[Any]:
        """Return this file, or the files below this folder or that match this pattern, sorted."""
        with self.explained():
            this = self.system.get_file_info(self.key)
            if this.is_file:
                return [self.at(this.path, this.size)]
            whole, start = this.type == fs.FileType.Directory, re.split(r"[*[]", self.key)[0]
            # a pattern whose bucket is one would list all buckets
            folder = self.key if whole else start.rpartition("/")[0] if start != self.key else ""
            infos = folder and self.system.get_file_info(
                fs.FileSelector(folder, recursive=True, allow_not_found=True)
            )
        files = [
            self.at(info.path, info.size)
            for info in sorted(infos, key=lambda info: str(info.path))
            if info.is_file
            and not info.base_name.startswith(HIDDEN)
            and (whole or _matches(info.path, self.key))
        ]
        if not files:
            raise DataError(f"{self}: no such file or folder, and no match: {CHECK}")
        return files

    def check_bucket(self) -> None:
        """Raise a `DataError` if the bucket does not exist; one that must not be listed may exist."""
        bucket, there = self.key.partition("/")[0], True
        with contextlib.suppress(DataError), self.explained():
            there = self.system.type_name not in BUCKETS or self.system.get_file_info(bucket).type.value > 0
        if not there:
            raise DataError(f"{self}: the bucket {bucket} does not exist: make it first, or {CHECK}")

    def read(self, name: str) -> bytes:
        """Return the bytes of a small file in this folder; none if there is no such file."""
        with self.explained():
            info = self.system.get_file_info(f"{self.key}/{name}")
            return bytes(self.system.open_input_file(info.path).read()) if info.is_file else b""

    def copy(self, file: Path, *, upload: bool = False) -> None:
        """Copy this file to a local one, or a local one to this one.

        It is one call, which Ctrl-C does not cut: Arrow would take what it has for the whole file.
        """
        ends = (self.key, self.system), (str(file.absolute()), fs.LocalFileSystem())
        (source, of), (target, to) = ends[:: -1 if upload else 1]
        with self.explained():
            fs.copy_files(source, target, source_filesystem=of, destination_filesystem=to)

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Raise whatever goes wrong as a `DataError` that names the address, and nothing secret."""
        try:
            yield
        except (UnhotError, MemoryError):
            raise
        except Exception as error:  # fsspec's file systems raise anything
            why = " ".join(str(error).split()) or type(error).__name__
            for secret in self.secrets:
                why = why.replace(secret, "***")
            raise DataError(f"{self}: {why}; {CHECK}") from None


class RemoteBytes(io.RawIOBase):
    """The bytes of a remote file."""

    def __init__(self, path: RemotePath) -> None:
        """Open the file."""
        with path.explained():
            file = path.system.open_input_file(path.key)
        self.readinto, self.seek = path.explained()(file.readinto), file.seek  # type: ignore[method-assign]
        self.readable, self.seekable = file.readable, file.seekable  # type: ignore[method-assign]


def native_file(path: Path) -> Any:
    """Return a file of Arrow's, here or on another machine."""
    if isinstance(path, RemotePath):
        return path.system.open_input_file(path.key)
    return pa.memory_map(str(path))


def _matches(key: str, pattern: str) -> bool:
    """Return whether a file, or a folder above it, matches a pattern, which is that of a whole path."""
    place = PurePosixPath(f"/{key}")
    return any(each.match(f"/{pattern}") for each in (place, *place.parents))


def _connected(shown: str) -> RemotePath:
    """Return the path of an address, of which only this much is shown."""
    whole = _whole.get(shown, shown)
    _, scheme, user, place, query = _parts(whole)
    parts = user, user.partition(":")[2], query
    path = RemotePath(shown, [*filter(None, (*parts, *map(unquote, parts)))])
    with path.explained():
        if scheme == "s3":
            path.system, path.key = _s3(user, place, dict(parse_qsl(query))), place.rstrip("/")
        elif scheme in OF_ARROW:
            path.system, path.key = fs.FileSystem.from_uri(whole)
        else:
            system, path.key = importlib.import_module("fsspec.core").url_to_fs(whole)
            path.system = fs.PyFileSystem(fs.FSSpecHandler(system))
    return path


def _s3(user: str, place: str, options: dict[str, str]) -> Any:
    """Return Arrow's file system for S3, or for a server like it; `options`: those in the address."""
    key, _, secret = map(unquote, user.partition(":"))
    there = os.environ.get
    server = options.pop("endpoint_override", there("AWS_ENDPOINT_URL_S3") or there("AWS_ENDPOINT_URL", ""))
    protocol, _, host = server.rstrip("/").rpartition("://")
    region = there("AWS_REGION") or there("AWS_DEFAULT_REGION") or "us-east-1"
    given = {"access_key": key, "secret_key": secret, "endpoint_override": host, "scheme": protocol}
    # whoever gives no region asks Amazon for it
    given |= {"region": region if host or "region" in options else fs.resolve_s3_region(place.split("/")[0])}
    chosen: dict[str, Any] = {name: one for name, one in (given | options).items() if one}
    return fs.S3FileSystem(**chosen | {"connect_timeout": SECONDS, "request_timeout": SECONDS})


def upload_files(place: Path, target: RemotePath) -> None:
    """Upload files that were written in a folder, of which `place` is the main one."""
    for file in place.parent.iterdir():
        target.at(f"{target.key.removesuffix(target.name)}{file.name}").copy(file, upload=True)


@contextlib.contextmanager
def uploaded(out: Any, upload: Callable[[Path, RemotePath], None] = upload_files) -> Iterator[Path]:
    """Give a path to write to; if `out` is an address, what is there is uploaded at the end of the block."""
    target = as_path(out)
    if not isinstance(target, RemotePath):
        yield Path(target)
        return
    target.check_bucket()
    with scratch_folder() as folder:
        yield folder / target.name
        upload(folder / target.name, target)
