"""What the compiled training converges to: skip-gram on pairs of words of a known distribution.

A sentence is two words (a, b) from a joint distribution, so that with window 1 the words near w are
distributed as its row of the counts of pairs, both ways. There are enough dimensions for any distribution.
All settings were chosen once, for all layers.
"""

import numpy as np
import pytest
from grids import some

from unhot.corpus import encode
from unhot.models.skipgram import SkipGram
from unhot.outputs import LAYERS, Head, parse_output
from unhot.outputs.nce import NCE

WORDS, SENTENCES, SEEDS = 8, 20_000, (1, 2, 3)
BOUND = 0.003  # nats; a wrong offset costs more than four times as much, see below

# scores that are log-probabilities, odds and so on of their own accord, so that log Z must come out as 0; and
# those up to a constant
DETERMINED = [
    "self_normalized:alpha=1",
    "one_vs_all",
    "negative:k=5",
    "negative:k=5,hits=keep",
    "nce:k=5",
    "nce:k=5,ln_z=learned",
]
DETERMINED += ["sampled_logistic:k=5", "hierarchical", "class_based"]
UP_TO_CONSTANT = ["softmax", "sampled:k=5"]


def test_every_compiled_layer_is_trained():
    assert {spec.split(":")[0] for spec in DETERMINED + UP_TO_CONSTANT} == {
        name for name, layer in LAYERS.items() if layer.compiled
    }


class Planted:
    """A corpus of pairs, and how far a model is from it."""

    def __init__(self, directory):
        rng, rare = np.random.default_rng(0), 1 / np.sqrt(1 + np.arange(WORDS))
        joint = rng.gamma(1.0, 1.0, (WORDS, WORDS)) * np.outer(rare, rare)
        pairs = np.divmod(rng.choice(WORDS**2, SENTENCES, p=(joint / joint.sum()).ravel()), WORDS)
        self.corpus = encode(
            [[f"w{a}", f"w{b}"] for a, b in zip(*pairs, strict=True)], directory=directory, min_count=1
        )
        order = [int(word[1:]) for word in self.corpus.vocabulary.words]
        times = np.zeros((WORDS, WORDS))
        np.add.at(times, pairs, 1)
        times = (times + times.T)[np.ix_(order, order)]
        self.share, self.near = times.sum(axis=1) / times.sum(), times / times.sum(axis=1, keepdims=True)

    def fit(self, layer, seed=1):
        settings = {
            "dim": 8,
            "window": 2,
            "shrink": False,
            "sample": 0,
            "min_count": 1,
            "epochs": 20,
            "lr": 0.1,
            "threads": 1,
        }
        return SkipGram(output=layer, seed=seed, **settings).fit(self.corpus)

    def divergence(self, model, head=None):
        """The mean KL divergence over words, and the largest log Z."""
        head = head or model.head
        hidden = np.array([model.vectors[word] for word in self.corpus.vocabulary.words])
        kl = (self.near * (np.log(self.near) - head.log_prob(hidden))).sum(axis=1)
        return float(self.share @ kl), float(np.abs(head.log_z(hidden)).max())


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return Planted(tmp_path_factory.mktemp("pairs"))


@pytest.mark.parametrize("spec", some(DETERMINED + UP_TO_CONSTANT, 4))
def test_training_converges_to_the_distribution_of_the_pairs(spec, planted):
    kl, log_z = np.transpose([planted.divergence(planted.fit(spec, seed)) for seed in SEEDS])
    assert kl.mean() + 3 * kl.std(ddof=1) / np.sqrt(kl.size) < BOUND
    if spec in DETERMINED:
        assert log_z.max() < 0.1


class SquaredNoise(NCE):
    """Takes another noise than is drawn from."""

    def log_counts(self, q):
        return np.log(self.k * q**2 / (q**2).sum())


class NotTimesK(NCE):
    """Takes q for k q."""

    def log_counts(self, q):
        return np.log(q)


def test_a_wrong_offset_in_training_is_noticed(planted):
    """Another noise gives another distribution; a constant shows in log Z, of which the truth is 0."""
    assert planted.divergence(planted.fit(SquaredNoise(k=5)))[0] > 4 * BOUND
    assert planted.divergence(planted.fit(NotTimesK(k=5)))[1] > 1.0


READINGS = [
    ("negative:k=5", "negative:k=5,hits=keep"),
    ("negative:k=5,hits=keep", "softmax"),
    ("one_vs_all", "softmax"),
]


@pytest.mark.parametrize(("trained", "read"), READINGS)
def test_scores_read_by_the_wrong_formula_are_noticed(trained, read, planted):
    model = planted.fit(trained)
    wrong = Head(parse_output(read), model.vocabulary.counts, model.out_vectors.vectors)
    assert planted.divergence(model, wrong)[0] > 4 * BOUND
