"""Open a file of rows, whatever its kind is: what its bytes say, else what its ending says, else text.

The ending before that of a compression tells the kind: `x.csv.gz` is csv. JSON lines are recognized by their
first line, whatever their name is: data sets call them .json, .json.gz or .json.zst.
"""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from unhot.errors import ConfigError, DataError, UnhotError, one_of
from unhot.rows.batches import OpenedRows
from unhot.rows.columns import LABEL_NAMES, TEXT_NAME
from unhot.rows.delimited import SEPARATORS, open_delimited
from unhot.rows.json_lines import list_blocks, open_json_lines
from unhot.rows.not_text import checked
from unhot.rows.records import RowBlock, blocks_of
from unhot.rows.streams import TextStream
from unhot.rows.tables import open_marked
from unhot.vocab.vocabulary import decode_word

UNQUOTED = ("csv-unquoted", "tsv-unquoted")  # where a quote is a character like any other
KINDS = ("text", "csv", "tsv", "jsonl", "parquet", "arrow", *UNQUOTED)
ENDINGS = {
    **{".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"},
    **{".parquet": "parquet", ".pq": "parquet"},
    **{".arrow": "arrow", ".feather": "arrow", ".arrows": "arrow"},
}
PACKED = {".gz": "gz", ".bz2": "bz2", ".xz": "xz", ".zst": "zst"}
PARQUET, ARROW = b"PAR1", b"ARROW1"  # the first and the last bytes of files
MARKED = {"parquet": (PARQUET, "parquet file"), "arrow": (ARROW, "file of Arrow's")}
SAID = {
    **{"csv-unquoted": "CSV without quotes", "tsv-unquoted": "TSV without quotes"},
    **{"text": "text", "csv": "CSV", "tsv": "TSV", "jsonl": "JSON lines", "list": "a JSON list"},
}
# a list whose first item is an object, or a string: a text in brackets may begin with a quotation
LIST_START = re.compile(rb'\[[ \t\r\n]*(?:\{|"(?:[^"\\]|\\.)*+(?:"[ \t\r\n]*[,\]]|\Z))', re.DOTALL)
HEAD = 1 << 16  # bytes that tell the kind
SPELLED = {"tab": "\t", "\\t": "\t"}  # how a tab is written in a shell

BLOCK = 1 << 20  # bytes of a block: as strings of Python they are several times as many


class RowFormat(NamedTuple):
    """How a file is to be read, as far as the caller says it; made by `format_of`."""

    kind: str | None = None
    force: bool = False  # read it even if it does not look like text
    header: tuple[str, ...] = ()  # the names of the columns of CSV and TSV whose first line is a row
    separator: str = ""  # between the fields of CSV and TSV


AS_IT_IS = RowFormat()


def format_of(
    kind: str | None = None,
    force: bool = False,
    header: str | Sequence[str] | None = None,
    separator: str | None = None,
) -> RowFormat:
    r"""Return how to read files; raise a `ConfigError` if that contradicts itself.

    kind       text, csv, tsv, jsonl, parquet, arrow, csv-unquoted, tsv-unquoted, instead of what files say
    force      read also files that do not look like text
    header     the names of the columns of CSV or TSV without a header line: a sequence, or a string in which
               they are separated by commas
    separator  of the fields of CSV or TSV, one character; tab and \t are a tab
    """
    if kind is not None:
        one_of("kind", kind, KINDS)
    for name, given in {"header": header, "separator": separator}.items():
        if given is not None and kind is not None and kind not in SEPARATORS:
            raise ConfigError(f"{name}={given!r:.80}: only CSV and TSV have one, not {kind}; leave it out")
    names = next(csv.reader([header]), []) if isinstance(header, str) else [*(header or ())]
    if header is not None and not (names and all(isinstance(name, str) for name in names)):
        raise ConfigError(f"header={header!r:.80}: must name all columns, such as label,title,text")
    mark = SPELLED.get(separator or "", separator or "")
    if separator is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
        raise ConfigError(
            f"separator={separator!r:.80}: must be one ASCII character that is no quote and no line break, "
            "such as ; or tab"
        )
    return RowFormat(kind, force, tuple(names), mark)


def ending_kind(path: Path) -> str | None:
    """Return the kind that the ending of a path says; None if it says nothing."""
    packed = path.suffix.lower() in PACKED
    kind = ENDINGS.get((path.with_suffix("") if packed else path).suffix.lower())
    if kind in MARKED and packed:
        raise DataError(
            f"{path}: a {MARKED[kind][1]} is packed inside: unpack it, or remove the second ending"
        )
    return kind


def marked_kind(path: Path | None) -> str | None:
    """Return parquet or arrow if a path is such a file, by its name or by its bytes; else None.

    Nothing is read from a pipe.
    """
    if path is None or not path.is_file():
        return None
    named = ENDINGS.get(path.suffix.lower())
    if named in MARKED:  # even if it is damaged: reading it raises the error
        return named
    try:
        with path.open("rb") as file:
            head = file.read(len(ARROW))
            file.seek(-min(len(ARROW), file.seek(0, 2)), 2)
            tail = file.read()
    except OSError:  # opening it for reading will raise an error that explains this
        return None
    for kind, (mark, _) in MARKED.items():
        if head.startswith(mark) and tail.endswith(mark) and path.stat().st_size > len(mark):
            return kind
    return None


