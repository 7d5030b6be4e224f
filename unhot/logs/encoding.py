"""Read a log: turn rows of users and items, or lines of sessions, into sequences of ids on disk.

1. read the rows                                            events.py
2. drop users and items with few events (core), merge repeats
3. sort by user or session, then by time, stably (`grouped`); cut where nothing happened for long (gap)
4. rank items and users by their events; write shards       log.py
"""

import dataclasses
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from unhot.corpus.reading.lexicon import INVALID
from unhot.errors import ConfigError, DataError, at_least, one_of, whole
from unhot.kernels.jit import inner, kernel
from unhot.logs.events import Events, read_events
from unhot.logs.features import marks_of
from unhot.logs.item_facts import ItemFacts, read_item_facts
from unhot.logs.log import NO_ROWS, NO_TYPES, HowRead, Log, Sequences, line_items, make_log
from unhot.logs.log_reading import FEATURES, ROLES, LogReading
from unhot.rows.batches import EXAMPLES
from unhot.rows.opening import UNQUOTED
from unhot.types import Bytes, Doubles, Floats, Ids, Starts
from unhot.vocab.vocabulary import encode_word

MINUTE = 60.0
RUN = 32  # events that are sorted by insertion


def read_log(
    source: Any,
    *,
    repeats: str = "keep",
    core: int = 0,
    gap: float | None = None,
    in_order: bool = False,
    items: str | os.PathLike[str] | None = None,
    directory: str | os.PathLike[str] | None = None,
    threads: int = 2,
    progress: Callable[[int, int | None], None] | None = None,
    **reading: Any,
) -> Log:
    """Turn a log into sequences of items on disk, and return them as a `Log`.

    source     a file of rows or of sessions, a table, or an iterable; see `read_events`
    repeats    keep | merge: keep all events of a user with an item, or only the first one of each line, with
               the sum of their weights
    core       drop users and items with fewer events than this, again and again until none is left
    gap        minutes: a user's events that lie further apart belong to different sessions
    in_order   rows without times are in order of time, so that a split may hold out the last ones
    items      a file with the names and side columns of items; see `read_item_facts`
    directory  where to keep the log, see `Log.open`; None: a temporary directory
    progress   called now and then with the bytes read so far and the bytes in total (None if unknown)
    reading    which columns hold what, and the format: see `LogReading`
    """
    one_of("repeats", repeats, ("keep", "merge"))
    core, how = whole("core", core, 0), LogReading(**reading)
    settings = {
        "repeats": repeats,
        "core": core,
        "gap": gap,
        "min_rating": how.min_rating,
        "items": None if items is None else os.fspath(items),
    }
    facts = (
        ItemFacts({}, {})
        if items is None
        else read_item_facts(items, side=how.side, strict=how.strict, quotes=how.format not in UNQUOTED)
    )
    how = dataclasses.replace(how, side=tuple(name for name in how.side if name not in facts.sides))
    events = read_events(source, how, threads=threads, progress=progress)
    told = [*events.report.lines(), *_lines_of_facts(facts, events.item_words, f"{items}")]
    groups, number = _groups(events)
    if core:
        groups, number = _core(groups, number, events, core)
    times, features = events.times, {**events.features}
    marks, types = marks_of(features), features.pop("user_type", None)
    features = {key.removeprefix(FEATURES): feature for key, feature in features.items()}
    order, starts = grouped(groups, number, times)
    del groups  # it is large
    if gap is not None:
        starts = _cut_at_gaps(order, starts, times, at_least("gap", gap, 0) * MINUTE)
    if times.size:
        order, starts = _by_first_time(order, starts, times)
    first = order[starts[:-1]]
    if repeats == "merge":
        order, starts = _merged(order, starts, events.items, events.weights, marks)
    return make_log(
        Sequences(
            ids=events.items,
            starts=starts,
            item_words=events.item_words,
            user_of=events.users[first],
            user_words=events.user_words,
            times=times,
            weights=events.weights,
            names=facts.names,
            sides={**events.sides, **facts.sides},
            rows=NO_ROWS if times.size or (np.diff(order) > 0).all() else np.arange(events.items.size),
            marks=marks,
            type_of=types.values[first] if types else NO_TYPES,
            type_words=(types and types.categories) or (),
            features=features,
            places=order,
        ),
        directory,
        told,
        HowRead(
            # the column of each role, None: there is none; lines of sessions have no columns
            settings | {role: events.columns.get(role) if events.seen else None for role in ROLES},
            events.seen,
            in_order or not events.seen,
            _columns_line(events),
        ),
    )


