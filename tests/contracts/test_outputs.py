"""What the compiled half of every output layer must keep, over the registry.

It must have the loss and the gradient of the formula, in both orientations.
"""

import dataclasses
import json
import logging
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from grids import SOAK, crossed
from programs import with_jit, without_jit

import unhot
from unhot.errors import ConfigError, DataError, FormatError, NothingLearned
from unhot.kernels.chunk import NO_COPIES, How, one_piece
from unhot.kernels.loop import Params, scratch
from unhot.kernels.rng import bits_at_integer, stream_key
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.windows import Text, Window, keep_threshold, kept_buffer
from unhot.models.bag_feeders import FARTHEST
from unhot.models.cbow import CBOW
from unhot.models.engine import make_kernel
from unhot.models.fasttext import FastText
from unhot.models.skipgram import SkipGram
from unhot.outputs import LAYERS, Head, parse_output
from unhot.train.params import HotSizes, Sizes, padded, start_params, without_copies
from unhot.vectors.formats.directory import load_model

torch = pytest.importorskip("torch")
nn = pytest.importorskip("unhot.nn")

DIM, WORDS = 5, 7
SPELLED = ["anna", "banana", "\u00e4\u00e4\u00e4", "ana", "nana", "xx", "nan"]
COUNTS = np.array([40, 30, 20, 10, 5, 3, 2])
# one tile and more, few enough words that draws repeat and hit the target, every setting and every bias
SPECS = [
    "negative:k=1",
    "negative:k=5",
    "negative:k=5,hits=keep,bias=true",
    "negative:k=20,power=0",
    "negative:k=13,hits=keep,power=-0.5",
    "negative:k=5,unique=true",
    "negative:k=5,noise=log_uniform",
    "negative:k=20,noise=learned",
    "nce:k=5",
    "nce:k=5,ln_z=2.5,bias=true",
    "nce:k=5,ln_z=learned",
    "nce:k=20,ln_z=per_input,bias=true",
    "nce:k=5,unique=true,noise=uniform",
    "sampled_logistic:k=5",
    "sampled_logistic:k=20,bias=true",
    "sampled:k=5",
    "sampled:k=5,unique=true,hits=drop",
    "sampled:k=20,bias=true",
    "sampled:k=20,hits=drop,power=0",
    "softmax",
    "softmax:bias=true",
    "softmax:smoothing=0.3,bias=true",
    "self_normalized:alpha=0.7,bias=true",
    "one_vs_all",
    "one_vs_all:bias=true",
    "one_vs_all:together=true,bias=true",
    "hierarchical",
    "hierarchical:tree=balanced,bias=true",
    "class_based",
    "class_based:classes=1",
    "class_based:classes=4,levels=2,bias=true",
]
COMPILED = {name for name, layer in LAYERS.items() if layer.compiled}
TORCH_ONLY = [
    "infrequent:alpha=0.5,gamma=0.01,bias=true",
    "partition:size=17",
    "in_batch:temperature=0.05,q=counts,hits=drop",
    "mixed:k=7,temperature=0.05,correct=false,batch=512",
    "differentiated:cutoffs=2,5,widths=3,1,1,bias=true",
    "differentiated:widths=4",
    "adaptive:cutoffs=2,5,div_value=1.5,bias=true",
]
SENTENCE = [2, 0, 1, 0, 3, 0, 4, 1, 6]  # the window of place 4 holds 0 three times and 1 twice
CENTRE = 4
BIG_SENTENCE = [2, 0, 1, 0, 3, 3, 4, 1, 6]  # the centre stands among its contexts, too


def test_every_layer_is_under_contract():
    assert {spec.split(":")[0] for spec in SPECS} == COMPILED
    assert {spec.split(":")[0] for spec in SPECS + TORCH_ONLY} == set(LAYERS)


