"""SkipGram and CBOW as a user meets them."""

import gc
import hashlib
import weakref
from pathlib import Path

import numpy as np
import pytest
from grids import SOAK
from programs import with_jit, without_jit

import unhot
from unhot.errors import ConfigError, DataError, FormatError
from unhot.models.load import word_models

MODELS = word_models()
RNG = np.random.default_rng(7)
TEXT = [[f"w{i}" for i in RNG.zipf(1.5, RNG.integers(1, 40)) if i < 50] for _ in range(200)]
SMALL = {"dim": 8, "min_count": 2, "epochs": 2, "window": 3, "sample": 1e-2}


def digest(folder):
    files = sorted(p for p in Path(folder).rglob("*") if p.is_file())
    return {p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.mark.parametrize("name", MODELS)
def test_same_seed_and_one_thread_are_the_same_bytes(name, tmp_path):
    for run in ("one", "two"):
        MODELS[name](**SMALL, threads=1).fit(TEXT).save(tmp_path / run)
    MODELS[name](**SMALL, threads=1, seed=2).fit(TEXT).save(tmp_path / "other")
    assert digest(tmp_path / "one") == digest(tmp_path / "two")
    assert digest(tmp_path / "one") != digest(tmp_path / "other")


@pytest.mark.parametrize("name", MODELS)
def test_threads_learn_nearly_the_same(name):
    one, three = (MODELS[name](**SMALL, threads=threads).fit(TEXT) for threads in (1, 3))
    assert one.history.losses == pytest.approx(three.history.losses, rel=0.05)
    assert one.history.words == three.history.words == 2 * sum(map(len, TEXT))


@pytest.mark.parametrize("name", MODELS)
def test_what_is_saved_is_loaded(name, tmp_path):
    model = MODELS[name](**SMALL, output="negative:k=5,hits=keep")
    model.fit(TEXT).save(tmp_path / "model")
    loaded = unhot.load(tmp_path / "model", verify=True)
    assert type(loaded) is type(model)
    assert loaded.config() == model.config()
    assert loaded.history.losses == model.history.losses
    assert loaded.vocabulary == model.vocabulary
    np.testing.assert_array_equal(loaded.vectors.vectors, model.vectors.vectors)
    np.testing.assert_array_equal(loaded.out_vectors.vectors, model.out_vectors.vectors)
    assert loaded.vectors.most_similar("w1") == model.vectors.most_similar("w1")


def test_an_encoded_corpus_is_a_source_too(tmp_path):
    from unhot.corpus.encoding import encode

    encode(TEXT, directory=tmp_path / "corpus", min_count=2).close()
    with unhot.Corpus.open(tmp_path / "corpus") as corpus:
        again = unhot.SkipGram(**SMALL, threads=1).fit(corpus)
    np.testing.assert_array_equal(
        again.vectors.vectors, unhot.SkipGram(**SMALL, threads=1).fit(TEXT).vectors.vectors
    )


def test_counts_from_outside():
    model = unhot.SkipGram(**SMALL).fit(TEXT, counts={"w1": 100, "w2": 50, "w3": 1})
    assert model.vectors.words == ["w1", "w2"]


@pytest.mark.parametrize(
    ("window", "predict"), [(1, "contexts"), (50, "auto"), *([(1, "auto"), (50, "contexts")] if SOAK else [])]
)
def test_wide_and_narrow_windows(window, predict):
    model = unhot.SkipGram(**{**SMALL, "window": window, "predict": predict}, shrink=False).fit(TEXT)
    assert np.isfinite(model.vectors.vectors).all()


NOTHING = "nothing was learned: no word had another word near it.* lower min_count, set sample=0"


@pytest.mark.parametrize("settings", [{}, {"engine": "torch"}], ids=["compiled", "torch"])
@pytest.mark.parametrize("model", [unhot.SkipGram, unhot.CBOW])
def test_nothing_to_learn_from_is_an_error(model, settings, tmp_path):
    """Sentences of one word, or all words sub-sampled away; no checkpoint is left."""
    events = []
    how = {
        "checkpoint": unhot.Checkpoint(path=tmp_path / "m", chunks=1),
        "callbacks": [lambda progress: events.append((progress.event, progress.details.get("reason")))],
    }
    if settings:
        pytest.importorskip("torch")
    with pytest.raises(DataError, match=NOTHING):
        model(dim=4, min_count=1, epochs=3, **settings).fit([["a"], ["b"], ["a"]] * 50, **how)
    with pytest.raises(DataError, match=NOTHING):
        model(dim=4, min_count=1, sample=1e-12, **settings).fit([["a", "b"] * 50], **how)
    assert events[-1] == ("done", "nothing learned")
    assert not (tmp_path / "m").exists()


def test_ctrl_c_before_the_first_pair_keeps_the_training(tmp_path):
    def interrupt(progress):
        if progress.event == "progress":
            raise KeyboardInterrupt

    model = unhot.SkipGram(dim=4, min_count=1).fit([["a"], ["b"]], callbacks=[interrupt])
    assert not model.complete
    model.save(tmp_path / "m")
    with pytest.raises(DataError, match=NOTHING):
        unhot.load_unfinished(tmp_path / "m").resume([["a"], ["b"]])


def test_one_word_more_threads_than_chunks_and_numpy_numbers(tmp_path):
    model = unhot.SkipGram(
        dim=np.int64(4), min_count=1, threads=64, seed=np.int64(3), lr=np.float32(0.05), sample=0
    ).fit([["a"] * 10])
    model.save(tmp_path / "m")
    assert unhot.load(tmp_path / "m").config()["seed"] == 3


def test_callbacks_see_the_vectors_as_they_are():
    model, seen = unhot.SkipGram(**{**SMALL, "epochs": 4}, lr=0.1), []

    def look(progress):
        if progress.event == "epoch":  # the threads rest
            seen.append(model.vectors.most_similar("w1", topn=1)[0][1])

    model.fit(TEXT, callbacks=[look])
    assert len(seen) == 4
    assert max(seen) <= 1.00001


def test_a_tokenizer_that_is_an_object():
    import functools

    model = unhot.SkipGram(**{**SMALL, "sample": 0}, tokenizer=functools.partial(str.split, sep=",")).fit(
        ["a,b c,a", "b c,a,b c"]
    )
    assert set(model.vectors.words) == {"a", "b c"}
    assert model.config()["tokenizer"] == "functools.partial"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"dim": 0}, "dim=0: must be >= 1"),
        ({"window": 0}, "window=0: must be >= 1"),
        ({"epochs": 0}, "epochs=0: must be >= 1"),
        ({"threads": 0}, "threads=0: must be >= 1"),
        ({"seed": -1}, "seed=-1: must be >= 0"),
        ({"sample": -1.0}, "sample=-1.0: must be >= 0"),
        ({"lr": 0.0}, "lr=0.0: must be >= 1e-30"),
        ({"lr": float("nan")}, "lr=nan: must be >= 1e-30 and finite"),
        ({"lr": "0.1"}, "lr='0.1': must be a number"),
        ({"output": None}, "output=None: must be an output layer or its spec"),
        ({"max_vocab": 0}, "max_vocab=0: must be >= 1"),
        ({"window": 10**10}, "window=10000000000: must be <= 10000"),
        ({"threads": 10**6}, "threads=1000000: must be <= 1024"),
        ({"output": "hot"}, "there is no layer 'hot'"),
        ({"dim": 1.5}, "dim=1.5: must be a whole number"),
    ],
)
def test_bad_settings_are_named(settings, told):
    with pytest.raises(ConfigError, match=told):
        unhot.SkipGram(**settings)


