"""Put one fault at a time into the package, and see whether the tests catch it.

    python tools/faults.py draw --seed 30 > faults.jsonl         three faults in every package of unhot/
    python tools/faults.py run faults.jsonl results.jsonl        run the tests on each of them

A fault changes one operator, comparison, constant, index or returned value. `draw` writes a line for each:
the function that holds it, the expression, and what replaces it. So a fault drawn in one commit is found in
another as long as its function is there. `run` changes the working tree: use a clone of its own. It runs the
tests of the package first, then all tests, and stops at the first failure. A run that takes longer than
--minutes counts as caught: nobody lands a change whose tests hang. `run` skips faults that have a result.

tools/faults.jsonl holds the faults drawn from commit 22ab9f2 with seed 30.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "unhot"
PYTEST = [sys.executable, "-m", "pytest", "-x", "-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider"]
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
NOTHING_RAN = 5  # pytest's exit code if it found no test
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
COMPARISONS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


class Fault(NamedTuple):
    """A change of one expression, found again by the function that holds it and by its text."""

    file: str
    scope: str  # the function, with the classes and functions around it
    kind: str
    before: str
    after: str
    occurrence: int  # which one of the expressions of this kind and text in the function


class Place(NamedTuple):
    """An expression of a function that a fault may change, and what it becomes."""

    scope: str
    kind: str
    node: ast.expr
    changed: ast.expr


def places(tree: ast.Module) -> list[Place]:
    """Return the expressions of a file that a fault may change, in the order of the text."""
    return [place for node in tree.body for place in _places(node, "")]


def _places(node: ast.AST, scope: str) -> Iterator[Place]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        scope = f"{scope}.{node.name}".lstrip(".")
    if isinstance(node, ast.expr) and scope:
        yield from (Place(scope, kind, node, changed) for kind, changed in changes(node))
    if isinstance(node, ast.Return) and node.value is not None and scope:
        yield Place(scope, "returned value", node.value, returned(node.value))
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases", "keywords") and isinstance(
            node, ast.arg | ast.AnnAssign | ast.FunctionDef | ast.ClassDef
        ):
            continue
        if isinstance(node, ast.JoinedStr):  # Python 3.11 does not know where its parts stand
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _places(child, scope)


def changes(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the faults that an expression may have: kind and changed expression."""
    new: Any = copy.deepcopy(node)
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OPERATORS:
        new.op = OPERATORS[type(node.op)]()
        yield "operator", new
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "operator", new.operand
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        new.ops[0] = COMPARISONS[type(node.ops[0])]()
        yield "comparison", new
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "constant", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield "constant", ast.Constant(node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        yield "constant", ast.Constant(2 * node.value or 1.0)
    elif isinstance(node, ast.Subscript) and (index := moved(new.slice)):
        new.slice = index
        yield "index", new


def moved(index: ast.expr) -> ast.expr | None:
    """Return an index one further; None if it is not a number for certain."""
    if isinstance(index, ast.Slice):
        part = index.lower or index.upper
        further = moved(part) if part else None
        if further is not None and index.lower:
            index.lower = further
        elif further is not None:
            index.upper = further
        return index if further is not None else None
    numeric = isinstance(index, ast.BinOp | ast.UnaryOp)
    if isinstance(index, ast.Constant) and isinstance(index.value, int) or numeric:
        return ast.BinOp(index, ast.Add(), ast.Constant(1))
    return None


def returned(value: ast.expr) -> ast.expr:
    """Return what a function gives back instead: the opposite of a condition, else None."""
    if isinstance(value, ast.Compare | ast.BoolOp):
        return ast.UnaryOp(ast.Not(), value)
    return ast.Constant("changed" if isinstance(value, ast.Constant) and value.value is None else None)


def faults_of(path: Path) -> list[Fault]:
    """Return all faults that a file can have."""
    found, seen = [], dict[tuple[str, str, str], int]()
    for place in places(ast.parse(path.read_text(encoding="utf-8"))):
        key = (place.scope, place.kind, ast.unparse(place.node))
        seen[key] = seen.get(key, -1) + 1
        file = path.relative_to(ROOT).as_posix()
        found.append(Fault(file, *key, ast.unparse(place.changed), seen[key]))
    return found


def package_of(file: str) -> str:
    """Return the package of a file; all modules of unhot/ itself are one."""
    parts = Path(file).parts
    return parts[1] if len(parts) > 2 else "unhot"


def draw(seed: int, each: int) -> list[Fault]:
    """Draw faults: in every package `each`, of different kinds as far as it has them."""
    packages: dict[str, list[Fault]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for fault in faults_of(path):
            packages.setdefault(package_of(fault.file), []).append(fault)
    generator, drawn = random.Random(seed), []
    for name in sorted(packages):
        kinds = sorted({fault.kind for fault in packages[name]})
        generator.shuffle(kinds)
        for number in range(each):
            of_kind = [f for f in packages[name] if f.kind == kinds[number % len(kinds)] and f not in drawn]
            drawn.append(generator.choice(of_kind))
    return drawn


def with_fault(text: str, fault: Fault) -> str:
    """Return the text of a file with the fault in it."""
    matching = [
        place.node
        for place in places(ast.parse(text))
        if (place.scope, place.kind) == (fault.scope, fault.kind) and ast.unparse(place.node) == fault.before
    ]
    if len(matching) <= fault.occurrence:
        raise LookupError(f"{fault.file}: {fault.scope} has no {fault.before!r} number {fault.occurrence}")
    node = matching[fault.occurrence]
    lines = [line.encode() for line in text.splitlines(keepends=True)]  # columns count bytes
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    before = b"".join(lines[:first]) + lines[first][: node.col_offset]
    after = lines[last][node.end_col_offset :] + b"".join(lines[last + 1 :])
    return (before + f"({fault.after})".encode() + after).decode()


def near(fault: Fault) -> list[str]:
    """Return the tests of the fault's package, and the folder of its file for the examples in docstrings.

    pytest takes a file that is named for a file of tests, and stops at a command with the name `test`.
    """
    package = package_of(fault.file)
    folder = ROOT / "tests" / package
    alone = [str(path) for path in sorted((ROOT / "tests").glob("test_*.py"))]
    tests = [str(folder)] if folder.is_dir() else alone
    return [*tests, str((ROOT / fault.file).parent)]


def outcome(fault: Fault, minutes: float, kernels: Path) -> dict[str, Any]:
    """Run the tests on a fault: those of its package, then all."""
    begun, verdict = time.monotonic(), {"caught": False, "by": ""}
    for scope in (near(fault), []):
        code, output = _tests(scope, minutes * 60, kernels)
        if code not in (0, NOTHING_RAN):
            failed = FAILED.search(output)
            by = failed[1] if failed else f"exit code {code}: {output[-300:]}" if code else "no end"
            verdict = {"caught": True, "by": "no end" if code is None else by}
            break
    return {**verdict, "seconds": round(time.monotonic() - begun)}


def _tests(scope: Sequence[str], seconds: float, kernels: Path) -> tuple[int | None, str]:
    """Run pytest; return its exit code, None if it took too long, and what it printed."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(kernels)}
    process = subprocess.Popen(
        [*PYTEST, *scope],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        cwd=ROOT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]


def run(faults: Sequence[Fault], results: Path, minutes: float, kernels: Path) -> None:
    """Run the tests on each fault that has no result yet, and write a line for each."""
    done = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    have = {tuple(json.loads(line)["fault"]) for line in done}
    kernels.mkdir(parents=True, exist_ok=True)
    with results.open("a", encoding="utf-8") as file:
        for number, fault in enumerate(faults, 1):
            if tuple(fault) in have:
                continue
            path, warm = ROOT / fault.file, set(kernels.iterdir())
            text = path.read_text(encoding="utf-8")
            try:
                path.write_text(with_fault(text, fault), encoding="utf-8")
                answer = outcome(fault, minutes, kernels)
            finally:
                path.write_text(text, encoding="utf-8")
                for folder in set(kernels.iterdir()) - warm:  # kernels with the fault in them
                    shutil.rmtree(folder)
            file.write(json.dumps({"fault": fault, **answer}) + "\n")
            file.flush()
            print(f"{number:3} {fault.file} {fault.scope}: {fault.before} -> {fault.after}: {answer}")


def main() -> None:
    """Parse, then draw or run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw", help="print faults as lines of JSON")
    drawing.add_argument("--seed", type=int, required=True)
    drawing.add_argument("--each", type=int, default=3, help="faults in every package")
    running = commands.add_parser("run", help="run the tests on each fault")
    running.add_argument("faults", type=Path, help="what draw printed")
    running.add_argument("results", type=Path, help="a line for each fault is added here")
    running.add_argument("--minutes", type=float, default=30.0, help="limit of one run of the tests")
    running.add_argument("--kernels", type=Path, default=ROOT / ".kernels", help="where kernels are kept")
    options = parser.parse_args()
    if options.command == "draw":
        for fault in draw(options.seed, options.each):
            print(json.dumps(fault))
    else:
        lines = options.faults.read_text(encoding="utf-8").splitlines()
        faults = [Fault(*json.loads(line)) for line in lines]
        run(faults, options.results.resolve(), options.minutes, options.kernels.resolve())


if __name__ == "__main__":
    main()
