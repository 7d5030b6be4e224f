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

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unhot.atomic import replacing
from unhot.errors import ConfigError, at_least, whole
from unhot.types import Bytes, Counts, Doubles, Ids

SUCCESSORS = 3
FOLLOW = 0.6  # how often a click is a usual successor
PRICES, EXPENSIVE = 5, 3  # price bands; from this one on, items are expensive
BEGIN, DAY = 1_700_006_400, 86_400  # midnight of 15 November 2023; seconds
GAPS = 5, 121  # seconds between clicks: from 5 to 120
MOST_EVENTS = 10**8  # of a shop, which is made in memory
COLOURS = "red blue green black white golden".split()
NOUNS = "record tent pan novel lamp bike rug game".split()


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
    item_names: list[str]  # [items], readable; tastes that differ by a multiple of 8 share their noun
    level_of: Ids  # [users], the price band that each user books
    successors: Ids  # [items, SUCCESSORS], what is usually clicked after each item
    new: Bytes  # [events], 1: the user was new


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

    items      at least tastes * markets, so that each taste has an item in each market
    sessions   mean number of sessions of a user
    clicks     mean number of clicks of a session
    noise      probability that a click is any item, by popularity
    """
    counts = {"users": users, "tastes": tastes, "markets": markets, "sessions": sessions, "clicks": clicks}
    for name, value in counts.items():
        whole(name, value, 1)
    whole("items", items, tastes * markets, MOST_EVENTS)
    whole("users * sessions * max(clicks, tastes)", users * sessions * max(clicks, tastes), 1, MOST_EVENTS)
    if at_least("noise", noise, 0) > 1:
        raise ConfigError(f"noise={noise}: must be a probability, from 0 to 1")

    rng = np.random.default_rng(whole("seed", seed, 0))
    rank, shelf = np.divmod(rng.permutation(items), tastes * markets)
    item_at = np.lexsort((rank, shelf))  # [places], in order of shelves, then of ranks
    successors = _successors(shelf[item_at], rng)
    likes = rng.dirichlet(np.full(tastes, 0.3), size=users)
    price, level = rng.integers(PRICES, size=items), rng.integers(PRICES, size=users)

    visits = 1 + rng.poisson(sessions - 1, size=users)
    visitor = np.repeat(np.arange(users), visits)  # [sessions]
    lengths = 1 + rng.poisson(clicks - 1, size=visitor.size)
    taste = (np.cumsum(likes, axis=1)[visitor, :-1] <= rng.random((visitor.size, 1))).sum(axis=1)
    sizes = 1 / np.arange(1, markets + 1)
    aim = taste * markets + rng.choice(markets, size=visitor.size, p=sizes / sizes.sum())
    low, high = (np.searchsorted(shelf[item_at], aim, side) for side in ("left", "right"))
    item = item_at[_walk(1 / (1 + rank[item_at]), successors, low, high, lengths, noise, rng)]
    session, user = np.repeat(np.arange(visitor.size), lengths), np.repeat(visitor, lengths)

    gaps = rng.integers(*GAPS, size=item.size)
    breaks = DAY // 4 + rng.exponential(5 * DAY, size=visitor.size).astype(np.int64)
    breaks[_starts(visits)] = rng.integers(90 * DAY, size=users)
    time = BEGIN + _seconds(gaps, breaks, lengths, np.bincount(user))
    distance = np.abs(price[item] - level[user]) * item.size - np.arange(item.size)  # of equal ones, the last
    booked = distance == np.repeat(np.minimum.reduceat(distance, _starts(lengths)), lengths)
    new = session - _starts(visits)[user] < 2
    risky = new & (price[item] >= EXPENSIVE)
    rejected = (rng.random(item.size) < np.where(risky, 0.3, 0.02)) & ~booked

    order = np.argsort(time, kind="stable")
    number = np.argsort(np.argsort(time[_starts(lengths)], kind="stable"))  # of a session, by its first click
    return Shop(
        users=[f"u{n:04}" for n in range(1, users + 1)],
        items=[f"i{n:04}" for n in range(1, items + 1)],
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
        item_names=[
            f"{COLOURS[n % len(COLOURS)]} {NOUNS[place // markets % len(NOUNS)]} {n}"
            for n, place in enumerate(shelf.tolist(), 1)
        ],
        level_of=level.astype(np.int32),
        successors=item_at[successors[np.argsort(item_at)]].astype(np.int32),
        new=new[order].astype(np.uint8),
    )


def shop_rows(shop: Shop) -> Iterator[tuple[Any, ...]]:
    """Return the log as rows: user, item, time, session, booked, rejected, market, price, user_type."""
    words = [shop.users[user] for user in shop.user], [shop.items[item] for item in shop.item]
    numbers = (
        shop.time,
        shop.session,
        shop.booked,
        shop.rejected,
        shop.market_of[shop.item],
        shop.price_of[shop.item],
    )
    types = ["new" if new else "known" for new in shop.new]
    return zip(*words, *(column.tolist() for column in numbers), types, strict=True)


def write_shop(shop: Shop, path: Path) -> None:
    """Write the log as CSV, and beside it items.csv with the items; the planted truth is in neither."""
    if path.name == "items.csv":
        raise ConfigError(f"{path}: is the name of the file with the items; choose another name for the log")
    items = zip(shop.items, shop.item_names, shop.market_of, shop.price_of, strict=True)
    for place, header, rows in (
        (path, "user,item,time,session,booked,rejected,market,price,user_type", shop_rows(shop)),
        (path.with_name("items.csv"), "item,name,market,price", items),
    ):
        _write(place, header, (",".join(map(str, row)) for row in rows))


def _write(path: Path, header: str, lines: Iterable[str]) -> None:
    with replacing(path) as file:
        file.write(f"{header}\n".encode())
        file.writelines(f"{line}\n".encode() for line in lines)


def _successors(shelf: Counts, rng: np.random.Generator) -> Ids:
    """Return the places that follow each place [places, SUCCESSORS]; the shelves of places rise.

    A successor is the next place on a random circle through the shelf; there is a circle for each successor.
    """
    after = np.arange(1, shelf.size + 1)
    after = np.where(after < np.searchsorted(shelf, shelf, "right"), after, np.searchsorted(shelf, shelf))
    circles = [np.lexsort((rng.random(shelf.size), shelf)) for _ in range(SUCCESSORS)]
    return np.stack([circle[after[np.argsort(circle)]] for circle in circles], axis=1).astype(np.int32)


def _walk(
    popularity: Doubles,
    successors: Ids,
    low: Counts,
    high: Counts,
    lengths: Counts,
    noise: float,
    rng: np.random.Generator,
) -> Ids:
    """Return the places that sessions click, session by session; low .. high - 1 is a session's shelf."""
    mass = np.append(0.0, np.cumsum(popularity))  # of all places before a place
    clicked = np.empty(lengths.sum(), np.int32)
    last = np.full(lengths.size, -1, np.int32)  # the last click that was not noise
    for step in range(lengths.max()):
        at = np.flatnonzero(lengths > step)
        before, is_noise = last[at], rng.random(at.size) < noise
        first, end = np.where(is_noise, 0, low[at]), np.where(is_noise, popularity.size, high[at])
        drawn = mass[first] + (mass[end] - mass[first]) * rng.random(at.size)
        # rounding may reach the mass at the end
        place = np.minimum(np.searchsorted(mass, drawn, side="right"), end) - 1
        usual = successors[before, rng.integers(SUCCESSORS, size=at.size)]
        follows = (rng.random(at.size) < FOLLOW) & (before >= 0) | (place == before)
        now = np.where(follows & ~is_noise, usual, place)
        clicked[_starts(lengths)[at] + step] = now
        last[at] = np.where(is_noise, before, now)
    return clicked


def _seconds(gaps: Counts, breaks: Counts, lengths: Counts, groups: Counts) -> Counts:
    """Return the seconds from the beginning of its group to each click.

    gaps      [clicks] seconds before each click; those before the first of a session are replaced by breaks
    breaks    [sessions] seconds before each session
    lengths   [sessions] clicks of each session
    groups    clicks of each group of sessions
    """
    gaps[_starts(lengths)] = breaks
    sums = np.cumsum(gaps)
    return sums - np.repeat((sums - gaps)[_starts(groups)], groups)


def _starts(lengths: Counts) -> Counts:
    """Return where groups begin that stand one behind the other."""
    return np.cumsum(lengths) - lengths
