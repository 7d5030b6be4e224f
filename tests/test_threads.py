"""Work in threads, results in order."""

import contextlib
import threading
import time

import pytest

from unhot.threads import in_order


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_results_come_in_the_order_of_the_tasks(threads, count):
    def work(task):
        time.sleep(0.002 * (task % 3 == 0))  # later tasks end first
        return task * task

    assert list(in_order(iter(range(count)), work, threads)) == [task * task for task in range(count)]


@pytest.mark.parametrize("threads", [1, 3])
def test_buffers_can_be_used_in_turn(threads):
    """A task is taken only when no more than `threads` others are not dealt with."""
    taken, dealt_with, most = 0, 0, 0

    def tasks():
        nonlocal taken, most
        for number in range(30):
            taken += 1
            most = max(most, taken - dealt_with)
            yield number

    buffers = [None] * (threads + 1)

    def work(number):
        buffers[number % len(buffers)] = number
        return number

    for number in in_order(tasks(), work, threads):
        assert buffers[number % len(buffers)] == number
        dealt_with += 1
    assert most == threads + 1


def test_as_many_at_once_as_there_are_threads():
    together = threading.Barrier(3, timeout=30)
    assert len([together.wait() for _ in in_order(range(0), lambda task: together.wait(), 3)]) == 0
    assert sorted(in_order(range(3), lambda task: together.wait(), 3)) == [0, 1, 2]


def test_an_error_in_the_work_comes_in_its_turn():
    def work(task):
        if task == 2:
            raise ValueError("task 2")
        return task

    results = in_order(range(10), work, 2)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ValueError, match="task 2"):
        next(results)
    with pytest.raises(StopIteration):
        next(results)


def test_an_error_in_the_tasks_ends_the_threads():
    def tasks():
        yield 1
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        list(in_order(tasks(), lambda task: task, 4))
    assert threading.active_count() == before


def test_closing_early_waits_for_what_is_being_worked_on():
    working, left = threading.Event(), []

    def work(task):
        if task:
            working.set()
            time.sleep(0.05)
            left.append(task)

    before = threading.active_count()
    with contextlib.closing(in_order(range(100), work, 2)) as results:
        next(results)
        assert working.wait(30)
    done = list(left)
    time.sleep(0.1)
    assert left == done
    assert len(done) < 5
    assert threading.active_count() == before
