"""The folder of model2vec and sentence-transformers, against model2vec and its tokenizer library."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unhot.errors import DataError, FormatError
from unhot.types import Floats
from unhot.vectors.formats import read_table, write_table
from unhot.vectors.formats.model2vec import read
from unhot.vectors.formats.safetensors import write_safetensors
from unhot.vectors.formats.table import Options, Table

model2vec = pytest.importorskip("model2vec")
tokenizers = pytest.importorskip("tokenizers")

write = partial(write_table, format="model2vec")
WORDS = ["king", "queen", "apple", "\u4e2d", "."]


def random_vectors(rows: int, dim: int) -> Floats:
    return np.random.default_rng(0).standard_normal((rows, dim), np.float32)


def test_model2vec_loads_it(tmp_path: Path) -> None:
    vectors = random_vectors(5, 8)
    write(tmp_path / "m", Table(WORDS, vectors, None))
    loaded = model2vec.StaticModel.from_pretrained(tmp_path / "m")
    assert list(loaded.tokens) == [*WORDS, "[UNK]"]
    np.testing.assert_allclose(loaded.encode("Queen, zzz!"), vectors[1], rtol=1e-6)
    np.testing.assert_allclose(loaded.encode("king zzz apple."), vectors[[0, 2, 4]].mean(0), rtol=1e-5)
    assert not loaded.encode("zzz").any()
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == [
        "config.json",
        "model.safetensors",
        "modules.json",
        "tokenizer.json",
    ]
    modules = json.loads((tmp_path / "m" / "modules.json").read_text())
    assert modules == [
        {"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}
    ]


@pytest.mark.parametrize(
    ("words", "text", "tokens"),
    [
        # some words have capitals: nothing is lower-cased
        (["New", "york"], "New York york", ["New", "york"]),
        # signs inside words: split at white space alone
        (["don't", "c++", "e-mail"], "don't e-mail c++", ["don't", "e-mail", "c++"]),
        (["[UNK]", "a"], "a b", ["a"]),
    ],
)
def test_text_is_split_as_the_words_are(
    words: list[str], text: str, tokens: list[str], tmp_path: Path
) -> None:
    write(tmp_path / "m", Table(words, random_vectors(len(words), 2), None))
    loaded = model2vec.StaticModel.from_pretrained(tmp_path / "m")
    (ids,) = loaded.tokenize([text])
    assert [loaded.tokens[i] for i in ids] == tokens
    assert read(tmp_path / "m").words == words


def saved_by_model2vec(folder: Path, **settings: Any) -> Any:
    vocabulary = {word: row for row, word in enumerate(["[UNK]", *WORDS])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    model = model2vec.StaticModel(random_vectors(settings.pop("rows", 6), 4), tokenizer, **settings)
    model.save_pretrained(folder)
    return model


def test_what_model2vec_saves(tmp_path: Path) -> None:
    model = saved_by_model2vec(tmp_path / "m")
    table = read_table(tmp_path / "m")
    assert table.words == ["[UNK]", *WORDS]
    np.testing.assert_array_equal(table.vectors, model.embedding)


def test_mapping_and_weights(tmp_path: Path) -> None:
    mapping, weights = np.array([0, 1, 1, 2, 0, 2]), np.linspace(0.5, 2, 6)
    model = saved_by_model2vec(tmp_path / "m", rows=3, token_mapping=mapping, weights=weights)
    table = read(tmp_path / "m")
    assert table.words == ["[UNK]", *WORDS]
    for word, vector in list(zip(table.words, table.vectors, strict=True))[1:]:
        np.testing.assert_allclose(vector, model.encode(word), rtol=1e-5)
    assert read(tmp_path / "m", Options(limit=2)).vectors.shape == (2, 4)


def test_sentence_transformers_layouts_and_other_tokenizers(tmp_path: Path) -> None:
    for number, (model, inside) in enumerate(
        [
            ({"type": "Unigram", "vocab": [["a", -1.0], ["b", -2.0]], "unk_id": 0}, "."),
            ({"type": "BPE", "vocab": {"b": 1, "a": 0}, "merges": []}, "0_StaticEmbedding"),
        ]
    ):
        folder = tmp_path / str(number)
        (folder / inside).mkdir(parents=True)
        (folder / "modules.json").write_text("[]")
        tokenizer = {"model": model, "added_tokens": [{"id": 2, "content": "<s>"}, {"id": 0, "content": "a"}]}
        (folder / inside / "tokenizer.json").write_text(json.dumps(tokenizer))
        with (folder / inside / "model.safetensors").open("wb") as file:
            write_safetensors(file, {"embedding.weight": random_vectors(3, 2)})
        table = read_table(folder)
        assert table.words == ["a", "b", "<s>"]
        np.testing.assert_array_equal(table.vectors, random_vectors(3, 2))


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        ("{", "1: is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ('"\udcff"', "is not UTF-8"),
        ("[]", "no vocabulary"),
        ('{"model": {"vocab": 3}}', "no vocabulary"),
        ('{"model": {"vocab": {"a": 0, "b": 0}}}', "ids must be 0, 1, 2"),
        ('{"model": {"vocab": {"a": 0, "b": 7}}}', "token 'b' has the id 7"),
        ('{"model": {"vocab": {"a": 0, "b": true}}}', "ids must be"),
        ('{"model": {"vocab": [["a", 0], 3]}}', "ids must be"),
        ('{"model": {"vocab": {"a": 0}}}', "2 rows for 1 tokens"),
    ],
)
def test_damaged_tokenizers(tokenizer: str, message: str, tmp_path: Path) -> None:
    write(tmp_path / "m", Table(["a"], random_vectors(1, 2), None))
    (tmp_path / "m" / "tokenizer.json").write_bytes(tokenizer.encode("utf-8", "surrogateescape"))
    with pytest.raises(FormatError, match=f"byte .*{message}"):
        read(tmp_path / "m")


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"mapping": np.array([0, 9])}, "sends token 1 to row 9, but there are 2 rows"),
        ({"mapping": np.array([0, -1])}, "sends token 1 to row -1"),
        ({"mapping": np.array([0.0, 1.0])}, "mapping is F64"),
        ({"weights": np.ones(3)}, r"weights is F64 \[3\]"),
    ],
)
def test_damaged_tensors(tensors: dict[str, np.ndarray], message: str, tmp_path: Path) -> None:
    write(tmp_path / "m", Table(["a"], random_vectors(1, 2), None))
    with (tmp_path / "m" / "model.safetensors").open("wb") as file:
        write_safetensors(file, {"embeddings": random_vectors(2, 2), **tensors})
    with pytest.raises(FormatError, match=f"byte .*{message}"):
        read(tmp_path / "m")


def test_a_few_bytes_do_not_become_a_huge_table(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(2_000)]
    write(tmp_path / "m", Table(words, np.zeros((2_000, 1), np.float32), None))
    with (tmp_path / "m" / "model.safetensors").open("wb") as file:
        write_safetensors(
            file, {"embeddings": np.ones((1, 5_000), np.float32), "mapping": np.zeros(2_001, np.int64)}
        )
    with pytest.raises(FormatError, match="would take 40000000 bytes.*limit="):
        read(tmp_path / "m")
    assert read(tmp_path / "m", Options(limit=10)).vectors.shape == (10, 5_000)


def test_a_folder_is_replaced_whole_and_nothing_else_is(tmp_path: Path) -> None:
    write(tmp_path / "m", Table(["a"], random_vectors(1, 2), None))
    write(tmp_path / "m", Table(["b", "c"], random_vectors(2, 2), None))
    assert read(tmp_path / "m").words == ["b", "c"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(DataError, match="was not written by unhot"):
        write_table(tmp_path / "mine", Table(["a"], random_vectors(1, 2), None), "model2vec")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "mine"]


def test_a_folder_of_others_is_never_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "bert"
    table = Table(["a"], np.ones((1, 2), np.float32), None)
    write_table(folder, table, "model2vec")
    write_table(folder, table, "model2vec")  # our own is
    (folder / "pytorch_model.bin").write_bytes(b"precious")
    with pytest.raises(DataError, match="was not written by unhot; choose another name"):
        write_table(folder, table, "model2vec")
    (folder / "pytorch_model.bin").unlink()
    (folder / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(DataError, match="was not written by unhot; choose another name"):
        write_table(folder, table, "model2vec")
