"""Look up and change words and their rows: `get_vector`, slices, `add_vectors`. The names are gensim's."""

import difflib
import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from unhot.errors import ConfigError, DataError
from unhot.index.lengths import norms, unit, units
from unhot.types import Counts, Doubles, Floats
from unhot.vectors.formats.table import checked_counts
from unhot.vectors.queries import KEYS, Key, refuse_bytes
from unhot.vocab.subwords import Subwords
from unhot.vocab.vocabulary import UnknownWord

SPELLINGS = 5_000  # the most words that are compared letter by letter with the unknown one: about 0.1 s


def similar_spellings(word: object, words: Iterable[str]) -> list[str]:
    """Return up to three similar words of about the same length and with the same first letter.

    Upper and lower case count as equal.
    """
    if not isinstance(word, str) or not word:
        return []
    folded = word.casefold()
    near = (each for each in words if abs(len(each) - len(word)) <= 2 and each[:1].casefold() == folded[:1])
    spelled: dict[str, str] = {}
    for each in itertools.islice(near, SPELLINGS):
        spelled.setdefault(each.casefold(), each)
    return [spelled[each] for each in difflib.get_close_matches(folded, spelled, n=3, cutoff=0.75)]


class KeyedWords:
    """Words that have rows. A *key* is a word or a row number."""

    words: list[str]
    threads: int  # to compare rows with

    @functools.cached_property
    def key_to_index(self) -> dict[str, int]:
        """A dictionary from each word to its row."""
        rows = dict(zip(self.words, range(len(self.words)), strict=True))
        if len(rows) < len(self.words):
            twice = next(word for row, word in enumerate(self.words) if rows[word] != row)
            raise DataError(f"the word {twice!r} occurs more than once: words must be different")
        return rows

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.words)

    def __contains__(self, key: object) -> bool:
        """Return whether a word or row number exists."""
        return self._find(key) is not None

    def id(self, word: Key) -> int:
        """Return the row of a word; raise `UnknownWord`, with similar spellings, if there is none."""
        return self.get_index(word)

    def get_index(self, key: Key, default: int | None = None) -> int:
        """Return the row of a word.

        For an unknown word, return the default; if there is none, raise `UnknownWord` with similar spellings.
        """
        row = self._find(key)
        if row is not None:
            return row
        if default is not None:
            return default
        raise self._unknown(key)

    def _find(self, key: object) -> int | None:
        """Return the row of a word or row number; None if it does not exist."""
        if isinstance(key, str):
            return self.key_to_index.get(key)
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and 0 <= key < len(self):
            return int(key)
        return None

    def _unknown(self, key: Key) -> UnknownWord:
        similar = similar_spellings(key, self.words)
        advice = (
            f"did you mean {', '.join(map(repr, similar))}?" if similar else "check its spelling and case"
        )
        what = "words" if isinstance(key, str) else "words, and not a row number"
        return UnknownWord(f"{key!r} is not among the {len(self)} {what}: {advice}")


