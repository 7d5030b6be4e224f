"""Histories with weights, and the questions of a split in the ids of a model."""

import numpy as np

from unhot.items.histories import case_blocks, histories_of, newest
from unhot.logs.encoding import read_log
from unhot.logs.splitting import split_log


def test_the_newest_items_count_most():
    found = newest(histories_of([[7, 8, 9], [], [5]]), last=2, decay=0.5)
    assert found.ids.tolist() == [8, 9, 5]
    assert found.starts.tolist() == [0, 2, 2, 3]
    assert found.weights.tolist() == [0.5, 1.0, 1.0]


def test_all_items_and_no_decay():
    found = newest(histories_of([[7, 8, 9]]), last=0, decay=1.0)
    assert (found.ids.tolist(), found.weights.tolist()) == ([7, 8, 9], [1.0, 1.0, 1.0])
    assert newest(histories_of([[7, 8, 9]]), last=0, decay=0.0).weights.tolist() == [0.0, 0.0, 1.0]


def test_no_histories():
    found = newest(histories_of([]), last=2, decay=0.5)
    assert (found.ids.size, found.starts.tolist()) == (0, [0])


def test_unknown_items_are_left_out_of_questions():
    log = read_log([("u", item, time) for time, item in enumerate("abcab")] + [("v", "a", 9), ("v", "c", 10)])
    cases = split_log(log, "time", 0.4).cases("test")
    words = log.items.words
    known = np.array([{"a": 5, "b": -1, "c": 3}[word] for word in words], np.int32)
    users = np.array([*({"u": 7, "v": -1}[user] for user in log.users.words), -1], np.int32)
    for size in (1, 2, 100):
        blocks = [*case_blocks(cases, known, users, size)]
        lines = [
            (block.ids[a:b].tolist(), target, user)
            for block, targets, _ in blocks
            for a, b, target, user in zip(block.starts, block.starts[1:], targets, block.users, strict=False)
        ]
        assert lines == [([5, 3, 5], -1, 7), ([5], 3, -1)]
        assert [part.stop for *_, part in blocks][-1] == cases.ends.size
