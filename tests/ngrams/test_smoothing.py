"""Each smoothing is the formula that it claims to be: references, sums, limits, golden values."""

import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np
import pytest
from grids import SOAK, crossed

from tests.ngrams.texts import GOLDEN, LINES, fitted, random_lines
from unhot import NGramModel
from unhot.errors import ConfigError
from unhot.ngrams.smoothing import SMOOTHINGS, parse_smoothing
from unhot.ngrams.smoothing.jelinek_mercer import BUCKETS, ROUNDS, START
from unhot.ngrams.smoothing.smoothing import MOST, Tables, Tally
from unhot.ngrams.symbols import BEGIN, END, SYMBOLS

TRAINED = sorted(SMOOTHINGS.keys() - {"given"})
NORMALISED = [name for name in TRAINED if SMOOTHINGS[name].normalised]
SPECS = [*TRAINED, "add_k:k=0.01", "kneser_ney:discount=0.75", "absolute_discounting:discount=1", "katz:k=3"]


class NgramTables:
    """Counts the n-grams of lines: counts[ngram], and before[ngram], the different words before it."""

    def __init__(self, lines: list[list[str]], order: int, words: Iterable[str] = ()) -> None:
        """Count n-grams of all orders; `words`: further words of the vocabulary."""
        self.order = order
        self.counts = Counter()
        before = defaultdict(set)
        for line in lines:
            tokens = (SYMBOLS[BEGIN], *line, SYMBOLS[END])
            for first in range(len(tokens)):
                for last in range(first + 1, min(first + order, len(tokens)) + 1):
                    self.counts[tokens[first:last]] += 1
                    if first:
                        before[tokens[first:last]].add(tokens[first - 1])
        after, adjusted = defaultdict(Counter), defaultdict(Counter)
        for ngram, count in self.counts.items():
            if ngram != (SYMBOLS[BEGIN],):
                after[ngram[:-1]][ngram[-1]] = count
                longest = len(ngram) == order or ngram[0] == SYMBOLS[BEGIN]
                adjusted[ngram[:-1]][ngram[-1]] = count if longest else len(before[ngram])
        known = {SYMBOLS[0], SYMBOLS[END], *words, *after[()]}
        self.tables = Tables(known, after, adjusted, self.tally)

    def tally(self, order: int, adjusted: bool, as_lmplz: bool) -> Tally:
        """Return the counts of counts of an order."""
        after = self.tables.adjusted if adjusted else self.tables.after
        found = [count for history in after if len(history) == order - 1 for count in after[history].values()]
        last = self.last(order) if as_lmplz and order < self.order else None
        if last is not None:
            found.remove(after[last[:-1]][last[-1]])
            found.append(self.counts[last])
        return Tally(order, np.bincount(found, minlength=MOST)[:MOST], len(self.tables.words))

    def last(self, order: int) -> tuple[str, ...] | None:
        """Return the last n-gram in the order of lmplz (see modified_kneser_ney.py); None: there is none."""
        rank = {word: i for i, word in enumerate(ngram[0] for ngram in self.counts if len(ngram) == 1)}
        rank |= {SYMBOLS[BEGIN]: -2, SYMBOLS[END]: -1}
        suffix = self.last(order - 1) if order > 1 else ()
        longer = [n for n in self.counts if suffix is not None and len(n) == order and n[1:] == suffix]
        return max(longer, key=lambda ngram: rank[ngram[0]], default=None)


def tables_of(lines: list[str], order: int, spec: str) -> Tables:
    """Return the dictionaries of lines, with the weights of Jelinek-Mercer if these are needed."""
    split = [line.split() for line in lines]
    tables = NgramTables(split, order).tables
    step = parse_smoothing(spec).step
    if step:
        others = [x for i, x in enumerate(split) if i % step != step - 1]
        learned = NgramTables(others, order, tables.words).tables
        tables = tables._replace(weights=reference_weights(learned, order, split[step - 1 :: step]))
    return tables


