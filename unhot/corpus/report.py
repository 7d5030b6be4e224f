"""What was read, and what was odd about it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from unhot.errors import FormatError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """Numbers of one encoding."""

    files: int = 0
    bytes: int = 0  # uncompressed; for sentences given from Python, of their UTF-8 form
    words: int = 0  # tokens read
    kept: int = 0  # tokens that are in the vocabulary
    sentences: int = 0  # that hold at least one kept token; all lines if empty ones are kept
    types: int = 0  # different words before the vocabulary was cut
    invalid_utf8: int = 0  # tokens
    nul_bytes: int = 0
    byte_order_marks: int = 0

    def lines(self) -> list[str]:
        """What was odd, in plain words, one line each; empty if nothing was."""
        odd = [
            (
                self.invalid_utf8,
                "words are not valid UTF-8; kept byte by byte (is the text in another encoding?)",
            ),
            (self.nul_bytes, "NUL bytes, read as white space (is it a binary file, or UTF-16?)"),
            (self.byte_order_marks, "byte order mark(s) at the start of files, removed"),
        ]
        return [f"{number:,} {what}" for number, what in odd if number]

    def __str__(self) -> str:
        """One line of numbers, then what was odd."""
        files = f", {self.files:,} file{'s' if self.files > 1 else ''}" if self.files else ""
        read = (
            f"{self.words:,} words ({self.types:,} different) in {self.sentences:,} sentences, "
            f"{self.bytes:,} bytes{files}; {self.kept:,} words kept"
        )
        return "\n".join([read, *self.lines()])

    def to_json(self) -> dict[str, int]:
        """As a dictionary of numbers."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, numbers: Mapping[str, object]) -> Report:
        """From such a dictionary; `FormatError` if it is none."""
        fields = {field.name for field in dataclasses.fields(cls)}
        wrong = [
            f"{name}={value!r}"
            for name, value in numbers.items()
            if name not in fields or type(value) is not int or value < 0
        ]
        if wrong:
            raise FormatError(
                f"report: {', '.join(wrong)}: must be one of {', '.join(sorted(fields))}, each a whole "
                "number >= 0"
            )
        return cls(**numbers)  # type: ignore[arg-type]
