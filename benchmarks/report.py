"""From measured rows to a page: the CSV file, medians of ratios, Markdown."""

from __future__ import annotations

import csv
import datetime
import importlib.metadata
import platform
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TextIO, TypeAlias

from harness import commit, machine

Row: TypeAlias = Mapping[str, str]  # of a CSV file

ORIGIN = ("date", "commit", "machine", "versions")
QUIET = 0.15  # cores; what a system does by itself stays below


def origin(packages: Sequence[str]) -> dict[str, str]:
    """The columns that say where and with what a row was measured."""
    versions = [
        f"python {platform.python_version()}",
        *(f"{name} {importlib.metadata.version(name)}" for name in packages),
    ]
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return dict(zip(ORIGIN, (today, commit(), machine(), ", ".join(versions)), strict=True))


class Table:
    """A CSV file that grows row by row, so that an interrupted benchmark leaves what it measured."""

    def __init__(self, path: Path, columns: Sequence[str], common: Mapping[str, Any] | None = None) -> None:
        """Start the file anew. What is common to all rows stands in front of the other columns."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._common = common or {}
        self._file: TextIO = path.open("w", newline="", encoding="utf-8")
        self._writer = csv.DictWriter(self._file, [*self._common, *columns], restval="", lineterminator="\n")
        self._writer.writeheader()

    def add(self, row: Mapping[str, Any]) -> None:
        """Append a row; columns that it lacks stay empty."""
        self._writer.writerow({**self._common, **row})
        self._file.flush()

    def __enter__(self) -> Table:
        """The table itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._file.close()


def read_rows(path: Path) -> list[Row]:
    """All rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_page(path: Path, page: Callable[[str, Sequence[Row]], str]) -> None:
    """Make a page from the rows of a CSV file, and write it beside the file; nothing if there are no rows."""
    rows = read_rows(path)
    if rows:
        path.with_suffix(".md").write_text(page(path.stem, rows), encoding="utf-8")


class Spread(NamedTuple):
    """A median, and how far the values lie apart."""

    median: float
    low: float
    high: float

    def text(self, form: str) -> str:
        """Like `1.52 (1.48..1.60)`."""
        return f"{self.median:{form}} ({self.low:{form}}..{self.high:{form}})"


def spread(values: Iterable[float]) -> Spread | None:
    """The spread of some values; None if there are none."""
    numbers = list(values)
    return Spread(statistics.median(numbers), min(numbers), max(numbers)) if numbers else None


def ratios(rows: Iterable[Row], column: str, tool: str, other: str) -> list[float]:
    """Value of `tool` / value of `other`, for each round that has both."""
    found: dict[tuple[str, str], float] = {}
    for row in rows:
        if row[column]:
            found[row["round"], row["tool"]] = float(row[column])
    return [
        value / found[number, other]
        for (number, name), value in found.items()
        if name == tool and (number, other) in found
    ]


def cell(value: Spread | None, form: str) -> str:
    """A cell of a table; a dash where nothing was measured."""
    return "-" if value is None else value.text(form)


def ratio(rows: Sequence[Row], column: str, tool: str, other: str, form: str) -> str:
    """A cell with the ratios of two tools, over the rounds."""
    return cell(spread(ratios(rows, column, tool, other)), form)


def cells(rows: Sequence[Row], forms: Mapping[str, str]) -> list[str]:
    """The spreads of some columns; `forms` says how the numbers of each are written."""
    return [
        cell(spread(float(row[column]) for row in rows if row[column]), form)
        for column, form in forms.items()
    ]


def of_tool(rows: Sequence[Row], tool: str) -> list[Row]:
    """The rows of one tool."""
    return [row for row in rows if row["tool"] == tool]


def groups(rows: Iterable[Row], *columns: str) -> dict[tuple[str, ...], list[Row]]:
    """Rows that have the same values in some columns, in the order of their first."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[column] for column in columns), []).append(row)
    return found


def mean(values: Sequence[float], form: str = ".1f") -> str:
    """The mean; with several values also how far they lie apart."""
    if not values:
        return "-"
    middle = f"{statistics.fmean(values):{form}}"
    return middle if len(values) == 1 else f"{middle} ({min(values):{form}}..{max(values):{form}})"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with its first column to the left and all others to the right."""
    lines = [header, [":--", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def head(
    script: str, name: str, rows: Sequence[Row], facts: Sequence[str], timed: Sequence[Row] | None = None
) -> str:
    """The head of a page: where its figures come from, facts about them, and how busy the machine was.

    `timed` are the rows of runs that others would have disturbed; None: all.
    """
    origins = [f"{column}: {'; '.join(sorted({row[column] for row in rows}))}" for column in ORIGIN]
    listed = "".join(f"- {fact}\n" for fact in (*origins, *facts))
    return (
        f"# {name}\n\nGenerated by `benchmarks/{script}.py` from [{name}.csv]({name}.csv).\n\n"
        f"{listed}{others_line(rows if timed is None else timed)}"
    )


def quiet(row: Row) -> bool:
    """Return whether other processes left the machine alone, so that the row's seconds mean something."""
    return not row["others_cores"] or float(row["others_cores"]) <= QUIET


def others_line(rows: Sequence[Row]) -> str:
    """How busy the machine was with other things; a warning if that may have changed the figures."""
    cores = [float(row["others_cores"]) for row in rows if row["others_cores"]]
    found = spread(cores)
    if found is None:
        return ""
    line = f"- cores kept busy by other processes: {found.text('.2f')}\n"
    disturbed = sum(busy > QUIET for busy in cores)
    if disturbed:
        line += (
            f"- **disturbed: more than {QUIET} in {disturbed} of {len(rows)} rows; "
            "do not quote these figures, measure again**\n"
        )
    return line
