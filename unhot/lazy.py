"""Load public names when they are first used, so that importing a package is quick."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a `__getattr__` for a package that imports each name from its home module.

    A home that begins with a dot is relative to the package. An empty home means that the name is itself a
    module of the package.
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
