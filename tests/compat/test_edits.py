"""Changes of `wv` between trainings and before a save, under gensim and under unhot."""

import logging

import numpy as np
import pytest

import unhot
from unhot.compat.gensim import CallbackAny2Vec, Word2Vec
from unhot.errors import DataError

pytest.importorskip("gensim", reason="gensim is an oracle here")

random = np.random.default_rng(4)
OLD = [[f"w{i}" for i in random.integers(0, 9, 12)] for _ in range(300)]
NEW = [[*sentence, "n0", "n1"] for sentence in OLD[:100]]
SETTINGS = {"negative sampling": {}, "tree": {"hs": 1, "negative": 0}, "skip-gram": {"sg": 1}}

BEGIN = """
import numpy as np
from gensim.models import KeyedVectors, Word2Vec
model = Word2Vec(OLD, vector_size=8, min_count=1, workers=1, epochs=1, **settings)
def learn(model, text):
    model.train(text, total_examples=len(text), epochs=1)
def saved(model):
    model.save(folder + "/model")
    return Word2Vec.load(folder + "/model")
"""


def both(script, folder, **settings):
    """What a script leaves in `result` under gensim and under unhot."""
    out = []
    for library in ("gensim", "unhot.compat.gensim"):
        place = folder / library
        place.mkdir()
        space = {"OLD": OLD, "NEW": NEW, "settings": settings, "folder": str(place)}
        exec((BEGIN + script).replace("from gensim", f"from {library}"), space)
        out.append(space["result"])
    return out


INTERSECT = """
given = KeyedVectors(8)
given.add_vectors(["w0", "n0", "elsewhere"], np.arange(24, dtype=np.float32).reshape(3, 8))
given.save_word2vec_format(folder + "/given")
model.build_vocab(NEW, update=True)
model.wv.vectors_lockf = np.ones(len(model.wv), dtype=np.float32)
model.wv.intersect_word2vec_format(folder + "/given", lockf=0.0)
free = model.wv["n1"].copy()
learn(model, NEW)
moved = bool((model.wv["n1"] != free).any())
result = [model.wv["w0"], model.wv["n0"], saved(model).wv["n0"], moved, len(model.wv)]
"""


@pytest.mark.parametrize("name", SETTINGS)
def test_vectors_of_a_file_for_old_and_new_words(tmp_path, name):
    theirs, ours = both(INTERSECT, tmp_path, **SETTINGS[name])
    for their, our in zip(theirs, ours, strict=True):
        np.testing.assert_array_equal(our, their)
    np.testing.assert_array_equal(ours[0], np.arange(8))


SET = """
model.wv["w3"] = np.full(8, 7.0)
again = saved(model)
result = [again.wv["w3"].copy()]
learn(model, OLD)
again.wv["w3"] = np.full(8, 5.0)
learn(again, OLD)
result += [model.wv["w3"], again.wv["w3"], saved(again).wv["w3"], model.wv["w4"]]
"""


@pytest.mark.parametrize("name", SETTINGS)
def test_vectors_that_were_set(tmp_path, name):
    for set_once, trained, trained_again, saved_again, other in both(SET, tmp_path, **SETTINGS[name]):
        np.testing.assert_array_equal(set_once, np.full(8, 7.0))
        assert trained.mean() == pytest.approx(7.0, abs=1.5)
        assert (trained != 7.0).any()
        assert trained_again.mean() == pytest.approx(5.0, abs=1.5)
        np.testing.assert_array_equal(saved_again, trained_again)
        assert np.abs(other).max() < 3


UNIT = """
model.wv.unit_normalize_all()
lengths = np.linalg.norm(saved(model).wv.vectors, axis=1)
model.wv.vectors = np.full((len(model.wv), 8), 2.0, dtype=np.float32)
result = [lengths, saved(model).wv.vectors]
"""


def test_matrices_that_were_replaced(tmp_path):
    theirs, ours = both(UNIT, tmp_path)
    for their, our in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(our, their, atol=1e-6)


GROWN = """
model.build_vocab(NEW, update=True)
before = {word: model.wv[word].copy() for word in model.wv.index_to_key}
again = saved(model)
result = [sorted(again.wv.index_to_key), all(bool((again.wv[word] == before[word]).all()) for word in before)]
learn(again, NEW)
result += [len(again.wv), bool((again.wv["n0"] != before["n0"]).any())]
"""


@pytest.mark.parametrize("name", SETTINGS)
def test_a_grown_vocabulary_is_saved_before_it_is_trained(tmp_path, name):
    theirs, ours = both(GROWN, tmp_path, **SETTINGS[name])
    assert ours == theirs
    assert ours[2] == 11


def test_output_vectors_go_on_when_input_vectors_are_changed_and_words_join():
    model = Word2Vec(OLD, vector_size=8, min_count=1, workers=1, epochs=1)
    outs = dict(zip(model.wv.index_to_key, model.syn1neg.copy(), strict=True))
    model.wv["w0"] = np.zeros(8)
    model.build_vocab(NEW, update=True)
    assert len(model.syn1neg) == 11
    for word, row in zip(model.wv.index_to_key, model.syn1neg, strict=True):
        np.testing.assert_array_equal(row, outs.get(word, np.zeros(8)))
    assert not model.wv["w0"].any()


