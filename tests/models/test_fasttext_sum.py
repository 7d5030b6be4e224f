"""The fasttext model whose words are the sums of their n-grams.

Its step is under contract in tests/contracts/test_outputs.py.
"""

import dataclasses
import json
import logging

import numpy as np
import pytest
from programs import with_jit, without_jit

import unhot
from unhot import CBOW, FastText
from unhot.errors import ConfigError, FormatError
from unhot.evaluate import held_out
from unhot.models.ngram_rows import bags_of
from unhot.train.checkpoint import Checkpoint
from unhot.vectors.formats.directory import load_model, save_model
from unhot.vectors.formats.fasttext import read_fasttext

SMALL = {"dim": 8, "min_count": 1, "buckets": 20_000, "epochs": 3, "sample": 0, "threads": 1}
SUM = {**SMALL, "combine": "sum"}
WORDS = ("balish", "korment", "unseenish", "ishishishish")  # the last one has n-grams several times
ONCE = WORDS[:3]  # each row of these words is different


@pytest.fixture(scope="module")
def text():
    """Two sets of words that stand together; those of a set have an ending in common."""
    rng = np.random.default_rng(0)
    stems = ["bal", "dor", "fim", "gap", "hul", "kor"]
    sets = [[stem + "ish" for stem in stems], [stem + "ment" for stem in stems]]
    return [rng.choice(sets[rng.integers(2)], 8).tolist() for _ in range(400)]


@pytest.fixture(scope="module")
def model(text):
    return FastText(**SUM).fit(text)


def summed(model, word):
    """The sum of the rows of a word, in 64 bits."""
    learned = model.learned
    rows = dict(zip(learned.keys.tolist(), learned.params.in_vectors.astype(np.float64), strict=True))
    own = [-1 - learned.in_vocabulary.id(word)] if word in learned.in_vocabulary else []
    own = own if model.subwords.own_rows else []
    every = dataclasses.replace(model.subwords, combine="mean").ids(word).tolist()
    return sum(rows.get(key, np.zeros(model.dim)) for key in own + list(set(every)))


@pytest.mark.parametrize(
    "settings",
    [{}, {"architecture": "cbow"}, {"float16": True}, {"scheme": "floret", "hashes": 2}],
)
def test_a_word_is_the_sum_of_its_rows_wherever_it_is_read(text, tmp_path, settings):
    model = FastText(**SUM, **settings).fit(text)
    model.save(tmp_path / "m")
    model.vectors.save(tmp_path / "v")  # rows without a model
    model.vectors.save(tmp_path / "t.txt")
    for word in WORDS:
        expected = summed(model, word)
        assert np.linalg.norm(expected) > 0.05
        for vectors in (
            model.vectors,
            unhot.load(tmp_path / "m").vectors,
            unhot.Vectors.load(tmp_path / "m"),
            unhot.Vectors.load(tmp_path / "v"),
        ):
            np.testing.assert_allclose(vectors[word], expected, rtol=1e-5, atol=1e-6)
            pieces = [vector for _, vector in vectors.ngram_vectors(word)]
            np.testing.assert_allclose(np.sum(pieces, axis=0), expected, rtol=1e-5, atol=1e-6)
    table = unhot.Vectors.load(tmp_path / "t.txt")
    row = model.vectors.vectors[model.vocabulary.id("balish")]  # of all words at once
    for vector in (row, table["balish"]):
        np.testing.assert_allclose(vector, summed(model, "balish"), rtol=1e-4, atol=1e-6)


def test_a_saved_model_is_the_same(model, tmp_path):
    model.save(tmp_path / "m")
    again = unhot.load(tmp_path / "m")
    assert again.config() == model.config()
    assert (again.combine, again.first_lr) == ("sum", 0.0125)
    again.save(tmp_path / "again")
    first, second = (tmp_path / name / "v1" / "model.safetensors" for name in ("m", "again"))
    assert first.read_bytes() == second.read_bytes()
    assert again.predict_word(["balish"], 3) == model.predict_word(["balish"], 3)


def test_models_of_older_versions_are_means(text, tmp_path):
    model = FastText(**SMALL).fit(text)
    config = {name: value for name, value in model.config().items() if name != "combine"}
    save_model(tmp_path / "old", config, model.vocabulary, model.learned.tensors(complete=True))
    assert unhot.load(tmp_path / "old").combine == "mean"
    for vectors in (unhot.load(tmp_path / "old").vectors, unhot.Vectors.load(tmp_path / "old")):
        np.testing.assert_array_equal(vectors["unseenish"], model.vectors["unseenish"])


def test_a_damaged_combine_is_a_format_error(model, tmp_path):
    model.vectors.save(tmp_path / "v")
    saved = load_model(tmp_path / "v")
    save_model(tmp_path / "bad", {**saved.config, "combine": "half"}, saved.vocabulary, saved.tensors)
    with pytest.raises(FormatError, match="combine='half': must be one of mean, sum"):
        unhot.Vectors.load(tmp_path / "bad")


