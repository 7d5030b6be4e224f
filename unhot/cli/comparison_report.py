"""Show the report of a comparison, and write its files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unhot.cli.show import note, print_table, show_json
from unhot.errors import ConfigError, DataError
from unhot.screen.terminal import printable

if TYPE_CHECKING:
    from unhot.bench.report import ComparisonReport


def writable_files(prefix: str, endings: Sequence[str]) -> dict[str, Path]:
    """Return the files to write, by how their names end.

    Raise an error now, not after an hour of work, if they cannot be written.
    """
    if prefix.replace(os.sep, "/").rpartition("/")[2] in ("", ".", ".."):
        raise ConfigError(f"-o {prefix!r}: must end with a name, such as results/mine")
    files = {ending: Path(f"{prefix}{ending}") for ending in endings}
    try:
        Path(prefix).parent.mkdir(parents=True, exist_ok=True)
        for file in files.values():
            file.open("ab").close()
            if file.stat().st_size == 0:
                file.unlink()
    except OSError as error:
        raise DataError(
            f"-o {prefix}: cannot be written ({error.strerror}); "
            "give a name in a folder that can be written to"
        ) from error
    return files


def show_and_write(report: ComparisonReport, files: Mapping[str, Path], *, as_json: bool, quiet: bool) -> int:
    """Print a report, write its files, and return the exit code."""
    try:
        if as_json:
            show_json(report.data)
        else:
            _show(report)
    finally:  # write the files even if standard output is a closed pipe
        _write(report, files, quiet)
    return 130 if report.interrupted else 0 if report.measured else 1


def _show(report: ComparisonReport) -> None:
    """Print the table, then how it was measured."""
    rows = report.table()
    if rows:  # there are none if it was interrupted before the first model was done
        failed = (f"failed: {line}" for line in report.failures)
        said = map(printable, (report.summary, *report.explained(), *failed))
        print_table("", report.header(), rows, "\n".join(said))
    else:
        click.echo(report.summary)


def _write(report: ComparisonReport, files: Mapping[str, Path], quiet: bool) -> None:
    """Write all files; the pictures come last, because drawing is most likely to fail.

    If no model has a result, the files of an earlier run are kept.
    """
    from unhot.bench.report import write_csv

    if not report.measured:
        note(f"no {report.header()[0]} has a result, so no files were written")
        return
    for ending, records in report.files.items():
        write_csv(files[ending], records)
    name, page = files[".csv"].stem, files[".md"]
    _write_page(page, report.markdown(name))
    drawn = [ending for ending in report.pictures if _draw(report, ending, files[ending])]
    _write_page(page, report.markdown(name, drawn))
    if not quiet:
        note(f"wrote {', '.join(str(files[ending]) for ending in (*report.files, '.md', *drawn))}")


def _write_page(path: Path, page: str) -> None:
    """Write a page; bytes that are not UTF-8 are escaped."""
    path.write_text(page, encoding="utf-8", errors="backslashreplace")


def _draw(report: ComparisonReport, ending: str, path: Path) -> bool:
    """Draw a picture and return True; if that fails, remove an earlier picture and return False."""
    from unhot.bench.report import draw

    try:
        draw(report.pictures[ending], path)
        return True
    except Exception as error:  # any error of matplotlib; the figures are useful without a picture
        path.unlink(missing_ok=True)
        note(f"no picture: {' '.join(str(error).split())}")
        return False
