"""Models that fastText trained, read and asked by its own names: the answers are its own."""

import inspect
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.compat import fasttext
from unhot.errors import ConfigError, DataError, FormatError
from unhot.lines.line_rows import LineRows, tokenize
from unhot.lines.run_hashes import LONGEST_KEPT, remembered, run_hashes, word_hash

GOLDEN = Path(__file__).parents[1] / "golden"
PAGE = (Path(__file__).parents[2] / "docs" / "moving-from-fasttext.md").read_text(encoding="utf-8")
EXPECTED = json.loads((GOLDEN / "fasttext_models_expected.json").read_text(encoding="utf-8"))
TRAIN = GOLDEN / "fasttext_sup_train.txt"
SKIPGRAM, SOFTMAX, PRUNED = (
    GOLDEN / f"fasttext_{name}"
    for name in ("unsup_skipgram_ns.bin", "sup_softmax.bin", "sup_softmax_pq_norm_cutoff.ftz")
)
SUPERVISED, UNSUPERVISED = EXPECTED["supervised"].items(), EXPECTED["unsupervised"].items()


@pytest.mark.parametrize(("name", "expected"), [*SUPERVISED, *UNSUPERVISED])
def test_vectors(name, expected):
    model = fasttext.load_model(GOLDEN / name)
    assert model.is_quantized() == expected["is_quantized"] == name.endswith(".ftz")
    assert model.get_dimension() == 8
    assert model.words == model.get_words() == expected["words"]
    for word, vector in expected["word_vectors"].items():
        np.testing.assert_array_equal(model[word], np.array(vector, np.float32))
    for line, vector in expected["sentence_vectors"].items():
        np.testing.assert_allclose(model.get_sentence_vector(line), vector, atol=1e-6)


@pytest.mark.parametrize(("name", "expected"), UNSUPERVISED)
def test_dictionary_rows_and_neighbours(name, expected):
    model = fasttext.load_model(GOLDEN / name)
    words, counts = model.get_words(include_freq=True)
    assert (words, counts.tolist()) == (expected["words"], expected["counts"])
    assert model.labels == words
    for word, (names, rows) in expected["subwords"].items():
        ours = model.get_subwords(word)
        assert (ours[0], ours[1].tolist()) == (names, rows)
        ngrams = list(zip(names, rows, strict=True))[1 if word in model else 0 :]
        assert [model.get_subword_id(ngram) for ngram, _ in ngrams] == [row for _, row in ngrams]
        np.testing.assert_allclose(
            np.mean([row for _, row in model.get_ngram_vectors(word)], axis=0), model[word], atol=1e-6
        )
    matrix = model.get_input_matrix()
    assert matrix.shape == (expected["input_rows"], 8)
    np.testing.assert_array_equal(
        matrix[: len(expected["input_matrix_first_rows"])], np.float32(expected["input_matrix_first_rows"])
    )
    np.testing.assert_array_equal(model.get_input_vector(99), matrix[99])
    rows = np.float32(expected["output_matrix_first_rows"])
    np.testing.assert_array_equal(model.get_output_matrix()[: len(rows)], rows)
    for word, found in expected["nearest_neighbors"].items():
        ours = model.get_nearest_neighbors(word, k=len(found))
        assert [other for _, other in ours] == [other for other, _ in found]
        np.testing.assert_allclose([cosine for cosine, _ in ours], [cosine for _, cosine in found], atol=1e-5)


def assert_predicted(ours, labels, probabilities):
    """The same labels with the same probabilities; of equal ones in any order."""
    np.testing.assert_allclose(ours[1], probabilities, atol=1e-5)
    theirs = dict(zip(labels, probabilities, strict=True))
    for label, probability in zip(*ours, strict=True):
        assert theirs.pop(label) == pytest.approx(probability, abs=1e-5)


