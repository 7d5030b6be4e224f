"""Whether `make quick` finds a change, chooses its tests, and says what it leaves out."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from grids import crossed

import unhot

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
sys.path.insert(0, str(TOOLS))

import quick  # noqa: E402
import quick_choice  # noqa: E402
from quick_deadline import DEADLINE, ORDER, Nearest  # noqa: E402

sys.path.remove(str(TOOLS))


@pytest.mark.parametrize("test", [*quick_choice.SMOKE, quick_choice.PAGE])
def test_the_smoke_set_is_there(test):
    file, _, name = test.partition("::")
    assert re.search(rf"^def {name or 'test_'}", (ROOT / file).read_text("utf-8"), re.MULTILINE)


def test_tests_elsewhere_are_there():
    assert all((ROOT / folder).is_dir() for folder in quick_choice.ELSEWHERE)
    assert all(list(ROOT.glob(tests)) for tests in quick_choice.ELSEWHERE.values())


@pytest.fixture
def project(tmp_path):
    """A project of files that name each other."""
    files = {
        "README.md": "",
        "docs/page.md": "",
        "unhot/__init__.py": "from unhot.part import thing as Thing\n",
        "unhot/part/__init__.py": "from unhot.part.inner import (\n    other,\n    thing,  # it\n)\n",
        "unhot/part/inner.py": '"""Say.\n\n>>> 1\n1\n"""\nfrom unhot.base import a\n',
        "unhot/base.py": "",
        "unhot/outputs/layer.py": "",
        "tools/helper.py": "",
        "tools/script.py": "from helper import a\n",
        "tests/part/test_inner_more.py": "",
        "tests/part/test_others.py": "import subprocess\n",
        "tests/part/texts.py": "",
        "tests/contracts/test_all.py": "",
        "tests/contracts/test_golden.py": "",
        "tests/docs/test_pages.py": "",
        "tests/docs/test_lists.py": "PAGE = 'page.md'\n",
        "tests/tools/test_script.py": "import script\n",
        "tests/test_base.py": "",
        "tests/test_exported.py": "import unhot\n\nunhot.Thing()\n",
        "tests/test_from_package.py": "from unhot import base, Nothing\n",
        "tests/test_in_string.py": "PATCHED = 'unhot.part.inner.thing'\n",
        "tests/test_part.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "near", "far"),
    [
        (
            "unhot/part/inner.py",
            ["part/test_inner_more.py", "test_part.py", "../unhot/part/inner.py"],
            ["test_exported.py", "test_in_string.py", "test_part.py"],
        ),
        (
            "unhot/base.py",
            ["test_base.py"],
            ["test_from_package.py", "part/test_inner_more.py", "test_part.py", "../unhot/part/inner.py"],
        ),
        ("unhot/outputs/layer.py", [], ["contracts/test_all.py", "contracts/test_golden.py"]),
        ("tools/script.py", ["tools/test_script.py"], ["tools/test_script.py"]),
        ("tools/helper.py", [], ["tools/test_script.py"]),
        ("tests/part/test_others.py", ["part/test_others.py"], []),
        ("tests/part/texts.py", ["part/test_inner_more.py", "part/test_others.py"], []),
        ("tests/golden/text.txt", [], ["contracts/test_golden.py"]),
        (
            "docs/page.md",
            ["docs/test_run_docs.py::test_the_page_runs[docs/page.md]", "docs/test_pages.py"],
            None,
        ),
        ("README.md", ["docs/test_run_docs.py::test_the_page_runs[README.md]", "docs/test_pages.py"], []),
        ("docs/removed.md", ["docs/test_pages.py"], []),
        ("CONTRIBUTING.md", ["docs/test_pages.py"], []),
        ("tests/test_removed.py", [], []),
        ("tests/conftest.py", [], []),
        ("tests/helpers/commands.py", [], []),
        ("Makefile", [], []),
    ],
)
def test_tests_of_a_change_are_chosen(changed, near, far, project):
    found = quick_choice.choose(project, [changed])
    assert found.near == [relative(name) for name in near]
    assert found.far == [relative(name) for name in (["docs/test_lists.py"] if far is None else far)]
    assert found.ordered() == list(dict.fromkeys([*found.near, *quick_choice.SMOKE, *found.far]))


def relative(name):
    return name[3:] if name.startswith("../") else f"tests/{name}"


def test_a_removed_module_is_still_named(project):
    (project / "unhot/base.py").unlink()
    found = quick_choice.choose(project, ["unhot/base.py"])
    assert found.far[:2] == ["tests/test_from_package.py", "tests/part/test_inner_more.py"]


def test_public_names_lead_to_their_modules():
    project = quick_choice.Project(ROOT, [])
    assert project.home("unhot.SkipGram.fit") == unhot.SkipGram.__module__
    assert project.home("unhot.corpus.Corpus") == unhot.Corpus.__module__
    assert project.home("numpy.linalg") == project.home("unhott") == ""


def git(folder, *arguments):
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def test_a_change_is_what_differs_or_the_last_commit(tmp_path):
    git(tmp_path, "init", "-q")
    for name in ("one", "two ü"):
        (tmp_path / name).write_text("a long text that git would take for a renamed file")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", name)
        files, when = quick.find_change(tmp_path)
        assert files == [name]
        assert when.startswith("in the last commit")
    assert quick.find_change(tmp_path, "HEAD~1").files == ["two ü"]
    git(tmp_path, "mv", "one", "three")
    (tmp_path / "new").touch()
    (tmp_path / ".gitignore").write_text("ignored\n")
    (tmp_path / "ignored").touch()
    assert quick.find_change(tmp_path) == (
        [".gitignore", "new", "one", "three"],
        "since the last commit",
    )
    with pytest.raises(SystemExit, match="nothing"):
        quick.find_change(tmp_path, "nothing")


@pytest.mark.parametrize("broken", [(), ("mypy",), ("ruff", "pytest")])
def test_everything_runs_and_the_exit_code_says_whether_it_passed(broken, monkeypatch, capsys):
    ran = []

    def run(*command, **environment):
        ran.append((command, environment))
        return command[0] not in broken

    monkeypatch.setattr(quick, "run", run)
    change = quick.Change(["README.md", "tools/quick.py", "tools/removed.py"], "since it")
    monkeypatch.setattr(quick, "find_change", lambda root, since: change)
    assert quick.main(["--seconds", "7", "-k", "walk", "-x"]) == (1 if broken else 0)
    assert [command[0] for command, _ in ran] == ["ruff", "ruff", "mypy", "pytest"]
    assert ran[0][0] == ("ruff", "check", "-q", "tools/quick.py")
    command, environment = ran[-1]
    order = environment[ORDER].splitlines()
    assert command[-len(order) - 3 :] == ("-k", "walk", "-x", *order)
    assert float(environment[DEADLINE]) == pytest.approx(time.monotonic() + 7, abs=5)
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("changed files: 3, since it; ")
    assert ("failed: " in said[-1], "has passed" in said[-1]) == (bool(broken), not broken)
    assert all(name in said[-1] for name in broken)


def test_the_nearest_come_first():
    nearest = Nearest(["b.py", "a.py::test_x", "a.py", "b.py::test_y"], 0)
    tests = ["a.py::test_w", "a.py::test_x[::1]", "b.py::test_y", "b.py::test_z[2]", "c.py::test_by_hand"]
    assert [nearest.rank(test) for test in tests] == [2, 1, 0, 0, -1]


TESTS = """
import pytest

