"""Rows with labels, from files, tables and Python: one text and its labels after another."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from unhot.errors import ConfigError, DataError
from unhot.rows.arrow_rows import open_table
from unhot.rows.batches import LIST, TEXT, OpenedRows, RowReport
from unhot.rows.columns import label_column, string_column
from unhot.rows.json_lines import open_dicts
from unhot.rows.kinds import recognized
from unhot.rows.label_lines import PREFIX, LabelledText, check_prefix, label_rows
from unhot.rows.opening import TextFile, open_file
from unhot.rows.paths import find_files, paths_of
from unhot.rows.values import named_lists, scalar, spelled, strings, value_lists
from unhot.vocab.vocabulary import encode_word

GAP = object()  # takes the place of what the shorter one of two iterables has not


@dataclass
class LabelReport(RowReport):
    """What was read so far; blank lines do not count."""

    without_label: int = 0  # which were left out
    without_text: int = 0
    several_labels: int = 0
    recognized: list[str] = field(
        default_factory=list
    )  # which files are tables, and which columns were taken

    def count(self, row: LabelledText) -> bool:
        """Count a row; return whether it has a label."""
        text, labels = row
        self.without_text += not text or text.isspace()
        self.several_labels += len(labels) > 1
        self.without_label += not labels
        return bool(labels)

    def note(self) -> str:
        """Return lines about the rows that were left out; an empty string if there were none."""
        few = self.without_label
        without = f"{few:,} of {self.rows:,} rows have no label and were left out"
        return "\n".join([without] * (few > 0) + self.lines())


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
        report.check(self._where, "; ".join(report.recognized))


class Wanted(NamedTuple):
    """How to read rows; see `labelled_rows`."""

    column: str | None
    label_column: str | None
    prefix: str
    kind: str | None
    force: bool

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
    force: bool = False,
    strict: bool = False,
) -> LabelledRows:
    """Return an iterable of (text, labels).

    source        files: a path, a folder, a pattern, a list of paths, `-` for standard input, compressed or
                  not: CSV and TSV with a header line, JSON lines or a JSON list, parquet, Arrow; everything
                  else is lines such as `__label__A some words`.
                  Or a table: of Arrow, a data frame, a Hugging Face dataset, an iterable of dicts.
                  Or an iterable of pairs (text, label), or of label lines.
    labels        the labels of the texts, if the source is texts: an iterable of the same length. A label is
                  a string, a number, a list of these, or None.
    column        the column of the text; otherwise `text`, or the only one that holds strings
    label_column  the column of the labels; otherwise `label` or `labels`
    prefix        what a token of a label line begins with if it is a label
    kind          text, csv, tsv, jsonl, parquet, arrow, csv-unquoted, tsv-unquoted, instead of what files say
    force         read also files that do not look like text
    strict        raise a `DataError` at the first bad row instead of counting it
    """
    check_prefix(prefix)
    wanted = Wanted(column, label_column, prefix, kind, force)
    again, where = not isinstance(source, Iterator) and not isinstance(labels, Iterator), _called(source)
    if labels is not None:
        _check_iterable(source, "the texts")
        _check_iterable(labels, "the labels")
        if hasattr(source, "__len__") and hasattr(labels, "__len__") and len(source) != len(labels):
            raise unequal(len(source), len(labels))
        return LabelledRows(lambda report: _paired_rows(source, labels, wanted, report), where, again)
    paths = paths_of(source)
    if paths is None:
        _check_iterable(source, "the source")
        return LabelledRows(lambda report: _object_rows(source, wanted, report), where, again, strict)
    files = [file for path in paths for file in find_files(path)]
    again = all(file is not None and file.is_file() for file in files)  # not pipes

    def read(report: LabelReport) -> Iterator[LabelledText]:
        report.several = len(files) > 1
        return chain.from_iterable(_file_rows(file, wanted, report) for file in files)

    return LabelledRows(read, ", ".join(map(str, paths[:3])), again, strict)


def _called(source: object) -> str:
    return f"a {type(source).__name__}"


def _check_iterable(value: object, what: str) -> None:
    table = hasattr(value, "__arrow_c_stream__") or hasattr(value, "column_names")
    if isinstance(value, (str, bytes, bytearray, os.PathLike)) or not (table or isinstance(value, Iterable)):
        raise DataError(
            f"{what}: {value!r:.80} is of type {type(value).__name__}: give a list, a column of a table or "
            "another iterable; or a file or a table that holds both texts and labels"
        )


def _file_rows(path: Path | None, wanted: Wanted, report: LabelReport) -> Iterator[LabelledText]:
    """Yield the rows of a file, or of standard input (None)."""
    with contextlib.closing(open_file(path, wanted.kind, wanted.force)) as opened:
        if not isinstance(opened, TextFile):
            yield from _table_rows(opened, wanted, report)
            return
        wanted.refuse_columns(f"lines of text ({opened.where})")
        for block in opened.records():
            rows, faults = label_rows(block.data, wanted.prefix)
            report.take_lines(len(rows), faults, opened.where, block.line)
            yield from rows


def _table_rows(
    opened: OpenedRows, wanted: Wanted, report: LabelReport, features: Any = None
) -> Iterator[LabelledText]:
    """Yield the rows of a table; `features`: those of a Hugging Face dataset, which may name its labels."""
    columns = {}
    if opened.names:
        label = label_column(opened, wanted.label_column)
        text = string_column(opened, wanted.column, label)
        columns, names = {text: TEXT, label: LIST}, _names(features, label)
        if opened.kind:
            report.recognized.append(recognized(opened.where, opened.kind, text=text, label=label))
    for batch in opened.batches(columns):
        report.take(batch)
        if columns:
            texts, cells = strings(batch.cells.column(text), batch.where), batch.cells.column(label)
            labels = (
                value_lists(cells, batch.where) if names is None else named_lists(cells, names, batch.where)
            )
            for place, (line, found) in enumerate(zip(texts, labels, strict=True)):
                if place not in batch.faults:
                    yield line or "", [*filter(None, found)]


def _names(features: Any, label: str) -> list[str] | None:
    """Return the names of a dataset's labels, if it has some; its labels may be lists."""
    feature = features.get(label) if isinstance(features, Mapping) else None
    names: list[str] | None = getattr(getattr(feature, "feature", feature), "names", None)
    return names


