"""fastText's own files against fastText: goldens, bytes, and the package itself where it is installed."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError, DataError, FormatError
from unhot.types import Floats
from unhot.vectors.formats import FORMATS, Table, existing_format, read_table, write_table
from unhot.vectors.formats.fasttext import (
    Dictionary,
    FastTextFile,
    Header,
    Pruned,
    QuantizedMatrix,
    RowBlocks,
    new_file,
    read_fasttext,
    write_fasttext,
)
from unhot.vectors.formats.fasttext.model_file import matrix_rows
from unhot.vocab.subwords import Subwords

GOLDEN = Path(__file__).parents[2] / "golden"
EXPECTED = json.loads((GOLDEN / "fasttext_models_expected.json").read_text(encoding="utf-8"))
MODELS: dict[str, Any] = EXPECTED["unsupervised"] | EXPECTED["supervised"]
FILES = [*MODELS, "fasttext_sup_qout.ftz"]
WORDS = ["the", "York", "caf\u00e9", "\u65e5\u672c\u8a9e", "\udcff", "</s>"]
CUT = Subwords(minn=2, maxn=4, buckets=50)


def random_rows(rows: int, dim: int = 5, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal((rows, dim), np.float32)


def small(**fields: Any) -> FastTextFile:
    return new_file(WORDS, np.arange(6, 0, -1), CUT, random_rows(56), random_rows(6, seed=1), **fields)


@pytest.mark.parametrize("name", FILES)
def test_what_is_read_is_written_as_the_same_bytes(name: str, tmp_path: Path) -> None:
    write_fasttext(tmp_path / "x", read_fasttext(GOLDEN / name))
    assert (tmp_path / "x").read_bytes() == (GOLDEN / name).read_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_settings_words_and_counts(name: str) -> None:
    file, expected = read_fasttext(GOLDEN / name), MODELS[name]
    assert file.quantized == expected["is_quantized"] == isinstance(file.input_matrix, QuantizedMatrix)
    assert file.dictionary.words == expected["words"]
    assert file.dictionary.labels == expected.get("labels", [])
    assert file.dictionary.label_counts.tolist() == expected.get("label_counts", [])
    if "counts" in expected:
        assert file.dictionary.word_counts.tolist() == expected["counts"]
        assert file.input_matrix.shape[0] == expected["input_rows"]
        first = expected["input_matrix_first_rows"]
        np.testing.assert_array_equal(
            matrix_rows(file.input_matrix, np.arange(len(first))), np.array(first, np.float32)
        )
        first = expected["output_matrix_first_rows"]
        np.testing.assert_array_equal(
            matrix_rows(file.output_matrix, np.arange(len(first))), np.array(first, np.float32)
        )


@pytest.mark.parametrize("name", MODELS)
def test_vectors_are_those_of_fasttext(name: str) -> None:
    file, expected = read_fasttext(GOLDEN / name), MODELS[name]["word_vectors"]
    rows, ids = file.rows(), {word: id for id, word in enumerate(file.dictionary.words)}
    for word, vector in expected.items():
        np.testing.assert_allclose(rows.vector(word, ids.get(word)), vector, rtol=1e-6, atol=1e-7)
    table = read_table(GOLDEN / name)
    for word in set(expected) & set(ids):
        np.testing.assert_allclose(table.vectors[ids[word]], expected[word], rtol=1e-6, atol=1e-7)
    assert (table.words, table.vectors.shape) == (file.dictionary.words, (len(ids), file.header.dim))
    assert table.counts is not None
    assert table.counts.sum() <= file.dictionary.tokens


def test_quantised_output_and_pruned_ngrams() -> None:
    expected = json.loads((GOLDEN / "fasttext_sup_qout_expected.json").read_text(encoding="utf-8"))
    file = read_fasttext(GOLDEN / "fasttext_sup_qout.ftz")
    assert file.quantized_output
    assert isinstance(file.output_matrix, QuantizedMatrix)
    assert file.output_matrix.quantizer.last == 1  # of rows of 3 numbers in pieces of 2
    assert file.dictionary.pruned is not None
    assert (len(file.dictionary.words), len(file.dictionary.labels)) == (
        expected["words"],
        expected["number_of_labels"],
    )
    rows, ids = file.rows(), {word: id for id, word in enumerate(file.dictionary.words)}
    for word, vector in expected["word_vectors"].items():
        np.testing.assert_allclose(rows.vector(word, ids.get(word)), vector, rtol=1e-6, atol=1e-7)
    scores = matrix_rows(file.output_matrix, np.arange(file.output_matrix.shape[0])) @ np.array(
        expected["sentence_vector"], np.float32
    )
    probabilities = np.exp(scores) / np.exp(scores).sum() + 1e-5  # fastText adds it
    best = np.argsort(-probabilities)[: len(expected["labels"])]
    assert [file.dictionary.labels[id] for id in best] == expected["labels"]
    np.testing.assert_allclose(probabilities[best], expected["probabilities"], rtol=1e-5)


def test_all_ngrams_may_be_pruned(tmp_path: Path) -> None:
    file = read_fasttext(GOLDEN / "fasttext_sup_qout.ftz")
    matrix, words = file.input_matrix, len(file.dictionary.words)
    none = np.empty(0, np.int32)
    assert isinstance(matrix, QuantizedMatrix)
    assert matrix.length_codes is not None
    own = matrix._replace(
        shape=(words, 3), codes=matrix.codes[:words], length_codes=matrix.length_codes[:words]
    )
    write_fasttext(
        tmp_path / "x.ftz",
        file._replace(input_matrix=own, dictionary=file.dictionary._replace(pruned=Pruned(none, none))),
    )
    found = read_fasttext(tmp_path / "x.ftz")
    np.testing.assert_array_equal(read_table(tmp_path / "x.ftz").vectors, matrix.rows(np.arange(words)))
    assert not found.rows().vector("unseen").any()


def test_version_11_knows_no_character_ngrams_in_supervised_models() -> None:
    header = Header(dim=2, model="sup", minn=2, maxn=4, bucket=10, version=11)
    assert header.subwords.maxn == 0
    assert dataclasses.replace(header, model="sg").subwords.maxn == 4
    assert dataclasses.replace(header, version=12).subwords.maxn == 4


@pytest.mark.parametrize(
    ("minn", "maxn", "cut"), [(0, 3, (1, 3)), (4, 3, None), (3, 0, None), (2, 2, (2, 2))]
)
def test_odd_lengths_mean_what_they_mean_to_fasttext(
    minn: int, maxn: int, cut: tuple[int, int] | None
) -> None:
    subwords = Header(dim=1, minn=minn, maxn=maxn, bucket=7).subwords
    assert ((subwords.minn, subwords.maxn) if subwords.maxn else None) == cut


@pytest.mark.parametrize("loss", ["hs", "ns", "softmax", "ova"])
@pytest.mark.parametrize("model", ["cbow", "sg"])
def test_a_model_from_its_pieces(loss: str, model: str, tmp_path: Path) -> None:
    given = small(loss=loss, model=model, tokens=1000, ws=3, t=0.5)
    rows, outs = given.input_matrix, given.output_matrix
    assert isinstance(rows, np.ndarray)
    write_fasttext(tmp_path / "x.bin", given)
    blocks = RowBlocks((56, 5), iter([rows[:10], rows[10:11], rows[11:]]))
    write_fasttext(tmp_path / "y.bin", given._replace(input_matrix=blocks))
    assert (tmp_path / "x.bin").read_bytes() == (tmp_path / "y.bin").read_bytes()
    found = read_fasttext(tmp_path / "x.bin")
    assert found.header == given.header
    assert (found.dictionary.words, found.dictionary.tokens) == (WORDS, 1000)
    np.testing.assert_array_equal(found.input_matrix, rows)
    np.testing.assert_array_equal(found.output_matrix, outs)
    table = read_table(tmp_path / "x.bin")
    for id, word in enumerate(WORDS):
        ids = [] if word == "</s>" else CUT.ids(word).tolist()
        np.testing.assert_allclose(
            table.vectors[id], rows[[id, *(6 + bucket for bucket in ids)]].mean(axis=0), rtol=1e-5, atol=1e-6
        )
    np.testing.assert_array_equal(read_table(tmp_path / "x.bin", limit=2).vectors, table.vectors[:2])


@pytest.mark.parametrize("loss", ["hs", "ns", "softmax", "ova"])
def test_the_package_loads_what_we_write(loss: str, tmp_path: Path) -> None:
    fasttext = pytest.importorskip("fasttext.FastText", exc_type=ImportError)
    fasttext.eprint = lambda *_: None  # its advertisement
    write_fasttext(tmp_path / "x.bin", small(loss=loss))
    table, model = read_table(tmp_path / "x.bin"), fasttext.load_model(str(tmp_path / "x.bin"))
    assert model.get_words(on_unicode_error="replace")[:4] == WORDS[:4]
    rows = read_fasttext(tmp_path / "x.bin").rows()
    for id, word in enumerate(WORDS):
        if word != "\udcff":
            np.testing.assert_array_equal(model.get_word_vector(word), table.vectors[id])
    np.testing.assert_array_equal(model.get_word_vector("unseen"), rows.vector("unseen"))
    write_table(tmp_path / "plain.bin", Table(["a b", "c"], random_rows(2), None), "fasttext")
    plain = fasttext.load_model(str(tmp_path / "plain.bin"))
    np.testing.assert_array_equal(plain.get_word_vector("a b"), random_rows(2)[0])
    assert plain.get_words() == ["a b", "c"]


@pytest.mark.parametrize("loss", ["hs", "ns"])
def test_gensim_loads_what_we_write(loss: str, tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models.fasttext")
    words = WORDS[:4]
    write_fasttext(
        tmp_path / "x.bin", new_file(words, [4, 3, 2, 1], CUT, random_rows(54), random_rows(4), loss=loss)
    )
    table, vectors = read_table(tmp_path / "x.bin"), gensim.load_facebook_vectors(str(tmp_path / "x.bin"))
    assert vectors.index_to_key == words
    np.testing.assert_allclose(vectors.vectors, table.vectors, rtol=1e-5, atol=1e-6)
    write_table(tmp_path / "plain.bin", Table(words, random_rows(4), None), "fasttext")
    np.testing.assert_array_equal(
        gensim.load_facebook_vectors(str(tmp_path / "plain.bin")).vectors, random_rows(4)
    )


def test_files_of_gensim_are_read(tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models.fasttext")
    model = gensim.FastText(
        [WORDS[:4]] * 9, vector_size=3, min_count=1, bucket=30, min_n=2, max_n=3, workers=1, epochs=1
    )
    gensim.save_facebook_model(model, str(tmp_path / "x.bin"))
    table = read_table(tmp_path / "x.bin")
    assert table.words == model.wv.index_to_key
    np.testing.assert_allclose(table.vectors, model.wv.vectors, rtol=1e-5, atol=1e-6)


def test_output_vectors(tmp_path: Path) -> None:
    write_fasttext(tmp_path / "x.bin", small(loss="ns"))
    np.testing.assert_array_equal(read_table(tmp_path / "x.bin", which="out").vectors, random_rows(6, seed=1))
    np.testing.assert_array_equal(
        read_table(tmp_path / "x.bin", which="out", limit=2).vectors, random_rows(6, seed=1)[:2]
    )
    write_fasttext(tmp_path / "x.bin", small(loss="hs"))
    with pytest.raises(
        ConfigError,
        match="with loss 'hs' are not vectors of words; read this model with which='in'",
    ):
        read_table(tmp_path / "x.bin", which="out")
    with pytest.raises(ConfigError, match="the 4 output rows of a model 'sup'"):
        read_table(GOLDEN / "fasttext_sup_softmax.bin", which="out")
    write_table(tmp_path / "y.bin", Table(["a"], random_rows(1), None), "fasttext")
    with pytest.raises(ConfigError, match="the 0 output rows"):
        read_table(tmp_path / "y.bin", which="out")


def test_which_format_a_bin_is_of(tmp_path: Path) -> None:
    table = Table(["a", "b"], random_rows(2), np.array([2, 1]))
    path = tmp_path / "x.bin"
    write_table(path, table)
    assert existing_format(path) == "word2vec-binary"
    write_table(path, table, "fasttext")
    assert existing_format(path) == "fasttext"
    found = read_table(path)
    assert found.counts is not None
    assert found.counts.tolist() == [2, 1]
    with pytest.raises(FormatError, match="byte 0: not a word2vec file"):
        read_table(path, "word2vec-binary")
    path = path.rename(tmp_path / "x.txt")
    with pytest.raises(FormatError, match="it looks like fasttext: give that as its format"):
        read_table(path)
    np.testing.assert_array_equal(read_table(path, "fasttext").vectors, table.vectors)
    assert FORMATS["fasttext"].endings == (".ftz",)


def test_text_of_fasttext_has_a_space_at_the_end_of_its_lines(tmp_path: Path) -> None:
    table = read_table(GOLDEN / "fasttext_unsup_skipgram_ns.bin")
    lines = [
        word + " " + "".join(f"{number:.5g} " for number in row)
        for word, row in zip(table.words, table.vectors, strict=True)
    ]
    (tmp_path / "x.vec").write_text(f"{len(lines)} 8\n" + "\n".join(lines) + "\n", encoding="utf-8")
    found = read_table(tmp_path / "x.vec")
    assert found.words == table.words
    np.testing.assert_allclose(found.vectors, table.vectors, rtol=1e-4, atol=1e-9)


def test_what_cannot_be_written(tmp_path: Path) -> None:
    for words, match in ((["a\0b"], "contains a NUL"), (["a", "a"], "1 words occur more than once")):
        with pytest.raises(DataError, match=match):
            write_fasttext(
                tmp_path / "x", new_file(words, [1] * len(words), CUT, random_rows(len(words) + 50))
            )
    with pytest.raises(DataError, match=r"input matrix has shape \(7, 5\): it must be \(52, 5\)"):
        new_file(["a", "b"], [1, 1], CUT, random_rows(7))
    with pytest.raises(DataError, match=r"output matrix has shape \(1, 5\): it must be \(2, 5\)"):
        new_file(["a", "b"], [1, 1], CUT, random_rows(52), random_rows(1))
    with pytest.raises(ConfigError, match="scheme=floret: fastText's files hold only scheme=fasttext"):
        new_file(["a"], [1], Subwords(scheme="floret", buckets=3), random_rows(3))
    for blocks, match in (
        ([random_rows(5)], "the blocks have 5 rows together, but the matrix has 56"),
        ([random_rows(56, 4)], "rows of 5 float32"),
    ):
        with pytest.raises(DataError, match=match):
            write_fasttext(tmp_path / "x", small()._replace(input_matrix=RowBlocks((56, 5), blocks)))
    with pytest.raises(ConfigError, match="quantized_output=True"):
        write_fasttext(
            tmp_path / "x", small()._replace(quantized_output=True, output_matrix=read_quantised())
        )
    pruned = Dictionary(
        WORDS, np.ones(6, np.int64), [], np.empty(0, np.int64), 6, Pruned(*np.zeros((2, 50), np.int32))
    )
    with pytest.raises(ConfigError, match="a prune index"):
        write_fasttext(tmp_path / "x", small()._replace(dictionary=pruned))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConfigError, match="come in blocks and can only be written"):
        small()._replace(input_matrix=RowBlocks((56, 5), [])).rows()
    with pytest.raises(ConfigError, match="come in blocks and can only be written"):
        matrix_rows(RowBlocks((6, 5), []), np.arange(2))


def read_quantised() -> QuantizedMatrix:
    matrix = read_fasttext(GOLDEN / "fasttext_sup_softmax_pq.ftz").input_matrix
    assert isinstance(matrix, QuantizedMatrix)
    return matrix._replace(shape=(6, 5))


@pytest.mark.parametrize(
    ("field", "value", "match"),
    [
        ("dim", 0, "dim=0"),
        ("loss", "nce", "loss='nce'"),
        ("model", "x", "model='x'"),
        ("version", 13, "version=13"),
        ("t", -1, "t=-1"),
    ]
    + [
        ("bucket", 0, "bucket=0: n-grams of 3 to 6"),
        ("maxn", 2**30, "maxn=1073741824: must be <="),
        ("ws", 1.5, "ws=1.5"),
    ],
)
def test_bad_settings(field: str, value: Any, match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        Header(**({"dim": 2} | {field: value}))


def test_writing_over_the_file_that_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    write_fasttext(path, small())
    before, file = path.read_bytes(), read_fasttext(path)
    write_fasttext(path, file)
    assert path.read_bytes() == before


@examples(30)
@given(data=st.data())
def test_any_model_survives(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    raws = st.binary(max_size=6).map(lambda raw: raw.replace(b"\0", b"").decode("utf-8", "surrogateescape"))
    words = data.draw(st.lists(raws, unique=True, max_size=8))
    labels = data.draw(st.lists(raws, max_size=3))
    counts = np.array(
        data.draw(st.lists(st.integers(0, 2**63 - 1), min_size=len(words), max_size=len(words))), np.int64
    )
    header = Header(
        dim=data.draw(st.integers(1, 3)),
        bucket=data.draw(st.integers(1, 9)),
        minn=data.draw(st.integers(0, 3)),
        maxn=data.draw(st.integers(0, 4)),
        t=data.draw(st.floats(1e-9, 1e9)),
        model=data.draw(st.sampled_from(["sg", "cbow", "sup"])),
    )
    given = FastTextFile(
        header,
        Dictionary(words, counts, labels, np.arange(len(labels)), 7),
        random_rows(len(words) + header.bucket, header.dim),
        random_rows(len(labels) if header.supervised else len(words), header.dim, 1),
    )
    path = tmp_path_factory.getbasetemp() / "any-fasttext.bin"
    write_fasttext(path, given)
    found = read_fasttext(path)
    assert found.header == header
    assert found.dictionary.words == words
    assert found.dictionary.labels == labels
    np.testing.assert_array_equal(found.dictionary.word_counts, counts)
    np.testing.assert_array_equal(found.input_matrix, given.input_matrix)
    np.testing.assert_array_equal(found.output_matrix, given.output_matrix)
