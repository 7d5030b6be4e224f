"""Types of users and items as the words of one text: what users of a type booked, and were rejected for.

A line belongs to a user while the user is of one type. For each booking it holds the type of the user and the
type of the item, in order of time:

    user:new item:tent/3 user:new item:lamp/1 ...

The types of items for which the user was rejected meanwhile go with the line as given negatives. So skip-gram
on these lines puts users and items into one space: near a type of users are the types that they book, and far
from it those that do not want them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import DataError, FormatError
from unhot.items.kept_log import SideValues, side_values
from unhot.logs.features import BOOKED, REJECTED
from unhot.logs.log import Log, Sequences, make_log
from unhot.types import Floats
from unhot.vectors.formats.directory import typed_arrays
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import joined_words, split_words

USER, ITEM = "user:", "item:"
BETWEEN = "/"  # stands between the values of several columns
UNKNOWN = "-"  # stands for a value that an item does not have
TENSORS = {
    "types.vectors": (np.float32, 2),
    "types.out_vectors": (np.float32, 2),
    "types.counts": (np.int64, 1),
    "types.text": (np.uint8, 1),
    "types.starts": (np.int64, 1),
}


class TypeLog(NamedTuple):
    """Lines of types, and the types that each line was rejected for, as words."""

    log: Log
    rejected: list[set[str]]


def item_values(sides: SideValues, columns: Sequence[str]) -> list[str]:
    """Return the type of each item: its values in some columns together."""
    parts = []
    for column in columns:
        of = np.array([word.startswith(f"{column}=") for word in sides.words], bool)
        words = [word.removeprefix(f"{column}=") for word in sides.words]
        lines = np.split(sides.ids, sides.starts[1:-1])
        parts.append([BETWEEN.join(words[v] for v in line[of[line]]) or UNKNOWN for line in lines])
    return [ITEM + BETWEEN.join(each) for each in zip(*parts, strict=True)]


def type_log(log: Log, columns: Sequence[str]) -> TypeLog:
    """Return the types of a log with bookings; its items have the type of some side columns together."""
    if missing := [column for column in columns if column not in log.sides]:
        raise DataError(f"item_type={missing[0]}: the log has no values of this column")
    kinds = item_values(side_values(log), columns)
    lines: dict[tuple[int, int], tuple[list[str], set[str]]] = {}
    line_of = np.repeat(np.arange(log.sentences), np.diff(log.starts))
    owner = np.where(log.user_of >= 0, log.user_of, len(log.users) + np.arange(log.sentences))
    marked = np.flatnonzero(log.marks)
    for place, line in zip(marked.tolist(), line_of[marked].tolist(), strict=True):
        kind = int(log.type_of[line])
        booked, rejected = lines.setdefault((int(owner[line]), kind), ([], set()))
        if log.marks[place] & REJECTED:
            rejected.add(kinds[log.ids_of_lines[place]])
        if log.marks[place] & BOOKED and kind >= 0:
            booked += [USER + log.types.words[kind], kinds[log.ids_of_lines[place]]]
    found = [line for line in lines.values() if line[0]]
    if not found:
        raise DataError("item_type, user_type: the log has no booking of a user with a type")
    # each type is also a line of its own, which trains nothing, so that every type has a row
    words = sorted({word for booked, rejected in found for word in (*booked, *rejected)})
    index = {word: number for number, word in enumerate(words)}
    texts = [*(booked for booked, _ in found), *([word] for word in words)]
    ids = np.array([index[word] for text in texts for word in text], np.int32)
    starts = np.cumsum([0, *map(len, texts)])
    nobody, none = np.full(len(texts), -1, np.int32), np.zeros(0, np.float32)
    made = make_log(Sequences(ids, starts, words, nobody, (), none.astype(np.float64), none, {}, {}))
    return TypeLog(made, [*(rejected for _, rejected in found), *(set() for _ in words)])


class LearnedTypes(NamedTuple):
    """The vectors of types: of types of users and items, by words such as user:new and item:tent."""

    vectors: Vectors
    out_vectors: Floats  # in the same order: x . o says how much a type goes with another

    def scores(self, word: str) -> dict[str, float]:
        """Return how much each type goes with the type of a word."""
        found = self.out_vectors @ self.vectors[word]
        return dict(zip(self.vectors.words, found.tolist(), strict=True))

    def tensors(self) -> dict[str, Any]:
        """Return all as tensors."""
        words, own = joined_words(self.vectors.words), (self.vectors.vectors, self.out_vectors)
        return dict(zip(TENSORS, map(np.asarray, (*own, self.vectors.counts, *words)), strict=True))


def types_from(tensors: Mapping[str, Any]) -> LearnedTypes | None:
    """Return what `LearnedTypes.tensors` returned; None if there is nothing."""
    if not TENSORS.keys() & tensors.keys():
        return None
    damaged = "the vectors of types of a session model are damaged: train it again"
    vectors, out, counts, text, starts = typed_arrays(tensors, TENSORS, damaged)
    words = split_words(text, starts)
    sizes = {len(vectors), counts.size, len(words), len(set(words))}
    if vectors.shape != out.shape or len(sizes) > 1:
        raise FormatError("the vectors of types of a session model do not fit its types: train it again")
    return LearnedTypes(Vectors(words, vectors, counts), out)
