"""`unhot evaluate`: its options, tables and errors."""

import json
import subprocess
import sys

import numpy as np
import pytest
from commands import run

import unhot
from unhot.evaluate import analogies, categories, held_out, outliers, similarity, stability
from unhot.kernels.loop import Params
from unhot.models.learned_words import LearnedWords
from unhot.models.state import FitState
from unhot.train.history import History

TEXT = "The cat sat on the mat\nthe zebra sat on the cat\n"


def evaluate(*arguments, **given):
    return run("evaluate", *arguments, **given)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng, none = tmp_path_factory.mktemp("evaluate"), np.random.default_rng(1), np.zeros(0, np.float32)
    model = unhot.SkipGram(dim=4, window=2, output="nce:k=2", tokenizer="words")
    params = Params(*rng.normal(0, 1, (2, 5, 4)).astype(np.float32), none, none, none)
    vocabulary = unhot.Vocabulary("the cat sat on mat".split(), [9, 5, 4, 3, 1])
    nothing = {"seen": np.zeros(0, np.int64), "frozen": np.zeros(0, np.uint8)}
    words = {"in_vocabulary": vocabulary, "out_vocabulary": vocabulary, **nothing}
    model.fit_state = FitState(LearnedWords(layer=model.layer, params=params, **words), History())
    model.save(folder / "model")
    model.vectors.save(folder / "vectors.bin")
    model.vectors.save(folder / "vectors")
    (folder / "text.txt").write_text(TEXT)
    return folder


def test_json_is_what_the_library_gives(folder):
    result = evaluate(folder / "model", "--text", folder / "text.txt", "--json")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    expected = held_out(unhot.load(folder / "model"), folder / "text.txt").as_dict()
    assert json.loads(result.stdout) == {"held_out": pytest.approx(expected)}
    assert (expected["pairs"], expected["unknown"]) == (32, 1)


def test_options_reach_the_library(folder):
    options = ("--window", 3, "--shrink", "--sample", 0.1, "--tokenizer", "whitespace")
    found = json.loads(evaluate(folder / "model", "--text", "-", *options, "--json", text=TEXT).stdout)[
        "held_out"
    ]
    expected = held_out(
        unhot.load(folder / "model"),
        folder / "text.txt",
        window=3,
        shrink=True,
        sample=0.1,
        tokenizer="whitespace",
    )
    assert found == pytest.approx(expected.as_dict())
    assert found["unknown"] == 2


def test_table_and_statement(folder):
    result = evaluate(folder / "model", "--text", folder / "text.txt")
    assert result.returncode == 0, result.stderr
    expected = held_out(unhot.load(folder / "model"), folder / "text.txt")
    *rows, statement = result.stdout.splitlines()
    shown = dict(row.rsplit("  ", 1) for row in rows)
    shown = {name.strip(): value.strip() for name, value in shown.items()}
    assert shown["cross entropy"] == f"{expected.cross_entropy:.4f} nats"
    assert shown["perplexity"] == f"{expected.perplexity:,.2f}"
    assert {"pairs", "unknown words", "log Z mean", "log Z variance"} < shown.keys()
    assert statement == str(expected)
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["model"], 2, "give one or more of --text FILE, --similarity FILE"),
        ([], 2, "Missing argument 'MODEL'"),
        (["nowhere", "--text", "text.txt"], 1, "nowhere: does not exist"),
        (["vectors.bin", "--text", "text.txt"], 1, "only a model of unhot with its output layer"),
        (["vectors", "--text", "text.txt"], 1, "only a model of unhot with its output layer"),
        (["model", "--text", "nothing.txt"], 1, "nothing.txt"),
        (["model", "--text", "text.txt", "--window", "0"], 2, "window=0"),
        (["model", "--text", "text.txt", "--tokenizer", "tok"], 2, "tokenizer='tok'"),
    ],
)
def test_errors_are_one_line(folder, arguments, code, told):
    result = evaluate(*arguments, cwd=folder)
    assert result.returncode == code
    assert len(result.stderr.splitlines()) == 1
    assert told in result.stderr
    assert result.stdout == ""


def test_the_help_has_examples():
    assert "unhot evaluate model --text held_out.txt" in evaluate("--help").stdout


@pytest.fixture(scope="module")
def questions(folder):
    """Small files of all kinds, and vectors of more words."""
    rng = np.random.default_rng(2)
    words = ["The", *"cat cats dog dogs sat ran on mat bird fig plum pear".split()]
    for name in ("one", "two", "three"):
        unhot.Vectors(words, rng.normal(size=(13, 5)).astype(np.float32)).save(folder / f"{name}.bin")
    (folder / "pairs").mkdir()
    (folder / "pairs" / "a.tsv").write_text(
        "".join(f"{a}\t{b}\t{i % 4}\n" for i, (a, b) in enumerate(zip(words, words[3:], strict=False)))
    )
    (folder / "pairs" / "b.csv").write_text(
        "word1,word2,score\ncat,dog,7\nfig,plum,8\nthe,on,2\nzebra,dog,3\n"
    )
    (folder / "google.txt").write_text(
        ": gram-plural\ncat cats dog dogs\ndog dogs cat cats\n: other\ncat cats zebra zebras\n"
    )
    (folder / "bats").mkdir()
    (folder / "bats" / "plural.txt").write_text("cat\tcats/cat's\ndog\tdogs\n")
    (folder / "kinds.tsv").write_text(
        "cat\tanimal\ndog\tanimal\nbird\tanimal\nfig\tfruit\nplum\tfruit\nzebra\tanimal\n"
    )
    (folder / "sets").mkdir()
    (folder / "sets" / "animals.txt").write_text("cat\ndog\nbird\n\nfig\nran\nzebra\n")
    (folder / "words.txt").write_text("cat\ndog\nzebra\n")
    return folder