def reference_weights(tables: Tables, orders: int, held: list[list[str]]) -> list[np.ndarray]:
    """Learn the weights of each order from dictionaries, in float64; `tables` has the other lines."""
    weights = [np.full(BUCKETS, START) for _ in range(orders)]
    lines = [(SYMBOLS[BEGIN], *line, SYMBOLS[END]) for line in held]
    for _ in range(ROUNDS):
        sums = np.zeros((orders, BUCKETS, 2))
        for line in lines:
            for at in range(1, len(line)):
                parts, used = [1 / len(tables.words)], []
                for order in range(min(orders, at + 1)):
                    found = tables.after.get(line[at - order : at])
                    if not found:
                        break
                    bucket = found.total().bit_length() - 1
                    weight = weights[order][bucket]
                    parts = [part * (1 - weight) for part in parts]
                    parts.append(weight * found[line[at]] / found.total())
                    used.append((order, bucket))
                for order, bucket in used:
                    whole = sum(parts)
                    sums[order, bucket] += parts[order + 1] / whole, sum(parts[: order + 2]) / whole
        for order in range(orders):
            reached = sums[order, :, 1] > 0
            weights[order][reached] = sums[order, reached, 0] / sums[order, reached, 1]
    return weights


def histories(lines: list[str], order: int, seed: int, number: int = 40) -> list[tuple[str, ...]]:
    """Return histories of the text and random ones, each with at most order - 1 words."""
    draw = random.Random(seed)
    words = [*{word for line in lines for word in line.split()}, "<unk>", "<s>"]
    found = []
    for _ in range(number):
        line = ["<s>", *draw.choice(lines).split()]
        end = draw.randint(0, len(line))
        length = draw.randint(0, min(order - 1, end))
        found.append(tuple(line[end - length : end]))
        found.append(tuple(draw.choices(words[:-1], k=draw.randint(0, order - 1))))
    return found


def distribution(model, history: tuple[str, ...]) -> np.ndarray:
    """Return the probabilities of all words after a history."""
    bos = history[:1] == ("<s>",)
    state = model.state(" ".join(history[1:] if bos else history), bos=bos)
    return 10.0 ** model.scorer.log10_all(state)


@pytest.mark.parametrize("order", [1, 2, 3, 4] if SOAK else [1, 3])
@pytest.mark.parametrize("spec", SPECS)
def test_a_model_is_its_reference(spec: str, order: int) -> None:
    lines = random_lines(3)
    model, how = fitted(lines, order=order, smoothing=spec), parse_smoothing(spec)
    tables = tables_of(lines, order, spec)
    for history in histories(lines, order, seed=order, number=12):
        found = distribution(model, history)
        for i, word in enumerate(model.vocabulary.words):
            if word != "<s>":
                expected = how.reference(tables, history, word)
                assert found[i] == pytest.approx(expected, rel=1e-12, abs=1e-15), (history, word)


@pytest.mark.parametrize(("order", "seed"), crossed([1, 2, 3, 5] if SOAK else [3, 1], [1, 2]))
@pytest.mark.parametrize("name", NORMALISED)
def test_probabilities_sum_to_one(name: str, order: int, seed: int) -> None:
    lines = random_lines(seed) if seed > 1 else LINES
    model = fitted(lines, order=order, smoothing=name)
    for history in histories(lines, order, seed):
        assert distribution(model, history).sum() == pytest.approx(1.0, abs=1e-9), history


@pytest.mark.parametrize(("name", "prune"), crossed(NORMALISED, ["0,1", "0,0,2"]))
def test_pruned_models_sum_to_one(name: str, prune: str) -> None:
    lines = random_lines(4, 200)
    model = fitted(lines, order=3, smoothing=name, prune=prune)
    assert sum(model.learned.packed.ngrams) < sum(fitted(lines, order=3).learned.packed.ngrams)
    for history in histories(lines, 3, 5):
        assert distribution(model, history).sum() == pytest.approx(1.0, abs=1e-9), history


