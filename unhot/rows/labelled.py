"""Rows with labels, from files, tables and Python: one text and its labels after another.

Lines with labels are those of fastText: `__label__A __label__B some words`. A token that begins with the
prefix is a label, wherever it stands. The label is what follows the prefix.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from unhot.errors import ConfigError, DataError
from unhot.rows.batches import LEFT_OUT, LIST, TEXT, OpenedRows, RowBatch, TextReport
from unhot.rows.columns import label_column, string_column
from unhot.rows.opening import RowFormat, TextFile, check_delimited, format_of, open_file, recognized
from unhot.rows.paths import find_files, paths_of
from unhot.rows.records import Record
from unhot.rows.tables import is_table, open_table, values_of
from unhot.rows.values import named_lists, open_objects, strings, value_lists
from unhot.vocab.vocabulary import decode_word, encode_word

PREFIX = "__label__"
FEW = 8  # so many labels at the beginning of a line are taken off one by one
BLANKS = b" \t\n\v\f\r\0"  # bytes that separate tokens
SPACES = bytes.maketrans(b"\t\v\f\r\0", b" " * 5)  # all but line feeds, which end a line

LabelledText = tuple[str, list[str]]
Labelled = tuple[RowBatch, list[LabelledText]]
GAP = object()  # takes the place of what the shorter one of two iterables has not
PAIR = ("text", "label")  # the columns of rows that are pairs


@dataclass
class LabelReport(TextReport):
    """What was read so far; blank lines do not count."""

    empty: str = "count as empty texts"
    without_label: int = 0  # which were left out
    several_labels: int = 0

    def read(self) -> int:
        """Return how many rows were read."""
        return super().read() - self.without_label

    def count(self, row: LabelledText) -> bool:
        """Count a row; return whether it has a label."""
        text, labels = row
        self.without_text += not text or text.isspace()
        self.several_labels += len(labels) > 1
        self.without_label += not labels
        return bool(labels)

    def odd(self) -> list[tuple[int, str]]:
        """Return how many rows have no label or no text, and what becomes of them."""
        return [(self.without_label, f"have no label and {LEFT_OUT}"), *super().odd()]


Read = Callable[[LabelReport], Iterator[LabelledText]]


class LabelledRows:
    """An iterable of (text, labels); rows without a label are left out; `report` counts while it is read."""

    def __init__(self, read: Read, where: str, again: bool, strict: bool = False) -> None:
        """Take a function that begins to read, and whether it may be called again."""
        self.again, self._where = again, where
        self.report = LabelReport(strict)
        self._read, self._begun = read, False

    def __iter__(self) -> Iterator[LabelledText]:
        """Read all rows, from the beginning."""
        if self._begun and not self.again:
            raise DataError(
                "the rows come from an iterator or a pipe and were read already: give a list or a file to "
                "read them again"
            )
        self._begun = True
        self.report = report = LabelReport(self.report.strict)
        yield from filter(report.count, self._read(report))
        report.check(self._where)


class Wanted(NamedTuple):
    """How to read rows; see `labelled_rows`."""

    column: str | None
    label_column: str | None
    prefix: str
    form: RowFormat

    def refuse_columns(self, what: str) -> None:
        """Raise a `ConfigError` if a column was asked for."""
        if self.column is not None or self.label_column is not None:
            raise ConfigError(
                f"column={self.column!r}, label_column={self.label_column!r}: only tables have columns, but "
                f"the source is {what}; leave them out"
            )


def labelled_rows(
    source: Any,
    labels: Any = None,
    *,
    column: str | None = None,
    label_column: str | None = None,
    prefix: str = PREFIX,
    kind: str | None = None,
    header: str | Sequence[str] | None = None,
    separator: str | None = None,
    force: bool = False,
    strict: bool = False,
) -> LabelledRows:
    """Return an iterable of (text, labels).

    source        files: a path, a folder, a pattern, a list of paths, `-` for standard input, compressed or
                  not: CSV and TSV, JSON lines or a JSON list, parquet, Arrow; everything
                  else is lines such as `__label__A some words`.
                  Or a table: of Arrow, a data frame, a Hugging Face dataset, an iterable of dicts.
                  Or an iterable of pairs (text, label), or of label lines.
    labels        the labels of the texts, if the source is texts: an iterable of the same length. A label is
                  a string, a number, a list of these, or None.
    column        the column of the text; otherwise `text`, or the only one that holds strings
    label_column  the column of the labels; otherwise `label` or `labels`
    prefix        what a token of a label line begins with if it is a label
    kind, header, separator, force   see `format_of`
    strict        raise a `DataError` at the first bad row instead of counting it
    """
    check_prefix(prefix)
    form, where = format_of(kind, force, header, separator), f"a {type(source).__name__}"
    wanted = Wanted(column, label_column, prefix, form)
    again, paths = not isinstance(source, Iterator) and not isinstance(labels, Iterator), paths_of(source)
    if labels is not None or paths is None:
        check_delimited("the source", where, form)
        _check_iterable(source, "the source" if labels is None else "the texts")
        _check_iterable(() if labels is None else labels, "the labels")
        if hasattr(source, "__len__") and hasattr(labels, "__len__") and len(source) != len(labels):
            raise unequal(len(source), len(labels))
        return LabelledRows(
            lambda report: _object_rows(source, labels, wanted, report, where), where, again, strict
        )
    files = [file for path in paths for file in find_files(path)]
    again = all(file is not None and file.is_file() for file in files)  # not pipes

    def read(report: LabelReport) -> Iterator[LabelledText]:
        report.several = len(files) > 1
        return chain.from_iterable(_file_rows(file, wanted, report) for file in files)

    return LabelledRows(read, ", ".join(map(str, paths[:3])), again, strict)


def _check_iterable(value: object, what: str) -> None:
    single = isinstance(value, (str, bytes, bytearray, os.PathLike))
    if single or not (isinstance(value, Iterable) or is_table(value)):
        raise DataError(
            f"{what}: {value!r:.80} is of type {type(value).__name__}: give a list, a column of a table or "
            "another iterable; or a file or a table that holds both texts and labels"
        )


def _file_rows(path: Path | None, wanted: Wanted, report: LabelReport) -> Iterator[LabelledText]:
    """Yield the rows of a file, or of standard input (None)."""
    with contextlib.closing(open_file(path, wanted.form)) as opened:
        if not isinstance(opened, TextFile):
            yield from _table_rows(opened, wanted, report)
            return
        wanted.refuse_columns(f"lines of text ({opened.where})")
        for block in opened.blocks():
            yield from _good(report, *label_batch(block.data, wanted.prefix, opened.where, block.line))


def _good(report: LabelReport, batch: RowBatch, rows: Iterable[LabelledText]) -> Iterator[LabelledText]:
    """Count the rows of a batch, and return those that are not bad."""
    report.take(batch)
    return (row for place, row in enumerate(rows) if place not in batch.faults)


def _table_rows(
    opened: OpenedRows, wanted: Wanted, report: LabelReport, features: Any = None
) -> Iterator[LabelledText]:
    """Yield the rows of a table; `features`: those of a Hugging Face dataset, which may name its labels."""
    if not opened.names:  # an empty table, or rows that are all bad
        for batch in opened.batches({}):
            report.take(batch)
        return
    label = label_column(opened, wanted.label_column)
    text = string_column(opened, wanted.column, label)
    if opened.kind:
        report.say(opened.where, recognized(opened.where, opened.kind, text=text, label=label))
    feature = features.get(label) if isinstance(features, Mapping) else None
    names = getattr(getattr(feature, "feature", feature), "names", None)  # labels may be lists
    for batch in opened.batches({text: TEXT, label: LIST}):
        texts, labels = strings(batch.cells[text], batch.where), batch.cells[label]
        found = value_lists(labels, batch.where) if names is None else named_lists(labels, names, batch.where)
        rows = ((line or "", [*filter(None, each)]) for line, each in zip(texts, found, strict=True))
        yield from _good(report, batch, rows)


def _object_rows(
    source: Any, labels: Any, wanted: Wanted, report: LabelReport, where: str
) -> Iterator[LabelledText]:
    """Yield the rows of a table, of dicts, of pairs, of label lines, or of texts with their labels."""
    opened, features = open_table(source), getattr(source, "features", None) if labels is None else None
    if labels is not None:
        if opened is None:
            wanted.refuse_columns(where)
        texts = values_of(source) if opened is None else _texts(opened, wanted.column)
        opened = open_objects(_paired(texts, values_of(labels)), where, PAIR)
        wanted = wanted._replace(column=None, label_column=None)
    elif opened is None:
        rest = values_of(source)
        first = next(rest, "")
        if not isinstance(first, Mapping):
            wanted.refuse_columns(where)
        if isinstance(first, str):
            yield from _label_lines(chain([first], rest), wanted, report, where)
            return
        opened = open_objects(chain([first], rest), where, PAIR)
    yield from _table_rows(opened, wanted, report, features)


def _label_lines(
    items: Iterable[Any], wanted: Wanted, report: LabelReport, where: str
) -> Iterator[LabelledText]:
    """Yield the rows of label lines from Python."""
    for number, line in enumerate(items, 1):
        if not isinstance(line, str):
            raise DataError(
                f"{where}: row {number} is {line!r:.80}: give pairs (text, label), dicts, or texts and labels"
            )
        data = encode_word(line.replace("\n", " "))
        yield from _good(report, *label_batch(data, wanted.prefix, where, number, "row"))


def _texts(opened: OpenedRows, asked: str | None) -> Iterator[Any]:
    """Yield the texts of a table."""
    column = string_column(opened, asked)
    for batch in opened.batches({column: TEXT}):
        yield from strings(batch.cells[column], batch.where)


def _paired(texts: Iterator[Any], labels: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield texts with their labels; raise a `DataError` if there are more of one than of the other."""
    for number, (text, label) in enumerate(zip_longest(texts, labels, fillvalue=GAP)):
        if text is GAP or label is GAP:
            lengths = [number, number + 1 + sum(1 for _ in chain(texts, labels))]
            raise unequal(*(lengths if text is GAP else reversed(lengths)))
        yield text, label


