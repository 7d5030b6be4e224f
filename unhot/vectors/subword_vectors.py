"""Word vectors that are composed of n-grams, so that unseen words have vectors, too.

All methods of `Vectors` also accept a word that is not in the vocabulary, if one of its n-grams has a row;
`word in vectors` tells. Only words of the vocabulary have row numbers and can be found as neighbours.

The matrix of all words is composed when something needs it (a search, a save), and then kept. A few words are
composed by themselves, so that a file of any size can be opened and asked for a word without delay.
"""

import dataclasses
import functools
import logging
import os
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
from unhot.vectors.formats.remote_folder import saved_at
from unhot.vectors.formats.table import Options, Table, checked_counts, without_repeats
from unhot.vectors.queries import Key, refuse_bytes
from unhot.vectors.store import KEEPING, Vectors
from unhot.vectors.subword_rows import Piece, SubwordRows
from unhot.vocab.subwords import Subwords
from unhot.vocab.vocabulary import UnknownWord

logger = logging.getLogger("unhot")
ONE_BY_ONE = 64  # composing one word alone takes as long as this many words together


class SubwordVectors(Vectors):
    """Words, and the rows from which their vectors are composed.

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
        """Take words, which must differ, their counts, if known, and the rows of their parts.

        `source`: the file that all of this was read from, if nothing was changed.
        """
        expected = len(words) if rows.subwords.own_rows else 0
        if len(rows.word_rows) != expected:
            raise DataError(
                f"there are {len(words)} words, but rows of {len(rows.word_rows)} words: give {expected} rows"
            )
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
        # a change in place would be lost when n-grams are saved; `add_vectors` makes a copy instead
        composed.flags.writeable = False
        return composed

    @property
    def vector_size(self) -> int:
        """The number of numbers in a vector."""
        return self.rows.dim

    @classmethod
    def load(cls, path: str | Path, format: str | None = None, **options: Any) -> "SubwordVectors":
        """Load a file or folder that has n-grams; the options are those of `Vectors.load`."""
        vectors = Vectors.load(path, format, **options)
        if not isinstance(vectors, SubwordVectors):
            raise DataError(
                f"{path}: the file has vectors of words, but no n-grams; open it with Vectors.load"
            )
        return vectors

    @classmethod
    def of_table(  # type: ignore[override]
        cls, words: list[str], vectors: Floats, counts: Counts | None
    ) -> Vectors:
        """Make plain `Vectors`, because a table has no n-grams."""
        return Vectors.of_table(words, vectors, counts)

    def __getitem__(self, key: Any) -> Any:
        """Return what `Vectors` returns; a slice returns plain `Vectors` of these words."""
        if not isinstance(key, slice):
            return super().__getitem__(key)
        rows = range(len(self))[key]
        return Vectors.of_table(
            self.words[key], self._several(rows), None if self.counts is None else self.counts[key]
        )

    def pieces(self, word: str) -> list[Piece]:
        """Return the pieces of any word, known or not: the word itself, if it has a row, and its n-grams."""
        return self.rows.pieces(word, self._part(self._find(word)))

    def ngram_vectors(self, word: str) -> list[tuple[str, Floats]]:
        """Return the pieces of a word with their vectors; their mean, or sum, is the word's vector."""
        return [(piece.text, piece.vector) for piece in self.pieces(word)]

    def save(self, path: str | Path, format: str | None = None) -> dict[str, str]:
        """Write a file or folder, as `Vectors.save` does.

        The formats unhot, fasttext and floret keep the n-grams; all others keep only the words' vectors.
        fasttext and floret know only means of rows: a warning says what becomes of sums.
        """
        name = format_name(Path(path), format)
        if name not in KEEPING:
            return super().save(path, name)
        if self._edited:
            raise DataError(
                f"format={name}: this format stores n-grams, but vectors were changed and no longer match "
                "their n-grams; save vectors[:], which has no n-grams, or choose another format"
            )
        if name == "unhot":
            with saved_at(path) as place:
                write_rows(place, self.words, self.counts, self.rows)
            return {}
        if name == "fasttext":
            write_fasttext(path, self._source or _as_file(self))
        else:
            write_floret(path, self.rows)
        warn_of_means(path, name, self.rows)
        return {}

    def _unseen(self, key: object) -> Floats | None:
        """Return the vector of a word's n-grams; None if no n-gram has a row."""
        parts = self.rows.parts(key) if isinstance(key, str) else None
        return None if parts is None or parts.max(initial=-1) < 0 else self.rows.composed(parts)

    def _unknown(self, key: Key) -> UnknownWord:
        error = super()._unknown(key)
        if self._unseen(key) is not None:
            return error
        return UnknownWord(f"{error} (and none of its n-grams has a row)")

    def _row(self, row: int) -> Floats:
        return (
            super()._row(row)
            if "vectors" in self.__dict__
            else self.rows.vector(self.words[row], self._part(row))
        )

    def _part(self, row: int | None) -> int | None:
        """Return a row as an index of the words' own rows; None for words that were added later."""
        return row if row is not None and row < len(self.rows.word_rows) else None

    def _several(self, keys: Sequence[Key]) -> Floats:
        refuse_bytes(keys)
        if "vectors" in self.__dict__ or len(keys) * ONE_BY_ONE > len(self):
            return super()._several(keys)
        vectors = np.array([self.get_vector(key) for key in keys], np.float32)
        return vectors.reshape(len(keys), self.vector_size)

    def _changed(self) -> None:
        super()._changed()
        self._edited = True


