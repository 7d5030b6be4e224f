"""A made-up shop with planted tastes: clicks and bookings whose truth is known, for demos, tests, benchmarks.

**Items.** Each item stands on one shelf: a taste t in a market m. All shelves have the same number of items,
give or take one. The item at rank r of its shelf has the popularity 1 / (1 + r). Its price band is 0 .. 4,
all equally likely. Each item has three usual successors on its shelf; in small shelves some of them are the
same item. If a shelf has one item, the item follows itself.

**Users.** A user's tastes are drawn from a Dirichlet distribution with all parameters 0.3, so one or two
tastes prevail. A user's price level is a band, all equally likely.

**Sessions.** A user has 1 + Poisson(sessions - 1) sessions, a session has 1 + Poisson(clicks - 1) clicks. A
session follows one taste t, drawn from the user's tastes, in one market m, drawn proportional to 1 / (1 + m).
Let j be the last click of the session that was not noise, and s(i | j) the share of j's successors that are
i. Then

    p(click i) = noise * p(i) + (1 - noise) * (FOLLOW * s(i | j) + (1 - FOLLOW) * p(i | t, m))

where p(i) and p(i | t, m) are proportional to the popularity, among all items and on the shelf. There are two
exceptions. If j does not exist yet, FOLLOW counts as 0. If the draw from the shelf is j itself, the click is
a successor of j instead.

**Bookings.** Each session has one booking: the click whose price band is nearest to the user's level; of
several, the last one. The owners of other clicks may have rejected the user:

    p(rejected | not booked) = 0.3 for a new user at an expensive item, otherwise 0.02

A user is new in the first two sessions. Price bands 3 and 4 are expensive.

**Time.** Clicks of a session are 5 to 120 seconds apart, sessions of a user at least six hours. So a gap of
half an hour tells sessions apart.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unhot.atomic import replacing
from unhot.errors import ConfigError, at_least, whole
from unhot.types import Bytes, Counts, Doubles, Ids

SUCCESSORS = 3
FOLLOW = 0.6  # how often a click is a usual successor
SPREAD = 0.3  # of the Dirichlet distribution of tastes
PRICES, EXPENSIVE = 5, 3  # price bands; from this one on, items are expensive
NEW = 2  # sessions in which a user is new
REJECTED, REJECTED_NEW = 0.02, 0.3
BEGIN, DAY = 1_700_006_400, 86_400  # midnight of 15 November 2023; seconds
NEAREST, FARTHEST = 5, 120  # seconds between clicks
MOST_EVENTS = 10**8  # of a shop, which is made in memory
DAILY, LONGEST = 50_000, 60  # of a big log: sessions a day, clicks a session

COLOURS = "red blue green black white golden".split()
FAMILIES = {
    "record": "jazz soul folk opera",
    "tent": "alpine beach family storm",
    "pan": "copper iron steel clay",
    "novel": "crime love war sea",
    "lamp": "desk floor wall garden",
    "bike": "city race cargo mountain",
    "rug": "wool silk cotton jute",
    "game": "card board dice word",
}


class Shop(NamedTuple):
    """A log of clicks, and the truth behind it. Users, items and sessions are numbers from 0."""

    users: list[str]
    items: list[str]
    taste_of: Ids  # [items]
    tastes: Doubles  # [users, tastes], how much each user likes each taste; a row sums to one
    market_of: Ids  # [items]
    price_of: Ids  # [items], the price band
    user: Ids  # [events], in order of time, as all below
    item: Ids
    time: Counts  # seconds since 1970
    session: Ids  # numbered in order of their first clicks
    booked: Bytes  # 1: this click was the booking of its session
    rejected: Bytes  # 1: the owner rejected this user's request
    item_names: list[str]  # [items], readable; tastes that differ by a multiple of 8 share their words
    level_of: Ids  # [users], the price band that each user books
    successors: Ids  # [items, SUCCESSORS], what is usually clicked after each item


class _Catalogue(NamedTuple):
    """Items as places: in order of shelves, then of ranks."""

    mass: Doubles  # [items + 1], popularity of all items before this place
    successors: Ids  # [items, SUCCESSORS], places


def make_shop(
    *,
    users: int = 2000,
    items: int = 400,
    tastes: int = 8,
    markets: int = 4,
    sessions: int = 5,
    clicks: int = 6,
    noise: float = 0.15,
    seed: int = 1,
) -> Shop:
    """Return a shop; the same settings give the same shop.

    sessions   mean number of sessions of a user
    clicks     mean number of clicks of a session
    noise      probability that a click is any item, by popularity
    """
    _check(users, items, tastes, markets, sessions, clicks, noise)
    rng = np.random.default_rng(whole("seed", seed, 0))
    card = rng.permutation(items)  # deals the items out to shelves, rank by rank
    shelf, rank = card % (tastes * markets), card // (tastes * markets)
    item_at = np.lexsort((rank, shelf))  # [places]
    place_of = np.argsort(item_at)  # [items]
    catalogue = _catalogue(1 / (1 + rank[item_at]), shelf[item_at], rng)
    edges = np.searchsorted(shelf[item_at], np.arange(tastes * markets + 1))  # where shelves begin
    likes = rng.dirichlet(np.full(tastes, SPREAD), size=users)
    price, level = rng.integers(PRICES, size=items), rng.integers(PRICES, size=users)

    visits = 1 + rng.poisson(sessions - 1, size=users)
    visitor = np.repeat(np.arange(users), visits)  # [sessions]
    lengths = 1 + rng.poisson(clicks - 1, size=visitor.size)
    aim = _taste_drawn(likes, visitor, rng) * markets + _market_drawn(markets, visitor.size, rng)
    item = item_at[_walk(catalogue, edges[aim], edges[aim + 1], lengths, noise, rng)]
    session = np.repeat(np.arange(visitor.size), lengths)
    user = visitor[session]
    time = _times(visits, lengths, user, rng)
    booked = _booked(np.abs(price[item] - level[user]), session, lengths)
    is_new = session - _starts(visits)[user] < NEW
    risk = np.where(is_new & (price[item] >= EXPENSIVE), REJECTED_NEW, REJECTED)
    rejected = (rng.random(item.size) < risk) & ~booked

    order = np.argsort(time, kind="stable")
    number = np.argsort(np.argsort(time[_starts(lengths)], kind="stable"))  # of a session, by its first click
    return Shop(
        users=_names("u", users),
        items=_names("i", items),
        taste_of=(shelf // markets).astype(np.int32),
        tastes=likes,
        market_of=(shelf % markets).astype(np.int32),
        price_of=price.astype(np.int32),
        user=user[order].astype(np.int32),
        item=item[order].astype(np.int32),
        time=time[order],
        session=number[session[order]].astype(np.int32),
        booked=booked[order].astype(np.uint8),
        rejected=rejected[order].astype(np.uint8),
        item_names=_item_names(shelf // markets, rng),
        level_of=level.astype(np.int32),
        successors=item_at[catalogue.successors[place_of]].astype(np.int32),
    )


def shop_rows(shop: Shop) -> Iterator[tuple[str, str, int, int, int, int, int, int]]:
    """Yield the log as rows: user, item, time, session, booked, rejected, market, price."""
    numbers = (shop.user, shop.item, shop.time, shop.session, shop.booked, shop.rejected)
    columns = (*numbers, shop.market_of[shop.item], shop.price_of[shop.item])
    for user, item, *rest in zip(*(column.tolist() for column in columns), strict=True):
        time, session, booked, rejected, market, price = rest
        yield shop.users[user], shop.items[item], time, session, booked, rejected, market, price


def write_shop(shop: Shop, path: Path) -> None:
    """Write the log as CSV, and beside it items.csv with the items; the planted truth is in neither."""
    if path.name == "items.csv":
        raise ConfigError(f"{path}: is the name of the file with the items; choose another name for the log")
    items = zip(shop.items, shop.item_names, shop.market_of.tolist(), shop.price_of.tolist(), strict=True)
    log = "user,item,time,session,booked,rejected,market,price"
    for place, header, rows in (
        (path, log, shop_rows(shop)),
        (path.with_name("items.csv"), "item,name,market,price", items),
    ):
        with replacing(place) as file:
            file.write(f"{header}\n".encode())
            file.writelines((",".join(map(str, row)) + "\n").encode() for row in rows)


def big_log(path: Path, rows: int, users: int, items: int, seed: int = 1) -> None:
    """Write a long log as CSV: user,item,time, in order of time; memory stays small.

    Each day, up to 50,000 different users have one session each. A session has 1 + Poisson(9) clicks, at
    most 60. With probability `FOLLOW` a click is one of the three usual successors of the click before,
    otherwise an item drawn with probability proportional to 1 / (1 + rank). An item's successors have nearly
    its rank, so the counts of items stay near Zipf's law. Half an hour tells sessions apart, as in a shop.

    Memory grows with the number of items, not of rows. Few users make many days, which takes long.
    """
    for name, value in {"rows": rows, "users": users, "items": items}.items():
        whole(name, value, 1, 10**8 if name == "items" else 10**12)
    rng = np.random.default_rng(whole("seed", seed, 0))
    ranks = np.arange(items)
    # shelves of 8, 16, 32, ... ranks
    catalogue = _catalogue(1 / (1 + ranks), np.log2(ranks + 8).astype(np.int64), rng)
    number = rng.permutation(items)  # of the item at each rank
    day = BEGIN
    with replacing(path) as file:
        file.write(b"user,item,time\n")
        while rows > 0:
            visitor = rng.choice(users, size=min(users, DAILY), replace=False)
            lengths = np.minimum(1 + rng.poisson(9, size=visitor.size), LONGEST)
            ends = np.full(visitor.size, items)
            item = number[_walk(catalogue, np.zeros_like(ends), ends, lengths, 0.0, rng)]
            gaps = rng.integers(NEAREST, FARTHEST + 1, size=item.size)
            gaps[_starts(lengths)] = rng.integers(DAY * 3 // 4, size=lengths.size)
            time = day + _sums_within(gaps, lengths)
            order = np.argsort(time, kind="stable")[:rows]
            user = np.repeat(visitor, lengths)[order]
            columns = (
                _digits("u", user + 1, _width(users), ","),
                _digits("i", item[order] + 1, _width(items), ","),
                _digits("", time[order], len(str(day + DAY)), "\n"),
            )
            file.write(np.concatenate(columns, axis=1).tobytes())
            rows -= order.size
            day += DAY


def _catalogue(popularity: Doubles, shelf: Counts, rng: np.random.Generator) -> _Catalogue:
    """Return the catalogue of places whose shelves are given in rising order.

    A successor is the next place on a random circle through the shelf; there is a circle for each successor.
    """
    successors = np.empty((shelf.size, SUCCESSORS), np.int32)
    edges = np.flatnonzero(np.diff(shelf, prepend=-1))  # where shelves begin
    for column in successors.T:
        circle = np.lexsort((rng.random(shelf.size), shelf))
        follower = np.roll(circle, -1)
        follower[np.append(edges[1:], shelf.size) - 1] = circle[edges]  # the last of a shelf meets the first
        column[circle] = follower
    return _Catalogue(np.append(0.0, np.cumsum(popularity)), successors)


def _walk(
    catalogue: _Catalogue, low: Counts, high: Counts, lengths: Counts, noise: float, rng: np.random.Generator
) -> Ids:
    """Return the places that sessions click, session by session; low .. high - 1 is a session's shelf."""
    clicked = np.empty(lengths.sum(), np.int32)
    last = np.full(lengths.size, -1, np.int32)  # the last click that was not noise
    for step in range(lengths.max()):
        at = np.flatnonzero(lengths > step)
        before = last[at]
        is_noise = rng.random(at.size) < noise
        first, end = np.where(is_noise, 0, low[at]), np.where(is_noise, len(catalogue.successors), high[at])
        mass = catalogue.mass[first]
        mass += (catalogue.mass[end] - mass) * rng.random(at.size)
        # rounding may reach the mass at the end
        drawn = np.minimum(np.searchsorted(catalogue.mass, mass, side="right"), end) - 1
        usual = catalogue.successors[before, rng.integers(SUCCESSORS, size=at.size)]
        follows = (rng.random(at.size) < FOLLOW) & (before >= 0) | (drawn == before)
        now = np.where(follows & ~is_noise, usual, drawn)
        clicked[_starts(lengths)[at] + step] = now
        last[at] = np.where(is_noise, before, now)
    return clicked


