"""One file per format, and the registry that finds them by name or by a path's ending."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unhot.errors import ConfigError, FormatError
from unhot.types import Counts, Floats
from unhot.vectors.formats import word2vec
from unhot.vectors.formats.directory import is_model, load_model, save_model
from unhot.vocab.vocabulary import Vocabulary


class Table(NamedTuple):
    """What every format holds: words, their vectors, and counts where the format has them."""

    words: list[str]
    vectors: Floats  # [words, dim]
    counts: Counts | None


class Format(NamedTuple):
    """How to read and write one format; the writer returns the words it had to write differently."""

    endings: tuple[str, ...]
    reader: Callable[[Path], Table]
    writer: Callable[[Path, Table], dict[str, str]]


def _read_directory(path: Path) -> Table:
    saved = load_model(path)
    if "in_vectors" not in saved.tensors:
        raise FormatError(f"{path}: this model has no tensor 'in_vectors'; it has {', '.join(sorted(saved.tensors))}")
    return Table(saved.vocabulary.words, saved.tensors["in_vectors"], saved.vocabulary.counts)


def _write_directory(path: Path, table: Table) -> dict[str, str]:
    # 0 = not counted: the formats of others know no counts
    counts = np.zeros(len(table.words), np.int64) if table.counts is None else table.counts
    save_model(path, {"model": "vectors"}, Vocabulary(table.words, counts), {"in_vectors": table.vectors})
    return {}


FORMATS: dict[str, Format] = {
    "unhot": Format(("",), _read_directory, _write_directory),
    "word2vec-text": Format(
        (".txt", ".vec"),
        lambda path: Table(*word2vec.read_text(path), None),
        lambda path, table: word2vec.write_text(path, table.words, table.vectors),
    ),
    "word2vec-binary": Format(
        (".bin",),
        lambda path: Table(*word2vec.read_binary(path), None),
        lambda path, table: word2vec.write_binary(path, table.words, table.vectors),
    ),
}


def find_format(path: Path, name: str | None = None) -> Format:
    """Return the format of that name, or the one that a path's ending stands for."""
    listed = "; ".join(f"{key} ({' '.join(form.endings) or 'a folder'})" for key, form in FORMATS.items())
    if name is not None:
        if name not in FORMATS:
            raise ConfigError(f"format={name!r}: must be one of {listed}")
        return FORMATS[name]
    if is_model(path):  # whatever its name ends in
        return FORMATS["unhot"]
    for form in FORMATS.values():
        if path.suffix.lower() in form.endings:
            return form
    raise ConfigError(f"{path}: the ending {path.suffix!r} stands for no format: choose one of {listed}, or name the format")
