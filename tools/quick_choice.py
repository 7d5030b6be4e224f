"""Choose the tests that a change touches, the nearest first.

1. The changed tests, and the tests of what has changed. The tests of unhot/tree/paths.py are those in
   tests/tree/test_paths.py and tests/tree/test_paths_*.py, and the examples in its docstrings.
2. The smoke set, which goes once through every family of models. It is always chosen.
3. The tests that name what has changed: they import a module, or mention a file.
4. The tests of the modules that name it.

Tests that reach a change through two modules or more are not chosen.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path
from typing import NamedTuple

SMOKE = (
    "tests/cli/test_cli.py::test_train",
    "tests/cli/test_cli.py::test_neighbors",
    "tests/cli/test_cli.py::test_cbow_and_its_own_settings",
    "tests/cli/test_train.py::test_resume_ends_with_the_bytes_of_an_uninterrupted_run",
    "tests/cli/test_train.py::test_the_torch_engine",
    "tests/cli/test_train_models.py::test_glove_from_text_and_from_cells",
    "tests/cli/test_train_models.py::test_svd",
    "tests/cli/test_train_models.py::test_skipgram_on_cells",
    "tests/cli/test_train_models.py::test_phrases_first",
    "tests/cli/test_train_models.py::test_sums_of_ngrams",
    "tests/cli/test_classify.py::test_from_training_to_test",
    "tests/cli/test_lm.py::test_perplexity",
    "tests/cli/test_lm_neural.py::test_mix",
    "tests/cli/test_recommend.py::test_every_model_trains_and_is_evaluated",
    "tests/cli/test_recommend.py::test_evaluate",
    "tests/cli/test_graph.py::test_nodes_have_neighbours",
    "tests/cli/test_convert.py::test_there_and_back",
    "tests/cli/test_evaluate.py::test_all_kinds_as_json",
    "tests/contracts/test_golden_models.py::test_a_saved_model_gives_the_same_answers",
    "tests/test_architecture.py",
)
SCRIPTS = ("tools", "benchmarks")  # folders whose modules are imported by bare names
COMMON = ("README.md", "__init__.py", "conftest.py")  # names of many files
ELSEWHERE = {  # tests of folders that are not named like them
    "unhot/outputs/": "tests/contracts/test_*.py",
    "unhot/nn/": "tests/contracts/test_torch.py",
    "unhot/data/": "tests/data/test_*.py",
    "docs/outputs/": "tests/docs/test_output_pages.py",
    "tests/golden/": "tests/contracts/test_golden*.py",
    "tools/readers/": "tests/fuzz/test_*.py",
}
PAGE = "tests/docs/test_run_docs.py::test_the_page_runs"
IMPORT = re.compile(r"^[ \t]*from ([\w.]+) import (\([^)]*\)|[^#\n]*)", re.MULTILINE)
PLAIN = re.compile(r"^[ \t]*import ([\w.]+)", re.MULTILINE)
DOTTED = re.compile(r"\bunhot(?:\.\w+)+")  # unhot.SkipGram, and names in strings


class Choice(NamedTuple):
    """Tests as pytest takes them: files and ids."""

    near: list[str]
    far: list[str]

    def ordered(self) -> list[str]:
        """Return all of them with the smoke set, each once, the nearest first."""
        return list(dict.fromkeys((*self.near, *SMOKE, *self.far)))


def choose(root: Path, changed: Iterable[str]) -> Choice:
    """Choose the tests for changed files, whose paths begin at the root."""
    project = Project(root, list(changed))
    return Choice([test for path in project.changed for test in project.near(path)], list(project.far()))


def module_name(path: str) -> str | None:
    """Return the name under which a file is imported; None for a file that is not."""
    folder, *parts = Path(path).with_suffix("").parts
    if not path.endswith(".py") or folder not in ("unhot", *SCRIPTS):
        return None
    names = parts[:-1] if parts[-1:] == ["__init__"] else parts
    return ".".join(names if folder in SCRIPTS else [folder, *names])


def imported(text: str) -> Iterator[tuple[str, str]]:
    """Yield what a source imports, with its name there: (a.b.c, d) of `from a.b import c as d`."""
    for module, names in IMPORT.findall(text):
        for name, new in re.findall(r"(\w+)(?: as (\w+))?", names):
            yield f"{module}.{name}", new or name


def _dotted(text: str) -> list[str]:
    return [*(full for full, _ in imported(text)), *PLAIN.findall(text), *DOTTED.findall(text)]


class Project:
    """The sources of a project, and which of them name which."""

    def __init__(self, root: Path, changed: list[str]) -> None:
        self.root = root
        self.changed = changed
        self.texts = {
            path.relative_to(root).as_posix(): path.read_text(encoding="utf-8", errors="replace")
            for folder in ("unhot", "tests", *SCRIPTS)
            for path in sorted((root / folder).rglob("*.py"))
        }
        self.tests = [path for path in self.texts if fnmatch(path, "tests/*test_*.py")]
        # a removed file has changed, too, and others may still name it
        names = {path: module_name(path) for path in (*self.texts, *changed)}
        self.modules = {name: path for path, name in names.items() if name}

    @functools.cached_property
    def exports(self) -> dict[str, str]:
        """Where packages have their names from: unhot.SkipGram is unhot.models.skipgram.SkipGram."""
        packages = {name: path for name, path in self.modules.items() if path.endswith("__init__.py")}
        return {
            f"{package}.{name}": full
            for package, path in packages.items()
            for full, name in imported(self.texts.get(path, ""))
        }

    @functools.cached_property
    def named(self) -> dict[str, set[str]]:
        """The modules that each source names."""
        return {path: set(map(self.home, _dotted(text))) for path, text in self.texts.items()}

    def home(self, dotted: str) -> str:
        """Return the module that a dotted name leads to; an empty name if there is none."""
        found = ""
        for part in dotted.split("."):
            name = f"{found}.{part}" if found else part
            if name in self.modules:
                found = name
            elif self.exports.get(name, name) != name:
                found = self.home(self.exports[name])
            else:
                break
        return found

    def near(self, path: str) -> Iterator[str]:
        """Yield the tests that come first if a file has changed."""
        folder, _, name = path.rpartition("/")
        if path in self.tests:
            yield path
        elif module_name(path):
            yield from self.tests_of(path)
        elif fnmatch(folder, "tests/*") and folder != "tests/helpers" and not name.startswith("test_"):
            yield from self.matching(f"{folder}/*")  # they share a conftest.py, a module, a list
        elif fnmatch(path, "docs/*.md") or path in ("README.md", "CONTRIBUTING.md"):
            if name != "CONTRIBUTING.md" and (self.root / path).exists():
                yield f"{PAGE}[{path}]"
            yield from self.matching("tests/docs/test_pages.py")

    def far(self) -> Iterator[str]:
        """Yield the tests that name what has changed, then those of the modules that name it."""
        for path in self.changed:
            yield from (test for test in self.tests if self.names(test, path))
            yield from self.matching(
                *(tests for folder, tests in ELSEWHERE.items() if path.startswith(folder))
            )
        for source in self.modules.values():
            if source in self.texts and any(self.names(source, path) for path in self.changed):
                yield from self.tests_of(source)

    def matching(self, *patterns: str) -> Iterator[str]:
        """Yield the files of tests that match a pattern; those of the first one first."""
        yield from (test for pattern in patterns for test in self.tests if fnmatch(test, pattern))

    def names(self, source: str, path: str) -> bool:
        """Return whether a source imports a module, or mentions a file that is not of the package."""
        name = Path(path).name
        mentioned = name not in COMMON and not path.startswith("unhot/") and name in self.texts[source]
        return mentioned or module_name(path) in self.named[source]

    def tests_of(self, path: str) -> Iterator[str]:
        """Yield the tests of a module: those with its name, and its examples."""
        *folders, name = Path(path).with_suffix("").parts[path.startswith("unhot/") :]
        place = "/".join(["tests", *folders])
        patterns = [f"{place}/test_{name}.py", f"{place}/test_{name}_*.py"]
        if folders:  # tests/train/test_glove_step.py has tests of unhot/train/glove/step.py
            patterns += [f"{place.rpartition('/')[0]}/test_{folders[-1]}{end}.py" for end in (f"_{name}", "")]
        yield from self.matching(*patterns)
        if path.startswith("unhot/") and ">>> " in self.texts.get(path, ""):
            yield path
