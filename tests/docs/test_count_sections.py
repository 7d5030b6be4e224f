"""What README.md and docs/training.md say about models of counts runs, on a part of the bundled text.

Their tables are complete.
"""

import dataclasses
import lzma
import re
from itertools import islice
from pathlib import Path

import click
import pytest

import unhot
from unhot.cli.main import group, main
from unhot.data import sotu_path

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = {"README.md": "From counts: GloVe, PMI, SVD", "docs/training.md": "Models of counts: GloVe, SVD"}
COMMANDS = {"README.md": 3, "docs/training.md": 4}


def section(page):
    return re.search(
        rf"\n## {SECTIONS[page]}\n(.*?)\n## ", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL
    ).group(1)


def blocks(page, kind):
    return re.findall(rf"```{kind}\n(.*?)```", section(page), re.DOTALL)


def slug(heading):
    """A heading as the place that a link names."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.fixture
def here(tmp_path, monkeypatch):
    with lzma.open(sotu_path(), "rt", encoding="utf-8") as lines:
        words = re.findall(r"[a-z]+", "".join(islice(lines, 15)).lower())
    (tmp_path / "corpus.txt").write_text(" ".join([*words, *["king", "river"] * 5]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", SECTIONS)
def test_commands_run(page, here, capsys):
    lines = "".join(blocks(page, "sh")).splitlines()
    assert len(lines) == COMMANDS[page]
    for line in lines:
        program, *arguments = line.split()
        assert program == "unhot"
        short = ["--epochs", "2"] if "--on" in arguments else []
        with pytest.raises(SystemExit) as end:
            main([*arguments, *short])
        assert end.value.code == 0, capsys.readouterr().err
    assert unhot.load("glove").name == "glove"
    assert unhot.load("svd").name == "svd"
    assert page == "README.md" or len(unhot.load("glove50").vectors["king"]) == 50


@pytest.mark.parametrize("page", SECTIONS)
def test_python_runs(page, here):
    (code,) = blocks(page, "python")
    names = {"unhot": unhot}
    exec(code, names)
    glove = names["model" if page == "README.md" else "glove"]
    assert len(glove.history.losses) == 15
    assert page == "README.md" or unhot.load("svd").weights == "dynamic"


def test_every_setting_is_in_a_table():
    rows = dict(
        re.findall(r"^\| `(\w+=[^`]*)` \| `(--[\w-]+)` \|", section("docs/training.md"), re.MULTILINE)
    )
    train = group.commands["train"]
    known = {option for param in train.get_params(click.Context(train)) for option in param.opts}
    assert set(rows.values()) <= known
    shared = {field.name: field.default for field in dataclasses.fields(unhot.SkipGram)}
    for model in (unhot.GloVe, unhot.SVD):
        for field in dataclasses.fields(model):
            if field.name not in shared or shared[field.name] != field.default:
                default = f'"{field.default}"' if isinstance(field.default, str) else str(field.default)
                assert rows[f"{field.name}={default}"] == f"--{field.name.replace('_', '-')}"


@pytest.mark.parametrize("page", SECTIONS)
def test_links_lead_somewhere(page):
    listed = (ROOT / "docs" / "results" / "README.md").read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)]+)\)", section(page)):
        path, _, place = link.partition("#")
        if link.startswith("docs/results/"):  # benchmarks make these pages
            assert f"]({Path(path).name})" in listed, link
        else:
            text = (ROOT / page).parent.joinpath(path).read_text(encoding="utf-8")
            assert not place or place in map(slug, re.findall(r"^#+ (.*)$", text, re.MULTILINE)), link