class OneStep:
    """One centre of one sentence, trained with lr = 1: the change of the parameters is minus the gradient."""

    def __init__(self, model, seed=3, sentence=SENTENCE, spelled=SPELLED, spread=0.5):
        rng = np.random.default_rng(seed)
        self.model, self.layer, self.sentence = model, model.layer, sentence
        inputs = None
        if isinstance(model, unhot.FastText):
            inputs = model.rows_of(unhot.Vocabulary(spelled, COUNTS), np.array([2, -1]))
        self.wiring = model.wiring(inputs and inputs.bags)
        self.kernel = make_kernel(model, self.wiring, COUNTS)
        self.bags = (
            [[word] for word in range(WORDS)]
            if inputs is None
            else np.split(inputs.bags.rows, inputs.bags.starts[1:-1])
        )
        in_rows = WORDS if inputs is None else inputs.keys.size
        sizes = Sizes(in_rows, self.layer.rows(COUNTS), self.layer.biases(), HotSizes(0, 0), 0, 1)
        stride = padded(model.dim)
        params = start_params(sizes, model.dim, stride, seed, self.wiring.first_rows)
        self.learned = without_copies(params, sizes, model.dim)
        for array in self.learned:
            array[:] = rng.normal(0, spread, array.shape)
        self.before = Params(*(array.astype(np.float64) for array in self.learned))
        ids, starts = np.array(sentence, np.int32), np.array([0, len(sentence)], np.int64)
        for array in (ids, starts):
            array.setflags(write=False)  # as those of a shard: the kernels of real trainings
        text = Text(ids, starts, keep_threshold(np.ones(WORDS)))
        self.key = stream_key(seed, 0, 1)
        at = LANES
        params.ln_z[at:] = params.ln_z[:1]  # the thread's own
        where = one_piece(CENTRE, CENTRE + 1, stream_key(seed, 0, 0), self.key)
        how = How(np.float32(1.0), NO_COPIES._replace(ln_z_at=at), np.zeros(0, np.uint8))
        feeder, k = self.wiring.feeder(text, Window(model.window, False)), self.kernel
        buffers = scratch(kept_buffer(1, model.window), k.room, stride)
        self.loss, self.pairs = k.train(feeder, k.rows, k.tables, params, buffers, where, how)
        params.ln_z[:1] = params.ln_z[at : at + 1]
        assert not any(matrix[:, DIM:].any() for matrix in params[:2])  # the padding stays zero

    def draws(self):
        """The noise words of the step, drawn again from the alias table in Python's integers."""
        if not hasattr(self.kernel.tables, "noise"):
            return np.zeros(0, np.int32)
        table, tables = [int(cell) for cell in self.kernel.tables.noise], self.kernel.tables
        out, i = [], 0
        while len(out) < tables.k * self.rounds():
            i += 1
            product = bits_at_integer(int(self.key), i) * len(table)
            cell = table[product >> 64]
            word = product >> 64 if (product & (2**64 - 1)) >> 32 < cell >> 32 else cell & 0xFFFFFFFF
            if not (tables.unique and word in out):
                out.append(word)
        return np.array(out, np.int32)

    def rounds(self):
        """How many sets of draws the targets share."""
        each = isinstance(self.model, FastText) and self.layer.set_of_draws() > 0
        return len(self.examples()[1]) if each else 1

    def reference(self, in_vectors, out_vectors, out_bias, in_bias, ln_z):
        """The loss by the layer's own formula, in float64."""
        loss, draws = 0.0, self.draws()
        if self.layer.takes_together():  # one example, which is in the window as often as it has targets
            bag, targets = self.examples()[0][0], self.examples()[1]
            scores = out_vectors @ (self.share(bag) * in_vectors[bag].sum(0)) + out_bias
            return np.logaddexp(0.0, scores).sum() - scores[targets].sum()
        for bag, target in zip(*self.examples(), strict=True):
            share = self.share(bag)
            scores = out_vectors @ (share * in_vectors[bag].sum(0)) + (out_bias if out_bias.size else 0.0)
            scores = (
                scores
                + (share * in_bias[bag].sum() if in_bias.size else 0.0)
                - (ln_z[0] if ln_z.size else 0.0)
            )
            if self.rounds() > 1:  # each draw counts so much less
                alone = self.layer.reference(scores, target, draws[:0], COUNTS)
                loss += alone + (self.layer.reference(scores, target, draws, COUNTS) - alone) / self.rounds()
            else:
                loss += self.layer.reference(scores, target, draws, COUNTS)
        return loss

    def share(self, bag):
        """What the sum of the rows of a bag is multiplied by: words and rows are summed or averaged."""
        if getattr(self.model, "combine", "mean") == "mean":
            return 1 / len(bag)
        return 1 / 8 if getattr(self.model, "architecture", None) == "cbow" else 1.0

    def examples(self):
        """Bags of inputs, and the target of each."""
        model, centre = self.model, self.sentence[CENTRE]
        contexts = [w for i, w in enumerate(self.sentence) if i != CENTRE and abs(i - CENTRE) <= model.window]
        if self.wiring.combine:
            return [np.concatenate([self.bags[w] for w in contexts])], [centre]
        if self.wiring.targets == 1:
            return [self.bags[w] for w in contexts], [centre] * len(contexts)
        return [self.bags[centre]] * len(contexts), contexts


MODELS = {
    "skipgram-centre": lambda spec: SkipGram(dim=DIM, window=4, output=spec, predict="centre"),
    "skipgram-contexts": lambda spec: SkipGram(dim=DIM, window=4, output=spec, predict="contexts"),
    "cbow": lambda spec: CBOW(dim=DIM, window=4, output=spec),
    "cbow-sum": lambda spec: CBOW(dim=DIM, window=4, output=spec, combine="sum"),
}
BAGS = {"minn": 1, "maxn": 2, "buckets": 7}  # few enough that n-grams share rows
FASTTEXTS = {
    "skipgram": lambda spec: FastText(dim=DIM, window=4, output=spec, **BAGS),
    "cbow": lambda spec: FastText(dim=DIM, window=4, output=spec, architecture="cbow", **BAGS),
    "floret": lambda spec: FastText(dim=DIM, window=4, output=spec, scheme="floret", hashes=2, **BAGS),
}


