"""A log of what users did with items, as a corpus: a line is a sequence of items in order of time.

A line is the history of a user, or a session. On disk a log is a corpus with some more files:

log.json        which of the other files there are, what was read and how; it is written last
times.bin       float64 [events] seconds, in the order of the ids
weights.bin     float32 [events] ratings or weights, in the same order
rows.bin        int64 [events] the numbers of their rows, if there are no times and lines are not rows
marks.bin       uint8 [events] 1: booked, 2: rejected, 3: both
names.txt       the names of the items, in the order of the vocabulary; an empty line: no name
beside/users    a corpus: line i is the user of line i
beside/types    a corpus: line i is the type of the user of line i
sides/NAME      a corpus: line i holds the values of item i in the side column NAME
features/N      values.bin: the N-th further column of events, in the same order: float32 numbers, or int32
                ids of the categories in vocab.txt (indexed_folder.py)
"""

import functools
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from unhot.corpus.corpus import Corpus, checked_names
from unhot.corpus.given_ids import BLOCK, IdText, flat, write_ids
from unhot.corpus.indexed_folder import (
    check_size,
    has_file,
    map_numbers,
    read_index,
    read_vocabulary,
    save_index,
    save_vocabulary,
)
from unhot.corpus.shards import check_ids
from unhot.corpus.workplace import Workplace
from unhot.errors import ConfigError, DataError, FormatError
from unhot.logs.features import NO_MARKS, EventColumns, Feature
from unhot.threads import parts_of
from unhot.types import Bytes, Counts, Doubles, Floats, Ids, Starts
from unhot.vocab.vocabulary import Vocabulary, canonical, decode_words, encode_word, sortable

VERSION = 1
INDEX, NAMES = "log.json", "names.txt"
TIMES, WEIGHTS = "times.bin", "weights.bin"
ROWS, MARKS = "rows.bin", "marks.bin"
KINDS = {TIMES: "<f8", WEIGHTS: "<f4", ROWS: "<i8", MARKS: "u1"}
SIDES = "sides"
FOLDER, VALUES = "features", "values.bin"
USERS, TYPES = "users", "types"
HOW = "how"
AGAIN = "read the log again"
NO_ROWS: Starts = np.zeros(0, np.int64)
NO_TYPES: Ids = np.zeros(0, np.int32)


class HowRead(NamedTuple):
    """How a log was read."""

    settings: Mapping[str, Any] = {}  # of `read_log`, with the columns that were taken; empty: not known
    seen: Sequence[str] = ()  # the names of all columns; empty if lines are sessions
    ordered: bool = False  # without times, events are in order of time: lines of sessions, or if it was said
    columns: str = ""  # for people: what each column was taken for

    @property
    def sessions(self) -> bool:
        """Whether lines are sessions of users, not their histories."""
        return any(self.settings.get(name) is not None for name in ("session", "gap"))

    @classmethod
    def of_json(cls, found: Any, damaged: str) -> Self:
        """Make it of what was saved (None: nothing was); raise a `FormatError` if it has another form."""
        known = isinstance(found, dict) and found.keys() <= cls._field_defaults.keys()
        how = cls(**found) if known else cls()
        names = [*how.seen] if isinstance(how.seen, (list, tuple)) else [None]
        fits = isinstance(how.settings, dict) and all(isinstance(name, str) for name in (*names, how.columns))
        if not fits or not (known or found is None):
            raise FormatError(damaged)
        return how


class Sequences(NamedTuple):
    """What a log is made of; items and users are numbers into their lists of words."""

    ids: Ids  # [events] items
    starts: Starts  # [lines + 1] into `places`
    item_words: Sequence[str]
    user_of: Ids  # [lines], -1: no user
    user_words: Sequence[str]
    times: Doubles  # [events], or empty
    weights: Floats  # [events], or empty
    names: Mapping[str, str]  # item -> its name
    sides: Mapping[str, Mapping[str, Sequence[str]]]  # column -> item -> its values
    rows: Starts = NO_ROWS  # [events] where each event stood in the file, or empty: in this order
    marks: Bytes = NO_MARKS  # [events] 1: booked, 2: rejected, 3: both; or empty
    type_of: Ids = NO_TYPES  # [lines] the type of the user, -1: none; or empty
    type_words: Sequence[str] = ()
    features: Mapping[str, Feature] = {}  # of each event
    places: Any = None  # the events of all lines, one line after another; None: all, in this order

    @property
    def columns(self) -> EventColumns:
        """What is known of all events beside their items."""
        return EventColumns(self.times, self.features)


