"""Cells: from arrays, on disk, damaged."""

import errno
import json
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_corpora import as_dict, check_damage

from unhot.corpus.cells import Cells, CellsWriter
from unhot.corpus.cells import cells as module
from unhot.errors import DataError, FormatError
from unhot.vocab.vocabulary import Vocabulary

FILES = ["cells.columns", "cells.json", "cells.starts", "cells.values", "counts.bin", "vocab.txt"]
WORDS = Vocabulary(["the", "a\nb", "\udcff", "d", "e"], [9, 8, 8, 2, 1])
ARRAYS = [0, 0, 3, 3, 4, 4], [0, 2, 4, 1], [1.5, 2.0, 0.25, 7.0]


def dense(cells):
    matrix = np.zeros((len(cells.vocabulary), len(cells.vocabulary)))
    for pair, value in as_dict(cells).items():
        matrix[pair] = value
    return matrix


@st.composite
def matrices(draw):
    """A small square matrix with many zeros."""
    size = draw(st.integers(1, 9))
    numbers = st.sampled_from([0.0, 0.0, 0.5, 1.0, 3.25, 1e-9, -2.0])
    return np.array(
        draw(st.lists(st.lists(numbers, min_size=size, max_size=size), min_size=size, max_size=size))
    )


def cells_of(matrix, **options):
    rows, columns = np.nonzero(matrix)
    starts = np.searchsorted(rows, np.arange(matrix.shape[0] + 1))
    words = Vocabulary([str(i) for i in range(matrix.shape[0])], [1] * matrix.shape[0])
    return Cells.from_arrays(words, starts, columns, matrix[rows, columns], **options)


@given(matrices(), st.integers(1, 5), st.integers(0, 12), st.booleans())
def test_rows_sums_and_the_heaviest(matrix, chunk, count, symmetric):
    if symmetric:
        matrix = matrix + matrix.T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK", chunk)
        cells = cells_of(matrix, settings={"sides": "both" if symmetric else "left"})
        assert len(cells) == np.count_nonzero(matrix)
        for i, row in enumerate(matrix):
            columns, values = cells.row(i)
            assert columns.tolist() == np.flatnonzero(row).tolist()
            assert values.tolist() == row[row != 0].tolist()
        assert np.allclose(cells.row_sums(), matrix.sum(axis=1))
        assert np.allclose(cells.column_sums(), matrix.sum(axis=0))
        falling = sorted(
            ((i, j, v) for (i, j), v in as_dict(cells).items() if not symmetric or j >= i),
            key=lambda cell: -cell[2],
        )
        assert cells.heaviest(count) == falling[:count]


def test_rows_that_are_not_there():
    cells = Cells.from_arrays(WORDS, *ARRAYS)
    assert [cells.row(i)[0].size for i in range(5)] == [0, 3, 0, 1, 0]
    for i in (-1, 5):
        with pytest.raises(IndexError, match=r"the rows are 0 .. 4"):
            cells.row(i)


def test_arrays_of_any_shape_and_byte_order(tmp_path):
    starts, columns, values = (np.array(array) for array in ARRAYS)
    strided = np.zeros((columns.size, 3))
    strided[:, 1] = values
    forms = [
        (starts, columns, values),
        (starts.astype(">i8"), columns.astype(">i4"), values.astype(">f8")),
        (starts.astype(np.uint8), columns[::-1].copy()[::-1], strided[:, 1]),
        ([int(i) for i in starts], tuple(columns.tolist()), values.tolist()),
    ]
    expected = Cells.from_arrays(WORDS, *ARRAYS)
    for number, form in enumerate(forms):
        for directory in (None, tmp_path / str(number)):
            cells = Cells.from_arrays(WORDS, *form, settings={"window": 3}, directory=directory)
            assert as_dict(cells) == as_dict(expected)
            arrays = cells.starts, cells.columns, cells.values
            assert [array.dtype.str for array in arrays] == ["<i8", "<i4", "<f8"]
            assert all(array.flags.c_contiguous for array in arrays)
            assert not cells.columns.flags.writeable
            assert not cells.values.flags.writeable
            assert cells.directory == directory
            assert cells.settings == {"window": 3}
    values[:] = 0  # a column of one's own can still be written
    assert strided.flags.writeable


