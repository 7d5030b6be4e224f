"""What a recommender knows of the log that it learned from: what it keeps of it, its questions, facts.

It keeps the names and side values of its items, the questions of its split, so that it can be evaluated
without its log, and, if asked, the whole log.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from unhot.corpus.given_ids import flat
from unhot.errors import ConfigError, DataError, FormatError
from unhot.items.histories import are_lines, places_of
from unhot.largest import largest
from unhot.logs.features import EventColumns
from unhot.logs.log import Log, Sequences
from unhot.logs.splitting import Cases, Split
from unhot.types import Floats, Ids, Starts
from unhot.vectors.formats.directory import typed_arrays
from unhot.vocab.vocabulary import joined_words, split_words

LISTS = ("names", "log_items", "log_users", "sides")  # lists of words, each saved as its text and its starts
ARRAYS = {"log_ids": np.int32, "log_starts": np.int64, "log_user_of": np.int32}
ARRAYS |= {"side_starts": np.int64, "side_ids": np.int32}
LOG = "log_"  # how the names of its columns begin
NONE: Floats = np.zeros(0, np.float32)


PARTS = ("validation", "test")
# the questions of these parts, without users' names: only lines with a question, up to their last question
KINDS = {
    "ids": np.int32,  # [events] the items of these lines, as numbers into the list of words ITEMS
    "starts": np.int64,  # [lines + 1]
    "users": np.int32,  # [lines] a number for the user of each line, -1: none
    "lines": np.int64,  # [cases] the line of each question
    "ends": np.int64,  # [cases] the place of its target in ids
    "test": np.uint8,  # [cases] 1: of test, 0: of validation
}
CASES = "cases."  # how the names of their tensors begin
ITEMS = "cases.items"
MOST = 1 << 22  # events; the questions of a larger log are not kept


class SideValues(NamedTuple):
    """The values of all items: item i has the values ids[starts[i] : starts[i + 1]], each once."""

    words: Sequence[str] = ()  # COLUMN=VALUE
    starts: Starts = np.zeros(1, np.int64)  # [items + 1]
    ids: Ids = np.zeros(0, np.int32)

    def known(self, given: Mapping[str, str | Sequence[str]]) -> Ids:
        """Return the ids of given values, column -> value or values; raise a `DataError` if none is known."""
        if not isinstance(given, Mapping):
            raise ConfigError(f"values={given!r:.80}: give a mapping of side columns to values")
        pairs = [
            f"{column}={value}"
            for column, values in given.items()
            for value in ([values] if isinstance(values, str) else values)
        ]
        index = {word: number for number, word in enumerate(self.words)}
        found = [index[pair] for pair in dict.fromkeys(pairs) if pair in index]
        if not self.words:
            raise DataError("this model has no side values: train it with side columns (side=, or --side)")
        if not found:
            raise DataError(
                f"none of {', '.join(pairs)[:200] or 'no values'} is among the {len(self.words):,} side "
                f"values of the model, such as {', '.join(self.words[:3]) or 'none'}"
            )
        return np.array(found, np.int32)

    def kin(self, values: Ids, k: int) -> Ids:
        """Return the k items that share most of some values; of several, those with the lowest ids."""
        items = self.starts.size - 1
        owners = np.repeat(np.arange(items), np.diff(self.starts))
        shared = np.bincount(owners, np.isin(self.ids, values), items)
        order = largest(shared, k)
        return order[shared[order] > 0].astype(np.int32)


NO_SIDES = SideValues()


def side_values(log: Log) -> SideValues:
    """Return the values of the items of a log in all its side columns."""
    words: list[str] = []
    owners, ids = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for column, corpus in log.sides.items():
        numbers, starts = flat(corpus)
        owners.append(np.repeat(np.arange(len(log.items)), np.diff(starts)))
        ids.append(numbers + len(words))
        words += [f"{column}={value}" for value in corpus.vocabulary.words]
    owner, values = np.concatenate(owners), np.concatenate(ids)
    order = np.argsort(owner, kind="stable")
    sizes = np.bincount(owner, minlength=len(log.items))
    return SideValues(words, np.append(0, np.cumsum(sizes)), values[order].astype(np.int32))


class KeptLog(NamedTuple):
    """The names of items, their side values, and the sequences of the log, or None."""

    names: Sequence[str] = ()
    log: Sequences | None = None
    sides: SideValues = NO_SIDES

    def tensors(self) -> dict[str, Any]:
        """Return all as tensors."""
        log = self.log
        words = (self.names, *((log.item_words, log.user_words) if log else ((), ())), self.sides.words)
        found: dict[str, Any] = {}
        for name, listed in zip(LISTS, words, strict=True):
            if len(listed):
                found[f"{name}.text"], found[f"{name}.starts"] = joined_words(listed)
        sides = (self.sides.starts, self.sides.ids) if self.sides.words else ()
        arrays = (*((log.ids, log.starts, log.user_of) if log else [NONE] * 3), *sides)
        found |= {name: np.asarray(a) for name, a in zip(ARRAYS, arrays, strict=False) if a.size}
        return found | (log.columns.tensors(LOG) if log else {})

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Any], items: int) -> Self:
        """Read back what `tensors` returned; raise a `FormatError` if it is damaged."""
        names, item_words, user_words, side_words = (_words(tensors, name) for name in LISTS)
        arrays = {name: tensors.get(name, np.zeros(0, kind)) for name, kind in ARRAYS.items()}
        ids, starts, user_of, *side_arrays = arrays.values()
        sides = SideValues(side_words, *side_arrays) if side_words else NO_SIDES
        if len(names) not in (0, items) or any(
            array.ndim != 1 or array.dtype != kind
            for array, kind in zip(arrays.values(), ARRAYS.values(), strict=True)
        ):
            raise FormatError("the names or the log of a recommender are damaged: train it again")
        if side_words and not are_lines(sides.ids, sides.starts, items, len(side_words)):
            raise FormatError("the side values of a recommender are damaged: train it again")
        if not ids.size:
            return cls(names, None, sides)
        fits = are_lines(ids, starts, user_of.size, len(item_words), filled=True)
        if not fits or not -1 <= user_of.min() <= user_of.max() < len(user_words):
            raise FormatError("the log of a recommender is damaged: train it again")
        times, features = EventColumns.of_tensors(tensors, LOG, ids.size)
        log = Sequences(ids, starts, item_words, user_of, user_words, times, NONE, {}, {}, features=features)
        return cls(names, log, sides)


def _words(tensors: Mapping[str, Any], name: str) -> list[str]:
    """Return a list of words; an empty one if it was not saved."""
    text = tensors.get(f"{name}.text", np.zeros(0, np.uint8))
    starts = tensors.get(f"{name}.starts", np.zeros(1, np.int64))
    return split_words(text, starts)


def keep_of(log: Log, names: Sequence[str], sides: SideValues = NO_SIDES, *, users: bool) -> KeptLog:
    """Return what to keep of a log: with `users`, all its sequences."""
    if not users:
        return KeptLog(names, None, sides)
    ids, starts = np.array(log.ids_of_lines), np.array(log.starts)
    words = log.items.words, log.user_of, log.users.words
    times, features = log.columns.at(np.arange(ids.size))  # copies, since the log may be temporary
    return KeptLog(names, Sequences(ids, starts, *words, times, NONE, {}, {}, features=features), sides)


def keep_cases(split: Split, *, columns: bool) -> dict[str, Any]:
    """Return the questions of a split as tensors; nothing if there are none, or too many.

    columns   keep the times and the features of events, too
    """
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
    places = places_of(firsts, sizes)
    items, ids = np.unique(split.log.ids_of_lines[places], return_inverse=True)
    users = np.unique(np.append(-1, split.log.user_of[kept]), return_inverse=True)[1][1:] - 1
    test = np.repeat([0, 1], [part.ends.size for part in parts])
    arrays = (ids, starts, users, line, ends - begins + starts[line], test)
    text, text_starts = joined_words([split.log.items.words[item] for item in items])
    found = {f"cases.{name}": a.astype(KINDS[name]) for name, a in zip(KINDS, arrays, strict=True)}
    found |= split.log.columns.at(places).tensors(CASES) if columns else {}
    return {**found, f"{ITEMS}.text": text, f"{ITEMS}.starts": text_starts}


def saved_cases(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tensors that `keep_cases` returned; raise a `FormatError` if they are damaged."""
    found = {name: array for name, array in tensors.items() if name.startswith(CASES)}
    if not found:
        return {}
    damaged = "the questions that a recommender keeps of its split are damaged: train it again"
    kinds = {f"cases.{name}": (kind, 1) for name, kind in KINDS.items()}
    arrays = typed_arrays(found, kinds, damaged)
    columns = EventColumns.of_tensors(found, CASES, arrays[0].size).tensors(CASES)
    whole = {*kinds, *columns, f"{ITEMS}.text", f"{ITEMS}.starts"} == {*found}
    if not whole or not _cases_fit(arrays, len(_words(found, ITEMS))):
        raise FormatError(damaged)
    return found


