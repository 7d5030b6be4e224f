"""What became of the rows of a log, and why rows are bad."""

from dataclasses import dataclass, field

from unhot.rows.batches import RowReport

LONGEST_ID = 4096  # bytes of an id
# codes of rows: one byte a row; 0 is a fine one
FINE, LOW, NO_ROW, NO_USER, NO_ITEM, NO_SESSION, LONG, TIME, MIXED, WEIGHT, LIGHT = range(11)
REASONS = {
    NO_USER: "has no user",
    NO_ITEM: "has no item",
    NO_SESSION: "has no session",
    LONG: f"has an id of more than {LONGEST_ID:,} bytes",
    TIME: "has a time that is neither a number nor an ISO date",
    MIXED: "has a number where the first rows have dates, or a date where they have numbers",
    WEIGHT: "has a weight that is not a number",
    LIGHT: "has a weight that is not above zero",
}


@dataclass
class LogReport(RowReport):
    """Numbers of rows: rows = kept + bad + low."""

    kept: int = 0
    low: int = 0  # below min_rating
    forms: list[str] = field(default_factory=list)  # what files are read as
    comments: int = 0  # lines of such files that are comments
    lone: set[str] = field(default_factory=set)  # nodes of adjacency lists in whose lines are no neighbors

    def lines(self) -> list[str]:
        """Return lines about rows that were left out, for people; an empty list if there are none."""
        low = f"{self.low:,} of {self.rows:,} rows are below min_rating and were left out"
        return [low] * (self.low > 0) + super().lines()

    def recognized(self) -> list[str]:
        """Return lines about how files list edges, and about their comments, for people."""
        comments = f"comments, lines that start with # or %: {self.comments:,}"
        return self.forms + [comments] * (self.comments > 0)
