"""The layers under contract, and what can be computed exactly about them by trying all draws.

Every registered layer is here with its default settings by itself; VARIANTS adds settings that change the
mathematics.
"""

import itertools
from collections import Counter

import numpy as np
import pytest
from grids import SOAK

from unhot.outputs import LAYERS, Head, parse_output
from unhot.probability import softmax

# {few}: a number of draws that V words have, {all}: V, {cutoffs}: ranks below V, {codes}, {classes},
# {weights}: files for V words
VARIANTS = [
    "self_normalized:alpha=0",
    "self_normalized:alpha=0.7,chunk=3",
    "softmax:chunk=2",
    "softmax:smoothing=0.2,chunk=3",
    "negative:k=2,hits=keep",
    "negative:k={few},unique=true",
    "negative:k={few},hits=keep,unique=true,noise=uniform",
    "negative:k=7,noise=file:{weights},power=1",
    "negative:k=3,noise=learned,power=0.5",
    "nce:k=3,ln_z=1.5,noise=uniform",
    "nce:k={few},ln_z=learned,unique=true",
    "nce:k=4,ln_z=per_input,noise=log_uniform",
    "sampled_logistic:k=3,noise=log_uniform",
    "sampled_logistic:k={few},unique=true",
    "sampled:k=3,hits=drop,power=0",
    "sampled:k={few},unique=true,hits=drop",
    "sampled:k={all},unique=true",
    "sampled:k=3,temperature=0.7,normalized=true",
    "sampled:k=3,noise=learned,correct=false,temperature=2",
    "sampled:k={few},unique=true,correct=false,normalized=true",
    "hierarchical:tree=balanced",
    "hierarchical:tree=file:{codes}",
    "class_based:classes=1",
    "class_based:classes={all}",
    "class_based:levels=2",
    "class_based:levels=3",
    "class_based:classes=file:{classes}",
    "infrequent:alpha=1,gamma=1",
    "partition:size=2",
    "in_batch:temperature=1.5,q=counts,hits=drop",
    "in_batch:temperature=1.5,correct=false,normalized=true",
    "in_batch:q=counts,correct=false",
    "mixed:k=3,temperature=1.5,q=counts,hits=drop",
    "mixed:k=3,temperature=2.5,correct=false,batch=5,normalized=true",
    "differentiated:cutoffs={cutoffs}",
    "adaptive:cutoffs={cutoffs},div_value=1",
]
SPECS = [*sorted(LAYERS), *VARIANTS]


def given_codes(words):
    """A lopsided tree: a third of the words to the left, the others to the right."""
    if words == 1:
        return [""]
    left = max(1, words // 3)
    return ["0" + code for code in given_codes(left)] + ["1" + code for code in given_codes(words - left)]


def given_class(word):
    """Three classes in no order of count."""
    return [7, -2, 100][word * word % 3]


def given_weight(word):
    return 1 + word * 5 % 7


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """A function (spec, words) -> layer that fills in what depends on the number of words."""

    def make(spec, words):
        ranks = sorted({words // 4, words // 2} - {0})
        values = {"few": min(3, words), "all": words, "cutoffs": ",".join(map(str, ranks)) or "auto"}
        files = {
            "codes": given_codes(words),
            "classes": map(given_class, range(words)),
            "weights": map(given_weight, range(words)),
        }
        for name, lines in files.items():
            if f"{{{name}}}" in spec:
                path = tmp_path_factory.mktemp(name) / "given.csv"
                path.write_text("".join(f"word{i},{line}\n" for i, line in enumerate(lines)))
                values[name] = path
        return parse_output(spec.format(**values))

    return make


@pytest.fixture(params=SPECS)
def every_spec(request):
    """One after the other, all specs under contract."""
    return request.param


def counts_of(words):
    """Falling, with ties, so that every noise and tree fits."""
    return 100 // (1 + np.arange(words)) + 1


@pytest.fixture(params=[1, 2, 7, 60] if SOAK else [1, 60])
def counts(request):
    return counts_of(request.param)


@pytest.fixture(scope="session")
def make_head():
    """A layer with random vectors and biases, dim = 3."""

    def make(layer, counts, seed=0, dtype=np.float64):
        rng = np.random.default_rng(seed)
        rows = layer.rows(counts)
        return Head(
            layer, counts, rng.normal(0, 1, (rows, 3)).astype(dtype), rng.normal(0, 0.5, rows).astype(dtype)
        )

    return make


# ---- exact expectations


def _all_draws(q, k, unique=False):
    """Every set of k draws (sorted) and its probability, summed over all orders in which they may come."""
    found = Counter()
    for sequence in (
        itertools.permutations(range(q.size), k) if unique else itertools.product(range(q.size), repeat=k)
    ):
        chance, left = 1.0, 1.0
        for word in sequence:
            chance *= q[word] / left
            left -= q[word] if unique else 0.0
        found[tuple(sorted(sequence))] += chance
    return found


def _draws_of(layer, counts):
    if layer.name == "infrequent":  # any draw: a step with the penalty
        return {(): 1.0 - layer.gamma, (0,): layer.gamma}
    if layer.name in ("in_batch", "mixed"):  # two other examples, and k columns of which chance decides
        columns = 2 + getattr(layer, "k", 0)
        return _all_draws(softmax(layer.log_c(counts, columns)), columns)
    if layer.name == "partition":  # one part, with every word
        return {tuple(range(counts.size)): 1.0}
    if not hasattr(layer, "k"):
        return {(): 1.0}
    return _all_draws(layer.probability(counts), layer.k, layer.unique)


def _expected_loss(layer, counts, true):
    """The mean of `reference` over targets from `true` and all draws, as a function of the scores."""
    draws = [(np.array(ids, np.int32), chance) for ids, chance in _draws_of(layer, counts).items()]
    targets = [(t, p) for t, p in enumerate(true) if p > 0]
    return lambda scores: sum(
        p * chance * layer.reference(scores, t, ids, counts) for t, p in targets for ids, chance in draws
    )


def _expected_logistic_loss(layer, counts, true):
    """The same for losses that are a sum over draws, of any k: each draw by itself, k times."""
    q, none = layer.probability(counts), np.array([], np.int32)

    def loss(scores):
        total = 0.0
        for t, p in enumerate(true):
            alone = layer.reference(scores, t, none, counts)
            one = [layer.reference(scores, t, np.array([w], np.int32), counts) - alone for w in range(q.size)]
            total += p * (alone + layer.k * np.dot(q, one))
        return total

    return loss


def _gradient(loss, scores, step=1e-3):
    """By central differences of fourth order: exact to about 1e-12."""
    out = np.empty(scores.size)
    for i in range(scores.size):
        e = np.zeros(scores.size)
        e[i] = step
        out[i] = (
            8 * (loss(scores + e) - loss(scores - e)) - (loss(scores + 2 * e) - loss(scores - 2 * e))
        ) / (12 * step)
    return out


@pytest.fixture(scope="session")
def all_draws():
    return _all_draws


@pytest.fixture(scope="session")
def expected_loss():
    return _expected_loss


@pytest.fixture(scope="session")
def expected_logistic_loss():
    return _expected_logistic_loss


@pytest.fixture(scope="session")
def gradient():
    return _gradient
