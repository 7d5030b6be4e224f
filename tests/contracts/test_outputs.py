"""What every output layer must keep, over the registry."""

import dataclasses
import json

import numpy as np
import pytest

from unhot.errors import ConfigError
from unhot.kernels.loop import Params, scratch, train_chunk
from unhot.kernels.rng import bits_at_integer, stream_key
from unhot.kernels.windows import Chunk, Hot, Text, Window, keep_threshold
from unhot.models.cbow import CBOW
from unhot.models.skipgram import SkipGram
from unhot.outputs import LAYERS, parse_output
from unhot.train.params import padded

DIM, WORDS = 5, 7
COUNTS = np.array([40, 30, 20, 10, 5, 3, 2])
# more columns than one tile, few enough words that draws repeat and hit the target
SPECS = ["negative:k=1", "negative:k=5", "negative:k=5,hits=keep", "negative:k=20,power=0", "negative:k=13,hits=keep,power=-0.5"]
SENTENCE = [2, 0, 1, 0, 3, 0, 4, 1, 6]  # the window of place 4 holds 0 three times and 1 twice
CENTRE = 4


def test_every_layer_is_under_contract():
    assert {spec.split(":")[0] for spec in SPECS} == set(LAYERS)


class OneStep:
    """One centre of one sentence, trained with lr = 1: the change of the parameters is minus the gradient."""

    def __init__(self, model, seed=3):
        rng = np.random.default_rng(seed)
        self.model, self.layer = model, model.layer
        stride = padded(model.dim)
        self.before = [np.zeros((WORDS, stride), np.float32) for _ in range(2)]
        for matrix in self.before:
            matrix[:, : model.dim] = rng.normal(0, 0.5, (WORDS, model.dim))
        self.after = Params(*(matrix.copy() for matrix in self.before))
        text = Text(np.array(SENTENCE, np.int32), np.array([0, len(SENTENCE)], np.int64), keep_threshold(np.ones(WORDS)))
        self.kernel = model._kernel(COUNTS)
        self.key = stream_key(seed, 0, 1)
        chunk = Chunk(CENTRE, CENTRE + 1, 0, stream_key(seed, 0, 0), self.key, np.float32(1.0), Hot(0, 0, 0))
        buffers = scratch(1, model.window, self.layer.columns(), stride)
        k = self.kernel
        self.loss, self.pairs = train_chunk(k.step, k.shape, k.tables, text, Window(model.window, False), self.after, buffers, chunk)

    def draws(self):
        """The noise words of the step, drawn again from the alias table in Python's integers."""
        table = [int(cell) for cell in self.kernel.tables.noise]
        out = []
        for i in range(1, self.layer.columns()):
            product = bits_at_integer(int(self.key), i) * len(table)
            cell = table[product >> 64]
            out.append(product >> 64 if (product & (2**64 - 1)) >> 32 < cell >> 32 else cell & 0xFFFFFFFF)
        return np.array(out, np.int32)

    def reference(self, in_vectors, out_vectors):
        """The loss by the layer's own formula, in float64."""
        contexts = [w for i, w in enumerate(SENTENCE) if i != CENTRE and abs(i - CENTRE) <= self.model.window]
        if isinstance(self.model, SkipGram):
            hidden = [in_vectors[w] for w in contexts]
        else:
            hidden = [sum(in_vectors[w] for w in contexts) / (len(contexts) if self.model.combine == "mean" else 1)]
        return sum(self.layer.reference(out_vectors @ h, SENTENCE[CENTRE], self.draws()) for h in hidden)


MODELS = [lambda spec: SkipGram(dim=DIM, window=4, output=spec), lambda spec: CBOW(dim=DIM, window=4, output=spec)]
MODELS.append(lambda spec: CBOW(dim=DIM, window=4, output=spec, combine="sum"))


@pytest.mark.parametrize("make", MODELS, ids=["skipgram", "cbow", "cbow-sum"])
@pytest.mark.parametrize("spec", SPECS)
def test_loss_and_gradient_are_those_of_the_formula(spec, make):
    step = OneStep(make(spec))
    matrices = [matrix.astype(np.float64) for matrix in step.before]
    assert step.loss == pytest.approx(step.reference(*matrices), rel=1e-5)
    assert step.pairs == (8 if isinstance(step.model, SkipGram) else 1)
    epsilon = 1e-6
    for which, matrix in enumerate(matrices):
        change = step.after[which] - step.before[which]
        assert not change[:, DIM:].any()  # the padding stays zero
        for at in np.ndindex(WORDS, DIM):
            kept = matrix[at]
            matrix[at] = kept + epsilon
            up = step.reference(*matrices)
            matrix[at] = kept - epsilon
            down = step.reference(*matrices)
            matrix[at] = kept
            assert change[at] == pytest.approx(-(up - down) / (2 * epsilon), rel=1e-4, abs=2e-5)


@pytest.mark.parametrize("spec", SPECS)
def test_spec_and_json_round_trip(spec):
    layer = parse_output(spec)
    assert parse_output(layer.spec()) == layer
    assert type(layer)(**json.loads(json.dumps(dataclasses.asdict(layer)))) == layer
    with pytest.raises(dataclasses.FrozenInstanceError):
        layer.k = 3


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("negative:k=0", "negative:k=0: must be >= 1"),
        ("negative:k=5000", "negative:k=5000: must be <= 4096"),
        ("negative:k=five", "negative:k=five: must be a whole number"),
        ("negative:power=nan", "negative:power=nan: must be a finite number"),
        ("negative:hits=maybe", "negative:hits='maybe': must be one of drop, keep"),
        ("negative:kk=5", "'kk=5' is not a setting of negative; write name=value with k, power, hits"),
        ("negative:k", "'k' is not a setting of negative"),
        ("softmix", "there is no layer 'softmix'; there are negative"),
    ],
)
def test_bad_settings_are_named(spec, told):
    with pytest.raises(ConfigError, match=told.replace(".", r"\.")):
        parse_output(spec)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("kind", [SkipGram, CBOW])
def test_a_planted_structure_is_learned(spec, kind):
    """Words of one topic stand together, never with words of the other: the nearest neighbours must be of the same topic."""
    rng = np.random.default_rng(0)
    sentences = [[f"{topic}{i}" for i in rng.integers(0, 8, 10)] for topic in "ab" for _ in range(300)]
    order = rng.permutation(len(sentences))
    model = kind(dim=16, window=3, min_count=1, sample=0, epochs=5, lr=0.1, output=spec, threads=1)
    vectors = model.fit([sentences[i] for i in order]).vectors
    for word in vectors.words:
        assert {near[0] for near, _ in vectors.most_similar(word, topn=7)} == {word[0]}, word