class Log(Corpus):
    """Sequences of items; made by `read_log`, `Log.open` or `Log.part`."""

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> "Log":
        """Open a folder that `read_log` kept; raise a `FormatError` if it is damaged or incomplete."""
        path = Path(directory)
        read_index(path / INDEX, VERSION, AGAIN)
        log = super().open(path)
        assert isinstance(log, Log)
        for name in KINDS:
            log._numbers(name)
        for side in log.sides.values():
            if side.sentences != len(log.items):
                raise FormatError(
                    f"{path}: {side.directory} has {side.sentences} lines, not {len(log.items)}: {AGAIN}"
                )
        most = max((np.diff(flat(other)[1]).max() for other in log.beside.values()), default=0)
        if (np.diff(log.starts) < 1).any() or most > 1:
            raise FormatError(f"{path}: a line has no item, or several users: the file is damaged, {AGAIN}")
        if NAMES in log.facts["files"] and len(log.names) != len(log.items):
            raise FormatError(f"{path / NAMES}: {len(log.names)} names of {len(log.items)} items: {AGAIN}")
        _ = log.features  # opening them checks them
        return log

    @functools.cached_property
    def facts(self) -> dict[str, Any]:
        """The index of the log: its files, side columns, and what was read."""
        found = read_index(self.directory / INDEX, VERSION, AGAIN)
        lists = [found.get(name) for name in ("files", SIDES, "report")]
        if not all(isinstance(each, list) and all(isinstance(x, str) for x in each) for each in lists) or (
            NAMES in found["files"] and not has_file(self.directory / NAMES)
        ):
            raise FormatError(f"{self.directory / INDEX}: the file is damaged: {AGAIN}")
        return found

    @functools.cached_property
    def how(self) -> HowRead:
        """How the log was read."""
        return HowRead.of_json(self.facts.get(HOW), f"{self.directory / INDEX}: the file is damaged: {AGAIN}")

    @property
    def items(self) -> Vocabulary:
        """The items, with the number of their events."""
        return self.vocabulary

    @property
    def users(self) -> Vocabulary:
        """The users, with the number of their lines; empty if the log names none."""
        return self.beside[USERS].vocabulary if USERS in self.beside else Vocabulary([], [])

    @functools.cached_property
    def user_of(self) -> Ids:
        """The user of each line, -1: none."""
        return self._one_a_line(USERS)

    @property
    def types(self) -> Vocabulary:
        """The types of users, with the number of their lines; empty if the log has none."""
        return self.beside[TYPES].vocabulary if TYPES in self.beside else Vocabulary([], [])

    @property
    def type_of(self) -> Ids:
        """The type of the user of each line, -1: none."""
        return self._one_a_line(TYPES)

    def _one_a_line(self, name: str) -> Ids:
        found = np.full(self.sentences, -1, np.int32)
        if name in self.beside:
            ids, starts = flat(self.beside[name])
            found[np.diff(starts) > 0] = ids
        return found

    @functools.cached_property
    def _flat(self) -> tuple[Ids, Starts]:
        return flat(self)

    @property
    def ids_of_lines(self) -> Ids:
        """The items of all lines, one line after another."""
        return self._flat[0]

    @property
    def starts(self) -> Starts:
        """Where each line begins, and the number of events."""
        return self._flat[1]

    @functools.cached_property
    def times(self) -> Doubles:
        """The times of all events in seconds; empty if the log has none."""
        return self._numbers(TIMES)

    @functools.cached_property
    def weights(self) -> Floats:
        """The ratings or weights of all events; empty if the log has none."""
        return self._numbers(WEIGHTS)

    @functools.cached_property
    def marks(self) -> Bytes:
        """What was booked (1), rejected (2) or both (3); empty if the log does not say."""
        return self._numbers(MARKS)

    @functools.cached_property
    def features(self) -> dict[str, Feature]:
        """Further columns of all events, by name."""
        folders, events = self.directory / FOLDER, self.ids_of_lines.size
        try:
            listed = {str(key): categories for key, categories in self.facts.get(FOLDER, [])}
        except (TypeError, ValueError) as error:
            raise FormatError(f"{self.directory / INDEX}: {error}: the file is damaged, {AGAIN}") from error
        return {
            key: _open_feature(folders / str(number), categories, events)
            for number, (key, categories) in enumerate(listed.items())
        }

    @property
    def columns(self) -> EventColumns:
        """What is known of all events beside their items."""
        return EventColumns(self.times, self.features)

    @property
    def by_time(self) -> Starts:
        """The places of all events, oldest first: by time, or by the rows of the file."""
        rows: Any = self.times if self.times.size else self._numbers(ROWS)
        return np.argsort(rows, kind="stable") if rows.size else np.arange(self.words)

    def _numbers(self, name: str) -> np.ndarray[Any, Any]:
        """Map the numbers of all events in a file; none if there is no such file."""
        found = np.zeros(0, KINDS[name])
        if name in self.facts["files"]:
            check_size(self.directory / name, self.ids_of_lines.size * found.itemsize, AGAIN)
            found = map_numbers(self.directory / name, found.dtype)
        return found

    @functools.cached_property
    def names(self) -> list[str]:
        """The names of all items, "" where there is none; an empty list if no item has a name."""
        if NAMES not in self.facts["files"]:
            return []
        return decode_words((self.directory / NAMES).read_bytes().split(b"\n")[:-1])

    @functools.cached_property
    def sides(self) -> dict[str, Corpus]:
        """The side columns: line i of each corpus holds the values of item i."""
        try:
            names = checked_names(self.facts[SIDES])
        except ConfigError as error:
            raise FormatError(f"{self.directory / INDEX}: {error}: the file is damaged, {AGAIN}") from error
        return {name: Corpus.open(self.directory / SIDES / name) for name in names}

    def part(self, ends: Starts) -> "Log":
        """Return the log of what comes before `ends[i]` in each line i; its items are counted anew."""
        sizes = ends - self.starts[:-1]
        inside = np.arange(self.ids_of_lines.size) < np.repeat(ends, np.diff(self.starts))
        lines = np.flatnonzero(sizes > 0)
        if not lines.size:
            raise DataError(
                "this split leaves nothing to learn from: the log is too short for it; use split=none"
            )
        return make_log(
            Sequences(
                ids=self.ids_of_lines,
                starts=np.append(0, np.cumsum(sizes[lines])),
                item_words=self.items.words,
                user_of=self.user_of[lines],
                user_words=self.users.words,
                times=self.times,
                weights=self.weights,
                names=dict(zip(self.items.words, self.names, strict=False)),
                sides={name: _by_item(side, self.items.words) for name, side in self.sides.items()},
                rows=self._numbers(ROWS),
                marks=self.marks,
                type_of=self.type_of[lines],
                type_words=self.types.words,
                features=self.features,
                places=np.flatnonzero(inside),
            ),
            how=self.how,
        )

    def __repr__(self) -> str:
        """Show the size of the log and its directory."""
        return (
            f"Log({self.words} events of {len(self.users)} users with {len(self.items)} items, "
            f"{self.sentences} lines in {self.directory})"
        )

    def close(self) -> None:
        """Release what is mapped, and remove the directory if it is temporary."""
        for name in ("_flat", "times", "weights", "marks", "features"):
            self.__dict__.pop(name, None)
        super().close()


