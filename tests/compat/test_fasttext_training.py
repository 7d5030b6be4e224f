"""`train_unsupervised`: fastText's parameters, and a model that answers like its own file."""

import inspect
import io
import logging
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import unhot
from unhot.cli.main import main
from unhot.compat import fasttext
from unhot.compat.fasttext.settings import Unsupervised
from unhot.errors import ConfigError, DataError
from unhot.models.fasttext import FastText
from unhot.train import memory_plan as memory

PAGE = (Path(__file__).parents[2] / "docs" / "moving-from-fasttext.md").read_text(encoding="utf-8")
GOLDEN = Path(__file__).parents[1] / "golden"
SETTINGS = {"dim": 8, "minCount": 2, "bucket": 2000, "epoch": 2, "t": 1e-2, "thread": 1}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    path.write_bytes((GOLDEN / "fasttext_unsup_train.txt").read_bytes() * 6)
    return path


@pytest.fixture(scope="module")
def model(text):
    return fasttext.train_unsupervised(text, **SETTINGS)


def test_a_trained_model_answers_like_its_file(model, tmp_path):
    model.save_model(tmp_path / "model.bin")
    file = fasttext.load_model(tmp_path / "model.bin")
    assert model.words == file.words == model.labels
    assert model.get_words(include_freq=True)[1].tolist() == file.get_words(include_freq=True)[1].tolist()
    assert model.get_arguments() == file.get_arguments()
    assert not model.is_quantized()
    for word in ("the", "cat", "caf\u00e9s", "unseen", "</s>"):
        np.testing.assert_array_equal(model[word], file[word])
        assert model.get_subwords(word)[0] == file.get_subwords(word)[0]
        assert model.get_subwords(word)[1].tolist() == file.get_subwords(word)[1].tolist()
        assert model.get_nearest_neighbors(word) == file.get_nearest_neighbors(word)
        assert model.get_word_id(word) == file.get_word_id(word)
        for (ngram, ours), (name, theirs) in zip(
            model.get_ngram_vectors(word), file.get_ngram_vectors(word), strict=True
        ):
            assert ngram == name
            np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(model.get_input_matrix(), file.get_input_matrix())
    np.testing.assert_array_equal(model.get_output_matrix(), file.get_output_matrix())
    rows = model.get_input_matrix().shape[0]
    assert rows == len(model.words) + 2000
    for row in (0, len(model.words) - 1, len(model.words), rows - 1):
        np.testing.assert_array_equal(model.get_input_vector(row), file.get_input_vector(row))
    with pytest.raises(ConfigError, match=f"rows of the input matrix are 0 to {rows - 1}"):
        model.get_input_vector(rows)


@pytest.mark.parametrize(
    "given",
    [{"loss": "ns", "neg": 3}, {"loss": "hs"}, {"loss": "softmax"}, {"loss": "ova"}, {"model": "cbow"}],
)
def test_a_trained_model_says_of_itself_what_its_file_says(given, text, tmp_path):
    trained = fasttext.train_unsupervised(
        text, **SETTINGS, **given, lrUpdateRate=7, wordNgrams=2, ws=3, minn=0
    )
    trained.save_model(tmp_path / "model.bin")
    assert trained.get_arguments() == fasttext.load_model(tmp_path / "model.bin").get_arguments()
    assert (trained.lrUpdateRate, trained.wordNgrams) == (7, 2)


def test_output_rows_of_a_tree_are_those_of_the_file(text, tmp_path):
    trained = fasttext.train_unsupervised(text, **SETTINGS, loss="hs")
    trained.save_model(tmp_path / "tree.bin")
    rows = fasttext.load_model(tmp_path / "tree.bin").get_output_matrix()
    np.testing.assert_array_equal(trained.get_output_matrix(), rows)
    assert rows[:-1].any(axis=1).all()
    assert not rows[-1].any()


def test_fasttext_reads_it(model, tmp_path):
    theirs = pytest.importorskip("fasttext", reason="fasttext is an oracle here")
    model.save_model(tmp_path / "model.bin")
    opened = theirs.load_model(str(tmp_path / "model.bin"))
    assert opened.words == model.words
    for word in ("the", "unseen"):
        np.testing.assert_array_equal(opened[word], model[word])
        np.testing.assert_allclose(
            opened.get_sentence_vector(f"{word} cat"), model.get_sentence_vector(f"{word} cat"), atol=1e-6
        )
    found = opened.get_nearest_neighbors("cat", k=5)
    assert [word for _, word in found] == [word for _, word in model.get_nearest_neighbors("cat", k=5)]


