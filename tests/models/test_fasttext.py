"""The fasttext model: what it learns, keeps and writes.

Its step is under contract in tests/contracts/test_outputs.py.
"""

import dataclasses
import logging
from pathlib import Path

import numpy as np
import pytest
from grids import SOAK, crossed

import unhot
from unhot import FastText, SkipGram
from unhot.errors import ConfigError, DataError, FormatError
from unhot.models.engine import make_kernel
from unhot.models.fasttext_file import LAYERS
from unhot.models.load import holds_unfinished
from unhot.models.ngram_rows import bags_of
from unhot.models.state import FitState
from unhot.sizes import readable
from unhot.train.checkpoint import Checkpoint
from unhot.train.params import padded
from unhot.vectors.formats.directory import save_model
from unhot.vectors.formats.fasttext import read_fasttext
from unhot.vectors.subword_vectors import SubwordVectors

GOLDEN = Path(__file__).parent.parent / "golden"
SMALL = {"dim": 8, "min_count": 1, "buckets": 500, "epochs": 3, "sample": 0, "threads": 1}


def planted(sentences=400, seed=0):
    """Two sets of words that stand together; those of a set have an ending in common."""
    rng = np.random.default_rng(seed)
    stems = ["bal", "dor", "fim", "gap", "hul", "kor"]
    sets = [[stem + "ish" for stem in stems], [stem + "ment" for stem in stems]]
    return [rng.choice(sets[rng.integers(2)], 8).tolist() for _ in range(sentences)]


@pytest.fixture(scope="module")
def text():
    return planted()


@pytest.fixture(scope="module")
def model(text):
    return FastText(**{**SMALL, "epochs": 20}).fit(text)


@pytest.mark.parametrize(
    "settings",
    [{}, {"architecture": "cbow", "lr": 0.2}, {"float16": True}, {"scheme": "floret", "hashes": 2}],
)
def test_unseen_words_are_near_those_they_look_like(text, settings):
    vectors = FastText(**{**SMALL, "epochs": 20}, **settings).fit(text).vectors
    for ending in ("ish", "ment"):
        found = [word for word, _ in vectors.most_similar(f"zum{ending}", topn=6)]
        assert all(word.endswith(ending) for word in found)


def test_a_word_is_the_mean_of_its_rows(model):
    vectors, learned = model.vectors, model.learned
    assert isinstance(vectors, SubwordVectors)
    rows = {key: row for key, row in zip(learned.keys.tolist(), learned.params.in_vectors, strict=True)}
    for word in ("balish", "unseenish"):
        own = [-1 - learned.in_vocabulary.id(word)] if word in learned.in_vocabulary else []
        parts = [rows.get(key, np.zeros(8)) for key in own + model.subwords.ids(word).tolist()]
        np.testing.assert_allclose(vectors[word], np.mean(parts, axis=0), rtol=1e-5, atol=1e-7)


def test_only_rows_that_words_use_take_memory(model):
    used = {bucket for word in model.vocabulary.words for bucket in model.subwords.ids(word).tolist()}
    assert len(model.learned.params.in_vectors) == len(model.vocabulary) + len(used) < 500


def test_the_memory_plan_says_what_ngrams_cost(text):
    for float16, size in ((False, 4), (True, 2)):
        lines = []
        model = FastText(**SMALL, float16=float16).fit(text, note=lines.append)
        buckets = len(model.learned.keys) - len(model.vocabulary)
        (plan,) = (line for line in lines if line.startswith("memory"))
        assert f"rows of {buckets} n-gram buckets {readable(size * padded(8) * buckets)}" in plan
        assert model.learned.params.in_vectors.itemsize == size


def test_one_thread_gives_the_same_bytes(text):
    for float16 in (False, True):
        first, second = (FastText(**SMALL, float16=float16).fit(text) for _ in range(2))
        np.testing.assert_array_equal(first.learned.params.in_vectors, second.learned.params.in_vectors)


def test_16_bit_floats_learn_as_well(text):
    losses = [
        FastText(**{**SMALL, "epochs": 20}, float16=float16).fit(text).history.losses[-1]
        for float16 in (False, True)
    ]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)


