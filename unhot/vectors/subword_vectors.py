"""Words whose vectors are made of their n-grams, so that unseen words have vectors, too.

Everything that `Vectors` does with a word it also does with one that is not in the vocabulary, as long as
some n-gram of it has a row: `word in vectors` tells. Rows, numbers of rows and neighbours are those of the
vocabulary; an unseen word is nobody's neighbour.

The matrix of all words is composed when something needs it (a search, a save), and kept. One word, or a few,
are composed by themselves, so that a file of any size is opened and asked for a word at once.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from unhot.errors import DataError, whole
from unhot.index.exact import usable_cores
from unhot.types import Counts, Floats, Ids
from unhot.vectors.formats import format_name
from unhot.vectors.formats.directory import load_model
from unhot.vectors.formats.fasttext import FastTextFile, RowBlocks, new_file, read_fasttext, write_fasttext
from unhot.vectors.formats.floret import read_floret, write_floret
from unhot.vectors.formats.model_folder import as_rows, as_table, has_ngrams, write_rows
from unhot.vectors.formats.table import Options, Table, checked_counts, without_repeats
from unhot.vectors.queries import Key
from unhot.vectors.store import KEEPING, Vectors
from unhot.vectors.subword_rows import Piece, SubwordRows
from unhot.vocab.subwords import Subwords
from unhot.vocab.vocabulary import UnknownWord

ONE_BY_ONE = 64  # a word composed alone takes as long as so many together


class SubwordVectors(Vectors):
    """Words and where the parts of their vectors are.

    >>> from unhot.vocab.subwords import Subwords
    >>> cut, own = Subwords(minn=3, maxn=3, buckets=5), np.array([0], np.int32)
    >>> parts = SubwordRows(cut, np.eye(6, dtype=np.float32), own, first_bucket=1)
    >>> vectors = SubwordVectors(["cat"], None, parts)
    >>> "cats" in vectors, vectors.has_index_for("cats"), vectors["cats"].round(2).tolist()
    (True, False, [0.0, 0.0, 0.5, 0.25, 0.25, 0.0])
    """

    subwords: Subwords

    def __init__(
        self,
        words: Sequence[str],
        counts: Counts | None,
        rows: SubwordRows,
        source: FastTextFile | None = None,
    ) -> None:
        """Take different words, their counts, if known, and their parts.

        `source`: the file that all this came from, unchanged.
        """
        expected = len(words) if rows.subwords.own_rows else 0
        if len(rows.word_rows) != expected:
            raise DataError(f"{len(words)} words and rows of {len(rows.word_rows)}: give {expected}")
        self.words = list(words)
        self.counts = None if counts is None else checked_counts(counts, len(words))
        self.rows = rows
        self.subwords = rows.subwords
        self.threads = usable_cores()
        self._source = source
        self._edited = False

    @functools.cached_property
    def vectors(self) -> Floats:  # type: ignore[override]
        """The vectors of all words [words, dim]."""
        composed = self.rows.vectors(self.words, threads=whole("threads", self.threads, 1))
        # a change would be lost where n-grams are saved: `add_vectors` makes a copy
        composed.flags.writeable = False
        return composed

    @property
    def vector_size(self) -> int:
        """The dimension."""
        return self.rows.dim

    @classmethod
    def load(cls, path: str | Path, format: str | None = None, **options: Any) -> SubwordVectors:
        """`Vectors.load`, of files that have n-grams."""
        vectors = Vectors.load(path, format, **options)
        if not isinstance(vectors, SubwordVectors):
            raise DataError(
                f"{path}: holds vectors of words alone, without n-grams; open it with Vectors.load"
            )
        return vectors

    @classmethod
    def of_table(  # type: ignore[override]
        cls, words: list[str], vectors: Floats, counts: Counts | None
    ) -> Vectors:
        """Plain vectors: these have no n-grams."""
        return Vectors.of_table(words, vectors, counts)

    def __getitem__(self, key: Any) -> Any:
        """As of `Vectors`; a slice is plain vectors of these words."""
        if not isinstance(key, slice):
            return super().__getitem__(key)
        rows = range(len(self))[key]
        return Vectors.of_table(
            self.words[key], self._several(rows), None if self.counts is None else self.counts[key]
        )

    def pieces(self, word: str) -> list[Piece]:
        """What a word is made of, seen or not: itself, if it has a row, and its n-grams."""
        return self.rows.pieces(word, self._part(self._find(word)))

    def ngram_vectors(self, word: str) -> list[tuple[str, Floats]]:
        """The pieces of a word with their vectors. The mean of all is the word's."""
        return [(piece.text, piece.vector) for piece in self.pieces(word)]

    def save(self, path: str | Path, format: str | None = None) -> dict[str, str]:
        """As of `Vectors`.

        The formats unhot, fasttext and floret keep the n-grams, all others the words' vectors only.
        """
        name = format_name(Path(path), format)
        if name not in KEEPING:
            return super().save(path, name)
        if self._edited:
            raise DataError(
                f"format={name}: vectors were changed, so they are no longer those of their n-grams, which "
                "this format keeps; save vectors[:], which is without them, or choose another format"
            )
        if name == "unhot":
            write_rows(Path(path), self.words, self.counts, self.rows)
        elif name == "fasttext":
            write_fasttext(path, self._source or self._as_file())
        else:
            write_floret(path, self.rows)
        return {}

    def _as_file(self) -> FastTextFile:
        """All rows in fastText's order; they are written block by block."""
        shape = (len(self) + self.subwords.buckets, self.vector_size)
        if self.rows.skips:
            raise DataError(
                "format=fasttext: n-grams that were pruned are left out of these vectors; a model that is "
                "not quantised would count them as zeros; write all words of the file as they were read, or "
                "choose the format unhot"
            )
        return new_file(self.words, self.counts, self.subwords, RowBlocks(shape, self.rows.expanded()))

    @property
    def _composed(self) -> bool:
        return "vectors" in self.__dict__

    def _unseen(self, key: object) -> Floats | None:
        """The mean of the n-grams' rows; None if there is none."""
        parts = self.rows.parts(key) if isinstance(key, str) else None
        return None if parts is None or parts.max(initial=-1) < 0 else self.rows.mean(parts)

    def _unknown(self, key: Key) -> UnknownWord:
        error = super()._unknown(key)
        if self._unseen(key) is not None:
            return error
        return UnknownWord(f"{error} (and none of its n-grams has a row)")

    def _row(self, row: int) -> Floats:
        return super()._row(row) if self._composed else self.rows.vector(self.words[row], self._part(row))

    def _part(self, row: int | None) -> int | None:
        """Which of the words' own rows that is: words that were added have none."""
        return row if row is not None and row < len(self.rows.word_rows) else None

    def _several(self, keys: Sequence[Key]) -> Floats:
        if self._composed or len(keys) * ONE_BY_ONE > len(self):
            return super()._several(keys)
        vectors = np.array([self.get_vector(key) for key in keys], np.float32)
        return vectors.reshape(len(keys), self.vector_size)

    def _changed(self) -> None:
        super()._changed()
        self._edited = True


