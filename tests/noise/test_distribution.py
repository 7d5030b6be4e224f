import itertools
import math
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from grids import crossed

from unhot.errors import ConfigError, DataError
from unhot.kernels.jit import ENABLED
from unhot.kernels.rng import bits_at_integer, stream_key
from unhot.noise.alias import alias_table
from unhot.noise.choose import fixed_unigram
from unhot.noise.distribution import Noise, draw_distinct
from unhot.noise.rules import log_uniform, uniform, unigram

MANY = 200_000 if ENABLED else 20_000
BATCHES = 8_000 if ENABLED else 2_000
NEVER = 10**9  # tries before a race


def learned():
    seen = 1 + np.bincount(np.arange(1000) ** 2 % 50, minlength=50)
    return seen / seen.sum()


COUNTS = np.array([300, 70, 0, 1000, 25, 40] * 8)
RULES = {
    "uniform": uniform(50),
    "log_uniform": log_uniform(np.arange(50, 0, -1)),
    "unigram": unigram(COUNTS, 1),
    "unigram_0.75": unigram(COUNTS, 0.75),
    "unigram_-1": unigram(COUNTS, -1),
    "file": fixed_unigram([5, 0, 0.5, 2.5], 0.5, reserved=2),
    "learned": learned(),
    "one id": np.array([0.0, 1.0]),
}


def orders(q, k):
    """The probability of every sequence of k distinct ids."""
    chances = {}
    for order in itertools.permutations([i for i in range(len(q)) if q[i] > 0], k):
        chance, left = 1.0, math.fsum(q)
        for i in order:
            chance, left = chance * q[i] / left, left - q[i]
        chances[order] = chance
    return chances


def count_orders(q, k, limit, batches):
    """How often each sequence comes, and the tries."""
    q = np.array(q)
    table = alias_table(q)
    batches = [draw_distinct(q, table, k, seed, limit) for seed in range(batches)]
    return Counter(tuple(ids.tolist()) for ids, _ in batches), np.array([tries for _, tries in batches])


@pytest.mark.parametrize("name", RULES)
def test_draws_follow_every_rule(name, fits):
    noise = Noise(RULES[name])
    ids = noise.draw(MANY, seed=5)
    assert ids.dtype == np.int32
    assert fits(np.bincount(ids, minlength=noise.probability.size), noise.probability)
    if len(set(RULES[name])) > 2:
        # the test can fail
        assert not fits(np.bincount(ids, minlength=noise.probability.size), unigram(RULES[name] > 0, 1))


def test_draws_are_as_even_as_those_of_tensorflow(golden):
    for case in golden["cases"]:
        draws, limit = (
            case["frequencies_200k"]["draws"],
            case["frequencies_200k"]["chi_square_threshold"]["1e-06"],
        )
        q = np.array(case["probability"])
        found = np.bincount(Noise(q).draw(draws if ENABLED else MANY, seed=1), minlength=q.size)
        assert (((found - q * found.sum()) ** 2)[q > 0] / (q * found.sum())[q > 0]).sum() < limit


def test_draws_are_the_alias_table_at_the_bits_of_the_seed():
    q = unigram(COUNTS, 0.75)
    table, key = alias_table(q), int(stream_key(9, 0, 0))
    expected = []
    for i in range(200):
        product = bits_at_integer(key, i) * q.size
        entry = int(table[product >> 64])
        expected.append(product >> 64 if (product >> 32) % 2**32 < entry >> 32 else entry % 2**32)
    assert Noise(q).draw(200, seed=9).tolist() == expected
    distinct = list(dict.fromkeys(expected))[:20]
    ids, tries = Noise(q).draw_counted(20, seed=9, unique=True)
    assert ids.tolist() == distinct
    assert tries == expected.index(distinct[-1]) + 1


QS = [[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.5, 0.0, 0.25, 0.15, 0.1]]