def _taste_drawn(likes: Doubles, visitor: Counts, rng: np.random.Generator) -> Counts:
    """Draw the taste of each session from its user's tastes."""
    below = np.cumsum(likes[:, :-1], axis=1)[visitor] <= rng.random((visitor.size, 1))
    found: Counts = below.sum(axis=1)
    return found


def _market_drawn(markets: int, size: int, rng: np.random.Generator) -> Counts:
    sizes = 1 / np.arange(1, markets + 1)
    return rng.choice(markets, size=size, p=sizes / sizes.sum())


def _times(visits: Counts, lengths: Counts, user: Counts, rng: np.random.Generator) -> Counts:
    """Return the time of each click; users come for the first time within 90 days, then every five days."""
    gaps = rng.integers(NEAREST, FARTHEST + 1, size=user.size)
    begins = _starts(lengths)
    gaps[begins] = DAY // 4 + rng.exponential(5 * DAY, size=begins.size).astype(np.int64)
    gaps[begins[_starts(visits)]] = rng.integers(90 * DAY, size=visits.size)
    return BEGIN + _sums_within(gaps, np.bincount(user))


def _booked(distance: Counts, session: Counts, lengths: Counts) -> NDArray[np.bool_]:
    """Return whether each click is its session's booking: the last one of those with the least distance."""
    booked = np.zeros(session.size, np.bool_)
    best_first = np.lexsort((-np.arange(session.size), distance, session))
    booked[best_first[_starts(lengths)]] = True
    return booked