def make_log(
    given: Sequences,
    directory: str | os.PathLike[str] | None = None,
    report: Iterable[str] = (),
    how: HowRead | None = None,
) -> Log:
    """Write a log; items and users that have no event are left out, the others are ranked by their events."""
    items, ranks = ranked(given.item_words, _counted(given.ids, given.places, len(given.item_words)))
    ids, at = np.empty(given.starts[-1], np.int32), 0
    for part in _parts(given.ids, given.places):
        ids[at : at + part.size] = ranks[part]
        at += part.size
    beside = {}
    for name, of, words in (
        (USERS, given.user_of, given.user_words),
        (TYPES, given.type_of, given.type_words),
    ):
        named = of >= 0
        if named.any():
            known, places = ranked(words, np.bincount(of[named], minlength=len(words)))
            beside[name] = IdText(places[of[named]], np.append(0, np.cumsum(named)), known)
    with Workplace(directory) as place:
        arrays: tuple[Any, ...] = given.times, given.weights, given.rows, given.marks
        filled = {name: numbers for name, numbers in zip(KINDS, arrays, strict=True) if numbers.size}
        for name, numbers in filled.items():
            _write(place.work / name, (part.astype(KINDS[name]) for part in _parts(numbers, given.places)))
        files = [*filled]
        if given.names and any(word in given.names for word in items.words):
            names = [" ".join(given.names.get(word, "").split()) for word in items.words]
            (place.work / NAMES).write_bytes(encode_word("".join(f"{name}\n" for name in names)))
            files.append(NAMES)
        sides = [
            name for name, values in given.sides.items() if _write_side(place, name, values, items.words)
        ]
        features = [
            (key, _write_feature(place.work / FOLDER / str(number), feature, given.places))
            for number, (key, feature) in enumerate(given.features.items())
        ]
        log = write_ids(IdText(ids, given.starts, items), place, Log, beside)
        facts = {"files": files, SIDES: sides, "report": [*report], HOW: (how or HowRead())._asdict()}
        save_index(log.directory / INDEX, {"version": VERSION, **facts, FOLDER: features})
    return log