def test_the_same_seed_gives_the_same_vectors(text, model):
    again = fasttext.train_unsupervised(str(text), **SETTINGS)
    np.testing.assert_array_equal(again.get_input_matrix(), model.get_input_matrix())
    other = fasttext.train_unsupervised(str(text), **SETTINGS, seed=1)
    assert np.abs(other.get_input_matrix() - model.get_input_matrix()).max() > 0.01


def test_what_it_was_trained_with_are_attributes(model):
    assert (model.dim, model.ws, model.minCount, model.bucket, model.loss, model.lr) == (
        8,
        5,
        2,
        2000,
        "ns",
        0.05,
    )


def test_pretrained_vectors_are_where_it_begins(text, tmp_path):
    rows = np.full((1, 8), 3.0, np.float32)
    unhot.Vectors(["cat"], rows).save(tmp_path / "start.vec")
    begun = fasttext.train_unsupervised(
        text, **SETTINGS, maxn=0, pretrainedVectors=str(tmp_path / "start.vec")
    )
    np.testing.assert_allclose(begun["cat"], rows[0], atol=1.0)
    assert np.abs(begun["dog"]).max() < 1.0
    with pytest.raises(ConfigError, match="dim=7"):
        fasttext.train_unsupervised(text, **{**SETTINGS, "dim": 7}, pretrainedVectors=tmp_path / "start.vec")


@pytest.mark.parametrize("architecture", ["skipgram", "cbow"])
@pytest.mark.parametrize(
    ("loss", "output"),
    [
        ("ns", "negative:k=7,power=0.5"),
        ("hs", "hierarchical:tree=word2vec"),
        ("softmax", "softmax"),
        ("ova", "one_vs_all"),
        ("one-vs-all", "one_vs_all"),
    ],
)
def test_parameters_become_settings(architecture, loss, output):
    given = Unsupervised(architecture, 0.1, 30, 4, 3, 2, 0, 2, 5, 7, 1, loss, 1000, 6, t=1e-3, seed=9)
    model = FastText(**given.settings())
    assert model.layer == FastText(output=output).layer
    assert (model.architecture, model.lr, model.dim, model.window, model.epochs) == (
        architecture,
        0.1,
        30,
        4,
        3,
    )
    assert (model.min_count, model.minn, model.maxn, model.buckets, model.threads) == (2, 2, 5, 1000, 6)
    assert (model.sample, model.seed) == (1e-3, 9)
    assert FastText(**given._replace(minn=0).settings()).minn == 1
    assert given.notes() == []


@pytest.mark.parametrize(
    "given", [{"maxn": 0}, {"minn": 7}, {"minn": 0, "maxn": 0}, {"minn": 7, "bucket": 0}]
)
def test_without_ngrams_there_are_no_buckets(given):
    model = FastText(**Unsupervised(**given).settings())
    assert (model.minn, model.maxn, model.buckets) == (0, 0, 0)


def test_no_least_count_means_all_words():
    assert FastText(**Unsupervised(minCount=0).settings()).min_count == 1


def test_defaults_are_fasttexts():
    theirs = pytest.importorskip(
        "fasttext.FastText", reason="fasttext is an oracle here"
    ).unsupervised_default
    ours = inspect.signature(fasttext.train_unsupervised).parameters
    assert {name: ours[name].default for name in theirs if name != "thread"} == {
        k: v for k, v in theirs.items() if k != "thread"
    }
    assert {
        name: value for name, value in Unsupervised()._asdict().items() if name != "thread"
    }.items() <= theirs.items()


