"""The made-up shop is what its docstring says: each planted truth can be counted in the log."""

import csv
from collections import Counter, defaultdict

import numpy as np
import pytest

from unhot.data.shop import EXPENSIVE, FOLLOW, make_shop, shop_rows, write_shop
from unhot.errors import ConfigError, DataError


@pytest.fixture(scope="module")
def shop():
    return make_shop()


def sessions_of(shop):
    """The events of each session, in order."""
    order = np.argsort(shop.session, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(shop.session[order])) + 1)


def steps(shop):
    """All pairs of clicks behind each other in a session: [pairs, 2]."""
    order = np.argsort(shop.session, kind="stable")
    both = np.stack([order[:-1], order[1:]], axis=1)
    return shop.item[both[shop.session[both[:, 0]] == shop.session[both[:, 1]]]]


def test_the_same_seed_gives_the_same_shop():
    first, second, other = (make_shop(users=50, seed=seed) for seed in (3, 3, 4))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert not np.array_equal(first.item, other.item)


def test_sizes_and_means(shop):
    assert shop.users[:2] == ["u0001", "u0002"]
    assert (len(shop.users), len(shop.items), shop.items[-1]) == (2000, 400, "i0400")
    sessions = shop.session.max() + 1
    assert sessions / 2000 == pytest.approx(5, abs=0.2)
    assert shop.user.size / sessions == pytest.approx(6, abs=0.1)
    assert set(shop.user) == set(range(2000))
    shelves = Counter(zip(shop.taste_of, shop.market_of, strict=True))
    assert len(shelves) == 32
    assert set(shelves.values()) == {12, 13}
    assert [shop.item.dtype, shop.time.dtype, shop.booked.dtype] == [np.int32, np.int64, np.uint8]
    assert np.allclose(shop.tastes.sum(axis=1), 1)


def test_time_orders_clicks_and_tells_sessions_apart(shop):
    assert np.all(np.diff(shop.time) >= 0)
    assert np.all(np.diff(np.unique(shop.session, return_index=True)[1]) > 0)  # numbered as they begin
    order = np.argsort(shop.user, kind="stable")
    same_user = np.diff(shop.user[order]) == 0
    same_session = np.diff(shop.session[order]) == 0
    gaps = np.diff(shop.time[order])
    assert np.array_equal(same_user & (gaps <= 1800), same_session)


def test_without_noise_a_session_stays_on_one_shelf_that_its_user_likes():
    shop = make_shop(users=300, sessions=20, noise=0)
    pairs = steps(shop)
    assert np.array_equal(*shop.taste_of[pairs].T)
    assert np.array_equal(*shop.market_of[pairs].T)
    firsts = [events[0] for events in sessions_of(shop)]
    found = np.zeros_like(shop.tastes)
    np.add.at(found, (shop.user[firsts], shop.taste_of[shop.item[firsts]]), 1)
    assert np.corrcoef(found.ravel(), shop.tastes.ravel())[0, 1] > 0.9
    markets = np.bincount(shop.market_of[shop.item[firsts]]) / len(firsts)
    assert markets == pytest.approx([12 / 25, 6 / 25, 4 / 25, 3 / 25], abs=0.03)


def test_pairs_share_a_taste_and_successors_follow_far_more_often_than_by_chance(shop):
    pairs = steps(shop)
    # both clicks are on the shelf, or noise hits the same taste by chance
    kept = 0.85**2
    assert np.mean(shop.taste_of[pairs[:, 0]] == shop.taste_of[pairs[:, 1]]) == pytest.approx(
        kept + (1 - kept) / 8, abs=0.02
    )
    follows = (shop.successors[pairs[:, 0]] == pairs[:, 1:]).any(axis=1).mean()
    chance = (shop.successors[pairs[:, 0]] == np.roll(pairs[:, 1:], 1000)).any(axis=1).mean()
    assert follows > kept * FOLLOW
    assert chance < 0.03


