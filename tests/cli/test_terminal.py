"""Words and file names that a terminal would obey, in every command: on a terminal they become escapes."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
from terminals import on_terminal, read_all, through_pipe

import unhot
from unhot.cli.main import group
from unhot.models.popularity import Popularity
from unhot.screen.terminal import printable, printable_lines
from unhot.train.bar import TrainingBar

pytest.importorskip("pty")

GOLDEN = Path(__file__).parents[1] / "golden"
# a window title, red, right to left, red in one character, back, a byte that is not UTF-8
ODD = ["\x1b]0;a\x07", "\x1b[31mb", "\u202ec", "\u009b31md", "e\x08", "\udcfff"]
WORDS = [*ODD, "plain", "word"]
OBEYED = re.compile("\x1b\\]|\x1b\\[31m|[\x07\x08\x9b\u202e]")
ESCAPED = re.compile(r"\\x1b|\\x9b|\\x08|\\u202e|\\xff")
SMALL = ("--dim", 4, "--epochs", 1, "--min-count", 1, "--threads", 1)
FT = ("-dim", 4, "-epoch", 1, "-minCount", 1, "-bucket", 10, "-thread", 1)
LABEL, ODD_LABEL = b"__label__", b"\x1b[31m\x07el__"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Inputs whose names, words, sections and labels are odd."""
    folder = tmp_path_factory.mktemp("files") / ODD[0]
    folder.mkdir()
    rng = np.random.default_rng(1)
    lines = [" ".join(WORDS[i] for i in rng.integers(0, len(WORDS), 20)) for _ in range(100)]
    text = "\n".join(lines).encode("utf-8", "surrogateescape")
    (folder / "text.txt").write_bytes(text)
    vectors = unhot.Vectors(WORDS, rng.standard_normal((len(WORDS), 4)).astype(np.float32))
    vectors.save(folder / "v.txt")
    vectors.save(folder / "v.bin", "fasttext")
    pairs = "".join(f"{a}\t{b}\t{i}\n" for i, (a, b) in enumerate(zip(WORDS, WORDS[1:], strict=False)))
    (folder / "pairs.txt").write_bytes(pairs.encode("utf-8", "surrogateescape"))
    (folder / "questions.txt").write_text(
        f": {ODD[1]}\nplain word plain word\n{ODD[1]} word plain {ODD[0]}\n"
    )
    (folder / "groups.csv").write_text(f"plain,{ODD[1]}\nword,x\n")
    (folder / "out.txt").write_text(f"plain\nword\n{ODD[1]}\n\n{ODD[0]}\n")
    classifier = (GOLDEN / "fasttext_sup_softmax.bin").read_bytes()
    (folder / "labels.bin").write_bytes(classifier.replace(LABEL, ODD_LABEL))
    odd = [f"__label__{ODD[i % 2]} {line}" for i, line in enumerate(lines)]
    (folder / "labelled.txt").write_bytes("\n".join(odd).encode("utf-8", "surrogateescape"))
    unhot.Classifier(dim=4, threads=1).fit(folder / "labelled.txt").save(folder / "classifier")
    unhot.SkipGram(dim=4, epochs=1, min_count=1, threads=1).fit(folder / "text.txt").save(folder / "model")
    unhot.NGramModel(order=2, threads=1).fit(folder / "text.txt").save(folder / "lm")
    items = Popularity(format="user-sessions", with_users=True, split="leave-last-out")
    items.fit(folder / "text.txt").save(folder / "items")
    return folder


