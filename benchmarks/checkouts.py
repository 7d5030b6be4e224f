"""Checkouts of unhot: folders with the package in them, for children to import."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

from harness import Run, child


class Checkout(NamedTuple):
    """A checkout, and where its compiled kernels are kept."""

    folder: Path
    kernels: Path

    def ask(self, name: str, job: dict[str, Any]) -> tuple[Run, dict[str, Any]]:
        """Run a child that imports this checkout; return what it took, and its answer.

        A child that names the package that it imported must have imported this one.
        """
        extra = {"PYTHONPATH": str(self.folder), "NUMBA_CACHE_DIR": str(self.kernels)}
        done, answer = child(name, job, extra=extra)
        package = answer.pop("package", None)
        if package is not None and not (self.folder / "unhot").samefile(package):
            raise SystemExit(f"{package} was imported instead of {self.folder / 'unhot'}")
        return done, answer


def checkout_folder(text: str) -> Path:
    """A folder that holds the package."""
    path = Path(text).resolve()
    if not (path / "unhot" / "__init__.py").is_file():
        raise argparse.ArgumentTypeError(f"{text}: no package unhot in it")
    return path