def _lines_of_facts(facts: ItemFacts, known: list[str], where: str) -> list[str]:
    """Return lines about rows of items that a log does not use; raise a `DataError` if it uses none."""
    there, number = {*known}, len(facts.listed)
    strange = [item for item in facts.listed if item not in there]
    if strange and len(strange) == number:
        raise DataError(
            f"{where}: none of its {number:,} items, such as {', '.join(strange[:EXAMPLES]):.300}, is in the "
            f"log, whose items are {', '.join(known[:EXAMPLES]):.300}: give a file with the same ids"
        )
    twice = [item for item, times in facts.listed.items() if times > 1]
    said = {
        "are not in the log": strange,
        "have several rows, and the first one counts": twice,
        "have names that are not UTF-8; the file seems to be Latin-1: convert it to UTF-8": [
            encode_word(name).decode("latin-1") for name in facts.names.values() if INVALID.search(name)
        ],
    }
    lines = [
        f"{len(items):,} of {number:,} items {what}: {', '.join(items[:EXAMPLES]):.300}"
        for what, items in said.items()
        if items
    ]
    return [f"{where}: {line.strip()}" for line in (*facts.said, *lines)]


def _columns_line(events: Events) -> str:
    """Return a line about what files are read as, and about the columns: what each was taken for."""
    said = [*events.report.recognized]
    if events.seen:  # else lines are sessions
        features = {
            key.removeprefix(FEATURES): words
            for key, (_, words) in events.features.items()
            if key not in ROLES
        }
        used = {*events.columns.values(), *events.sides, *features}
        others = ", ".join(name[:80] for name in events.seen[:50] if name not in used)
        said += [f"columns: {', '.join(f'{role} = {name}' for role, name in events.columns.items())}"]
        said += [
            f"feature {name}: {'numbers' if words is None else f'{len(words):,} categories'}"
            for name, words in features.items()
        ]
        said += ["no times: the order of the rows counts"] * (not events.times.size)
        said += [f"not used: {others}"] * bool(others)
    return "; ".join(said)


def _groups(events: Events) -> tuple[Any, int]:
    """Return the number of the line of each event: of its session, or of its user."""
    if not events.sessions.size:
        return events.users, len(events.user_words)
    number = int(events.sessions.max()) + 1
    owner = np.full(number, -1, np.int32)
    owner[events.sessions] = events.users
    if np.array_equal(owner[events.sessions], events.users):
        return events.sessions, number
    # sessions of different users have the same names: a line is a session of one user
    keys = events.sessions.astype(np.int64) * (len(events.user_words) + 1) + events.users + 1
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int32)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse], first.size


def _core(groups: Any, number: int, events: Events, core: int) -> tuple[Any, int]:
    """Drop lines and items with fewer events than `core`, until none is left: return new numbers of lines.

    An event that is dropped belongs to line -1.
    """
    kept = np.ones(groups.size, bool)
    while True:
        lines = np.bincount(groups[kept], minlength=number)
        items = np.bincount(events.items[kept], minlength=len(events.item_words))
        stay = kept & (lines[groups] >= core) & (items[events.items] >= core)
        if stay.sum() == kept.sum():
            break
        kept = stay
    if not kept.any():
        raise DataError(f"core={core}: no user and no item has so many events; choose a smaller number")
    rank = np.cumsum(lines > 0).astype(np.int32) - 1
    return np.where(kept, rank[groups], -1), int(rank[-1]) + 1


def _cut_at_gaps(order: Any, starts: Starts, times: Any, gap: float) -> Starts:
    """Return where lines begin if they are also cut where the next event comes more than `gap` later."""
    if not times.size:
        raise ConfigError("gap: the log has no times; name their column (time=, or --time), or leave gap out")
    return np.union1d(starts, np.flatnonzero(np.diff(times[order]) > gap) + 1)