def _starts(lengths: Counts) -> Counts:
    """Return where groups begin that stand one behind the other."""
    return np.cumsum(lengths) - lengths


def _sums_within(values: Counts, lengths: Counts) -> Counts:
    """Return the running sums of values, which begin anew with each group."""
    sums, starts = np.cumsum(values), _starts(lengths)
    return sums - np.repeat(sums[starts] - values[starts], lengths)


def _item_names(taste_of: Counts, rng: np.random.Generator) -> list[str]:
    """Return names such as "blue jazz record 7", with the item's number at the end."""
    nouns = list(FAMILIES)
    draws = rng.integers((len(COLOURS), 4), size=(taste_of.size, 2)).tolist()
    names = []
    for number, (taste, (colour, style)) in enumerate(zip(taste_of.tolist(), draws, strict=True), 1):
        noun = nouns[taste % len(nouns)]
        names.append(f"{COLOURS[colour]} {FAMILIES[noun].split()[style]} {noun} {number}")
    return names


def _width(count: int) -> int:
    return max(4, len(str(count)))


def _names(letter: str, count: int) -> list[str]:
    return [f"{letter}{number:0{_width(count)}}" for number in range(1, count + 1)]


def _digits(before: str, numbers: Counts, width: int, after: str) -> Bytes:
    """Return numbers as text [numbers, bytes], with leading zeros and letters before and after."""
    text = np.empty((numbers.size, len(before) + width + len(after)), np.uint8)
    text[:] = np.frombuffer((before + "0" * width + after).encode(), np.uint8)
    for place in range(len(before) + width - 1, len(before) - 1, -1):
        text[:, place] += (numbers % 10).astype(np.uint8)
        numbers = numbers // 10
    return text


def _check(
    users: int, items: int, tastes: int, markets: int, sessions: int, clicks: int, noise: float
) -> None:
    counts = {"users": users, "tastes": tastes, "markets": markets, "sessions": sessions, "clicks": clicks}
    for name, value in counts.items():
        whole(name, value, 1, MOST_EVENTS)
    whole("items", items, 1, MOST_EVENTS)
    if items < tastes * markets:
        raise ConfigError(
            f"items={items}: must be >= tastes * markets = {tastes * markets}, so that each taste has "
            "an item in each market; use more items, or fewer tastes or markets"
        )
    if users * sessions * max(clicks, tastes) > MOST_EVENTS:
        raise ConfigError(
            f"users={users}, sessions={sessions}, clicks={clicks}, tastes={tastes}: users * sessions, times "
            f"clicks or tastes, must be <= {MOST_EVENTS:,}; lower one, or write a long log with big_log"
        )
    if at_least("noise", noise, 0) > 1:
        raise ConfigError(f"noise={noise}: must be a probability, from 0 to 1")
