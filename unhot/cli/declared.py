"""Read the settings of registered classes from the source, so that help texts do not load the compiler.

A field of a dataclass is a setting. Its type says which values it takes; the comment behind it or above it
says what it means. Classes of plugins are read in the same way.
"""

import ast
import itertools
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple


class DeclaredField(NamedTuple):
    """A field of a class."""

    name: str
    type: str  # int, float, bool, str, ...; without `| None`
    default: Any  # None: there is no default, or the source does not show it
    meaning: str  # the comment at the field
    choices: tuple[str, ...] = ()  # the only words that it takes; empty: it takes any value


class Declared(NamedTuple):
    """A class as its source declares it."""

    bases: list[str]
    registered: str | None  # the name under which it is registered
    settings: dict[str, DeclaredField]
    facts: dict[str, Any]  # plain values of class attributes, and of the decorator's keywords
    summary: str  # the first line of its file's docstring, or of its own if the file has several classes


def declared(folder: Path, decorator: str, registry: Mapping[str, type]) -> dict[str, Declared]:
    """Return all classes that a decorator registers, in a folder or a registry, with what they inherit."""
    classes: dict[str, Declared] = {}
    elsewhere = {getattr(sys.modules.get(kind.__module__), "__file__", None) for kind in registry.values()}
    files = {*folder.rglob("*.py"), *(Path(file) for file in elsewhere if file)}
    for path in sorted(files):
        classes.update(_classes(path, decorator))
    found = {known.registered: name for name, known in classes.items() if known.registered}
    return {str(key): _inherited(classes, found[key]) for key in sorted(found, key=str)}


def _inherited(classes: Mapping[str, Declared], name: str) -> Declared:
    """Return a class with the settings and facts of its bases; the first base overrides the others."""
    own = classes[name]
    settings: dict[str, DeclaredField] = {}
    facts: dict[str, Any] = {}
    for base in reversed(own.bases):
        if base in classes:
            inherited = _inherited(classes, base)
            settings |= inherited.settings
            facts |= inherited.facts
    return own._replace(settings=settings | own.settings, facts=facts | own.facts)


@cache
def _classes(path: Path, decorator: str) -> dict[str, Declared]:
    """Return the classes of a file."""
    text = path.read_text(encoding="utf-8")
    if "dataclass" not in text:  # no class with settings: there is nothing to parse
        return {}
    tree, lines = ast.parse(text), text.split("\n")
    kinds = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    calls = [_decorators(kind).get(decorator) for kind in kinds]
    alone = sum(call is not None for call in calls) == 1
    out = {}
    for kind, call in zip(kinds, calls, strict=True):
        doc = (ast.get_docstring(tree) if alone else None) or ast.get_docstring(kind) or kind.name
        bases = [ast.unparse(base).partition("[")[0] for base in kind.bases]
        settings = _fields(kind, lines)
        facts = {
            node.targets[0].id: _value(node.value)
            for node in kind.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        facts |= {str(given.arg): _value(given.value) for given in (call.keywords if call else ())}
        name = str(_value(call.args[0])) if call else None
        out[kind.name] = Declared(bases, name, settings, facts, doc.partition("\n")[0])
    return out


def declared_fields(source: str) -> dict[str, DeclaredField]:
    """Return the fields of a class, given its source."""
    kind = ast.parse(source).body[0]
    return _fields(kind, source.split("\n")) if isinstance(kind, ast.ClassDef) else {}


def _decorators(kind: ast.ClassDef) -> dict[str, ast.Call]:
    """Return the decorators `@name(...)` of a class by name."""
    calls = [node for node in kind.decorator_list if isinstance(node, ast.Call)]
    return {node.func.id: node for node in calls if isinstance(node.func, ast.Name)}


def _fields(kind: ast.ClassDef, lines: Sequence[str]) -> dict[str, DeclaredField]:
    if not any("dataclass" in ast.unparse(decorator) for decorator in kind.decorator_list):
        return {}  # what such a class declares is for type checkers
    fields = [_setting(node, lines) for node in kind.body if isinstance(node, ast.AnnAssign)]
    return {field.name: field for field in fields if "ClassVar" not in field.type}


def _setting(field: ast.AnnAssign, lines: Sequence[str]) -> DeclaredField:
    kind = field.annotation
    if isinstance(kind, ast.Subscript) and ast.unparse(kind.value) == "Annotated":
        kind = kind.slice.elts[0] if isinstance(kind.slice, ast.Tuple) else kind
    while isinstance(kind, ast.BinOp):
        kind = kind.left
    choices: tuple[str, ...] = ()
    if isinstance(kind, ast.Subscript) and ast.unparse(kind.value) == "Literal":
        choices = tuple(map(str, ast.literal_eval(kind.slice)))
    default = None if field.value is None else _value(field.value)
    return DeclaredField(
        ast.unparse(field.target), ast.unparse(kind), default, _meaning(field, lines), choices
    )


def _meaning(field: ast.AnnAssign, lines: Sequence[str]) -> str:
    """Return the comment behind a field, or the comments in the lines above it."""
    behind = lines[(field.end_lineno or 0) - 1].encode()[field.end_col_offset :].decode()
    above = itertools.takewhile(lambda line: line.lstrip().startswith("#"), lines[field.lineno - 2 :: -1])
    return behind.lstrip("# ") or " ".join(reversed([line.lstrip("# ") for line in above]))


def _value(node: ast.expr) -> Any:
    """Return the value of a literal; None if the node is not a literal."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None