COMMANDS = [
    ("train", "text.txt", "-o", "{new}", *SMALL),
    ("train", "text.txt", "-o", "text.txt", *SMALL),
    ("train", "text.txt", "-o", "{new}", *SMALL, "--tokenizer", ODD[0], "--debug"),
    ("train", f"--{ODD[0]}"),
    ("phrases", "text.txt", "--score", "npmi", "--threshold", -1, "--min-count", 1, "-o", "{new}"),
    ("phrases", "text.txt", "-o", "-"),
    ("cooccur", "text.txt", "-o", "{new}", "--min-count", 1),
    ("outputs", ODD[2]),
    ("neighbors", "model", ODD[0], "word"),
    ("neighbors", "model", f"{ODD[0]}nowhere"),
    ("neighbors", "v.txt"),
    ("analogy", "model", ODD[0], ODD[1], "word"),
    ("evaluate", "model", "--text", ODD[3]),
    ("evaluate", "v.txt", "--similarity", "pairs.txt", "--analogies", "questions.txt"),
    ("evaluate", "v.txt", "--categories", "groups.csv", "--outliers", "out.txt", "--seeds", "model"),
    ("evaluate", "v.txt", "--outliers", ODD[3]),
    ("bench", "outputs", "text.txt", "--layers", ODD[1]),
    ("classify", "train", "labelled.txt", "-o", "{new}", *SMALL),
    (
        "classify",
        "train",
        "text.txt",
        "-o",
        "{new}",
        *SMALL,
        "--label-prefix",
        ODD[3],
        "--label-column",
        ODD[1],
    ),
    ("classify", "predict", "classifier", "text.txt", "-o", "-"),
    ("classify", "predict", "classifier", "text.txt", "-o", "-", "-k", 2),
    ("classify", "test", "classifier", "labelled.txt"),
    ("classify", "explain", "classifier", f"{ODD[0]} {ODD[1]}"),
    ("classify", "explain", "classifier", "word", "--label", ODD[4]),
    ("classify", "calibrate", "classifier", ODD[0]),
    ("classify", "demo", "-o", "text.txt"),
    ("lm", "train", "text.txt", "-o", "{new}", "--order", 2, "--threads", 1),
    ("lm", "train", "text.txt", "-o", "{new}", "--smoothing", ODD[0]),
    ("lm", "perplexity", "lm", ODD[0]),
    ("lm", "score", "lm", ODD[0], "-o", "-"),
    ("lm", "generate", "lm", "--seed", 1),
    ("lm", "generate", "lm", ODD[1], "--next", 9),
    ("lm", "count", "text.txt", "--order", 2),
    ("lm", "convert", "lm", f"{ODD[0]}/x.arpa"),
    ("lm", "mix", "lm", "lm", "--validation", ODD[0], "-o", "{new}"),
    ("lm", "compare", ODD[0], "text.txt", "text.txt"),
    ("lm", "demo", "-o", "text.txt"),
    ("recommend", "train", "text.txt", "-o", "{new}", "--model", "popularity", "--format", "user-sessions"),
    ("recommend", "train", "text.txt", "-o", "{new}", "--user", ODD[0]),
    ("recommend", "evaluate", "items", ODD[0]),
    ("recommend", "for", "items", ODD[1]),
    ("recommend", "for", "items", f"{ODD[0]}nobody"),
    ("recommend", "for", "items", "--history", ODD[0], "word"),
    ("recommend", "similar", "items", ODD[0]),
    ("recommend", "similar", "items", f"{ODD[2]}nothing"),
    ("recommend", "similar", "items", "--values", f"{ODD[0]}x"),
    ("recommend", "explain", f"{ODD[0]}items", ODD[0]),
    ("graph", "train", "text.txt", "-o", "{new}", "--format", "adjacency", "--dim", 4, "--walks", 1),
    ("graph", "train", ODD[0], "-o", "{new}"),
    ("graph", "evaluate", "model", "--labels", "out.txt"),
    ("recommend", "compare", ODD[0]),
    ("recommend", "demo", "-o", "text.txt"),
    ("info", "items"),
    ("info", "classifier"),
    ("info", "model"),
    ("info", "v.txt"),
    ("info", ODD[3]),
    ("info", "v.bin", "--ngrams", ODD[0]),
    ("verify", "model"),
    ("verify", "v.txt"),
    ("convert", "model", "{new}.txt"),
    ("convert", "model", ODD[5]),
    ("convert", "model", "-"),
    ("fasttext", "nn", "v.bin"),
    ("fasttext", "analogies", "v.bin"),
    ("fasttext", "print-word-vectors", "v.bin"),
    ("fasttext", "print-sentence-vectors", ODD[0]),
    ("fasttext", "print-ngrams", "v.bin", ODD[0]),
    ("fasttext", "predict", "labels.bin", "-"),
    ("fasttext", "predict-prob", "labels.bin", "-", 2),
    ("fasttext", "test", ODD[0], "-"),
    ("fasttext", "test-label", "labels.bin", str(GOLDEN / "fasttext_sup_train.txt")),
    ("fasttext", "dump", "v.bin", "dict"),
    ("fasttext", "skipgram", "-input", "text.txt", "-output", "{new}", *FT),
    ("fasttext", "cbow", "-input", "text.txt", "-output", "{new}", *FT),
    ("fasttext", "supervised", f"-{ODD[0]}"),
    ("fasttext", "quantize", f"-{ODD[0]}"),
    ("demo", "-o", "text.txt"),
    ("warmup", "--output", ODD[1]),
    (ODD[1],),
]
QUERIES = "\n".join([*ODD, "word"]).encode("utf-8", "surrogateescape")
# These print no word and no path: there is nothing to escape.
HARMLESS = {"supervised", "quantize"}


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda given: printable(" ".join(map(str, given[:3]))))
def test_a_terminal_gets_escapes(arguments, files, tmp_path, monkeypatch):
    monkeypatch.chdir(files.parent)
    monkeypatch.setenv("COLUMNS", "300")
    inputs = {path.name for path in files.iterdir()}
    new = tmp_path / ODD[1]
    given = [
        files / each if each in inputs else each.format(new=new) if isinstance(each, str) else each
        for each in arguments
    ]
    code, shown = on_terminal(*given, text=QUERIES)
    text = shown.decode("utf-8")
    assert not OBEYED.search(text), (code, text)
    assert ESCAPED.search(text) or HARMLESS & set(arguments), (code, text)
    assert "this is a bug" not in text