CASES = crossed(SPECS, list(MODELS))
if not SOAK:  # with another model these would each have a kernel that no other test needs
    OTHERS = {
        "negative:k=1": "skipgram-contexts",
        "sampled:k=20,bias=true": "skipgram-centre",
        "class_based:classes=1": "skipgram-centre",
    }
    CASES = [(spec, OTHERS.get(spec, name)) for spec, name in CASES]


@pytest.mark.parametrize(("spec", "name"), CASES)
def test_loss_and_gradient_are_those_of_the_formula(spec, name):
    if parse_output(spec).all_rows and name == "skipgram-centre":
        with pytest.raises(ConfigError, match="predict=centre"):
            MODELS[name](spec)
        return
    model = MODELS[name](spec)
    for sentence in (SENTENCE, BIG_SENTENCE):
        check_step(OneStep(model, sentence=sentence))


# every kernel and every bias; what the settings change besides is the same as in the models above; in this
# order, other tests need the kernels, too
BAG_SPECS = [
    "negative:k=20,power=0",
    "negative:k=5",
    "negative:k=5,unique=true",
    "nce:k=20,ln_z=per_input,bias=true",
    "nce:k=5,ln_z=learned",
    "sampled_logistic:k=5",
    "sampled:k=20,bias=true",
    "softmax:bias=true",
    "one_vs_all",
    "class_based:classes=4,levels=2,bias=true",
    "hierarchical:tree=word2vec",
]


def test_every_layer_is_tried_with_bags():
    # which has the kernel of softmax
    assert {spec.split(":")[0] for spec in BAG_SPECS} == COMPILED - {"self_normalized"}


@pytest.mark.parametrize(("spec", "name"), crossed(BAG_SPECS, list(FASTTEXTS)))
def test_rows_of_a_bag_move_by_the_gradient_times_their_number(spec, name):
    step = OneStep(FASTTEXTS[name](spec))
    bags, _ = step.examples()
    around = [word for place, word in enumerate(SENTENCE) if place != CENTRE]
    assert len(bags[0]) > len(set(bags[0].tolist()))  # a row stands in it twice
    words = [step.bags[w] for w in around] if step.wiring.combine else bags[:1]
    squares = sum((np.unique(bag, return_counts=True)[1] ** 2).sum() for bag in words)
    check_step(step, len(bags[0]) ** 2 / squares)


@pytest.mark.parametrize(("spec", "name"), crossed(BAG_SPECS, list(FASTTEXTS)))
def test_rows_of_a_sum_move_by_their_gradient(spec, name):
    """A word has a row once; two words around a centre may have it, and its gradient is that of both."""
    step = OneStep(dataclasses.replace(FASTTEXTS[name](spec), combine="sum"))
    assert all(len(bag) == len(set(bag.tolist())) for bag in step.bags)
    bag = step.examples()[0][0]
    assert (len(bag) > len(set(bag.tolist()))) == (step.wiring.combine is not None)
    check_step(step)


@pytest.mark.parametrize(("architecture", "spec"), [("skipgram", "negative:k=5"), ("cbow", "softmax")])
def test_rows_of_a_very_long_sum_move_by_a_part_of_their_gradient(architecture, spec):
    """So that h moves by FARTHEST times its own gradient, and not by the number of its rows."""
    rng = np.random.default_rng(0)
    spelled = ["".join(rng.choice(list("abcdefghijkl"), 1500)) for _ in range(WORDS)]
    cut = {"minn": 3, "maxn": 4, "buckets": 4000}
    model = FastText(dim=DIM, window=4, output=spec, architecture=architecture, combine="sum", **cut)
    step = OneStep(model, spelled=spelled, spread=0.02)
    around = [word for place, word in enumerate(SENTENCE) if place != CENTRE]
    words = around if architecture == "cbow" else [SENTENCE[CENTRE]]
    part = float(FARTHEST) / (sum(len(step.bags[word]) for word in words) / len(words) ** 2)
    assert part < 0.9
    check_step(step, part, some=40)