def test_old_names_and_unknown_ones(text):
    with pytest.raises(ConfigError, match="minCount=-1"):
        fasttext.train_unsupervised(text, min_count=-1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'minCounts'"):
        fasttext.train_unsupervised(text, minCounts=1)
    # 5 is what it is without being given
    for twice in ({"minCount": 1, "min_count": 1}, {"minCount": 5, "min_count": 1}):
        with pytest.raises(TypeError, match="multiple values for argument 'minCount'"):
            fasttext.train_unsupervised(text, **twice)
    with pytest.raises(TypeError, match="multiple values for argument 'minCount'"):
        fasttext.train_unsupervised(text, "skipgram", 0.05, 100, 5, 5, 5, min_count=1)


def test_what_is_not_used_is_said(caplog):
    with caplog.at_level(logging.WARNING, "unhot"), pytest.raises(ConfigError, match="dim=0"):
        fasttext.train_unsupervised("nowhere.txt", dim=0, wordNgrams=2, lrUpdateRate=10, label="__x__")
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "wordNgrams=2",
        "lrUpdateRate=10",
        "label=__x__",
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "supervised"}, "model='supervised'"),
        ({"loss": "nce"}, "loss='nce'"),
        ({"ws": 0}, "ws=0"),
        ({"ws": 10_001}, "ws=10001"),
        ({"epoch": 2**31}, "epoch=2147483648"),
        ({"seed": -1}, "seed=-1"),
        ({"neg": 0}, "neg=0"),
        ({"thread": 0}, "thread=0"),
        ({"bucket": -1}, "bucket=-1"),
        ({"bucket": 0}, "bucket=0"),
        ({"lr": 0}, "lr=0"),
        ({"t": -1}, "t=-1"),
        ({"minn": -1}, "minn=-1"),
        ({"maxn": 2.5}, "maxn=2.5"),
        ({"autotuneValidationFile": "x"}, "autotune"),
    ],
)
def test_wrong_parameters(given, message, text):
    with pytest.raises(ConfigError, match=message):
        fasttext.train_unsupervised(text, **given)


def test_messages_have_fasttexts_names(tmp_path, monkeypatch):
    (tmp_path / "rare.txt").write_text("a b", encoding="utf-8")
    with pytest.raises(DataError, match="minCount=5 drops all .*; lower minCount"):
        fasttext.train_unsupervised(tmp_path / "rare.txt")
    with monkeypatch.context() as patch:
        patch.setattr(memory, "available_memory", lambda: 1000)
        with pytest.raises(DataError, match=r"raise minCount \(about \d+ words fit\), or use a smaller dim"):
            fasttext.train_unsupervised(tmp_path / "rare.txt", minCount=1, bucket=1000, thread=1)


def test_what_cannot_be_trained():
    with pytest.raises(ConfigError, match="does not train classifiers yet"):
        fasttext.train_supervised(input="x", lr=1.0)
    with pytest.raises(ConfigError, match="input has type list"):
        fasttext.train_unsupervised([["a", "b"]])


def test_the_page_runs(tmp_path, monkeypatch, capsysbinary):
    """Its first blocks, on a text that has their words; then what it says of classifiers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_text(
        "king queen berlin germany paris france of the\n" * 20, encoding="utf-8"
    )
    (tmp_path / "lid.176.ftz").write_bytes((GOLDEN / "fasttext_sup_ova_pq_norm.ftz").read_bytes())
    (tmp_path / "classifier.bin").write_bytes((GOLDEN / "fasttext_sup_hs.bin").read_bytes())
    for name in ("text.txt", "test.txt"):
        (tmp_path / name).write_bytes((GOLDEN / "fasttext_sup_train.txt").read_bytes())
    names: dict[str, object] = {}
    for code in re.findall(r"```python slow\n(.*?)```", PAGE, re.DOTALL):
        exec(code.replace("dim=100", "dim=8, bucket=2000, t=1"), names)
    assert len(names["labels"]) == len(names["probabilities"]) == 3
    verbs = 0
    for line in "".join(re.findall(r"```sh(?: slow)?\n(.*?)```", PAGE, re.DOTALL)).splitlines():
        typed, _, command = line.rpartition("| ")
        arguments = command.replace("-dim 100", "-dim 8 -bucket 2000 -t 1").split()
        assert arguments.pop(0) == "unhot"
        monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.removeprefix("echo ").strip(' "').encode()))
        )
        with pytest.raises(SystemExit) as end:
            main(arguments)
        out, err = capsysbinary.readouterr()
        assert end.value.code == 0, err
        assert out or arguments[1] == "skipgram"
        verbs += 1
    assert verbs == 8
