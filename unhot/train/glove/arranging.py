"""Put cells into tiles, in a random order within each tile."""

from typing import Any, NamedTuple

from unhot.kernels.jit import inner, kernel
from unhot.kernels.rng import below, bits_at
from unhot.types import Counts, Floats, Ids


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
