"""Checkpoints: when a training saves its state, the disk it needs, and a checksum of what it is trained on.

A checkpoint is a model like any other, with the position of the training in its config. It is written between
chunks, while no thread trains, and either completely or not at all. With one thread, a resumed training gives
the same bytes as one that never stopped: a chunk's random numbers and its learning rate depend on the seed
and on its place in the corpus alone.

The disk space that a training needs for its model and its checkpoints is computed before it starts. While a
checkpoint is written, the one before is still there. A checkpoint is not written if the model would then have
no room beside it: a model is worth more than a checkpoint.
"""

import hashlib
import os
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from unhot.corpus.cells import Cells
from unhot.corpus.corpus import Corpus
from unhot.errors import ConfigError, DataError, at_least, whole
from unhot.rows.remote import hidden, is_address
from unhot.sizes import free_space, readable
from unhot.vocab.vocabulary import encode_word


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Save to a model's folder after so many minutes or chunks, whichever comes first.

    None turns either limit off.
    """

    path: str | os.PathLike[str]
    minutes: float | None = 10.0
    chunks: int | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not isinstance(self.path, (str, os.PathLike)):
            raise ConfigError(f"path={self.path!r}: must be the path of a model's folder")
        if is_address(self.path):
            raise ConfigError(
                f"path={hidden(self.path)}: checkpoints are saved on this machine: give a folder here"
            )
        if self.minutes is not None:
            at_least("minutes", self.minutes, 0)
        if self.chunks is not None:
            whole("chunks", self.chunks, 1)

    @property
    def repeated(self) -> bool:
        """Whether the state is saved while the training runs."""
        return self.minutes is not None or self.chunks is not None

    @property
    def folder(self) -> Path:
        """Return the path of the model's folder."""
        return Path(self.path)


class Timer:
    """A timer that says when the next checkpoint is due."""

    def __init__(self, checkpoint: Checkpoint | None) -> None:
        """Start the timer; without a checkpoint nothing is ever due."""
        self._minutes = checkpoint.minutes if checkpoint else None
        self._chunks = checkpoint.chunks if checkpoint else None
        self.begin()

    def begin(self) -> None:
        """Count minutes and chunks from now on."""
        self._began, self._done = time.monotonic(), 0

    def due(self) -> bool:
        """Count one more chunk, and return whether a checkpoint is due."""
        self._done += 1
        late = self._minutes is not None and time.monotonic() - self._began >= 60 * self._minutes
        return late or (self._chunks is not None and self._done >= self._chunks)


def fingerprint(source: Corpus | Cells) -> str:
    """Return a checksum of cells, or of a text: words, counts, sentences, ids, and the texts beside it."""
    found = hashlib.sha256(encode_word("\n".join(source.vocabulary.words)))
    found.update(source.vocabulary.counts.astype("<i8").tobytes())
    parts: list[Any]
    if isinstance(source, Cells):
        parts, beside = [(source.starts, source.columns, source.values)], {}
    else:
        parts, beside = list(source.shards), source.beside
    for part in parts:
        sizes = " ".join(str(array.size) for array in part)
        checks = [zlib.crc32(array.data) for array in part]  # several GB a second; nobody forges these
        found.update(f"{sizes} {checks}\n".encode("ascii"))
    for name, other in beside.items():
        found.update(f"{name} {fingerprint(other)}\n".encode("ascii"))
    return found.hexdigest()


ROUNDING = 1 << 15  # bytes for configs and manifests, and for files that fill whole blocks of a disk


class DiskPlan(NamedTuple):
    """Bytes that a training writes to a folder."""

    folder: Path
    model: int
    checkpoint: int  # 0: the training saves none

    def check(self) -> str:
        """Raise a `DataError` if there is no room for the model; otherwise describe the plan in one line."""
        free, both = free_space(self.folder), self.model + self.checkpoint
        if free < self.model:
            raise DataError(
                f"{self.folder}: the model will need {readable(self.model)} there, but {readable(free)} are "
                "free: make room, choose another place, or train a smaller model (a smaller dim, a higher "
                "min_count)"
            )
        with_checkpoint = f", {readable(both)} with a checkpoint" if self.checkpoint else ""
        tight = "; checkpoints will be left out until there is more room" if free < both else ""
        return f"disk: {readable(self.model)} for the model{with_checkpoint}; {readable(free)} free{tight}"

    def check_checkpoint(self) -> None:
        """Raise a `DataError` if there is no room for another checkpoint and, later, for the model."""
        free, both = free_space(self.folder), self.model + self.checkpoint
        if free < both:
            raise DataError(
                f"{self.folder}: the checkpoint and the model need {readable(both)} there, but "
                f"{readable(free)} are free"
            )
