"""`unhot fasttext` beside fastText's program: the same arguments, the same output."""

import io
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import unhot
from unhot.claims import CLAIM, claimed
from unhot.cli.main import main
from unhot.compat import fasttext
from unhot.errors import DataError
from unhot.models.fasttext import FastText
from unhot.train.bar import TrainingBar

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = json.loads((GOLDEN / "fasttext_program.json").read_text(encoding="utf-8"))
SKIPGRAM, SUPERVISED = GOLDEN / "fasttext_unsup_skipgram_ns.bin", GOLDEN / "fasttext_sup_softmax.bin"


def run(*arguments, text=b""):
    """Exit code, output and errors of a verb."""
    streams = {
        name: io.TextIOWrapper(io.BytesIO(given))
        for name, given in (("stdin", text), ("stdout", b""), ("stderr", b""))
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, stream in streams.items():
            patch.setattr(sys, name, stream)
        with pytest.raises(SystemExit) as end:
            main(["fasttext", *map(str, arguments)])
        for name in ("stdout", "stderr"):
            streams[name].flush()
    return end.value.code, streams["stdout"].buffer.getvalue(), streams["stderr"].buffer.getvalue().decode()


def assert_printed_alike(ours, theirs):
    """The same characters, but for the last digit of a number."""
    ours, theirs = ours.split(" "), theirs.split(" ")
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if a != b:
            a, b = a.split("\n"), b.split("\n")
            assert a[1:] == b[1:]
            assert float(a[0]) == pytest.approx(float(b[0]), rel=1e-4)


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case["arguments"]).replace("fasttext_", ""))
def test_output_is_fasttexts(case, monkeypatch):
    monkeypatch.chdir(GOLDEN)
    code, out, err = run(*case["arguments"], text=case["stdin"].encode())
    assert err == ""
    assert code == 0
    assert_printed_alike(out.decode(), case["stdout"])


def test_no_number_is_left_as_it_was_in_memory(monkeypatch):
    """New memory may hold anything, such as infinity, which a product would warn about."""
    case = next(case for case in CASES if case["arguments"][:2] == ["test", "fasttext_sup_hs.bin"])
    test_output_is_fasttexts(case, monkeypatch)  # kernels are compiled before numpy is changed
    monkeypatch.setattr(np, "empty_like", lambda array: np.full_like(array, np.inf))
    test_output_is_fasttexts(case, monkeypatch)


def test_alike_means_something():
    assert_printed_alike("cat 0.12345 \n", "cat 0.12346 \n")
    for other in (
        "cat 0.1244 \n",
        "dog 0.12345 \n",
        "cat 0.12345\n",
        "cat 0.12345 0.1 \n",
        "cat 0.12345 \n\n",
    ):
        with pytest.raises((AssertionError, ValueError)):
            assert_printed_alike("cat 0.12345 \n", other)


def test_ngrams_have_the_word_as_their_mean():
    _, out, _ = run("print-ngrams", SKIPGRAM, "caf\u00e9s")
    lines = [line.split(" ") for line in out.decode().splitlines()]
    model = fasttext.load_model(SKIPGRAM)
    assert [line[0] for line in lines] == model.get_subwords("caf\u00e9s")[0]
    np.testing.assert_allclose(
        np.mean([[float(x) for x in line[1:-1]] for line in lines], axis=0), model["caf\u00e9s"], rtol=1e-4
    )


@pytest.mark.parametrize("word", ["-h", "--help", "-habc", "-1", "--"])
def test_ngrams_of_words_that_begin_with_a_dash(word):
    code, out, err = run("print-ngrams", SKIPGRAM, word)
    assert (code, err) == (0, "")
    assert [line.split(" ")[0] for line in out.decode().splitlines()] == fasttext.load_model(
        SKIPGRAM
    ).get_subwords(word)[0]


