"""The walks: how deep the stack is where a command does its work.

A walk runs a command in this process, on tiny files, and records the stack when the command first calls the
function `Walk.arrival`. Calls that only warm up kernels do not count: those below a function `warm_up`. The
arrival is the compiled kernel if a module has a name for it, otherwise the function that calls the kernel or
takes the step of a net. It is the last frame.

A frame is a function of unhot/ on the stack. Comprehensions, generator expressions and generated functions
are left out; lambdas count. In a worker thread, the frames of the thread that started it come first: where
`Thread.start` was called, or where the task was submitted to a `ThreadPoolExecutor`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import io
import random
import shlex
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from unittest import mock

from house_classes import PACKAGE

HERE = "tools/house_walks.py"


class WalkError(Exception):
    """A walk failed, or never arrived."""


class Walk(NamedTuple):
    """A command, and where it arrives."""

    name: str
    command: str
    arrival: (
        str  # module:function or module:Class.method; a function is looked up in the module that calls it
    )
    after: str = ""  # the walk whose model this one needs


class Frame(NamedTuple):
    """A function on the stack."""

    file: str  # below unhot/
    line: int
    function: str


LEARN = "unhot.train.hogwild:HogwildRun.learn"  # a chunk is one call of the training kernel
WALKS = [
    Walk("train", "train text.txt -o words --dim 8 --epochs 1 --min-count 1 --threads 1 -q", LEARN),
    Walk("classify train", "classify train labelled.txt -o classes --dim 4 --threads 1 -q", LEARN),
    Walk(
        "classify predict",
        "classify predict classes text.txt -o labels.txt --threads 1 -q",
        "unhot.lines.predictor:LinePredictor.sums",
        after="classify train",
    ),
    Walk(
        "lm train",
        "lm train text.txt -o ngrams --order 3 --threads 1 -q",
        "unhot.ngrams.counting:add_part",
    ),
    Walk(
        "lm score",
        "lm score ngrams text.txt -o scores.txt --threads 1 -q",
        "unhot.ngrams.trie_scorer:score_lines",
        after="lm train",
    ),
    Walk(
        "recommend train",
        "recommend train log.csv -o items --model item2vec --split leave-last-out --dim 8 --epochs 2"
        " --sample 0 --threads 1 -q",
        LEARN,
    ),
    Walk(
        "recommend evaluate",
        "recommend evaluate items --json",
        "unhot.index.best:rank_targets",
        after="recommend train",
    ),
    Walk(
        "graph train",
        "graph train edges.txt -o nodes --dim 8 --epochs 2 --walks 5 --length 10 --window 2 --threads 1 -q",
        LEARN,
    ),
    Walk(
        "lm train --model neural",
        "lm train text.txt -o net --model neural --dim 8 --batch 4 --steps 5 --epochs 1 --threads 1 -q",
        "unhot.train.torch_run:TorchRun._step",
    ),
]

_started = threading.local()  # .stack: the frames that a thread's own come after


def walk(names: list[str]) -> dict[str, list[Frame]]:
    """Return the stack of each walk where it arrives, the command first."""
    chosen = {each.name: each for each in WALKS if each.name in names}
    needed = {each.after for each in chosen.values()} | chosen.keys()
    found = {}
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        contextlib.chdir(folder),
        following_threads(),
    ):
        _write_files()
        for each in WALKS:
            if each.name in needed:
                found[each.name] = _arrive(each)
    return {name: found[name] for name in chosen}


def _write_files() -> None:
    draw = random.Random(1)
    lines = [" ".join(draw.choices("abcdefgh", k=6)) for _ in range(40)]
    events = [f"u{user},i{(user + step) % 12},{step}" for user in range(12) for step in range(6)]
    files = {
        "text.txt": lines,
        "labelled.txt": [f"__label__{'xy'[number % 2]} {line}" for number, line in enumerate(lines)],
        "log.csv": ["user,item,time", *events],
        "edges.txt": [f"n{node} n{(node + step) % 20}" for node in range(20) for step in (1, 2, 3)],
    }
    for name, content in files.items():
        Path(name).write_text("\n".join(content) + "\n", encoding="utf-8")


def _arrive(each: Walk) -> list[Frame]:
    """Run a walk's command; return the stack of its first arrival that is no warm-up."""
    stacks: list[list[Frame]] = []
    with watching(each, stacks.append):
        run(each.command)
    return first_arrival(each, stacks)


def first_arrival(each: Walk, stacks: list[list[Frame]]) -> list[Frame]:
    """Return the first stack that is not below a function `warm_up`; raise a `WalkError` if there is none."""
    for found in stacks:
        if not any(frame.function.split(".")[-1] == "warm_up" for frame in found):
            return found
    raise _lost(each)


def _lost(each: Walk) -> WalkError:
    return WalkError(f"walk {each.name!r} never arrived at {each.arrival}: give its new name in {HERE}")


def run(command: str) -> None:
    """Run a command of unhot in this process, without output."""
    from unhot.cli.main import main

    raw = io.BytesIO()
    output = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            main(shlex.split(command))
        except SystemExit as end:
            if end.code:
                raise WalkError(f"unhot {command}: exit code {end.code}\n{raw.getvalue().decode()}") from end


@contextlib.contextmanager
def watching(each: Walk, tell: Callable[[list[Frame]], None]) -> Iterator[None]:
    """Call `tell` with the stack whenever the arrival of a walk is called."""
    module, _, path = each.arrival.partition(":")
    *outer, name = path.split(".")
    try:
        owner = functools.reduce(getattr, outer, importlib.import_module(module))
        function = vars(owner)[name]
    except (ImportError, AttributeError, KeyError) as error:
        raise _lost(each) from error

    def arrived(*arguments: Any, **named: Any) -> Any:
        tell([*stack(), _frame_of(function)])
        return function(*arguments, **named)

    with mock.patch.object(owner, name, arrived):
        yield


def _frame_of(function: Any) -> Frame:
    """Return the frame of a function that is about to be called, compiled or not."""
    code = inspect.unwrap(getattr(function, "py_func", function)).__code__
    file = Path(code.co_filename).relative_to(PACKAGE).as_posix()
    return Frame(file, code.co_firstlineno, code.co_qualname)


def stack() -> list[Frame]:
    """Return the frames of unhot/ on the stack of this thread, after those of the thread that started it."""
    found = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code, path = frame.f_code, Path(frame.f_code.co_filename)
        named = not code.co_name.startswith("<") or code.co_name == "<lambda>"
        if named and path.is_relative_to(PACKAGE):
            found.append(Frame(path.relative_to(PACKAGE).as_posix(), frame.f_lineno, code.co_qualname))
        frame = frame.f_back
    return [*getattr(_started, "stack", ()), *reversed(found)]


def _continued(work: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does the same in another thread, with the stack of this thread below its own."""
    before = stack()

    def continued(*arguments: Any, **named: Any) -> Any:
        _started.stack = before
        return work(*arguments, **named)

    return continued


@contextlib.contextmanager
def following_threads() -> Iterator[None]:
    """Let threads remember the stacks that started them."""
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit

    def start_thread(thread: threading.Thread) -> None:
        thread.run = _continued(thread.run)  # type: ignore[method-assign]
        start(thread)

    def submit_task(pool: ThreadPoolExecutor, work: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        return submit(pool, _continued(work), *arguments, **named)

    with (
        mock.patch.object(threading.Thread, "start", start_thread),
        mock.patch.object(ThreadPoolExecutor, "submit", submit_task),
    ):
        yield
