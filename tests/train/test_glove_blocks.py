"""Blocks of cells: every cell once, in the right block, in a random order that depends on the seed alone."""

import itertools

import numpy as np
import pytest

from unhot.corpus.cells import Cells
from unhot.train.glove import blocks as module
from unhot.train.glove.blocks import BlockReader, Blocks, cut_strips, order
from unhot.vocab.vocabulary import Vocabulary

WORDS = 50


def some_cells(words=WORDS, share=0.4, seed=1, symmetric=False):
    random = np.random.default_rng(seed)
    dense = np.where(random.random((words, words)) < share, random.random((words, words)) * 20 + 0.1, 0.0)
    dense = dense + dense.T if symmetric else dense
    dense[3] = 0  # a row without a cell
    starts = np.concatenate([[0], np.cumsum((dense > 0).sum(axis=1))])
    rows, columns = np.nonzero(dense)
    vocabulary = Vocabulary([f"w{i}" for i in range(words)], np.arange(words, 0, -1))
    return Cells.from_arrays(
        vocabulary, starts, columns, dense[rows, columns], {"sides": "both" if symmetric else "left"}
    ), dense


def read_all(blocks):
    reader = BlockReader(blocks)
    return [
        (
            number,
            [tuple(cell) for cell in zip(*(array.tolist() for array in reader.read(number)), strict=True)],
        )
        for number in range(blocks.strips**2)
    ]


@pytest.fixture(params=[1, 40, 400])
def block_cells(request, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_CELLS", request.param)
    monkeypatch.setattr(module, "TILE_BYTES", 4 * 16 * 16)  # four words a tile
    return request.param


def test_every_cell_once_in_its_block(block_cells):
    cells, dense = some_cells()
    blocks = Blocks(cells, lambda x: (np.log(x), x / 2), 16, 1, 2)
    assert blocks.strips == max(1, int((len(cells) / block_cells) ** 0.5))
    seen = {}
    for number, found in read_all(blocks):
        row, column = divmod(number, blocks.strips)
        for word, context, target, weight in found:
            assert blocks._rows.bounds[row] <= word < blocks._rows.bounds[row + 1]
            assert blocks._columns.bounds[column] <= context < blocks._columns.bounds[column + 1]
            assert (word, context) not in seen
            seen[word, context] = True
            assert (target, weight) == pytest.approx(
                (np.log(dense[word, context]), dense[word, context] / 2), rel=1e-6, abs=1e-6
            )
    assert len(seen) == len(cells)
    blocks.close()


def test_order_depends_on_the_seed_and_not_on_threads(block_cells):
    cells, _ = some_cells(symmetric=True)
    made = [
        read_all(Blocks(cells, lambda x: (x, x), 16, seed, threads))
        for seed, threads in ((1, 1), (1, 3), (2, 1))
    ]
    assert made[0] == made[1]
    assert made[0] != made[2]


def test_tiles_are_near_and_inside_in_random_order(monkeypatch):
    monkeypatch.setattr(module, "TILE_BYTES", 4 * 4 * 16 * 10)
    cells, _ = some_cells(share=0.9)
    (_, found) = read_all(Blocks(cells, lambda x: (x, x), 16, 1, 1))[0]
    tiles = [(word // 10, context // 10) for word, context, _, _ in found]
    assert len(list(itertools.groupby(tiles))) == len(set(tiles))  # one after another
    first = [cell[:2] for cell, tile in zip(found, tiles, strict=True) if tile == tiles[0]]
    assert sorted(first) != first


def test_rounds_share_neither_rows_nor_columns():
    for epoch in range(3):
        found = order(7, 1, epoch)
        assert len(set(found)) == 49
        for begin in range(0, 49, 7):
            rows, columns = zip(*found[begin : begin + 7], strict=True)
            assert len(set(rows)) == len(set(columns)) == 7
    assert order(7, 1, 0) != order(7, 1, 1)


def test_strips_are_balanced_and_complete():
    sizes = np.array([100, 1, 1, 1, 97, 50, 50, 0, 0, 100])
    strips = cut_strips(sizes, 4, 2)
    assert strips.bounds[0] == 0
    assert strips.bounds[-1] == 10
    assert (np.diff(strips.bounds) >= 0).all()
    assert (np.diff(strips.piece) >= 0).all()
    assert np.unique(strips.piece).size == strips.pieces[-1]
    assert max(np.bincount(strips.piece)) <= 2


def test_a_full_disk_says_what_to_do(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_write_strip", full)
    cells, _ = some_cells()
    with pytest.raises(module.DataError, match="TMPDIR"):
        Blocks(cells, lambda x: (x, x), 16, 1, 1)