def test_cbow_combines_by_mean_or_sum():
    with pytest.raises(ConfigError, match="combine='max': must be one of mean, sum"):
        unhot.CBOW(combine="max")


def test_nothing_learned_yet():
    with pytest.raises(DataError, match="call fit first"):
        unhot.SkipGram().vectors.most_similar("king")


def test_a_model_of_an_unknown_kind(tmp_path):
    from unhot.vectors.formats.directory import save_model

    matrix = np.zeros((1, 2), np.float32)
    save_model(
        tmp_path / "m",
        {"model": "quantum"},
        unhot.Vocabulary(["a"], [1]),
        {"in_vectors": matrix, "out_vectors": matrix},
    )
    with pytest.raises(
        FormatError,
        match="'quantum', but unhot knows only cbow, classifier, ease, eges, fasttext, glove, graph,",
    ):
        unhot.load(tmp_path / "m")


WITHOUT_JIT = """
import sys, numpy as np, unhot
text = [["a", "b", "c", "a", "d"], ["b", "a", "b", "e"], ["c", "d", "a", "b", "c", "e"]] * 3
out = {}
for kind in (unhot.SkipGram, unhot.CBOW):
    for spec in ("negative:k=5", "negative:k=20,hits=keep"):
        model = kind(dim=6, window=2, min_count=1, epochs=2, lr=0.2, output=spec, threads=1).fit(text)
        losses = [[*model.history.losses, 0, 0, 0, 0]]
        parts = [model.vectors.vectors, model.out_vectors.vectors, losses]
        out[f"{kind.__name__} {spec}"] = np.concatenate(parts)
np.savez(sys.argv[1], **out)
"""


def test_the_same_without_the_compiler(tmp_path):
    """The plain Python twins draw the same numbers and reach the same vectors."""
    with_jit(WITHOUT_JIT, tmp_path / "on")
    without_jit(WITHOUT_JIT, tmp_path / "off")
    on, off = (np.load(tmp_path / f"{name}.npz") for name in ("on", "off"))
    for key in on.files:
        np.testing.assert_allclose(on[key], off[key], rtol=1e-4, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("shard", [1 << 27, 300])
def test_the_pairs_trained_are_those_of_the_definition(shard, tmp_path):
    """Whatever the shards, training has as many pairs as `corpus_pairs` yields."""
    from unhot.corpus.encoding import EncodingSizes, WordChoice, encode_input
    from unhot.corpus.pairing import corpus_pairs
    from unhot.corpus.reading.sources import TextReader
    from unhot.corpus.workplace import Workplace
    from unhot.vocab.subsampling import keep_probability

    with Workplace(tmp_path / "corpus") as place:
        corpus = encode_input(
            TextReader(TEXT),
            WordChoice(2, None, None),
            place,
            1,
            EncodingSizes(block=1000, shard=shard),
        )
    with corpus:
        assert (len(corpus.shards) > 1) == (shard == 300)
        model = unhot.SkipGram(**{**SMALL, "epochs": 1})
        model.fit(corpus)
        expected = sum(
            1 for _ in corpus_pairs(corpus, window=3, keep=keep_probability(corpus.vocabulary.counts, 1e-2))
        )
    assert model.history.pairs == expected


@pytest.mark.parametrize("kind", [unhot.SkipGram, unhot.FastText, unhot.GloVe])
def test_a_model_that_is_gone_leaves_nothing_in_memory(kind):
    model = kind(dim=4, min_count=1, epochs=1, threads=1).fit([["a", "b", "c"]] * 20)
    learned = weakref.ref(model.learned)
    gc.disable()
    try:
        del model
        assert learned() is None
    finally:
        gc.enable()