def check_step(step, moved=1, some=None):
    """Compare each change, or those of the first `some` rows, with central differences of the formula."""
    arrays = step.before
    assert step.loss == pytest.approx(step.reference(*arrays), rel=1e-5)
    assert step.pairs == (1 if step.wiring.combine else 8)
    epsilon = 1e-6
    for name, before, after in zip(Params._fields, arrays, step.learned, strict=True):
        factor = moved if name in ("in_vectors", "in_bias") else 1
        for at in np.ndindex(before[:some].shape):
            kept = before[at]
            before[at] = kept + epsilon
            up = step.reference(*arrays)
            before[at] = kept - epsilon
            down = step.reference(*arrays)
            before[at] = kept
            assert after[at] - kept == pytest.approx(
                -factor * (up - down) / (2 * epsilon), rel=1e-4, abs=3e-5 * factor
            )


@pytest.mark.parametrize(("spec", "name"), CASES)
def test_torch_has_the_loss_and_gradient_of_the_kernel(spec, name):
    """The same step by autograd: every pair an example, all with the draws of the window."""
    if parse_output(spec).all_rows and name == "skipgram-centre":
        return
    step = OneStep(MODELS[name](spec))
    arrays = [torch.from_numpy(array).requires_grad_() for array in step.before]
    in_vectors, out_vectors, out_bias, in_bias, ln_z = arrays
    head = nn.OutputHead(step.layer, DIM, COUNTS, dtype=torch.float64)
    head.begin(
        nn.OutputRows(out_vectors, out_bias if out_bias.numel() else None, ln_z if ln_z.numel() else None)
    )
    bags, targets = step.examples()
    share = [1 / len(bag) if getattr(step.model, "combine", "mean") == "mean" else 1.0 for bag in bags]
    hidden = torch.stack([in_vectors[bag].sum(dim=0) * part for bag, part in zip(bags, share, strict=True)])
    call = {"draws": torch.from_numpy(step.draws())} if head.draws_noise else {}
    if in_bias.numel():
        call["in_bias"] = torch.stack(
            [in_bias[bag].sum() * part for bag, part in zip(bags, share, strict=True)]
        )
    loss = head(hidden, torch.tensor(targets), reduction="sum", **call)
    if step.layer.takes_together():  # the sum over all words counts once, not once for each target
        scores = hidden[0] @ head.weight.T + head.bias
        loss = loss - (len(targets) - 1) * torch.nn.functional.softplus(scores).sum()
    assert step.loss == pytest.approx(loss.item(), rel=1e-5)
    loss.backward()
    gradients = {"in_vectors": in_vectors.grad, "out_vectors": head.weight.grad, "in_bias": in_bias.grad}
    gradients |= {
        "out_bias": None if head.bias is None else head.bias.grad,
        "ln_z": getattr(getattr(head, "ln_z", None), "grad", None),
    }
    for name, before, after in zip(step.learned._fields, step.before, step.learned, strict=True):
        if before.size:
            np.testing.assert_allclose(before - after, gradients[name], rtol=1e-4, atol=3e-5, err_msg=name)


def test_labels_are_taken_together_by_one_vs_all_alone():
    for name in sorted(LAYERS):
        layer = parse_output(name)
        assert not layer.takes_together()
        assert layer.for_labels().takes_together() == (name == "one_vs_all")
        assert layer.independent == (name == "one_vs_all")


@pytest.mark.parametrize("spec", SPECS)
def test_decisions_are_the_scores_that_the_probability_depends_on(spec):
    """The more of each, the more probable is the word; no other score of a tree or a class is named."""
    layer = parse_output(spec)
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 1, layer.rows(COUNTS))
    for target in range(WORDS):
        decisions = layer.decisions(target, COUNTS)
        assert len({row for _, row, _ in decisions}) == len(decisions)
        if layer.rows_are_words:
            assert decisions == [("score", target, 1.0)]
        for _, row, sign in decisions:
            more = scores.copy()
            more[row] += sign * 0.1
            rise = Head(layer, COUNTS, more[:, None]).log_prob([1.0]) - Head(
                layer, COUNTS, scores[:, None]
            ).log_prob([1.0])
            # a class or a node of all words is always right
            assert rise[target] > 0 or np.abs(rise).max() < 1e-12


def test_smoothed_targets_are_not_learned_from_cells():
    layer = parse_output("softmax:smoothing=0.1")
    for refuse in (layer.check_cells, lambda: layer.count_loss(COUNTS)):
        with pytest.raises(
            ConfigError, match=r"softmax:.*smoothing=0\.1: training on cells has no smoothing"
        ):
            refuse()
    parse_output("softmax:smoothing=0").check_cells()


def test_both_orientations_have_the_same_pairs():
    """Without draws the sum over all centres is the same, whichever word of a pair predicts the other."""
    text = [["a", "b", "c", "a", "d"], ["b", "d", "c"]] * 3
    losses = []
    for predict in ("centre", "contexts"):
        model = SkipGram(
            dim=4,
            min_count=1,
            window=2,
            shrink=False,
            sample=0,
            epochs=1,
            lr=1e-20,
            output="hierarchical",
            predict=predict,
        )
        losses.append(model.fit(text).history)
    assert losses[0].pairs == losses[1].pairs
    assert losses[0].losses == pytest.approx(losses[1].losses, rel=1e-6)


