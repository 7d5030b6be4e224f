"""Cells on disk in the order in which they are trained: a random order that suits the cache.

Rows and columns are cut into strips, so that cells fall into a square of blocks. Blocks that share neither
rows nor columns can be trained at the same time, and their order does not matter: in each of `strips` rounds
every strip of rows meets another strip of columns. So threads never write to the same row, and the result is
the same, byte for byte, for any number of threads.

A block is cut further into tiles, whose rows and columns are few enough to fit the second-level cache. The
cells of a tile are shuffled once. The order of the blocks is drawn anew for each epoch.
"""

from __future__ import annotations

import contextlib
import math
import weakref
from collections.abc import Callable
from typing import IO, Any, NamedTuple

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.indexed_folder import OpenedFolder
from unhot.errors import DataError
from unhot.kernels.jit import inner, kernel
from unhot.kernels.rng import below, bits_at, stream_key
from unhot.leftovers import temporary_folder
from unhot.threads import in_order
from unhot.train.glove.step import CellBlock
from unhot.types import Counts, Floats, Ids, Starts

BLOCK_CELLS = 1 << 17  # cells of a block, about: some milliseconds of work
TILE_BYTES = 1 << 20  # bytes of a tile's rows, for words and contexts, with AdaGrad's sums
ARRAYS = 4  # numbers of a cell, of four bytes each: word, context, target, weight
SHUFFLING = 2  # the purpose of a random stream

Value = Callable[[Floats], tuple[Floats, Floats]]  # returns the targets and weights of counts


class Strips(NamedTuple):
    """Words cut into strips, and strips cut into pieces."""

    bounds: Starts  # [strips + 1] the first word of each strip, and the end
    pieces: Counts  # [strips + 1] pieces before each strip
    piece: Ids  # [words] the piece of each word, numbered over all strips


class TilePieces(NamedTuple):
    """How columns are cut into pieces, which are numbered over all blocks."""

    piece: Ids  # [words] the piece of a column
    before: Counts  # [pieces] number of pieces in the blocks before its own
    inside: Counts  # [pieces] number of pieces in its block


class Arranged(NamedTuple):
    """The cells of a strip of rows."""

    words: Ids
    contexts: Ids
    values: Floats


