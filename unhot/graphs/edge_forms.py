"""Recognize how a text lists the edges of a graph, by its first lines.

    edge list        a source, a target, maybe a weight and more columns, with white space or a separator
                     between them; maybe a header; networkx adds a dict of attributes: a b {'weight': 4}
    adjacency list   a node, then its neighbors; each node has one line

Most rows decide, so a bad row changes nothing for the others. Where rows allow two readings, a `DataError`
names the option that decides. Lines that start with # or % are comments; KONECT's first comment and that of a
Matrix Market file are read. `EdgeForm.clean` rewrites a block so that the readers of rows see only cells.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from unhot.errors import DataError
from unhot.logs.events import BLOCK, open_lines, open_text, words_of
from unhot.logs.gathering import Gathered
from unhot.logs.log_reading import EDGES, SESSIONS, LogReading, choose_columns, usual_column
from unhot.rows.batches import OpenedRows
from unhot.rows.delimited import open_delimited
from unhot.rows.opening import HEAD, UNQUOTED, TextFile, ending_kind
from unhot.rows.records import RowBlock
from unhot.vocab.vocabulary import decode_word

SPACES = bytes(32 if byte < 32 and byte != 10 else byte for byte in range(256))  # for all white space
SEPARATORS = ("\t", ",", ";", "|")
NEARLY, MOSTLY = 0.9, 0.75  # shares of the rows that are alike in a text with bad rows
MULTILINES = 0.25  # share of the rows of a multiline adjacency list that hold a neighbor, at least
REPEATED = 0.05  # share of the lines of an adjacency list whose node has had a line before
TIMES = 1e8, 1e11  # numbers from seconds of 1973 on, below milliseconds
NUMBER = re.compile(r"[-+]?([0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?|[0-9]+\.|nan|inf(inity)?)", re.IGNORECASE)
COMMENT = re.compile(rb"(?m)^[ \t]*[#%][^\n]*")
ROW = re.compile(rb"(?m)^[ \t]*[^\s][^\n]*")
ATTRIBUTES = re.compile(rb"(?m)[\t ,;|]*\{[^\n]*\}[ \t\r]*$")
MULTILINE = re.compile(rb"[^\s,]+[\s,]+\{.*\}")  # of networkx's multiline adjacency lists
WEIGHT = re.compile(rb"""(?m)\{(?:[^\n]*?, *)?['"]weight['"] *: *([^,}\n]*)[^\n]*\}[ \t\r]*$""")
MARKET = re.compile(r"%%MatrixMarket\s+(\w+)\s+(\w+)\s+(\w+)\s+(\w+)", re.IGNORECASE)
KONECT = re.compile(r"%\s*(sym|asym|bip)\s+[a-z]+", re.IGNORECASE)
# how files of graphs begin that hold no rows
OTHERS = {
    "<": "XML (GraphML, GEXF)",
    ">>sparse6<<": "sparse6",
    ">>graph6<<": "graph6",
    "graph [": "GML",
    "creator ": "GML",
    "*vertices": "Pajek",
    "graph {": "DOT",
    "digraph": "DOT",
    "strict ": "DOT",
}
Cells = list[list[str]]


@dataclass(frozen=True, kw_only=True)
class EdgeForm:
    """How a text lists edges."""

    kind: str  # edges: cut at white space; csv: at a separator, with quotes; user-sessions: neighbors
    separator: str = ""  # between cells; empty: white space
    names: tuple[str, ...] = ()  # of all columns of edges
    columns: dict[str, str] = field(default_factory=dict)  # role -> name
    skipped: int = 0  # rows before the first edge
    attributes: bool = False  # dicts of networkx follow the nodes
    said: str = ""  # for people

    def clean(self, raw: bytes, first: bool) -> tuple[bytes, int]:
        """Return lines without comments, the rows that are skipped, and attributes; and the comments.

        Only the first lines have rows to skip. No line is taken away, so lines keep their numbers.
        """
        text, comments = COMMENT.subn(b"", raw)
        if first and self.skipped:
            text = ROW.sub(b"", text, count=self.skipped)
        if self.attributes and "weight" in self.columns:
            text = WEIGHT.sub(rb"\1", text)
            text = ATTRIBUTES.sub(self.separator.encode() + b"1", text)
        elif self.attributes:
            text = ATTRIBUTES.sub(b"", text)
        return _evenly(text) if self.kind == EDGES else text, comments


def _evenly(text: bytes) -> bytes:
    """Return lines with one space between words, and none around them."""
    text = text.translate(SPACES)
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    return text.replace(b" \n", b"\n").replace(b"\n ", b"\n").lstrip(b" ")


def edge_form(first: bytes, how: LogReading, kind: str | None, where: str) -> EdgeForm:
    """Return how a text with these first bytes lists edges.

    kind   csv, tsv, edges or user-sessions (an adjacency list), if that is known
    """
    text = decode_word(first)
    lines = [line.strip() for line in text.split("\n")[: -1 if len(first) >= HEAD else None]]
    lines = [line for line in lines if line]
    start = lines[0].lower() if lines else ""
    for prefix, called in OTHERS.items():
        if start.startswith(prefix) and kind is None:
            raise DataError(f"{where}: looks like {called}: save the graph as an edge list, two nodes a line")
    rows = [line for line in lines if line[0] not in "#%"]
    if market := MARKET.match(text):
        return _market_form(market, rows, how, where)
    konect = KONECT.match(start)
    if konect and konect[1].lower() == "bip" and kind is None:
        raise DataError(
            f"{where}: is bipartite (KONECT's bip): equal numbers in its two columns are different nodes. "
            "Give the nodes of one column other names, or format='edges' if equal names are the same node"
        )
    form = _form_of_rows(rows, how, kind, where)
    if konect and konect[1].lower() == "asym":
        return replace(form, said=f"{form.said}; its first line says that it is directed (asym)")
    return form


def _form_of_rows(rows: list[str], how: LogReading, kind: str | None, where: str) -> EdgeForm:
    rows, attributes, weighted = _without_attributes(rows, where)
    given = how.form
    separator = given.separator or _separator(rows, kind, where)
    cells = [*[[*given.header]] * bool(given.header), *(_cells(row, separator) for row in rows)]
    named, width = _named(cells, how), 2 if attributes else _width(cells)
    headed = bool(given.header) or named or _headed(cells)
    alike = kind is None and cells and not attributes and not headed
    if kind == "user-sessions" or (alike and _are_neighbors(cells, width, where)):
        said = "adjacency list: a node, then its neighbors (format: adjacency)"
        return EdgeForm(kind="user-sessions", separator=separator, said=said)
    shown = cells[0] if headed else [str(place + 1) for place in range(width)]
    names, notes = [*shown], ["edge list with a header" if headed else "edge list"]
    # a header of two names needs no usual ones
    if (headed and not named and len(names) == 2) or (not headed and how.user is how.item is None):
        names[:2] = "source", "target"
    if weighted:
        names.append("weight")
        notes.append("weights from networkx's attributes")
    elif not headed and width > 2 and how.user is how.item is how.weight is None and how.usual["weight"]:
        names[2], notes[1:] = _third_column([row[2] for row in cells if len(row) == width], width, where)
    columns = choose_columns(names, how, where)
    roles = {"user": "source", "item": "target", "weight": "weights"} if headed else {"weight": "weights"}
    for role, what in roles.items() if not weighted else ():
        place = names.index(columns[role]) if role in columns else -1
        notes += [f"{what} from {'' if headed else 'column '}{shown[place]}"] * (place >= 0)
    ignored = ", ".join(name for name, own in zip(shown, names, strict=False) if own not in columns.values())
    return EdgeForm(
        kind="csv" if separator else EDGES,
        separator=separator or " ",
        names=tuple(names),
        columns=columns,
        skipped=int(headed and not given.header),
        attributes=attributes,
        said=", ".join(notes) + f"; ignored: column {ignored}" * bool(ignored),
    )


def _without_attributes(rows: list[str], where: str) -> tuple[list[str], bool, bool]:
    """Return rows without networkx's attributes, whether there are any, and whether they hold weights."""
    encoded = [row.encode(errors="replace") for row in rows]
    if _share(encoded, lambda row: bool(MULTILINE.fullmatch(row))) > MULTILINES:
        raise DataError(
            f"{where}: looks like networkx's multiline adjacency list: save the graph with write_edgelist"
        )
    if _share(encoded, lambda row: bool(ATTRIBUTES.search(row))) <= 0.5:
        return rows, False, False
    weighted = any(WEIGHT.search(row) for row in encoded)
    return [ATTRIBUTES.sub(b"", row).decode() for row in encoded], True, weighted


def _third_column(cells: list[str], width: int, where: str) -> tuple[str, list[str]]:
    """Return what the third of `width` columns without a header is called, and what is to be said of it."""
    if width == 3 and all(cell.isdigit() and TIMES[0] <= int(cell) < TIMES[1] for cell in cells):
        return "3", ["column 3 looks like times, not weights (if it holds weights: --weight 3)"]
    if _share(cells, _is_number) > 0.5:
        return "weight", []
    raise DataError(
        f"{where}: {width} cells a row, and the third ({cells[0]:.40}) is not a number: give the number of "
        "the column of weights (--weight 4) or none (--weight none); the numbers of the nodes' columns "
        "(--sources 1 --targets 3); or --format adjacency if a line holds a node, then its neighbors"
    )


def _market_form(market: re.Match[str], rows: list[str], how: LogReading, where: str) -> EdgeForm:
    """Return the form of a Matrix Market file; its first row holds its sizes."""
    _, layout, values, symmetry = (each.lower() for each in market.groups())
    sizes = rows[0].split() if rows else []
    if layout != "coordinate" or values == "complex" or len(sizes) != 3 or sizes[0] != sizes[1]:
        raise DataError(
            f"{where}: a Matrix Market file ({' '.join(market.groups())}, sizes {' '.join(sizes)}): a graph "
            "is a square matrix of coordinates with real, integer or pattern entries"
        )
    names = ("source", "target", *["weight"] * (values != "pattern"))
    columns = choose_columns(names, how, where)
    weights = "weights from column 3" if "weight" in columns else "without weights"
    once = "; each edge is listed once, do not read it as directed" if symmetry == "symmetric" else ""
    said = f"Matrix Market file ({symmetry}), {weights}{once}"
    return EdgeForm(kind=EDGES, separator=" ", names=names, columns=columns, skipped=1, said=said)


def _separator(rows: list[str], kind: str | None, where: str) -> str:
    """Return what stands between cells; empty: white space."""
    if kind in ("tsv", "tsv-unquoted"):
        return "\t"
    if kind in ("csv", "csv-unquoted"):
        return max(",;\t|", key=lambda each: sum(each in row for row in rows))
    rows = [row for row in rows if re.search(r"\s|[,;|]", row)]  # nodes without neighbors stand alone
    for separator in SEPARATORS:
        having = [row for row in rows if separator in row]
        if len(having) < max(NEARLY * len(rows), 1):
            continue
        spaced = sum(any(len(cell.split()) > 1 for cell in _cells(row, separator)) for row in having)
        if separator == "\t":
            return separator if spaced else ""
        by_blanks = {len(row.split()) for row in rows}
        quoted = _share(rows, lambda row: '"' in row) > 0.5
        if spaced <= (1 - NEARLY) * len(having) or quoted or min(by_blanks) < 2:
            return separator
        if kind is None and len(by_blanks) == 1:
            raise DataError(
                f"{where}: rows such as {rows[0]:.60} may be cut at {separator!r} or at white space: give "
                "format='csv' or format='edges'"
            )
        return "" if kind else separator
    return " " if _share(rows, lambda row: '"' in row) > 0.5 else ""


def _cells(row: str, separator: str) -> list[str]:
    if not separator:
        return row.split()
    if '"' not in row:
        return [cell.strip() for cell in row.split(separator)]
    return [
        cell.strip() for line in csv.reader([row.replace("\r", " ")], delimiter=separator) for cell in line
    ]


def _named(cells: Cells, how: LogReading) -> bool:
    """Return whether the first row has names of columns: those asked for, or usual ones that are no nodes."""
    if not cells:
        return False
    asked = [name for name in (how.user, how.item, how.weight) if name is not None and not name.isdigit()]
    if asked:
        return True
    usual = [usual_column(how.usual[role], cells[0]) for role in ("user", "item")]
    nodes = {cell for row in cells[1:] if row != cells[0] for cell in row}
    return any(name is not None and name not in nodes for name in usual)


def _headed(cells: Cells) -> bool:
    """Return whether the first row is a header because it has words where all others have numbers."""
    if len(cells) < 2 or len(cells[0]) < 2:
        return False
    first, others = cells[0], [row for row in cells[1:] if len(row) == len(cells[0])]
    if any(map(_is_number, first)) or not others:
        return False
    numbers = [place for place in range(len(first)) if all(_is_number(row[place]) for row in others)]
    nodes = {cell for row in others for cell in row[:2]}
    return bool(numbers) and not {*first[:2]} & nodes and ({0, 1} <= {*numbers} or max(numbers) > 1)


def _width(cells: Cells) -> int:
    """Return how many cells most rows have; at least 2."""
    sizes = Counter(map(len, cells))
    return max((size for size in sizes if size > 1), key=lambda size: (sizes[size], -size), default=2)


def _are_neighbors(cells: Cells, width: int, where: str) -> bool:
    """Return whether rows are an adjacency list; raise a `DataError` if they may be that or edges."""
    fits = [len(row) == width and (width == 2 or _is_number(row[2])) for row in cells]
    share, wide = _share(fits, bool), _share(cells, lambda row: len(row) == width)
    firsts = Counter(row[0] for row in cells if row)
    once = len(firsts) >= (1 - REPEATED) * len(cells)
    # rows of one length with a number in the third place; few bad ones change nothing
    few = fits.count(False) == 1 < len(cells) - 1 or (wide >= MOSTLY and share > 0.5)
    if share == 1 or (width > 2 and few):
        even = [row for row, fit in zip(cells, fits, strict=True) if fit]
        words = {cell for row in even for cell in row}
        whole = width > 2 and once and words <= {*firsts} and all(len({*row}) == width for row in even)
        if whole and width == 3 and len(cells) > 1:
            raise _unclear(where, "each line holds three nodes of the first column")
        return whole and width > 3
    lone = all(fit or len(row) < 2 for fit, row in zip(fits, cells, strict=True))
    if width == 2 and lone:
        return once
    if share >= NEARLY:
        return False
    if once:
        return True
    if share >= MOSTLY or (width > 2 and wide >= MOSTLY):
        return False
    raise _unclear(where, f"lines hold {', '.join(map(str, sorted({*map(len, cells)})[:5]))} words")


def _unclear(where: str, what: str) -> DataError:
    return DataError(
        f"{where}: {what}, so it may be an edge list or an adjacency list: give format='edges' (--format "
        "edges: source, target, maybe a weight) or 'adjacency' (a node, then its neighbors)"
    )


def _is_number(cell: str) -> bool:
    return NUMBER.fullmatch(cell) is not None


def _share(values: Sequence[Any], test: Callable[[Any], bool]) -> float:
    return sum(map(test, values)) / max(len(values), 1)


def open_edges(file: Path | None, text: TextFile, gathered: Gathered) -> OpenedRows:
    """Open the edges of a text; those of JSON are rows like any others."""
    kind = gathered.how.format or (ending_kind(file) if file else None)
    if text.kind in ("jsonl", "list"):
        return open_text(file, text, gathered)
    form = edge_form(text.head, gathered.how, kind, text.where)
    gathered.report.say(text.where, f"{text.where}: {form.said}")
    blocks = _clean(text, form, gathered)
    if form.kind in SESSIONS:
        lines = (words_of(block, form.separator) for block in blocks)
        return open_lines(lines, form.kind, gathered, text.where, "line")
    quotes = form.kind != EDGES and kind not in UNQUOTED
    opened = open_delimited(
        blocks, text.where, "csv", separator=form.separator, names=form.names, quotes=quotes
    )
    return opened._replace(kind=EDGES)


def _clean(text: TextFile, form: EdgeForm, gathered: Gathered) -> Iterator[RowBlock]:
    """Yield lines without what is no edge, and report what that is."""
    for number, block in enumerate(text.blocks(BLOCK)):
        data, comments = form.clean(block.data, number == 0)
        gathered.report.comments += comments
        yield RowBlock(data, block.line)