def test_kernels_are_compiled_before_the_text_is_read(text):
    for settings in ({"float16": True}, *([{}, {"architecture": "cbow"}] if SOAK else [])):
        model = FastText(**SMALL, **settings)
        model.warm_up()
        train = make_kernel(model, model.wiring(), None).train
        known = len(train.signatures)
        model.fit(text)
        assert len(train.signatures) == known > 0


def test_a_saved_model_is_the_same(model, tmp_path):
    model.save(tmp_path / "m")
    again = unhot.load(tmp_path / "m")
    assert again.config() == model.config()
    for word in ("balish", "unseenment"):
        np.testing.assert_array_equal(again.vectors[word], model.vectors[word])
        np.testing.assert_array_equal(unhot.Vectors.load(tmp_path / "m")[word], model.vectors[word])
    assert again.predict_word(["balish"], 3) == model.predict_word(["balish"], 3)


@pytest.mark.parametrize("float16", [False, True])
def test_resumed_from_a_checkpoint_to_the_same_bytes(text, tmp_path, float16):
    settings = {**SMALL, "float16": float16}
    whole = FastText(**settings).fit(text)

    def stop(progress):
        if progress.event == "progress" and progress.epoch == 2 and progress.words > 5000:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        FastText(**settings).fit(text, checkpoint=Checkpoint(path=tmp_path / "m", chunks=1), callbacks=[stop])
    resumed = unhot.load_unfinished(tmp_path / "m").resume(text)
    np.testing.assert_array_equal(resumed.learned.params.in_vectors, whole.learned.params.in_vectors)
    np.testing.assert_array_equal(resumed.learned.keys, whole.learned.keys)


def test_a_model_goes_on_with_new_words_and_keeps_all_rows(model):
    more = FastText(**SMALL | {"epochs": 1, "lr": 1e-20}).fit(
        [["balish", "newword", "gapment"]] * 20, start=model
    )
    old = dict(zip(model.learned.keys.tolist(), model.learned.params.in_vectors, strict=True))
    new = dict(zip(more.learned.keys.tolist(), more.learned.params.in_vectors, strict=True))
    assert {key for key in old if key >= 0} <= new.keys()
    for word in model.vocabulary.words:
        np.testing.assert_allclose(more.vectors[word], model.vectors[word], atol=1e-6)
    assert "newword" in more.vocabulary


def test_vectors_to_start_from_become_the_rows_of_words(text):
    start = unhot.Vectors(["balish"], np.full((1, 8), 3.0, np.float32))
    model = FastText(**SMALL | {"epochs": 1, "lr": 1e-20}).fit(text, start=start)
    row = model.learned.params.in_vectors[
        model.learned.keys.tolist().index(-1 - model.vocabulary.id("balish"))
    ]
    np.testing.assert_array_equal(row, np.full(8, 3.0))
    assert np.abs(model.vectors["dorish"]).max() < 0.1


