"""Open a file of rows, whatever its kind is: what its bytes say, else what its ending says, else text.

The ending before that of a compression tells the kind: `x.csv.gz` is csv. JSON lines are recognized by their
first line, whatever their name is: data sets call them .json, .json.gz or .json.zst.
"""

import contextlib
import csv
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from unhot.errors import ConfigError, DataError, UnhotError, one_of
from unhot.rows.batches import LABEL_NAMES, SAID, TEXT_NAME, OpenedRows
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
    # opening it for reading will raise an error that explains what fails here
    with contextlib.suppress(OSError), path.open("rb") as file:
        head = file.read(len(ARROW))
        file.seek(-min(len(ARROW), file.seek(0, 2)), 2)
        tail, large = file.read(), path.stat().st_size > len(ARROW)
        for kind, (mark, _) in MARKED.items():
            if large and head.startswith(mark) and tail.endswith(mark):
                return kind
    return None


def text_kind(path: Path | None, head: bytes, form: RowFormat = AS_IT_IS) -> str:
    """Return the kind of a text with these first bytes: a kind, or list (of JSON objects or strings)."""
    body, named = head.lstrip(b" \t\r\n"), None if path is None else ending_kind(path)
    line = body.partition(b"\n")[0]
    if form.kind in (None, "jsonl") and LIST_START.match(body):
        return "list"
    if form.kind is not None:
        return form.kind
    if _is_object(line, whole=b"\n" in body or len(head) < HEAD):
        return "jsonl"
    if form.header or form.separator:
        return named if named in SEPARATORS else "csv"
    for kind in ("csv", "tsv") if named is None else ():
        fields = {field.strip('"') for field in decode_word(line).strip("\r").split(SEPARATORS[kind])}
        if len(fields) > 1 and fields & {TEXT_NAME, *LABEL_NAMES}:
            return kind  # the line is a header, whatever the file is called
    suffixes = [] if path is None else [suffix.lower() for suffix in path.suffixes[-2:]]
    if named == "jsonl" and ".json" in suffixes and b"\n" in body:
        raise DataError(
            f"{path}: is neither JSON lines, an object a line, nor a JSON list of objects or strings: write "
            "one of these, or say what it is (kind=, or --format text|csv|tsv|jsonl)"
        )
    return named or "text"


def _is_object(line: bytes, whole: bool) -> bool:
    """Return whether a line is a JSON object, or begins as one if it is not whole."""
    with contextlib.suppress(ValueError, RecursionError):
        return isinstance(json.loads(decode_word(line)), dict)
    return not whole and line.startswith(b'{"')


def check_delimited(where: str, kind: str, form: RowFormat) -> None:
    """Raise a `DataError` if a header or a separator is given for a file that has none."""
    if kind not in SEPARATORS and (form.header or form.separator):
        raise DataError(
            f"{where}: is {SAID.get(kind, kind)}, but a header or a separator is given, which only CSV and "
            "TSV have: leave it out, or say what the file is (kind=, or --format csv|tsv)"
        )


class TextFile(TextStream):
    """A file of text that is being read: its kind, and its records."""

    def __init__(self, path: Path | None, form: RowFormat = AS_IT_IS) -> None:
        """Open a file, or standard input (None), and find its kind."""
        super().__init__(path)
        self.where, self._form = self.name, form
        self._size = path.stat().st_size if path is not None and path.is_file() else None
        self._taken = 0  # bytes of text
        try:
            self.head = self.peek(HEAD)
            self.kind = text_kind(path, self.head, form)
            check_delimited(self.where, self.kind, form)
        except UnhotError:
            self.close()
            raise

    def pieces(self) -> Iterator[bytes]:
        """Yield the text, some bytes at a time, and close the file."""
        with contextlib.closing(self):
            for text in self if self._form.force else checked(self, self.where):
                self._taken += len(text)
                yield text

    def blocks(self, size: int = BLOCK, quotes: bool = False) -> Iterator[RowBlock]:
        """Yield blocks of records; with quotes, a field may hold line feeds."""
        return blocks_of(self.pieces(), size, self.where, quotes)

    def progress(self) -> tuple[int, int | None]:
        """Return the bytes that were read, on disk if the file is a regular one, and their total."""
        return (self._taken, None) if self._size is None else (self.position(), self._size)

    def rows(self, kind: str | None = None, size: int = BLOCK) -> OpenedRows:
        """Open the rows of the file as those of its kind, or of another one, which is no plain text."""
        kind, how = kind if kind and self.kind != "list" else self.kind, self._form
        if kind == "list":
            blocks = list_blocks(b"".join(self.pieces()), self.where)
            opened = open_json_lines(blocks, self.where, "row")
        elif kind == "jsonl":
            opened = open_json_lines(self.blocks(), self.where)
        else:
            quotes = kind not in UNQUOTED
            blocks, names = self.blocks(size, quotes), how.header
            opened = open_delimited(blocks, self.where, kind, how.separator, names, quotes)
        return opened._replace(progress=self.progress, close=self.close)


def open_file(path: Path | None, form: RowFormat = AS_IT_IS) -> OpenedRows | TextFile:
    """Open a file, or standard input (None), as rows; plain text is what it is."""
    marked = form.kind if form.kind in MARKED else None if form.kind else marked_kind(path)
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