def open_folder(kind: type[Vectors], path: Path, options: Options) -> Vectors:
    """Open a model folder, with n-grams or without."""
    saved = load_model(path)
    if has_ngrams(saved):
        return SubwordVectors(*as_rows(path, saved, options))
    return kind.of_table(*as_table(path, saved, options))


def open_floret(kind: type[Vectors], path: Path, options: Options) -> SubwordVectors:
    """Open a table of floret, which has no words that `options` could be about."""
    return SubwordVectors([], None, read_floret(path))


def open_fasttext(kind: type[Vectors], path: Path, options: Options) -> SubwordVectors:
    """Open a file of fastText; `limit` is for words, n-grams are there in any case."""
    file = read_fasttext(path, options.bad_utf8)
    all_words, rows = file.dictionary.words, file.rows()
    kept = slice(options.rows(len(all_words)))
    counts = file.dictionary.word_counts[kept] if file.dictionary.tokens else None
    # of a word that is there twice the first row is kept, as in all formats
    words, own, counts = without_repeats(
        Table(all_words[kept], cast(Floats, rows.word_rows[kept]), counts), path
    )
    if len(words) == len(all_words):
        return SubwordVectors(words, counts, rows, file)
    return SubwordVectors(words, counts, dataclasses.replace(rows, word_rows=cast(Ids, own)))


KEEPING.update(unhot=open_folder, fasttext=open_fasttext, floret=open_floret)