@pytest.mark.parametrize(
    ("starts", "columns", "values", "said"),
    [
        ([0, 3, 3, 4, 4], ARRAYS[1], ARRAYS[2], "shapes"),
        (ARRAYS[0], ARRAYS[1][:3], ARRAYS[2], "shapes"),
        (ARRAYS[0], [ARRAYS[1]], [ARRAYS[2]], "shapes"),
        ([1, 1, 3, 3, 4, 4], ARRAYS[1], ARRAYS[2], "starts must rise from 0"),
        ([0, 0, 3, 3, 5, 5], ARRAYS[1], ARRAYS[2], "to the number of cells, 4"),
        ([0, 0, 3, 2, 4, 4], ARRAYS[1], ARRAYS[2], "rise"),
        (
            ARRAYS[0],
            [0, 2, 2, 1],
            ARRAYS[2],
            "cell 2 or a later one: the columns of a row must rise, within 0..4",
        ),
        (ARRAYS[0], [2, 0, 4, 1], ARRAYS[2], "cell 1 or a later one"),
        (ARRAYS[0], [0, 2, 5, 1], ARRAYS[2], "must rise, within 0..4"),
        (ARRAYS[0], [-1, 2, 4, 1], ARRAYS[2], "must rise, within 0..4"),
        (ARRAYS[0], np.array([0, 2, 2**32, 1]), ARRAYS[2], "whole numbers that fit int32"),
        (ARRAYS[0], [0.0, 2.5, 4.0, 1.0], ARRAYS[2], "columns of type float64: give whole numbers"),
        (ARRAYS[0], ARRAYS[1], [1.0, np.nan, 1.0, 1.0], "not a finite number"),
        (ARRAYS[0], ARRAYS[1], [1.0, 1.0, 1.0, np.inf], "not a finite number"),
    ],
)
def test_arrays_that_are_no_cells(starts, columns, values, said, tmp_path):
    with pytest.raises(DataError, match=said):
        Cells.from_arrays(WORDS, starts, columns, values, directory=tmp_path / "cells")
    assert not (tmp_path / "cells").exists()


@pytest.fixture
def saved(tmp_path):
    Cells.from_arrays(
        WORDS, *ARRAYS, settings={"window": 3, "sides": "both"}, directory=tmp_path / "cells"
    ).close()
    return tmp_path / "cells"


def test_open_again(saved):
    with Cells.open(saved) as cells:
        assert as_dict(cells) == as_dict(Cells.from_arrays(WORDS, *ARRAYS))
        assert cells.vocabulary == WORDS
        assert cells.is_symmetric()
        assert repr(cells) == f"Cells(4 of 5 words in {saved})"
    assert len(cells) == 0
    assert sorted(path.name for path in saved.iterdir()) == FILES
    assert repr(Cells.from_arrays(WORDS, *ARRAYS)) == "Cells(4 of 5 words in memory)"


def test_no_cells_at_all(tmp_path):
    Cells.from_arrays(WORDS, [0] * 6, [], [], directory=tmp_path / "none").close()
    with Cells.open(tmp_path / "none") as cells:
        assert (len(cells), cells.heaviest(3)) == (0, [])
        assert cells.row_sums().tolist() == cells.column_sums().tolist() == [0] * 5


@pytest.mark.parametrize("name", FILES)
def test_truncated_or_missing_files(saved, name):
    check_damage(Cells.open, saved / name, "count them again")


@given(st.data())
def test_flipped_bits_never_crash(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp() / "flipped-cells"
    if not folder.exists():
        Cells.from_arrays(WORDS, *ARRAYS, directory=folder).close()
    path = folder / data.draw(st.sampled_from(FILES))
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(damaged)
    try:
        # a flip that leaves cells is not seen, but everything stays in range
        with Cells.open(folder) as cells:
            assert cells.columns.max() < len(cells.vocabulary)
            assert cells.columns.min() >= 0
            assert cells.starts[-1] == len(cells)
            assert np.isfinite(cells.row_sums()).all()
    except FormatError:
        pass
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", 2), ("words", "many"), ("words", 4), ("words", -1), ("words", 10**15),
        ("words", float("inf")),
        ("cells", 3), ("cells", -4), ("cells", None), ("cells", 10**15),
        ("settings", 7), ("settings", "window"),
    ],
)  # fmt: skip
def test_lying_index(saved, field, value):
    index = json.loads((saved / "cells.json").read_text())
    (saved / "cells.json").write_text(json.dumps({**index, field: value}))
    with pytest.raises(FormatError):
        Cells.open(saved)


def test_a_directory_that_is_none(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(
            FormatError,
            match="no such file: .*, or writing it was interrupted; count them again",
        ):
            Cells.open(folder)


def stopped(directory):
    with CellsWriter(WORDS, directory) as writer:
        writer.append(np.array([1]), np.array([0], np.int32), np.ones(1))
        raise RuntimeError


def finished_early(directory):
    with CellsWriter(WORDS, directory) as writer:
        writer.append(np.array([1, 0]), np.array([0], np.int32), np.ones(1))
        writer.finish({})


def test_a_writer_that_is_stopped_leaves_what_was_there(saved, tmp_path):
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    for directory in (saved, tmp_path / "new"):
        with pytest.raises(RuntimeError):
            stopped(directory)
        with pytest.raises(ValueError, match="2 rows of 5 were added"):
            finished_early(directory)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    assert not (tmp_path / "new").exists()


def test_no_room_for_the_first_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    writer = CellsWriter(WORDS, tmp_path / "new")
    monkeypatch.setattr(module.Path, "open", full)
    with pytest.raises(DataError, match="disk full"), writer:
        writer.append(np.array([1]), np.array([0], np.int32), np.ones(1))
    assert not (tmp_path / "new").exists()


def test_cells_stay_readable_while_others_take_their_place(saved):
    with Cells.open(saved) as old:
        Cells.from_arrays(Vocabulary(["x"], [1]), [0, 1], [0], [9.0], directory=saved).close()
        assert old.values.tolist() == ARRAYS[2]
    with Cells.open(saved) as new:
        assert as_dict(new) == {(0, 0): 9.0}
    shutil.rmtree(saved)
