"""An encoded corpus: a directory with shards, the vocabulary and `corpus.json`.

corpus.json       version, lengths of the shards, report, what is kept beside words; written last, so a
                  directory without it is not finished
vocab.txt         see indexed_folder.py
counts.bin
00000.ids ...     see shards.py
beside/NAME/      a corpus of its own: line i of it belongs to line i of the text (see `encode`)
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, pairwise
from pathlib import Path

from unhot.corpus.indexed_folder import WORDS, OpenedFolder, read_index, read_vocabulary, save_index
from unhot.corpus.report import Report
from unhot.corpus.shards import AGAIN, WORDS_ONLY, Keeping, Lines, Shard, check_shard, map_shards
from unhot.errors import ConfigError, FormatError
from unhot.vocab.vocabulary import Vocabulary

VERSION = 1
INDEX = "corpus.json"
BESIDE = "beside"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")  # of something beside the text


class Corpus(OpenedFolder):
    """Text as ids, with its vocabulary and a report; made by `encode` or `Corpus.open`.

    Use it as a context manager or call `close()`. A temporary corpus removes its directory then, or when it
    is garbage collected. `keeping` says which lines and words it has, `beside` what was encoded beside the
    text: name -> Corpus.
    """

    def __init__(
        self,
        directory: Path,
        vocabulary: Vocabulary,
        shards: list[Shard],
        report: Report,
        *,
        keeping: Keeping = WORDS_ONLY,
        beside: Mapping[str, Corpus] | None = None,
        temporary: bool = False,
    ) -> None:
        """Use `encode` or `Corpus.open`."""
        super().__init__(directory, temporary)
        self.directory = directory
        self.vocabulary = vocabulary
        self.shards = shards
        self.report = report
        self.keeping = keeping
        self.beside = dict(beside or {})

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Corpus:
        """Use a corpus that was encoded before; `FormatError` if it is damaged or not complete."""
        path = Path(directory)
        index = read_index(path / INDEX, VERSION, AGAIN)
        try:
            words = int(index["words"])
            lengths = [(int(ids), int(sentences)) for ids, sentences in index["shards"]]
            report = Report.from_json(index["report"])
            keeping = Keeping(*(bool(index.get(name, False)) for name in Keeping._fields))
            names = checked_names(index.get(BESIDE, []))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FormatError(f"{path / INDEX}: {error}: the file is damaged, {AGAIN}") from error
        vocabulary = read_vocabulary(path, words, AGAIN)
        if not vocabulary.is_ordered():
            raise FormatError(
                f"{path / WORDS}: words are not in the order of their counts: the file is damaged, {AGAIN}"
            )
        for number, length in enumerate(lengths):
            check_shard(path, number, *length, words, keeping)
        beside = {name: cls.open(path / BESIDE / name) for name in names}
        numbers = {report.sentences, *(other.sentences for other in beside.values())}
        ids = report.words if keeping.unknown else report.kept
        if ids != sum(ids for ids, _ in lengths) or numbers != {sum(lines for _, lines in lengths)}:
            raise FormatError(
                f"{path / INDEX}: the report does not fit the shards, or what is beside the text: the file "
                f"is damaged, {AGAIN}"
            )
        return cls(path, vocabulary, map_shards(path, len(lengths)), report, keeping=keeping, beside=beside)

    @property
    def words(self) -> int:
        """Tokens read, before those outside the vocabulary were dropped."""
        return self.report.words

    @property
    def ids(self) -> int:
        """Tokens that are in the vocabulary."""
        return self.report.kept

    @property
    def sentences(self) -> int:
        """Sentences with at least one token kept; all lines if empty ones are kept."""
        return self.report.sentences

    def check_windows(self) -> None:
        """Raise a `ConfigError` if ids of -1 stand in the text, which have no row in any matrix."""
        if self.keeping.unknown:
            raise ConfigError(
                "a corpus that keeps the places of unknown words: windows, cells and phrases are made of "
                "known words; encode the text without unknown=True"
            )

    def aligned(self, first: int, last: int, *names: str) -> Iterator[tuple[Lines, ...]]:
        """Lines first .. last - 1 of the text, with the same lines of what is beside it under these names.

        Shards end at different lines, so there are several parts, each in one shard of every corpus; mostly
        it is one. A part is as many lines of the text, of the first name, and so on.
        """
        if not 0 <= first <= last <= self.sentences:
            raise IndexError(f"lines {first} .. {last - 1}: there are lines 0 .. {self.sentences - 1}")
        together = [self, *(self.beside[name] for name in names)]
        edges = {edge for corpus in together for edge in corpus._edges() if first < edge < last}
        for begin, end in pairwise(sorted({first, last} | edges)):
            yield tuple(corpus._lines(begin, end) for corpus in together)

    def _edges(self) -> list[int]:
        """The lines at which shards begin, and the number of lines."""
        return list(accumulate((shard.starts.size - 1 for shard in self.shards), initial=0))

    def _lines(self, first: int, last: int) -> Lines:
        """Lines that lie in one shard."""
        edges = self._edges()
        number = bisect_right(edges, first) - 1
        ids, starts = self.shards[number]
        return Lines(ids, starts[first - edges[number] : last - edges[number] + 1])

    def close(self) -> None:
        """Let go of the shards; remove the directory if it is temporary."""
        self.shards = []
        for other in self.beside.values():
            other.close()
        super().close()

    def __repr__(self) -> str:
        """The numbers, and where it is."""
        return (
            f"Corpus({self.ids} ids, {self.sentences} sentences, {len(self.vocabulary)} words, "
            f"{len(self.shards)} shards in {self.directory})"
        )


def save_corpus_index(corpus: Corpus) -> None:
    """Write `corpus.json`."""
    index = {
        "version": VERSION,
        "words": len(corpus.vocabulary),
        "shards": [(shard.ids.size, shard.starts.size - 1) for shard in corpus.shards],
        "report": corpus.report.to_json(),
    }
    index |= {name: True for name, kept in corpus.keeping._asdict().items() if kept}
    if corpus.beside:
        index[BESIDE] = list(corpus.beside)
    save_index(corpus.directory / INDEX, index)


def checked_names(names: Iterable[str]) -> list[str]:
    """Names of what is beside a text; a `ConfigError` if one cannot be the name of a folder."""
    for name in names:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ConfigError(f"beside: the name {name!r}: must be letters, digits, - and _ only")
    return list(names)
