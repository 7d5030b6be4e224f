"""Commands and input that is not text, or that nothing can be learned from."""

import pytest
from commands import run

import unhot

SMALL = ("--dim", "4", "--min-count", "1", "--epochs", "1", "--threads", "1")


@pytest.fixture
def wide(tmp_path):
    """A text in UTF-16, without a byte order mark."""
    (tmp_path / "wide.txt").write_bytes("the cat sat on the mat\n".encode("utf-16-le") * 60)
    return tmp_path / "wide.txt"


COMMANDS = {
    "train": lambda text, to: ("train", text, "-o", to, *SMALL),
    "cooccur": lambda text, to: ("cooccur", text, "-o", to),
    "phrases": lambda text, to: ("phrases", text, "--phrases", to),
    "fasttext": lambda text, to: (
        *("fasttext", "skipgram", "-input", text, "-output", to),
        *("-dim", 4, "-epoch", 1, "-bucket", 100, "-minn", 0, "-maxn", 0, "-thread", 1),
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_does_not_look_like_text_needs_force(name, wide, tmp_path):
    code, _, said = run(*COMMANDS[name](wide, tmp_path / "made"))
    assert code == 1
    force = "-force" if name == "fasttext" else "--force"
    assert "wide.txt: 50 % of its first 2,760 bytes are NULs: it looks like UTF-16LE" in said
    assert f"force=True ({force})" in said
    assert [path.name for path in tmp_path.iterdir()] == ["wide.txt"]
    code, _, said = run(*COMMANDS[name](wide, tmp_path / "made"), force)
    assert code == 0, said
    assert len(list(tmp_path.iterdir())) > 1


def test_standard_input(wide, tmp_path):
    code, _, said = run("train", "-", "-o", tmp_path / "made", *SMALL, text=wide.read_bytes())
    assert code == 1
    assert "standard input: 50 % of its first" in said


def test_comparisons_and_evaluations(wide, tmp_path):
    """They read texts, too."""
    wide.write_bytes(wide.read_bytes() * 20)
    bench = ("bench", "outputs", wide, "-o", tmp_path / "b", "--seconds", "0.1", "--layers", "negative")
    bench = (*bench, "--no-exact", "--lr", "0.1", "--dim", "4", "--held-out", "0.5")
    assert "UTF-16LE" in run(*bench)[2]
    code, _, said = run(*bench, "--force")
    assert code == 0, said
    assert run("train", wide, "-o", tmp_path / "made", *SMALL, "--force")[0] == 0
    code, _, said = run("evaluate", tmp_path / "made", "--text", wide)
    assert code == 1
    assert "UTF-16LE" in said
    assert run("evaluate", tmp_path / "made", "--text", wide, "--force")[0] == 0


def test_a_forced_training_is_resumed_without_force(wide, tmp_path):
    def interrupt(progress):
        if progress.event == "epoch":
            raise KeyboardInterrupt

    model = unhot.SkipGram(dim=4, min_count=1, threads=1)
    model.fit(wide, force=True, callbacks=[interrupt]).save(tmp_path / "made")
    for more in ((), ("--force",)):
        code, _, said = run("train", "--resume", tmp_path / "made", "-o", tmp_path / "whole", *more)
        assert code == 0, said


@pytest.mark.parametrize(
    "more", [(), ("--model", "cbow"), ("--model", "glove"), ("--model", "svd"), ("--on", "cells")]
)
def test_nothing_to_learn_from_saves_nothing(more, tmp_path):
    (tmp_path / "t.txt").write_text("word\nother\n" * 50)
    settings = ("--dim", 8, "--min-count", 1, *(() if "svd" in more else ("--checkpoint-chunks", "1")))
    code, _, said = run("train", tmp_path / "t.txt", "-o", tmp_path / "made", *settings, *more)
    assert code == 1
    assert "lower min_count" in said
    assert [path.name for path in tmp_path.iterdir()] == ["t.txt"]


def test_fasttext_writes_nothing_if_nothing_was_learned(tmp_path):
    (tmp_path / "t.txt").write_text("word\nother\n" * 50)
    code, _, said = run(
        "fasttext", "cbow", "-input", tmp_path / "t.txt", "-output", tmp_path / "made", "-dim", 4
    )
    assert code == 1
    assert "lower minCount, set t=0" in said
    assert [path.name for path in tmp_path.iterdir()] == ["t.txt"]


def test_long_words_are_reported(tmp_path):
    (tmp_path / "t.txt").write_text(f"one two {'x' * 1_100_000}\n" * 3)
    code, _, said = run("train", tmp_path / "t.txt", "-o", tmp_path / "made", *SMALL, "--sample", "0")
    assert code == 0
    assert "3 words longer than 1,048,576 bytes were left out" in said
    assert unhot.load(tmp_path / "made").vectors.words == ["one", "two"]
