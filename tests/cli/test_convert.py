"""`unhot convert` as a shell meets it."""

import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from terminals import on_terminal

import unhot
from unhot.cli import main
from unhot.cli.convert import convert
from unhot.vectors.formats import FORMATS, Table, read_table, write_table

WORDS = ["the", "a b", "caf\u00e9", "\udcff"]
VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3) / 7
COUNTS = np.array([9, 5, 2, 1])


@pytest.fixture
def run(capsys):
    """Run the command in this process: exit code, output, errors."""

    def call(*arguments):
        code = main._run(["convert", *map(str, arguments)], False)
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return call


@pytest.fixture
def model(tmp_path):
    write_table(tmp_path / "model", Table(WORDS, VECTORS, COUNTS))
    return tmp_path / "model"


def test_there_and_back(run, model, tmp_path):
    result = run(model, tmp_path / "v.bin", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == {
        "out": str(tmp_path / "v.bin"),
        "format": "word2vec-binary",
        "words": 4,
        "dim": 3,
        "renamed": {"a b": "a_b"},
    }
    result = run(tmp_path / "v.bin", tmp_path / "x.data", "--to", "safetensors", "--limit", 2)
    assert result.returncode == 0, result.stderr
    assert "2 words, dim 3, safetensors" in result.stderr
    table = read_table(tmp_path / "x.data", "safetensors")
    assert table.words == ["the", "a_b"]
    np.testing.assert_array_equal(table.vectors, VECTORS[:2])


def test_notes_and_options(run, model, tmp_path):
    result = run(model, tmp_path / "m2v", "--to", "model2vec")
    assert result.returncode == 0
    assert "cannot hold the word '\\\\xff': wrote '\ufffd'" in result.stderr
    assert "not UTF-8" in run(model, tmp_path / "v.txt", "--bad-utf8", "error").stderr
    assert run(model, tmp_path / "v.txt", "--bad-utf8", "ignore").returncode == 0
    assert read_table(tmp_path / "v.txt").words == ["the", "a_b", "caf\u00e9", "_"]
    result = run(model, tmp_path / "o.txt", "--which", "out")
    assert (result.returncode, "the tensor 'out_vectors' is missing" in result.stderr) == (1, True)
    result = run(model, tmp_path / "o.nothing")
    assert (result.returncode, "does not stand for a format" in result.stderr) == (2, True)
    result = run(model, tmp_path / "o", "--from", "npy7")
    assert (result.returncode, "must be one of unhot" in result.stderr) == (2, True)


def test_help_lists_every_format():
    text = convert.epilog or ""
    for name, form in FORMATS.items():
        line = next(line for line in text.splitlines() if line.split()[:1] == [name])
        assert " ".join(form.endings).strip() in line
    code = "import sys; from unhot.cli.main import _run; _run(['convert', '--help'], False); "
    code += "assert 'numba' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_a_trained_model_goes_to_fasttexts_file_with_its_output(run, tmp_path):
    model = unhot.FastText(
        dim=4, window=3, min_count=1, epochs=2, buckets=50, output="negative:k=5,power=0.5"
    )
    model.fit([["cat", "cats", "dog"]] * 20).save(tmp_path / "m")
    assert run(tmp_path / "m", tmp_path / "x.bin", "--to", "fasttext").returncode == 0
    again = unhot.load(tmp_path / "x.bin")
    assert (again.window, again.epochs, again.layer) == (3, 2, model.layer)
    np.testing.assert_array_equal(again.out_vectors.vectors, model.out_vectors.vectors)


def expected(model, folder, name):
    """The bytes of a file in a format."""
    unhot.Vectors.load(model).save(folder / "expected", name)
    return (folder / "expected").read_bytes()


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs /dev/fd")  # noqa: PTH110
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["-"], "word2vec-text"),
        (["-", "--to", "glove"], "glove"),
        (["/dev/stdout", "--to", "word2vec-binary"], "word2vec-binary"),
        (["/dev/fd/1"], "word2vec-text"),
    ],
)
def test_standard_output(model, arguments, name, tmp_path):
    """It is written on, not replaced; notes go to standard error."""
    (tmp_path / "kept").write_bytes(b"before\n")
    with (tmp_path / "kept").open("ab") as file:
        command = [sys.executable, "-m", "unhot", "convert", str(model), *arguments]
        ended = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, timeout=60)
    assert ended.returncode == 0
    assert ended.stderr.decode().splitlines()[-1].endswith(f": 4 words, dim 3, {name}")
    assert (tmp_path / "kept").read_bytes() == b"before\n" + expected(model, tmp_path, name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_named_pipes(run, model, tmp_path):
    os.mkfifo(tmp_path / "pipe.glove")
    got = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe.glove").read_bytes()))
    reader.start()
    assert run(model, tmp_path / "pipe.glove").returncode == 0
    reader.join(60)
    assert got == [expected(model, tmp_path, "glove")]
    assert "is a pipe or a device" in run(tmp_path / "pipe.glove", tmp_path / "x.txt").stderr
    assert "is a pipe or a device" in run(tmp_path / "pipe.glove", "x.txt", "--from", "glove").stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-", "--to", "npy"], "-: takes word2vec-text, word2vec-binary, glove, but not npy"),
        (["-", "--json"], "--json: would be mixed with the vectors"),
        (["/dev/stdout", "--json"], "--json: would be mixed with the vectors"),
    ],
)
def test_what_standard_output_cannot_take(run, model, arguments, told):
    result = run(model, *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert told in result.stderr


def test_standard_input_is_refused(run):
    result = run("-", "x.txt")
    assert (result.returncode, "SOURCE is -" in result.stderr) == (2, True)


def test_a_terminal_takes_no_binary_format(model):
    code, shown = on_terminal("convert", model, "-", "--to", "word2vec-binary")
    assert code == 2
    assert shown.startswith(b"unhot: -: is a terminal, which cannot show word2vec-binary")
    code, shown = on_terminal("convert", model, "-", "--to", "glove")
    assert code == 0
    assert shown.startswith(b"the 0 0.1428")


def test_devices(run, model):
    pytest.importorskip("fcntl")
    assert run(model, os.devnull, "--to", "glove").returncode == 0
    if os.path.exists("/dev/full"):  # noqa: PTH110
        full = run(model, "/dev/full")
        assert (full.returncode, "/dev/full: cannot be written (No space left" in full.stderr) == (1, True)
    closed = run(model, "/dev/fd/987")
    assert (closed.returncode, "/dev/fd/987: cannot be written (Bad file" in closed.stderr) == (1, True)
