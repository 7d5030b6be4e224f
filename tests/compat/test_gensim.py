"""The same script under gensim and under unhot: only its imports differ."""

import math
import subprocess
import sys
from collections import Counter
from itertools import chain

import numpy as np
import pytest

import unhot
from unhot.compat.gensim import KeyedVectors, LineSentence, PathLineSentences, Text8Corpus, Word2Vec
from unhot.compat.gensim.models.evaluation import p_value
from unhot.errors import ConfigError, DataError, FormatError
from unhot.rows.streams import compression

gensim = pytest.importorskip("gensim", reason="gensim is an oracle here")

# gensim's own calls of old names; and its advice
pytestmark = [
    pytest.mark.filterwarnings("ignore:Call to deprecated"),
    pytest.mark.filterwarnings("ignore:Adding single vectors"),
]
TOPICS, WORDS = 4, 8


def planted(sentences=2500, length=12, seed=5):
    """Sentences about one topic each.

    Word i of a topic is rarer than word i - 1, and no two counts are equal.
    """
    weights = np.linspace(2.0, 1.0, WORDS) / np.linspace(2.0, 1.0, WORDS).sum()
    random = np.random.default_rng(seed)
    topics = random.choice(TOPICS, sentences, p=[0.34, 0.28, 0.22, 0.16])
    out = [[f"t{topic}w{word}" for word in random.choice(WORDS, length, p=weights)] for topic in topics]
    used: set[int] = set()
    for word, count in sorted(Counter(chain.from_iterable(out)).items()):
        extra = next(n for n in range(count) if count + n not in used)
        next(sentence for sentence in out if word in sentence).extend([word] * extra)
        used.add(count + extra)
    return out


SENTENCES = planted()


def run(script, library, **names):
    """What a script leaves in `result`; `gensim` in its imports stands for the library."""
    space = dict(names)
    exec(script.replace("from gensim", f"from {library}"), space)
    return space["result"]


def both(script, **names):
    return run(script, "gensim", **names), run(script, "unhot.compat.gensim", **names)


def assert_alike(theirs, ours, where="result", tolerance=1e-5):
    """The same structure, the same words, the same numbers up to a tolerance."""
    if isinstance(theirs, (bool, str, bytes, type(None))):
        assert ours == theirs, where
    elif isinstance(theirs, (int, float, np.number)):
        assert isinstance(ours, (int, float, np.number)), where
        assert ours == pytest.approx(theirs, abs=tolerance, nan_ok=True), where
    elif isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray), where
        assert ours.dtype == theirs.dtype, where
        np.testing.assert_allclose(ours, theirs, atol=tolerance, err_msg=where)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for key, value in theirs.items():
            assert_alike(value, ours[key], f"{where}[{key!r}]", tolerance)
    else:
        assert isinstance(ours, tuple) == isinstance(theirs, tuple), where
        assert len(ours) == len(theirs), where
        for i, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            assert_alike(a, b, f"{where}[{i}]", tolerance)


def topics_found(similar):
    """The share of neighbours that are about the topic of their word."""
    return np.mean([other[:2] == word[:2] for word, found in similar.items() for other, _ in found])


TRAIN = """
from gensim.models import Word2Vec
model = Word2Vec(sentences, vector_size=16, window=3, min_count=2, workers=1, epochs=6, seed=3, **settings)
wv = model.wv
result = {
    "facts": {
        "shape": wv.vectors.shape, "dtype": str(wv.vectors.dtype), "words": list(wv.index_to_key),
        "index": dict(wv.key_to_index),
        "counts": [int(wv.get_vecattr(word, "count")) for word in wv.index_to_key], "length": len(wv),
        "size": wv.vector_size,
        "model": [
            model.vector_size, model.window, model.epochs, model.min_count, model.sg, model.hs,
            model.negative, model.alpha,
        ],
        "corpus": [model.corpus_count, model.corpus_total_words], "text": str(model), "has": "t0w0" in wv,
        "not": "x" in wv,
    },
    "similar": {word: wv.most_similar(word, topn=WORDS - 1) for word in wv.index_to_key},
    "vector": wv["t0w0"], "several": wv[["t0w0", "t1w1"]],
}
"""
SETTINGS = {
    "cbow": {},
    "cbow sum": {"cbow_mean": 0},
    "skip-gram": {"sg": 1},
    "skip-gram with a tree": {"sg": 1, "hs": 1, "negative": 0},
    "cbow with a tree": {"hs": 1, "negative": 0},
    "many things": {
        "sg": 1,
        "negative": 20,
        "ns_exponent": 0.5,
        "sample": 0,
        "max_final_vocab": 500,
        "shrink_windows": False,
        "alpha": 0.03,
    },
}