def ranked(words: Sequence[str], counts: Counts) -> tuple[Vocabulary, Ids]:
    """Return the words that occur as a vocabulary, and the id of each word there; -1: it does not occur."""
    keys: Sequence[Any] = sortable(words)
    words = words if keys is words else [*map(canonical, words)]
    used = np.array(sorted(np.flatnonzero(counts).tolist(), key=keys.__getitem__), np.int64)
    order = used[np.argsort(-counts[used], kind="stable")]
    ids = np.full(len(words), -1, np.int32)
    ids[order] = np.arange(order.size)
    return Vocabulary([words[i] for i in order.tolist()], counts[order]), ids


def _write_side(
    place: Workplace, name: str, values: Mapping[str, Sequence[str]], items: Sequence[str]
) -> bool:
    """Write the values of all items as a corpus; return False if there are none."""
    checked_names([name])
    lines = [[*dict.fromkeys(map(canonical, values.get(item, ())))] for item in items]
    vocabulary = Vocabulary.from_counts(Counter(chain.from_iterable(lines)))
    if not len(vocabulary):
        return False
    ids = np.array([vocabulary.index[value] for line in lines for value in line], np.int32)
    starts = np.append(0, np.cumsum([len(line) for line in lines]))
    with Workplace(place.work / SIDES / name) as folder:
        write_ids(IdText(ids, starts, vocabulary), folder, Corpus, {}).close()
    return True


def _write_feature(folder: Path, feature: Feature, places: Any) -> int | None:
    """Write a column of events; return the number of its categories, None: it holds numbers."""
    folder.mkdir(parents=True)
    values, words = feature
    if words is None:
        _write(folder / VALUES, (part.astype("<f4") for part in _parts(values, places)))
        return None
    categories, ids = ranked(words, _counted(values, places, len(words)))
    ids = np.append(ids, -1).astype("<i4")
    _write(folder / VALUES, (ids[part] for part in _parts(values, places)))
    save_vocabulary(folder, categories)
    return len(categories)


def _parts(values: Any, places: Any) -> Iterator[Any]:
    """Yield the values of events at some places, or of all (None): a block at a time, for they are large."""
    for block in parts_of(len(values) if places is None else len(places), BLOCK):
        part = slice(block.start, block.stop)
        # NumPy is quicker with places of its own type
        yield values[part] if places is None else values[places[part].astype(np.intp, copy=False)]


def _counted(ids: Ids, places: Any, number: int) -> Counts:
    """Return how many of some events have each of the ids 0 .. number - 1; -1 counts for none."""
    counts = np.zeros(number + 1, np.int64)
    for part in _parts(ids, None if places is None or len(places) == len(ids) else places):
        counts += np.bincount(part + 1, minlength=number + 1)
    return counts[1:]


def _write(path: Path, parts: Iterable[Any]) -> None:
    """Write arrays to a file, one after another."""
    with path.open("wb") as file:
        for part in parts:
            part.tofile(file)


def _open_feature(folder: Path, categories: int | None, events: int) -> Feature:
    """Map a column of events; raise a `FormatError` if it is damaged."""
    check_size(folder / VALUES, 4 * events, AGAIN)
    if categories is None:
        return Feature(map_numbers(folder / VALUES, np.float32))
    vocabulary = read_vocabulary(folder, categories, AGAIN)
    if not vocabulary.is_ordered():
        raise FormatError(f"{folder}: the categories are not ordered by their counts: {AGAIN}")
    check_ids(folder / VALUES, events, -1, categories - 1)
    return Feature(map_numbers(folder / VALUES, np.int32), vocabulary.words)


def _by_item(side: Corpus, items: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each item, by its word."""
    ids, starts = flat(side)
    words = side.vocabulary.words
    return {item: [words[i] for i in ids[starts[n] : starts[n + 1]]] for n, item in enumerate(items)}


def first_places(ids: Ids, starts: Starts) -> Starts:
    """Return the places of the first event of each item in each line.

    >>> first_places(np.array([7, 8, 7, 7]), np.array([0, 3, 4])).tolist()
    [0, 1, 3]
    """
    return np.sort(np.unique(line_items(ids, starts), return_index=True)[1])


def line_items(ids: Ids, starts: Starts) -> Counts:
    """Return a number for each event that stands for its line and its item."""
    lines = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    return lines * (int(ids.max(initial=0)) + 1) + ids


def merged_lines(log: Log) -> Corpus:
    """Return a corpus of the lines, each item once; its counts are the lines that have an item.

    Its ids are those of the log, so its words need not be ordered by their counts.
    """
    ids, starts = log.ids_of_lines, log.starts
    kept = first_places(ids, starts)
    counts = np.bincount(ids[kept], minlength=len(log.items))
    text = IdText(ids[kept], np.searchsorted(kept, starts), Vocabulary(log.items.words, counts))
    with Workplace(None) as place:
        return write_ids(text, place, Corpus)