def kept_part(tensors: Mapping[str, Any], part: str) -> Cases:
    """Return the kept questions of a part: validation or test."""
    ids, starts, users, lines, ends, test = (tensors[f"cases.{name}"] for name in KINDS)
    chosen = test == PARTS.index(part)
    lines, ends = lines[chosen], ends[chosen]
    names = [""] * (int(users.max()) + 1)  # only their number counts
    words, columns = _words(tensors, ITEMS), EventColumns.of_tensors(tensors, CASES, ids.size)
    return Cases(ids, starts[lines], ends, ids[ends], lines, users[lines], words, names, columns)


def _cases_fit(arrays: list[Any], items: int) -> bool:
    """Return whether all numbers are in their ranges; an end must be behind the first item of its line."""
    ids, starts, users, lines, ends, test = arrays
    sizes = lines.size == ends.size == test.size > 0 and users.size > 0
    if not sizes or not are_lines(ids, starts, users.size, items, filled=True):
        return False
    inside = lines.min() >= 0 and lines.max() < users.size
    known = -1 <= users.min() and users.max() < users.size and test.max() <= 1
    return bool(inside and known and (starts[lines] < ends).all() and (ends < starts[lines + 1]).all())


class LogRecord(NamedTuple):
    """What is known of the log of a recommender."""

    kept: KeptLog
    cases: Mapping[str, Any]  # the questions of the split, as tensors
    # its checksum, its size, which part was learned from; paths: its files, which are not saved
    facts: Mapping[str, Any]

    def tensors(self) -> dict[str, Any]:
        """Return what is saved as tensors."""
        return {**self.kept.tensors(), **self.cases}

    def saved_facts(self) -> dict[str, Any]:
        """Return what is saved in the config."""
        log = {name: value for name, value in self.facts.items() if name != "paths"}
        return {"log": {**log, "holds_users": self.kept.log is not None}}

    @classmethod
    def of_saved(cls, config: Mapping[str, Any], tensors: Mapping[str, Any], items: int) -> Self:
        """Read back what was saved; raise a `FormatError` if it is damaged."""
        facts = config.get("log")
        paths = facts.get("paths") if isinstance(facts, dict) else 0
        texts = isinstance(paths, list) and all(isinstance(path, str) for path in paths)
        if not isinstance(facts, dict) or not (paths is None or texts):
            raise FormatError("a recommender without facts about its log: config.json is damaged")
        known = {name: value for name, value in facts.items() if name != "paths"}
        return cls(KeptLog.of_tensors(tensors, items), saved_cases(tensors), known)