@pytest.mark.parametrize("settings", [{}, {"architecture": "cbow", "float16": True}])
def test_resumed_from_a_checkpoint_to_the_same_bytes(text, tmp_path, settings):
    whole = FastText(**SUM, **settings).fit(text)

    def stop(progress):
        if progress.event == "progress" and progress.epoch == 2 and progress.words > 5000:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        FastText(**SUM, **settings).fit(
            text, checkpoint=Checkpoint(path=tmp_path / "m", chunks=1), callbacks=[stop]
        )
    resumed = unhot.load_unfinished(tmp_path / "m").resume(text)
    np.testing.assert_array_equal(resumed.learned.params.in_vectors, whole.learned.params.in_vectors)


def test_a_model_goes_on_with_new_words_and_keeps_all_rows(model):
    more = FastText(**SUM | {"epochs": 1, "lr": 1e-20}).fit(
        [["balish", "newword", "gapment"]] * 20, start=model
    )
    for word in model.vocabulary.words:
        np.testing.assert_allclose(more.vectors[word], model.vectors[word], atol=1e-6)
    assert "newword" in more.vocabulary


def test_sums_and_means_do_not_start_from_each_other(model, text):
    with pytest.raises(ConfigError, match=r"same combine, .*vectors\[:\]"):
        FastText(**SMALL).fit(text, start=model)
    with pytest.raises(ConfigError, match="same combine"):
        FastText(**SUM).fit(text, start=FastText(**SMALL).fit(text))
    other = FastText(**SMALL | {"epochs": 1, "lr": 1e-20}).fit(text, start=model.vectors[:])
    row = other.learned.keys.tolist().index(-1 - other.vocabulary.id("balish"))
    np.testing.assert_allclose(other.learned.params.in_vectors[row], model.vectors["balish"], atol=1e-6)


def test_words_of_one_row_are_learned_as_means_are(text):
    """Without n-grams, the mean and the sum of a word's rows are its row."""
    mean, total = (
        FastText(**{**SMALL, "maxn": 0, "lr": 0.05, "combine": combine}).fit(text)
        for combine in ("mean", "sum")
    )
    np.testing.assert_array_equal(total.learned.params.in_vectors, mean.learned.params.in_vectors)


def test_cbow_of_sums_without_ngrams_is_cbow(text):
    """The words around a centre are averaged, and rows move by their gradient."""
    start = FastText(**SMALL).fit(text).vectors[:]
    settings = {**SMALL, "lr": 0.1}
    del settings["buckets"]
    ours = FastText(**settings, maxn=0, combine="sum", architecture="cbow").fit(text, start=start)
    theirs = CBOW(**settings).fit(text, start=start)
    for word in theirs.vocabulary.words:
        np.testing.assert_allclose(ours.vectors[word], theirs.vectors[word], rtol=1e-3, atol=1e-5)


def test_words_start_with_the_length_that_means_have(text):
    means, sums = (
        FastText(**SMALL | {"lr": 1e-20, "epochs": 1, "combine": combine}).fit(text).vectors.norms
        for combine in ("mean", "sum")
    )
    np.testing.assert_allclose(sums, means, rtol=0.3)  # words have 20 to 26 rows


def test_the_default_rate_is_that_of_sums():
    assert FastText().first_lr == FastText.default_lr
    assert FastText(combine="sum").first_lr == 0.0125
    assert FastText(architecture="cbow").first_lr == 0.1
    assert FastText(combine="sum", architecture="cbow").first_lr == 0.05
    assert FastText(combine="sum", lr=0.3).first_lr == 0.3


def test_both_threads_and_16_bits_learn_as_well(text):
    longer = {**SUM, "epochs": 20}
    one, two, halves = (
        FastText(**{**longer, **settings}).fit(text * 3).history.losses[-1]
        for settings in ({}, {"threads": 2}, {"float16": True})
    )
    assert two == pytest.approx(one, rel=0.03)
    assert halves == pytest.approx(one, rel=0.02)


@pytest.mark.parametrize("letters", ["-", "abcdefgh"])
def test_very_long_words_do_not_run_away(text, letters):
    """A word of few n-grams that repeat, or of very many."""
    strange = "".join(np.random.default_rng(0).choice(list(letters), 900))
    lines = [[*line, strange, "---"] for line in text]
    for settings in ({}, {"architecture": "cbow"}, {"float16": True}):
        vectors = FastText(**SUM, **settings).fit(lines).vectors
        assert vectors.norms.max() < 25


