"""Held-out loss against brute force.

Every pair of `unhot.corpus.pairs`, every probability by `Head.log_prob`.
"""

import json
import math

import numpy as np
import pytest

from unhot import CBOW, SkipGram
from unhot.corpus import keep_probability, pairs
from unhot.errors import ConfigError, DataError
from unhot.evaluate import held_out
from unhot.outputs import LAYERS

LINES = [
    "the cat sat on the mat . the zebra sat on the cat .",
    "a dog ran",
    "zebra",
    "the",
    "",
    "the dog sat on a mat on a mat and the dog ran on the cat the cat the cat .",
]
LAYER_SPECS = [
    "negative:k=3",
    "negative:k=3,hits=keep,bias=true",
    "nce:k=3",
    "nce:k=3,ln_z=2.5,bias=true",
    "nce:k=3,ln_z=learned",
    "nce:k=3,ln_z=per_input",
    "sampled_logistic:k=3",
    "sampled:k=3",
    "softmax",
    "softmax:bias=true",
    "self_normalized",
    "one_vs_all",
    "hierarchical",
    "hierarchical:tree=balanced,bias=true",
    "class_based",
    "class_based:classes=3,levels=2,bias=true",
    "infrequent:bias=true",
    "partition:size=3",
    "in_batch:temperature=0.7",
    "mixed:k=3,temperature=0.7,correct=false,batch=64,normalized=true",
    "differentiated",
    "adaptive:cutoffs=2,5,bias=true",
]
MODELS = [(SkipGram, {}), (CBOW, {"combine": "mean"}), (CBOW, {"combine": "sum"})]


def brute_force(model, lines, window, shrink=False, sample=0.0, seed=1):
    """The losses of all examples and their log Z, in the plainest way."""
    vocabulary, params, head = model.vocabulary, model.learned.params, model.head
    x = params.in_vectors.astype(np.float64)
    bias = params.in_bias.astype(np.float64) if params.in_bias.size else np.zeros(len(x))
    keep = keep_probability(vocabulary.counts, sample)
    losses, log_zs, position = [], [], 0
    for line in lines:
        sentence = [vocabulary.id(word) for word in line.split() if word in vocabulary]
        around = {}
        chances = [keep[word] for word in sentence]
        for centre, context in pairs(
            range(len(sentence)), window=window, shrink=shrink, keep=chances, seed=seed, position=position
        ):
            around.setdefault(centre, []).append(sentence[context])
        for centre, contexts in around.items():
            bags = [contexts] if isinstance(model, CBOW) else [[context] for context in contexts]
            for bag in bags:
                combine = np.sum if getattr(model, "combine", "mean") == "sum" else np.mean
                hidden = combine([x[word] for word in bag], axis=0)
                losses.append(-head.log_prob(hidden)[sentence[centre]])
                log_zs.append(head.log_z(hidden) + combine([bias[word] for word in bag]))
        position += len(sentence)
    return np.array(losses), np.array(log_zs)