@pytest.mark.parametrize(("loss", "architecture"), crossed(list(LAYERS), ["skipgram", "cbow"]))
def test_fasttexts_own_file_keeps_everything(text, tmp_path, loss, architecture):
    settings = {**SMALL, "output": LAYERS[loss].format(neg=5), "architecture": architecture, "window": 3}
    model = FastText(**settings).fit(text)
    model.save_fasttext(tmp_path / "m.bin")
    header = read_fasttext(tmp_path / "m.bin").header
    assert (header.loss, header.model, header.ws) == (loss, "sg" if architecture == "skipgram" else "cbow", 3)
    again = unhot.load(tmp_path / "m.bin")
    assert again.layer == model.layer
    for word in ("balish", "unseenment"):
        np.testing.assert_allclose(again.vectors[word], model.vectors[word], atol=1e-6)
    context = ["balish", "korish"]
    assert dict(again.predict_word(context, 12)) == pytest.approx(
        dict(model.predict_word(context, 12)), rel=1e-4
    )
    again.save_fasttext(tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == (tmp_path / "m.bin").read_bytes()


def test_the_fasttext_package_reads_it(model, tmp_path):
    package = pytest.importorskip("fasttext")
    model.save_fasttext(tmp_path / "m.bin")
    read = package.load_model(str(tmp_path / "m.bin"))
    for word in ("balish", "unseenment"):
        np.testing.assert_allclose(read.get_word_vector(word), model.vectors[word], atol=1e-6)


@pytest.mark.parametrize("output", ["nce:k=5", "class_based", "hierarchical", "softmax:bias=true"])
def test_a_layer_that_fasttext_has_not_is_written_for_its_vectors(text, tmp_path, caplog, output):
    model = FastText(**SMALL, output=output).fit(text)
    with caplog.at_level(logging.WARNING, "unhot"):
        model.save_fasttext(tmp_path / "m.bin")
    assert "fastText has no" in caplog.text
    again = unhot.Vectors.load(tmp_path / "m.bin")
    np.testing.assert_allclose(again["unseenish"], model.vectors["unseenish"], atol=1e-6)
    with pytest.raises(ConfigError, match="no output rows"):  # not as a model of another layer
        FastText.load_fasttext(tmp_path / "m.bin")
    assert isinstance(unhot.load(tmp_path / "m.bin"), unhot.Vectors)


def test_held_out_loss_of_a_bag_is_that_of_its_words(model, text):
    """Skip-gram on plain vectors with the same output has the same loss."""
    from unhot.evaluate import held_out

    plain = SkipGram(**{k: v for k, v in SMALL.items() if k != "buckets"}).fit(text)
    params = model.learned.params._replace(in_vectors=model.vectors.vectors)
    plain.fit_state = FitState(dataclasses.replace(plain.learned, params=params), plain.history)
    ours, theirs = held_out(model, text[:50]), held_out(plain, text[:50])
    assert ours.cross_entropy == pytest.approx(theirs.cross_entropy, rel=1e-6)
    assert ours.perplexity < 11  # of 12 words


@pytest.mark.parametrize("architecture", ["skipgram", "cbow"])
def test_biases_of_rows_are_combined_as_the_rows_are(text, architecture):
    model = FastText(**SMALL, architecture=architecture, output="nce:k=5,ln_z=per_input").fit(text)
    inputs, params = model.answers.word_inputs(), model.learned.params
    bags = bags_of(model.learned.keys, model.vocabulary, model.subwords)
    rows = bags.rows[bags.starts[3] : bags.starts[4]]
    assert inputs.bias[3] == pytest.approx(params.in_bias[rows].mean(), rel=1e-5)
    assert inputs.sizes[3] == rows.size
    assert np.abs(inputs.bias).min() > 0


def test_held_out_loss_of_cbow_counts_rows(text):
    from unhot.evaluate import held_out

    model = FastText(**SMALL, architecture="cbow", output="softmax", shrink=False).fit(text)
    line = ["balish", "dorment", "korish"]
    result = held_out(model, [line], window=1)
    log_prob = [
        np.log(dict(model.predict_word(words, 12))[target])
        for words, target in (([line[1]], line[0]), ([line[0], line[2]], line[1]), ([line[1]], line[2]))
    ]
    assert result.cross_entropy == pytest.approx(-np.mean(log_prob), rel=1e-5)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"architecture": "glove"}, "architecture"),
        ({"minn": 5, "maxn": 4}, "minn=5"),
        ({"float16": "yes"}, "float16"),
        ({"engine": "torch"}, "engine='torch'"),
        ({"hashes": 2}, "hashes=2"),
    ],
)
def test_bad_settings_are_named(settings, named):
    with pytest.raises(ConfigError, match=named):
        FastText(**settings)


