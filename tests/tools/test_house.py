"""tools/house.py: what it counts in tiny sources, classes and stacks; how it compares figures with limits."""

import ast
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

import house  # noqa: E402
import house_classes  # noqa: E402
import house_walks  # noqa: E402

sys.path.remove(str(TOOLS))


@pytest.fixture
def made(monkeypatch):
    """A function that makes a module of unhot from its source."""

    def make(source):
        module = types.ModuleType("unhot.made")
        monkeypatch.setitem(sys.modules, "unhot.made", module)
        exec(compile(source, house_classes.PACKAGE / "made.py", "exec"), vars(module))
        return module

    return make


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ('"""A docstring."""\n', 0),
        ('"""A docstring."""\n"a string"\n', 1),
        ("a = 1; b = 2; c = 3\n", 3),
        ("import os\nfrom sys import path, argv\n", 2),
        ('def f():\n    """Say."""\n    if x:\n        return 1\n', 3),
        ('class A:\n    """Say."""\n\n    async def f(self):\n        """Say."""\n        pass\n', 3),
        ('def f():\n    f"{x}"\n', 2),
        ('def f():\n    b"bytes"\n', 2),
    ],
)
def test_statements_are_counted_without_docstrings(source, number):
    assert house.statements(source) == number


CLASSES = """
import contextlib
import functools
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple, Protocol

@dataclass
class Fields:
    a: int = 1
    b = [].append
    def __post_init__(self):
        pass

@dataclass(order=True)
class More(Fields):
    c: int = 2

class Learner(More):
    @property
    def first(self): return 1
    @functools.cached_property
    def second(self): return 2
    @classmethod
    def third(cls): return 3
    @staticmethod
    def fourth(): return 4
    def __post_init__(self): super().__post_init__()

class Opener(Learner):
    @contextlib.contextmanager
    def first(self): yield

class Pair(NamedTuple):
    x: int

class Says(Protocol):
    x: int

class Counts(Counter):
    pass
"""


def test_methods_are_own_inherited_and_generated_ones_of_our_classes(made):
    made = made(CLASSES)
    generated = {"__init__", "__repr__", "__eq__"}
    assert house_classes.methods(made.Fields) == generated | {"__post_init__"}
    ordered = {"__lt__", "__le__", "__gt__", "__ge__"}
    written = {"__post_init__", "first", "second", "third", "fourth"}
    assert house_classes.methods(made.Opener) == generated | ordered | written
    assert house_classes.methods(made.Counts) == set()
    assert "_replace" in house_classes.methods(made.Pair)


def test_only_written_methods_are_behavior(made):
    made = made(CLASSES)
    names = {name: kind for name, kind in vars(made).items() if isinstance(kind, type)}
    found = {
        name: [each.__name__ for each in house_classes.with_behavior(names[name])]
        for name in ("Fields", "More", "Learner", "Opener", "Pair", "Says")
    }
    assert found == {
        **{"Fields": [], "More": [], "Learner": ["Learner"]},
        **{"Opener": ["Opener", "Learner"], "Pair": [], "Says": []},
    }


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("self.a = 1", 1),
        ("self.a = self.b = 1", 2),
        ("self.a, (self.b, *self.c), d = 1, (2, 3), 4", 3),
        ("self.a: int = 1", 1),
        ("self.a: int", 0),
        ("self.a += 1", 1),
        ("del self.a, self.b", 2),
        ("for self.a in (): pass", 1),
        ("with x as self.a: pass", 1),
        ("setattr(self, 'a', 1); delattr(self, 'a')", 2),
        ("object.__setattr__(self, 'a', 1)", 1),
        ("super().__setattr__('a', 1)", 1),
        ("self.__setattr__('a', 1)", 1),
        ("self.__dict__['a'] = 1", 1),
        ("del vars(self)['a']", 1),
        ("self.__dict__.pop('a', None)", 1),
        ("vars(self).update(a=1)", 1),
        ("def inside():\n            self.a = 1", 1),
        ("self.a.b = 1", 0),
        ("self.a[0] = 1", 0),
        ("self.a.pop()", 0),
        ("setattr(other, 'a', self.b)", 0),
        ("other.a = self.__dict__['a']", 0),
        ("self.__dict__.get('a')", 0),
    ],
)
def test_assignments_to_self_are_counted_by_target(line, number):
    source = f"class A:\n    def begin(self):\n        {line}\n"
    found = house_classes.late_assignments([ast.parse(source).body[0]])
    assert found == ({("A", "begin"): number} if number else {})


def test_initializers_and_their_checks_may_assign():
    source = """
class A:
    def __init__(self): self.a = 1
    def __post_init__(self): self.check_engine(); self.begin(); self.a = 1
    def check_data(self): self.a = 1
    def begin(self): self.a = 1
    @property
    def a(self): self.b = 1
    @a.setter
    def a(self, value): self.b = value
class B:
    def check_engine(self): self.a = 1
"""
    found = house_classes.late_assignments(ast.parse(source).body)
    assert found == {("A", "check_data"): 1, ("A", "begin"): 1, ("A", "a"): 2}


def test_a_class_has_a_source():
    assert house_classes.class_source(house.House).name == "House"


