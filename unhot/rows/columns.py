"""Which column of a table is the text, and which the labels."""

from unhot.errors import DataError
from unhot.rows.batches import OpenedRows

TEXT_NAME = "text"
LABEL_NAMES = ("label", "labels")


def text_column(opened: OpenedRows, asked: str | None, apart: str | None = None, lists: bool = False) -> str:
    """Choose the column asked for, else `text`, else the only one, except `apart`, that can be text.

    lists  whether it may hold lists of tokens
    """
    where, columns = opened.where, {name: held for name, held in opened.holds.items() if name != apart}
    able = [name for name, tokens in columns.items() if tokens is not None]
    kinds = {False: "text", True: "tokens", None: "no text"}
    listed = ", ".join(f"{name} ({kinds[kind]})" for name, kind in columns.items()) or "none"
    if asked is not None and asked not in able:
        missing = asked not in columns
        trouble = "there is no such column" if missing else "it holds neither strings nor lists of strings"
        raise DataError(f"{where}: column {asked!r}: {trouble}; the columns are {listed}")
    if asked is None and TEXT_NAME not in able and len(able) != 1:
        raise DataError(
            f"{where}: {len(able)} columns can be text, and none is named text; choose one "
            f"(column=, or --column): the columns are {listed}"
        )
    name = asked or (TEXT_NAME if TEXT_NAME in able else able[0])
    if opened.names.count(name) > 1:
        raise DataError(f"{where}: several columns are called {name!r}: rename all but one of them")
    if columns[name] and not lists:
        raise DataError(f"{where}: column {name!r} holds lists of tokens: give a column of strings")
    return name


def label_column(opened: OpenedRows, asked: str | None) -> str:
    """Choose the column of the labels: the one asked for, else `label`, else `labels`."""
    wanted = LABEL_NAMES if asked is None else (asked,)
    for name in wanted:
        if name in opened.holds:
            return name
    raise DataError(
        f"{opened.where}: there is no column {' or '.join(wanted)}: name the one of the labels "
        f"(label_column=, or --label-column); the columns are {', '.join(opened.names) or 'none'}"
    )