@pytest.mark.parametrize(("name", "expected"), SUPERVISED)
def test_predictions(name, expected):
    model = fasttext.load_model(GOLDEN / name)
    assert model.labels == expected["labels"]
    assert model.get_labels(include_freq=True)[1].tolist() == expected["label_counts"]
    lines = list(expected["predictions"])
    for line in lines:
        wanted = expected["predictions"][line]
        labels, probabilities = model.predict(line, k=-1)
        assert isinstance(labels, tuple)
        assert probabilities.dtype == np.float64
        assert_predicted((labels, probabilities), wanted["labels"], wanted["probabilities"])
        assert_predicted(model.predict(line, 2, 0.2), *wanted["k2_threshold_0_2"])
    together = model.predict(lines, k=2)
    assert [len(part) for part in together] == [len(lines)] * 2
    assert [labels for labels in together[0]] == [list(model.predict(line, k=2)[0]) for line in lines]
    assert {probabilities.dtype for probabilities in together[1]} == {np.dtype(np.float32)}
    measured = expected["test_on_training_text"]
    assert model.test(TRAIN) == pytest.approx(tuple(measured.values()))


def test_predictions_of_quantised_output_rows():
    expected = json.loads((GOLDEN / "fasttext_sup_qout_expected.json").read_text(encoding="utf-8"))
    model = fasttext.load_model(GOLDEN / "fasttext_sup_qout.ftz")
    with pytest.raises(ConfigError, match="quantised"):
        model.get_output_matrix()
    assert_predicted(
        model.predict(expected["line"], k=len(expected["labels"])),
        expected["labels"],
        expected["probabilities"],
    )


@pytest.mark.parametrize(("name", "expected"), SUPERVISED)
def test_runs_of_words_have_fasttexts_buckets(name, expected):
    model, longest = fasttext.load_model(GOLDEN / name), expected["args"]["wordNgrams"]
    for line, buckets in expected["word_ngram_bucket_ids_recomputed"].items():
        words = model.get_line(line)[0]
        assert [state % 1000 for state in run_hashes(words, longest)] == buckets


def test_hashes_of_words():
    golden = json.loads((GOLDEN / "fasttext_hashes.json").read_text(encoding="utf-8"))
    for case in golden["cases"]:
        assert word_hash(bytes.fromhex(case["utf8_hex"]).decode()) == case["word_hash_uint32_recomputed"]


def test_a_line_is_words_and_known_labels():
    model = fasttext.load_model(SOFTMAX)
    assert model.get_line("the __label__food cat\t__label__x") == (["the", "cat", "</s>"], ["__label__food"])
    assert model.get_line(["a b", ""]) == ([["a", "b", "</s>"], ["</s>"]], [[], []])
    assert model.get_line("the </s> cat") == (["the", "</s>"], [])
    for asked in (model.get_line, model.predict, model.get_sentence_vector):
        with pytest.raises(ValueError, match="line feed"):
            asked("two\nlines")


def test_numbers_of_words_and_labels():
    model = fasttext.load_model(SOFTMAX)
    assert [model.get_word_id(word) for word in ("</s>", "__label__weather", "nothing")] == [
        0,
        len(model.words),
        -1,
    ]
    assert [model.get_label_id(label) for label in ("__label__animal", "the", "nothing")] == [1, -1, -1]
    assert "cat" in model
    assert "__label__animal" not in model
    assert "nothing" not in model
    with pytest.raises(DataError, match="no buckets"):
        fasttext.load_model(GOLDEN / "fasttext_sup_ns.bin").get_subword_id("<th")


def test_analogies():
    model = fasttext.load_model(SKIPGRAM)
    ours = model.get_analogies("cat", "dog", "xyzzy", k=5)
    theirs = model.vectors.most_similar(positive=["cat", "xyzzy"], negative=["dog"], topn=5)
    assert [word for _, word in ours] == [word for word, _ in theirs]
    np.testing.assert_allclose([cosine for cosine, _ in ours], [cosine for _, cosine in theirs], atol=1e-6)
    assert not {"cat", "dog", "xyzzy"} & {
        word for _, word in model.get_analogies("cat", "dog", "xyzzy", k=100)
    }


def test_what_has_no_vector_has_no_neighbours():
    model = fasttext.load_model(GOLDEN / "fasttext_sup_ns.bin")
    assert not model["nothing"].any()
    assert model.get_nearest_neighbors("nothing") == []
    assert model.get_sentence_vector("").shape == (8,)


