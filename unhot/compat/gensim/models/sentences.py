"""Iterate over files as token lists. `Word2Vec` reads the files directly if it can, which is faster.

Tokens are separated by ASCII white space and sentences by line ends. Compressed files are unpacked.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from unhot.corpus.reading.sources import TextReader
from unhot.errors import ConfigError, DataError
from unhot.rows.paths import find_files
from unhot.vocab.vocabulary import decode_words

MAX_WORDS_IN_BATCH = 10_000  # the most tokens of one sentence
PathLike: TypeAlias = str | os.PathLike[str]
Sentences: TypeAlias = "Iterable[Sequence[str]] | LineSentence"


class LineSentence:
    """Iterate over the lines of a file as lists of tokens.

    Lines of more than `max_sentence_length` tokens are cut. At most `limit` lines are read.
    """

    cut_for: str | None = None  # lines stay whole, unless the text may be cut at any white space

    def __init__(
        self,
        source: PathLike,
        max_sentence_length: int = MAX_WORDS_IN_BATCH,
        limit: int | None = None,
    ) -> None:
        if not isinstance(source, (str, os.PathLike)):
            raise DataError(
                f"the source has type {type(source).__name__}: give a path; "
                "other iterables of token lists need no wrapper"
            )
        self.source = Path(source)
        self.max_sentence_length, self.limit = max_sentence_length, limit

    def __iter__(self) -> Iterator[list[str]]:
        """Iterate once over the file."""
        blocks = TextReader(self.source, self.cut_for).blocks()
        lines = (line for block in blocks for line in block.removesuffix(b"\n").split(b"\n"))
        for line in islice(lines, self.limit):
            tokens = decode_words(line.replace(b"\0", b" ").split())
            for start in range(0, len(tokens), self.max_sentence_length):
                yield tokens[start : start + self.max_sentence_length]


class PathLineSentences(LineSentence):
    """Iterate over the lines of all files in a folder, in the order of their names, or of one file."""

    @property
    def input_files(self) -> list[str]:
        """The paths of the files."""
        return [str(path) for path in find_files(self.source)]


class Text8Corpus(LineSentence):
    """Iterate over a text that is one very long line, like text8."""

    cut_for = "whitespace"

    def __init__(self, fname: PathLike, max_sentence_length: int = MAX_WORDS_IN_BATCH) -> None:
        super().__init__(fname, max_sentence_length)
        self.fname = self.source


def source_of(sentences: Sentences | None, corpus_file: PathLike | None) -> Any:
    """Return the source for unhot: the file itself if there is one, else the sentences."""
    if (sentences is None) == (corpus_file is None):
        raise ConfigError("give the text exactly once: as sentences (corpus_iterable), or as corpus_file")
    if corpus_file is not None:
        return Path(corpus_file)
    if isinstance(sentences, (str, os.PathLike)):
        raise ConfigError(
            f"sentences={sentences!r:.80} is one string: give a list of token lists, or corpus_file=PATH"
        )
    if isinstance(sentences, LineSentence) and sentences.limit is None:
        return sentences.source
    # an iterator, because a list of strings might be taken for paths
    return iter(sentences) if isinstance(sentences, (list, tuple)) else sentences
