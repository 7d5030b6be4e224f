"""Sort events: by user or session, then by time; events of the same time stay in the order of the file."""

from typing import Any

import numpy as np

from unhot.kernels.jit import inner, kernel
from unhot.types import Doubles, Ids, Starts

RUN = 32  # events that are sorted by insertion


def grouped(groups: Ids, number: int, times: Doubles) -> tuple[Starts, Starts]:
    """Return the order of all events, and where each of the groups 0 .. number - 1 begins in it.

    `times` is empty if the order of the file is the order of time.

    >>> order, starts = grouped(np.array([1, 0, 1], np.int32), 2, np.array([5.0, 1.0, 4.0]))
    >>> order.tolist(), starts.tolist()
    ([1, 2, 0], [0, 1, 3])
    """
    starts = np.zeros(number + 1, np.int64)
    np.cumsum(np.bincount(groups, minlength=number), out=starts[1:])
    order = np.empty(groups.size, np.int64)
    list_groups(groups, starts[:-1].copy(), order)
    if times.size:
        sort_groups(starts, times, order, np.empty(groups.size, np.int64))
    return order, starts


@kernel
def list_groups(groups: Any, free: Any, order: Any) -> None:
    """Write the events of each group one after another; `free`: the next place of each group."""
    for event in range(groups.size):
        order[free[groups[event]]] = event
        free[groups[event]] += 1


@kernel
def sort_groups(starts: Any, times: Any, order: Any, spare: Any) -> None:
    """Sort each group by time, stably."""
    for group in range(starts.size - 1):
        begin, end = starts[group], starts[group + 1]
        at = begin + 1
        while at < end and times[order[at - 1]] <= times[order[at]]:
            at += 1
        if at < end:  # else it is sorted already, as most logs are
            sort_runs(times, order, begin, end)
            merge_runs(times, order, spare, begin, end)


@inner
def sort_runs(times: Any, order: Any, begin: Any, end: Any) -> None:
    """Sort each RUN of events by insertion."""
    for first in range(begin, end, RUN):
        for i in range(first + 1, min(first + RUN, end)):
            event, j = order[i], i
            while j > first and times[order[j - 1]] > times[event]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = event


@inner
def merge_runs(times: Any, order: Any, spare: Any, begin: Any, end: Any) -> None:
    """Merge sorted runs in pairs, into `spare` and back, until one is left."""
    width = RUN
    while width < end - begin:
        for first in range(begin, end, 2 * width):
            middle, last = min(first + width, end), min(first + 2 * width, end)
            i, j = first, middle
            for to in range(first, last):
                left = j >= last or (i < middle and times[order[i]] <= times[order[j]])
                spare[to] = order[i] if left else order[j]
                i, j = i + left, j + (not left)
        for at in range(begin, end):
            order[at] = spare[at]
        width *= 2
