"""Work in threads: results in the order of the tasks, or as they come, or one task in the background.

The main thread takes all results. Ctrl-C may stop it anywhere.
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


@contextlib.contextmanager
def working(
    tasks: Iterable[Task],
    work: Callable[[Task, int], Result],
    threads: int,
    dealt: threading.Semaphore | None = None,
) -> Iterator[queue.SimpleQueue[Result]]:
    """Results of work(task, thread), as threads finish them.

    Leaving the context lets them end the tasks they are at.

    With a semaphore `dealt`, a thread begins its next task when its result is dealt with: released once for
    each.
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
    """Wait for a thread to end its task, however often Ctrl-C is pressed.

    Nobody may write while the model is saved.
    """
    pressed: KeyboardInterrupt | None = None
    while thread.is_alive():
        try:
            thread.join()
        except KeyboardInterrupt as error:
            pressed = error
    return pressed


def in_background(work: Callable[[], None]) -> Callable[[], None]:
    """Start some work in a thread; the function returned waits for it and raises what it raised."""
    done: Future[None] = Future()

    def run() -> None:
        try:
            work()
            done.set_result(None)
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return done.result
