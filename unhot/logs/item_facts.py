"""What is known of items beside their log: names, and values of side columns such as genres.

CSV, TSV, JSON lines and JSON; and the files of MovieLens: u.item, movies.dat, movies.csv.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from unhot.corpus.reading.files import PathLike
from unhot.errors import DataError
from unhot.logs.cell_values import BLANKS, id_text, side_values
from unhot.logs.log_reading import USUAL, usual_name
from unhot.tables.files import PACKED, ending_kind, open_lines, open_table
from unhot.tables.text_lines import line_blocks
from unhot.vocab.vocabulary import decode_word

ITEMS = (*USUAL["item"], "id")
NAMES = ("name", "title", "description")
SAMPLE = 1000  # rows that decide the columns
ATTRIBUTE = "attribute"  # the column of values that have no name
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


def read_item_facts(
    path: PathLike, item: str | None = None, name: str | None = None, side: Sequence[str] = ()
) -> ItemFacts:
    """Read a file about items; the first row of an item counts.

    item    the column of the items; None: one of the usual names, see `LogReading`
    name    the column of their names; None: name, title or description, if there is one
    side    columns of values, with | between several; none: the genres of MovieLens' files, and the lists of
            JSON (item -> list), as the column `attribute`
    """
    file = Path(path)
    if not file.is_file():
        raise DataError(f"{file}: no such file: give a file about items")
    base = (file.stem if file.suffix.lower() in PACKED else file.name).lower()
    usual = {"movies.csv": "genres"}.get(base, "genre" if base in LATIN else ATTRIBUTE)
    if base in LATIN:
        rows: Iterable[Any] = _movielens(file, LATIN[base])
    elif base.endswith(".json"):
        rows = _json_rows(file)
    else:
        kind = ending_kind(file)
        if kind is None:
            raise DataError(
                f"{file}: its name does not say its kind: call it .csv, .tsv, .jsonl, .json, .parquet, "
                f"{' or '.join(LATIN)}"
            )
        rows = (row for batch in open_table(file, kind).batches for row in batch.records())
    return _facts(rows, item, name, side, usual, str(file))


def _movielens(file: Path, separator: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of u.item (item, title, date, ..., a flag for each genre) or movies.dat."""
    least = 5 + len(GENRES) if separator == "|" else 3
    for number, line in enumerate(_text(file).decode("latin-1").split("\n"), 1):
        fields = line.rstrip("\r").split(separator)
        if len(fields) >= least:
            title, genres = "::".join(fields[1:-1]), side_values(fields[-1])
            if separator == "|":
                flags = zip(fields[-len(GENRES) :], GENRES, strict=True)
                title, genres = fields[1], [genre for flag, genre in flags if flag == "1"]
            yield {"item": fields[0], "title": title, "genre": genres}
        elif line.strip(BLANKS):
            raise DataError(
                f"{file}: line {number}: has {len(fields)} fields with {separator} between them, not "
                f"{least}: mend it, or take it out"
            )


def _json_rows(file: Path) -> Iterable[Any]:
    """Return the rows of a list of objects, or of an object: item -> its columns, its values, or its name."""
    try:
        value = json.loads(decode_word(_text(file)))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file}: is not valid JSON ({error}): mend it") from None
    if isinstance(value, Mapping):
        return [{**_columns(known), "item": item} for item, known in value.items()]
    if isinstance(value, list):
        return value
    raise DataError(f"{file}: holds {value!r:.80}: give an object, item -> what is known of it, or a list")


def _columns(known: Any) -> Mapping[str, Any]:
    """Return what is known of an item as columns."""
    if isinstance(known, Mapping):
        return known
    return {ATTRIBUTE: known} if isinstance(known, list) else {"name": known}


def _text(file: Path) -> bytes:
    """Return the text of a file."""
    return b"".join(line_blocks(open_lines(file, force=False)))


def _facts(
    rows: Iterable[Any], item: str | None, name: str | None, side: Sequence[str], usual: str, where: str
) -> ItemFacts:
    """Read rows with named columns; without `side`, the column `usual` is read, if there is one."""
    left = iter(rows)
    first = [*islice(left, SAMPLE)]
    columns = [*dict.fromkeys(column for row in first if isinstance(row, Mapping) for column in row)]
    items, names = _column(item, ITEMS, columns), _column(name, NAMES, columns)
    side = side or [usual] * (usual in columns)
    missing = [each for each in (item, name, *side) if each is not None and each not in columns]
    if items is None or missing:
        raise DataError(
            f"{where}: there is no column {missing[0] if missing else ', '.join(ITEMS)}: name the columns of "
            f"the items, their names and values; the columns are {', '.join(columns)[:500] or 'none'}"
        )
    facts = ItemFacts({}, {column: {} for column in side})
    for number, row in enumerate(chain(first, left), 1):
        key = id_text(row.get(items)) if isinstance(row, Mapping) else ""
        if not key.strip(BLANKS):
            raise DataError(f"{where}: row {number} has no {items}: give each row the id of an item")
        title = id_text(row.get(names)).strip(BLANKS)
        if title:
            facts.names.setdefault(key, title)
        for column, known in facts.sides.items():
            found = side_values(row.get(column))
            if found:
                known.setdefault(key, found)
    if not facts.names and not any(facts.sides.values()):
        raise DataError(f"{where}: says nothing about items: name the columns of the names and of the values")
    return facts


def _column(asked: str | None, usual: Sequence[str], columns: Sequence[str]) -> str | None:
    """Return the column asked for, or the first with a usual name; None if there is none."""
    simple = {usual_name(column): column for column in reversed(columns)}
    return asked or next((simple[each] for each in usual if each in simple), None)
