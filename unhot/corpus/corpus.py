"""An encoded corpus: a directory with shards, the vocabulary and `corpus.json`.

corpus.json       version, lengths of the shards, report, what is kept besides known words; it is written
                  last, so a directory without it is incomplete
vocab.txt         see indexed_folder.py
counts.bin
00000.ids ...     see shards.py
beside/NAME/      another corpus, whose line i belongs to line i of the text (see `encode`)
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
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")  # the name of a corpus beside the text


class Corpus(OpenedFolder):
    """A text as ids, with its vocabulary and a report; made by `encode` or `Corpus.open`.

    Use it as a context manager or call `close()`. A temporary corpus then removes its directory; it also
    does so when it is garbage collected. `keeping` says whether empty lines and unknown words were kept.
    `beside` maps the name of each corpus that was encoded beside the text to that corpus.
    """

    whole: int | None = None  # positions that belong together, if a text cannot be cut anywhere

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
        """Do not call this: use `encode` or `Corpus.open`."""
        super().__init__(directory, temporary)
        self.directory = directory
        self.vocabulary = vocabulary
        self.shards = shards
        self.report = report
        self.keeping = keeping
        self.beside = dict(beside or {})

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Corpus:
        """Open a directory that `encode` wrote; raise a `FormatError` if it is damaged or incomplete."""
        path = Path(directory)
        index = read_index(path / INDEX, VERSION, AGAIN)
        try:
            words = int(index["words"])
            lengths = [(int(ids), int(sentences)) for ids, sentences in index["shards"]]
            report = Report.from_json(index["report"])
            keeping = Keeping(*(bool(index.get(name, False)) for name in Keeping._fields))
            names = checked_names(index.get(BESIDE, []))
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise FormatError(f"{path / INDEX}: {error}: the file is damaged, {AGAIN}") from error
        vocabulary = read_vocabulary(path, words, AGAIN)
        if not vocabulary.is_ordered():
            raise FormatError(
                f"{path / WORDS}: the words are not ordered by their counts: the file is damaged, {AGAIN}"
            )
        for number, length in enumerate(lengths):
            check_shard(path, number, *length, words, keeping)
        beside = {name: Corpus.open(path / BESIDE / name) for name in names}
        numbers = {report.sentences, *(other.sentences for other in beside.values())}
        ids = report.words + report.long_words if keeping.unknown else report.kept
        if ids != sum(ids for ids, _ in lengths) or numbers != {sum(lines for _, lines in lengths)}:
            raise FormatError(
                f"{path / INDEX}: the report does not match the shards, or a corpus beside the text: the "
                f"file is damaged, {AGAIN}"
            )
        return cls(path, vocabulary, map_shards(path, len(lengths)), report, keeping=keeping, beside=beside)

    @property
    def words(self) -> int:
        """The number of tokens read, including tokens outside the vocabulary, but not those too long."""
        return self.report.words

    @property
    def ids(self) -> int:
        """The number of tokens that are in the vocabulary."""
        return self.report.kept

    @property
    def sentences(self) -> int:
        """The number of sentences with at least one kept token; all lines if empty ones are kept."""
        return self.report.sentences

    @property
    def sizes(self) -> list[int]:
        """The number of ids of each shard."""
        return [shard.ids.size for shard in self.shards]

    def check_windows(self) -> None:
        """Raise a `ConfigError` if the text holds ids of -1 (unknown words): no matrix has a row for them."""
        if self.keeping.unknown:
            raise ConfigError(
                "the corpus keeps the places of unknown words, but windows, cells and phrases need known "
                "words only: encode the text without unknown=True"
            )

    def aligned(self, first: int, last: int, *names: str) -> Iterator[tuple[Lines, ...]]:
        """Yield lines first .. last - 1 of the text, with the same lines of the named corpora beside it.

        The lines come in parts, because the shards of the corpora end at different lines; usually there is
        one part. A part is a tuple: lines of the text, then equally many lines of each named corpus. All
        lines of a part that belong to one corpus lie in one shard.
        """
        if not 0 <= first <= last <= self.sentences:
            raise IndexError(f"lines {first} .. {last - 1}: the text has lines 0 .. {self.sentences - 1}")
        together = [self, *(self.beside[name] for name in names)]
        edges = {edge for corpus in together for edge in corpus._edges() if first < edge < last}
        for begin, end in pairwise(sorted({first, last} | edges)):
            yield tuple(corpus._lines(begin, end) for corpus in together)

    def _edges(self) -> list[int]:
        """Return the first line of each shard, and then the number of lines."""
        return list(accumulate((shard.starts.size - 1 for shard in self.shards), initial=0))

    def _lines(self, first: int, last: int) -> Lines:
        """Return lines first .. last - 1, which must lie in one shard."""
        edges = self._edges()
        number = bisect_right(edges, first) - 1
        ids, starts = self.shards[number]
        return Lines(ids, starts[first - edges[number] : last - edges[number] + 1])

    def close(self) -> None:
        """Release the shards, and remove the directory if it is temporary."""
        self.shards = []
        for other in self.beside.values():
            other.close()
        super().close()

    def __repr__(self) -> str:
        """Show the size of the corpus and its directory."""
        return (
            f"Corpus({self.ids} ids, {self.sentences} sentences, {len(self.vocabulary)} words, "
            f"{len(self.shards)} shards in {self.directory})"
        )


def save_corpus_index(corpus: Corpus) -> None:
    """Write the `corpus.json` of a corpus."""
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
    """Return the names as a list; raise a `ConfigError` if one cannot be the name of a folder."""
    for name in names:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ConfigError(
                f"beside: the name {name!r}: use letters, digits, - and _ only; begin with a letter or digit"
            )
    return list(names)