@pytest.mark.parametrize("name", SETTINGS)
def test_training(name):
    theirs, ours = both(TRAIN, sentences=SENTENCES, settings=SETTINGS[name], WORDS=WORDS)
    assert_alike(theirs["facts"], ours["facts"])
    assert theirs["vector"].shape == ours["vector"].shape
    assert theirs["several"].shape == ours["several"].shape
    for word, found in ours["similar"].items():
        assert [type(part) for part in found[0]] == [str, float], word
        assert len(found) == len(theirs["similar"][word])
    assert topics_found(theirs["similar"]) > 0.95
    assert topics_found(ours["similar"]) > 0.95


STEPS = """
from gensim.models import Word2Vec
from gensim.models.callbacks import CallbackAny2Vec

class Notes(CallbackAny2Vec):
    def __init__(self):
        self.heard = []
        self.losses = []
    def on_train_begin(self, model):
        self.heard.append("train begin")
    def on_epoch_begin(self, model):
        self.heard.append("epoch begin")
    def on_epoch_end(self, model):
        self.heard.append("epoch end")
        self.losses.append(model.get_latest_training_loss())
    def on_train_end(self, model):
        self.heard.append("train end")

notes = Notes()
model = Word2Vec(vector_size=16, min_count=1, workers=1, sg=1, seed=3)
held = model.wv
model.build_vocab(sentences)
before = [len(model.wv), model.wv.vectors.shape, model.corpus_count, model.corpus_total_words]
trained, raw = model.train(
    sentences, total_examples=model.corpus_count, epochs=4, compute_loss=True, callbacks=[notes],
    start_alpha=0.025, end_alpha=0.0001
)
model.build_vocab(more, update=True)
after = [len(model.wv), "new" in model.wv, int(model.wv.get_vecattr("t0w0", "count"))]
model.train(more, total_examples=model.corpus_count, epochs=model.epochs)
result = {
    "before": before, "raw": raw, "trained": trained / raw, "heard": notes.heard, "after": after,
    "held": held is model.wv,
    "similar": {word: model.wv.most_similar(word, topn=5) for word in model.wv.index_to_key if word != "new"},
    "losses": notes.losses, "new": [word for word, _ in model.wv.most_similar("new", topn=5)],
    "predicted": model.predict_output_word(["t0w0", "t0w1"], topn=5),
}
"""


def test_step_by_step_with_callbacks_and_new_words():
    more = [
        [*sentence[:6], "new", *sentence[6:]]
        for sentence in planted(800, seed=6)
        if sentence[0].startswith("t0")
    ]
    theirs, ours = both(STEPS, sentences=SENTENCES, more=more)
    for name in ("before", "raw", "heard", "after", "held"):
        assert_alike(theirs[name], ours[name], name)
    assert ours["trained"] == pytest.approx(theirs["trained"], rel=0.02)
    assert topics_found(theirs["similar"]) > 0.95
    assert topics_found(ours["similar"]) > 0.95
    assert all(word.startswith("t0") for word in ours["new"])
    assert all(word.startswith("t0") or word == "new" for word, _ in ours["predicted"])
    assert ours["losses"] == sorted(ours["losses"])
    # sums over the same number of pairs
    assert ours["losses"][-1] == pytest.approx(theirs["losses"][-1], rel=0.1)


