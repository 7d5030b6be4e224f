"""Sparse rows of items: scores, and arrays that are damaged."""

import numpy as np
import pytest

from unhot.corpus.cells import Cells
from unhot.errors import FormatError
from unhot.items.histories import ItemRows, histories_of, newest, rows_of_cells
from unhot.items.kept_log import KeptLog, keep_of
from unhot.logs.encoding import read_log
from unhot.vocab.vocabulary import Vocabulary

ROWS = {
    "starts": np.array([0, 2, 2, 3]),
    "columns": np.array([1, 2, 0], np.int32),
    "values": np.array([0.5, 0.25, 2], np.float32),
}
DENSE = np.array([[0, 0.5, 0.25], [0, 0, 0], [2, 0, 0]])


def test_scores_are_a_product():
    asked = newest(histories_of([[0, 2, 0], [1], []]), last=0, decay=0.5)
    weights = np.array([[1.25, 0, 0.5], [0, 1, 0], [0, 0, 0]])
    assert ItemRows.of_tensors(ROWS, 3).scores(asked) == pytest.approx(weights @ DENSE)


def test_only_the_largest_values_are_kept():
    cells = Cells.from_arrays(
        Vocabulary(list("abc"), [3, 2, 1]),
        np.array([0, 3, 3, 4]),
        np.array([0, 1, 2, 1], np.int32),
        np.array([1.0, 3.0, 2.0, 1.0]),
    )
    found = rows_of_cells(cells, np.asarray(cells.values), most=2)
    assert found.starts.tolist() == [0, 2, 2, 3]
    assert found.columns.tolist() == [1, 2, 1]
    assert found.values.tolist() == [3, 2, 1]
    assert rows_of_cells(cells, np.asarray(cells.values)).columns.size == 4


def test_of_equal_values_the_first_columns_are_kept():
    columns, values = np.arange(40, dtype=np.int32), np.where(np.arange(40) == 30, 2.0, 1.0)
    words = Vocabulary([f"w{i}" for i in range(40)], [1] * 40)
    cells = Cells.from_arrays(words, np.array([0] + [40] * 40), columns, values)
    assert rows_of_cells(cells, values, most=5).columns.tolist() == [0, 1, 2, 3, 30]


BIG = np.iinfo(np.int64)


@pytest.mark.parametrize(
    "damage",
    [
        {"starts": None},
        {"starts": np.array([0, 2, 3])},
        {"starts": np.array([0, 3, 2, 3])},
        {"starts": np.array([1, 2, 2, 3])},
        {"starts": np.array([0, BIG.max, BIG.min, 3])},  # differences wrap around
        {"starts": np.array([0.0, 2, 2, 3])},
        {"columns": np.array([1, 3, 0], np.int32)},
        {"columns": np.array([1, -1, 0], np.int32)},
        {"columns": np.array([[1, 2, 0]], np.int32)},
        {"values": np.zeros(2, np.float32)},
        {"values": np.zeros(3)},
    ],
)
def test_damaged_rows_are_refused(damage):
    with pytest.raises(FormatError):
        ItemRows.of_tensors({**ROWS, **damage}, 3)


LOG = [("u", "a", 1), ("v", "b", 2), ("u", "b", 3)]


def test_a_kept_log_comes_back():
    log = read_log(LOG)
    kept = keep_of(log, ["A", "B"], users=True)
    found = KeptLog.of_tensors(kept.tensors(), 2)
    assert found.names == ["A", "B"]
    assert found.log is not None
    assert found.log.ids.tolist() == log.ids_of_lines.tolist()
    assert (found.log.item_words, found.log.user_words) == (["b", "a"], log.users.words)
    assert found.log.times.tolist() == [1, 3, 2]
    assert keep_of(log, ["A", "B"], users=False).tensors().keys() == {"names.text", "names.starts"}
    assert KeptLog.of_tensors({}, 2) == KeptLog([])


@pytest.mark.parametrize(
    "damage",
    [
        {"log_ids": np.array([0, 1, 2], np.int32)},
        {"log_ids": np.array([0, 1, -1], np.int32)},
        {"log_ids": np.zeros(3)},
        {"log_starts": np.array([0, 2])},
        {"log_starts": np.array([0, BIG.max, 3])},
        {"log_starts": np.array([0, 0, 3])},
        {"log_user_of": np.array([0, 2], np.int32)},
        {"log_user_of": np.array([0], np.int32)},
        {"log_times": np.zeros(2)},
        {"names.starts": np.array([0, 2])},
        {"names.starts": np.array([0.0, 1, 2])},
        {"names.text": np.array([1.0, 2.0])},
        {"log_items.starts": np.array([0, 9, 2])},
    ],
)
def test_a_damaged_log_is_refused(damage):
    tensors = keep_of(read_log(LOG), ["A", "B"], users=True).tensors()
    with pytest.raises(FormatError):
        KeptLog.of_tensors({**tensors, **damage}, 2)
