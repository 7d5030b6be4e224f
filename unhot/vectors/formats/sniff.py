"""Recognise the format of a file or folder by its first bytes.

This serves paths without a known ending, and error messages about files with a wrong ending.
"""

from pathlib import Path

from unhot.vectors.formats import floret, glove, model2vec, npy, parquet, projector, word2vec
from unhot.vectors.formats.directory import is_model
from unhot.vectors.formats.fasttext.header import SIGNATURE
from unhot.vectors.formats.text_rows import mapped

MAGIC = {SIGNATURE: "fasttext", npy.MAGIC: "npy", parquet.MAGIC: "parquet"}
# file types that are recognised but cannot be read, and what to do instead
FOREIGN = {
    b"\x80": "a pickle, e.g. from gensim's save, which unhot never opens: write the vectors with gensim's "
    "save_word2vec_format",
    b"\x1f\x8b": "compressed with gzip: unpack it first",
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"BZh": "compressed with bzip2: unpack it first",
    b"\xfd7zXZ": "compressed with xz: unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: unpack it first",
}


def sniff(path: Path) -> str | None:
    """Return the format that a file or folder looks like; None if it is not recognised."""
    if path.is_dir():
        return _sniff_folder(path)
    size, head = path.stat().st_size, head_of(path)
    by_magic = next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)
    if by_magic is not None:
        return by_magic
    found = floret.HEADER.match(head)
    if found is not None and found.groups()[6:] == (b"<", b">"):  # the other fields could be any numbers
        return "floret"
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= size - 8:
        return "safetensors"
    if foreign(path):
        return None
    return _sniff_rows(path, size)


def is_fasttext(path: Path) -> bool:
    """Return whether a file is a fastText model: these share the ending .bin with word2vec."""
    try:
        return head_of(path).startswith(SIGNATURE)
    except OSError:  # the reader will raise a better error
        return False


def foreign(path: Path) -> str | None:
    """Return what a file is and what to do with it, if it has a known type that cannot be read."""
    head = head_of(path)
    return next((about for magic, about in FOREIGN.items() if head.startswith(magic)), None)


def head_of(path: Path) -> bytes:
    """Return the first bytes of a regular file; empty otherwise, because reading a pipe would block."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(floret.HEADER_BYTES)


def _sniff_folder(path: Path) -> str | None:
    if is_model(path):
        return "unhot"
    if model2vec.find_layout(path) is not None:
        return "model2vec"
    return "projector" if (path / projector.VECTORS).is_file() else None


def _sniff_rows(path: Path, size: int) -> str | None:
    """Tell the formats with rows apart: text or binary, with or without a first line `rows dim`."""
    text = mapped(path, size)
    header = word2vec.HEADER.match(bytes(text[: word2vec.HEADER_BYTES]))
    if header and size == header.end():  # there are no rows to look at
        return "word2vec-binary" if path.suffix.lower() == ".bin" else "word2vec-text"
    found = glove.width(text[header.end() :] if header else text)
    if header is None:
        tabs = bytes(text[:4096]).split(b"\n", 1)[0].count(b"\t")
        return None if found is None else "projector" if tabs and path.suffix.lower() == ".tsv" else "glove"
    # Rows of text stay text if the header is wrong; without a number in a row, they are not binary either.
    return "word2vec-text" if found or not int(header[2]) else "word2vec-binary"
