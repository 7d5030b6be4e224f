"""Run work in threads: results in the order of the tasks, or as they finish, or one task in the background.

The main thread collects all results. Ctrl-C may interrupt it at any point.
"""

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_order(
    tasks: Iterable[Task], work: Callable[[Task], Result], threads: int
) -> Generator[Result, None, None]:
    """Yield work(task) for each task, in the order of the tasks; threads do the work.

    Tasks are taken from the iterable one by one. At most threads + 1 of them are unfinished or not yet
    yielded, so threads + 1 buffers can be used in turn.
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
    finally:  # also on Ctrl-C: wait until each thread has finished its current task
        executor.shutdown(cancel_futures=True)


def parts_of(size: int, block: int) -> list[range]:
    """Cut 0 .. size - 1 into parts of `block` numbers, as tasks."""
    return [range(first, min(first + block, size)) for first in range(0, size, block)]


@contextlib.contextmanager
def working(
    tasks: Iterable[Task],
    work: Callable[[Task, int], Result],
    threads: int,
    dealt: threading.Semaphore | None = None,
) -> Iterator[queue.SimpleQueue[Result]]:
    """Run work(task, thread) in threads and give a queue of the results, in the order they finish.

    When the context ends, each thread finishes its current task and stops.

    With a semaphore `dealt`, a thread waits after each task until `dealt` is released. The caller releases
    it once for each result that it has dealt with.
    """
    todo, stop = iter(tasks), threading.Event()
    lock, results = threading.Lock(), queue.SimpleQueue[Result]()

    def run(thread: int) -> None:
        while not stop.is_set():
            with lock:
                task = next(todo, None)
            if task is None:
                return
            results.put(work(task, thread))
            if dealt is not None and not stop.is_set():
                dealt.acquire()

    running = [threading.Thread(target=run, args=(thread,), daemon=True) for thread in range(threads)]
    try:
        for thread in running:
            thread.start()
        yield results
    finally:
        stop.set()
        if dealt is not None:
            dealt.release(threads)
        pressed = [_join(thread) for thread in running]
    for error in filter(None, pressed):
        raise error


def _join(thread: threading.Thread) -> KeyboardInterrupt | None:
    """Wait until a thread ends, however often Ctrl-C is pressed; return the last KeyboardInterrupt.

    The model is saved afterwards, and no thread may change it then.
    """
    pressed: KeyboardInterrupt | None = None
    while thread.is_alive():
        try:
            thread.join()
        except KeyboardInterrupt as error:
            pressed = error
    return pressed


def in_background(work: Callable[[], None]) -> Callable[[], None]:
    """Start some work in a thread; return a function that waits for it and raises what it raised."""
    done: Future[None] = Future()

    def run() -> None:
        try:
            work()
            done.set_result(None)
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return done.result