ASK = """
from gensim.models import KeyedVectors
import numpy as np
wv = KeyedVectors.load_word2vec_format(path, binary=binary, limit=limit)
a, b, c, d = wv.index_to_key[3:7]
result = {
    "size": [len(wv), wv.vector_size], "words": wv.index_to_key[:50],
    "similar": wv.most_similar(a), "similar list": wv.most_similar([a]),
    "analogy": wv.most_similar(positive=[a, b], negative=[c], topn=7),
    "weights": wv.most_similar(positive=[(a, 2.0), (b, 0.5)], negative=[(c, -1.0)]),
    "clipped": wv.most_similar(a, clip_start=5, clip_end=90),
    "restricted": wv.most_similar(a, restrict_vocab=50),
    "mul": wv.most_similar_cosmul(positive=[a, b], negative=[c]),
    "vector": wv.similar_by_vector(wv[a] + wv[b]), "word": wv.similar_by_word(b, topn=3),
    "key": wv.similar_by_key(b, topn=3),
    "all": wv.most_similar(a, topn=None), "similarity": wv.similarity(w1=a, w2=b),
    "distance": wv.distance(w1=a, w2=b),
    "distances": wv.distances(a, [b, c]), "all distances": wv.distances(a),
    "n": wv.n_similarity(ws1=[a, b], ws2=[c, d]),
    "match": wv.doesnt_match([a, b, c]), "rank": wv.rank(a, b), "closer": wv.closer_than(a, b),
    "older": wv.words_closer_than(a, b),
    "mean": wv.get_mean_vector([a, b, "?"], weights=[1.0, -2.0, 1.0]),
    "mean plain": wv.get_mean_vector([a, b], pre_normalize=False),
    "given": wv.most_similar_to_given(a, [b, c, d]), "relative": wv.relative_cosine_similarity(a, b),
    "index": wv.get_index(b),
    "default": wv.get_index("?", -1), "norm": wv.get_vector(a, norm=True), "normed": wv.get_normed_vectors(),
    "rows": wv[[a, b]],
    "cosines": wv.cosine_similarities(wv[a], wv[[b, c]]), "central": wv.rank_by_centrality([a, b, c]),
    "in": [a in wv, "?" in wv, 3 in wv],
    "some": wv.vectors_for_all([b, a, "?"]).index_to_key,
}
wv.add_vectors(["one", "two"], np.ones((2, wv.vector_size), dtype=np.float32))
wv.add_vector("three", wv[a])
wv["one"] = wv[b]
wv.fill_norms(force=True)
result["added"] = [wv.index_to_key[-3:], len(wv), wv.most_similar("three", topn=1), wv["one"].copy()]
wv.unit_normalize_all()
result["unit"] = wv[c]
result["saved"] = wv.save_word2vec_format(saved, binary=binary)
"""


@pytest.mark.parametrize(("binary", "limit"), [(False, None), (True, None), (True, 100)])
def test_asking_the_same_vectors(tmp_path, binary, limit):
    words = [f"word{i}" for i in range(200)]
    vectors = gensim.models.KeyedVectors(24)
    vectors.add_vectors(words, np.random.default_rng(1).normal(size=(200, 24)).astype(np.float32))
    vectors.save_word2vec_format(str(tmp_path / "v"), binary=binary)
    theirs = run(
        ASK, "gensim", path=str(tmp_path / "v"), binary=binary, limit=limit, saved=str(tmp_path / "theirs")
    )
    ours = run(
        ASK,
        "unhot.compat.gensim",
        path=str(tmp_path / "v"),
        binary=binary,
        limit=limit,
        saved=str(tmp_path / "ours"),
    )
    assert_alike(theirs, ours)
    back = [
        unhot.Vectors.load(tmp_path / name, "word2vec-binary" if binary else "word2vec-text")
        for name in ("theirs", "ours")
    ]
    assert sorted(back[0].words) == sorted(back[1].words)
    np.testing.assert_allclose(back[0][back[0].words], back[1][back[0].words], atol=1e-6)


SAVE = """
from gensim.models import Word2Vec, KeyedVectors
model = Word2Vec(sentences, vector_size=8, min_count=1, workers=1, epochs=1, sg=1, negative=20, seed=2)
model.save(folder + "/word2vec.model")
again = Word2Vec.load(folder + "/word2vec.model")
model.wv.save(folder + "/vectors.kv", pickle_protocol=4)
wv = KeyedVectors.load(folder + "/vectors.kv", mmap="r")
by_place = KeyedVectors.load(folder + "/vectors.kv", "r")
by_name = KeyedVectors.load(fname=folder + "/vectors.kv")
again.train(sentences, total_examples=len(sentences), epochs=2)
result = {
    "settings": [
        again.sg, again.negative, again.hs, again.vector_size, again.window, again.ns_exponent,
        again.cbow_mean, again.sample,
    ],
    "words": again.wv.index_to_key == model.wv.index_to_key,
    "same": bool((wv.vectors == model.wv.vectors).all()),
    "type": type(wv).__name__,
    "ways": [bool((other.vectors == wv.vectors).all()) for other in (by_place, by_name)],
    "moved": bool((again.wv.vectors != model.wv.vectors).any()),
    "count": int(wv.get_vecattr("t0w0", "count")),
}
"""


