"""A model of sixty lines from outside the package: trained, saved, loaded and resumed by the command line."""

from collections import Counter
from pathlib import Path

import commands
import numpy as np
import pytest
from commands import plugins_forgotten

import unhot
from unhot.cli.outputs import load_plugin
from unhot.errors import ConfigError, FormatError
from unhot.models.load import load_unfinished
from unhot.models.model import MODELS

TOY = Path(__file__).parent.parent.parent / "docs" / "models" / "toy_model.py"
# the toy, cut off once in the middle of its text
STOPPING = """
import pathlib
_learn = BigramRun.learn
def _stopped(self, epoch, chunk, lr, thread):
    if chunk.number == 3 and not pathlib.Path("stopped").exists():
        pathlib.Path("stopped").touch()
        raise KeyboardInterrupt
    return _learn(self, epoch, chunk, lr, thread)
BigramRun.learn = _stopped
"""


@pytest.fixture
def text(tmp_path):
    rng = np.random.default_rng(1)
    lines = [" ".join(f"w{i}" for i in rng.integers(0, 9, rng.integers(1, 30))) for _ in range(300)]
    (tmp_path / "text").write_text("\n".join(lines) + "\n")
    return lines


@pytest.fixture(autouse=True)
def registered():
    """The registry as it was."""
    with plugins_forgotten():
        yield


def run(folder, *arguments):
    return commands.run(*arguments, cwd=folder)


def expected(model, lines):
    """The counts of all pairs, in plain Python."""
    pairs = Counter(pair for line in lines for pair in zip(line.split(), line.split()[1:], strict=False))
    words = model.vocabulary.words
    return [[pairs[a, b] for b in words] for a in words]


def test_it_has_the_sixty_lines_that_the_pages_promise():
    assert len(TOY.read_text().splitlines()) <= 60


def test_train_save_and_load(text, tmp_path):
    done = run(
        tmp_path, "train", "text", "-o", "toy", "--plugin", TOY, "--model", "bigrams", "--min-count", 1
    )
    assert done.returncode == 0, done.stderr
    assert "saved to toy\n" in done.stderr  # there are no neighbours to look at
    with pytest.raises(
        FormatError, match="of kind 'bigrams'.*--plugin FILE"
    ):  # nothing is imported by a folder
        unhot.load(tmp_path / "toy")
    load_plugin(str(TOY))
    model = unhot.load(tmp_path / "toy", verify=True)
    assert model.learned.counts.tolist() == expected(model, text)
    assert (model.complete, model.min_count, model.added) == (True, 1, 1.0)
    with pytest.raises(FormatError, match="the tensor 'in_vectors' is missing"):
        unhot.Vectors.load(tmp_path / "toy")


def test_resume_through_the_command_line(text, tmp_path):
    plugin = tmp_path / "stopping.py"
    plugin.write_text(TOY.read_text() + STOPPING)
    options = ("--plugin", plugin, "--model", "bigrams", "--min-count", 1, "--threads", 1)
    done = run(tmp_path, "train", "text", "-o", "toy", *options)
    assert done.returncode == 130, done.stderr
    assert "continue with: unhot train --resume toy" in done.stderr
    with plugins_forgotten():
        load_plugin(str(TOY))
        half = load_unfinished(tmp_path / "toy")
        assert 0 < half.learned.counts.sum() < np.sum(expected(half, text))
    done = run(tmp_path, "train", "--resume", "toy", "--plugin", plugin)
    assert done.returncode == 0, done.stderr
    load_plugin(str(TOY))
    model = unhot.load(tmp_path / "toy")
    assert model.learned.counts.tolist() == expected(model, text)


def test_its_settings_are_options_with_help(tmp_path):
    shown = run(tmp_path, "train", "--plugin", TOY, "--help").stdout
    section = " ".join(shown.partition("Settings of bigrams:")[2].split())
    assert section.startswith("--added FLOAT Added to every count. [default: 1]")
    assert "bigrams Bigrams: how likely one word follows another" in " ".join(shown.split())
    assert "--added" not in run(tmp_path, "train", "--help").stdout
    (tmp_path / "text").write_text("a b\n")
    done = run(tmp_path, "train", "text", "-o", "toy", "--plugin", TOY, "--added", 2)
    assert done.returncode == 2
    assert "--added: is a setting of bigrams, not of --model skipgram" in done.stderr


def test_what_it_has_not_is_refused(text, tmp_path):
    load_plugin(str(TOY))
    toy = MODELS["bigrams"](min_count=1)
    with pytest.raises(ConfigError, match="labels: bigrams learns from text without labels"):
        toy.fit(text, ["label"] * len(text))
    with pytest.raises(ConfigError, match="start: bigrams always starts from scratch"):
        toy.fit(text, start=toy)
    with pytest.raises(ConfigError, match="added=-1: must be >= 0"):
        MODELS["bigrams"](added=-1)


def test_a_tensor_by_the_name_of_the_counts_is_refused(text, tmp_path, monkeypatch):
    load_plugin(str(TOY))
    toy = MODELS["bigrams"](min_count=1).fit(text)
    kind = type(toy.learned)
    monkeypatch.setattr(kind, "tensors", lambda self, complete: {"counts": self.counts})
    with pytest.raises(ConfigError, match="tensor 'counts': the vocabulary uses this name"):
        toy.save(tmp_path / "toy")


def test_the_page_shows_the_file():
    page = (TOY.parent / "writing-your-own.md").read_text()
    assert f"```python\n{TOY.read_text()}```" in page
