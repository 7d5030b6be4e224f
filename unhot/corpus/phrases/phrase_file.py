"""Save and load phrases: a JSON file with one line for each phrase.

{"unhot": "phrases", "version": 1, "settings": {"score": "word2vec", "delimiter": "_", ...}, "passes": [[
[["new", "york"], 1234.5, 678],
...
]]}

A line holds the parts of a phrase, its score and how often the parts were neighbours. There is one list of
lines for each pass, best first. Words that are not valid UTF-8 keep their bytes as escaped surrogates.
"""

import math
from pathlib import Path
from typing import Any

from unhot.atomic import replacing
from unhot.errors import DataError, FormatError
from unhot.json_file import json_text, read_json

KIND, VERSION = "phrases", 1
AGAIN = "the file is damaged, or does not hold phrases; write it again"

ScoredPhrase = tuple[tuple[str, ...], float, int]  # parts, score, count


def save_phrases(path: Path, settings: dict[str, Any], passes: list[list[ScoredPhrase]]) -> None:
    """Write settings and phrases to a file; an error leaves no partial file."""
    head = json_text({"unhot": KIND, "version": VERSION, "settings": settings})
    lists = "], [".join("\n" + ",\n".join(map(json_text, entries)) + "\n" for entries in passes)
    with replacing(path) as file:
        file.write(f'{head[:-1]}, "passes": [{f"[{lists}]" if passes else ""}]}}\n'.encode("ascii"))


def load_phrases(path: Path) -> tuple[dict[str, Any], list[list[ScoredPhrase]]]:
    """Read the settings and the phrases of each pass; raise a `FormatError` if the file is wrong."""
    try:
        content = read_json(path, AGAIN)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror or error}); give a file that `unhot phrases "
            "--phrases` wrote"
        ) from error
    if not isinstance(content, dict) or content.get("unhot") != KIND:
        raise FormatError(f'{path}: byte 0: "unhot": "phrases" is missing; {AGAIN}')
    if content.get("version") != VERSION:
        raise FormatError(
            f"{path}: version {content.get('version')!r}: this unhot reads version {VERSION}; {AGAIN}"
        )
    settings, passes = content.get("settings"), content.get("passes")
    if (
        not isinstance(settings, dict)
        or not isinstance(passes, list)
        or not all(isinstance(entries, list) for entries in passes)
    ):
        raise FormatError(f"{path}: settings or passes are missing; {AGAIN}")
    return settings, [
        [_entry(path, number, entry) for entry in entries] for number, entries in enumerate(passes, 1)
    ]


def _entry(path: Path, number: int, entry: Any) -> ScoredPhrase:
    """Return an entry of the file as a checked phrase; raise a `FormatError` if it is wrong."""
    try:
        parts, score, count = entry
        words = isinstance(parts, list) and all(isinstance(part, str) and part for part in parts)
        if words and len(parts) >= 2 and type(count) is int and count >= 1 and math.isfinite(score):
            return tuple(parts), float(score), count
    except (TypeError, ValueError, OverflowError):
        pass
    raise FormatError(
        f"{path}: pass {number}: {entry!r:.80} is not a list of at least two words, a score and a count; "
        f"{AGAIN}"
    )
