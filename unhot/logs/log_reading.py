"""How to read a log: which columns hold what, in which format it is, and what happens to bad rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from unhot.errors import ConfigError, DataError, finite, one_of

FORMATS = ("csv", "tsv", "jsonl", "parquet", "movielens", "sessions", "user-sessions")
# names of columns, the first that is there is taken; letters and digits count, in small letters
USUAL = {
    "user": ("user", "userid", "customer", "customerid", "visitorid", "reviewerid", "uid"),
    "item": (
        *("item", "itemid", "movieid", "product", "productid", "stockcode", "asin", "artistid", "sku"),
        "iid",
    ),
    "time": ("time", "timestamp", "date", "datetime", "invoicedate", "createdat", "eventtime"),
    "weight": ("rating", "weight", "score", "count", "quantity"),
}
ROLES = (*USUAL, "session")


@dataclass(frozen=True, kw_only=True)
class LogReading:
    """How to read a log.

    user, item, time, weight    names of columns; None: the usual names, such as userId, product_id, timestamp
                                or rating, in any case
    session     a column of sessions; a log that has one needs no user
    side        columns that hold values of the item, such as its brand; `|` stands between several values
    format      csv, tsv, jsonl, parquet, movielens (u.data, ratings.dat), sessions (a line holds the items of
                a session), user-sessions (a line holds a user, then items); None: by its name and its bytes
    min_rating  leave out rows with a smaller weight; they are counted, but are not bad
    strict      raise a `DataError` at the first bad row instead of counting it
    force       read files even if they do not look like text
    """

    user: str | None = None
    item: str | None = None
    time: str | None = None
    weight: str | None = None
    session: str | None = None
    side: tuple[str, ...] = ()
    format: str | None = None
    min_rating: float | None = None
    strict: bool = False
    force: bool = False

    def __post_init__(self) -> None:
        """Check what can be checked without the log."""
        if self.format is not None:
            one_of("format", self.format, FORMATS)
        if self.min_rating is not None:
            finite("min_rating", self.min_rating)
        if isinstance(self.side, str):
            raise ConfigError(f"side={self.side!r}: give the names of the columns as a tuple")

    def refuse_columns(self, what: str) -> None:
        """Raise a `ConfigError` if columns are named, because `what` has no names of columns."""
        named = [role for role in (*ROLES, "side") if getattr(self, role)]
        if named:
            raise ConfigError(
                f"{named[0]}={getattr(self, named[0])!r}: {what} has no names of columns; leave "
                f"{', '.join(named)} out, or give a table or a file with a header"
            )


AS_USUAL = LogReading()


class LogColumns(NamedTuple):
    """The columns of a log by their names, or numbers if they have none; None: there is no such column."""

    user: str | int | None
    item: str | int
    time: str | int | None = None
    weight: str | int | None = None
    session: str | int | None = None
    side: tuple[str, ...] = ()

    def wanted(self) -> list[str | int]:
        """Return the columns to read, each once."""
        return [*dict.fromkeys(name for name in (*self[:5], *self.side) if name is not None)]


def usual_name(name: object) -> str:
    """Return the letters and digits of a name, in small letters."""
    return "".join(filter(str.isalnum, str(name).lower()))


def choose_columns(names: Sequence[str], how: LogReading, where: str) -> LogColumns:
    """Choose the columns of a log by the names that are asked for, or by the usual ones."""
    simple = {usual_name(name): name for name in reversed(names)}  # the first of several is taken

    def column(role: str) -> str | None:
        usual = (simple[name] for name in USUAL.get(role, ()) if name in simple)
        found = getattr(how, role) or next(usual, None)
        return found if found is None else _existing(found, role, names, where)

    user, item, session = map(column, ("user", "item", "session"))
    if item is None or (user is None and session is None):
        role = "item" if item is None else "user"
        raise DataError(
            f"{where}: no column is called {role}, {', '.join(USUAL[role][1:])}: name the one of the "
            f"{role}s ({role}=, or --{role}){', or one of sessions' * (role == 'user')}; the columns are "
            f"{_listed(names)}"
        )
    weight = column("weight")
    check_weights(weight is not None, how, where)
    side = tuple(_existing(name, "side", names, where) for name in how.side)
    return LogColumns(user, item, column("time"), weight, session, side)


def check_weights(there: bool, how: LogReading, where: str) -> None:
    """Raise a `DataError` if there are no weights, but `min_rating` needs them."""
    if how.min_rating is not None and not there:
        raise DataError(
            f"{where}: min_rating={how.min_rating} needs a column of ratings: name it (weight=, or "
            "--weight), or leave min_rating out"
        )


def _existing(asked: str, role: str, names: Sequence[str], where: str) -> str:
    """Return a name that was asked for; raise a `DataError` unless one column has it."""
    found = [*names].count(asked)
    if found != 1:
        trouble = "several columns have this name" if found else "there is no such column"
        raise DataError(f"{where}: {role}={asked!r}: {trouble}; the columns are {_listed(names)}")
    return asked


def _listed(names: Sequence[str]) -> str:
    return ", ".join(str(name)[:80] for name in names[:50]) or "none"