def test_a_written_line_end_ends_the_line_of_a_classifier():
    """fastText's program gives as many lines for each of the texts, with these contents.

    Spaces behind the last are a line, too.
    """
    for asked in (
        ["predict-prob", SUPERVISED, "-", "2"],
        ["test", SUPERVISED, "-"],
        ["print-sentence-vectors", SUPERVISED],
    ):
        for text, same in (
            (b"the </s> __label__food cat\n", b"the\n__label__food cat\n"),
            (b"the </s>\ncat", b"the\n\ncat"),
            (b"</s></s> x</s> </s> ", b"</s></s> x</s>\n"),
            (b"the </s>  ", b"the\n "),
        ):
            assert run(*asked, text=text) == run(*asked, text=same)
    assert run("print-sentence-vectors", SKIPGRAM, text=b"the </s> cat\n")[1].count(b"\n") == 1


def test_words_that_are_not_utf8_come_out_as_they_came_in():
    code, out, _ = run("print-word-vectors", SKIPGRAM, text=b"caf\xe9\n")
    assert code == 0
    assert out.startswith(b"caf\xe9 ")


def test_a_word_without_a_vector_is_a_note_and_no_answer():
    code, out, err = run("nn", GOLDEN / "fasttext_sup_ns.bin", text=b"qqq the")
    assert code == 0
    assert out.startswith(b"Query word? Query word? ")
    assert err == "qqq: has no vector: it is not in the dictionary, nor are any of its n-grams\n"


def test_a_third_of_a_question_ends_the_analogies():
    code, out, _ = run("analogies", SKIPGRAM, text=b"cat dog")
    assert (code, out.decode().splitlines()[1:]) == (0, ["Query triplet (A - B + C)? "])


def test_test_reads_standard_input():
    text = (GOLDEN / "fasttext_sup_train.txt").read_bytes()
    assert run("test", SUPERVISED, "-", text=text) == run(
        "test", SUPERVISED, GOLDEN / "fasttext_sup_train.txt"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["supervised", "-input", "x", "-output", "y"], "not supported yet"),
        (["quantize", "-h"], "not supported yet"),
        (["nn", SUPERVISED, "0"], "0 is not in the range"),
        (["nn", "nowhere.bin"], "no such file"),
        (["nn", "."], "is a folder"),
        (["nn", GOLDEN / "w2v_binary.bin"], "not a fastText model"),
        (["predict", SKIPGRAM, "-"], "a skipgram model"),
        (["predict", SUPERVISED, "nowhere.txt"], "cannot be read"),
        (["predict", SUPERVISED, "-", "0"], "k=0"),
        (["predict", SUPERVISED, "-", "1", "nan"], "threshold=nan"),
        (["dump", GOLDEN / "fasttext_sup_softmax_pq.ftz", "input"], "quantised"),
        (["dump", GOLDEN / "fasttext_sup_qout.ftz", "output"], "quantised"),
    ],
)
def test_errors_say_what_is_wrong(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*arguments, text=b"a line\n")
    assert code in (1, 2)
    assert out == b""
    assert message in err
    assert len(err.splitlines()) == 1


TRAINING = "-dim 8 -minCount 2 -bucket 2000 -lr 0.1 -lrUpdateRate 100 -t 1e-2 -thread 1 -epoch 1".split()
TEXT = (GOLDEN / "fasttext_unsup_train.txt").read_bytes() * 6


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a text, to work in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_bytes(TEXT)
    return tmp_path


