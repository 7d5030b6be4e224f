"""The command `unhot verify`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

import unhot
from unhot.cli.options import json_option
from unhot.cli.show import show_json, size_of
from unhot.errors import FormatError

EXAMPLES = """
\b
Examples:
  unhot verify model
  unhot verify model --json && echo intact
"""


@click.command(epilog=EXAMPLES)
@click.argument("model")
@json_option
def verify(model: str, as_json: bool) -> int:
    """Read every byte of MODEL and compare it with the saved checksums.

    MODEL is a model directory. A file of vectors in another format has no checksums: it is read, and its
    format is checked. The exit code is 0 if nothing is wrong. Otherwise it is 1, and the message names the
    damaged file.
    """
    began = time.perf_counter()
    try:
        facts: dict[str, Any] = {"model": model, "ok": True, **_check(Path(model))}
    except FormatError as error:
        if not as_json:
            raise FormatError(f"{error}; restore MODEL from a copy, or make it again") from error
        show_json({"model": model, "ok": False, "error": str(error)})
        return 1
    facts["seconds"] = round(time.perf_counter() - began, 3)
    if as_json:
        show_json(facts)
        return 0
    plain = "read without errors (this format has no checksums)"
    click.echo(
        f"OK: {model}: {'all checksums are right' if facts['checksums'] else plain}; "
        f"{facts['words']:,} words, {facts['bytes']:,} bytes, {facts['seconds']:.3f} s"
    )
    return 0


def _check(path: Path) -> dict[str, Any]:
    from unhot.vectors.formats.directory import is_model, load_model

    own = is_model(path)
    words = len(load_model(path, verify=True).vocabulary if own else unhot.Vectors.load(path).vectors)
    return {"checksums": own, "words": words, "bytes": size_of(path)}
