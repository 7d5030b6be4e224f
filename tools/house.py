"""Print the figures of the house, and compare them with their limits: how large and how deep unhot is.

    python tools/house.py                        a table: each figure, now and at most; then details
    python tools/house.py --lower                lower the limits of figures that fell; never raise one
    python tools/house.py --stack "lm train"     the stack of one walk
    python tools/house.py --json                 figures, limits and details as JSON

Statements are all nodes `ast.stmt` of unhot/ but docstrings: imports count, and so does each of several
statements on one line. house_classes.py says what methods, behavior and assignments are; house_walks.py has
the walks, and says what frames are. Lines of help are those that a terminal of 100 columns shows, over every
command that has help.

The limits are in house_limits.toml. The exit code is 1 if a figure differs from its limit.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import sys
import textwrap
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import click
from house_classes import (
    PACKAGE,
    all_classes,
    class_source,
    late_assignments,
    methods,
    our_classes,
    with_behavior,
)
from house_walks import WALKS, WalkError, walk

from unhot.cli.main import NAME, group
from unhot.models.load import all_models

LIMITS = Path(__file__).resolve().with_name("house_limits.toml")
LINE = re.compile(r'^"(?P<name>[^"]+)" = (?P<limit>\d+)', re.MULTILINE)  # of the limits
COLUMNS = 100  # of the terminal that shows help
ALLOWED = ("fit", "resume", "load", "set_params")  # methods whose assignments to `self.` are counted apart
SHOWN = 5  # classes with the most methods


class House(NamedTuple):
    """What is measured."""

    figures: dict[str, int]  # what has a limit
    details: dict[str, dict[str, Any]]


def statements(source: str) -> int:
    """Return the number of statements of a source, without docstrings."""
    nodes = list(ast.walk(ast.parse(source)))
    return sum(isinstance(node, ast.stmt) for node in nodes) - sum(map(_has_docstring, nodes))


def _has_docstring(node: ast.AST) -> bool:
    match node:
        case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return ast.get_docstring(node, clean=False) is not None
    return False


def help_lines(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[tuple[str, int]]:
    """Yield the lines of help of a command and of its subcommands, with the names of the commands."""
    context = click.Context(command, parent, name, **command.context_settings)
    if command.get_help_option(context) is not None:
        yield context.command_path, len(context.get_help().splitlines())
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from help_lines(found, each, context)


def measure() -> House:
    """Measure the package."""
    parts = [_measure_sources(), _measure_classes(), _measure_walks(), _measure_help()]
    return House(
        {name: figure for part in parts for name, figure in part.figures.items()},
        {name: detail for part in parts for name, detail in part.details.items()},
    )


def _measure_sources() -> House:
    packages: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        package = "top-level files" if path.parent == PACKAGE else path.relative_to(PACKAGE).parts[0]
        packages[package] += statements(path.read_text(encoding="utf-8"))
    return House({"statements": packages.total()}, {"statements": dict(packages.most_common())})


def _measure_classes() -> House:
    """Measure models, which are the registered classes and those derived from them, and other classes."""
    classes = [kind for kind in all_classes() if not kind.__module__.startswith("unhot.compat")]
    models = [kind for kind in classes if issubclass(kind, tuple(all_models().values()))]
    parts = {part: None for kind in models for part in our_classes(kind)}  # in order, each once
    of_models = _most_methods(models)
    of_others = _most_methods([kind for kind in classes if kind not in parts])
    behavior = {kind.__name__: [part.__name__ for part in with_behavior(kind)] for kind in models}
    deepest = max(behavior, key=lambda name: len(behavior[name]))
    assigned = late_assignments(map(class_source, parts))
    outside = sum(number for (_, method), number in assigned.items() if method not in ALLOWED)
    figures = {
        "methods of a model": max(of_models.values()),
        "methods of another class": max(of_others.values()),
        "classes with behavior in a model": len(behavior[deepest]),
        "self. assignments outside initializers": sum(assigned.values()),
        f"self. assignments outside initializers, {', '.join(ALLOWED)}": outside,
    }
    details: dict[str, dict[str, Any]] = {
        "methods of a model": of_models,
        "methods of another class": of_others,
        "classes with behavior": {deepest: ", ".join(behavior[deepest])},
        "self. assignments": {".".join(place): number for place, number in assigned.items()},
    }
    return House(figures, details)


def _measure_walks() -> House:
    stacks = walk([each.name for each in WALKS])
    figures = {f"frames of {name}": len(stack) for name, stack in stacks.items()}
    files = {name: len({frame.file for frame in stack}) for name, stack in stacks.items()}
    return House(figures, {"files of walks": files})


def _measure_help() -> House:
    with mock.patch.dict(os.environ, COLUMNS=str(COLUMNS)):
        lines = dict(help_lines(group, NAME))
    figures = {"lines of help": sum(lines.values()), "lines of train --help": lines[f"{NAME} train"]}
    return House(figures, {"lines of help": lines})


def _most_methods(kinds: list[type]) -> dict[str, int]:
    """Return the classes with the most methods, the largest first."""
    numbers = Counter({kind.__name__: len(methods(kind)) for kind in kinds})
    return dict(numbers.most_common(SHOWN))


def compare(figures: dict[str, int], limits: dict[str, int]) -> list[str]:
    """Return a message for each figure that is not equal to its limit, or lacks one."""
    wrong, file = [], f"tools/{LIMITS.name}"
    for name in sorted(figures.keys() | limits.keys()):
        now, limit = figures.get(name), limits.get(name)
        if now is None:
            wrong.append(f"{name}: there is no such figure: remove its limit from {file}")
        elif limit is None:
            wrong.append(f'{name}: has no limit: add "{name}" = {now} to {file}')
        elif now < limit:
            advice = f"lower the limit in {file} to {now} (python tools/house.py --lower)"
            wrong.append(f"{name}: {now:,} is below the limit of {limit:,}: {advice}")
        elif now > limit:
            advice = "reduce it, or raise the limit in a commit of its own that names the step and the reason"
            wrong.append(f"{name}: {now:,} is above the limit of {limit:,}: {advice}")
    return wrong


def lowered(text: str, figures: dict[str, int]) -> str:
    """Return the text of the limits with those lowered whose figures fell."""

    def lower(line: re.Match[str]) -> str:
        limit = int(line["limit"])
        return f'"{line["name"]}" = {min(limit, figures.get(line["name"], limit))}'

    return LINE.sub(lower, text)


def show(house: House, limits: dict[str, int]) -> None:
    """Print the table and the details."""
    width = max(map(len, house.figures))
    print(f"{'figure':{width}}  {'now':>7}  {'limit':>7}")
    for name, now in house.figures.items():
        limit = f"{limits[name]:,}" if name in limits else "none"
        print(f"{name:{width}}  {now:7,}  {limit:>7}")
    print()
    for name, values in house.details.items():
        listed = "; ".join(f"{key} {value}" for key, value in values.items())
        print(textwrap.fill(f"{name}: {listed}", 110, subsequent_indent="  "))


def main(arguments: list[str]) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lower", action="store_true", help="lower the limits of figures that fell")
    parser.add_argument(
        "--stack", metavar="WALK", choices=[each.name for each in WALKS], help="show one walk"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    if options.stack:
        for frame in walk([options.stack])[options.stack]:
            print(f"unhot/{frame.file}:{frame.line}  {frame.function}")
        return 0
    house = measure()
    if options.lower:
        LIMITS.write_text(lowered(LIMITS.read_text(encoding="utf-8"), house.figures), encoding="utf-8")
    limits = tomllib.loads(LIMITS.read_text(encoding="utf-8"))
    wrong = compare(house.figures, limits)
    if options.json:
        print(json.dumps({**house._asdict(), "limits": limits, "wrong": wrong}, indent=1))
    else:
        show(house, limits)
        for line in wrong:
            print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except WalkError as error:
        sys.exit(str(error))