def test_every_command_is_asked():
    def names(command, path=()):
        if isinstance(command, click.Group):
            return [name for key, each in command.commands.items() for name in names(each, (*path, key))]
        return [path]

    asked = {given[: len(name)] for given in COMMANDS for name in [given[:2], given[:1]]}
    assert [name for name in names(group) if name not in asked] == []


def test_a_pipe_gets_the_bytes(files):
    words = [word.encode("utf-8", "surrogateescape") for word in WORDS]
    _, out = through_pipe("fasttext", "dump", files / "v.bin", "dict")
    assert [line.split(b" ")[0] for line in out.splitlines()[1:]] == words
    _, out = through_pipe("fasttext", "print-word-vectors", files / "v.bin", text=b"\n".join(words))
    assert [line.split(b" ")[0] for line in out.splitlines()] == words
    _, out = through_pipe("fasttext", "predict", files / "labels.bin", "-", text=b"a\n")
    assert out.startswith(ODD_LABEL)
    _, out = through_pipe("phrases", files / "text.txt", "-o", "-", "-q")
    assert out.split() == (files / "text.txt").read_bytes().split()


def test_bytes_of_a_character_may_come_one_by_one(files, monkeypatch, tmp_path):
    """A terminal gets whole characters, though the joined text is written in blocks."""
    text = " ".join(str(number) + "\u00e9" * 1000 for number in range(300))
    (tmp_path / "t.txt").write_text(text)
    _, shown = on_terminal("phrases", tmp_path / "t.txt", "-o", "-", "-q")
    assert shown.decode().strip() == text


def test_a_terminal_without_unicode(files, monkeypatch):
    monkeypatch.setattr("unhot.cli.outputs.first_line", lambda layer: "\u00e9")
    opened = open

    def ascii_only(*arguments, **how):
        return opened(*arguments, **{**how, "encoding": "ascii"})

    monkeypatch.setattr("terminals.open", ascii_only, raising=False)
    code, shown = on_terminal("outputs")
    assert (code, b"\\xe9" in shown) == (0, True)


def test_output_above_a_bar(monkeypatch):
    """While a bar is drawn, rich takes all output and would read colours in it."""

    def draw(**_):
        with TrainingBar() as bar:
            bar.note(ODD[0])
            sys.stdout.write(f"printed {ODD[1]}\n")
            sys.stderr.write(f"warned {ODD[1]}\n")
            click.echo(f"echoed {ODD[1]}".encode())
            bar.note(":dog: [red]")

    monkeypatch.setattr(group.commands["warmup"], "callback", draw)
    code, shown = on_terminal("warmup")
    text = shown.decode()
    assert code == 0
    assert not OBEYED.search(text)
    for line in ("\\x1b]0;a", "printed \\x1b[31mb", "warned \\x1b[31mb", "echoed \\x1b[31mb", ":dog: [red]"):
        assert line in text


def test_results_do_not_go_to_a_bar(monkeypatch):
    """The bar is on standard error. Here standard output is a file, so its lines do not go above the bar."""
    results = io.StringIO()

    def draw(**_):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdout", results)
            with TrainingBar():
                click.echo("result")

    monkeypatch.setattr(group.commands["warmup"], "callback", draw)
    assert b"result" not in on_terminal("warmup")[1]
    assert results.getvalue() == "result\n"


def test_the_prompt_is_readlines(files):
    """Standard output stays a terminal for `input`: a prompt, words with escapes, an empty line."""
    pty = pytest.importorskip("pty")
    master, end = pty.openpty()
    command = [sys.executable, "-m", "unhot", "neighbors", str(files / "model")]
    process = subprocess.Popen(command, stdin=end, stdout=end, stderr=end)
    os.close(end)
    shown = b""
    while b"> " not in shown:
        shown += os.read(master, 1 << 16)
    os.write(master, b"word\n\n")
    got = []
    read_all(master, got)
    os.close(master)
    shown += b"".join(got)
    assert process.wait(60) == 0
    assert b"\\u202ec" in shown
    assert not OBEYED.search(shown.decode())


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("plain \u00e9\u4e2d", "plain \u00e9\u4e2d"),
        ("a\tb\n", "a\\tb\\n"),
        ("\x1b[31m\u202e", "\\x1b[31m\\u202e"),
        ("\udcff\ud800", "\\xff\\ud800"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_printable(word, shown):
    assert printable(word) == shown
    assert printable(shown) == shown
    assert printable_lines(word) == shown.replace("\\t", "\t").replace("\\n", "\n")
