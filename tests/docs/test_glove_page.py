"""What docs/moving-from-glove.md says runs, on a small text and with short vectors; its options are there."""

import re
import shutil
from pathlib import Path

import click
import pytest

import unhot
from unhot.cli.main import group, main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "moving-from-glove.md").read_text(encoding="utf-8")
GOLDEN = ROOT / "tests" / "golden"
SMALL = "--dim 8 --threads 1".split()


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.replace("\\\n", " "), re.DOTALL)


def options(command):
    command = group.commands[command]
    params = command.get_params(click.Context(command))
    return {option: param for param in params for option in param.opts}


def slug(heading):
    """A heading as the place that a link names."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the files that the page names."""
    text = (
        GOLDEN / "fasttext_unsup_train.txt"
    ).read_bytes() + b"the king sat by the river and the king slept\n"
    (tmp_path / "corpus.txt").write_bytes(text * 5)
    shutil.copy(GOLDEN / "glove_shuffled.bin", tmp_path / "cooccurrence.shuf.bin")
    shutil.copy(GOLDEN / "glove_vocab.txt", tmp_path / "vocab.txt")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_commands_run(here, capsys):
    lines = "".join(blocks("sh")).splitlines()
    assert len(lines) == 9
    for line in lines:
        program, *arguments = line.split()
        assert program == "unhot"
        with pytest.raises(SystemExit) as end:
            main([*arguments, *(SMALL if arguments[0] == "train" else [])])
        assert end.value.code == 0, capsys.readouterr().err
    assert unhot.Vectors.load(here / "vectors.txt").most_similar("king") == unhot.load(
        "model"
    ).vectors.most_similar("king")
    assert unhot.load("model25").epochs == 25
    assert len(unhot.load("model2").vocabulary) == len(
        (here / "vocab.txt").read_text(encoding="utf-8").splitlines()
    )
    assert (here / "ours.bin").is_file()


def test_python_runs(here):
    (here / "vectors.txt").write_text("king 1 2\nqueen 2 1\n<unk> 0 1\n")
    names = {}
    (code,) = blocks("python")
    exec(code.replace("dim=100", "dim=8, threads=1"), names)
    assert len(names["model"].history.losses) == 15
    assert "<unk>" in names["vectors"]
    assert unhot.load("model").combine == "sum"


def test_the_long_command_is_the_default(here):
    """So the page may leave its settings out."""
    first = blocks("sh")[0].splitlines()[0].split()
    given = dict(zip(first[5::2], first[6::2], strict=True))
    plain = unhot.GloVe().config()
    assert given.pop("--model") == "glove"
    assert given.pop("--memory") == "4GB"
    for option, value in given.items():
        assert plain[option[2:].replace("-", "_")] == float(value), option


def test_options_are_there():
    """Those of the table, with their defaults; defaults of GloVe's programs are not asked for."""
    table = re.search(r"\n## Options\n(.*?)\n## ", PAGE, re.DOTALL).group(1)
    known, plain = {**options("cooccur"), **options("train")}, unhot.GloVe().config()
    found = re.findall(
        r"`(--[a-z-]+)(?: ([^`]+))?`",
        "\n".join(row.split("|")[2] for row in table.splitlines() if row.startswith("| `")),
    )
    assert len(found) > 15
    for option, value in found:
        assert option in known, option
        name = option[2:].replace("-", "_")
        if value and name in plain and name not in ("combine", "max_vocab"):
            default = plain[name]
            assert default == (value if isinstance(default, str) else float(value)), option


def test_links_lead_somewhere():
    for link in re.findall(r"\]\(([^)]+)\)", PAGE):
        path, _, place = link.partition("#")
        text = (ROOT / "docs" / path).read_text(encoding="utf-8")
        assert not place or place in map(slug, re.findall(r"^#+ (.*)$", text, re.MULTILINE)), link


def test_the_page_is_ascii():
    assert PAGE.isascii()