STACKS = """
def deep(work):
    return [each() for each in [lambda: work()]][0]

def warm_up(work):
    return work()

def arrive():
    return 1

def walk():
    return arrive()
"""


def names(stack):
    return [frame.function for frame in stack]


def test_frames_are_functions_of_the_package(made):
    assert names(made(STACKS).deep(house_walks.stack)) == ["deep", "deep.<locals>.<lambda>"]
    assert house_walks.stack() == []


def test_a_thread_continues_the_stack_that_started_it(made):
    made, found = made(STACKS), []

    def work():
        found.append(names(made.deep(house_walks.stack)))

    def start():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    with house_walks.following_threads():
        made.warm_up(start)
        with ThreadPoolExecutor(1) as pool:
            made.deep(lambda: pool.submit(work)).result()
            pool.submit(work).result()  # the same thread, which another stack started
            made.warm_up(lambda: pool.submit(lambda: made.warm_up(start))).result()
    deep = ["deep", "deep.<locals>.<lambda>"]
    assert found == [["warm_up", *deep], [*deep, *deep], deep, ["warm_up", "warm_up", *deep]]
    assert threading.Thread.start.__module__ == "threading"


def test_the_stack_ends_with_the_arrival(made):
    made, stacks = made(STACKS), []
    where = house_walks.Walk("made", "", "unhot.made:arrive")
    with house_walks.watching(where, stacks.append):
        assert made.warm_up(made.walk) == made.walk() == 1
    assert made.walk() == 1
    assert [names(stack) for stack in stacks] == [["warm_up", "walk", "arrive"], ["walk", "arrive"]]
    assert house_walks.first_arrival(where, stacks) == stacks[1]
    assert stacks[1][-1] == ("made.py", 8, "arrive")
    with pytest.raises(house_walks.WalkError, match="never arrived"):
        house_walks.first_arrival(where, stacks[:1])


@pytest.mark.parametrize("arrival", ["unhot.made:moved", "unhot.moved:arrive", "unhot.made:Moved.arrive"])
def test_a_walk_that_is_lost_says_where_to_name_its_arrival(made, arrival):
    made(STACKS)
    message = f"walk 'lm train' never arrived at {arrival}: give its new name in tools/house_walks.py"
    with (
        pytest.raises(house_walks.WalkError, match=message),
        house_walks.watching(house_walks.Walk("lm train", "", arrival), print),
    ):
        pass


def test_a_walk_shows_the_output_of_a_command_that_fails(capsys):
    house_walks.run("--version")
    with pytest.raises(house_walks.WalkError, match=r"unhot nothing: exit code 2\n.*nothing"):
        house_walks.run("nothing")
    assert capsys.readouterr() == ("", "")


def test_help_is_counted_for_each_command_that_has_it():
    @click.group(help="All.")
    def group():
        pass

    group.command("one", help="Does it.\n\nAnd more.")(lambda: None)
    group.command("two", add_help_option=False)(lambda: None)
    found = dict(house.help_lines(group, "made"))
    assert found == {"made": 10, "made one": 8}


LIMITS = '# the rule: "a" = 1\n"a" = 5\n"b of c" = 7  # why\n'


@pytest.mark.parametrize(
    ("figures", "told"),
    [
        ({"a": 5, "b of c": 7}, []),
        ({"a": 6, "b of c": 7}, ["a: 6 is above the limit of 5: reduce it, or raise the limit in a commit"]),
        (
            {"a": 4, "b of c": 7},
            ["a: 4 is below the limit of 5: lower the limit in tools/house_limits.toml to 4"],
        ),
        ({"a": 5}, ["b of c: there is no such figure"]),
        ({"a": 5, "b of c": 7, "d": 1}, ['d: has no limit: add "d" = 1 to tools/house_limits.toml']),
    ],
)
def test_figures_are_compared_with_limits(figures, told):
    found = house.compare(figures, {"a": 5, "b of c": 7})
    assert len(found) == len(told)
    assert all(line.startswith(start) for line, start in zip(found, told, strict=True))


def test_limits_are_lowered_and_never_raised():
    assert house.lowered(LIMITS, {"a": 9, "b of c": 3, "d": 1}) == LIMITS.replace("7", "3")
    assert house.lowered(LIMITS, {}) == LIMITS


def test_the_command_compares_and_lowers(monkeypatch, tmp_path, capsys):
    limits = tmp_path / "limits.toml"
    limits.write_text(LIMITS)
    monkeypatch.setattr(house, "LIMITS", limits)
    monkeypatch.setattr(house, "measure", lambda: house.House({"a": 5, "b of c": 6}, {"all": {"x": 6}}))
    assert house.main(["--json"]) == 1
    assert '"b of c: 6 is below' in capsys.readouterr().out
    assert house.main(["--lower"]) == 0
    assert limits.read_text() == LIMITS.replace("7", "6")
    shown = capsys.readouterr().out.splitlines()
    assert shown == [
        "figure      now    limit",
        "a             5        5",
        "b of c        6        6",
        "",
        "all: x 6",
    ]
    monkeypatch.setattr(house, "measure", lambda: house.House({"a": 6, "b of c": 6}, {}))
    assert house.main(["--lower"]) == 1
    assert limits.read_text() == LIMITS.replace("7", "6")
    assert "a: 6 is above the limit of 5" in capsys.readouterr().err
