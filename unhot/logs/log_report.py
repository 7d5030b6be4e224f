"""What became of the rows of a log, and why rows are bad."""

from dataclasses import dataclass, field

EXAMPLES = 5
LONGEST_ID = 4096  # bytes of an id
# codes of rows: one byte a row; 0 is a fine one
FINE, LOW, FIELDS, QUOTES, NO_OBJECT, NO_USER, NO_ITEM, NO_SESSION, LONG, TIME, WEIGHT, LIGHT = range(12)
REASONS = {
    FIELDS: "has the wrong number of fields",
    QUOTES: "has text behind a closing quote: double each quote inside a field in quotes",
    NO_OBJECT: "is not like the first row: an object, or a tuple of as many values",
    NO_USER: "has no user",
    NO_ITEM: "has no item",
    NO_SESSION: "has no session",
    LONG: f"has an id of more than {LONGEST_ID:,} bytes",
    TIME: "has a time that is neither a number nor an ISO date",
    WEIGHT: "has a weight that is not a number",
    LIGHT: "has a weight that is not above zero",
}


@dataclass
class LogReport:
    """Numbers of rows: rows = kept + bad + low."""

    rows: int = 0
    kept: int = 0
    bad: int = 0
    low: int = 0  # below min_rating
    examples: list[str] = field(default_factory=list)  # of bad rows, such as "line 17: has no item"
    forms: list[str] = field(default_factory=list)  # how files list the edges of a graph
    comments: int = 0  # lines of such files that are comments
    lone: set[str] = field(default_factory=set)  # nodes of adjacency lists in whose lines are no neighbors

    def lines(self) -> list[str]:
        """Return lines about rows that were left out, for people; an empty list if there are none."""
        low = f"{self.low:,} of {self.rows:,} rows are below min_rating and were left out"
        bad = f"{self.bad:,} of {self.rows:,} rows are bad and were left out, for example:"
        return [low] * (self.low > 0) + [bad] * (self.bad > 0) + [f"  {each}" for each in self.examples]

    def recognized(self) -> list[str]:
        """Return lines about how files list edges, and about their comments, for people."""
        comments = f"comments, lines that start with # or %: {self.comments:,}"
        return self.forms + [comments] * (self.comments > 0)
