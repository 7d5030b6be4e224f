"""From counts to probabilities: a smoothing applied to all n-grams, level by level.

Each n-gram is linked to its suffix, the n-gram without its first word. The suffix of hw is the child of the
suffix of h with the same last word. So a level is linked by its lower levels, and the children of an n-gram
are looked for among those of one other n-gram, in the same order. The number of n-grams that have a suffix is
the adjusted count of Kneser-Ney: how many different words stand before it. N-grams that begin with `<s>` keep
their counts.

The probabilities of level k are then computed from those of level k - 1, which the links name, by one pass
over the histories. So nothing is looked up.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.indexed_folder import map_numbers
from unhot.errors import ConfigError
from unhot.kernels.jit import inner, kernel
from unhot.kernels.simd.rows import prefetch_number
from unhot.ngrams.levels import NgramCounts
from unhot.ngrams.smoothing.katz import TINY
from unhot.ngrams.smoothing.smoothing import BACK_OFF, FIXED, FLAT, INTERPOLATED, MOST, Rule, Smoothing, Tally
from unhot.ngrams.symbols import BEGIN, END, Sorted, bucket_of, seek, word_of_key
from unhot.threads import in_order, parts_of
from unhot.types import Doubles

BLOCK = 1 << 16  # n-grams whose children a thread does at once
LINKED_AHEAD = 8  # n-grams whose suffixes are prefetched before they are needed
AHEAD = 32  # n-grams whose suffixes' probabilities are prefetched before they are needed
OnOrder = Callable[[int, int, int], None]  # called with an order, the n-grams done, and their number


class Level(NamedTuple):
    """The n-grams of one order with their probabilities; see levels.py for keys and begins."""

    keys: Any  # int32
    begins: Any  # empty for the highest order
    prob: Any  # log10 of the probability
    backoff: Any  # log10 of gamma, the weight of shorter histories; empty for the highest order


class Estimation(NamedTuple):
    """How a model is estimated."""

    smoothing: Smoothing
    prune: Sequence[int] = ()  # n-grams of order k that occur at most prune[k - 1] times are dropped
    weights: Sequence[Doubles] = ()  # of Jelinek-Mercer, for each order
    double: bool = False  # compute and keep float64, not float32
    threads: int = 2


def check_prune(prune: Sequence[int], order: int) -> list[int]:
    """Return for each order the count up to which n-grams are dropped; the last one given goes on."""
    found = [*prune]
    if (
        len(found) > order
        or found[:1] not in ([], [0])
        or any(isinstance(x, bool) or not isinstance(x, int) or x < 0 for x in found)
        or sorted(found) != found
    ):
        raise ConfigError(
            f"prune={','.join(map(str, prune))}: must be at most {order} whole numbers that do not fall, and "
            "begin with 0 (0,0,1: drop n-grams of three and more words that occur once); to drop words, use "
            "min_count"
        )
    return (found + [found[-1] if found else 0] * order)[:order]


def estimate(
    counts: NgramCounts,
    how: Estimation,
    on_order: OnOrder | None = None,
    note: Callable[[str], None] | None = None,
) -> Iterator[Level]:
    """Yield the levels of a model, from single words to the highest order."""
    drop = check_prune(how.prune, counts.order)
    tell = on_order or (lambda order, done, total: None)
    kind = np.dtype(np.float64 if how.double else np.float32)
    link_levels(counts, how.smoothing.adjusted, how.threads)
    rules = _rules(counts, how, note or (lambda line: None))
    keys, begins = np.zeros(0, np.int32), counts.level(1).begins
    kept = np.zeros(0, bool)  # empty: all n-grams
    p = _words(counts, rules[0], how.smoothing.adjusted, kind)
    for order in range(2, counts.order + 1):
        following = counts.level(order)
        stays = following.counts > drop[order - 1] if drop[order - 1] else np.zeros(0, bool)
        longer, gamma = _longer(counts, order, p, rules[order - 1], drop[order - 1], how, tell)
        yield _level(keys, begins, p, gamma, kept, stays)
        keys, begins = following.keys, following.begins
        p, kept = longer, stays
    yield _level(keys, np.zeros(0, begins.dtype), p, np.zeros(0, kind), kept, np.zeros(0, bool))


def _longer(
    counts: NgramCounts, order: int, lower: Any, rule: Rule, drop: int, how: Estimation, tell: OnOrder
) -> tuple[Any, Any]:
    """Return the probabilities of an order, and gamma of the histories; `lower`: those of shorter ones."""
    here, begins = counts.level(order), counts.level(order - 1).begins
    base, links = counts_of(counts, order, how.smoothing.adjusted), links_of(counts, order)
    p, gamma = np.empty(here.keys.size, lower.dtype), np.empty(begins.size - 1, lower.dtype)
    times = here.counts if drop else base  # no count is zero; a second mapping would take memory, too

    def work(part: range) -> int:
        smooth(part.start, part.stop, begins, base, times, drop, links, lower, rule, p, gamma)
        return int(begins[part.stop])

    for done in in_order(parts_of(gamma.size, BLOCK), work, how.threads):
        tell(order, done, p.size)
    return p, gamma


def _rules(counts: NgramCounts, how: Estimation, note: Callable[[str], None]) -> list[Rule]:
    """Return the rule of each order."""
    adjusted, words = how.smoothing.adjusted, len(counts.words) - 1
    corrected = _last_ngrams(counts) if how.smoothing.as_lmplz else {}
    rules = []
    for order in range(1, counts.order + 1):
        base, n = counts_of(counts, order, adjusted), np.zeros(MOST, np.int64)
        tally_counts(base, n)
        if order in corrected:
            last = corrected[order]
            for count, sign in ((base[last], -1), (counts.level(order).counts[last], 1)):
                n[min(int(count), MOST - 1)] += sign * (count < MOST)
        weights = how.weights[order - 1] if how.weights else np.zeros(0)
        rules.append(how.smoothing.rule(Tally(order, n, words, weights), note))
    return rules


def _last_ngrams(counts: NgramCounts) -> dict[int, int]:
    """Return the n-gram of each lower order that lmplz counts differently (see modified_kneser_ney.py)."""
    rank = np.where(counts.seen[:-1] < 0, -1, counts.seen[:-1] + 2)
    rank[[BEGIN, END]] = 0, 1  # before all words
    node, found = int(rank.argmax()), {}
    for order in range(1, counts.order):
        found[order] = node
        same = np.flatnonzero(links_of(counts, order + 1) == node)
        if not same.size:
            break
        first = same
        for lower in range(order, 0, -1):
            first = np.searchsorted(counts.level(lower).begins, first, side="right") - 1
        node = int(same[rank[first].argmax()])
    return found


def _words(counts: NgramCounts, rule: Rule, adjusted: bool, kind: Any) -> Any:
    """Return the probabilities of single words: of all words after the empty history."""
    base, words = counts_of(counts, 1, adjusted), len(counts.words)
    p, whole = np.empty(words, kind), np.array([0, words], base.dtype)
    uniform, links = np.array([1 / (words - 1)], kind), np.zeros(words, base.dtype)
    smooth(0, 1, whole, base, base, -1, links, uniform, rule, p, np.empty(1, kind))
    p[BEGIN] = 0.0  # it is never predicted
    return p


def _level(keys: Any, begins: Any, p: Any, gamma: Any, kept: Any, stays: Any) -> Level:
    """Return a level of logarithms, without the n-grams that are dropped, here and in the next level."""
    if stays.size:
        begins = np.concatenate([[0], np.cumsum(stays)])[begins].astype(begins.dtype)
    if kept.size:
        keys, p = keys[kept], p[kept]
        if gamma.size:
            gamma, begins = gamma[kept], begins[np.append(np.flatnonzero(kept), kept.size)]
    with np.errstate(divide="ignore"):
        return Level(keys, begins, np.log10(p, out=p), np.log10(gamma, out=gamma))


def link_levels(counts: NgramCounts, adjusted: bool, threads: int) -> None:
    """Write the links of all levels and, if asked for, the adjusted counts of the lower ones."""
    first, last = BEGIN, BEGIN + 1  # the n-grams of a level that begin with <s>
    links = np.zeros(0, np.uint32)
    for order in range(2, counts.order + 1):
        before = counts.level(order - 1)
        links = _link_level(counts, order, links, threads)
        if adjusted:
            found = np.zeros(before.counts.size, links.dtype)
            add_ones(links, found)
            found[first:last] = before.counts[first:last]
            found.tofile(counts.directory / f"{order - 1}.adjusted")
        links.tofile(counts.directory / f"{order}.links")
        first, last = int(before.begins[first]), int(before.begins[last])


def _link_level(counts: NgramCounts, order: int, shorter: Any, threads: int) -> Any:
    """Return the links of a level; `shorter`: those of the level before."""
    keys, before = counts.level(order).keys, counts.level(order - 1)
    links = np.empty(keys.size, before.counts.dtype)
    if order == 2:
        link_words(keys, counts.keys, links)
        return links
    lower = counts.level(order - 2).begins

    def work(part: range) -> None:
        ends = part.start, part.stop
        link_longer(*ends, before.begins, keys, shorter, lower, before.keys, counts.keys.bits, links)

    list(in_order(parts_of(before.begins.size - 1, BLOCK), work, threads))
    return links


def links_of(counts: NgramCounts, order: int) -> Any:
    """Map the links of a level."""
    return map_numbers(counts.directory / f"{order}.links", counts.level(1).counts.dtype)


def counts_of(counts: NgramCounts, order: int, adjusted: bool) -> Any:
    """Return the counts of a level, adjusted or not; that of `<s>`, which is never predicted, is 0."""
    found = counts.level(order).counts
    if adjusted and order < counts.order:
        found = map_numbers(counts.directory / f"{order}.adjusted", found.dtype)
    if order == 1:
        found = found.copy()
        found[BEGIN] = 0
    return found


@kernel
def tally_counts(counts: Any, n: Any) -> None:
    """Count the counts below n.size."""
    for i in range(counts.size):
        if counts[i] < n.size:
            n[counts[i]] += 1


@kernel
def link_words(level_keys: Any, keys: Any, links: Any) -> None:
    """Link pairs of words to their second word."""
    for i in range(level_keys.size):
        links[i] = word_of_key(keys, np.int64(level_keys[i]))


@kernel
def link_longer(
    first: Any, last: Any, begins: Any, keys: Any, before: Any, lower_begins: Any, lower_keys: Any, bits: Any,
    links: Any,
) -> None:  # fmt: skip
    """Link the n-grams that continue n-grams first .. last - 1, whose own links are `before`."""
    for i in range(first, last):
        if i + 2 * LINKED_AHEAD < last:
            prefetch_number(lower_begins, np.int64(before[i + 2 * LINKED_AHEAD]))
            prefetch_number(lower_keys, np.int64(lower_begins[before[i + LINKED_AHEAD]]))
        low, high = np.int64(lower_begins[before[i]]), np.int64(lower_begins[before[i] + 1])
        for child in range(begins[i], begins[i + 1]):
            low = seek(Sorted(lower_keys), low, high, np.int64(keys[child]), bits)
            links[child] = low


@kernel
def add_ones(links: Any, counts: Any) -> None:
    """Count how many n-grams have each link."""
    for i in range(links.size):
        counts[links[i]] += 1


@inner
def left_of(rule: Any, count: Any) -> Any:
    """Return what a rule leaves of a count."""
    return rule.left[count] if count < rule.left.size else count - rule.minus


@inner
def weigh(rule: Any, total: Any, types: Any, kept: Any, freed: Any, listed: Any) -> Any:
    """Return what a count of one is worth after a history, gamma, and whether counts stay as they are.

    total, types: the sum of all counts and how many there are; kept: how many n-grams are listed; freed: what
    the rule took from their counts, and the counts of the others; listed: the probability of all listed words
    after the shorter history.
    """
    more = types * rule.per_type + rule.plus
    if rule.how == BACK_OFF:
        if 1.0 - listed <= TINY:
            return 1.0 / total, 0.0, True
        if freed <= 0.0:
            more = 1.0
    one = 1.0 / (total + more)
    if rule.weights.size > 0:
        weight = rule.weights[bucket_of(total)]
        return weight * one, freed * weight * one + (1.0 - weight), False
    if rule.how == BACK_OFF:
        return one, (freed + more) * one / (1.0 - listed), False
    if rule.how == FIXED:
        return one, rule.fixed, False
    if rule.how == FLAT:
        others = rule.plus / rule.fixed - kept
        return one, (freed + more) * one / max(others, 1.0), False
    return one, (freed + more) * one, False


@kernel
def smooth(
    first: Any, last: Any, begins: Any, base: Any, counts: Any, drop: Any, links: Any, lower: Any, rule: Any,
    p: Any, gamma: Any,
) -> None:  # fmt: skip
    """Compute p of the n-grams that continue n-grams first .. last - 1, and gamma of these.

    base: the counts of the rule; counts: how often n-grams occur, those up to `drop` are dropped;
    lower[links]: the probabilities of their last words after the shorter history.
    """
    for history in range(first, last):
        low, high = np.int64(begins[history]), np.int64(begins[history + 1])
        gamma[history] = 1.0
        if low == high:
            continue
        total, freed = 0.0, 0.0
        listed = 0.0
        types, kept = np.int64(0), np.int64(0)
        for i in range(low, high):
            if i + AHEAD < links.size:
                prefetch_number(lower, np.int64(links[i + AHEAD]))
            count = np.int64(base[i])
            total += count
            types += count > 0
            freed += count
            if counts[i] > drop:
                kept += 1
                freed -= left_of(rule, count)
                listed += lower[links[i]] if count > 0 else 0.0
        one, share, whole = weigh(rule, total, types, kept, freed, listed)
        gamma[history] = share
        for i in range(low, high):
            count = np.int64(base[i])
            own = one * (count if whole else left_of(rule, count))
            if rule.how == INTERPOLATED or (rule.how == BACK_OFF and count == 0):
                own += share * lower[links[i]]
            p[i] = own