def unequal(texts: int, labels: int) -> DataError:
    """Return the error for texts and labels of different length."""
    return DataError(
        f"there are {texts} texts, but {labels} labels: give a label, or a list of them, for each text"
    )


def check_prefix(prefix: str) -> None:
    """Raise a `ConfigError` if no token can begin with a prefix."""
    if not prefix or any(blank in prefix for blank in BLANKS.decode()):
        raise ConfigError(
            f"prefix={prefix!r}: must be at least one character, and no white space, such as {PREFIX}"
        )


def label_batch(data: bytes, prefix: str, where: str, first: int, unit: str = "line") -> Labelled:
    """Return the rows of lines that are not blank, and the text and the labels of each."""
    skip, rows = len(prefix), dict[int, LabelledText]()
    faults: dict[int, str] = {}
    for number, line in enumerate(decode_word(data.translate(SPACES)).split("\n"), first):
        labels: list[str] = []
        text = line
        while prefix in text:
            if len(labels) < FEW and text.startswith(prefix):
                label, _, text = text.partition(" ")
                labels.append(label[skip:])
            else:
                tokens = text.split(" ")
                labels += [token[skip:] for token in tokens if token.startswith(prefix)]
                text = " ".join([token for token in tokens if not token.startswith(prefix)])
                break
        text = text.strip(" ")
        if "" in labels:
            faults[len(rows)] = f"a label is empty, there is only its prefix {prefix}"
        if text or labels:
            rows[number] = (text, labels)
    numbers = [Record(number, b"") for number in rows]
    return RowBatch(where, len(rows), {}, unit, faults=faults, records=lambda: numbers), [*rows.values()]