@pytest.mark.parametrize("architecture", ["skipgram", "cbow"])
def test_held_out_loss_and_predictions_are_of_sums(text, architecture):
    """In cbow, of the mean of the words: each counts once, however many rows it has."""
    model = FastText(**SUM, architecture=architecture, output="softmax", shrink=False).fit(text)
    line = ["balish", "dorment", "korish"]
    out, ids = model.learned.params.out_vectors.astype(np.float64), [model.vocabulary.id(w) for w in line]
    around = [([1], 0), ([0, 2], 1), ([1], 2)]
    pairs = around if architecture == "cbow" else [([i], t) for some, t in around for i in some]
    expected = []
    for contexts, target in pairs:
        scores = out @ np.mean([summed(model, line[i]) for i in contexts], axis=0)
        expected.append(scores[ids[target]] - np.log(np.exp(scores).sum()))
    assert held_out(model, [line], window=1).cross_entropy == pytest.approx(-np.mean(expected), rel=1e-5)
    hidden = np.mean([summed(model, word) for word in line], axis=0)
    np.testing.assert_allclose(model.hidden(line), hidden, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("architecture", ["skipgram", "cbow"])
def test_biases_of_rows_are_summed(text, architecture):
    model = FastText(**SUM, architecture=architecture, output="nce:k=5,ln_z=per_input").fit(text)
    inputs, params = model.answers.word_inputs(), model.learned.params
    bags = bags_of(model.learned.keys, model.vocabulary, model.subwords)
    rows = bags.rows[bags.starts[3] : bags.starts[4]]
    assert inputs.bias[3] == pytest.approx(params.in_bias[rows].sum(), rel=1e-5)
    assert inputs.sizes.size == 0  # all words count the same
    assert np.abs(inputs.bias).min() > 0


def test_fasttexts_file_has_the_directions_of_sums(model, tmp_path, caplog):
    """fastText divides by the number of rows, and would multiply output rows with that."""
    with caplog.at_level(logging.WARNING, "unhot"):
        model.save_fasttext(tmp_path / "m.bin")
        model.vectors.save(tmp_path / "v.bin", "fasttext")
    assert caplog.text.count("cosines are the same except for words that have a row twice") == 2
    assert "no output rows" in caplog.text
    assert read_fasttext(tmp_path / "m.bin").output_matrix.shape[0] == 0
    for name in ("m.bin", "v.bin"):
        read = unhot.Vectors.load(tmp_path / name)
        for word in ONCE:
            rows = len(model.subwords.ids(word)) + (word in model.vocabulary)
            np.testing.assert_allclose(read[word] * rows, model.vectors[word], rtol=1e-4, atol=1e-6)
    with pytest.raises(ConfigError, match="no output rows"):
        FastText.load_fasttext(tmp_path / "m.bin")


def test_a_table_of_floret_has_the_directions_of_sums(text, tmp_path, caplog):
    model = FastText(**SUM, scheme="floret").fit(text)
    with caplog.at_level(logging.WARNING, "unhot"):
        model.vectors.save(tmp_path / "m.floret")
    assert "the format floret is read as means" in caplog.text
    read = unhot.Vectors.load(tmp_path / "m.floret")
    for word in ONCE:
        rows = len(model.subwords.ids(word))
        np.testing.assert_allclose(read[word] * rows, model.vectors[word], rtol=1e-4, atol=1e-6)


def test_formats_of_means_say_nothing_of_means(text, tmp_path, caplog):
    with caplog.at_level(logging.WARNING, "unhot"):
        FastText(**SMALL).fit(text).save_fasttext(tmp_path / "m.bin")
    assert caplog.text == ""


def test_unseen_words_are_near_those_they_look_like(text):
    for architecture in ("skipgram", "cbow"):
        vectors = FastText(**{**SUM, "epochs": 20}, architecture=architecture).fit(text).vectors
        for ending in ("ish", "ment"):
            found = [word for word, _ in vectors.most_similar(f"zum{ending}", topn=6)]
            assert all(word.endswith(ending) for word in found)


def test_replaced_settings_have_their_own_rate(model):
    assert dataclasses.replace(model, combine="mean").first_lr == FastText.default_lr


def test_for_gensim_the_words_of_a_window_are_averaged(model):
    from unhot.compat.gensim.models.settings import gensim_settings

    assert gensim_settings(model)["cbow_mean"] == 1
    assert gensim_settings(CBOW(combine="sum"))["cbow_mean"] == 0


WITHOUT_JIT = """
import json, unhot
text = [["anna", "banana", "nana", "anna", "xx"], ["nan", "xx", "banana"], ["nana", "anna"]] * 2
out = []
for architecture in ("skipgram", "cbow"):
    model = unhot.FastText(dim=5, min_count=1, window=2, sample=0, epochs=2, lr=0.1, buckets=9, threads=1,
                           minn=1, maxn=2, architecture=architecture, combine="sum")
    model.fit(text)
    out += [*model.history.losses, *model.vectors["anna"].tolist(), *model.vectors["unseen"].tolist()]
print(json.dumps(out))
"""


def test_same_result_without_the_jit():
    results = [json.loads(run(WITHOUT_JIT)) for run in (with_jit, without_jit)]
    np.testing.assert_allclose(results[1], results[0], rtol=1e-3, atol=1e-5)
