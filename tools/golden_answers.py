"""Compare what the golden models answer with what was recorded, and record it.

    python tools/golden_answers.py [NAME ...]    print the answers that differ, and exit 1 if there are any

Words, labels, whole numbers and orders must be equal. Other numbers may differ by `RELATIVE` of their size.
tests/golden/models/NAME.json has the answers of the model in the folder NAME, one per line.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from golden_questions import MODELS, asked

RELATIVE = 1e-5
ZERO = 1e-9  # numbers that should be zero may differ by this much
ROUNDED = 1e-6  # commands round some numbers to six digits; the last one may differ
TIE = 1e-4  # two scores that are nearer than this, relative to their size, are nearly a tie
VARYING = {"unhot", "bytes", "seconds", "milliseconds", "holds"}  # versions, sizes, times, and prose

Answers = dict[str, Any]


def answers(name: str) -> Answers:
    """Return what a golden model answers, as JSON has it."""
    return dict(plain(asked(MODELS / name)))


def recorded(name: str) -> Answers:
    """Return what a golden model answered when it was recorded."""
    return dict(json.loads((MODELS / f"{name}.json").read_text(encoding="utf-8")))


def check(name: str) -> list[str]:
    """Return the answers of a golden model that differ from the recorded ones."""
    return [f"{name}: {place}" for place in differences(recorded(name), answers(name))]


def record(name: str) -> None:
    """Write down what a golden model answers; print the places where a small error would change an order."""
    found = answers(name)
    for place in near_ties(found):
        print(f"{name}: nearly a tie: {place}")
    sections = []
    for section, each in found.items():
        lines = [f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in each.items()]
        sections.append(f" {json.dumps(section)}: {{\n" + ",\n".join(lines) + "\n }")
    text = "{\n" + ",\n".join(sections) + "\n}\n"
    (MODELS / f"{name}.json").write_text(text, encoding="utf-8")


def names() -> list[str]:
    """Return the names of all golden models."""
    return sorted(path.name for path in MODELS.iterdir() if path.is_dir())


def plain(value: Any) -> Any:
    """Return an answer as JSON has it: numbers of nine digits, names of files, without what varies."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items() if name not in VARYING}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else str(value)
    return Path(value).name if isinstance(value, str) and value.startswith("/") else value


def differences(expected: Any, found: Any, place: str = "") -> list[str]:
    """Return the places where two answers differ, with both values."""
    if isinstance(expected, dict) and isinstance(found, dict):
        names = [*dict.fromkeys([*expected, *found])]
        missing = [name for name in names if name not in expected or name not in found]
        both = [name for name in names if name in expected and name in found]
        wrong = [f"{place}/{name}: is only in one of them" for name in missing]
        return wrong + [each for n in both for each in differences(expected[n], found[n], f"{place}/{n}")]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [each for n, pair in pairs for each in differences(*pair, f"{place}/{n}")]
    return [] if _same(expected, found, place) else [f"{place}: was {expected!r}, is {found!r}"]


def _same(expected: Any, found: Any, place: str) -> bool:
    if type(expected) is float and type(found) is float:
        near_zero = ROUNDED if place.startswith("/commands") else ZERO
        return math.isclose(expected, found, rel_tol=RELATIVE, abs_tol=near_zero)
    return type(expected) is type(found) and bool(expected == found)


def near_ties(found: Any, place: str = "") -> list[str]:
    """Return the places where a small error would change an order: two scores in a row are nearly equal.

    All items of one type have the same score for a type of users, so those ties are left out.
    """
    if isinstance(found, dict):
        asked = [name for name in found if name != "info" and "--user-type" not in name]
        return [each for name in asked for each in near_ties(found[name], f"{place}/{name}")]
    if not isinstance(found, list):
        return []
    deeper = [each for number, one in enumerate(found) for each in near_ties(one, f"{place}/{number}")]
    scores = [score for each in found if (score := _score(each)) is not None]
    ranked = len(scores) > 1 and scores == sorted(scores, reverse=True)
    close = [pair for pair in zip(scores, scores[1:], strict=False) if _tied(pair)]
    return deeper + ([f"{place}: {pair}" for pair in close] if ranked else [])


def _score(entry: Any) -> float | None:
    """Return the score of an entry of a ranking: a name and a score, or an object that has one."""
    if isinstance(entry, dict):
        numbers = [entry[name] for name in ("similarity", "score", "probability") if name in entry]
        return numbers[0] if numbers else None
    if isinstance(entry, list) and len(entry) in (2, 3) and isinstance(entry[0], str):
        return entry[1] if isinstance(entry[1], float) else None
    return None


def _tied(pair: Sequence[float]) -> bool:
    return abs(pair[0] - pair[1]) < TIE * max(map(abs, pair))


def main() -> int:
    """Compare the models that the command line names, or all."""
    given = sys.argv[1:] or names()
    wrong = [place for name in given for place in check(name)]
    print("\n".join([*wrong, f"{len(given)} models, {len(wrong)} differences"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
