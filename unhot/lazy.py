"""Public names that are loaded when they are first used, so that importing a package is quick."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`: finds each name in its home, a module inside the package or elsewhere.

    A home that begins with a dot is relative to the package. An empty one: the name is a module itself.
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        module = importlib.import_module(home or f".{name}", package)
        value = getattr(module, name) if home else module
        setattr(sys.modules[package], name, value)
        return value

    return load