def test_what_cannot_be_started_from(model, text):
    with pytest.raises(ConfigError, match="frozen"):
        FastText(**SMALL).fit(text, frozen=["balish"])
    with pytest.raises(ConfigError, match="same combine, minn"):
        FastText(**SMALL, minn=2).fit(text, start=model)
    with pytest.raises(ConfigError, match="must be a fasttext model"):
        FastText(**SMALL).fit(text, start=SkipGram(dim=8, min_count=1, epochs=1).fit(text))
    with pytest.raises(ConfigError, match="unhot.load"):
        FastText(**SMALL).fit(text, start=model.vectors)
    with pytest.raises(DataError, match="not finite as 16-bit floats"):
        FastText(**SMALL, float16=True).fit(
            text, start=unhot.Vectors(["balish"], np.full((1, 8), 1e6, np.float32))
        )
    with pytest.raises(ConfigError, match="floret"):
        FastText(**SMALL, scheme="floret").fit(text, start=model.vectors[:])
    with pytest.raises(DataError, match="fit first"):
        _ = FastText(**SMALL).vectors
    with pytest.raises(DataError, match="fit first"):
        FastText(**SMALL).save_fasttext("nowhere.bin")


def test_classifiers_are_named_with_what_opens_them():
    for name in ("fasttext_sup_softmax.bin", "fasttext_sup_softmax_pq.ftz"):
        with pytest.raises(ConfigError, match=r"compat\.fasttext\.load_model"):
            unhot.load(GOLDEN / name)


def test_other_models_start_from_its_vectors(model, text):
    with pytest.raises(ConfigError, match="start from its vectors"):
        SkipGram(dim=8, min_count=1, output=model.layer).fit(text, start=model)
    started = SkipGram(dim=8, min_count=1, epochs=1, lr=1e-20).fit(text, start=model.vectors)
    np.testing.assert_allclose(started.vectors["balish"], model.vectors["balish"], atol=1e-6)


def test_a_layer_without_a_kernel_is_refused():
    with pytest.raises(ConfigError, match="output=adaptive: fasttext is trained by compiled kernels"):
        FastText(output="adaptive")


def test_a_word_of_one_letter_many_times_does_not_run_away(text):
    """Its n-grams are the same few over and over: each would move by as many steps."""
    lines = [[*line, "-" * 400] for line in text]
    for settings in ({}, {"architecture": "cbow"}, {"float16": True}):
        vectors = FastText(**{**SMALL, "epochs": 3}, **settings).fit(lines).vectors
        assert vectors.norms.max() < 20


def test_a_file_of_fasttext_is_a_finished_training(model, tmp_path):
    model.save_fasttext(tmp_path / "m.bin")
    unhot.load(tmp_path / "m.bin").save(tmp_path / "m")
    assert not holds_unfinished(tmp_path / "m")


@pytest.mark.parametrize("name", ["fasttext_unsup_cbow_hs.bin", "fasttext_unsup_skipgram_ns.bin"])
def test_fasttexts_own_models_are_written_as_they_were(tmp_path, name):
    golden = GOLDEN / name
    unhot.load(golden).save_fasttext(tmp_path / "m.bin")
    assert (tmp_path / "m.bin").read_bytes() == golden.read_bytes()


def test_settings_of_numpy_can_be_saved(text, tmp_path):
    given = {"minn": np.int64(3), "buckets": np.int32(300), "float16": np.True_}
    FastText(**{**SMALL, **given}).fit(text).save(tmp_path / "m")
    assert unhot.load(tmp_path / "m").float16 is True


@pytest.mark.parametrize(
    "keys", [lambda k: k + 10**6, lambda k: np.where(k < 0, -1, k), lambda k: np.where(k >= 0, 3, k)]
)
def test_damaged_keys_are_a_format_error(model, tmp_path, keys):
    learned = model.learned
    tensors = {**learned.tensors(), "row_keys": keys(learned.keys)}
    save_model(tmp_path / "m", model.config(), learned.in_vocabulary, tensors)
    with pytest.raises(FormatError, match="damaged"):
        unhot.load(tmp_path / "m")


def test_draws_go_on_although_centres_see_nobody():
    """Every fourth centre alone in its line.

    With the same draws for ever, a few words would be pushed away from all others.
    """
    rng = np.random.default_rng(1)
    words = [f"w{i}x" for i in range(300)]
    lines = [rng.choice(words, 3 if i % 2 else 1).tolist() for i in range(4000)]
    model = FastText(**{**SMALL, "epochs": 1}).fit(lines)
    norms = np.linalg.norm(model.learned.params.out_vectors, axis=1)
    assert norms.max() < 8 * np.median(norms)
