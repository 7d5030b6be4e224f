"""Rows with labels, from files, tables and Python: one text and its labels after another.

Lines with labels are those of fastText: `__label__A __label__B some words`. A token that begins with the
prefix is a label, wherever it stands. The label is what follows the prefix.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice, zip_longest
from typing import Any

from unhot.errors import ConfigError, DataError
from unhot.rows.batches import LIST, TEXT, OpenedRows, Record, RowBatch, TextReport
from unhot.rows.opening import TextFile, check_delimited, format_of, open_file
from unhot.rows.paths import find_files, paths_of
from unhot.rows.records import RowBlock
from unhot.rows.tables import is_table, open_table, values_of
from unhot.rows.values import CHUNK, open_objects, strings, value_lists
from unhot.vocab.vocabulary import decode_word, encode_word

PREFIX = "__label__"
FEW = 8  # so many labels at the beginning of a line are taken off one by one
BLANKS = b" \t\n\v\f\r\0"  # bytes that separate tokens
SPACES = bytes.maketrans(b"\t\v\f\r\0", b" " * 5)  # all but line feeds, which end a line

LabelledText = tuple[str, list[str]]
GAP = object()  # takes the place of what the shorter one of two iterables has not
PAIR = ("text", "label")  # the columns of rows that are pairs


class LabelledRows:
    """An iterable of (text, labels); rows without a label are left out; `report` counts while it is read.

    source        files: a path, a folder, a pattern, a list of paths, `-` for standard input, compressed or
                  not: CSV and TSV, JSON lines or a JSON list, parquet, Arrow; everything else is lines such
                  as `__label__A some words`.
                  Or a table: of Arrow, a data frame, a Hugging Face dataset, an iterable of dicts.
                  Or an iterable of pairs (text, label), or of label lines.
    labels        the labels of the texts, if the source is texts: an iterable of the same length. A label is
                  a string, a number, a list of these, or None.
    column        the column of the text; otherwise `text`, or the only one that holds strings
    label_column  the column of the labels; otherwise `label` or `labels`
    prefix        what a token of a label line begins with if it is a label
    strict        raise a `DataError` at the first bad row instead of counting it
    form          kind, header, separator, force: see `format_of`
    """

    def __init__(
        self,
        source: Any,
        labels: Any = None,
        *,
        column: str | None = None,
        label_column: str | None = None,
        prefix: str = PREFIX,
        strict: bool = False,
        **form: Any,
    ) -> None:
        """Find the files, and check what can be checked without reading."""
        if not prefix or any(blank in prefix for blank in BLANKS.decode()):
            raise ConfigError(
                f"prefix={prefix!r}: must be at least one character, and no white space, such as {PREFIX}"
            )
        paths = paths_of(source) if labels is None else None
        self._files = None if paths is None else [file for path in paths for file in find_files(path)]
        self._where = f"a {type(source).__name__}" if paths is None else ", ".join(map(str, paths[:3]))
        self._source, self._labels = source, labels
        self._prefix = prefix
        self._columns, self._form = (column, label_column), format_of(**form)
        once = isinstance(source, Iterator) or isinstance(labels, Iterator)
        # whether they can be read again: pipes cannot
        self.again = all(file is not None and file.is_file() for file in self._files or ()) and not once
        self.report, self._begun = TextReport(strict), False
        if paths is None:
            check_delimited("the source", self._where, self._form)
            _check_iterable(source, "the source" if labels is None else "the texts")
            _check_iterable(() if labels is None else labels, "the labels")
            if hasattr(source, "__len__") and hasattr(labels, "__len__") and len(source) != len(labels):
                raise unequal(len(source), len(labels))

    def __iter__(self) -> Iterator[LabelledText]:
        """Read all rows, from the beginning."""
        if self._begun and not self.again:
            raise DataError(
                "the rows come from an iterator or a pipe and were read already: give a list or a file to "
                "read them again"
            )
        several = len(self._files or ()) > 1
        report = TextReport(self.report.strict, several, empty="count as empty texts")
        self.report, self._begun = report, True
        for text, labels in chain.from_iterable(self._parts()):
            report.without_text += not text or text.isspace()
            report.several_labels += len(labels) > 1
            report.without_label += not labels
            if labels:
                yield text, labels
        report.check(self._where)

    def _parts(self) -> Iterator[Iterable[LabelledText]]:
        """Yield the rows of each file, or those of what came from Python."""
        if self._files is None:
            yield self._of_object()
        for file in self._files or ():
            with contextlib.closing(open_file(file, self._form)) as opened:
                if isinstance(opened, TextFile):
                    self._refuse_columns(f"lines of text ({opened.where})")
                    yield self._of_lines(opened.blocks(), opened.where, "line")
                else:
                    yield self._of_table(opened, *self._columns)

    def _refuse_columns(self, what: str) -> None:
        """Raise a `ConfigError` if a column was asked for."""
        if self._columns != (None, None):
            raise ConfigError(
                f"column={self._columns[0]!r}, label_column={self._columns[1]!r}: only tables have columns, "
                f"but the source is {what}; leave them out"
            )

    def _good(self, batch: RowBatch, rows: Iterable[LabelledText]) -> Iterator[LabelledText]:
        """Count the rows of a batch, and return those that are not bad."""
        self.report.take(batch)
        return (row for place, row in enumerate(rows) if place not in batch.faults)

    def _of_lines(self, blocks: Iterable[RowBlock], where: str, unit: str) -> Iterator[LabelledText]:
        """Yield the rows of label lines."""
        for block in blocks:
            rows = labelled_lines(block, self._prefix)
            wrong = f"a label is empty, there is only its prefix {self._prefix}"
            faults = {place: wrong for place, (_, labels) in enumerate(rows.values()) if "" in labels}
            numbers = [Record(number, b"") for number in rows]
            batch = RowBatch(where, len(rows), {}, unit, faults=faults, records=partial(list, numbers))
            yield from self._good(batch, rows.values())

    def _of_table(
        self, opened: OpenedRows, column: str | None, label: str | None, features: Any = None
    ) -> Iterator[LabelledText]:
        """Yield the rows of a table; `features`: of a Hugging Face dataset, which may name its labels."""
        if not opened.names:  # an empty table, or rows that are all bad
            for batch in opened.batches({}):
                self.report.take(batch)
                self.report.without_label += batch.size - len(batch.faults)
            return
        label = opened.label_column(label)
        text = opened.text_column(column, label)
        self.report.recognize(opened, text=text, label=label)
        feature = features.get(label) if isinstance(features, Mapping) else None
        names = getattr(getattr(feature, "feature", feature), "names", None)  # labels may be lists
        for batch in opened.batches({text: TEXT, label: LIST}):
            found = value_lists(batch.cells[label], batch.where, names)
            lines = zip(strings(batch.cells[text], batch.where), found, strict=True)
            yield from self._good(batch, ((line or "", [*filter(None, each)]) for line, each in lines))

    def _of_object(self) -> Iterable[LabelledText]:
        """Return the rows of a table, of dicts, of pairs, of label lines, or of texts with their labels."""
        opened = open_table(self._source)
        if self._labels is not None:
            if opened is None:
                self._refuse_columns(self._where)
            texts = values_of(self._source) if opened is None else _texts(opened, self._columns[0])
            pairs = _paired(texts, values_of(self._labels))
            return self._of_table(open_objects(pairs, self._where, PAIR), None, None)
        if opened is None:
            rest = values_of(self._source)
            first = next(rest, "")
            if not isinstance(first, Mapping):
                self._refuse_columns(self._where)
            if isinstance(first, str):
                return self._of_lines(_line_blocks(chain([first], rest), self._where), self._where, "row")
            opened = open_objects(chain([first], rest), self._where, PAIR)
        return self._of_table(opened, *self._columns, getattr(self._source, "features", None))


def _check_iterable(value: object, what: str) -> None:
    single = isinstance(value, (str, bytes, bytearray, os.PathLike))
    if single or not (isinstance(value, Iterable) or is_table(value)):
        raise DataError(
            f"{what}: {value!r:.80} is of type {type(value).__name__}: give a list, a column of a table or "
            "another iterable; or a file or a table that holds both texts and labels"
        )


def _texts(opened: OpenedRows, asked: str | None) -> Iterator[Any]:
    """Yield the texts of a table."""
    column = opened.text_column(asked)
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


def _line_blocks(items: Iterator[Any], where: str) -> Iterator[RowBlock]:
    """Yield label lines from Python as blocks."""
    for first, some in enumerate(iter(lambda: [*islice(items, CHUNK)], [])):
        for place, line in enumerate(some, 1 + first * CHUNK):
            if not isinstance(line, str):
                raise DataError(
                    f"{where}: row {place} is {line!r:.80}: give pairs (text, label), dicts, or "
                    "texts and labels"
                )
        yield RowBlock(encode_word("\n".join([line.replace("\n", " ") for line in some])), 1 + first * CHUNK)


def labelled_lines(block: RowBlock, prefix: str) -> dict[int, LabelledText]:
    """Return the number of each line that is not blank, and its text and labels."""
    skip, rows = len(prefix), dict[int, LabelledText]()
    for number, line in enumerate(decode_word(block.data.translate(SPACES)).split("\n"), block.line):
        text, labels = line, list[str]()
        while text.startswith(prefix) and len(labels) < FEW:
            label, _, text = text.partition(" ")
            labels.append(label[skip:])
        if prefix in text:
            tokens = text.split(" ")
            labels += [token[skip:] for token in tokens if token.startswith(prefix)]
            text = " ".join([token for token in tokens if not token.startswith(prefix)])
        text = text.strip(" ")
        if text or labels:
            rows[number] = (text, labels)
    return rows
