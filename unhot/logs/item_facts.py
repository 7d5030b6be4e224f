"""What is known of items beside their log: names, and values of side columns such as genres.

CSV, TSV, JSON lines and JSON; and the files of MovieLens: u.item, movies.dat, movies.csv.
"""

import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from unhot.errors import DataError
from unhot.logs.gathering import values_of
from unhot.logs.log_reading import USUAL, usual_column
from unhot.rows.batches import RowReport
from unhot.rows.numbers import BLANKS
from unhot.rows.opening import PACKED, UNQUOTED, RowFormat, TextFile, ending_kind, open_file
from unhot.rows.paths import PathLike, find_files
from unhot.rows.remote import is_address
from unhot.rows.values import LISTS, spelled
from unhot.vocab.vocabulary import decode_word

ITEMS = (*USUAL["item"], "id")
NAMES = ("name", "title", "description")
ATTRIBUTE = "attribute"  # the column of values that have no name
SIDES = ("genres", "genre", ATTRIBUTE)
GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary"),
    *("Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller"),
    *("War", "Western"),
)
LATIN = {"u.item": "|", "movies.dat": "::"}  # files of MovieLens in latin-1, and what separates their fields


class ItemFacts(NamedTuple):
    """What is known of items."""

    names: dict[str, str]  # item -> name
    sides: dict[str, dict[str, list[str]]]  # column -> item -> values
    listed: Counter[str] = Counter()  # item -> its rows
    said: Sequence[str] = ()  # lines about bad rows, for people


def read_item_facts(
    path: PathLike,
    item: str | None = None,
    name: str | None = None,
    side: Sequence[str] = (),
    *,
    strict: bool = False,
    quotes: bool = True,
) -> ItemFacts:
    """Read a file about items; the first row of an item counts.

    item    the column of the items; None: one of the usual names, see `LogReading`
    name    the column of their names; None: name, title or description, if there is one
    side    columns of values, with | between several, of which those that the file has are read; none: genres
            or genre, as in MovieLens' files, or the lists of JSON (item -> list), as the column `attribute`
    strict  raise a `DataError` at the first bad row of a table instead of counting it
    quotes  fields of CSV and TSV may be in quotes
    """
    files, report = find_files(path), RowReport(strict)
    file: Any = files[0] if is_address(path) else Path(path)
    rows: list[Any] = [*_rows(file, report, quotes)]
    columns = [*dict.fromkeys(chain.from_iterable(rows))]
    items, names = item or usual_column(ITEMS, columns), name or usual_column(NAMES, columns)
    side = [*filter(columns.__contains__, side or SIDES)][: len(side) or 1]
    missing = [each for each in (items or ", ".join(ITEMS), name) if each and each not in columns]
    if missing:
        raise DataError(
            f"{file}: there is no column {missing[0]}: name the columns of the items, their names and "
            f"values; the columns are {', '.join(columns)[:500] or 'none'}"
        )
    keyed = [(_text(row.get(items)), row) for row in rows]
    lacking = next(
        (number for number, (key, row) in enumerate(keyed, 1) if row and not key.strip(BLANKS)), None
    )
    if lacking is not None:
        raise DataError(f"{file}: row {lacking} has no {items}: give each row the id of an item")
    keyed.reverse()  # so that the first row of an item is written last
    facts = ItemFacts(
        {key: title for key, row in keyed if (title := _text(row.get(names)).strip(BLANKS))},
        {
            column: {key: found for key, row in keyed if (found := _values(row.get(column)))}
            for column in side
        },
        Counter(key for key, row in reversed(keyed) if row),
        report.lines(),
    )
    if not facts.names and not any(facts.sides.values()):
        raise DataError(f"{file}: says nothing about items: name the columns of the names and of the values")
    return facts


def _text(value: Any) -> str:
    """Return a value as text; an empty string if it is missing, a list or an object."""
    return "" if isinstance(value, (Mapping, *LISTS)) else spelled(value) or ""


def _values(value: Any) -> list[str]:
    """Return the values of a list, or of one text."""
    return values_of(map(_text, value if isinstance(value, LISTS) else [value]))


def _rows(file: Path, report: RowReport, quotes: bool) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a file, by its name; bad ones are empty."""
    base = (file.stem if file.suffix.lower() in PACKED else file.name).lower()
    if base in LATIN:
        text = b"".join(TextFile(file, RowFormat("text")).pieces())
        yield from _movielens(text.decode("latin-1"), LATIN[base], file)
        return
    keyed = _keyed_rows(file) if base.endswith(".json") else None
    if keyed is not None:
        yield from keyed
        return
    unquoted = f"{ending_kind(file)}-unquoted"
    opened = open_file(file, RowFormat(unquoted if not quotes and unquoted in UNQUOTED else None))
    if isinstance(opened, TextFile):
        opened.close()
        raise DataError(
            f"{file}: its name does not say its kind: call it .csv, .tsv, .jsonl, .json, .parquet, "
            f"{' or '.join(LATIN)}"
        )
    for batch in opened.batches({}, every=True):
        report.take(batch)
        yield from batch.dicts()
    report.check(opened.where)


def _movielens(text: str, separator: str, file: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of u.item (item, title, date, ..., a flag for each genre) or movies.dat."""
    least = 5 + len(GENRES) if separator == "|" else 3
    for number, line in enumerate(text.replace("\r", "").split("\n"), 1):
        fields = line.split(separator)
        if len(fields) >= least:
            flags = zip(fields[-len(GENRES) :], GENRES, strict=False)
            genres = [genre for flag, genre in flags if flag == "1"] if separator == "|" else fields[-1]
            title = fields[1] if separator == "|" else separator.join(fields[1:-1])
            yield {"item": fields[0], "title": title, "genre": genres}
        elif line.strip(BLANKS):
            raise DataError(
                f"{file}: line {number}: has {len(fields)} fields with {separator} between them, not "
                f"{least}: mend it, or take it out"
            )


def _keyed_rows(file: Path) -> list[dict[str, Any]] | None:
    """Return the rows of a JSON object: item -> its columns, its values, or its name; None: it is none."""
    with contextlib.closing(TextFile(file, RowFormat("text"))) as found:
        text = b"".join(found.pieces()) if found.head.lstrip().startswith(b"{") else b"[]"
    with contextlib.suppress(ValueError, RecursionError):  # JSON lines
        value = json.loads(decode_word(text))
        if isinstance(value, Mapping):
            known = (
                each if isinstance(each, Mapping) else {ATTRIBUTE if isinstance(each, list) else "name": each}
                for each in value.values()
            )
            return [{**columns, "item": item} for item, columns in zip(value, known, strict=True)]
    return None
