"""Correct the sizes and checksums that describe damaged files, so that a reader looks behind them.

manifest.json    of a model: size and sha256 of the files beside it
corpus.json      of an encoded text: the number of words, of ids and of sentences
cells.json       the number of words and of cells
xz               the checksums of the headers
ARPA             the number of n-grams of each order
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from readers.reader import Files

XZ = b"\xfd7zXZ\x00"
ARPA = b"\\data\\"
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def mended(files: Files) -> Files:
    """Return the files with sizes and checksums corrected, where these can still be found."""
    out = dict(files)
    for name, data in files.items():
        path = PurePosixPath(name)
        if path.name in INDICES:
            beside = {
                other.name: files[str(other)]
                for other in map(PurePosixPath, files)
                if other.parent == path.parent
            }
            try:
                index = json.loads(data)
                INDICES[path.name](index, beside)
                out[name] = json.dumps(index).encode()
            except UNREADABLE:
                continue
        elif data.startswith(XZ):
            out[name] = _mended_xz(data)
        elif ARPA in data[:100]:
            out[name] = _mended_arpa(data)
    return out


def _mend_manifest(manifest: Any, beside: Files) -> None:
    for name, entry in manifest["files"].items():
        entry["size"], entry["sha256"] = len(beside[name]), hashlib.sha256(beside[name]).hexdigest()


def _mend_corpus(index: Any, beside: Files) -> None:
    _mend_words(index, beside)
    numbers = range(len(index["shards"]))
    index["shards"] = [
        (len(beside[f"{i:05}.ids"]) // 4, len(beside[f"{i:05}.starts"]) // 8 - 1) for i in numbers
    ]
    index["report"]["words" if index.get("unknown") else "kept"] = sum(ids for ids, _ in index["shards"])
    index["report"]["sentences"] = sum(sentences for _, sentences in index["shards"])


def _mend_cells(index: Any, beside: Files) -> None:
    _mend_words(index, beside)
    index["cells"] = len(beside["cells.values"]) // 8


def _mend_words(index: Any, beside: Files) -> None:
    index["words"] = len(beside["counts.bin"]) // 8


INDICES: dict[str, Callable[[Any, Files], None]] = {
    "manifest.json": _mend_manifest,
    "corpus.json": _mend_corpus,
    "cells.json": _mend_cells,
}


def _mended_xz(data: bytes) -> bytes:
    """Correct the checksums of the stream header and of the first block's header."""
    flags, size = data[6:8], 4 * data[12] + 4 if len(data) > 12 else 0
    if not size or len(data) < 12 + size:
        return data
    block = data[12 : 12 + size - 4]
    checks = [zlib.crc32(part).to_bytes(4, "little") for part in (flags, block)]
    return XZ + flags + checks[0] + block + checks[1] + data[12 + size :]


def _mended_arpa(data: bytes) -> bytes:
    """Correct the numbers of n-grams in the header."""
    head, *parts = re.split(rb"(?m)^(\\\d{1,2})-grams:", data)
    for marker, part in zip(parts[::2], parts[1::2], strict=True):
        lines = [line for line in part.splitlines() if line.strip() and b"\\" not in line[:1]]
        head = re.sub(rb"(ngram *%s *= *)\d+" % marker[1:], rb"\g<1>%d" % len(lines), head)
    return head + data[len(head) :] if not parts else head + data[data.index(parts[0]) :]
