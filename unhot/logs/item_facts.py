"""What is known of items beside their log: names, and values of side columns such as genres.

CSV, TSV, JSON lines and JSON; and the files of MovieLens: u.item, movies.dat, movies.csv.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import DataError
from unhot.logs.events import take_rows
from unhot.logs.gathering import Gathered
from unhot.logs.log_reading import USUAL, LogReading, usual_column
from unhot.rows.batches import OpenedRows
from unhot.rows.numbers import BLANKS
from unhot.rows.opening import PACKED, UNQUOTED, RowFormat, TextFile, ending_kind, open_file
from unhot.rows.paths import PathLike, find_files
from unhot.rows.remote import is_address
from unhot.rows.values import open_objects
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
    listed: Mapping[str, int] = {}  # item -> its rows
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
    strict  raise a `DataError` at the first bad row, such as one without an item, instead of counting it
    quotes  fields of CSV and TSV may be in quotes
    """
    files = find_files(path)
    file: Any = files[0] if is_address(path) else Path(path)
    with contextlib.closing(_opened(file, quotes)) as opened:
        columns = opened.names
        items, title = item or usual_column(ITEMS, columns), name or usual_column(NAMES, columns)
        side = [*filter(columns.__contains__, side or SIDES)][: len(side) or 1]
        missing = [each for each in (items or ", ".join(ITEMS), name) if each and each not in columns]
        if missing and columns:
            raise DataError(
                f"{file}: there is no column {missing[0]}: name the columns of the items, their names and "
                f"values; the columns are {', '.join(columns)[:500]}"
            )
        named = (title,) if title else ()
        # a table of items is a log without users
        how = LogReading(
            item=items, side=tuple(side), features=named, categories=named, strict=strict, usual={}
        )
        gathered = Gathered(how)
        for _ in take_rows(opened, gathered):
            pass
    found = gathered.events(f"{file}")
    words, names = found.item_words, dict[str, str]()
    for ids, titles in found.features.values():  # if there are any
        spelt = [*(each.strip(BLANKS) for each in titles or ()), ""]
        told = [(row, i) for row, i in zip(found.items.tolist(), ids.tolist(), strict=True) if spelt[i]]
        # in this order, but the first one of an item counts
        names = {words[row]: spelt[i] for row, i in told} | {words[row]: spelt[i] for row, i in told[::-1]}
    if not names and not any(found.sides.values()):
        raise DataError(f"{file}: says nothing about items: name the columns of the names and of the values")
    listed = dict(zip(words, np.bincount(found.items).tolist(), strict=True))
    return ItemFacts(names, found.sides, listed, found.report.lines())


def _opened(file: Path, quotes: bool) -> OpenedRows:
    """Open the rows of a file, by its name."""
    base = (file.stem if file.suffix.lower() in PACKED else file.name).lower()
    if base in LATIN:
        text = b"".join(TextFile(file, RowFormat("text")).pieces())
        return open_objects(_movielens(text.decode("latin-1"), LATIN[base], file), str(file))
    keyed = _keyed_rows(file) if base.endswith(".json") else None
    if keyed is not None:
        return open_objects(keyed, str(file))
    unquoted = f"{ending_kind(file)}-unquoted"
    opened = open_file(file, RowFormat(unquoted if not quotes and unquoted in UNQUOTED else None))
    if isinstance(opened, TextFile):
        opened.close()
        raise DataError(
            f"{file}: its name does not say its kind: call it .csv, .tsv, .jsonl, .json, .parquet, "
            f"{' or '.join(LATIN)}"
        )
    return opened


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
                f"{least}: fix or remove it"
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
