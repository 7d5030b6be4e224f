"""A report of what encoding read, and of oddities in the text."""

import dataclasses
from collections.abc import Mapping

from unhot.errors import FormatError

LONGEST_WORD = 1 << 20  # bytes; longer words are counted and left out


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """Numbers about one encoded text."""

    files: int = 0
    bytes: int = 0  # uncompressed; sentences given from Python count in UTF-8
    words: int = 0  # tokens read, without those that are too long or skipped
    kept: int = 0  # tokens that are in the vocabulary
    sentences: int = 0  # sentences with at least one kept token; all lines if empty ones are kept
    types: int = 0  # different words, before rare ones were dropped
    invalid_utf8: int = 0  # tokens that are not valid UTF-8
    nul_bytes: int = 0
    byte_order_marks: int = 0
    long_words: int = 0  # tokens of more than LONGEST_WORD bytes, which were left out
    skipped: int = 0  # tokens that were read as white space, because the model said so
    rows: int = 0  # of tables
    bad_rows: int = 0  # which were left out
    said: tuple[str, ...] = ()  # for people: which files are tables, and examples of bad rows; not saved

    def lines(self) -> list[str]:
        """Return one line for each oddity of the text; an empty list if there was none."""
        odd = [
            (
                self.invalid_utf8,
                "words are not valid UTF-8; their bytes are kept (is the text in another encoding?)",
            ),
            (self.nul_bytes, "NUL bytes were read as white space (is it a binary file, or UTF-16?)"),
            (self.byte_order_marks, "byte order mark(s) at the start of files were removed"),
            (self.long_words, f"words longer than {LONGEST_WORD:,} bytes were left out"),
            (self.skipped, "words such as <s> and </s> were read as white space"),
        ]
        return [*self.said, *(f"{number:,} {what}" for number, what in odd if number)]

    def __str__(self) -> str:
        """Return one line of numbers, then one line for each oddity."""
        files = f", {self.files:,} file{'s' if self.files > 1 else ''}" if self.files else ""
        read = (
            f"{self.words:,} words ({self.types:,} different) in {self.sentences:,} sentences, "
            f"{self.bytes:,} bytes{files}; {self.kept:,} words kept"
        )
        return "\n".join([read, *self.lines()])

    def to_json(self) -> dict[str, int]:
        """Return the numbers as a dictionary; those unknown to old versions only if they are not 0."""
        return {
            name: number
            for name, number in dataclasses.asdict(self).items()
            if name != "said" and (number or name not in ("long_words", "skipped", "rows", "bad_rows"))
        }

    @classmethod
    def from_json(cls, numbers: Mapping[str, object]) -> "Report":
        """Make a report from the dictionary that `to_json` returns; raise a `FormatError` if it is wrong."""
        fields = {field.name for field in dataclasses.fields(cls)} - {"said"}
        wrong = [
            f"{name}={value!r}"
            for name, value in numbers.items()
            if name not in fields or type(value) is not int or value < 0
        ]
        if wrong:
            raise FormatError(
                f"report: {', '.join(wrong)}: the fields are {', '.join(sorted(fields))}, each a whole "
                "number >= 0"
            )
        return cls(**numbers)  # type: ignore[arg-type]