def test_saving_and_loading(tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    theirs = run(SAVE, "gensim", sentences=SENTENCES[:300], folder=str(tmp_path / "theirs"))
    ours = run(SAVE, "unhot.compat.gensim", sentences=SENTENCES[:300], folder=str(tmp_path / "ours"))
    assert_alike(theirs, ours)
    assert unhot.load(tmp_path / "ours" / "word2vec.model").layer.k == 20


def test_models_of_unhot_can_be_opened(tmp_path):
    unhot.CBOW(dim=8, min_count=1, epochs=1, output="nce:k=5", lr=0.0004).fit(SENTENCES[:200]).save(
        tmp_path / "m"
    )
    model = Word2Vec.load(tmp_path / "m")
    assert (model.sg, model.vector_size, model.alpha) == (0, 8, pytest.approx(0.0001))
    model.train(SENTENCES[:200], total_examples=200, epochs=1)
    model.save(tmp_path / "m")
    assert unhot.load(tmp_path / "m").layer.name == "nce"


def test_a_pickle_of_gensim_is_not_opened(tmp_path):
    model = gensim.models.Word2Vec(SENTENCES[:100], vector_size=8, min_count=1)
    model.save(str(tmp_path / "m"))
    model.wv.save(str(tmp_path / "kv"))
    for load, name in (
        (Word2Vec.load, "m"),
        (KeyedVectors.load, "kv"),
        (KeyedVectors.load_word2vec_format, "kv"),
    ):
        with pytest.raises(FormatError, match=r"a pickle.*save_word2vec_format\(PATH, binary=True\)"):
            load(str(tmp_path / name))


EVALUATE = """
from gensim.models import KeyedVectors
wv = KeyedVectors.load_word2vec_format(path)
result = {
    "analogies": wv.evaluate_word_analogies(questions, restrict_vocab=150),
    "dummy": wv.evaluate_word_analogies(questions, dummy4unknown=True),
    "exact": wv.evaluate_word_analogies(questions, case_insensitive=False),
    "pairs": [list(map(tuple, found[:2])) + [found[2]] for found in (
        wv.evaluate_word_pairs(pairs), wv.evaluate_word_pairs(pairs, dummy4unknown=True, restrict_vocab=150),
        wv.evaluate_word_pairs(pairs, case_insensitive=False))],
}
"""


def test_evaluation(tmp_path):
    random = np.random.default_rng(2)
    words = [f"Word{i}" if i % 3 == 0 else f"word{i}" for i in range(200)]
    base, offset = random.normal(size=(100, 10)), random.normal(size=10)
    vectors = gensim.models.KeyedVectors(10)
    vectors.add_vectors(
        words, np.concatenate([base, base + offset + 0.3 * random.normal(size=(100, 10))]).astype(np.float32)
    )
    vectors.save_word2vec_format(str(tmp_path / "v"))
    lines = []
    for section in ("one", "gram2"):
        lines.append(f": {section}")
        for a, c in random.integers(0, 105, (80, 2)):
            lines.append(f"{words[a % 200]} {words[(a + 100) % 200]} word{c} word{c + 100}")
    (tmp_path / "questions").write_text("\n".join(lines) + "\n")
    rows = [
        f"word{a}\t{'WORD' if b % 2 else 'word'}{b}\t{score:.2f}"
        for a, b, score in zip(*random.integers(0, 220, (2, 60)), random.normal(size=60), strict=True)
    ]
    (tmp_path / "pairs").write_text("# a comment\n" + "\n".join(rows) + "\n")
    theirs, ours = both(
        EVALUATE,
        path=str(tmp_path / "v"),
        questions=str(tmp_path / "questions"),
        pairs=str(tmp_path / "pairs"),
    )
    assert 0.1 < theirs["analogies"][0] < 1.0
    assert_alike(theirs, ours)


def test_p_values():
    stats = pytest.importorskip("scipy.stats")
    for n in (3, 4, 10, 200, 3000):
        x, noise = np.random.default_rng(n).normal(size=(2, n))
        for share in (0.0, 0.3, 3.0):
            expected = stats.pearsonr(x, noise + share * x)
            assert p_value(float(expected.statistic), n) == pytest.approx(
                expected.pvalue, rel=1e-6, abs=1e-250
            )
    assert p_value(1.0, 5) == 0.0
    assert math.isnan(p_value(1.0, 2))


FILES = """
from gensim.models.word2vec import LineSentence, PathLineSentences, Text8Corpus
result = [list(LineSentence(path)), list(LineSentence(path, limit=2))]
result += [list(LineSentence(path, max_sentence_length=2))]
result += [list(PathLineSentences(folder)), list(Text8Corpus(path, max_sentence_length=3))]
"""


def test_files_as_sentences(tmp_path):
    (tmp_path / "f").mkdir()
    for name, text in (("a.txt", "one two three\nfour five\n\nsix seven"), ("b.txt", "eight nine\n")):
        (tmp_path / "f" / name).write_text(text)
    theirs, ours = both(FILES, path=str(tmp_path / "f" / "a.txt"), folder=str(tmp_path / "f"))
    assert_alike(theirs[:4], ours[:4])
    assert [token for sentence in ours[4] for token in sentence] == [
        token for sentence in theirs[4] for token in sentence
    ]
    for sentences in (LineSentence, PathLineSentences, Text8Corpus):
        model = Word2Vec(sentences(tmp_path / "f" / "a.txt"), min_count=1, vector_size=4, epochs=1)
        assert len(model.wv) == 7


def test_a_file_as_corpus(tmp_path):
    (tmp_path / "t.txt").write_text("\n".join(" ".join(sentence) for sentence in SENTENCES[:200]))
    settings = {"vector_size": 8, "min_count": 1, "workers": 1}
    by_file = Word2Vec(corpus_file=str(tmp_path / "t.txt"), **settings)
    by_lists = Word2Vec(SENTENCES[:200], **settings)
    steps = Word2Vec(**settings)
    steps.build_vocab(corpus_file=str(tmp_path / "t.txt"))
    steps.train(corpus_file=str(tmp_path / "t.txt"), total_words=steps.corpus_total_words, epochs=5)
    np.testing.assert_array_equal(by_file.wv.vectors, by_lists.wv.vectors)
    assert steps.wv.index_to_key == by_file.wv.index_to_key
    # what build_vocab begins with is what training begins with
    np.testing.assert_array_equal(steps.wv.vectors, by_file.wv.vectors)


def test_generators_and_strings_are_sentences():
    model = Word2Vec((sentence for sentence in SENTENCES[:100]), min_count=1, vector_size=4, epochs=1)
    assert len(model.wv) == TOPICS * WORDS
    model = Word2Vec(
        [" ".join(sentence) for sentence in SENTENCES[:100]], min_count=1, vector_size=4, epochs=1
    )
    assert len(model.wv) == TOPICS * WORDS
    model = Word2Vec(min_count=1, vector_size=4)
    once = iter(SENTENCES[:100])
    model.build_vocab(once)
    with pytest.raises(DataError, match="build_vocab has consumed this iterator"):
        model.train(once, total_examples=100, epochs=1)


def test_a_text_that_teaches_nothing_is_only_a_warning(caplog):
    model = Word2Vec([["one"], ["two"]], min_count=1, vector_size=4, epochs=1)
    assert len(model.wv) == 2
    assert "nothing was learned" in caplog.text


def test_words_from_frequencies():
    model = Word2Vec(vector_size=8, min_count=5, workers=1)
    model.build_vocab_from_freq({"t0w0": 100, "t0w1": 50, "rare": 4}, corpus_count=10)
    assert model.wv.index_to_key == ["t0w0", "t0w1"]
    assert model.corpus_count == 10
    model.train(SENTENCES[:50], total_examples=50, epochs=1)
    model.build_vocab_from_freq({"t1w0": 70, "t0w1": 3, "rare": 4}, update=True)
    assert model.wv.index_to_key == ["t0w0", "t1w0", "t0w1"]
    assert model.wv.get_vecattr("t0w1", "count") == 50


def test_vectors_given_before_training(tmp_path):
    given = KeyedVectors(8)
    given.add_vectors(["t0w0", "t0w1", "elsewhere"], np.eye(8, dtype=np.float32)[:3])
    given.save_word2vec_format(tmp_path / "v.txt")
    model = Word2Vec(vector_size=8, min_count=1, workers=1, sg=1)
    model.build_vocab(SENTENCES[:300])
    model.wv.vectors[model.wv.get_index("t1w0")] = 9.0
    model.wv.intersect_word2vec_format(tmp_path / "v.txt", lockf=0.0)
    model.train(SENTENCES[:300], total_examples=300, epochs=1)
    np.testing.assert_array_equal(model.wv[["t0w0", "t0w1"]], np.eye(8)[:2])
    assert model.wv["t1w0"].mean() > 5
    assert abs(model.wv["t1w1"]).max() < 5
    model.wv.vectors_lockf = np.ones(3)
    with pytest.raises(ConfigError, match=r"vectors_lockf has shape \(3,\)"):
        model.train(SENTENCES[:300], total_examples=300, epochs=1)


def test_word2vec_files_with_everything(tmp_path):
    import gzip

    vectors = KeyedVectors(2)
    vectors.add_vectors(["b", "a", "c"], np.array([[1, 2], [3, 4], [5, 6]]), extras={"count": [1, 7, 3]})
    vectors.save_word2vec_format(tmp_path / "v.txt", fvocab=tmp_path / "counts.txt", prefix="*")
    assert (tmp_path / "v.txt").read_text().split()[:5] == ["3", "2", "*a", "3", "4"]
    assert (tmp_path / "counts.txt").read_text() == "*a 7\n*c 3\n*b 1\n"
    back = KeyedVectors.load_word2vec_format(tmp_path / "v.txt", fvocab=tmp_path / "counts.txt", limit=2)
    assert [(word, back.get_vecattr(word, "count")) for word in back.index_to_key] == [("*a", 7), ("*c", 3)]
    (tmp_path / "v.txt.gz").write_bytes(gzip.compress((tmp_path / "v.txt").read_bytes()))
    assert KeyedVectors.load_word2vec_format(tmp_path / "v.txt.gz").index_to_key == ["*a", "*c", "*b"]
    vectors.save_word2vec_format(tmp_path / "g.txt", write_header=False, sort_attr="none")
    assert KeyedVectors.load_word2vec_format(tmp_path / "g.txt", no_header=True).index_to_key == [
        "b",
        "a",
        "c",
    ]
    (tmp_path / "bad.txt").write_bytes(b"1 2\ncaf\xe9 1 2\n")
    with pytest.raises(FormatError, match="not UTF-8"):
        KeyedVectors.load_word2vec_format(tmp_path / "bad.txt")
    assert KeyedVectors.load_word2vec_format(tmp_path / "bad.txt", unicode_errors="ignore").index_to_key == [
        "caf"
    ]
    vectors.sort_by_descending_frequency()
    assert vectors.index_to_key == ["a", "c", "b"]
    assert isinstance(vectors[1:], KeyedVectors)
    assert vectors[1:].index_to_key == ["c", "b"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"hs": 1}, r"hs=1, negative=5: a model can have only one output layer; add negative=0"),
        ({"hs": 0, "negative": 0}, "nothing would be learned"),
        ({"trim_rule": lambda word, count, min_count: 0}, "build_vocab_from_freq"),
        ({"alpha": 0.025, "min_alpha": 0.02}, "call it once with all epochs"),
        ({"vector_size": 0}, "vector_size=0: must be >= 1"),
        ({"workers": 0}, "workers=0: must be >= 1"),
        ({"window": 0}, "window=0: must be >= 1"),
        ({"epochs": 1.5}, "epochs=1.5: must be a whole number"),
        ({"alpha": 0}, "alpha=0: must be >= "),
        ({"max_final_vocab": 0}, "max_final_vocab=0: must be >= 1"),
        ({"sentences": "text.txt"}, "corpus_file=PATH"),
        ({"sentences": [["a"]], "corpus_file": "t"}, "give the text exactly once"),
    ],
)
def test_what_cannot_be_honoured_is_an_error(settings, told):
    with pytest.raises(ConfigError, match=told):
        Word2Vec(**settings)