def _as_file(vectors: SubwordVectors) -> FastTextFile:
    """Return a fastText file with all rows in fastText's order, to be written block by block."""
    shape = (len(vectors) + vectors.subwords.buckets, vectors.vector_size)
    if vectors.rows.skips:
        raise DataError(
            "format=fasttext: the means of these vectors leave out pruned n-grams, but a file that is "
            "not quantised would count them as zeros; save all words of the file as they were read, or "
            "choose the format unhot"
        )
    return new_file(
        vectors.words, vectors.counts, vectors.subwords, RowBlocks(shape, vectors.rows.expanded())
    )


def warn_of_means(path: str | os.PathLike[str], format: str, rows: SubwordRows) -> None:
    """Warn if a file in a format that knows only means of rows was written from words that are sums."""
    if rows.subwords.combine == "sum":
        logger.warning(
            "%s: the words of these vectors are sums of rows, but the format %s is read as means: lengths "
            "differ, and cosines are the same except for words that have a row twice",
            path,
            format,
        )


def open_folder(kind: type[Vectors], path: Path, options: Options) -> Vectors:
    """Open a model folder, with n-grams or without them."""
    saved = load_model(path)
    if has_ngrams(saved):
        return SubwordVectors(*as_rows(path, saved, options))
    return kind.of_table(*as_table(path, saved, options))


def open_floret(kind: type[Vectors], path: Path, options: Options) -> SubwordVectors:
    """Open a floret table; it has no words, so `options` do not matter."""
    return SubwordVectors([], None, read_floret(path))


def open_fasttext(kind: type[Vectors], path: Path, options: Options) -> SubwordVectors:
    """Open a fastText file; `limit` applies to words, n-grams are always complete."""
    file = read_fasttext(path, options.bad_utf8)
    all_words, rows = file.dictionary.words, file.rows()
    kept = slice(options.rows(len(all_words)))
    counts = file.dictionary.word_counts[kept] if file.dictionary.tokens else None
    # if a word occurs twice, the first row is kept, as in all formats
    words, own, counts = without_repeats(
        Table(all_words[kept], cast(Floats, rows.word_rows[kept]), counts), path
    )
    if len(words) == len(all_words):
        return SubwordVectors(words, counts, rows, file)
    return SubwordVectors(words, counts, dataclasses.replace(rows, word_rows=cast(Ids, own)))


KEEPING.update(unhot=open_folder, fasttext=open_fasttext, floret=open_floret)