def test_stupid_backoff_is_not_normalised() -> None:
    model = fitted(LINES, order=3, smoothing="stupid_backoff")
    assert distribution(model, ("the", "cat")).sum() > 1.01


@pytest.mark.parametrize("name", ["absolute_discounting", "kneser_ney"])
def test_without_discount_it_is_maximum_likelihood(name: str) -> None:
    # of the highest order: lower orders of Kneser-Ney count histories
    some = fitted(LINES, order=2, smoothing=f"{name}:discount=0")
    likely = fitted(LINES, order=2, smoothing="maximum_likelihood")
    for history in [("the",), ("<s>",), ("sat",)]:
        assert distribution(some, history) == pytest.approx(distribution(likely, history), abs=1e-12)


def test_much_added_is_uniform() -> None:
    model = fitted(LINES, order=2, smoothing="add_k:k=1e12")
    p = distribution(model, ("the",))
    assert np.delete(p, 1) == pytest.approx(1 / (p.size - 1), rel=1e-9)


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("lines", [["a"], ["a a a a a"], ["a b", "", "c"], ["a", ""]], ids=str)
def test_a_text_that_is_too_small(name: str, lines: list[str]) -> None:
    notes: list[str] = []
    model = NGramModel(order=3, smoothing=name, double=True).fit(iter(lines), note=notes.append)
    if SMOOTHINGS[name].normalised:
        assert distribution(model, ("<s>",)).sum() == pytest.approx(1.0, abs=1e-9)
    if "discount" in name or "kneser" in name or name == "katz":
        assert any("order 3" in note for note in notes)


def test_golden_kneser_ney() -> None:
    golden = json.loads((GOLDEN / "kneser_ney.json").read_text())
    specs = {
        "fixed_0.75": "kneser_ney:discount=0.75",
        "single_estimated": "kneser_ney",
        "modified": "modified_kneser_ney",
    }
    for variant, spec in specs.items():
        model = fitted(LINES, order=3, smoothing=spec)
        for sentence, case in zip(
            golden["test_sentences"], golden["variants"][variant]["cases"], strict=True
        ):
            found = model.full_scores(sentence)
            p = [10**token.log10 for token in found]
            assert p == pytest.approx(case["token_probabilities"], rel=1e-9)
            assert model.score(sentence) == pytest.approx(case["log10_total"], abs=1e-9)
            lengths = [(token[1], bool(token[2])) for token in case["kenlm_tokens"]]
            assert [(token.length, token.unknown) for token in found] == lengths


def test_maximum_likelihood_says_how_many_tokens_have_probability_zero() -> None:
    model = fitted(LINES, order=2, smoothing="maximum_likelihood")
    found = model.perplexity(iter(["the cat sat", "the unheard"]))
    assert (found.tokens, found.unknown, found.zero) == (7, 1, 2)  # the end after sat was never seen
    assert found.perplexity == found.perplexity_without_unknown == math.inf
    alone = model.perplexity(iter(["the cat sat on the mat", "the unheard"]), eos=False)
    assert (alone.zero, alone.unknown, alone.perplexity) == (1, 1, math.inf)
    assert alone.perplexity_without_unknown < 10


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("laplace", "there is no smoothing 'laplace'"),
        ("add_k:k=0", "must be at least"),
        ("add_k:j=1", "is not a setting of add_k"),
        ("kneser_ney:discount=2", "between 0 and 1"),
        ("katz:k=x", "must be a whole number"),
        ("jelinek_mercer:held_out=1", "at least 2"),
        (7, "must be a smoothing"),
    ],
)
def test_wrong_specs_are_refused(spec: object, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        parse_smoothing(spec)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", TRAINED)
def test_specs_round_trip(name: str) -> None:
    how = parse_smoothing(name)
    assert parse_smoothing(how.spec()) == how