@pytest.mark.parametrize("verb", ["skipgram", "cbow"])
def test_training_writes_a_model_and_its_vectors(verb, place):
    code, out, err = run(verb, "-input", "text.txt", "-output", "model", *TRAINING, "-saveOutput")
    assert (code, out) == (0, b"")
    assert "saved to model.bin, model.vec, model.output" in err
    assert sorted(path.name for path in place.iterdir()) == [
        "model.bin",
        "model.output",
        "model.vec",
        "text.txt",
    ]
    model, vectors = fasttext.load_model("model.bin"), unhot.Vectors.load("model.vec")
    assert model.get_arguments() | {"lrUpdateRate": 100} == {
        "dim": 8, "ws": 5, "epoch": 1, "minCount": 2, "neg": 5, "wordNgrams": 1, "loss": "ns",
        "model": {"skipgram": "sg"}.get(verb, verb), "bucket": 2000, "minn": 3, "maxn": 6,
        "lrUpdateRate": 100, "t": 0.01,
    }  # fmt: skip
    assert vectors.words == model.words
    np.testing.assert_array_equal(vectors["cat"], model["cat"])
    np.testing.assert_array_equal(
        unhot.Vectors.load("model.output", "word2vec-text").vectors, model.get_output_matrix()
    )


def test_options_in_any_order_with_equals_and_from_standard_input(place):
    assert run("skipgram", "-input", "text.txt", "-output", "one", *TRAINING, "-verbose", "0") == (0, b"", "")
    pairs = [f"{name}={value}" for name, value in zip(TRAINING[::2], TRAINING[1::2], strict=True)]
    assert run("skipgram", "-verbose=0", *pairs, "-output=two", "-input=-", text=TEXT) == (0, b"", "")
    assert (place / "one.bin").read_bytes() == (place / "two.bin").read_bytes()


def test_what_has_no_meaning_is_said(place):
    _, _, err = run(
        "skipgram", "-input", "text.txt", "-output", "model", *TRAINING, "-wordNgrams", "2", "-label", "__x__"
    )
    assert [line.split(":")[0] for line in err.splitlines()[:2]] == ["-wordNgrams=2", "-label=__x__"]


def press_ctrl_c(bar, progress):
    """What a bar does in place of drawing."""
    if progress.event == "epoch":
        raise KeyboardInterrupt


@pytest.mark.parametrize("end", ["fails", "interrupted", "fails while it writes"])
def test_old_files_stay_until_new_ones_are_complete(end, place, monkeypatch):
    for name in ("model.bin", "model.vec"):
        (place / name).write_text("old")

    def fit(model, source, **how):
        raise unhot.errors.DataError("no such text")

    def write(*given):
        raise OSError("no space")

    if end == "fails while it writes":
        monkeypatch.setattr(os, "fsync", write)
    elif end == "fails":
        monkeypatch.setattr(FastText, "fit", fit)
    else:
        monkeypatch.setattr(TrainingBar, "__call__", press_ctrl_c)
    code, _, err = run("skipgram", "-input", "text.txt", "-output", "model", *TRAINING, "-epoch", "3")
    assert code == (130 if end == "interrupted" else 1)
    assert {"fails": "no such text", "interrupted": "no file was written"}.get(end, "no space") in err
    assert {(place / name).read_text() for name in ("model.bin", "model.vec")} == {"old"}
    assert sorted(path.name for path in place.iterdir()) == ["model.bin", "model.vec", "text.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-output model", "Missing option '-input'"),
        ("-input text.txt", "Missing option '-output'"),
        ("-input text.txt -output nowhere/model", "no folder nowhere"),
        ("-input text.txt -output folder", "folder.bin: is not a regular file"),
        ("-input text.txt -output .", "give the path of the files without their extensions"),
        ("-input text.txt -output=", "without their extensions"),
        ("-input text.txt -output ..", "without their extensions"),
        ("-input text.txt -output folder.bin/", "without their extensions"),
        ("-input text.vec -output text", "text.vec, which is part of -input"),
        ("-input link -output text", "text.vec, which is part of -input"),
        ("-input *.vec -output text", "text.vec, which is part of -input"),
        ("-input rare.txt -output model", "minCount=5 drops all "),
        ("-input empty.txt -output model", "has no words: give text, words with spaces between them"),
        ("-input nowhere.txt -output model", "nowhere.txt"),
        ("-input text.txt -output model -wordNgram 2", "Did you mean '-wordNgrams'"),
        ("-input text.txt -output model -threads 2", "Did you mean '-thread'"),
        ("-input text.txt -output model -loss nce", "'nce' is not one of"),
        ("-input text.txt -output model -dim ten", "'ten' is not a valid integer"),
        ("-input text.txt -output model -t", "requires an argument. (see unhot fasttext cbow --help)"),
        ("-input text.txt -output model stray", "unexpected extra argument"),
        ("-input text.txt -output model -loss hs -saveOutput", "inner nodes"),
        ("-input text.txt -output model -ws 0", "ws=0"),
        ("-input text.txt -output model -pretrainedVectors nowhere.vec", "nowhere.vec"),
    ],
)
def test_errors_of_training(arguments, message, place):
    (place / "folder.bin").mkdir()
    (place / "rare.txt").write_text("a b")
    (place / "empty.txt").write_text("")
    (place / "text.vec").write_bytes(TEXT)
    (place / "link").symlink_to("text.vec")
    code, out, err = run("cbow", "-dim", "8", *arguments.split())
    assert code in (1, 2)
    assert out == b""
    assert message in err.splitlines()[-1]
    assert not (place / "model.bin").exists()