def test_clicks_follow_the_formula():
    """Eight items on one shelf: the counts of each item and of each step against the formula."""
    ranked = 1 / np.arange(1, 9) / np.sum(1 / np.arange(1, 9))
    options = {"users": 20_000, "items": 8, "tastes": 1, "markets": 1, "sessions": 1}
    noisy = make_shop(**options, noise=1)
    popularity = np.bincount(noisy.item) / noisy.item.size
    assert np.sort(popularity)[::-1] == pytest.approx(ranked, abs=0.01)

    shop = make_shop(**options, noise=0)
    by_rank = np.argsort(-popularity)  # the same seed, so the same items are popular
    chance = np.empty(8)
    chance[by_rank] = ranked
    usual = np.zeros((8, 8))
    np.add.at(usual, (np.arange(8)[:, None], shop.successors), 1 / 3)
    drawn = chance[None, :] * (1 - np.eye(8)) + chance[:, None] * usual  # never the item itself
    counts = np.zeros((8, 8))
    np.add.at(counts, tuple(steps(shop).T), 1)
    assert np.diag(usual).sum() == 0
    assert counts / counts.sum(axis=1, keepdims=True) == pytest.approx(
        FOLLOW * usual + (1 - FOLLOW) * drawn, abs=0.02
    )


def test_each_session_books_the_last_click_that_fits_the_price_level_best():
    shop = make_shop(users=100)
    for events in sessions_of(shop):
        apart = [abs(int(shop.price_of[shop.item[e]]) - int(shop.level_of[shop.user[e]])) for e in events]
        best = max(at for at, distance in enumerate(apart) if distance == min(apart))
        assert shop.booked[events].tolist() == [int(at == best) for at in range(len(events))]


def test_new_users_are_rejected_at_expensive_items(shop):
    firsts = defaultdict(list)
    for events in sessions_of(shop):
        firsts[shop.user[events[0]]].append(shop.session[events[0]])
    new_sessions = [session for sessions in firsts.values() for session in sessions[:2]]
    is_new = np.isin(shop.session, new_sessions)
    expensive = shop.price_of[shop.item] >= EXPENSIVE
    asked = shop.booked == 0
    for planted, rate in [
        (is_new & expensive, 0.3),
        (is_new & ~expensive, 0.02),
        (~is_new & expensive, 0.02),
        (~is_new & ~expensive, 0.02),
    ]:
        assert shop.rejected[planted & asked].mean() == pytest.approx(
            rate, abs=0.015 if rate > 0.1 else 0.006
        )
    assert not np.any(shop.rejected & shop.booked)


def test_names_tell_the_taste(shop):
    nouns = {(taste, name.split()[1]) for taste, name in zip(shop.taste_of, shop.item_names, strict=True)}
    assert len(nouns) == len({noun for _, noun in nouns}) == 8
    assert len(set(shop.item_names)) == 400


def test_csv_round_trip(tmp_path):
    shop = make_shop(users=40)
    write_shop(shop, tmp_path / "log.csv")
    with (tmp_path / "log.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == "user item time session booked rejected market price user_type".split()
    numbers = [(user, item, *map(int, rest), kind) for user, item, *rest, kind in rows]
    assert numbers == list(shop_rows(shop))
    for column, expected in (
        (0, [shop.users[user] for user in shop.user]),
        (1, [shop.items[item] for item in shop.item]),
        (2, shop.time),
        (3, shop.session),
        (4, shop.booked),
        (5, shop.rejected),
        (6, shop.market_of[shop.item]),
        (7, shop.price_of[shop.item]),
    ):
        assert [row[column] for row in rows] == [str(value) for value in expected]
    with (tmp_path / "items.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["item", "name", "market", "price"]
    columns = (shop.items, shop.item_names, shop.market_of, shop.price_of)
    assert rows == [[str(value) for value in row] for row in zip(*columns, strict=True)]


def test_a_log_is_not_written_over_its_items(tmp_path):
    with pytest.raises(ConfigError, match=r"items\.csv: is the name of the file with the items"):
        write_shop(make_shop(users=1), tmp_path / "items.csv")
    with pytest.raises(DataError, match="cannot be written"):
        write_shop(make_shop(users=1), tmp_path / "nowhere" / "log.csv")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"users": 0}, "users=0: must be >= 1"),
        ({"items": 31}, "items=31: must be >= 32"),
        ({"noise": 1.5}, "noise=1.5: must be a probability"),
        ({"noise": float("nan")}, "noise=nan"),
        ({"clicks": 10**6}, r"max\(clicks, tastes\)=10000000000: must be <= 100000000"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_settings_out_of_range(options, message):
    with pytest.raises(ConfigError, match=message):
        make_shop(**options)


def test_the_smallest_shop():
    shop = make_shop(users=1, items=1, tastes=1, markets=1, sessions=1, clicks=1)
    assert list(shop_rows(shop)) == [("u0001", "i0001", shop.time[0], 0, 1, 0, 0, shop.price_of[0], "new")]