def check(result, losses, log_zs):
    assert result.pairs == len(losses)
    assert result.cross_entropy == pytest.approx(losses.mean(), rel=1e-7)
    assert result.log_z_mean == pytest.approx(log_zs.mean(), abs=1e-6)
    assert result.log_z_variance == pytest.approx(log_zs.var(), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize(("kind", "settings"), MODELS, ids=["skipgram", "cbow mean", "cbow sum"])
@pytest.mark.parametrize("output", LAYER_SPECS)
def test_every_layer(make, kind, settings, output):
    model = make(kind, output, window=3, **settings)
    check(held_out(model, LINES), *brute_force(model, LINES, 3))


def test_every_layer_is_there():
    ours = {name for name, layer in LAYERS.items() if layer.__module__.startswith("unhot.")}
    assert {spec.partition(":")[0] for spec in LAYER_SPECS} >= ours


@pytest.mark.parametrize(("kind", "settings"), MODELS, ids=["skipgram", "cbow mean", "cbow sum"])
@pytest.mark.parametrize("window", [1, 4, 50])
def test_drawn_windows(make, kind, settings, window):
    model = make(kind, "nce:k=3,ln_z=per_input", **settings)
    result = held_out(model, LINES, window=window, shrink=True, sample=0.05, seed=7)
    losses, log_zs = brute_force(model, LINES, window, True, 0.05, 7)
    check(result, losses, log_zs)
    assert len(losses) < len(brute_force(model, LINES, window)[0])  # something was drawn


@pytest.mark.parametrize(("kind", "settings"), MODELS, ids=["skipgram", "cbow mean", "cbow sum"])
def test_pieces_of_any_size_give_the_same(make, monkeypatch, kind, settings):
    model = make(kind, "nce:k=3,ln_z=per_input", window=2, **settings)
    whole = held_out(model, LINES).as_dict()
    for values in [(1, 1, 1, 1, 1), (9, 5, 7, 60, 20), (20, 30, 4, 200, 90)]:
        for name, value in zip(("CONTEXTS", "DISTINCT", "PAIRS", "FLOATS", "SCORES"), values, strict=True):
            monkeypatch.setitem(held_out.__globals__, name, value)
        assert held_out(model, LINES).as_dict() == pytest.approx(whole)


def test_words_keep_the_ids_of_the_model(make):
    words, counts = "dog the unseen cat on mat".split(), (0, 3, 7, 7, 0, 2)  # neither ordered nor all counted
    model = make(SkipGram, "softmax", words, counts)
    result = held_out(model, LINES, window=2)
    check(result, *brute_force(model, LINES, 2))
    tokens = " ".join(LINES).split()
    assert (result.words, result.unknown) == (len(tokens), sum(word not in words for word in tokens))


def test_unknown_words_are_gone_before_windows_are_formed(make):
    model = make(SkipGram, "softmax", window=1)
    with_unknown, without = (held_out(model, [line]) for line in ("the zebra zebra cat", "the cat"))
    assert with_unknown.cross_entropy == without.cross_entropy
    assert (with_unknown.pairs, with_unknown.words, with_unknown.unknown) == (2, 4, 2)


@pytest.mark.parametrize("kind", [SkipGram, CBOW])
def test_a_uniform_model_is_as_perplexed_as_there_are_words(make, kind):
    model = make(kind, "softmax")
    model.learned.params.out_vectors[:] = 0
    result = held_out(model, LINES)
    assert result.perplexity == pytest.approx(9, rel=1e-12)
    assert result.bits == pytest.approx(math.log2(9), rel=1e-12)
    assert result.log_z_mean == pytest.approx(math.log(9), rel=1e-12)
    assert result.log_z_variance == pytest.approx(0, abs=1e-15)


def test_both_orientations_have_the_same_pairs(make):
    """Windows are symmetric: read backwards, the text has the same loss."""
    model = make(SkipGram, "softmax", window=3)
    backwards = [" ".join(reversed(line.split())) for line in LINES]
    assert held_out(model, LINES).cross_entropy == pytest.approx(
        held_out(model, backwards).cross_entropy, rel=1e-12
    )


def test_near_the_loss_of_training():
    rng = np.random.default_rng(0)
    lines = [[f"w{i}" for i in (rng.integers(0, 4) * 5 + rng.integers(0, 5, 20))] for _ in range(300)]
    model = SkipGram(
        dim=8, window=3, shrink=False, sample=0, min_count=1, output="softmax", epochs=8, threads=1
    ).fit(lines)
    result = held_out(model, lines)
    assert result.cross_entropy == pytest.approx(model.history.losses[-1], rel=0.01)
    assert result.pairs * 8 == model.history.pairs
    # a line has five different words, all alike
    assert math.log(5) < result.cross_entropy < 1.2 * math.log(5)


def test_settings_are_the_models_unless_told(make):
    model = make(SkipGram, "softmax", window=2, tokenizer="words")
    result = held_out(model, ["The CAT, sat!"])
    assert (result.unknown, result.window, result.tokenizer) == (0, 2, "words")
    other = held_out(model, ["The CAT the cat"], window=1, tokenizer="whitespace")
    assert (other.unknown, other.window, other.tokenizer) == (2, 1, "whitespace")
    assert held_out(model, ["the|cat"], tokenizer=lambda line: line.split("|")).pairs == 2


def test_the_result_says_how_it_was_measured(make):
    result = held_out(make(SkipGram, "hierarchical", window=4), LINES)
    for said in (
        "hierarchical:tree=huffman",
        "a fixed window of 4",
        "no sub-sampling",
        "3 of 40 words",
        "all 9 words",
    ):
        assert said in str(result), said
    drawn = str(held_out(make(CBOW, "softmax"), LINES, window=4, shrink=True, sample=0.1, seed=3))
    for said in ("drawn from 1 to 4", "sub-sampling at 0.1", "(seed 3)", "together"):
        assert said in drawn, said
    facts = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert facts["perplexity"] == pytest.approx(math.exp(facts["cross_entropy"]))
    assert facts["bits"] == pytest.approx(facts["cross_entropy"] / math.log(2))


def test_an_infinite_perplexity_is_none_in_json(make):
    model = make(SkipGram, "softmax")
    model.learned.params.out_vectors[:] *= 1e5
    result = held_out(model, LINES)
    assert (result.perplexity, result.as_dict()["perplexity"]) == (math.inf, None)


def test_progress(make):
    for kind, stages in ((SkipGram, ["reading", "pairing", "scoring"]), (CBOW, ["reading", "scoring"])):
        told = []
        held_out(make(kind, "softmax"), LINES, progress=lambda *news, told=told: told.append(news))
        assert list(dict.fromkeys(stage for stage, _, _ in told)) == stages
        assert all(total is None or 0 < done <= total for _, done, total in told)
        assert told[-1][1] == told[-1][2]


def test_errors(make):
    model = make(SkipGram, "softmax")
    with pytest.raises(DataError, match="the text of 3 words, 1 of them not in the vocabulary, has no pairs"):
        held_out(model, ["the zebra", "cat"])
    with pytest.raises(DataError, match="none of the 9 words"):
        held_out(model, ["zebra zebra"])
    with pytest.raises(DataError, match="learned nothing yet"):
        held_out(SkipGram(), LINES)
    with pytest.raises(ConfigError, match="window=0"):
        held_out(model, LINES, window=0)
    with pytest.raises(ConfigError, match="sample=-1"):
        held_out(model, LINES, sample=-1)
    with pytest.raises(ConfigError, match="the model has type str"):
        held_out("model", LINES)
    with pytest.raises(DataError, match="has an empty word"):
        held_out(make(SkipGram, "softmax", ["the", "", "cat"], (3, 2, 1)), LINES)
