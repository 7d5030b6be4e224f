"""What classes of unhot have: methods, behavior, and assignments to `self.` outside initializers.

Methods       the names of functions, properties, cached properties, class methods and static methods in the
              `__dict__` of a class and of its superclasses that are ours. Functions that `dataclass`,
              `NamedTuple` and the like generate count, too, but for `ADDED`: all versions of Python give the
              same number.
Behavior      a class has behavior if it has a method other than `__post_init__` and generated ones. A method
              is generated if its code, without decorators, is in no file of unhot.
Assignments   every target `self.NAME` of a statement that assigns, augments or deletes it; every call of
              setattr, delattr, __setattr__ or __delattr__ on `self`; every change of `self.__dict__` or
              `vars(self)`. Changes inside the value of an attribute, as `self.rows[0] = 1`, do not count.
Initializers  `__init__`, `__post_init__`, and methods named check... that a `__post_init__` calls on `self`.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pkgutil
import sys
import textwrap
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import unhot

PACKAGE = Path(unhot.__file__).resolve().parent
METHODS = (types.FunctionType, property, functools.cached_property, classmethod, staticmethod)
ADDED = {"__replace__", "__annotate__", "__annotate_func__"}  # by Python 3.13 and 3.14: do not count
INITIALIZERS = {"__init__", "__post_init__"}
FIELDS = ("self.__dict__", "vars(self)")  # the dict of an object's attributes
CHANGES = ("pop", "popitem", "update", "clear", "setdefault", "__setitem__", "__delitem__")


def all_classes() -> list[type]:
    """Import every module of unhot; return the classes that they define at their top level."""
    for found in pkgutil.walk_packages(unhot.__path__, "unhot."):
        if not found.name.endswith("__main__"):  # which would run the command
            importlib.import_module(found.name)
    modules = [module for name, module in sys.modules.items() if f"{name}.".startswith("unhot.")]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]


def our_classes(kind: type) -> list[type]:
    """Return the classes of unhot in a class's method resolution order."""
    return [each for each in kind.__mro__ if f"{each.__module__}.".startswith("unhot.")]


def methods(kind: type) -> set[str]:
    """Return the names of a class's methods: its own, inherited and generated ones."""
    return {name for each in our_classes(kind) for name in _own_methods(each)}


def with_behavior(kind: type) -> list[type]:
    """Return the classes with behavior in a class's method resolution order."""
    return [each for each in our_classes(kind) if _written_methods(each) - {"__post_init__"}]


def _own_methods(kind: type) -> dict[str, Any]:
    return {
        name: value for name, value in vars(kind).items() if isinstance(value, METHODS) and name not in ADDED
    }


def _written_methods(kind: type) -> set[str]:
    """Return the names of a class's own methods that are not generated."""
    return {name for name, value in _own_methods(kind).items() if _is_written(value)}


def _is_written(method: Any) -> bool:
    held = (getattr(method, name, None) for name in ("fget", "func", "__func__"))
    function = inspect.unwrap(next(filter(None, held), method))
    code = getattr(function, "__code__", None)
    return code is not None and Path(code.co_filename).is_relative_to(PACKAGE)


def class_source(kind: type) -> ast.ClassDef:
    """Return the syntax tree of a class."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(node, ast.ClassDef)
    return node


def late_assignments(classes: Iterable[ast.ClassDef]) -> dict[tuple[str, str], int]:
    """Return how often methods other than initializers assign to `self.`, by class and method."""
    functions = [
        (node.name, each) for node in classes for each in node.body if isinstance(each, ast.FunctionDef)
    ]
    starting = [each for _, each in functions if each.name == "__post_init__"]
    initializers = INITIALIZERS.union(*map(_checks, starting))
    found: dict[tuple[str, str], int] = {}
    for name, function in functions:
        number = _assignments(function)
        if number and function.name not in initializers:
            found[name, function.name] = found.get((name, function.name), 0) + number
    return found


def _checks(function: ast.FunctionDef) -> set[str]:
    """Return the names of methods check... that a function calls on `self`."""
    calls = (ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call))
    return {call.removeprefix("self.") for call in calls if call.startswith("self.check")}


def _assignments(function: ast.FunctionDef) -> int:
    nodes = list(ast.walk(function))
    bare = [node.target for node in nodes if isinstance(node, ast.AnnAssign) and node.value is None]
    return sum(_assigns(node) for node in nodes if node not in bare)


def _assigns(node: ast.AST) -> bool:
    """Return whether a node is a target `self.NAME`, or changes attributes of `self` in another way."""
    match node:
        case ast.Attribute(value=ast.Name("self"), ctx=ast.Store() | ast.Del()):
            return True
        case ast.Subscript(value=held, ctx=ast.Store() | ast.Del()):
            return ast.unparse(held) in FIELDS
        case ast.Call(func=ast.Name("setattr" | "delattr"), args=[ast.Name("self"), *_]):
            return True
        case ast.Call(func=ast.Attribute(attr="__setattr__" | "__delattr__") as called, args=arguments):
            return "self" in map(ast.unparse, arguments[:1]) or ast.unparse(called.value) in (
                "self",
                "super()",
            )
        case ast.Call(func=ast.Attribute(value=held, attr=name)):
            return name in CHANGES and ast.unparse(held) in FIELDS
    return False