@pytest.mark.parametrize(("limit", "q"), crossed([0, 2, 5, NEVER], QS))  # races, at once or later; rejection
def test_distinct_draws_have_the_exact_distribution(q, limit, fits):
    for k in (1, 2, 3):
        chances = orders(q, k)
        found, tries = count_orders(q, k, limit, BATCHES)
        assert set(found) <= set(chances)
        assert fits([found[order] for order in chances], list(chances.values()))
        assert tries.min() == k
        # between two new ids, the wait is geometric with the mass not yet seen
        mean = sum(
            chance * sum(1 / (1 - sum(q[i] for i in order[:n])) for n in range(k))
            for order, chance in chances.items()
        )
        assert abs(tries.mean() - mean) <= 5 * tries.std() / len(tries) ** 0.5 + 1e-12


def test_races_and_rejection_take_equally_many_tries():
    q = [0.7, 0.2, 0.1]
    _, raced = count_orders(q, 3, 0, BATCHES)
    _, drawn = count_orders(q, 3, NEVER, BATCHES)
    _, mixed = count_orders(q, 3, 4, BATCHES)
    cells = [3, 4, 5, 6, 8, 10, 14, 20, 10**9]
    for other in (raced, mixed):
        a, b = np.histogram(drawn, cells)[0], np.histogram(other, cells)[0]
        assert a.min() > 5
        assert ((a - b) ** 2 / (a + b)).sum() < 40.5  # two samples, 7 degrees of freedom, level 1e-6


def test_races_and_rejection_agree_on_many_ids():
    q = log_uniform(np.arange(40, 0, -1))
    table = alias_table(q)
    batches = BATCHES // 4
    pairs = [
        np.bincount(
            np.concatenate([draw_distinct(q, table, 8, seed, limit)[0] for seed in range(batches)]),
            minlength=40,
        )
        for limit in (NEVER, 0)
    ]
    a, b = pairs[0] / batches, pairs[1] / batches
    spread = np.sqrt((a * (1 - a) + b * (1 - b)) / batches)
    assert (np.abs(a - b) < 5.5 * spread).all()


def test_a_race_gives_ids_in_the_order_of_arrival():
    # each id a fifth less likely than the one before it in a shuffled order: that is about how they arrive, a
    # few places off
    order = np.arange(3000) * 1013 % 3000
    place = np.argsort(order)
    q = 0.8**place
    ids, _ = draw_distinct(q / q.sum(), alias_table(q), 1500, 1, 0)
    assert np.abs(place[ids] - np.arange(1500)).mean() < 10


def test_inclusion_as_in_tensorflow(golden):
    for case in golden["cases"]:
        q, k = np.array(case["probability"]), case["num_sampled"]
        noise, theirs = Noise(q), case["unique_inclusion"]
        batches = theirs["batches"] if ENABLED else 300
        drawn = [noise.draw_counted(k, seed=seed, unique=True) for seed in range(batches)]
        assert all(len(set(ids.tolist())) == k for ids, _ in drawn)
        found = np.bincount(np.concatenate([ids for ids, _ in drawn]), minlength=q.size) / batches
        expected = np.array(theirs["inclusion_counts"]) / theirs["batches"]
        p = np.maximum(
            (found * batches + expected * theirs["batches"]) / (batches + theirs["batches"]), 1 / batches
        )
        spread = np.sqrt(p * (1 - p) * (1 / batches + 1 / theirs["batches"]))
        assert (np.abs(found - expected) < 5.5 * spread).all(), case["name"]
        assert (found[q == 0] == 0).all()
        tries = np.array([tries for _, tries in drawn])
        spread = tries.std() * (1 / batches + 1 / theirs["batches"]) ** 0.5
        assert abs(tries.mean() - theirs["mean_num_tries"]) < 5 * spread
        assert tries.min() == theirs["min_num_tries"] == k


