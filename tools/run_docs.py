"""Run every command and every Python snippet of README.md and docs/, page by page, as a reader would.

    python tools/run_docs.py                     all pages in full
    python tools/run_docs.py --quick             without the blocks that are marked slow
    python tools/run_docs.py docs/vectors.md     these pages

Each page has a temporary folder, which holds the small input files that the page names (docs_inputs.py). The
Python snippets of a page share one namespace. In full, a page has a process of its own and every command goes
to the shell. With --quick, all pages share this process, and it runs the commands of unhot itself, also after
`echo ... |` and with `> FILE`; models have dim 8 unless the page says otherwise. So it loads few kernels, and
each once. The words behind the language of a fence say whether the block runs:

    ```sh, ```console, ```python     always; a line is a command, unless a backslash ends it
    ```sh slow                       not with --quick
    ```sh skip: REASON               never; the tool lists it
    ```text                          it is no code

Any other fence is an error, and so is a fence that is not closed. The exit code is 1 if anything failed.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from docs_inputs import make_inputs

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"( *)(```+)(.*)")
CODE = re.compile(r"(?P<language>sh|bash|console|python|text)(?: (?P<mark>slow|skip: .+))?")
ALONE = re.compile(r"[|<>;&$`*]|--plugin")  # a command with one of these needs a process of its own
OURS = re.compile(r"(?:echo (?P<given>[^|]+) \| )?unhot (?P<arguments>[^>#]*)(?:> (?P<file>\S+))?(?:#.*)?")
QUICK_DIM = 8
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


class PageError(Exception):
    """A page has a fence that the tool does not understand."""


class Block(NamedTuple):
    """A piece of code on a page."""

    line: int  # the number of its first line
    language: str
    mark: str  # empty, slow or skip: REASON
    code: str


def blocks(text: str) -> list[Block]:
    """Return the blocks of code of a page, in order."""
    found, lines = [], text.splitlines()
    first, fence = 0, None
    for number, line in enumerate(lines, 1):
        match = FENCE.fullmatch(line)
        if match and fence is None:
            first, fence = number + 1, match
        elif match and fence and match[2] == fence[2] and not match[3].strip():
            kind = CODE.fullmatch(fence[3].strip())
            if kind is None:
                raise PageError(f"line {first - 1}: {fence[0]}: unknown language or mark")
            code = "".join(f"{each.removeprefix(fence[1])}\n" for each in lines[first - 1 : number - 1])
            found.append(Block(first, kind["language"], kind["mark"] or "", code))
            fence = None
    if fence:
        raise PageError(f"line {first - 1}: {fence[0]}: the fence is not closed")
    return [block for block in found if block.language != "text"]


def parts(block: Block) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of every command of a block; a Python snippet is one."""
    if block.language == "python":
        yield block.line, block.code
        return
    command, first = "", block.line
    for number, line in enumerate(block.code.splitlines(), block.line):
        if block.language == "console" and not command and not line.startswith("$ "):
            continue  # what a command prints
        first = first if command else number
        command += line.removeprefix("$ ")
        if command.endswith("\\"):
            command = command[:-1]
        else:
            yield first, command
            command = ""


def run_page(page: Path, *, quick: bool) -> list[str]:
    """Run the blocks of a page in a folder of its own; return what failed: page, line, exit code, output."""
    text, name = page.read_text(encoding="utf-8"), os.path.relpath(page, ROOT)
    failures, names = [], {"__name__": "__main__"}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, contextlib.chdir(folder):
        make_inputs(text, page.parent)
        sys.path.insert(0, folder)  # a page may import a file that it names
        for block in blocks(text):
            if block.mark.startswith("skip") or (quick and block.mark):
                continue
            for line, part in parts(block):
                code, output = _run(block.language, "\n" * (line - 1) + part, name, names, quick)
                if code:
                    failures.append(f"{name}:{line}: exit code {code}\n{part.rstrip()}\n{output}")
        sys.path.remove(folder)
    return failures


@contextlib.contextmanager
def small_models() -> Iterator[None]:
    """Give all models a small dim by default: a kernel is compiled for each dim."""
    from unhot.models.load import all_models

    defaults: list[dict[str, Any]] = [vars(kind)["__init__"].__kwdefaults__ for kind in all_models().values()]
    before = [each.get("dim") for each in defaults]
    for each in defaults:
        each |= {"dim": QUICK_DIM} if "dim" in each else {}
    try:
        yield
    finally:
        for each, dim in zip(defaults, before, strict=True):
            each |= {"dim": dim} if "dim" in each else {}


def _run(language: str, part: str, name: str, names: dict[str, Any], quick: bool) -> tuple[int, str]:
    ours = OURS.fullmatch(part.strip()) if quick and language != "python" else None
    if language != "python" and (ours is None or ALONE.search(ours["arguments"])):
        command = ["bash", "-c", part]
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, env=ENVIRONMENT, text=True
        )
        return done.returncode, done.stdout + done.stderr
    raw = io.BytesIO()
    output = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
    small = small_models() if "adaptive" not in part else contextlib.nullcontext()  # tails have a part of dim
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), small:
        try:
            if ours is None:
                exec(compile(part, name, "exec"), names)
            else:
                _call(ours)
        except SystemExit as end:
            return int(end.code or 0), raw.getvalue().decode()
        except Exception:
            return 1, raw.getvalue().decode() + traceback.format_exc()
    return 0, ""


def _call(ours: re.Match[str]) -> None:
    """Run a command of unhot in this process, with what `echo` gives it and the file that it writes to."""
    from unhot.cli.main import main as unhot

    given = shlex.split(ours["given"])[0] if ours["given"] else ""
    stdin, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(f"{given}\n".encode()), encoding="utf-8")
    try:
        with contextlib.ExitStack() as stack:
            if ours["file"]:
                file = stack.enter_context(Path(ours["file"]).open("w", encoding="utf-8"))
                stack.enter_context(contextlib.redirect_stdout(file))
            unhot(shlex.split(ours["arguments"]))
    finally:
        sys.stdin = stdin


def main(arguments: list[str]) -> int:
    """Run the pages; print what was left out and what failed."""
    quick, paths = "--quick" in arguments, [Path(each).resolve() for each in arguments if each != "--quick"]
    pages = paths or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as fresh:
        run = (map if quick else fresh.map)(partial(run_page, quick=quick), pages)
        failures = [failure for found in run for failure in found]
    for page in pages:
        for block in blocks(page.read_text(encoding="utf-8")):
            if block.mark.startswith("skip"):
                print(f"{os.path.relpath(page, ROOT)}:{block.line}: not run: {block.mark[6:]}")
    print(*failures, f"{len(pages)} pages, {len(failures)} failures", sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
