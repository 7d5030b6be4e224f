"""`neighbors`, `analogy`, `info` and `verify` as a shell meets them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import run

import unhot

WORDS = ["king", "queen", "man", "woman", "caf\udce9", "new york", "a\tb", "-"]
RNG = np.random.default_rng(4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with out vectors, and files of the same vectors."""
    folder = tmp_path_factory.mktemp("queries")
    royal, female = RNG.normal(size=(2, 6))
    rows = [royal, royal + female, RNG.normal(size=6) * 0.01, female, *RNG.normal(size=(4, 6))]
    vectors = unhot.Vectors(WORDS, np.array(rows, dtype=np.float32), np.arange(8, 0, -1))
    vectors.save(folder / "vectors.safetensors")
    vectors.save(folder / "vectors.bin")
    lines = [" ".join(f"w{i}" for i in RNG.integers(0, 20, 30)) for _ in range(50)]
    unhot.SkipGram(dim=6, min_count=1, epochs=1).fit(lines).save(folder / "model")
    return folder


def test_one_word_is_a_plain_table(folder):
    code, out, err = run("neighbors", folder / "vectors.bin", "king", "-n", 2)
    assert (code, err) == (0, "")
    expected = unhot.Vectors.load(folder / "vectors.bin").most_similar("king", topn=2)
    assert out.splitlines() == [f"{cosine:7.4f}  {word}" for word, cosine in expected]


def test_several_words_have_headings(folder):
    _, out, _ = run("neighbors", folder / "vectors.safetensors", "king", "new york", "-n", 2)
    parts = out.split("\n\n")
    assert [part.splitlines()[0] for part in parts] == ["king", "new york"]
    assert all(len(part.splitlines()) == 3 for part in parts)


def test_words_that_a_terminal_cannot_show(folder):
    _, out, _ = run("neighbors", folder / "vectors.safetensors", "king", "-n", 7)
    assert r"caf\xe9" in out
    assert r"a\tb" in out
    _, out, _ = run("neighbors", folder / "vectors.safetensors", "king", "-n", 7, "--json")
    assert {entry["word"] for entry in json.loads(out)["neighbors"]} == set(WORDS) - {"king"}


@pytest.mark.parametrize(
    "words", [["king", "-", "man", "+", "woman"], ["king - man + woman"], ["woman king - man"]]
)
def test_words_can_be_added_and_subtracted(folder, words):
    code, out, _ = run("neighbors", folder / "vectors.safetensors", *words, "--json")
    vectors = unhot.Vectors.load(folder / "vectors.safetensors")
    assert code == 0
    assert json.loads(out)["word"] == " ".join(words)
    expected = vectors.most_similar(positive=["king", "woman"], negative=["man"])
    assert [entry["word"] for entry in json.loads(out)["neighbors"]] == [word for word, _ in expected]


def test_a_query_that_is_a_word_is_that_word(folder):
    for word in ("new york", "-"):
        _, out, _ = run("neighbors", folder / "vectors.safetensors", word, "--json")
        assert word not in [entry["word"] for entry in json.loads(out)["neighbors"]]


def test_restricted_and_out_vectors(folder):
    _, out, _ = run("neighbors", folder / "vectors.safetensors", "king", "--restrict-vocab", 3, "--json")
    assert {entry["word"] for entry in json.loads(out)["neighbors"]} == {"queen", "man"}
    _, out, _ = run("neighbors", folder / "model", "w1", "--which", "out", "--json")
    expected = unhot.load(folder / "model").out_vectors.most_similar("w1")
    assert [entry["word"] for entry in json.loads(out)["neighbors"]] == [word for word, _ in expected]
    code, _, err = run("neighbors", folder / "vectors.bin", "king", "--which", "out")
    assert code == 2
    assert "which='out'" in err


def test_lines_of_standard_input(folder):
    text = "king\n\nkingg\n  king - man + woman \ncaf\udce9\n".encode("utf-8", "surrogateescape")
    code, out, err = run("neighbors", folder / "vectors.safetensors", "-n", 1, "--json", text=text)
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (1, "")
    assert [line["word"] for line in lines] == ["king", "kingg", "king - man + woman", "caf\udce9"]
    assert "did you mean 'king'" in lines[1]["error"]
    assert [len(line.get("neighbors", [])) for line in lines] == [1, 0, 1, 1]
    code, out, err = run("neighbors", folder / "vectors.safetensors", "-n", 1, text=b"king\n")
    assert (code, len(out.splitlines()), err) == (0, 2, "")


def test_the_prompt(folder):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "unhot", "neighbors", str(folder / "vectors.safetensors"), "-n", "1"]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        os.close(theirs)
        os.write(ours, b"king\nkingg\nking - man + woman\n\n")
        out, err = process.communicate(timeout=120)
        os.close(ours)
    assert process.returncode == 0
    assert b"8 words. Type a word" in err
    assert b"did you mean 'king'" in err
    assert out.count(b"> ") == 4
    assert b"king - man + woman\n" in out


def test_an_unknown_word_shows_nothing_else(folder):
    code, out, err = run("neighbors", folder / "vectors.bin", "king", "kingg")
    assert (code, out) == (1, "")
    assert "did you mean 'king'" in err