def test_a_vector_that_is_not_finite_has_no_neighbours(tmp_path):
    raw, row = (
        SKIPGRAM.read_bytes(),
        np.float32(EXPECTED["unsupervised"][SKIPGRAM.name]["input_matrix_first_rows"][0]).tobytes(),
    )
    assert raw.count(row) == 1
    (tmp_path / "nan.bin").write_bytes(raw.replace(row, np.full(8, np.nan, "<f4").tobytes()))
    model = fasttext.load_model(tmp_path / "nan.bin")
    with pytest.raises(DataError, match="its vector is not finite"):
        model.get_nearest_neighbors(model.words[0])
    with pytest.raises(DataError, match="its vector is not finite"):
        model.get_analogies("dog", model.words[0], "cat")


def test_nul_is_a_byte_of_a_word_and_ends_one_of_a_classifier():
    model = fasttext.load_model(SKIPGRAM)
    np.testing.assert_array_equal(
        model.get_sentence_vector("the\0cat"), model["the\0cat"] / np.linalg.norm(model["the\0cat"])
    )
    classifier = fasttext.load_model(SOFTMAX)
    np.testing.assert_array_equal(
        classifier.get_sentence_vector("the\0cat"), classifier.get_sentence_vector("the cat")
    )


def test_long_words_are_not_remembered():
    seen = []
    length = remembered(lambda word: seen.append(word) or len(word))
    short, long = "x" * LONGEST_KEPT, "x" * (LONGEST_KEPT + 1)
    assert [length(word) for word in (short, long, short, long)] == [64, 65, 64, 65]
    assert seen == [short, long, long]
    vectors = fasttext.load_model(SKIPGRAM).vectors
    lines = LineRows(vectors.key_to_index, vectors.rows, 1, {})
    assert lines.word_rows(short) is lines.word_rows(short)
    assert lines.word_rows(long) is not lines.word_rows(long)


def test_a_model_opens_without_the_compiler_or_training_code():
    script = """
import sys
from unhot.compat import fasttext
for path in sys.argv[1:]:
    model = fasttext.load_model(path)
    assert model.get_words() and model.get_labels() and model.get_line("a line") and "cat" in model
heavy = ("numba", "unhot.kernels", "unhot.models", "unhot.train")
print(*sorted(name for name in sys.modules if name.startswith(heavy)))
"""
    paths = (SKIPGRAM, PRUNED, GOLDEN / "fasttext_sup_hs.bin")
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, paths)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "\n"


def test_measures_of_labels():
    figures = fasttext.load_model(SOFTMAX).test_label(TRAIN)
    assert figures["__label__weather"] == pytest.approx(
        {"precision": 1.0, "recall": 5 / 6, "f1score": 10 / 11}
    )
    nothing = fasttext.load_model(SOFTMAX).test_label(TRAIN, threshold=2.0)["__label__weather"]
    assert np.isnan(nothing["precision"])
    assert (nothing["recall"], nothing["f1score"]) == (0, 0)


