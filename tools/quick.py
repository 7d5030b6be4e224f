"""Check a change in less than a minute: lint, types, and the tests that are nearest to it.

    python tools/quick.py                    what differs from the last commit, or else the last commit
    python tools/quick.py --since main       what differs from another commit
    python tools/quick.py --seconds 20       start no test later than this
    python tools/quick.py -k walk -x         other options go to pytest

quick_choice.py says which tests are near. `make test` runs the others, too: those that are not chosen, and
those that are left out because the time is over. The exit code is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from quick_choice import choose
from quick_deadline import DEADLINE, ORDER

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 45.0  # a minute, less what the last tests take and a slower machine


class Change(NamedTuple):
    """The files that have changed, and since when."""

    files: list[str]
    when: str


def find_change(root: Path, since: str | None = None) -> Change:
    """Find the files that differ from a commit, new ones included; without any, those of the last commit."""
    named = ("--name-only", "--no-renames", "--relative")
    new = _git(root, "ls-files", "--others", "--exclude-standard")
    files = sorted({*_git(root, "diff", *named, since or "HEAD"), *new})
    if files or since:
        return Change(files, f"since {since or 'the last commit'}")
    last = _git(root, "show", "-m", "--first-parent", "--format=", *named, "HEAD")
    return Change(last, "in the last commit, because nothing has changed since")


def _git(root: Path, command: str, *options: str) -> list[str]:
    """Return the names of files that git lists."""
    done = subprocess.run(["git", command, "-z", *options], cwd=root, capture_output=True)
    if done.returncode:
        sys.exit(done.stderr.decode().strip())
    return [name for name in os.fsdecode(done.stdout).split("\0") if name]


def run(*command: str, **environment: str) -> bool:
    """Run a module of Python in the project; return whether it succeeded."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, env={**os.environ, **environment})
    return done.returncode == 0


def lint(sources: list[str]) -> list[str]:
    """Check sources, and the types of everything; return the checks that failed."""
    checks: list[tuple[str, ...]] = [("mypy",)]
    if sources:
        checks = [("ruff", "check", "-q", *sources), ("ruff", "format", "-q", "--check", *sources), *checks]
    return [" ".join(check[:2]) for check in checks if not run(*check)]


def main(arguments: list[str]) -> int:
    """Run the command; return its exit code."""
    start = time.monotonic()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--since", metavar="COMMIT", help="what to compare with")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="start no test later (default: 45)")
    options, more = parser.parse_known_args(arguments)
    change = find_change(ROOT, options.since)
    tests = choose(ROOT, change.files).ordered()
    print(f"changed files: {len(change.files)}, {change.when}; chosen tests and files of tests: {len(tests)}")
    sys.stdout.flush()
    failed = lint([name for name in change.files if name.endswith(".py") and (ROOT / name).exists()])
    where = ("-p", "tools.quick_deadline", "-n", "auto", "--dist", "load", "--maxschedchunk", "4")
    told = {ORDER: "\n".join(tests), DEADLINE: str(start + options.seconds)}
    if not run("pytest", *where, *more, *tests, **told):
        failed.append("pytest")
    end = f"failed: {', '.join(failed)}" if failed else "what ran has passed; make test runs everything"
    print(f"{time.monotonic() - start:.0f} s: {end}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
