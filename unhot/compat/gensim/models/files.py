"""Handle files around vectors: unpack compressed files, read and write counts, refuse pickles."""

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from unhot.atomic import replacing
from unhot.errors import ConfigError, DataError, FormatError
from unhot.leftovers import scratch_folder
from unhot.rows.streams import HEAD, PACKERS, TextStream, compression, packed_file
from unhot.types import Counts
from unhot.vocab.vocabulary import decode_word, encode_word

logger = logging.getLogger("unhot")
DIGITS = 18  # any count of this many digits fits 64 bits
PICKLE = b"\x80"  # the first byte of a pickle, in all protocols in use


def path_of(fname_or_handle: object, *, folder: bool = True) -> Path:
    """Return the path to write to; raise a `ConfigError` for an open file, because a folder is written.

    Where a file is in the way of a `folder`, such as an older model of gensim's, the folder is written beside
    it: a model that took hours to train must not be lost.
    """
    if not isinstance(fname_or_handle, (str, os.PathLike)):
        raise ConfigError(
            f"fname_or_handle has type {type(fname_or_handle).__name__}: give the path of a folder to write"
        )
    path = Path(fname_or_handle)
    if not folder or not path.is_file():
        return path
    logger.warning("%s is a file, which is kept; unhot saves a folder beside it: %s", path, _beside(path))
    return _beside(path)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.unhot")


def refuse_pickle(path: Path) -> None:
    """Raise a `FormatError` with advice if a file is a pickle, as gensim's `save` writes."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        if file.read(1) == PICKLE:
            raise FormatError(
                f"{path}: byte 0: this is a pickle, which unhot never reads, because it can run any program: "
                "load it in gensim, write it with wv.save_word2vec_format(PATH, binary=True), "
                "and read that file with KeyedVectors.load_word2vec_format(PATH, binary=True)"
                + (f"; what unhot saved beside it is {_beside(path)}" if _beside(path).exists() else "")
            )


@contextlib.contextmanager
def packed(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write; its ending .gz, .bz2, .xz or .zst says how it is compressed, as in gensim."""
    kind = path.suffix.lower().removeprefix(".")
    with replacing(path) as file:
        packs = kind in (*PACKERS, "zst")
        with packed_file(kind, file, "wb") if packs else contextlib.nullcontext(file) as out:
            yield out


@contextlib.contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Yield the path of a file or, if it is compressed, of a temporary file with its unpacked content."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    with path.open("rb") as file:
        kind = compression(file.read(HEAD))
    if not kind:
        yield path
        return
    with scratch_folder() as folder:
        plain = folder / path.name.removesuffix(path.suffix)
        with contextlib.closing(TextStream(path)) as stream, plain.open("wb") as out:
            for text in stream:
                out.write(text)
        yield plain


def read_counts(path: Path, words: Sequence[str]) -> Counts:
    """Read the counts of words from lines `word count`; a missing word has the count 0."""
    counts = {}
    with contextlib.closing(TextStream(path)) as stream:
        lines = b"".join(stream).split(b"\n")
    for number, line in enumerate(lines, 1):
        if line.strip():
            word, _, count = line.strip().rpartition(b" ")
            if not word or not count.isdigit() or len(count) > DIGITS:
                raise FormatError(
                    f"{path}: line {number}: {line[:80]!r}: a line must be a word, a space and its count"
                )
            counts[decode_word(word)] = int(count)
    return np.array([counts.get(word, 0) for word in words], np.int64)


def write_counts(path: Path, words: Sequence[str], counts: Counts) -> None:
    """Write lines `word count`."""
    with packed(path) as file:
        for word, count in zip(words, counts.tolist(), strict=True):
            file.write(encode_word(word) + b" %d\n" % count)
