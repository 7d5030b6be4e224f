"""Read one file, compressed or not, as a stream of bytes. Its first bytes, not its name, tell its kind."""

import contextlib
import importlib
import io
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from unhot.errors import DataError

HEAD = 10  # bytes that tell the kind of a file
BUFFER = 1 << 18  # compressed bytes read at a time
PIECE = 1 << 16  # bytes of text read at a time

# kind: module, class, the name of the class's argument for the compressed file, and other arguments. A gzip
# file would name the temporary file that it was written as, and its time.
PACKERS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "gz": ("gzip", "GzipFile", "fileobj", {"filename": "", "mtime": 0}),
    "bz2": ("bz2", "BZ2File", "filename", {}),
    "xz": ("lzma", "LZMAFile", "filename", {}),
}
# what follows "BZh" and a digit: a first block, or the end of an empty file
BZIP2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")
ZSTD_FRAME, ZSTD_SKIPPABLE = b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"
UTF8_MARK = b"\xef\xbb\xbf"
# longer marks first, because a longer mark can begin with a shorter one
OTHER_MARKS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


class Rejoined(io.RawIOBase):
    """A stream that cannot seek, with the bytes that were already read put back in front."""

    def __init__(self, head: bytes, rest: Any) -> None:
        """Take the bytes that were already read (`head`) and the stream with the rest."""
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read from the head first, then from the stream."""
        if self._head:
            n = min(len(buffer), len(self._head))
            buffer[:n], self._head = self._head[:n], self._head[n:]
            return n
        return self._rest.readinto(buffer) or 0


class TextStream:
    """The text of a file without its byte order mark; every failure is a `DataError` that names the file."""

    def __init__(self, path: Path | None) -> None:
        """Open a file; None: standard input."""
        self.name = str(path) if path else "standard input"
        self.marked = False
        self._raw: IO[bytes] | None = None
        self._seekable, self._read = False, 0
        self._lines = 0  # line feeds of the text that was read
        try:
            self._raw = path.open("rb", 0) if path else _standard_input()
            self._seekable = bool(path) and self._raw.seekable()
            self._text = self._decompressed(read_fully(self._raw, HEAD))
            self._head = self._without_mark(read_fully(self._text, 4))
        except _troubles() as error:
            self.close()
            raise self._explained(error) from error
        except DataError:
            self.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        """Yield the text, some bytes at a time."""
        try:
            head, self._head = self._head, b""
            self._lines = head.count(b"\n")
            yield head
            while text := self._text.read(PIECE):
                self._lines += text.count(b"\n")
                yield text
        except _troubles() as error:
            raise self._explained(error) from error

    def peek(self, size: int) -> bytes:
        """Return the first bytes of the text, which are read again later."""
        try:
            self._head += read_fully(self._text, max(0, size - len(self._head)))
        except _troubles() as error:
            raise self._explained(error) from error
        return self._head[:size]

    def position(self) -> int:
        """Return the number of bytes read from disk; for a compressed file, of compressed bytes."""
        if self._raw and self._seekable:
            with contextlib.suppress(OSError, ValueError):  # a thread that reads may close it at any time
                self._read = self._raw.tell()
        return self._read

    def close(self) -> None:
        """Close the file; standard input stays open."""
        self.position()  # which may be asked for later, too
        if self._raw and self.name != "standard input":
            self._raw.close()

    def _decompressed(self, head: bytes) -> Any:
        raw: Any = self._raw
        if self._seekable:
            raw.seek(0)
        else:
            raw = Rejoined(head, raw)
        if head.startswith(b"PK\x03\x04"):
            raise DataError(
                f"{self.name}: this is a zip archive: unpack it, or compress the text with gz, bz2, xz or zst"
            )
        if head.startswith((b"PAR1", b"ARROW1")) and not self._seekable:
            raise DataError(
                f"{self.name}: a parquet or Arrow file cannot be read from a pipe, because its index is at "
                "its end: give it as a file"
            )
        kind = compression(head)
        return decompress(kind, io.BufferedReader(raw, BUFFER)) if kind else raw

    def _without_mark(self, head: bytes) -> bytes:
        self.marked = head.startswith(UTF8_MARK)
        for mark, encoding in OTHER_MARKS.items():
            if head.startswith(mark):
                raise DataError(
                    f"{self.name}: its byte order mark says that this is {encoding} text: convert it to "
                    f"UTF-8, e.g. with iconv -f {encoding} -t UTF-8"
                )
        return head[len(UTF8_MARK) :] if self.marked else head

    def _explained(self, error: Exception) -> DataError:
        if isinstance(error, OSError) and error.errno is not None:
            return DataError(f"{self.name}: cannot be read: {error.strerror}")
        if isinstance(error, MemoryError):  # the header of an xz file may ask for 4 GB
            return DataError(
                f"{self.name}: there is not enough memory to unpack it: compress the text with a smaller "
                "window, or make or download the file again if it is damaged"
            )
        return DataError(
            f"{self.name}: the compressed data is damaged or cut short behind line {self._lines:,}: {error}; "
            "make or download the file again"
        )


def read_fully(stream: Any, size: int) -> bytes:
    """Read exactly `size` bytes, or fewer if the stream ends before."""
    parts = b""
    while len(parts) < size and (part := stream.read(size - len(parts))):
        parts += part
    return parts


def compression(head: bytes) -> str:
    """Return the compression of a file from its first bytes; an empty string if it is not compressed."""
    if head.startswith(b"\x1f\x8b"):
        return "gz"
    if head.startswith(b"BZh") and head[4:10] in BZIP2_BLOCKS:
        return "bz2"
    if head.startswith(b"\xfd7zXZ\x00"):
        return "xz"
    if head.startswith(ZSTD_FRAME) or (head[1:4] == ZSTD_SKIPPABLE and 0x50 <= head[0] <= 0x5F):
        return "zst"
    return ""


def decompress(kind: str, stream: IO[bytes]) -> Any:
    """Return a decompressing stream; several compressed streams in one file are read as one."""
    if kind in PACKERS:
        return packed_file(kind, stream, "rb")
    zstd = _zstd()
    # 31 allows files made with zstd --long=31
    return zstd.ZstdFile(stream, options={zstd.DecompressionParameter.window_log_max: 31})


def packed_file(kind: str, file: IO[bytes], mode: str) -> Any:
    """Return a file that decompresses ("rb") or compresses ("wb") an open one."""
    if kind == "zst":
        return _zstd().ZstdFile(file, mode=mode)
    module, name, argument, others = PACKERS[kind]
    return getattr(importlib.import_module(module), name)(**{argument: file}, **others, mode=mode)


def _zstd() -> Any:
    return importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def _troubles() -> tuple[type[Exception], ...]:
    """Return the exceptions that reading can raise; modules that are not loaded cannot raise any."""
    names = {"lzma": "LZMAError", "compression.zstd": "ZstdError", "backports.zstd": "ZstdError"}
    loaded = [getattr(sys.modules[name], error) for name, error in names.items() if name in sys.modules]
    return (OSError, EOFError, MemoryError, zlib.error, *loaded)


def _standard_input() -> IO[bytes]:
    buffer: IO[bytes] | None = getattr(sys.stdin, "buffer", None)
    if buffer is None:
        raise DataError(
            "-: standard input is closed, or not a stream of bytes: pipe text into it, or give a file"
        )
    return buffer
