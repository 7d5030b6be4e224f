"""`unhot.load` opens anything that unhot or a peer wrote."""

import gzip

import numpy as np
import pytest

import unhot
from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import encode
from unhot.errors import ConfigError, DataError, UnhotError
from unhot.lm.language_model import LanguageModel

TEXT = [["a", "b", "a", "c"], ["b", "c", "d"]] * 10


@pytest.fixture(scope="module")
def vectors():
    return unhot.SkipGram(dim=4, min_count=1, epochs=1, sample=0, threads=1).fit(TEXT).vectors


def test_models_and_vectors(vectors, tmp_path):
    for name in ("v.txt", "v.npy", "folder", "v.bin"):
        vectors.save(tmp_path / name)
        found = unhot.load(tmp_path / name)
        assert isinstance(found, unhot.Vectors)
        assert found.words == vectors.words


def test_language_models(tmp_path):
    model = unhot.NGramModel(order=2, smoothing="witten_bell").fit(TEXT)
    model.save_arpa(tmp_path / "lm.arpa")
    with gzip.open(tmp_path / "lm.gz", "wb") as file:
        file.write((tmp_path / "lm.arpa").read_bytes())
    model.save(tmp_path / "lm")
    for name in ("lm.arpa", "lm.gz", "lm"):
        found = unhot.load(tmp_path / name)
        assert isinstance(found, LanguageModel)
        assert found.score("a b") == pytest.approx(model.score("a b"), abs=1e-5)


def test_encoded_text_and_cells(tmp_path):
    with encode(TEXT, min_count=1, directory=tmp_path / "text") as corpus:
        cooccurrences(corpus, window=2, directory=tmp_path / "cells").close()
    assert isinstance(unhot.load(tmp_path / "text"), Corpus)
    assert isinstance(unhot.load(tmp_path / "cells"), Cells)


def test_nonsense_is_one_error(tmp_path):
    (tmp_path / "words.txt").write_text("no vectors here\n")
    (tmp_path / "empty").mkdir()
    for name in ("words.txt", "empty"):
        with pytest.raises(UnhotError):
            unhot.load(tmp_path / name)
    with pytest.raises(DataError):
        unhot.load(tmp_path / "missing")


def test_folders_of_vectors_of_others(tmp_path):
    (tmp_path / "tsv").mkdir()
    for format, name in (("model2vec", "m2v"), ("projector", "tsv")):
        unhot.Vectors(["a", "b", "c"], np.eye(3, dtype=np.float32)).save(tmp_path / name, format=format)
        assert sorted(unhot.load(tmp_path / name).words)[-3:] == ["a", "b", "c"]


def test_nothing_is_written_under_a_name_that_promises_compression(tmp_path):
    with pytest.raises(ConfigError, match="not written compressed"):
        unhot.Vectors(["a"], np.ones((1, 2), np.float32)).save(tmp_path / "v.txt.gz", format="word2vec-text")
    assert not list(tmp_path.iterdir())
