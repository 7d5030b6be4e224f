"""Model folders as vectors, above all those with n-grams: what is read must fit together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unhot.errors import ConfigError, DataError, FormatError
from unhot.vectors import Vectors
from unhot.vectors.formats import Table, read_table
from unhot.vectors.formats.directory import load_model, save_model
from unhot.vectors.formats.model_folder import as_rows
from unhot.vectors.formats.table import ALL
from unhot.vectors.subword_vectors import SubwordVectors
from unhot.vocab.vocabulary import Vocabulary

WORDS = ["where", "there", "here"]
CONFIG = {
    "model": "fasttext",
    "minn": 3,
    "maxn": 4,
    "buckets": 20,
    "scheme": "fasttext",
    "hashes": 1,
    "seed": 5,
    "output": "negative",
}
KEYS = np.array([3, -1, 7, -3, 0, -2, 19, 11])
MATRIX = np.random.default_rng(0).standard_normal((8, 4), np.float32)
OUT = np.random.default_rng(1).standard_normal((3, 4), np.float32)


def write(path: Path, config: dict[str, object] | None = None, **tensors: np.ndarray | None) -> Path:
    """A model as a training leaves it, with some of it changed."""
    every = {"in_vectors": MATRIX, "row_keys": KEYS, "out_vectors": OUT, **tensors}
    kept = {name: tensor for name, tensor in every.items() if tensor is not None}
    save_model(path, CONFIG if config is None else config, Vocabulary(WORDS, [3, 2, 1]), kept)
    return path


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_trained_model(dtype: type, tmp_path: Path) -> None:
    matrix = MATRIX.astype(dtype)
    path = write(tmp_path / "m", in_vectors=matrix)
    vectors = Vectors.load(path)
    assert isinstance(vectors, SubwordVectors)
    assert isinstance(vectors.rows.matrix, np.memmap)
    assert vectors.rows.matrix.dtype == dtype
    assert vectors.subwords.seed != 5  # that is the training's
    row = {int(key): i for i, key in enumerate(KEYS)}
    for word in [*WORDS, "whereas"]:
        places = [row[-1 - WORDS.index(word)]] if word in WORDS else []
        places += [row.get(bucket, -1) for bucket in vectors.subwords.ids(word).tolist()]
        expected = np.mean([matrix[i].astype(np.float64) if i >= 0 else np.zeros(4) for i in places], axis=0)
        np.testing.assert_allclose(vectors[word], expected, rtol=1e-5, atol=1e-6)
    table = read_table(path)
    np.testing.assert_array_equal(table.vectors, vectors.vectors)
    np.testing.assert_array_equal(table.counts, [3, 2, 1])
    np.testing.assert_array_equal(read_table(path, limit=2).vectors, vectors.vectors[:2])
    assert Vectors.load(path, limit=2).words == WORDS[:2]
    out = Vectors.load(path, which="out")
    assert type(out) is Vectors
    np.testing.assert_array_equal(out.vectors, OUT)


def test_floret(tmp_path: Path) -> None:
    config = {**CONFIG, "scheme": "floret", "hashes": 2, "hash_seed": 9}
    vectors = Vectors.load(write(tmp_path / "m", config, row_keys=np.arange(8)))
    assert vectors.words == WORDS
    assert (vectors.subwords.hashes, vectors.subwords.seed) == (2, 9)
    assert vectors.vectors.shape == (3, 4)


@pytest.mark.parametrize(
    ("config", "tensors", "told"),
    [
        ({}, {"row_keys": np.array([3, -1, 7, -3, 0, -1, 19, 11])}, "each of 3 words"),
        ({}, {"row_keys": np.array([3, -1, 7, -3, 0, -4, 19, 11])}, "each of 3 words"),
        ({}, {"row_keys": np.array([3, -1, 7, -3, 0, -2, 20, 11])}, "below 20"),
        ({}, {"row_keys": np.array([3, -1, 7, -3, 0, -2, 11, 11])}, "different"),
        ({}, {"row_keys": KEYS.astype(np.int32)}, "int64"),
        ({}, {"row_keys": KEYS[:, None]}, "int64"),
        ({"minn": 5}, {}, "minn=5"),
        ({"buckets": "no such setting"}, {}, "buckets='no such setting'"),
        ({"minn": "3"}, {}, "minn='3'"),
        ({"buckets": None}, {}, "buckets=None"),
        ({"buckets": 10**12}, {}, "buckets=1000000000000"),
        ({"scheme": "x"}, {}, "scheme='x'"),
        ({"hashes": 2}, {}, "hashes=2"),
        ({"skips": 1}, {}, "skips is 1"),
        ({"hash_seed": -1}, {}, "seed=-1"),
        ({}, {"row_keys": None, "in_vectors": OUT}, "'row_keys'"),
        ({}, {"in_vectors": None}, "'in_vectors'"),
    ],
)
def test_what_does_not_fit_is_told(
    config: dict[str, object], tensors: dict[str, np.ndarray | None], told: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "m", {**CONFIG, **config}, **tensors)
    for read in (Vectors.load, read_table):
        with pytest.raises(FormatError, match=told) as error:
            read(path)
        assert str(path) in str(error.value)
        assert "row 0" in str(error.value)


def test_settings_that_are_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "m", {"model": "skipgram", "output": "negative"})
    with pytest.raises(FormatError, match="minn=None"):
        Vectors.load(path)


def test_sizes_are_checked_where_folders_are_written(tmp_path: Path) -> None:
    for tensors in (
        {"row_keys": KEYS[:5]},
        {"in_vectors": MATRIX.astype(np.float64)},
        {"out_vectors": OUT.astype(np.float16)},
    ):
        with pytest.raises(DataError, match="vectors"):
            write(tmp_path / "m", **tensors)
    with pytest.raises(DataError, match="float32 of shape"):  # halves are for n-grams
        write(tmp_path / "m", in_vectors=OUT.astype(np.float16), row_keys=None)


def test_a_million_million_buckets_take_no_memory(tmp_path: Path) -> None:
    vectors = Vectors.load(write(tmp_path / "m", {**CONFIG, "buckets": 2**31 - 1}))
    assert vectors.rows.used_buckets == 5
    assert vectors.rows.bucket_ids is not None


def test_vectors_never_replace_a_trained_model(tmp_path: Path) -> None:
    path = write(tmp_path / "m")
    with pytest.raises(DataError, match="trained model"):
        Vectors.load(path).save(path)
    Vectors.load(path).save(tmp_path / "other")
    assert load_model(tmp_path / "other").config["model"] == "vectors"
    np.testing.assert_array_equal(load_model(tmp_path / "other").tensors["row_keys"], KEYS)
    Vectors.load(path).save(tmp_path / "other")  # but others that are vectors
    Vectors.load(path)[:].save(tmp_path / "other")
    assert type(Vectors.load(tmp_path / "other")) is Vectors


def test_counts_that_are_not_known(tmp_path: Path) -> None:
    path = write(tmp_path / "m")
    words, _, rows = as_rows(path, load_model(path), ALL)
    SubwordVectors(words, None, rows).save(tmp_path / "other")
    assert Vectors.load(tmp_path / "other").counts is None


def test_a_config_that_cannot_be_read(tmp_path: Path) -> None:
    path = write(tmp_path / "m")
    (path / "v1" / "config.json").write_text("{")
    with pytest.raises(FormatError, match="config.json"):
        Vectors.load(path)


def test_output_rows_that_are_no_words(tmp_path: Path) -> None:
    path = write(tmp_path / "m", {**CONFIG, "output": "hierarchical"})
    with pytest.raises(ConfigError, match="which='out'"):
        Vectors.load(path, which="out")
    assert isinstance(read_table(path), Table)


@pytest.mark.parametrize("layer", ["hierarchical", "negative"])
def test_the_config_says_whether_output_rows_are_words(layer: str, tmp_path: Path) -> None:
    path = write(tmp_path / "m", {**CONFIG, "output": layer, "out_rows_are_words": True})
    np.testing.assert_array_equal(Vectors.load(path, which="out").vectors, OUT)
    write(path, {**CONFIG, "output": layer, "out_rows_are_words": False})
    with pytest.raises(ConfigError, match=f"3 output rows of layer '{layer}' are not vectors of its 3 words"):
        Vectors.load(path, which="out")
    write(path, {**CONFIG, "output": layer, "out_rows_are_words": True}, out_vectors=OUT[:2])
    with pytest.raises(ConfigError, match="2 output rows"):
        Vectors.load(path, which="out")


def test_a_classifier_has_buckets_and_labels_but_no_ngrams_of_words(tmp_path: Path) -> None:
    labels = Vocabulary(["good", "bad", "neither"], [2, 1, 1])
    tensors = {"in_vectors": OUT, "out_vectors": MATRIX[:3]}
    config = {"model": "classifier", "buckets": 20, "minn": 0, "maxn": 0}
    save_model(tmp_path / "m", config, Vocabulary(WORDS, [3, 2, 1]), tensors, labels)
    vectors = Vectors.load(tmp_path / "m")
    assert type(vectors) is Vectors
    np.testing.assert_array_equal(vectors.vectors, OUT)
    with pytest.raises(ConfigError, match="are not vectors of its 3 words"):
        Vectors.load(tmp_path / "m", which="out")
    with pytest.raises(DataError, match="trained model"):
        vectors.save(tmp_path / "m")


def test_a_model_without_vectors(tmp_path: Path) -> None:
    tensors = {"pairs": np.array([[0, 1], [1, 2]], np.int32), "discount": np.array([0.5, 0.75])}
    save_model(tmp_path / "m", {"model": "ngram", "order": 2}, Vocabulary(WORDS, [3, 2, 1]), tensors)
    saved = load_model(tmp_path / "m", verify=True)
    assert saved.vocabulary.words == WORDS
    assert {name: tensor.tolist() for name, tensor in saved.tensors.items()} == {
        "counts": [3, 2, 1],
        "discount": [0.5, 0.75],
        "pairs": [[0, 1], [1, 2]],
    }
    for which in ("in", "out"):
        with pytest.raises(
            FormatError, match=f"no vectors of words: the tensor '{which}_vectors' is missing"
        ):
            Vectors.load(tmp_path / "m", which=which)
    with pytest.raises(DataError, match="trained model"):
        Vectors(WORDS, OUT).save(tmp_path / "m")
