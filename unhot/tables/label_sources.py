"""Where rows with labels come from: a file, a table, pairs, or texts with labels beside them."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from unhot.corpus.reading.tables import table_batches
from unhot.errors import ConfigError, DataError
from unhot.tables.arrow_rows import slices
from unhot.tables.batches import MOST, RowBatch, chosen_label, chosen_text
from unhot.tables.files import kind_of, open_lines, open_table
from unhot.tables.json_rows import record_batch
from unhot.tables.label_cells import labels_of, text_of
from unhot.tables.label_lines import label_rows
from unhot.tables.text_lines import line_blocks
from unhot.vocab.vocabulary import encode_word

GAP = object()  # takes the place of what the shorter one of two iterables has not


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


def file_rows(path: Path | None, wanted: Wanted) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of a file, or of standard input (None)."""
    kind = kind_of(path, wanted.kind)
    if kind != "text":
        yield from _table_rows(open_table(path, kind, wanted.force).batches, wanted)
        return
    where, before = str(path or "standard input"), 0
    wanted.refuse_columns(f"lines of text ({where})")
    for data in line_blocks(open_lines(path, wanted.force)):
        yield from label_rows(data, wanted.prefix, before, where)
        before += data.count(b"\n")


def object_rows(source: Iterable[Any], wanted: Wanted) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of a table, of dicts, of pairs (text, label), or of label lines."""
    batches, where = table_batches(source), f"a {type(source).__name__}"
    if batches is not None:
        yield from _table_rows(slices(batches, where), wanted, getattr(source, "features", None))
        return
    items = iter(source)
    first = next(items, "")
    items = chain([first], items)
    if isinstance(first, Mapping):
        yield from _table_rows(_record_batches(items, where), wanted)
        return
    wanted.refuse_columns(where)
    for number, item in enumerate(items, 1):
        if isinstance(item, str):
            yield from label_rows(encode_word(item.replace("\n", " ")), wanted.prefix, number - 1, where)
        elif isinstance(item, (tuple, list)) and len(item) == 2:
            yield text_of(item[0], where, number) or "", labels_of(item[1], None, where, number)
        else:
            raise DataError(
                f"{where}: row {number} is {item!r:.80}: give pairs (text, label), dicts, or texts and labels"
            )


def paired_rows(source: Any, labels: Any, wanted: Wanted) -> Iterator[tuple[str, list[str]]]:
    """Yield texts and their labels; raise a `DataError` if there are more of one than of the other."""
    where = f"a {type(source).__name__}"
    texts, cells = _texts(source, wanted, where), iter(labels)
    for number, (text, cell) in enumerate(zip_longest(texts, cells, fillvalue=GAP), 1):
        if text is GAP or cell is GAP:
            lengths = [number - 1, number + sum(1 for _ in chain(texts, cells))]
            raise unequal(*(lengths if text is GAP else reversed(lengths)))
        yield text_of(text, where, number) or "", labels_of(cell, None, where, number)


def unequal(texts: int, labels: int) -> DataError:
    """Return the error for texts and labels of different length."""
    return DataError(
        f"there are {texts} texts, but {labels} labels: give a label, or a list of them, for each text"
    )


def _texts(source: Any, wanted: Wanted, where: str) -> Iterator[Any]:
    batches = table_batches(source)
    if batches is None:
        wanted.refuse_columns(where)
        return iter(source)
    found = slices(batches, where)
    return chain.from_iterable(batch.cells(chosen_text(batch, wanted.column)) for batch in found)


def _table_rows(
    batches: Iterator[RowBatch], wanted: Wanted, features: Any = None
) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of a table; `features`: those of a Hugging Face dataset, which may name its labels."""
    before, label = 0, ""
    column = ""
    for batch in batches:
        label = label or chosen_label(batch, wanted.label_column)
        column = column or chosen_text(batch, wanted.column, label)
        names, texts = _names(features, label), batch.cells(column)
        for number, (text, cell) in enumerate(zip(texts, batch.cells(label), strict=True), before + 1):
            yield text_of(text, batch.where, number) or "", labels_of(cell, names, batch.where, number)
        before += len(texts)


def _names(features: Any, label: str) -> list[str] | None:
    """Return the names of a dataset's labels, if it has some; its labels may be lists."""
    feature = features.get(label) if isinstance(features, Mapping) else None
    names: list[str] | None = getattr(getattr(feature, "feature", feature), "names", None)
    return names


def _record_batches(items: Iterator[Any], where: str) -> Iterator[RowBatch]:
    before = 0
    while rows := list(islice(items, MOST)):
        yield record_batch(rows, where, before)
        before += len(rows)