TEMPERED = [
    f"{name}temperature=0.5,correct=false"
    for name in ("sampled:noise=log_uniform,", "in_batch:", "mixed:batch=9,")
]


@pytest.mark.parametrize("name", [*sorted(LAYERS), *TEMPERED])
def test_biases_begin_at_the_words_own_probabilities_or_at_zero(name):
    """With output vectors of zero, a layer that begins with biases gives every word its share of the text."""
    layer = parse_output(name).changed(bias=True, **({"ln_z": 1.5} if name == "nce" else {}))
    start, rows = layer.start_bias(COUNTS), layer.rows(COUNTS)
    assert start.shape == (rows,)
    if name == "adaptive":  # words of a tail have no bias
        log_p, share = layer.log_weight(start, COUNTS), COUNTS / COUNTS.sum()
        assert layer.clusters(COUNTS).cutoffs == (3, 5, 7)
        for ids in (slice(0, 1), slice(1, 2), slice(2, 3), slice(3, 5), slice(5, 7)):
            np.testing.assert_allclose(np.exp(log_p[ids]), share[ids].mean(), rtol=1e-12)
    elif start.any():
        head = Head(layer, COUNTS, np.zeros((rows, DIM)), start)
        np.testing.assert_allclose(np.exp(head.log_prob(np.ones(DIM))), COUNTS / COUNTS.sum(), rtol=1e-12)
        assert head.log_z(np.ones(DIM)) == pytest.approx(0.0, abs=1e-12)
        assert np.isfinite(layer.start_bias(np.array([5]))).all()
        assert np.isfinite(layer.start_bias(np.array([5, 0]))).all()
    assert start.any() == (name not in ("negative", "hierarchical", "class_based"))


def test_one_vs_all_with_biases_learns_a_big_vocabulary_at_the_usual_rate():
    rng = np.random.default_rng(0)
    text = [[f"w{i}" for i in rng.zipf(1.2, 12) if i < 3000] for _ in range(60)] + [
        [f"w{i}" for i in range(3000)]
    ]
    history = (
        SkipGram(dim=8, min_count=1, epochs=2, output="one_vs_all:bias=true", threads=1).fit(text).history
    )
    assert max(history.losses) < 12  # log V and a little more; from one half each, it would begin at V log 2


def test_learned_noise_follows_the_text():
    model = SkipGram(dim=DIM, window=4, output="negative:k=5,noise=learned", predict="centre")
    tables = OneStep(model).kernel.tables
    assert tables.seen.tolist() == [1, 1, 1, 2, 1, 1, 1]  # one, and the target
    fresh = model.layer.fresh(tables)
    assert fresh.seen is tables.seen
    assert not np.array_equal(fresh.noise, tables.noise)
    contexts = SkipGram(dim=DIM, window=4, output="negative:k=5,noise=learned", predict="contexts")
    assert OneStep(contexts).kernel.tables.seen.tolist() == [4, 3, 2, 1, 2, 1, 2]


def test_masked_hits_with_much_noise_are_warned_about(caplog):
    with caplog.at_level(logging.WARNING, logger="unhot"):
        parse_output("sampled:k=20,hits=drop").tables(COUNTS)
    assert "frequent words will come out too probable" in caplog.text