def _by_first_time(order: Any, starts: Starts, times: Any) -> tuple[Any, Starts]:
    """Return the order of all events, and where lines begin, if lines are sorted by their first event."""
    lines = np.argsort(times[order[starts[:-1]]], kind="stable")
    if (np.diff(lines) > 0).all():
        return order, starts
    sorted_order = np.empty_like(order)
    list_lines(order, starts, lines, sorted_order)
    return sorted_order, np.append(0, np.cumsum(np.diff(starts)[lines]))


def _merged(order: Any, starts: Starts, items: Ids, weights: Floats, marks: Bytes) -> tuple[Any, Starts]:
    """Return the order without repeats: of each line only the first event with an item, and the new starts.

    That event gets the sum of the weights, and all marks, in place.
    """
    _, first, inverse = np.unique(line_items(items[order], starts), return_index=True, return_inverse=True)
    if weights.size:
        weights[order[first]] = np.bincount(inverse, weights[order])
    if marks.size:
        either = np.zeros(first.size, np.uint8)
        np.bitwise_or.at(either, inverse, marks[order])
        marks[order[first]] = either
    kept = np.sort(first)
    return order[kept], np.searchsorted(kept, starts)


def grouped(groups: Ids, number: int, times: Doubles) -> tuple[Any, Starts]:
    """Return the order of all events, and where each of the groups 0 .. number - 1 begins in it; -1: none.

    `times` is empty if the order of the file is the order of time.

    >>> order, starts = grouped(np.array([1, 0, -1, 1], np.int32), 2, np.array([5.0, 1.0, 0.0, 4.0]))
    >>> order.tolist(), starts.tolist()
    ([1, 3, 0], [0, 1, 3])
    """
    starts = np.zeros(number + 1, np.int64)
    count_groups(groups, starts[1:])
    longest = starts.max()
    np.cumsum(starts, out=starts)
    small = groups.size <= np.iinfo(np.int32).max  # half the memory, and less time
    order = np.empty(starts[-1], np.int32 if small else np.int64)
    list_groups(groups, starts[:-1].copy(), order)
    if times.size:
        sort_groups(starts, times, order, np.empty(longest, order.dtype))
    return order, starts


@kernel
def count_groups(groups: Any, counts: Any) -> None:
    """Count the events of each group."""
    for group in groups:
        if group >= 0:
            counts[group] += 1


@kernel
def list_groups(groups: Any, free: Any, order: Any) -> None:
    """Write the events of each group one after another; `free`: the next place of each group."""
    for event in range(groups.size):
        if groups[event] >= 0:
            order[free[groups[event]]] = event
            free[groups[event]] += 1


@kernel
def list_lines(order: Any, starts: Any, lines: Any, to: Any) -> None:
    """Write the events of lines, one line after another."""
    at = 0
    for line in lines:
        for place in range(starts[line], starts[line + 1]):
            to[at] = order[place]
            at += 1


@kernel
def sort_groups(starts: Any, times: Any, order: Any, spare: Any) -> None:
    """Sort each group by time, stably."""
    for group in range(starts.size - 1):
        begin, end = starts[group], starts[group + 1]
        at = begin + 1
        while at < end and times[order[at - 1]] <= times[order[at]]:
            at += 1
        if at < end:  # else it is sorted already, as most logs are
            sort_runs(times, order, begin, end)
            merge_runs(times, order, spare, begin, end)


@inner
def sort_runs(times: Any, order: Any, begin: Any, end: Any) -> None:
    """Sort each RUN of events by insertion."""
    for first in range(begin, end, RUN):
        for i in range(first + 1, min(first + RUN, end)):
            event, j = order[i], i
            while j > first and times[order[j - 1]] > times[event]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = event


@inner
def merge_runs(times: Any, order: Any, spare: Any, begin: Any, end: Any) -> None:
    """Merge sorted runs in pairs, into `spare` and back, until one is left."""
    width = RUN
    while width < end - begin:
        for first in range(begin, end, 2 * width):
            middle, last = min(first + width, end), min(first + 2 * width, end)
            i, j = first, middle
            for to in range(first, last):
                left = j >= last or (i < middle and times[order[i]] <= times[order[j]])
                spare[to - begin] = order[i] if left else order[j]
                i, j = i + left, j + (not left)
        for at in range(begin, end):
            order[at] = spare[at - begin]
        width *= 2
