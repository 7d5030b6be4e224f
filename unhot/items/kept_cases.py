"""What a saved recommender keeps of its split: the questions of validation and test, without users' names.

So it can be evaluated without its log. Only lines with a question are kept, up to their last question:

    cases.ids      int32 [events] the items of these lines, as numbers into the list of words `cases.items`
    cases.starts   int64 [lines + 1]
    cases.users    int32 [lines] a number for the user of each line, -1: none
    cases.lines    int64 [cases] the line of each question
    cases.ends     int64 [cases] the place of its target in cases.ids
    cases.test     uint8 [cases] 1: of test, 0: of validation
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unhot.errors import FormatError
from unhot.logs.splitting import Cases, Split
from unhot.vectors.formats.directory import typed_arrays
from unhot.vocab.vocabulary import joined_words, split_words

PARTS = ("validation", "test")
KINDS = {"ids": np.int32, "starts": np.int64, "users": np.int32, "lines": np.int64, "ends": np.int64}
KINDS |= {"test": np.uint8}
ITEMS = "cases.items"
MOST = 1 << 22  # events; the questions of a larger log are not kept


def keep_cases(split: Split) -> dict[str, Any]:
    """Return the questions of a split as tensors; nothing if there are none, or too many."""
    parts = [split.cases(part) for part in PARTS]
    lines, begins, ends = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("lines", "begins", "ends")
    )
    if not ends.size:
        return {}
    kept, line = np.unique(lines, return_inverse=True)
    firsts, sizes = split.log.starts[kept], np.zeros(kept.size, np.int64)
    np.maximum.at(sizes, line, ends - begins + 1)
    if sizes.sum() > MOST:
        return {}
    starts = np.append(0, np.cumsum(sizes))
    places = np.arange(starts[-1]) + np.repeat(firsts - starts[:-1], sizes)
    items, ids = np.unique(split.log.ids_of_lines[places], return_inverse=True)
    users = np.unique(np.append(-1, split.log.user_of[kept]), return_inverse=True)[1][1:] - 1
    test = np.repeat([0, 1], [part.ends.size for part in parts])
    arrays = (ids, starts, users, line, ends - begins + starts[line], test)
    text, text_starts = joined_words([split.log.items.words[item] for item in items])
    found = {f"cases.{name}": a.astype(KINDS[name]) for name, a in zip(KINDS, arrays, strict=True)}
    return {**found, f"{ITEMS}.text": text, f"{ITEMS}.starts": text_starts}


def saved_cases(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tensors that `keep_cases` returned; raise a `FormatError` if they are damaged."""
    found = {name: array for name, array in tensors.items() if name.startswith("cases.")}
    if not found:
        return {}
    damaged = "the questions that a recommender keeps of its split are damaged: train it again"
    kinds = {f"cases.{name}": (kind, 1) for name, kind in KINDS.items()}
    arrays = typed_arrays(found, kinds, damaged)
    whole = {*kinds, f"{ITEMS}.text", f"{ITEMS}.starts"} == {*found}
    if not whole or not _fits(arrays, len(_items(found))):
        raise FormatError(damaged)
    return found


def kept_part(tensors: Mapping[str, Any], part: str) -> Cases:
    """Return the kept questions of a part: validation or test."""
    ids, starts, users, lines, ends, test = (tensors[f"cases.{name}"] for name in KINDS)
    chosen = test == PARTS.index(part)
    lines, ends = lines[chosen], ends[chosen]
    names = [""] * (int(users.max()) + 1)  # only their number counts
    return Cases(ids, starts[lines], ends, ids[ends], lines, users[lines], _items(tensors), names)


def _items(tensors: Mapping[str, Any]) -> list[str]:
    return split_words(tensors[f"{ITEMS}.text"], tensors[f"{ITEMS}.starts"])


def _fits(arrays: list[Any], items: int) -> bool:
    """Return whether all numbers are in their ranges; an end must be behind the first item of its line."""
    ids, starts, users, lines, ends, test = arrays
    sizes = lines.size == ends.size == test.size > 0 and starts.size == users.size + 1 > 1
    if not sizes or starts[0] != 0 or starts[-1] != ids.size or (np.diff(starts) < 1).any():
        return False
    inside = ids.min() >= 0 and ids.max() < items and lines.min() >= 0 and lines.max() < users.size
    known = -1 <= users.min() and users.max() < users.size and test.max() <= 1
    return bool(inside and known and (starts[lines] < ends).all() and (ends < starts[lines + 1]).all())