def test_all_possible_ids_even_with_tiny_probabilities(golden):
    q = [0.5, 0.0, 0.5 - 3e-12, 2e-12, 1e-12]
    noise = Noise(q)
    drawn = [noise.draw_counted(4, seed=seed, unique=True) for seed in range(200)]
    assert all(sorted(ids.tolist()) == [0, 2, 3, 4] for ids, _ in drawn)
    last = [ids[-1] for ids, _ in drawn]
    assert 30 < last.count(3) < 105  # one in three
    tries = np.array([tries for _, tries in drawn], float)
    # 1 / 3e-12 for the first of the two small ones, then 1 / 1e-12 or 1 / 2e-12
    assert tries.mean() == pytest.approx(1e12 / 3 + (2 / 3) * 1e12 + (1 / 3) * 5e11, rel=0.3)
    all_of = golden["extra"]["unique_num_sampled_equals_range"]
    n = all_of["range_max"]
    assert sorted(Noise(uniform(n)).draw(n, seed=1, unique=True).tolist()) == all_of["sampled_sorted"]


def test_a_race_takes_over_where_draws_would_take_for_ever():
    # three of the five ids are hopeless; k = 3 needs one of them
    ids, tries = Noise([0.5, 0.5 - 3e-15, 1e-15, 1e-15, 1e-15]).draw_counted(3, seed=2, unique=True)
    assert set(ids[:2].tolist()) == {0, 1}
    assert ids[2] in (2, 3, 4)
    assert 1e11 < tries < 1e17
    assert Noise([1.0, 1e-320]).draw(2, seed=1, unique=True).tolist() == [0, 1]


def test_seeds():
    noise = Noise(uniform(1000))
    for unique in (False, True):
        assert (noise.draw(50, seed=3, unique=unique) == noise.draw(50, seed=3, unique=unique)).all()
        assert (noise.draw(50, seed=3, unique=unique) != noise.draw(50, seed=4, unique=unique)).any()
    assert noise.draw_counted(7, seed=0)[1] == 7
    for seed in (-1, 2**64, 1.0, None):
        with pytest.raises(ConfigError, match="seed="):
            noise.draw(1, seed=seed)


def test_what_noise_holds():
    q = np.array([0.5, 0.25, 0.25, 0.0])
    noise = Noise(q)
    q[0] = 9
    assert noise.probability.tolist() == [0.5, 0.25, 0.25, 0]
    with pytest.raises(ValueError, match="read-only"):
        noise.probability[0] = 1
    with pytest.raises(AttributeError):
        noise.probability = q
    assert noise.expected_counts(4).tolist() == [2, 1, 1, 0]
    assert noise.expected_counts(3, unique=True).tolist() == [1, 1, 1, 0]
    assert Noise(np.full(3, 1 / 3, np.float32)).probability.sum() == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ([0.5, 0.6], "sum to 1.1: must sum to 1"),
        ([], "sum to 0"),
        ([0, 0], "sum to 0"),
        ([2, -1], "-1.0 for id 1"),
        ([[1]], "shape"),
        ([np.nan], "nan"),
    ],
)
def test_probabilities_that_are_none(q, message):
    with pytest.raises(DataError, match=message):
        Noise(q)


def test_numbers_of_draws_that_cannot_be():
    noise = Noise([0.5, 0.5, 0.0])
    for k in (0, -1, 1.5, True):
        for unique in (False, True):
            with pytest.raises(ConfigError, match="k="):
                noise.draw(k, seed=1, unique=unique)
    with pytest.raises(ConfigError, match="k=3 distinct draws: must be <= 2"):
        noise.draw(3, seed=1, unique=True)


def test_rules_do_without_the_compiler():
    code = "import sys, unhot.noise.choose, unhot.noise.expected\n"
    code += "assert 'numba' not in sys.modules; unhot.noise.Noise"
    subprocess.run([sys.executable, "-c", code], check=True, env=dict(os.environ), timeout=60)
    import unhot.noise

    assert unhot.noise.Noise is Noise
    with pytest.raises(AttributeError, match="nonsense"):
        unhot.noise.nonsense  # noqa: B018