def test_a_folder_that_cannot_be_written_to_is_an_error_before_training(place, monkeypatch):
    def refuse(*given, **named):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    code, _, err = run("cbow", "-input", "text.txt", "-output", "model", *TRAINING)
    assert code == 1
    assert err == "unhot: -output model: cannot be written (Permission denied); choose another folder\n"


def test_help_is_quick_and_has_examples():
    script = "import sys; from unhot.cli.main import main\n"
    script += "try: main(sys.argv[1:])\nfinally: assert not {'numba', 'numpy'} & {*sys.modules}"
    done = subprocess.run(
        [sys.executable, "-c", script, "fasttext", "skipgram", "-h"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "-lrUpdateRate INTEGER" in done.stdout
    assert "unhot fasttext skipgram -input corpus.txt -output model" in done.stdout


@pytest.fixture
def text(tmp_path):
    """A text of fifty words."""
    lines = [" ".join(f"word{(i * i + j) % 50}" for j in range(10)) for i in range(100)]
    (tmp_path / "text.txt").write_text("\n".join(lines))
    return tmp_path / "text.txt"


def train(text, output):
    return run("skipgram", "-input", text, "-output", output, "-dim", 4, "-bucket", 100, "-epoch", 1)


def test_two_trainings_cannot_write_the_same_files(text, tmp_path):
    with (
        ThreadPoolExecutor(1) as other,
        claimed(tmp_path / f"{CLAIM}-model", tmp_path / "model"),
    ):
        code, _, err = other.submit(train, text, tmp_path / "model").result()
    assert code == 1
    assert f"unhot: {tmp_path}/model: another process is writing here" in err
    assert train(text, tmp_path / "model")[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.bin", "model.vec", "text.txt"]


def test_a_disk_too_small_is_noticed_before_training(text, tmp_path, monkeypatch):
    monkeypatch.setattr("unhot.train.checkpoint.free_space", lambda path: 1000)
    code, _, err = train(text, tmp_path / "model")
    assert code == 1
    assert f"unhot: {tmp_path}/model: the model will need 5 kB there, but 1 kB are free" in err
    assert "epoch 1/1" not in err


def test_files_without_room_are_saved_elsewhere(text, tmp_path, monkeypatch):
    save, aside = FastText.save_fasttext, tmp_path / "aside"
    aside.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(aside))

    def no_room(model, path):
        if path.parent == tmp_path:
            raise DataError(f"{path}: no room")
        save(model, path)

    monkeypatch.setattr(FastText, "save_fasttext", no_room)
    code, _, err = train(text, tmp_path / "model")
    assert code == 1
    (saved,) = aside.glob("unhot-model-*")
    assert f"model.bin: no room; saved it to {saved} instead" in err
    assert fasttext.load_model(str(saved / "model.bin")).get_dimension() == 4
    assert (saved / "model.vec").exists()
