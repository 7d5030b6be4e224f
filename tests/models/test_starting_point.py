"""Beginning from vectors and from other models, new words, frozen rows."""

import numpy as np
import pytest
from grids import SOAK, crossed

import unhot
from unhot.errors import ConfigError, DataError
from unhot.outputs import LAYERS

RNG = np.random.default_rng(3)
OLD = [[f"w{i}" for i in RNG.zipf(1.5, 30) if i < 30] for _ in range(100)]
NEW = [[f"w{i}" for i in RNG.integers(1, 5, 10)] + ["new", "newer"] for _ in range(50)]
SMALL = {"dim": 8, "min_count": 2, "epochs": 2, "window": 3, "sample": 0}
TINY = 1e-30  # a rate at which nothing moves


@pytest.fixture(scope="module")
def old():
    return unhot.SkipGram(**SMALL).fit(OLD)


def test_new_words_join_and_counts_add_up(old):
    model = unhot.SkipGram(**SMALL, lr=TINY).fit(NEW, start=old)
    counts = dict(zip(model.vocabulary.words, model.vocabulary.counts.tolist(), strict=True))
    before = dict(zip(old.vocabulary.words, old.vocabulary.counts.tolist(), strict=True))
    text = [word for sentence in NEW for word in sentence]
    assert counts == {word: before.get(word, 0) + text.count(word) for word in {*before, *text}}
    assert model.vocabulary.is_ordered()
    # the rows have moved, and these with them:
    assert model.vocabulary.words != [*old.vocabulary.words, "new", "newer"]
    for word in before:
        np.testing.assert_array_equal(model.vectors[word], old.vectors[word])
        np.testing.assert_array_equal(model.out_vectors[word], old.out_vectors[word])
    assert model.vectors["new"].any()
    assert np.abs(model.out_vectors["new"]).max() < 1e-20


def test_words_that_are_too_rare_do_not_join(old):
    model = unhot.SkipGram(**SMALL).fit([*NEW, ["once", "w1"]], start=old)
    assert "once" not in model.vectors
    assert "newer" in model.vectors


def test_max_vocab_holds_for_new_words_and_never_drops_old_ones(old):
    words = len(old.vectors)
    one_more = unhot.SkipGram(**SMALL, max_vocab=words + 1).fit(NEW, start=old)
    assert len(one_more.vectors) == words + 1
    assert len(unhot.SkipGram(**SMALL, max_vocab=2).fit(NEW, start=old).vectors) == words


def test_a_corpus_of_the_same_words_will_do(tmp_path):
    settings = {**SMALL, "output": "hierarchical"}
    first = unhot.SkipGram(**settings).fit(OLD)
    with unhot.corpus.encode(NEW, counts=first.vocabulary) as corpus:
        again = unhot.SkipGram(**settings).fit(corpus, start=first)
        with pytest.raises(ConfigError, match="with a Corpus or Cells"):
            unhot.SkipGram(**settings).fit(corpus, counts={"a": 1})
    assert again.vocabulary == first.vocabulary


@pytest.mark.parametrize("output", sorted(LAYERS))
def test_every_layer_grows_or_says_why_not(output):
    spec = "adaptive:div_value=1" if output == "adaptive" else output
    spec = f"{output}:k=5" if hasattr(LAYERS[output](), "k") else spec
    settings = {
        **SMALL,
        "output": spec,
        "lr": 1e-3,
        "engine": "compiled" if LAYERS[output].compiled else "torch",
    }
    first = unhot.SkipGram(**settings).fit(OLD)
    if LAYERS[output].rows_are_words and output != "differentiated":
        grown = unhot.SkipGram(**settings).fit(NEW, start=first)
        assert len(grown.vectors) == len(first.vectors) + 2
    else:
        with pytest.raises(
            ConfigError, match=rf"{output}: .*keep the vocabulary as it is \(counts=model.vocabulary"
        ):
            unhot.SkipGram(**settings).fit(NEW, start=first)
    kept = unhot.SkipGram(**settings).fit(NEW, start=first, counts=first.vocabulary)
    assert kept.vocabulary == first.vocabulary
    assert np.abs(kept.vectors.vectors - first.vectors.vectors).max() > 0


def test_biases_and_learned_noise_grow_too():
    # two may lose a count
    settings = {**SMALL, "output": "nce:k=5,noise=learned,ln_z=learned,bias=true", "lr": 0.05, "threads": 1}
    first = unhot.SkipGram(**settings).fit(OLD)
    grown = unhot.SkipGram(**{**settings, "lr": TINY, "epochs": 1}).fit(NEW, start=first)
    for word in first.vocabulary.words:
        was, now = first.vocabulary.id(word), grown.vocabulary.id(word)
        assert grown.learned.params.out_bias[now] == first.learned.params.out_bias[was]
    assert grown.learned.params.ln_z[0] == first.learned.params.ln_z[0] != 0
    added = grown.learned.seen.sum() - first.learned.seen.sum() - 2  # new words begin at one
    assert added == sum(map(len, NEW)) * 1.0


def test_going_on_goes_on(old):
    """A second training begins where the first one ended: its loss is lower from the first epoch on."""
    again = unhot.SkipGram(**SMALL).fit(OLD, start=old)
    assert again.history.losses[0] < old.history.losses[0] - 0.1