def test_wrong_order_and_wrong_names(tmp_path):
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        Word2Vec(size=100)
    with pytest.raises(DataError, match="call build_vocab first"):
        Word2Vec().train(SENTENCES, total_examples=1, epochs=1)
    with pytest.raises(DataError, match="call build_vocab first, without update"):
        Word2Vec().build_vocab(SENTENCES, update=True)
    with pytest.raises(DataError, match="call build_vocab first"):
        Word2Vec().save("nowhere")
    untrained = Word2Vec(vector_size=4, min_count=1)
    untrained.build_vocab(SENTENCES[:10])
    with pytest.raises(DataError, match="not trained yet"):
        untrained.predict_output_word(["t0w0"])
    with (
        pytest.raises(ConfigError, match="give the path of a folder to write"),
        (tmp_path / "open").open("wb") as file,
    ):
        untrained.save(file)


def test_interrupted_training_is_kept():
    class Stop:
        def on_epoch_end(self, model):
            if self.epochs == 2:
                raise KeyboardInterrupt
            self.epochs += 1

        epochs = 0
        on_train_begin = on_epoch_begin = on_train_end = lambda self, model: None

    model = Word2Vec(vector_size=8, min_count=1, workers=1, epochs=50, sg=1)
    model.build_vocab(SENTENCES)
    begin = model.wv.vectors.copy()
    with pytest.raises(KeyboardInterrupt):
        model.train(SENTENCES, total_examples=model.corpus_count, callbacks=[Stop()])
    assert np.abs(model.wv.vectors - begin).max() > 0.1


