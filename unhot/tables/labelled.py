"""Rows with labels, from files, tables and Python: one text and its labels after another."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from unhot.corpus.reading.files import find_files
from unhot.corpus.reading.sources import paths_of
from unhot.errors import DataError
from unhot.tables.label_lines import PREFIX, check_prefix
from unhot.tables.label_sources import Wanted, file_rows, object_rows, paired_rows, unequal


@dataclass
class LabelReport:
    """What was read so far; blank lines do not count."""

    rows: int = 0  # all of them
    without_label: int = 0  # which were left out
    without_text: int = 0
    several_labels: int = 0

    def note(self) -> str:
        """Return a sentence about the rows that were left out; an empty string if there were none."""
        few = self.without_label
        return f"{few:,} of {self.rows:,} rows have no label and were left out" if few else ""


class LabelledRows:
    """An iterable of (text, labels); rows without a label are left out; `report` counts while it is read."""

    def __init__(self, read: Callable[[], Iterator[tuple[str, list[str]]]], again: bool) -> None:
        """Take a function that begins to read, and whether it may be called again."""
        self.report = LabelReport()
        self.again = again
        self._read, self._begun = read, False

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        """Read all rows, from the beginning."""
        if self._begun and not self.again:
            raise DataError(
                "the rows come from an iterator or a pipe and were read already: give a list or a file to "
                "read them again"
            )
        self._begun = True
        self.report = report = LabelReport()
        for row in self._read():
            text, labels = row
            report.rows += 1
            if not text or text.isspace():
                report.without_text += 1
            if len(labels) > 1:
                report.several_labels += 1
            if labels:
                yield row
            else:
                report.without_label += 1


def labelled_rows(
    source: Any,
    labels: Any = None,
    *,
    column: str | None = None,
    label_column: str | None = None,
    prefix: str = PREFIX,
    kind: str | None = None,
    force: bool = False,
) -> LabelledRows:
    """Return an iterable of (text, labels).

    source        files: a path, a folder, a pattern, a list of paths, `-` for standard input, compressed or
                  not. The ending says how they are read: .csv and .tsv with a header line, .jsonl and .ndjson
                  with an object a line, .parquet; everything else is lines such as `__label__A some words`.
                  Or a table: of Arrow, a data frame, a Hugging Face dataset, an iterable of dicts.
                  Or an iterable of pairs (text, label), or of label lines.
    labels        the labels of the texts, if the source is texts: an iterable of the same length. A label is
                  a string, a number, a list of these, or None.
    column        the column of the text; otherwise `text`, or the only one that holds strings
    label_column  the column of the labels; otherwise `label` or `labels`
    prefix        what a token of a label line begins with if it is a label
    kind          text, csv, tsv, jsonl or parquet, instead of what the ending says
    force         read also files that do not look like text
    """
    check_prefix(prefix)
    wanted = Wanted(column, label_column, prefix, kind, force)
    again = not isinstance(source, Iterator) and not isinstance(labels, Iterator)
    if labels is not None:
        _check_iterable(source, "the texts")
        _check_iterable(labels, "the labels")
        if hasattr(source, "__len__") and hasattr(labels, "__len__") and len(source) != len(labels):
            raise unequal(len(source), len(labels))
        return LabelledRows(lambda: paired_rows(source, labels, wanted), again)
    paths = paths_of(source)
    if paths is None:
        _check_iterable(source, "the source")
        return LabelledRows(lambda: object_rows(source, wanted), again)
    files = [file for path in paths for file in find_files(path)]
    again = all(file is not None and file.is_file() for file in files)  # not pipes
    return LabelledRows(lambda: chain.from_iterable(file_rows(file, wanted) for file in files), again)


def _check_iterable(value: object, what: str) -> None:
    table = hasattr(value, "__arrow_c_stream__") or hasattr(value, "column_names")
    if isinstance(value, (str, bytes, bytearray, os.PathLike)) or not (table or isinstance(value, Iterable)):
        raise DataError(
            f"{what}: {value!r:.80} is of type {type(value).__name__}: give a list, a column of a table or "
            "another iterable; or a file or a table that holds both texts and labels"
        )