def test_analogy(folder):
    code, out, err = run("analogy", folder / "vectors.safetensors", "king", "man", "woman", "-n", 2)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("king is to man as ? is to woman:")
    assert lines[1].endswith("queen")
    assert len(lines) == 3


@pytest.mark.parametrize("method", ["add", "mul"])
def test_analogy_as_json(folder, method):
    _, out, _ = run(
        "analogy",
        folder / "vectors.safetensors",
        "king",
        "man",
        "woman",
        "--method",
        method,
        "--restrict-vocab",
        5,
        "--json",
    )
    found = json.loads(out)
    vectors = unhot.Vectors.load(folder / "vectors.safetensors")
    search = vectors.most_similar if method == "add" else vectors.most_similar_cosmul
    expected = search(positive=["king", "woman"], negative=["man"], restrict_vocab=5)
    assert [(entry["word"], entry["score"]) for entry in found["answers"]] == [
        (word, pytest.approx(score, abs=1e-6)) for word, score in expected
    ]
    assert (found["positive"], found["negative"], found["method"]) == (["king", "woman"], ["man"], method)


def test_info_of_other_formats(folder):
    code, out, _ = run("info", folder / "vectors.bin", "--json")
    facts = json.loads(out)
    size = (folder / "vectors.bin").stat().st_size
    assert code == 0
    assert (facts["format"], facts["words"], facts["dim"], facts["bytes"]) == ("word2vec-binary", 8, 6, size)
    assert facts["first"][:2] == ["king", "queen"]
    _, out, _ = run("info", folder / "vectors.safetensors")
    assert r"caf\xe9" in out
    assert "safetensors" in out


def test_verify(folder):
    code, out, err = run("verify", folder / "model")
    assert (code, err) == (0, "")
    assert out.startswith("OK: ")
    assert "all checksums are right; 20 words" in out
    facts = json.loads(run("verify", folder / "model", "--json")[1])
    assert (facts["ok"], facts["checksums"], facts["words"]) == (True, True, 20)
    facts = json.loads(run("verify", folder / "vectors.bin", "--json")[1])
    assert (facts["ok"], facts["checksums"], facts["bytes"]) == (
        True,
        False,
        (folder / "vectors.bin").stat().st_size,
    )


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", "model.safetensors"])
def test_verify_names_the_damaged_file(folder, tmp_path, name):
    unhot.load(folder / "model").save(tmp_path / "m")
    path = tmp_path / "m" / "v1" / name
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    code, out, err = run("verify", tmp_path / "m")
    assert (code, out) == (1, "")
    assert name in err
    assert "restore MODEL from a copy, or make it again" in err
    code, out, _ = run("verify", tmp_path / "m", "--json")
    assert code == 1
    assert json.loads(out)["ok"] is False
    assert name in json.loads(out)["error"]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["neighbors"], 2, "Missing argument 'MODEL'"),
        (["neighbors", "nowhere", "king"], 1, "nowhere"),
        (["neighbors", "nowhere", "king", "-n", "0"], 2, "0 is not in the range x>=1"),
        (["neighbors", "nowhere", "king", "--which", "both"], 2, "'both' is not one of"),
        (["neighbors", "nowhere", "king", "--restrict-vocab", "0"], 2, "0 is not in the range"),
        (["analogy", "nowhere", "king", "man"], 2, "Missing argument 'C'"),
        (["analogy", "nowhere", "king", "man", "woman", "--method", "sub"], 2, "'sub' is not one of"),
        (["verify", "nowhere"], 1, "nowhere: there is no such file or folder"),
        (["info", "nowhere"], 1, "nowhere: there is no such file or folder"),
    ],
)
def test_wrong_use(arguments, code, told):
    found, out, err = run(*arguments)
    assert (found, out) == (code, "")
    assert told in err


@pytest.mark.parametrize("command", ["neighbors", "analogy", "info", "verify"])
def test_help_has_examples(command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert "Example" in out
    assert f"unhot {command} " in out
    assert "--json" in out


GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "models"


@pytest.mark.parametrize("folder", ["cells", "pmi"])
@pytest.mark.parametrize("command", [("neighbors", "cat"), ("verify",)])
def test_cells_are_named_with_what_opens_them(folder, command):
    refused = run(command[0], GOLDEN / folder, *command[1:])
    assert refused.returncode == 1
    assert "this is a folder of co-occurrence cells, or of PMI values, not a model" in refused.stderr
    assert "SparseVectors.load(PATH) finds neighbours" in refused.stderr
    assert "restore MODEL" not in refused.stderr


def test_vectors_are_named_with_what_opens_them():
    refused = run("recommend", "similar", GOLDEN / "vectors", "i0003")
    assert "has vectors without a model; query them with: unhot neighbors" in refused.stderr
    assert isinstance(unhot.load(GOLDEN / "vectors"), unhot.Vectors)


def test_neighbors_of_items_are_items():
    found = run("neighbors", GOLDEN / "item2vec-users", "i0003", "-n", "50")
    assert "i0006" in found.stdout
    assert "user:" not in found.stdout