class WordRows(KeyedWords):
    """Words and a matrix with one row for each word."""

    subwords: Subwords | None = None  # how words are cut into n-grams; None: unseen words have no vectors

    def __init__(self, words: Sequence[str], vectors: Floats, counts: Counts | None = None) -> None:
        """Take words, a matrix [words, dim] and, if known, the words' counts.

        A float32 matrix is not copied, memory-mapped or not.
        """
        self._take(_strings(words), vectors, counts)
        len(self.key_to_index)  # checks that the words are different

    @classmethod
    def of_table(cls, words: list[str], vectors: Floats, counts: Counts | None) -> Self:
        """Make an object without checking that the words differ; the list of words is not copied."""
        made = cls.__new__(cls)
        made._take(words, vectors, counts)
        return made

    def _take(self, words: list[str], vectors: Floats, counts: Counts | None) -> None:
        rows = np.asanyarray(vectors)
        if rows.ndim != 2 or len(rows) != len(words):
            raise DataError(
                f"there are {len(words)} words, but vectors has shape {rows.shape}: give one row for each "
                "word"
            )
        self.words = words
        self.vectors: Floats = rows.astype(np.float32, copy=False)
        self.counts = None if counts is None else checked_counts(counts, len(words))

    def __iter__(self) -> Iterator[str]:
        """Iterate over the words in the order of the rows."""
        return iter(self.words)

    def __contains__(self, key: object) -> bool:
        """Return whether a word or row number has a vector."""
        return self._find(key) is not None or self._unseen(key) is not None

    def __repr__(self) -> str:
        """Show the number of words and the dimension."""
        return f"{type(self).__name__}({len(self)} words, dim {self.vector_size})"

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the matrix, for NumPy."""
        return np.array(self.vectors, dtype=dtype, copy=copy, subok=False)

    @overload
    def __getitem__(self, key: slice) -> Self: ...
    @overload
    def __getitem__(self, key: Key | Sequence[Key]) -> Floats: ...
    def __getitem__(self, key: Key | Sequence[Key] | slice) -> Floats | Self:
        """Return the vector of a word [dim], or the vectors of several words [words, dim].

        A slice returns an object with these rows and their words.
        """
        if isinstance(key, KEYS):
            return self.get_vector(key)
        if isinstance(key, slice):
            return self.of_table(
                self.words[key], self.vectors[key], None if self.counts is None else self.counts[key]
            )
        return self._several(key)

    def __setitem__(self, keys: Key | Sequence[Key], weights: ArrayLike) -> None:
        """Replace the vectors of words, or add new words."""
        self.add_vectors(keys, weights, replace=True)

    @property
    def index_to_key(self) -> list[str]:
        """The words in the order of the rows."""
        return self.words

    @property
    def vector_size(self) -> int:
        """The number of numbers in a vector."""
        return int(self.vectors.shape[1])

    @functools.cached_property
    def norms(self) -> Doubles:
        """The length of each vector."""
        return norms(self.vectors)

    def fill_norms(self, force: bool = False) -> None:
        """With `force`, forget lengths and indexes that were computed from the vectors.

        This is needed only after you have changed `vectors` yourself.
        """
        if force:
            self._changed()

    def has_index_for(self, key: Key) -> bool:
        """Return whether a word or row number has a row."""
        return self._find(key) is not None

    def get_vector(self, key: Key, norm: bool = False) -> Floats:
        """Return the vector of a word, read-only; with `norm`, divided by its length."""
        row = self._find(key)
        vector = self._unseen(key) if row is None else self._row(row)
        if vector is None:
            raise self._unknown(key)
        if norm:
            vector = unit(vector).astype(np.float32)
        vector.flags.writeable = False  # only this view: writing to it would make stored lengths wrong
        return vector

    def get_normed_vectors(self) -> Floats:
        """Return all vectors divided by their lengths; zeros stay zeros, and what is not finite is NaN."""
        return units(self.vectors, self.norms, np.float32)

    def get_vecattr(self, key: Key, attr: str) -> int:
        """Return an attribute of a word; the only one is "count"."""
        if attr != "count":
            raise ConfigError(f"attr={attr!r}: must be 'count', the only attribute of a word")
        if self.counts is None:
            raise DataError(
                "these vectors have no counts, because most formats do not store them: read the vectors from "
                "the model's own folder"
            )
        return int(self.counts[self.get_index(key)])

    def unit_normalize_all(self) -> None:
        """Divide all vectors by their lengths; memory-mapped vectors are copied into memory."""
        self.vectors = self.get_normed_vectors()
        self._changed()

    def add_vector(self, key: str, vector: ArrayLike) -> int:
        """Add a word at the end and return its row; an existing word keeps its vector."""
        self.add_vectors([key], np.asarray(vector)[None])
        return self.get_index(key)

    def add_vectors(self, keys: Key | Sequence[Key], weights: ArrayLike, replace: bool = False) -> None:
        """Add words with their vectors; with `replace`, also replace the vectors of existing words.

        New words get the count 0. The matrix is copied, so adding many words at once is faster than many
        calls. Memory-mapped files are not changed.
        """
        keys = [keys] if isinstance(keys, KEYS) else list(keys)
        keys = keys if replace else _strings(keys)
        new = np.asarray(weights, dtype=np.float32)
        new = new[None] if new.ndim == 1 else new
        if new.shape != (len(keys), self.vector_size):
            raise DataError(
                f"there are {len(keys)} words, but weights has shape {new.shape}: give {self.vector_size} "
                "numbers for each word"
            )
        places, words = self._places(keys)
        vectors = np.concatenate([self.vectors, np.zeros((len(words), self.vector_size), np.float32)])
        wanted = [i for i, place in enumerate(places) if replace or place >= len(self)]
        vectors[[places[i] for i in wanted]] = new[wanted]
        if self.counts is not None:
            self.counts = np.concatenate([self.counts, np.zeros(len(words), np.int64)])
        self.vectors = vectors
        for word in words:
            self.key_to_index[word] = len(self.words)
            self.words.append(word)
        self._changed()

    def _places(self, keys: Sequence[Key]) -> tuple[list[int], list[str]]:
        """Return the row of each key, and the list of new words, which get rows after the last one."""
        fresh: dict[str, int] = {}
        places = []
        for key in keys:
            row = self._find(key)
            if row is None and not isinstance(key, str):
                raise UnknownWord(f"row {key!r} is not among the {len(self)} rows: to add a row, give a word")
            places.append(fresh.setdefault(str(key), len(self) + len(fresh)) if row is None else row)
        return places, list(fresh)

    def _unseen(self, key: object) -> Floats | None:
        """Return the vector of a word without a row; None here, other classes may compose one."""
        return None

    def _row(self, row: int) -> Floats:
        """Return one row of the matrix."""
        return np.asarray(self.vectors[row])

    def _several(self, keys: Sequence[Key]) -> Floats:
        """Return the vectors of several words [keys, dim]."""
        refuse_bytes(keys)
        rows = [self._find(key) for key in keys]
        if None in rows:
            return np.array([self.get_vector(key) for key in keys], np.float32)
        return np.asarray(self.vectors[np.array(rows, dtype=np.intp)])

    def _own(self, items: Sequence[Any]) -> list[int]:
        """Return the rows of those items that are keys with a row."""
        return [row for item in items if isinstance(item, KEYS) and (row := self._find(item)) is not None]

    def _changed(self) -> None:
        """Forget what was computed from the vectors, because they have changed."""
        self.__dict__.pop("norms", None)


def _strings(words: Iterable[Any]) -> list[str]:
    """Return words as a list; raise a `DataError` if one is no string."""
    found = list(words)
    for wrong in (word for word in found if not isinstance(word, str)):
        raise DataError(
            f"the word {wrong!r:.80} is of type {type(wrong).__name__}: words must be strings, because a "
            "number is the number of a row; convert them with [str(word) for word in words]"
        )
    return found
