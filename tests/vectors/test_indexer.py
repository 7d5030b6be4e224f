"""The cached index: used if it is that of the vectors, byte for byte; otherwise built again."""

import json

import numpy as np
import pytest

pytest.importorskip("usearch")

from unhot.errors import ConfigError
from unhot.index.hnsw import Hnsw
from unhot.vectors import Vectors


@pytest.fixture
def store():
    vectors = np.random.default_rng(0).standard_normal((300, 8), np.float32)
    return Vectors([f"w{i}" for i in range(300)], vectors)


@pytest.fixture
def builds(monkeypatch):
    """How many graphs were built."""
    counted = []
    build = Hnsw.build.__func__

    def counting(cls, *arguments, **named):
        counted.append(1)
        return build(cls, *arguments, **named)

    monkeypatch.setattr(Hnsw, "build", classmethod(counting))
    return counted


def test_most_similar_with_an_indexer(store):
    index = store.build_index()
    expected = store.most_similar(["w1", "w2"], "w3", topn=5)
    found = store.most_similar(["w1", "w2"], "w3", topn=5, indexer=index)
    assert len(set(found) & set(expected)) >= 4  # a graph may miss one: threads build it in any order
    assert index.most_similar(store["w7"], 1)[0][0] == "w7"
    with pytest.raises(ConfigError, match="an indexer searches all words"):
        store.most_similar("w1", restrict_vocab=10, indexer=index)


def test_an_indexer_of_others(store):
    class Fixed:
        def most_similar(self, vector, num_neighbors):
            return [(f"w{i}", 0.5) for i in range(num_neighbors)]

    assert store.most_similar(["w0", "w1"], topn=2, indexer=Fixed()) == [("w2", 0.5), ("w3", 0.5)]


def test_the_file_is_found_again(store, builds, tmp_path):
    found = [store.build_index(tmp_path / "index").most_similar(store["w5"], 4) for _ in range(3)]
    assert len(builds) == 1
    assert found[0] == found[1] == found[2]
    store.build_index(tmp_path / "index", expansion_search=64)  # the same graph
    assert len(builds) == 1
    store.build_index(tmp_path / "index", connectivity=8)  # another one
    assert len(builds) == 2


def missing(path, beside):
    path.unlink()


def cut(path, beside):
    path.write_bytes(path.read_bytes()[:-1])


def flip(path, beside):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def empty(path, beside):
    path.write_bytes(b"")


def no_json(path, beside):
    beside.unlink()


def bad_json(path, beside):
    beside.write_text("[" * 100_000)


def json_of_another_kind(path, beside):
    beside.write_text("[1]")


def another_version(path, beside):
    beside.write_text(json.dumps({**json.loads(beside.read_text()), "usearch": "0"}))


def crafted(path, beside):
    path.write_bytes(b"usearch" + bytes(1000))  # without the right checksum it is never handed over


DAMAGES = [missing, cut, flip, empty, no_json, bad_json, json_of_another_kind, another_version, crafted]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_built_again(damage, store, builds, tmp_path):
    path = tmp_path / "index"
    expected = store.build_index(path).most_similar(store["w5"], 4)
    damage(path, tmp_path / "index.json")
    assert store.build_index(path).most_similar(store["w5"], 4) == expected
    assert len(builds) == 2
    store.build_index(path)
    assert len(builds) == 2  # and is good again


def test_other_vectors_are_another_index(store, builds, tmp_path):
    store.build_index(tmp_path / "index")
    vectors = store.vectors.copy()
    vectors[17, 3] += 1e-6
    Vectors(store.words, vectors).build_index(tmp_path / "index")
    Vectors(store.words[:299], vectors[:299]).build_index(tmp_path / "index")
    assert len(builds) == 3


def test_a_place_that_cannot_be_written_is_done_without(store, builds, tmp_path, caplog):
    (tmp_path / "file").write_text("no folder")
    for _ in range(2):
        assert store.build_index(tmp_path / "file" / "index").most_similar(store["w5"], 1)[0][0] == "w5"
    assert len(builds) == 2
    assert "cannot be saved" in caplog.text
