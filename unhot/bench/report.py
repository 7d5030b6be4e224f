"""The report of a comparison: a table, a page in Markdown, CSV files, pictures, and data for JSON.

Each family says what is in them: figures by name, one record for each model, and the columns of its table.
"""

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

from unhot.errors import extra

Record: TypeAlias = Mapping[str, Any]  # figures by name
KINDS = {".csv": "figures", "-curves.csv": "curves"}  # of CSV files, by how their names end
MEGABYTE = 1e-6


class FigureColumn(NamedTuple):
    """A column of the table."""

    title: str
    name: str  # of the figure in a record
    form: str = ""  # the format of a number; empty: the figure is a text
    scale: float = 1.0  # what a number is multiplied by
    zero: bool = True  # whether 0 is a figure; otherwise nothing was measured
    code: bool = False  # whether Markdown shows it as code


class Picture(NamedTuple):
    """A picture in a file of its own."""

    alt: str  # what it shows
    draw: Callable[[Any], Any]  # draws it into an axis of matplotlib
    size: tuple[float, float]  # inches


@dataclass(frozen=True, kw_only=True)
class ComparisonReport:
    """The results of a comparison as people see them."""

    command: str  # that made it
    summary: str  # what was measured
    columns: Sequence[FigureColumn]
    records: Sequence[Record]  # a row of the table each, the best first
    terms: Mapping[str, str]  # the meanings of the terms in the table
    remarks: Sequence[str] = ()
    failures: Sequence[str]  # a line for each model that failed
    files: Mapping[str, Sequence[Record]]  # the rows of CSV files, by how their names end
    pictures: Mapping[str, Picture]  # by how the names of their files end
    data: Any  # for JSON
    measured: bool  # whether a model has a result
    interrupted: bool
    more: str = ""  # the last paragraphs of the page

    def header(self) -> list[str]:
        """Return the titles of the columns."""
        return [column.title for column in self.columns]

    def table(self) -> list[tuple[str, ...]]:
        """Return the cells of each record; a dash stands for a missing figure."""
        columns = self.columns
        return [tuple(_cell(each.get(column.name), column) for column in columns) for each in self.records]

    def explained(self) -> list[str]:
        """Return the lines below the table: the meanings of the terms, and remarks."""
        return [*(f"{term}: {meaning}" for term, meaning in self.terms.items()), *filter(None, self.remarks)]

    def markdown(self, name: str, pictures: Sequence[str] = ()) -> str:
        """Return a page with a summary, the table and pictures, which are named by how their files end."""
        cells = [[_code(*pair) for pair in zip(row, self.columns, strict=True)] for row in self.table()]
        sides = ["--:" if column.form else ":--" for column in self.columns]
        files = [f"{KINDS[ending]} in [{name}{ending}]({_link(name + ending)})" for ending in self.files]
        parts = [
            f"# {name}",
            f"Made by `{self.command}`; {', '.join(files)}.",
            self.summary,
            "\n".join(f"| {' | '.join(row)} |" for row in (self.header(), sides, *cells)),
            "\n".join(f"- {line}" for line in self.explained()),
            "\n".join(f"- failed: {line}" for line in self.failures),
            "\n".join(f"![{self.pictures[ending].alt}]({_link(name + ending)})" for ending in pictures),
            self.more,
        ]
        return "\n\n".join(filter(None, parts)) + "\n"


def _cell(value: Any, column: FigureColumn) -> str:
    if missing(value) or (value == 0 and not column.zero):
        return "-"
    return value if isinstance(value, str) else f"{column.scale * value:{column.form}}"


def missing(value: Any) -> bool:
    """Return whether a figure is None, an empty text or NaN."""
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _code(cell: str, column: FigureColumn) -> str:
    return (f"`{cell}`" if column.code else cell).replace("|", "\\|")


def _link(file: str) -> str:
    """Return a file name as the target of a link; bytes that are not UTF-8 are kept."""
    return quote(file, errors="surrogateescape")


def write_csv(path: Path, records: Sequence[Record]) -> None:
    """Write a CSV file with a row for each record; missing figures are empty."""
    # a layer's name may contain bytes that are not UTF-8
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        names = list(dict.fromkeys(name for each in records for name in each))
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _text(value) for name, value in record.items()} for record in records)


def _text(value: Any) -> str:
    """Return a value as text for CSV; six digits are more than a measurement needs."""
    return "" if missing(value) else f"{value:.6g}" if isinstance(value, float) else str(value)


def draw(picture: Picture, path: Path) -> None:
    """Draw a picture to a file, in the format of the path's ending, SVG by default.

    This needs the extra `plot`.
    """
    mpl = extra("matplotlib", "plot", "the plot of a comparison")
    from matplotlib.figure import Figure

    style = {"svg.hashsalt": "unhot", "axes.spines.top": False, "axes.spines.right": False}
    kind = path.suffix.removeprefix(".").lower() or "svg"
    with mpl.rc_context(style):
        figure = Figure(figsize=picture.size, layout="constrained")
        picture.draw(figure.add_subplot())
        figure.savefig(path, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