def cut_strips(sizes: Counts, strips: int, near: int) -> Strips:
    """Cut words into strips with about equal sums of sizes, and into pieces of at most `near` words."""
    ends = np.cumsum(sizes)
    inner = np.searchsorted(ends, np.arange(1, strips) * (ends[-1] / strips))
    bounds = np.concatenate([[0], inner, [sizes.size]]).astype(np.int64)
    pieces = np.concatenate([[0], np.cumsum(-(-np.diff(bounds) // near))])
    piece = np.empty(sizes.size, np.int32)
    for strip in range(strips):
        first, last = bounds[strip : strip + 2]
        piece[first:last] = pieces[strip] + np.arange(last - first) // near
    return Strips(bounds, pieces, piece)


class Blocks(OpenedFolder):
    """A temporary file of cells, block by block."""

    def __init__(self, cells: Cells, value: Value, stride: int, seed: int, threads: int) -> None:
        """Write the file; `stride`, the floats in a row, decides how many rows fit the cache."""
        self.strips, near = strips_of(len(cells)), near_words(stride)
        self._rows, self._columns = (cut_strips(sizes, self.strips, near) for sizes in _sizes(cells))
        self.counts = np.zeros((self.strips, self.strips), np.int64)  # the number of cells in each block
        folder = temporary_folder()
        super().__init__(folder, temporary=True)
        self.path = folder / "blocks"
        try:
            self._write(cells, value, seed, min(threads, self.strips))
        except OSError as error:
            self.close()
            need, why = ARRAYS * 4 * len(cells) / 1e9, error.strerror
            raise DataError(
                f"{folder}: {need:.3g} GB cannot be written there: {why}; set TMPDIR to a folder with more "
                "room"
            ) from error
        self.starts = np.concatenate([[0], np.cumsum(self.counts)])  # [blocks + 1]

    def _write(self, cells: Cells, value: Value, seed: int, threads: int) -> None:
        rows, columns = self._rows, self._columns
        inside = np.diff(columns.pieces)
        tiles = TilePieces(columns.piece, np.repeat(columns.pieces[:-1], inside), np.repeat(inside, inside))
        room = int(np.diff(cells.starts[rows.bounds]).max())
        buffers = [
            Arranged(np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.float32))
            for _ in range(threads + 1)
        ]

        def work(strip: int) -> tuple[int, Counts, list[Ids | Floats]]:
            first, last = rows.bounds[strip : strip + 2]
            out, pieces = buffers[strip % len(buffers)], int(rows.pieces[strip + 1] - rows.pieces[strip])
            row_piece, key = (
                rows.piece[first:last] - np.int32(rows.pieces[strip]),
                stream_key(seed, strip, SHUFFLING),
            )
            ends = np.zeros(1 + pieces * int(columns.pieces[-1]), np.int64)
            arrange(
                cells.starts, cells.columns, cells.values, first, row_piece, tiles, pieces, key, ends[1:], out
            )
            size = int(ends[-1])
            return (
                strip,
                ends[columns.pieces * pieces],
                [out.words[:size], out.contexts[:size], *value(out.values[:size])],
            )

        with (
            self.path.open("wb") as file,
            contextlib.closing(in_order(range(self.strips), work, threads)) as results,
        ):
            for strip, cut, arrays in results:
                self.counts[strip] = np.diff(cut)
                _write_strip(file, cut, arrays)


class BlockReader:
    """A reader of blocks for one thread: one at a time, into the same memory."""

    def __init__(self, blocks: Blocks) -> None:
        self._file, self._counts = blocks.path.open("rb", 0), blocks.counts.reshape(-1)
        self._starts = blocks.starts
        weakref.finalize(self, self._file.close)
        self._buffer = np.empty(ARRAYS * int(blocks.counts.max()), np.int32)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, block: int) -> CellBlock:
        """Read the block of that number: strips * strip of rows + strip of columns."""
        size = int(self._counts[block])
        self._file.seek(ARRAYS * 4 * int(self._starts[block]))
        view = self._buffer[: ARRAYS * size].data.cast("B")
        while len(view):
            got = self._file.readinto(view)
            if not got:
                raise DataError(
                    f"{self._file.name}: was cut short while it was in use; free space on that disk, and "
                    "train again"
                )
            view = view[got:]
        return block_of(self._buffer, size)


def block_of(numbers: Ids, size: int) -> CellBlock:
    """Return `size` cells, from an array of their words, contexts, targets and weights."""
    words, contexts, targets, weights = numbers[: ARRAYS * size].reshape(ARRAYS, size)
    return CellBlock(words, contexts, targets.view(np.float32), weights.view(np.float32))


def order(strips: int, seed: int, epoch: int) -> list[tuple[int, int]]:
    """Return the blocks of an epoch, in order, as (strip of rows, strip of columns).

    They form rounds, in each of which every strip has one block.
    """
    random = np.random.default_rng([seed, epoch])
    rows, columns, rounds = (random.permutation(strips).tolist() for _ in range(3))
    return [(rows[k], columns[(k + shift) % strips]) for shift in rounds for k in range(strips)]


def strips_of(cells: int) -> int:
    """Return the number of strips, which depends on the number of cells alone, not on the threads."""
    return max(1, math.isqrt(cells // BLOCK_CELLS))


def near_words(stride: int) -> int:
    """Return the number of words on each side of a tile, for rows of `stride` floats."""
    return max(1, TILE_BYTES // (2 * 2 * 4 * stride))


def arranging_bytes(cells: Cells, stride: int, threads: int) -> int:
    """Return the bytes of memory that it takes to make the blocks.

    They hold strips of cells, their targets and weights, and the ends of tiles.
    """
    strips, words = strips_of(len(cells)), len(cells.vocabulary)
    threads, strip = min(threads, strips), len(cells) // strips + words  # a strip ends with a whole row
    pieces = -(-words // near_words(stride)) + strips
    return (threads + 1) * 5 * 4 * strip + threads * (8 * strip + 8 * pieces * (pieces // strips + 1))


def warm_up_arranging() -> None:
    """Compile `arrange`, or load it from disk, by arranging a single cell."""
    ids, starts = np.zeros(1, np.int32), np.array([0, 1])
    values = np.ones(1)
    for array in (ids, starts, values):
        array.flags.writeable = False  # as in `Cells`
    tiles, out = (
        TilePieces(np.zeros(1, np.int32), np.zeros(1, np.int64), np.ones(1, np.int64)),
        Arranged(ids.copy(), ids.copy(), np.zeros(1, np.float32)),
    )
    arrange(
        starts,
        ids,
        values,
        starts[0],
        ids.copy(),
        tiles,
        1,
        stream_key(0, 0, SHUFFLING),
        np.zeros(2, np.int64)[1:],
        out,
    )


def _sizes(cells: Cells) -> tuple[Counts, Counts]:
    """Count the cells of each row and of each column."""
    rows = np.diff(cells.starts)
    if cells.is_symmetric():
        return rows, rows
    columns = np.zeros_like(rows)
    for at in range(0, len(cells), 1 << 22):
        columns += np.bincount(cells.columns[at : at + (1 << 22)], minlength=rows.size)
    return rows, columns


def _write_strip(file: IO[bytes], cut: Counts, arrays: list[Ids | Floats]) -> None:
    """Write the blocks of a strip, each as its arrays one after the other."""
    for first, last in zip(cut[:-1], cut[1:], strict=True):
        for array in arrays:
            file.write(array[first:last].data)


@inner
def _tile(tiles: Any, pieces: Any, row_piece: Any, column: Any) -> Any:
    """Return the tile of a cell, in a strip whose rows are cut into `pieces`.

    Tiles are numbered by block, then by rows, then by columns.
    """
    piece = tiles.piece[column]
    return pieces * tiles.before[piece] + row_piece * tiles.inside[piece] + piece - tiles.before[piece]


@kernel
def arrange(
    starts: Any,
    columns: Any,
    values: Any,
    first: Any,
    row_piece: Any,
    tiles: Any,
    pieces: Any,
    key: Any,
    ends: Any,
    out: Any,
) -> None:
    """Put the cells of a strip of rows into tiles; ends[t] is then where tile t ends in `out`.

    first, row_piece    the first row; and for each row, which of the strip's `pieces` it is in
    key                 the random stream that orders the cells of tiles
    """
    for tile in range(ends.size):
        ends[tile] = 0
    for row in range(row_piece.size):
        for cell in range(starts[first + row], starts[first + row + 1]):
            ends[_tile(tiles, pieces, row_piece[row], columns[cell])] += 1
    at = 0
    for tile in range(ends.size):
        size = ends[tile]
        ends[tile] = at
        at += size
    for row in range(row_piece.size):
        for cell in range(starts[first + row], starts[first + row + 1]):
            tile = _tile(tiles, pieces, row_piece[row], columns[cell])
            at = ends[tile]
            out.words[at], out.contexts[at] = first + row, columns[cell]
            out.values[at] = values[cell]
            ends[tile] = at + 1
    begin = 0
    for tile in range(ends.size):
        _shuffle(out, begin, ends[tile], key)
        begin = ends[tile]


@inner
def _shuffle(out: Any, begin: Any, end: Any, key: Any) -> None:
    """Shuffle the cells [begin, end); all orders are equally likely (Fisher and Yates)."""
    for last in range(end - 1, begin, -1):
        other = begin + below(bits_at(key, last), last - begin + 1)
        out.words[last], out.words[other] = out.words[other], out.words[last]
        out.contexts[last], out.contexts[other] = out.contexts[other], out.contexts[last]
        out.values[last], out.values[other] = out.values[other], out.values[last]
