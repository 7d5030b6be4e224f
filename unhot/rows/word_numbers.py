"""Numbers for the words of columns, in the order in which they first appear, over any number of batches."""

from typing import Any

import numpy as np

from unhot.rows.arrow import pyarrow
from unhot.rows.values import as_bytes
from unhot.types import Bytes, Ids, Starts
from unhot.vocab.vocabulary import decode_words

FEWEST = 1 << 16  # words that wait before they are numbered
SPACE = 32  # it and the bytes below it are blank
FINE, BLANK, LONG = range(3)  # what a cell is


def encoded(cells: Any, longest: int) -> tuple[Ids, Any, Bytes]:
    """Return the numbers of cells in the words of the column, -1: blank; the words; what each cell is."""
    found = as_bytes(cells).dictionary_encode()
    ids = found.indices.fill_null(-1).to_numpy(zero_copy_only=False).copy()
    words = found.dictionary
    if not len(words):
        return ids, words, np.full(len(ids), BLANK, np.uint8)
    offsets = np.frombuffer(words.buffers()[1], np.int64)[words.offset : words.offset + len(words) + 1]
    seen = np.append(0, np.cumsum(np.frombuffer(words.buffers()[2] or b"", np.uint8) > SPACE))
    kinds = np.where(np.diff(seen[offsets]) == 0, BLANK, np.where(np.diff(offsets) > longest, LONG, FINE))
    each = np.append(kinds, BLANK)[ids].astype(np.uint8)  # the last one is that of -1
    ids[each == BLANK] = -1
    return ids, words, each


class WordNumbers:
    """Words and their numbers."""

    def __init__(self) -> None:
        """Start without words."""
        self._words = pyarrow().array([], pyarrow().large_binary())
        self._ids: list[Ids] = []
        self._waiting: list[Any] = []
        self._many = 0

    def add(self, ids: Ids, words: Any, rows: Starts) -> None:
        """Number the words of some rows of a batch; see `encoded`."""
        arrow = pyarrow()
        found = arrow.DictionaryArray.from_arrays(arrow.array(ids, mask=ids < 0), words)
        if rows.size < ids.size or (ids < 0).any():  # only words of these rows count
            found = words.take(found.indices).take(arrow.array(rows)).dictionary_encode()
        self._waiting.append(found)
        self._many += len(found.dictionary)
        if self._many > max(FEWEST, len(self._words)):  # so that each word is looked at a few times in all
            self._number()

    def _number(self) -> None:
        arrow = pyarrow()
        none = arrow.DictionaryArray.from_arrays(arrow.array([], arrow.int32()), self._words)
        found = arrow.chunked_array([none, *self._waiting]).unify_dictionaries()
        self._words = found.chunk(0).dictionary
        self._ids += [
            chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in found.chunks[1:]
        ]
        self._waiting, self._many = [], 0

    def finish(self) -> tuple[Ids, list[str]]:
        """Return the numbers of all rows, and the words."""
        if self._waiting:
            self._number()
        ids = np.concatenate([np.empty(0, np.int32), *self._ids])
        return ids, decode_words(self._words.to_pylist())