def _object_rows(source: Any, wanted: Wanted, report: LabelReport) -> Iterator[LabelledText]:
    """Yield the rows of a table, of dicts, of pairs (text, label), or of label lines."""
    opened, where = open_table(source), _called(source)
    if opened is None:
        items = iter(source)
        first = next(items, "")
        items = chain([first], items)
        opened = open_dicts(items, where) if isinstance(first, Mapping) else None
    if opened is not None:
        yield from _table_rows(opened, wanted, report, getattr(source, "features", None))
        return
    wanted.refuse_columns(where)
    for number, item in enumerate(items, 1):
        if isinstance(item, str):
            rows, faults = label_rows(encode_word(item.replace("\n", " ")), wanted.prefix)
            report.take_lines(len(rows), faults, where, number, "row")
            yield from rows
        elif isinstance(item, (tuple, list)) and len(item) == 2:
            report.rows += 1
            yield _text_of(item[0], where, number), _labels_of(item[1], where, number)
        else:
            raise DataError(
                f"{where}: row {number} is {item!r:.80}: give pairs (text, label), dicts, or texts and labels"
            )


def _paired_rows(source: Any, labels: Any, wanted: Wanted, report: LabelReport) -> Iterator[LabelledText]:
    """Yield texts and their labels; raise a `DataError` if there are more of one than of the other."""
    where = _called(source)
    texts, cells = _texts(source, wanted, where), iter(labels)
    for number, (text, cell) in enumerate(zip_longest(texts, cells, fillvalue=GAP), 1):
        if text is GAP or cell is GAP:
            lengths = [number - 1, number + sum(1 for _ in chain(texts, cells))]
            raise unequal(*(lengths if text is GAP else reversed(lengths)))
        report.rows += 1
        yield _text_of(text, where, number), _labels_of(cell, where, number)


def unequal(texts: int, labels: int) -> DataError:
    """Return the error for texts and labels of different length."""
    return DataError(
        f"there are {texts} texts, but {labels} labels: give a label, or a list of them, for each text"
    )


def _texts(source: Any, wanted: Wanted, where: str) -> Iterator[Any]:
    opened = open_table(source)
    if opened is None:
        wanted.refuse_columns(where)
        return iter(source)
    column = string_column(opened, wanted.column)
    batches = opened.batches({column: TEXT})
    return chain.from_iterable(strings(batch.cells.column(column), where) for batch in batches)


def _text_of(value: Any, where: str, number: int) -> str:
    """Return a text from Python; an empty one if it is missing."""
    text = scalar(value)
    if text is not None and not isinstance(text, str):
        raise DataError(
            f"{where}: row {number}: the text is {text!r:.80} of type {type(text).__name__}: texts must be "
            "strings, or null"
        )
    return text or ""


def _labels_of(cell: Any, where: str, number: int) -> list[str]:
    """Return the labels of a value: a string, a number, a list of these; null and "" are none."""
    value = scalar(cell)
    if isinstance(value, (bytes, Mapping)):
        raise DataError(
            f"{where}: row {number}: the label is {value!r:.80} of type {type(value).__name__}: labels must "
            "be strings, numbers, lists of these, or null"
        )
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [label for each in value for label in _labels_of(each, where, number)]
    return [*filter(None, [spelled(value)])]
