"""What docs/phrases.md says runs, on a small text and with short vectors."""

import dataclasses
import lzma
import re
from pathlib import Path

import pytest

from unhot.cli.main import group, main
from unhot.corpus.phrases.phrases import ENGLISH, Phrases
from unhot.data import sotu_path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "phrases.md").read_text(encoding="utf-8")


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the texts that the page names."""
    text = lzma.open(sotu_path(), "rt", encoding="utf-8").read(300_000).lower()
    for name in ("corpus.txt", "more.txt"):
        (tmp_path / name).write_text(re.sub(r"[^a-z\n]+", " ", text))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_of_the_page_runs(here, capsys):
    names = {}
    (code,) = blocks("python")
    exec(code.replace("dim=100", "dim=16, epochs=1"), names)
    assert len(names["phrases"].phrases) > 50
    assert capsys.readouterr().out == "".join(
        f"{names['phrases'].transform(words)}\n" for words in (["new", "york"], ["a", "house"])
    )
    assert any("_" in word for word in names["model"].vocabulary)


def test_commands_of_the_page_run(here, capsys):
    lines = "".join(blocks("sh")).splitlines()
    assert len(lines) == 5
    for line in lines:
        program, *arguments = line.split()
        assert program == "unhot"
        small = "--dim 16 --epochs 1 --threads 1".split() if arguments[0] == "train" else []
        with pytest.raises(SystemExit) as end:
            main([*arguments, *small])
        assert end.value.code == 0, capsys.readouterr().err
    assert "_" in (here / "more-joined.txt").read_text()


def test_every_setting_is_in_the_table():
    for field in dataclasses.fields(Phrases):
        assert re.search(rf"^\| .*`{field.name}`.* \|", PAGE, re.MULTILINE), field.name
    options = {option for param in group.commands["phrases"].params for option in param.opts}
    assert all(f"--{field.name.replace('_', '-')}" in options for field in dataclasses.fields(Phrases))
    assert " ".join(sorted(ENGLISH)) in PAGE


def test_links_lead_somewhere():
    for link in re.findall(r"\]\(([^)]+)\)", PAGE):
        assert (ROOT / "docs" / link).is_file(), link


def test_the_page_is_ascii():
    assert PAGE.isascii()