@pytest.mark.parametrize("spec", SPECS + TORCH_ONLY)
def test_spec_and_json_round_trip(spec):
    layer = parse_output(spec)
    assert parse_output(layer.spec()) == layer
    assert type(layer)(**json.loads(json.dumps(dataclasses.asdict(layer)))) == layer
    with pytest.raises(dataclasses.FrozenInstanceError):
        layer.bias = True


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("negative:k=0", "negative:k=0: must be >= 1"),
        ("negative:k=five", "negative:k=five: must be a whole number"),
        ("negative:power=nan", "negative:power=nan: must be a finite number"),
        ("negative:hits=maybe", "negative:hits='maybe': must be one of drop, keep"),
        ("negative:unique=yes", "negative:unique=yes: must be true or false"),
        ("negative:noise=pink", "negative:noise='pink': must be one of unigram, uniform"),
        (
            "negative:kk=5",
            "'kk=5' is not a setting of negative; write name=value with one of k, noise, power, unique, bias",
        ),
        ("negative:k", "'k' is not a setting of negative"),
        ("nce:ln_z=big", "nce:ln_z=big: must be a finite number, learned or per_input"),
        ("nce:ln_z=inf", "nce:ln_z=inf: must be a finite number"),
        ("self_normalized:alpha=-1", "self_normalized:alpha=-1.0: must be >= 0"),
        (
            "hierarchical:tree=oak",
            "hierarchical:tree='oak': must be huffman, word2vec, balanced or file:PATH",
        ),
        ("class_based:classes=0", "class_based:classes=0: must be >= 1"),
        ("class_based:classes=some", "class_based:classes='some': must be sqrt, a whole number or file:PATH"),
        ("class_based:levels=0", "class_based:levels=0: must be >= 1"),
        ("class_based:classes=file:a.csv,levels=2", "class_based:levels=2: a class file has one level"),
        ("softmax:chunk=-1", "softmax:chunk=-1: must be >= 0"),
        ("softmax:smoothing=1", "softmax:smoothing=1.0: must be at least 0 and less than 1"),
        ("softmax:smoothing=-0.1", "softmax:smoothing=-0.1: must be at least 0 and less than 1"),
        ("softmax:smoothing=nan", "softmax:smoothing=nan: must be a finite number"),
        ("softmax:smoothing=some", "softmax:smoothing=some: must be a number"),
        ("one_vs_all:together=1", "one_vs_all:together=1: must be true or false"),
        ("self_normalized:chunk=1.5", "self_normalized:chunk=1.5: must be a whole number"),
        ("infrequent:alpha=0", "infrequent:alpha=0.0: must be > 0"),
        ("infrequent:gamma=0", "infrequent:gamma=0.0: must be > 0 and <= 1"),
        ("infrequent:gamma=1.5", "infrequent:gamma=1.5: must be > 0 and <= 1"),
        ("partition:size=0", "partition:size=0: must be >= 1"),
        ("in_batch:temperature=-1", "in_batch:temperature=-1.0: must be > 0"),
        ("sampled:temperature=0", "sampled:temperature=0.0: must be > 0"),
        ("sampled:correct=no", "sampled:correct=no: must be true or false"),
        ("mixed:k=0", "mixed:k=0: must be >= 1"),
        ("mixed:batch=-1", "mixed:batch=-1: must be >= 0"),
        (
            "mixed:correct=false",
            "mixed:correct=false: without the correction, probabilities depend on the num",
        ),
        ("in_batch:q=guess", "in_batch:q='guess': must be one of streaming, counts"),
        ("in_batch:hits=mask", "in_batch:hits='mask': must be one of keep, drop"),
        ("differentiated:cutoffs=few", "differentiated:cutoffs='few': must be auto, or whole numbers"),
        ("differentiated:cutoffs=5,2", "differentiated:cutoffs='5,2': must be in ascending order"),
        ("differentiated:widths=64,0", "differentiated:widths='64,0': must be auto, or whole numbers from 1"),
        (
            "differentiated:cutoffs=5,widths=2,2,1",
            "differentiated:widths=2,2,1: must be 2 numbers, one for each band of cutoffs=5",
        ),
        ("adaptive:cutoffs=7,7", "adaptive:cutoffs='7,7': must be in ascending order"),
        ("adaptive:div_value=0.5", "adaptive:div_value=0.5: must be >= 1"),
        (
            "softmix",
            "there is no layer 'softmix'; choose one of adaptive, class_based, differentiated, hierarchical, "
            "in_batch",
        ),
    ],
)
def test_bad_settings_are_named(spec, told):
    with pytest.raises(ConfigError, match=told.replace(".", r"\.")):
        parse_output(spec)


def test_wrong_types_and_repeats_are_named():
    for make, told in [
        (lambda: LAYERS["negative"](power="0.75"), "negative:power=0.75: must be a finite number"),
        (lambda: LAYERS["negative"](unique="false"), "negative:unique='false': must be true or false"),
        (lambda: LAYERS["nce"](ln_z=None), "nce:ln_z=None: must be a finite number"),
        (lambda: LAYERS["hierarchical"](tree=None), "hierarchical:tree=None: must be text"),
        (lambda: parse_output("negative:k=5,k=7"), "k is given twice"),
    ]:
        with pytest.raises(ConfigError, match=told):
            make()


def test_a_path_with_a_comma_is_a_path():
    layer = LAYERS["negative"](noise="file:a,b.csv")
    assert parse_output(layer.spec()) == layer


def test_files_are_read_before_the_text_and_again_for_the_next_fit(tmp_path):
    path = tmp_path / "classes.csv"
    model = SkipGram(output=f"class_based:classes=file:{path}")
    for content, size in (("1\n2\n" * 3 + "1\n", 2), ("1\n" * 6 + "01\n", 1)):
        with pytest.raises(DataError, match="classes.csv: cannot be read"):
            model.fit(tmp_path / "no.txt")
        path.write_text(content)
        with pytest.raises(DataError, match="no.txt"):
            model.fit(tmp_path / "no.txt")
        path.unlink()
        assert model.layer.tables(COUNTS).size[0] == size