def test_modules_have_the_same_names_and_vectors_need_no_compiler():
    code = """
import sys
import unhot.compat.gensim as gensim
from unhot.compat.gensim import KeyedVectors
assert gensim.models.KeyedVectors is KeyedVectors is gensim.models.keyedvectors.KeyedVectors
assert "numba" not in sys.modules
from unhot.compat.gensim.models.word2vec import LineSentence, Word2Vec
assert gensim.models.Word2Vec is Word2Vec is gensim.Word2Vec and gensim.LineSentence is LineSentence
assert gensim.models.callbacks.CallbackAny2Vec is gensim.CallbackAny2Vec
assert not hasattr(gensim, "corpora") and not hasattr(gensim.models, "LdaModel")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_similarity_function_is_looked_at(tmp_path):
    random = np.random.default_rng(3)
    wv = KeyedVectors(6)
    wv.add_vectors([f"w{i}" for i in range(60)], random.normal(size=(60, 6)))
    lines = [" ".join(f"w{i}" for i in random.choice(60, 4, replace=False)) for _ in range(40)]
    found = {
        wv.most_similar_cosmul(positive=line.split()[1:3], negative=line.split()[:1], topn=1)[0][0]: line
        for line in lines
    }
    questions = [" ".join([*line.split()[:3], answer]) for answer, line in found.items()]
    (tmp_path / "questions").write_text(": all\n" + "\n".join(questions) + "\n")
    assert (
        wv.evaluate_word_analogies(tmp_path / "questions", similarity_function="most_similar_cosmul")[0]
        == 1.0
    )
    assert wv.evaluate_word_analogies(tmp_path / "questions")[0] < 1.0
    with pytest.raises(ConfigError, match="topn=0: must be >= 1"):
        wv.most_similar("w0", topn=0)


def test_the_first_answer_of_several_is_the_right_one(tmp_path):
    wv = KeyedVectors(3)
    wv.add_vectors(
        ["man", "king", "woman", "queen", "ruler"],
        np.array([[1, 0, 0], [1, 0, 1], [0, 1, 0], [0.5, 1, 0], [0, 1, 1]]),
    )
    (tmp_path / "bats").write_text("man\tking\nwoman\tqueen/ruler\n")
    _, sections = wv.evaluate_word_analogies(tmp_path / "bats")
    assert ("MAN", "KING", "WOMAN", "QUEEN") in sections[-1]["incorrect"]  # ruler is nearest
    (tmp_path / "bats").write_text("man\tking\nwoman\truler/queen\n")
    _, sections = wv.evaluate_word_analogies(tmp_path / "bats")
    assert ("MAN", "KING", "WOMAN", "RULER") in sections[-1]["correct"]


@pytest.mark.parametrize(
    ("counts", "error", "said"),
    [
        (b"a " + b"9" * 19, FormatError, "line 1"),
        (b"a 1\nb " + b"9" * 5000, FormatError, "line 2"),
        (None, DataError, "cannot be read"),
    ],
)
def test_counts_that_cannot_be_read(tmp_path, counts, error, said):
    (tmp_path / "v.txt").write_bytes(b"1 1\na 1\n")
    if counts is not None:
        (tmp_path / "counts.txt").write_bytes(counts)
    with pytest.raises(error, match=f"counts.txt: {said}"):
        KeyedVectors.load_word2vec_format(tmp_path / "v.txt", fvocab=tmp_path / "counts.txt")


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz"])
@pytest.mark.parametrize("binary", [False, True])
def test_files_are_compressed_by_their_ending(ending, binary, tmp_path):
    rows = np.eye(3, 8, dtype=np.float32)
    ours = KeyedVectors(8)
    ours.add_vectors(["a", "b", "c"], rows)
    path = tmp_path / f"x.txt.{ending}"
    ours.save_word2vec_format(path, binary=binary)
    assert compression(path.read_bytes()[:20]) == ending
    for kind in (KeyedVectors, gensim.models.KeyedVectors):
        again = kind.load_word2vec_format(str(path), binary=binary)
        assert list(again.index_to_key) == ["a", "b", "c"]
        np.testing.assert_array_equal(again.vectors, rows)


def test_words_with_spaces_are_renamed_with_a_warning(tmp_path, caplog):
    vectors = KeyedVectors(8)
    vectors.add_vectors(["new york", "b"], np.eye(2, 8))
    vectors.save_word2vec_format(tmp_path / "x.txt")
    assert "1 words have white space" in caplog.text
    assert "'new york' as 'new_york'" in caplog.text
    assert KeyedVectors.load_word2vec_format(tmp_path / "x.txt").index_to_key == ["new_york", "b"]


@pytest.mark.parametrize("kind", ["model", "vectors"])
def test_an_old_file_of_gensims_is_kept_and_nothing_is_lost(kind, tmp_path, caplog):
    sentences = [["a", "b", "c"]] * 10
    path = tmp_path / "old.model"
    gensim.models.Word2Vec(sentences, vector_size=8, min_count=1).save(str(path))
    old = path.read_bytes()
    model = Word2Vec(sentences, vector_size=8, min_count=1, workers=1)
    saved = model if kind == "model" else model.wv
    for _ in range(2):  # the second time the folder is there
        saved.save(path)
    assert path.read_bytes() == old
    assert "unhot saves a folder beside it" in caplog.text
    again = type(saved).load(tmp_path / "old.model.unhot")
    assert getattr(again, "wv", again).vectors.tobytes() == model.wv.vectors.tobytes()
    with pytest.raises(FormatError, match="what unhot saved beside it is .*old.model.unhot"):
        type(saved).load(path)


def test_a_batch_without_known_words_changes_nothing(caplog):
    """As in gensim, where it is not an error."""
    model = Word2Vec([["a", "b", "c"]] * 10, vector_size=8, min_count=2, workers=1)
    before = model.wv.vectors.copy()
    for batch in ([["x", "y"]], []):
        assert model.train(batch, total_examples=1, epochs=1)[0] == 0
        model.build_vocab(batch, update=True)
    assert len(model.wv) == 3
    np.testing.assert_array_equal(model.wv.vectors, before)
    assert "none of the 3 words" in caplog.text
    model.train([["a", "b", "c"]], total_examples=1, epochs=1)
    with pytest.raises(DataError, match="none of the 2 words"):
        unhot.SkipGram(dim=8).fit([["x", "y"]], counts={"a": 2, "b": 1})


def test_errors_name_gensims_parameters(tmp_path):
    (tmp_path / "x.txt").write_bytes(b"1 2\n\xff 1 2\n")
    with pytest.raises(FormatError, match="read it with unicode_errors='replace' or 'ignore'"):
        KeyedVectors.load_word2vec_format(tmp_path / "x.txt")


@pytest.mark.parametrize("odd", ["trail ", "x  y", "new york", "two  "])
@pytest.mark.parametrize("place", [0, 4, 48])
def test_no_space_in_a_word_moves_the_rows_of_a_binary_file(odd, place, tmp_path):
    words = [f"w{i}" for i in range(50)]
    words[place] = odd
    vectors = gensim.models.KeyedVectors(50)
    vectors.add_vectors(words, np.random.default_rng(place).normal(size=(50, 50)).astype(np.float32))
    vectors.save_word2vec_format(str(tmp_path / "x.bin"), binary=True)
    with pytest.raises(FormatError):
        unhot.Vectors.load(tmp_path / "x.bin")


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_packed_files_keep_no_name_of_a_temporary_file(ending, tmp_path):
    """Unpacked with that name, a file would look like one of a dead process, which the next run removes."""
    kv = KeyedVectors.load_word2vec_format(write_text(tmp_path), binary=False)
    place = tmp_path / f"out.bin.{ending}"
    kv.save_word2vec_format(place, fvocab=tmp_path / f"counts.{ending}", binary=True)
    assert compression(place.read_bytes()[:10]) == ending
    assert b"unhot-" not in place.read_bytes()[:200]
    again = KeyedVectors.load_word2vec_format(place, fvocab=tmp_path / f"counts.{ending}", binary=True)
    assert again.index_to_key == kv.index_to_key


def write_text(folder):
    (folder / "v.txt").write_text("2 2\nthe 1 2\ncat 3 4\n")
    return folder / "v.txt"