@pytest.mark.parametrize(
    "name", ["fasttext_sup_ova.bin", "fasttext_unsup_cbow_hs.bin", "fasttext_sup_softmax_pq_norm_cutoff.ftz"]
)
def test_a_saved_file_has_the_same_bytes(name, tmp_path):
    fasttext.load_model(GOLDEN / name).save_model(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == (GOLDEN / name).read_bytes()


def test_words_that_are_not_utf8(tmp_path):
    raw = SKIPGRAM.read_bytes().replace("café".encode(), b"caf\xe9s", 1)
    (tmp_path / "odd.bin").write_bytes(raw)
    model = fasttext.load_model(tmp_path / "odd.bin")
    with pytest.raises(UnicodeDecodeError):
        model.get_words()
    assert "caf\ufffds" in model.get_words(on_unicode_error="replace")
    assert "cafs" in model.get_words(on_unicode_error="ignore")
    assert model.get_word_id("caf\udce9s") == EXPECTED["unsupervised"][SKIPGRAM.name]["words"].index("café")


def test_pruned_ngrams_are_left_out(tmp_path):
    raw = bytearray(PRUNED.read_bytes())
    # minn, maxn: this model has word n-grams only
    raw[8 + 4 * 9 : 8 + 4 * 11] = np.array([2, 3], "<i4").tobytes()
    (tmp_path / "ngrams.ftz").write_bytes(raw)
    model = fasttext.load_model(tmp_path / "ngrams.ftz")
    names, rows = model.get_subwords("the")
    assert names[0] == "the"
    assert 1 < len(rows) == len(names) < 1 + len(model.vectors.subwords.ngrams("the"))
    assert rows.max() < model.vectors.rows.matrix.shape[0]
    vectors = [model.get_input_vector(int(row)) for row in rows]
    np.testing.assert_allclose(np.mean(vectors, axis=0), model["the"], atol=1e-6)


def test_errors_say_what_is_wrong(tmp_path):
    shutil.copy(GOLDEN / "w2v_binary.bin", tmp_path / "plain.bin")
    with pytest.raises(FormatError, match="byte 0: this is not a fastText model"):
        fasttext.load_model(tmp_path / "plain.bin")
    with pytest.raises(DataError, match="no such file"):
        fasttext.load_model(tmp_path / "nowhere.bin")
    with pytest.raises(DataError, match="a folder"):
        fasttext.load_model(tmp_path)
    model = fasttext.load_model(SKIPGRAM)
    with pytest.raises(ValueError, match="a skipgram model; only supervised models predict labels"):
        model.predict("a line")
    with pytest.raises(ValueError, match="k=0"):
        model.get_nearest_neighbors("cat", 0)
    with pytest.raises(ValueError, match="are 0 to 1059"):
        model.get_input_vector(1060)
    with pytest.raises(ValueError, match="not make them yet"):
        model.quantize()
    with pytest.raises(ValueError, match="quantised"):
        fasttext.load_model(PRUNED).get_input_matrix()
    with pytest.raises(ValueError, match="k=-2"):
        fasttext.load_model(SOFTMAX).predict("a line", k=-2)
    for asked, message in (
        ({"k": 2.5}, "k=2.5"),
        ({"k": "2"}, "k='2'"),
        ({"threshold": None}, "threshold=None"),
        ({"threshold": np.nan}, "threshold=nan"),
    ):
        with pytest.raises(ConfigError, match=message):
            fasttext.load_model(SOFTMAX).predict("a line", **asked)
    with pytest.raises(ConfigError, match="k=2.5"):
        model.get_nearest_neighbors("cat", 2.5)
    with pytest.raises(ConfigError, match="ind=2.5"):
        model.get_input_vector(2.5)
    with pytest.raises(DataError, match="cannot be read"):
        fasttext.load_model(SOFTMAX).test(tmp_path / "nowhere.txt")
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        fasttext.nonsense  # noqa: B018
    assert {"EOS", "load_model", "train_unsupervised"} <= set(dir(fasttext))


@given(st.text(alphabet="ab é\t\n\v\f\r\0\x1c\u2028", max_size=12))
def test_words_of_a_text_are_fasttexts(text):
    theirs = pytest.importorskip("fasttext", reason="fasttext is an oracle here")
    assert tokenize(text) == theirs.tokenize(text)


def test_names_and_parameters_are_fasttexts():
    theirs = pytest.importorskip("fasttext", reason="fasttext is an oracle here")
    for name in (
        "load_model",
        "tokenize",
        "train_unsupervised",
        "train_supervised",
        "EOS",
        "BOW",
        "EOW",
        "FastText",
    ):
        assert hasattr(theirs, name)
        assert hasattr(fasttext, name)
    kind = theirs.FastText._FastText
    missing = [
        name for name in dir(kind) if not name.startswith("_") and not hasattr(fasttext.FastText, name)
    ]
    assert not [name for name in missing if f"`{name}`" not in PAGE]
    for name in set(dir(kind)) - {*missing, *dir(object), "__init__", "quantize"}:
        if callable(getattr(kind, name)):
            ours = inspect.signature(getattr(fasttext.FastText, name)).parameters
            asked = inspect.signature(getattr(kind, name)).parameters
            assert [(each.name, each.default) for each in ours.values()] == [
                (each.name, each.default) for each in asked.values()
            ], name


def test_every_public_name_can_be_imported():
    for name in fasttext.__all__:
        assert getattr(fasttext, name) is not None
    assert fasttext.tokenize("a b\nc") == ["a", "b", "</s>", "c"]
