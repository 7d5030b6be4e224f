import json
import sys

import pytest

pytest.importorskip("gensim")

import word_grid


def test_a_grid_of_two_values_beside_gensim(tmp_path, monkeypatch, capsys):
    text, pairs = tmp_path / "text.txt", tmp_path / "pairs.txt"
    text.write_text("one two three four five six\n" * 200)
    pairs.write_text("one two 9\none six 1\nthree four 8\n")
    asked = [str(text), "--vary", "lr=0.05,1e9", "--models", "skipgram", "--set", "epochs=1", "dim=8"]
    asked += ["--wordsim", str(pairs), "--seeds", "1,2", "--results", str(tmp_path)]
    monkeypatch.setattr(word_grid, "child", answer)
    for more in (["--gensim"], ["--append"]):
        monkeypatch.setattr(sys, "argv", ["word_grid", *asked, *more])
        word_grid.main()
    page = (tmp_path / "word-grid.md").read_text()
    assert "## text, 1,200 words, epochs 1, dim 8" in page
    assert "| skipgram | 10.0 +- 0.3 | 4 failed |" in page  # twice the seeds 1 and 2
    assert "| skipgram, gensim | 10.0 +- 0.5 | 2 failed |" in page


def answer(name, job):
    """As a training would: a seed adds one to the score, a rate of 1e9 fails."""
    settings = job["settings"]
    if 1e9 in settings.values():
        raise word_grid.ChildFailed("diverged")
    assert json.dumps(job)
    return None, {"wordsim": 8.5 + settings["seed"], "seconds": 1.0}
