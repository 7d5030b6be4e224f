"""The model of singular vectors: it is the functions that it is made of, and finds a planted answer."""

import numpy as np
import pytest

from unhot import Vectors, Vocabulary, load
from unhot.corpus import encode
from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.errors import ConfigError, DataError, FormatError
from unhot.models.pmi import pmi
from unhot.models.svd import SVD
from unhot.models.truncated_svd import truncated_svd, weighted
from unhot.vectors.formats.directory import load_model, save_model

SMALL = {"dim": 5, "min_count": 1, "window": 3}


@pytest.fixture(scope="module")
def text():
    """Four topics of ten words each, and some words that go with all of them."""
    rng = np.random.default_rng(1)
    topics = rng.integers(0, 4, 400)
    return [
        [f"t{topic}w{w}" if w < 10 else f"all{w - 10}" for w in rng.integers(0, 14, 12)] for topic in topics
    ]


@pytest.fixture(scope="module")
def model(text):
    return SVD(**SMALL, threads=1).fit(text)


def same(a, b):
    return a.words == b.words and np.array_equal(a.vectors, b.vectors)


def test_words_of_a_topic_are_found_together(model):
    vectors = model.vectors
    for word in (word for word in vectors.words if word[0] == "t"):
        near = [found for found, _ in vectors.most_similar(word, topn=9)]
        assert all(found[:2] in (word[:2], "al") for found in near)
        assert sum(found[:2] == word[:2] for found in near) >= 7


def test_it_is_the_functions_it_is_made_of(text, model):
    with (
        encode(text, min_count=1) as corpus,
        cooccurrences(corpus, window=3) as cells,
        pmi(cells) as information,
    ):
        factors = truncated_svd(information, 5, threads=1)
        assert same(model.vectors, Vectors(corpus.vocabulary.words, weighted(factors)))
        assert same(
            model.context_vectors, Vectors(corpus.vocabulary.words, weighted(factors._replace(u=factors.v)))
        )
        assert model.singular_values.tolist() == factors.s.tolist()
        settings = {"weights": "flat", "sides": "left", "sample": 1e-2, "seed": 3, "threads": 1}
        mine = {"positive": False, "shift": 3.0, "smoothing": 1.0}
        other = SVD(**SMALL, **settings, **mine, power=1.0, contexts=True, oversampling=9, rounds=2).fit(
            corpus
        )
        settings.pop("threads")
        with cooccurrences(corpus, window=3, **settings) as left, pmi(left, **mine) as plain:
            expected = weighted(
                truncated_svd(plain, 5, oversampling=9, rounds=2, seed=3, threads=1), 1.0, contexts=True
            )
        assert np.array_equal(other.vectors.vectors, expected)


def test_text_corpus_and_cells_are_the_same(text, model):
    with encode(text, min_count=1) as corpus, cooccurrences(corpus, window=3) as cells:
        assert same(SVD(**SMALL, threads=1).fit(corpus).vectors, model.vectors)
        assert same(SVD(**SMALL, threads=1).fit(cells).vectors, model.vectors)
        again = SVD(**SMALL, threads=3).fit(corpus)
        first = again.vectors
        assert again.fit(cells).vectors is not first  # what is shown is never older than what was learned
    np.testing.assert_allclose(again.vectors.vectors, model.vectors.vectors, atol=1e-3)


def test_a_saved_model_is_loaded(model, tmp_path):
    model.save(tmp_path / "model")
    again = load(tmp_path / "model", verify=True)
    assert isinstance(again, SVD)
    assert again.config() == model.config()
    assert same(again.vectors, model.vectors)
    assert same(again.context_vectors, model.context_vectors)
    assert again.singular_values.tolist() == model.singular_values.tolist()
    assert again.vocabulary == model.vocabulary
    assert again.history.words == 4800
    assert same(Vectors.load(tmp_path / "model"), model.vectors)
    assert same(Vectors.load(tmp_path / "model", which="out"), model.context_vectors)


@pytest.mark.parametrize("name", ["out_vectors", "singular_values"])
@pytest.mark.parametrize("damage", ["missing", "short"])
def test_damaged_models_are_refused(model, tmp_path, name, damage):
    tensors = model.learned.tensors(complete=True)
    array = tensors.pop(name)
    if damage == "short":
        tensors[name] = array[..., :-1].copy()
    try:
        save_model(tmp_path / "model", model.config(), model.vocabulary, tensors)
    except DataError:
        return  # refused already
    with pytest.raises(FormatError, match=f"tensor '{name}' has the shape"):
        SVD.from_saved(load_model(tmp_path / "model"))


def test_it_tells_what_it_does(text):
    told, notes, read = [], [], []
    SVD(**SMALL, rounds=3).fit(
        text, callbacks=[told.append], note=notes.append, reading=lambda *done: read.append(done)
    )
    rounds = [("progress", done, 3) for done in (1, 2, 3)]
    assert [(each.event, each.epoch, each.epochs) for each in told] == [
        ("start", 0, 3),
        *rounds,
        ("done", 3, 3),
    ]
    assert told[0].details["vocabulary"] == 44
    assert told[-1].words == told[-1].total_words == 3 * told[0].details["cells"]
    assert any("cells of 44 words" in line for line in notes)
    assert any(line.startswith("memory: ") for line in notes)


def test_nothing_is_there_before():
    model = SVD()
    assert model.vocabulary is None
    for name in ("vectors", "context_vectors", "singular_values"):
        with pytest.raises(DataError, match="has learned nothing yet: call fit"):
            getattr(model, name)


def test_what_cannot_be_learned_is_refused(text):
    cells = Cells.from_arrays(Vocabulary(["a", "b"], [2, 2]), [0, 2, 4], [0, 1, 0, 1], [1.0, 1.0, 1.0, 1.0])
    with pytest.raises(ConfigError, match="counts, column or phrases with a Corpus or Cells"):
        SVD().fit(cells, column="text")
    with pytest.raises(DataError, match="shift=2.*: no two words occur together more often than by chance"):
        SVD(dim=1, shift=2).fit(cells)
    with pytest.raises(ConfigError, match="dim=100: must be at most 44, the number of words"):
        SVD(min_count=1).fit(text)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"weights": "linear"}, "weights='linear': must be one of distance, flat, dynamic"),
        ({"sides": "up"}, "sides='up'"),
        ({"memory": "much"}, "memory='much'"),
        ({"positive": "yes"}, "positive='yes': must be true or false"),
        ({"shift": 0}, "shift=0"),
        ({"smoothing": -1}, "smoothing=-1"),
        ({"power": float("nan")}, "power=nan"),
        ({"rounds": 0}, "rounds=0"),
        ({"oversampling": -1}, "oversampling=-1"),
        ({"window": 0}, "window=0"),
    ],
)
def test_wrong_settings_are_named(setting, message):
    with pytest.raises(ConfigError, match=message):
        SVD(**setting)