def test_given_vectors():
    vectors = unhot.Vectors(["w2", "never", "w1"], np.arange(24, dtype=np.float32).reshape(3, 8))
    model = unhot.SkipGram(**SMALL, lr=TINY).fit(OLD, start=vectors)
    plain = unhot.SkipGram(**SMALL, lr=TINY).fit(OLD)
    np.testing.assert_array_equal(model.vectors["w1"], vectors["w1"])
    np.testing.assert_array_equal(model.vectors["w2"], vectors["w2"])
    np.testing.assert_array_equal(model.vectors["w3"], plain.vectors["w3"])
    assert "never" not in model.vectors


FEEDERS = [(unhot.SkipGram, {}), (unhot.SkipGram, {"predict": "contexts"}), (unhot.CBOW, {})]
OUTPUTS = ["negative:k=5", "negative:k=20", "hierarchical", "nce:k=5,ln_z=per_input", "one_vs_all:bias=true"]


@pytest.mark.parametrize(("feeder", "output"), crossed(FEEDERS * (1 if SOAK else 2), OUTPUTS))
@pytest.mark.parametrize("threads", [1, 3])
def test_frozen_rows_do_not_move_and_all_others_do(feeder, output, threads):
    kind, how = feeder
    rng = np.random.default_rng(1)
    text = [[f"w{i}" for i in rng.zipf(1.2, 60) if i < 300] for _ in range(300)]
    settings = {**SMALL, "output": output, "threads": threads, "lr": 0.02, "min_count": 1, **how}
    begin = kind(**{**settings, "lr": TINY}).fit(text)
    frozen = ["w1", "w2", "w7", "w100"]  # w1 and w2 are hot with several threads
    model = kind(**settings).fit(text, frozen=frozen)
    moved = {
        word for word in model.vectors.words if not np.array_equal(model.vectors[word], begin.vectors[word])
    }
    assert not moved & set(frozen)
    assert moved == set(model.vectors.words) - set(frozen)


def test_known_words_can_be_frozen(old):
    model = unhot.SkipGram(**SMALL).fit(NEW, start=old, frozen="known")
    for word in old.vectors.words:
        np.testing.assert_array_equal(model.vectors[word], old.vectors[word])
    assert model.vectors.similarity("new", "newer") > 0.5


def test_learning_around_a_frozen_row_is_exact():
    """Two steps, b predicts a and a predicts b: all but b learn what they would learn anyway."""
    settings = {
        "dim": 4,
        "min_count": 1,
        "sample": 0,
        "epochs": 1,
        "window": 2,
        "threads": 1,
        "predict": "centre",
    }
    first = unhot.SkipGram(**settings).fit([["a", "b", "c"]] * 30, counts={"a": 3, "b": 2, "c": 1})
    free, frozen = (
        unhot.SkipGram(**settings).fit([["a", "b"]], start=first, counts=first.vocabulary, frozen=f)
        for f in (None, ["b"])
    )
    np.testing.assert_array_equal(frozen.vectors["b"], first.vectors["b"])
    np.testing.assert_array_equal(frozen.out_vectors.vectors, free.out_vectors.vectors)
    np.testing.assert_array_equal(frozen.vectors["a"], free.vectors["a"])
    assert not np.array_equal(free.vectors["b"], first.vectors["b"])


@pytest.mark.parametrize(
    ("how", "error", "told"),
    [
        ({"start": "model"}, ConfigError, "start='model': must be Vectors or a model"),
        (
            {"start": unhot.Vectors(["w1"], np.ones((1, 5), np.float32))},
            ConfigError,
            "dim=8: the vectors to start from have dim 5",
        ),
        (
            {"start": unhot.Vectors(["x"], np.ones((1, 8), np.float32))},
            DataError,
            "none of the 1 words with vectors is among",
        ),
        ({"start": unhot.SkipGram(dim=8)}, DataError, "call fit first"),
        (
            {"frozen": "known"},
            ConfigError,
            "frozen='known': must be a list of words, or 'known' together with start",
        ),
        ({"frozen": "w1"}, ConfigError, "frozen='w1': must be a list of words"),
        ({"frozen": ["w999"]}, DataError, "'w999' is not among"),
        ({"frozen": 5}, ConfigError, "frozen=5: must be a list of words"),
        (
            {"start": unhot.Vectors(["w1"], np.full((1, 8), np.nan, np.float32))},
            DataError,
            "the vector of 'w1' has a number that is not",
        ),
    ],
)
def test_what_cannot_be_is_refused(how, error, told):
    with pytest.raises(error, match=told):
        unhot.SkipGram(**SMALL).fit(OLD, **how)


def test_another_layer_or_lost_words_are_refused(old):
    with pytest.raises(
        ConfigError, match="the model to start from has negative:k=5.*or start from its vectors alone"
    ):
        unhot.SkipGram(**SMALL, output="nce").fit(NEW, start=old)
    with pytest.raises(DataError, match="such as .*, are not in the vocabulary"):
        unhot.SkipGram(**SMALL).fit(NEW, start=old, counts={"w1": 5, "w2": 5})
    unhot.SkipGram(**SMALL, output="nce").fit(NEW, start=old.vectors)
