"""Work in threads, results in the order of the tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_order(
    tasks: Iterable[Task], work: Callable[[Task], Result], threads: int
) -> Generator[Result, None, None]:
    """work(task) for each task, by threads.

    A task is taken when its turn comes, and at most threads + 1 of them are not yet dealt with: buffers can
    be used again in turn.
    """
    pending: deque[Future[Result]] = deque()
    executor = ThreadPoolExecutor(threads)
    try:
        for task in tasks:
            pending.append(executor.submit(work, task))
            if len(pending) > threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:  # also on Ctrl-C: wait for the threads, which work on one task each
        executor.shutdown(cancel_futures=True)