@pytest.mark.parametrize("name", SETTINGS)
def test_saving_before_training_changes_nothing(tmp_path, name):
    model = Word2Vec(vector_size=8, min_count=1, workers=1, epochs=2, **SETTINGS[name])
    model.build_vocab(OLD)
    model.wv["w1"] = np.full(8, 4.0)
    model.build_vocab(NEW, update=True)
    np.testing.assert_array_equal(model.wv["w1"], np.full(8, 4.0))
    model.save(tmp_path / "m")
    again = Word2Vec.load(tmp_path / "m")
    np.testing.assert_array_equal(again.wv.vectors, model.wv.vectors)
    for each in (model, again):
        each.train(NEW, total_examples=len(NEW), epochs=2)
    np.testing.assert_array_equal(again.wv.vectors, model.wv.vectors)
    np.testing.assert_array_equal(
        again._model.learned.params.out_vectors, model._model.learned.params.out_vectors
    )


@pytest.mark.parametrize(
    "output", ["nce:k=5,ln_z=per_input", "nce:ln_z=learned,noise=learned", "class_based"]
)
def test_models_with_biases_or_trees_take_changes_too(tmp_path, output):
    unhot.SkipGram(dim=8, min_count=1, epochs=1, output=output, threads=1).fit(iter(OLD)).save(tmp_path / "m")
    model = Word2Vec.load(tmp_path / "m")
    model.wv["w2"] = np.full(8, 6.0)
    model.build_vocab(NEW, update=True)
    model.save(tmp_path / "n")
    again = Word2Vec.load(tmp_path / "n")
    np.testing.assert_array_equal(again.wv["w2"], np.full(8, 6.0))
    again.train(NEW, total_examples=len(NEW), epochs=1)
    assert again.wv["w2"].mean() == pytest.approx(6.0, abs=1.5)


def test_words_added_by_hand_stay_and_learn(tmp_path):
    model = Word2Vec(OLD, vector_size=8, min_count=1, workers=1, epochs=1)
    model.wv.vectors_lockf = np.ones(len(model.wv), np.float32)
    model.wv.add_vectors(["n1", "apart"], np.full((2, 8), 3.0))
    model.save(tmp_path / "m")
    again = Word2Vec.load(tmp_path / "m")
    for each in (model, again):
        each.train(NEW, total_examples=len(NEW), epochs=1)
        assert each.wv.index_to_key[-2:] == ["apart", "n1"]
        assert each.wv.get_vecattr("n1", "count") == 0
        np.testing.assert_array_equal(each.wv["apart"], np.full(8, 3.0))
        assert (each.wv["n1"] != 3.0).any()
        assert len(each.predict_output_word(["n1"], topn=3)) == 3


def test_counts_that_were_set_are_saved(tmp_path):
    model = Word2Vec(OLD, vector_size=8, min_count=1, workers=1, epochs=1)
    first = model.wv.index_to_key[0]
    vector = model.wv[first].copy()
    model.wv.set_vecattr(first, "count", 1)
    model.save(tmp_path / "m")
    again = Word2Vec.load(tmp_path / "m")
    assert again.wv.index_to_key[-1] == first
    assert again.wv.get_vecattr(first, "count") == 1
    np.testing.assert_array_equal(again.wv[first], vector)


def test_locks_go_with_their_words():
    model = Word2Vec(OLD, vector_size=8, min_count=1, workers=1, epochs=1)
    locks = np.ones(len(model.wv), np.float32)
    locks[model.wv.get_index("w5")] = 0
    model.wv.vectors_lockf = locks
    vector = model.wv["w5"].copy()
    model.build_vocab([*NEW, ["w5"] * 500], update=True)
    assert model.wv.get_index("w5") == 0
    assert model.wv.locked_words() == ["w5"]
    model.train(NEW, total_examples=len(NEW), epochs=1)
    np.testing.assert_array_equal(model.wv["w5"], vector)
    model.wv.set_vecattr("w5", "count", 0)
    model.wv.sort_by_descending_frequency()
    assert model.wv.locked_words() == ["w5"]
    model.build_vocab(OLD)
    assert model.wv.locked_words() == []


def test_what_no_training_can_begin_from(tmp_path):
    model = Word2Vec(OLD, vector_size=8, min_count=1, workers=1, epochs=1)
    model.wv["w5"] = np.full(8, np.nan)
    with pytest.raises(DataError, match="wv: the vector of 'w5' has a number that is not finite"):
        model.train(OLD, total_examples=len(OLD), epochs=1)
    model.wv.vectors = model.wv.vectors[:3]
    with pytest.raises(
        DataError, match=r"wv.vectors has shape \(3, 8\): give one row for each of the 9 words"
    ):
        model.save(tmp_path / "m")


def test_changes_in_callbacks(caplog):
    class Set(CallbackAny2Vec):
        def on_epoch_end(self, model):
            model.wv["w5"] = np.full(8, 9.0)

    class SetLast(CallbackAny2Vec):
        def on_train_end(self, model):
            model.wv["w5"] = np.full(8, 9.0)

    settings = {"vector_size": 8, "min_count": 1, "workers": 1, "epochs": 2}
    model = Word2Vec(OLD, callbacks=[SetLast()], **settings)
    np.testing.assert_array_equal(model.wv["w5"], np.full(8, 9.0))
    assert not caplog.records
    with caplog.at_level(logging.WARNING, "unhot"):
        model = Word2Vec(OLD, callbacks=[Set()], **settings)
    assert np.abs(model.wv["w5"]).max() < 5
    assert "a callback changed wv" in caplog.text