def text_kind(path: Path | None, head: bytes, form: RowFormat = AS_IT_IS) -> str:
    """Return the kind of a text with these first bytes: a kind, or list (of JSON objects or strings)."""
    named, asked = ending_kind(path) if path is not None else None, form.kind
    body = head.lstrip(b" \t\r\n")
    if asked in (None, "jsonl") and LIST_START.match(body):
        return "list"
    if asked is None and _is_object(body.partition(b"\n")[0], whole=b"\n" in body or len(head) < HEAD):
        return "jsonl"
    if asked is None and (form.header or form.separator):
        return named if named in SEPARATORS else "csv"
    header = decode_word(body.partition(b"\n")[0]).strip("\r")
    for kind in ("csv", "tsv") if asked is None and named is None else ():
        fields = {field.strip('"') for field in header.split(SEPARATORS[kind])}
        if len(fields) > 1 and fields & {TEXT_NAME, *LABEL_NAMES}:
            return kind  # the line is a header, whatever the file is called
    suffixes = [] if path is None else [suffix.lower() for suffix in path.suffixes[-2:]]
    if asked is None and named == "jsonl" and ".json" in suffixes and b"\n" in body:
        raise DataError(
            f"{path}: is neither JSON lines, an object a line, nor a JSON list of objects or strings: write "
            "one of these, or say what it is (kind=, or --format text|csv|tsv|jsonl)"
        )
    return asked or named or "text"


def _is_object(line: bytes, whole: bool) -> bool:
    """Return whether a line is a JSON object, or begins as one if it is not whole."""
    if not whole:
        return line.startswith(b'{"')
    if not line.startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(decode_word(line)), dict)
    except (ValueError, RecursionError):
        return False


def recognized(where: str, kind: str, **columns: str) -> str:
    """Return what a file was recognized as, and which columns were taken, for people."""
    taken = "".join(f", {role} = {name}" for role, name in columns.items())
    return f"{where}: read as {SAID.get(kind, kind)}{taken}"


class TextFile:
    """A file of text that is being read: its kind, and its records."""

    def __init__(self, path: Path | None, form: RowFormat = AS_IT_IS) -> None:
        """Open a file, or standard input (None), and find its kind."""
        self._stream = TextStream(path)
        self.where, self.marked = self._stream.name, self._stream.marked
        try:
            self.head = self._stream.peek(HEAD)
            self.kind = text_kind(path, self.head, form)
            check_delimited(self.where, self.kind, form)
        except UnhotError:
            self.close()
            raise
        self._size = path.stat().st_size if path is not None and path.is_file() else None
        self._read, self._form = 0, form

    def pieces(self) -> Iterator[bytes]:
        """Yield the text, some bytes at a time, and close the file."""
        try:
            for text in self._stream if self._form.force else checked(self._stream, self.where):
                self._read += len(text)
                yield text
        finally:
            self.close()

    def blocks(self, size: int = BLOCK, quotes: bool = False) -> Iterator[RowBlock]:
        """Yield blocks of records; with quotes, a field may hold line feeds."""
        return blocks_of(self.pieces(), size, self.where, quotes)

    def progress(self) -> tuple[int, int | None]:
        """Return the bytes that were read, on disk if the file is a regular one, and their total."""
        return (self._read, None) if self._size is None else (self._stream.position(), self._size)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def rows(self, kind: str | None = None, size: int = BLOCK) -> OpenedRows:
        """Open the rows of the file as those of its kind, or of another one, which is no plain text."""
        kind = kind if kind and self.kind != "list" else self.kind
        if kind == "list":
            text = b"".join(self.pieces())
            opened = open_json_lines(list_blocks(text, self.where), self.where, "row")
        elif kind == "jsonl":
            opened = open_json_lines(self.blocks(), self.where)
        else:
            quotes, how = kind not in UNQUOTED, self._form
            opened = open_delimited(
                self.blocks(size, quotes),
                self.where,
                kind,
                separator=how.separator,
                names=how.header,
                quotes=quotes,
            )
        return opened._replace(progress=self.progress, close=self.close)


def check_delimited(where: str, kind: str, form: RowFormat) -> None:
    """Raise a `DataError` if a header or a separator is given for a file that has none."""
    if kind not in SEPARATORS and (form.header or form.separator):
        raise DataError(
            f"{where}: is {SAID.get(kind, kind)}, but a header or a separator is given, which only CSV and "
            "TSV have: leave it out, or say what the file is (kind=, or --format csv|tsv)"
        )


def open_file(path: Path | None, form: RowFormat = AS_IT_IS) -> OpenedRows | TextFile:
    """Open a file, or standard input (None), as rows; plain text is what it is."""
    kind = form.kind
    marked = kind if kind in MARKED else None if kind else marked_kind(path)
    if marked is None:
        text = TextFile(path, form)
        return text if text.kind == "text" else text.rows()
    check_delimited(str(path), marked, form)
    if path is None or not path.is_file():
        raise DataError(
            f"{path or 'standard input'}: a {marked} file cannot be read from a pipe, because its index is "
            "at its end: give it as a file"
        )
    return open_marked(path, marked)