def test_learned_noise_is_known_after_training(tmp_path):
    """Probabilities use the noise that was drawn from: targets as they were counted, behind sub-sampling."""
    rng = np.random.default_rng(0)
    text = [[f"w{i}" for i in rng.zipf(1.5, 20) if i < 50] for _ in range(200)]
    model = SkipGram(dim=8, min_count=1, epochs=2, output="negative:k=5,noise=learned", threads=1).fit(text)
    model.save(tmp_path / "m")
    seen = model.head.counts
    assert seen.sum() < 2 * model.vocabulary.counts.sum()  # frequent words were left out
    np.testing.assert_array_equal(unhot.load(tmp_path / "m").head.counts, seen)


@pytest.mark.parametrize(
    "spec", ["nce:k=5,bias=true,ln_z=learned", "nce:k=20,ln_z=per_input", "hierarchical:bias=true"]
)
def test_biases_are_saved_and_checked(spec, tmp_path):
    model = CBOW(dim=8, min_count=1, epochs=1, output=spec, threads=1).fit([["a", "b", "c", "a", "d"]] * 9)
    model.save(tmp_path / "m")
    again = unhot.load(tmp_path / "m")
    for before, after in zip(model.learned.params, again.learned.params, strict=True):
        np.testing.assert_array_equal(before, after)
    assert dict(again.predict_word(["a", "b"])) == pytest.approx(
        dict(model.predict_word(["a", "b"])), rel=1e-6
    )
    damaged = load_model(tmp_path / "m")
    damaged.tensors.pop(next(name for name in ("out_bias", "in_bias") if name in damaged.tensors))
    with pytest.raises(FormatError, match="but must have"):
        CBOW.from_saved(damaged)


@pytest.mark.parametrize(
    "spec",
    [
        "nce:k=5,bias=true,ln_z=learned",
        "nce:k=5,ln_z=per_input",
        "negative:k=5,noise=learned",
        "hierarchical",
    ],
)
def test_two_threads_learn_as_one_does(spec):
    rng = np.random.default_rng(0)
    text = [[f"w{i}" for i in rng.zipf(1.3, 40) if i < 400] for _ in range(2000)]
    one, two = (
        SkipGram(dim=8, min_count=1, epochs=4, output=spec, threads=threads).fit(text).history
        for threads in (1, 2)
    )
    assert two.losses[-1] == pytest.approx(one.losses[-1], rel=0.03)


@pytest.mark.parametrize("words", [1, 2])
@pytest.mark.parametrize("name", sorted(COMPILED))
def test_tiny_vocabularies(name, words):
    spec = f"{name}:k=5" if name in ("negative", "nce", "sampled", "sampled_logistic") else name
    model = SkipGram(dim=5, min_count=1, epochs=1, window=4, sample=0, output=spec, threads=1)
    if (name, words) == ("hierarchical", 1):  # a tree of one word has no node that could learn
        with pytest.raises(NothingLearned):
            model.fit([["a"] * 4] * 5)
        return
    model.fit([["a", "b"][:words] * 4] * 5)
    assert np.exp(model.head.log_prob(model.hidden(["a"]))).sum() == pytest.approx(1.0)


def test_out_vectors_are_those_of_words():
    model = SkipGram(dim=5, min_count=1, epochs=1, sample=0, output="class_based", threads=1)
    model.fit([["a", "b", "c"]] * 5)
    with pytest.raises(ConfigError, match="class_based has no output row for each word"):
        model.out_vectors  # noqa: B018
    with pytest.raises(DataError, match="no words"):
        model.predict_word([])


def test_a_layer_without_a_kernel_is_named():
    class NoTables(NamedTuple):
        words: int

    class Unfinished(LAYERS["softmax"]):
        name = "unfinished"

        def tables(self, counts):
            return NoTables(counts.size)

    with pytest.raises(ConfigError, match="no candidates function is registered for its NoTables"):
        SkipGram(output=Unfinished()).warm_up()


@pytest.mark.parametrize("spec", TORCH_ONLY)
def test_a_layer_for_torch_alone_says_so(spec):
    layer = parse_output(spec)
    for make in (
        lambda: layer.tables(COUNTS),
        layer.sketch,
        lambda: make_kernel(SimpleNamespace(layer=layer, dim=DIM), None, None),
    ):
        with pytest.raises(
            ConfigError,
            match=rf"{layer.name}: has no compiled kernel: train with engine='torch' \(pip install 'unhot\[",
        ):
            make()


@pytest.mark.parametrize("setting", ["temperature=0.5", "correct=false", "normalized=true"])
def test_a_setting_for_torch_alone_says_so(setting):
    """The compiled kernel would compute another loss."""
    layer = parse_output(f"sampled:k=5,{setting}")
    taken = {"temperature": "1.0", "correct": "true", "normalized": "false"}[setting.partition("=")[0]]
    told = rf"{setting}.*: compiled kernels take {setting.partition('=')[0]}={taken} only; .* engine='torch'"
    for refused in (
        lambda: layer.tables(COUNTS),
        layer.sketch,
        layer.check_compiled,
        lambda: make_kernel(SimpleNamespace(layer=layer, dim=DIM), None, None),
        lambda: SkipGram(output=layer).fit([["a", "b"]] * 9),
        lambda: unhot.Classifier(output=layer).fit([("a b", "c")] * 9),
    ):
        with pytest.raises(ConfigError, match=told):
            refused()
    SkipGram(output=layer, engine="torch")