ALL = "one.bin --similarity pairs pairs/b.csv --analogies google.txt bats --categories kinds.tsv "
ALL += "--outliers sets --seeds two.bin three.bin"


@pytest.fixture
def at(questions, monkeypatch):
    monkeypatch.chdir(questions)
    return lambda arguments: evaluate(*arguments.split())


def test_all_kinds_as_json(at):
    result = at(
        f"{ALL} --method both --restrict-vocab 12 --case ignore --neighbors 3 --words words.txt --seed 5 "
        "--json"
    )
    assert (result.returncode, result.stderr) == (0, "")
    vectors, others = (
        unhot.Vectors.load("one.bin"),
        [unhot.Vectors.load(f"{name}.bin") for name in ("two", "three")],
    )
    common = {"restrict_vocab": 12, "seed": 5}
    cased = {**common, "case": "ignore"}
    pairs = [
        similarity(vectors, path, **cased).as_dict() for path in ("pairs/a.tsv", "pairs/b.csv", "pairs/b.csv")
    ]
    found = [
        analogies(vectors, path, method=method, **cased).as_dict()
        for path in ("google.txt", "bats")
        for method in ("add", "mul")
    ]
    expected = {
        "similarity": [{**each, "file": str(each["file"])} for each in pairs],
        "categories": [categories(vectors, "kinds.tsv", **cased).as_dict()],
        "outliers": [outliers(vectors, "sets", **cased).as_dict()],
        "analogies": found,
        "stability": stability(vectors, others, k=3, words=["cat", "dog", "zebra"], **common).as_dict(),
    }
    assert json.loads(result.stdout) == expected
    assert expected["stability"]["unknown"] == 1


def test_all_kinds_as_tables(at):
    result = at(ALL)
    assert (result.returncode, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout
    lines = result.stdout.splitlines()
    row = {line.split()[0]: line.split() for line in lines if line.strip()}
    for title in (
        "similarity",
        "categories",
        "outliers: sets",
        "analogies: google.txt, 3CosAdd",
        "analogies: bats, 3CosAdd",
    ):
        assert title in lines
    assert row["b.csv"][-2:] == ["1", "(25.0%)"]
    assert row["gram-plural"][-3:] == ["2", "0", "(0.0%)"]
    assert row["other"][1] == "-"
    assert row["kinds.tsv"][-3:] == ["6", "1", "(16.7%)"]
    assert row["animals"][-3:] == ["2", "1", "(33.3%)"]
    assert "stability: 10 neighbours" in lines
    assert "Compared 13 of the 13 words that all 3 models know." in lines


def test_text_and_vectors_together(at):
    found = json.loads(at("--similarity pairs/b.csv --text text.txt model --json").stdout)
    assert list(found) == ["held_out", "similarity"]
    assert found["similarity"][0]["unknown"] == 3


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ("one.bin --similarity nothing.txt", 1, "nothing.txt: there is no such file"),
        (
            "one.bin --similarity google.txt",
            1,
            "google.txt: line 1: ': gram-plural': must be word, word and score",
        ),
        ("one.bin --analogies kinds.tsv pairs/a.tsv", 1, "pairs/a.tsv: line 1"),
        ("one.bin --outliers words.txt", 1, "3 words and 0 outliers"),
        ("one.bin --analogies google.txt --restrict-vocab 0", 2, "'--restrict-vocab': 0 is not in the range"),
        ("one.bin --seeds nothing.bin", 1, "nothing.bin"),
        ("one.bin --seeds two.bin --neighbors 0", 2, "'--neighbors': 0 is not in the range"),
        ("one.bin --seeds two.bin --words nothing.txt", 1, "nothing.txt"),
        ("one.bin --seeds two.bin --words -5", 2, "--words=-5: must be >= 1"),
        ("one.bin --method all --analogies google.txt", 2, "'all' is not one of"),
        ("--similarity pairs", 2, "Missing argument 'MODEL'"),
    ],
)
def test_wrong_files_are_one_line(at, arguments, code, told):
    result = at(arguments)
    assert result.returncode == code
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""


def test_similarity_does_not_load_the_compiler():
    code = "import sys, unhot.evaluate.similarity, unhot.evaluate.outliers; "
    code += "from unhot.evaluate import similarity; assert callable(similarity); "
    code += "assert callable(unhot.evaluate.outliers); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