@pytest.mark.parametrize("number", range(40))
def test_far(number, pytestconfig):
    nearest = pytestconfig.pluginmanager.get_plugin("nearest")
    assert nearest.deadline > 0
    nearest.deadline = 0

def test_near():
    pass

def test_wrong():
    assert False
"""


@pytest.mark.parametrize(("test", "workers"), crossed(["test_near", "test_wrong"], [0, 2]))
def test_tests_after_the_deadline_are_left_out_and_counted(test, workers, tmp_path, monkeypatch):
    (tmp_path / "test_it.py").write_text(TESTS)
    monkeypatch.setenv(ORDER, f"test_it.py::{test}\ntest_it.py::test_far\ntest_it.py")
    monkeypatch.setenv(DEADLINE, "inf")
    monkeypatch.setenv("PYTHONPATH", str(TOOLS), prepend=os.pathsep)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "quick_deadline", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, "-n", str(workers)], cwd=tmp_path, capture_output=True, text=True)
    last = done.stdout.splitlines()[-1]
    said = re.fullmatch(
        r"(\d+) tests ran; (\d+) farther ones were left out for lack of time: make test runs them",
        last,
    )
    ran, left_out = map(int, said.groups())
    code = int(test == "test_wrong")
    assert done.returncode == code
    assert ran in (2, 3) if workers else ran == 2
    assert ran + left_out == 42
    assert f"{ran - code} passed" in done.stdout