def test_settings_that_do_not_fit_the_vocabulary_are_named(tmp_path):
    weights = tmp_path / "weights.csv"
    weights.write_text("1\n" * 6 + "0\n")
    for spec, told in [
        ("negative:k=8,unique=true", "8"),
        (f"nce:noise=file:{weights}", "id 6 is never drawn"),
        ("sampled:k=7,power=20,unique=true", "different words"),
        ("class_based:classes=8", "classes=8: must be <= 7"),
    ]:
        with pytest.raises(ConfigError, match=told):
            parse_output(spec).tables(COUNTS)
    for make, told in [
        (
            lambda: parse_output("adaptive:cutoffs=2,7").rows(COUNTS),
            "adaptive:cutoffs='2,7': must be < 7, the number of words",
        ),
        (
            lambda: parse_output("adaptive:cutoffs=2,5").widths(COUNTS, 15),
            "div_value=4.0: with dim=15 the vectors of tail 1 would have",
        ),
        (
            lambda: parse_output("adaptive:div_value=1e300").widths(COUNTS, 15),
            "the vectors of tail 0 would have .*; give a smaller div_value",
        ),
        (
            lambda: parse_output("differentiated:cutoffs=7").bands(COUNTS, 5),
            "differentiated:cutoffs='7': must be < 7",
        ),
        (
            lambda: parse_output("differentiated:cutoffs=1,2,3").bands(COUNTS, 3),
            "4 bands need dim >= 4, but dim is 3",
        ),
        (
            lambda: parse_output("differentiated:widths=3,1,1").bands(COUNTS, 6),
            "widths=3,1,1: must be 3 numbers, .* sum is dim=6",
        ),
        (
            lambda: parse_output("differentiated").grown_rows(np.arange(8)),
            "depends on its count, so training cannot continue with other words",
        ),
    ]:
        with pytest.raises(ConfigError, match=told):
            make()


LEARNED = [spec for spec in SPECS if "tree" not in spec and (SOAK or spec != "negative:k=1")]


@pytest.mark.parametrize(("spec", "kind"), crossed(LEARNED, [SkipGram, CBOW]))
def test_a_planted_structure_is_learned(spec, kind):
    """Words of one topic stand together, never with words of the other.

    The nearest neighbours must be of the same topic.
    """
    rng = np.random.default_rng(0)
    sentences = [[f"{topic}{i}" for i in rng.integers(0, 8, 10)] for topic in "ab" for _ in range(300)]
    order = rng.permutation(len(sentences))
    model = kind(dim=8, window=3, min_count=1, sample=0, epochs=5, lr=0.1, output=spec, threads=1)
    vectors = model.fit([sentences[i] for i in order]).vectors
    for word in vectors.words:
        assert {near[0] for near, _ in vectors.most_similar(word, topn=7)} == {word[0]}, word


WITHOUT_JIT = """
import json, sys, unhot
text = [["a", "b", "c", "a", "d", "e"], ["b", "d", "c", "f"], ["e", "f", "a"]] * 2
out = {}
for spec in sys.argv[1:]:
    for kind in (unhot.SkipGram, unhot.CBOW):
        model = kind(dim=5, min_count=1, window=2, sample=0, epochs=2, lr=0.1, output=spec, threads=1)
        model.fit(text)
        out[f"{spec} {kind.name}"] = [model.history.losses, model.vectors["a"].tolist()]
print(json.dumps(out))
"""


def test_same_result_without_the_jit():
    specs = [
        "negative:k=5",
        "nce:k=20,ln_z=per_input,bias=true",
        "sampled:k=5",
        "sampled:k=20,hits=drop,power=0",
    ]
    specs += [
        "softmax:bias=true",
        "softmax:smoothing=0.2",
        "one_vs_all",
        "one_vs_all:together=true",
        "hierarchical",
        "class_based:classes=3,levels=2",
        "self_normalized",
    ]
    specs += ["negative:k=5,unique=true", "nce:k=5,noise=learned"]
    results = [json.loads(run(WITHOUT_JIT, *specs)) for run in (with_jit, without_jit)]
    for name, (losses, vector) in results[0].items():
        np.testing.assert_allclose(results[1][name][0], losses, rtol=1e-4, err_msg=name)
        np.testing.assert_allclose(results[1][name][1], vector, rtol=1e-3, atol=1e-5, err_msg=name)
