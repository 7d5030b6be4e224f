"""An encoded corpus: a directory with shards, the vocabulary and `corpus.json`.

corpus.json       version, lengths of the shards, report; written last, so a directory without it is not
                  finished
vocab.txt         one word a line (see `Vocabulary.save_words`)
counts.bin        their counts, little-endian int64
00000.ids ...     see shards.py
"""

from __future__ import annotations

import json
import os
import shutil
import weakref
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from unhot.corpus.report import Report
from unhot.corpus.shards import Shard, check_shard, map_shard
from unhot.errors import FormatError
from unhot.vocab.vocabulary import Vocabulary

VERSION = 1
INDEX, WORDS, COUNTS = "corpus.json", "vocab.txt", "counts.bin"
AGAIN = "encode the text again"


class Corpus:
    """Text as ids, with its vocabulary and a report; made by `encode` or `Corpus.open`.

    Use it as a context manager or call `close()`. A temporary corpus removes its directory then, or when it
    is garbage collected.
    """

    def __init__(
        self,
        directory: Path,
        vocabulary: Vocabulary,
        shards: list[Shard],
        report: Report,
        *,
        temporary: bool = False,
    ) -> None:
        """Use `encode` or `Corpus.open`."""
        self.directory = directory
        self.vocabulary = vocabulary
        self.shards = shards
        self.report = report
        self._remove = (
            weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True) if temporary else None
        )

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Corpus:
        """Use a corpus that was encoded before; `FormatError` if it is damaged or not complete."""
        path = Path(directory)
        index = read_index(path / INDEX, VERSION, AGAIN)
        try:
            words, lengths = (
                int(index["words"]),
                [(int(ids), int(sentences)) for ids, sentences in index["shards"]],
            )
            report = Report.from_json(index["report"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(
                f"{path / INDEX}: {error}: the file is damaged, encode the text again"
            ) from error
        vocabulary = read_vocabulary(path, words, AGAIN)
        if not vocabulary.is_ordered():
            raise FormatError(
                f"{path / WORDS}: words are not in the order of their counts: the file is damaged, {AGAIN}"
            )
        for number, length in enumerate(lengths):
            check_shard(path, number, *length, words)
        if (report.kept, report.sentences) != (
            sum(ids for ids, _ in lengths),
            sum(sentences for _, sentences in lengths),
        ):
            raise FormatError(
                f"{path / INDEX}: the report does not fit the shards: the file is damaged, encode the text "
                "again"
            )
        return cls(path, vocabulary, [map_shard(path, number) for number in range(len(lengths))], report)

    @property
    def words(self) -> int:
        """Tokens read, before those outside the vocabulary were dropped."""
        return self.report.words

    @property
    def ids(self) -> int:
        """Tokens kept."""
        return self.report.kept

    @property
    def sentences(self) -> int:
        """Sentences with at least one token kept."""
        return self.report.sentences

    def close(self) -> None:
        """Let go of the shards; remove the directory if it is temporary."""
        self.shards = []
        if self._remove is not None:
            self._remove()

    def __enter__(self) -> Corpus:
        """The corpus itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def __repr__(self) -> str:
        """The numbers, and where it is."""
        numbers = f"{self.ids} ids, {self.sentences} sentences, {len(self.vocabulary)} words, {len(self.shards)} shards"
        return f"Corpus({numbers} in {self.directory})"


def save_vocabulary(directory: Path, vocabulary: Vocabulary) -> None:
    """Write the vocabulary of a corpus."""
    vocabulary.save_words(directory / WORDS)
    (directory / COUNTS).write_bytes(vocabulary.counts.astype("<i8").tobytes())


def save_index(directory: Path, words: int, lengths: list[tuple[int, int]], report: Report) -> None:
    """Write `corpus.json`, all or nothing."""
    save_json(
        directory / INDEX, {"version": VERSION, "words": words, "shards": lengths, "report": report.to_json()}
    )


def save_json(path: Path, index: dict[str, Any]) -> None:
    """Write the file that makes a directory valid, all or nothing."""
    part = path.with_name(f"{path.name}.part")
    with part.open("w", encoding="utf-8") as file:
        json.dump(index, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def read_index(path: Path, version: int, again: str) -> dict[str, Any]:
    """Such a file; a `FormatError` that says what to do (`again`) if it is missing, damaged or of another version."""
    if not path.is_file():
        raise FormatError(f"{path}: no such file: the directory holds none, or it was not finished; {again}")
    try:
        index = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: {error}: the file is damaged, {again}") from error
    if not isinstance(index, dict) or index.get("version") != version:
        found = index.get("version") if isinstance(index, dict) else None
        raise FormatError(f"{path}: version {found!r}: this unhot reads version {version}; {again}")
    return index


def read_vocabulary(directory: Path, words: int, again: str) -> Vocabulary:
    """The vocabulary that `save_vocabulary` wrote."""
    path = directory / COUNTS
    size = path.stat().st_size if path.is_file() else -1
    if size != 8 * words or not (directory / WORDS).is_file():
        raise FormatError(f"{path}: {size} bytes, expected {8 * words}, and {WORDS} beside it: {again}")
    return Vocabulary.load(directory / WORDS, np.fromfile(path, "<i8"))
