"""How to read a log: which columns hold what, in which format it is, and what happens to bad rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from unhot.errors import ConfigError, DataError, finite, one_of
from unhot.rows.opening import KINDS, RowFormat, format_of

SESSIONS = ("sessions", "user-sessions")
EDGES = "edges"
FORMATS = (*KINDS[1:], "movielens", *SESSIONS, EDGES)
# names of columns, the first that is there is taken; letters and digits count, in small letters
USUAL = {
    "user": ("user", "userid", "customer", "customerid", "visitorid", "reviewerid", "uid"),
    "item": (
        *("item", "itemid", "movieid", "product", "productid", "stockcode", "asin", "artistid", "sku"),
        "iid",
    ),
    "time": (
        *("time", "timestamp", "date", "datetime", "invoicedate", "createdat", "eventtime"),
        *("ts", "unixtime", "unixtimestamp", "unixreviewtime", "epoch", "timestampms", "timems"),
        *("eventtimestamp", "eventdate", "eventts", "orderdate", "ordertime", "orderedat", "invoicetime"),
        *("purchasedate", "purchasetime", "purchasetimestamp", "purchasedat", "transactiondate", "tdat"),
        *("transactiontime", "createdtime", "creationdate", "creationtime", "ratedat", "ratingtime"),
        *("ratingtimestamp", "ratingdate", "reviewdate", "reviewtimestamp", "clicktime", "viewtime"),
        *("visittime", "visitdate", "sessiondate", "playedat", "watchedat", "servertime", "logtime"),
    ),
    "weight": ("rating", "weight", "score", "count", "quantity"),
}
# columns of words, which may be blank: what was booked, what was rejected, the type of the user at the time
MARKS = ("booked", "rejected", "user_type")
ROLES = (*USUAL, "session", *MARKS)
FEATURES = "features "  # stands before the names of further columns, which are kept of each event


@dataclass(frozen=True, kw_only=True)
class LogReading:
    """How to read a log.

    user, item, time, weight    names of columns; None: the usual names, such as userId, product_id, timestamp
                                or rating, in any case
    session     a column of sessions; a log that has one needs no user
    booked      a column that says whether the item was booked or bought: anything but 0, no, false or nothing
    rejected    likewise, whether the user was rejected for the item
    user_type   a column of types of users, such as new
    side        columns that hold values of the item, such as its brand; `|` stands between several values
    features    columns that are kept of each event, such as the device or the age of its user (features.py)
    categories  those of these columns that hold categories even if all their values are numbers
    format      csv, tsv, csv-unquoted, tsv-unquoted (a quote is a character like any other), jsonl, parquet,
                arrow, movielens (u.data, ratings.dat), sessions (a line holds the items of a session),
                user-sessions (a line holds a user, then items), edges (a line holds two words, and maybe a
                weight); None: by its bytes and its name
    header      the names of the columns of CSV or TSV without a header line; separator: of its fields
    time_format how times are written that are neither numbers nor ISO 8601: as `datetime.strptime` takes it,
                such as %d.%m.%Y %H:%M
    min_rating  leave out rows with a smaller weight; they are counted, but are not bad
    strict      raise a `DataError` at the first bad row instead of counting it
    force       read files even if they do not look like text
    usual       role -> usual names of its column
    titles      role -> what it is called in messages, if it is not called by its role
    edges       rows are edges of a graph: a weight must be a number above zero
    """

    user: str | None = None
    item: str | None = None
    time: str | None = None
    weight: str | None = None
    session: str | None = None
    booked: str | None = None
    rejected: str | None = None
    user_type: str | None = None
    side: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    format: str | None = None
    header: str | Sequence[str] | None = None
    separator: str | None = None
    time_format: str | None = None
    min_rating: float | None = None
    strict: bool = False
    force: bool = False
    usual: Mapping[str, Sequence[str]] = field(default_factory=lambda: USUAL)
    titles: Mapping[str, str] = field(default_factory=dict)
    edges: bool = False

    def __post_init__(self) -> None:
        """Check what can be checked without the log."""
        if self.format is not None:
            one_of("format", self.format, FORMATS)
        if self.min_rating is not None:
            finite("min_rating", self.min_rating)
        for name in ("side", "features", "categories"):
            if isinstance(found := getattr(self, name), str):
                raise ConfigError(f"{name}={found!r}: give the names of the columns as a tuple")
        if strange := {*self.categories} - {*self.features}:
            raise ConfigError(f"categories={min(strange)!r}: is not in features: add it there")
        self.form  # noqa: B018 (checked now)

    @property
    def form(self) -> RowFormat:
        """How files are read that are text."""
        kind = self.format if self.format in KINDS else self.format and "text"
        return format_of(kind, self.force, self.header, self.separator)


AS_USUAL = LogReading()


def usual_column(usual: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the first column with a usual name; None if there is none."""
    # the first of several is taken; RecBole writes the type of a column behind it: user_id:token
    simple = {
        "".join(filter(str.isalnum, str(name).partition(":")[0].lower())): name for name in reversed(names)
    }
    return next((simple[each] for each in usual if each in simple), None)


def choose_columns(names: Sequence[str], how: LogReading, where: str) -> dict[str, str]:
    """Choose columns by the names that are asked for, or by the usual ones; return them by what they are."""
    asked = {role: getattr(how, role) or usual_column(how.usual.get(role, ()), names) for role in ROLES}
    chosen = {role: name for role, name in asked.items() if name is not None}
    chosen |= {f"{FEATURES}{name}": name for name in how.features}
    listed = f"the columns are {', '.join(str(name)[:80] for name in names[:50]) or 'none'}"
    for role, name in (*chosen.items(), *(("side", name) for name in how.side)):
        if [*names].count(name) != 1:
            trouble = "several columns have this name" if name in names else "there is no such column"
            raise DataError(
                f"{where}: {how.titles.get(role, role.partition(' ')[0])}={name!r}: {trouble}; {listed}"
            )
    ways_out = {"user": ", or one of sessions", "weight": ", or leave min_rating out"}
    for role in (
        "item",
        *["user"] * ("user" in how.usual and "session" not in chosen),
        *["weight"] * (how.min_rating is not None),
    ):
        if role not in chosen:
            title = how.titles.get(role, role)
            more = "" if how.titles else ways_out.get(role, "")
            raise DataError(
                f"{where}: no column is called {', '.join(how.usual[role])}: name it "
                f"({title}=, or --{title}){more}; {listed}"
            )
    return chosen
