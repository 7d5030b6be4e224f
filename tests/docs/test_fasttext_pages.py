"""What README.md and docs/training.md say about words made of n-grams runs, on a small text."""

import re
from pathlib import Path

import pytest

import unhot
from unhot.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
SECTIONS = {"README.md": "Words never seen: fastText", "docs/training.md": "Words made of n-grams"}
SMALL = "--dim 16 --min-count 1 --epochs 1 --threads 1 --sample 0"


def section(page):
    return re.search(
        rf"\n## {SECTIONS[page]}\n(.*?)\n## ", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL
    ).group(1)


def blocks(page, kind):
    return re.findall(rf"```{kind}\n(.*?)```", section(page), re.DOTALL)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the files that the pages name.

    The published model is one of fastText's own, and small.
    """
    text = (GOLDEN / "fasttext_unsup_train.txt").read_bytes() + b"reasonable people have reasons\n"
    for name in ("corpus.txt", "more.txt"):
        (tmp_path / name).write_bytes(text)
    (tmp_path / "cc.en.300.bin").write_bytes((GOLDEN / "fasttext_unsup_skipgram_ns.bin").read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_of_the_pages_runs(here):
    names = {"unhot": unhot}
    readme, training = ("".join(blocks(page, "python")) for page in SECTIONS)
    exec(readme.replace("dim=100", "dim=16, min_count=1, epochs=1, buckets=1000"), names)
    assert "unreasonableness" not in names["model"].vocabulary
    assert (here / "model.bin").is_file()
    exec(training, names)
    assert set(names["old"].vocabulary.words) <= set(names["model"].vocabulary.words)
    assert names["model"].learned.keys.size == len(names["model"].vocabulary) + names["old"].buckets
    assert unhot.load("model").config()["lr"] == 0.01


def test_commands_of_the_guide_run(here, capsys):
    lines = "".join(blocks("docs/training.md", "sh")).splitlines()
    assert len(lines) == 5
    for line in lines:
        program, *arguments = line.split()
        assert program == "unhot"
        with pytest.raises(SystemExit) as end:
            main([*arguments, *(SMALL.split() if arguments[0] == "train" else [])])
        assert end.value.code == 0, capsys.readouterr().err
    shown = capsys.readouterr()
    assert "unreasonableness: not in the vocabulary" in shown.out
    assert (here / "small.floret").read_bytes().startswith(b"50000 16 4 5 2 ")


def test_every_setting_is_in_the_table():
    plain = {field for model in (unhot.SkipGram, unhot.CBOW) for field in model.__dataclass_fields__}
    rows = re.findall(r"^\| `(.*?) \|", section("docs/training.md"), re.MULTILINE)
    for name, field in unhot.FastText.__dataclass_fields__.items():
        if name not in plain:
            said = next(row for row in rows if f"{name}=" in row).replace("_", "")
            default = f'"{field.default}"' if isinstance(field.default, str) else str(field.default)
            assert f"{name.replace('_', '')}={default}" in said


@pytest.mark.parametrize("page", SECTIONS)
def test_links_lead_somewhere(page):
    folder = (ROOT / page).parent
    for link in re.findall(r"\]\(([^)]+)\)", section(page)):
        path, _, place = link.partition("#")
        text = (folder / path).read_text(encoding="utf-8")
        assert not place or re.search(
            rf"^#+ {place.replace('-', '[ -]')}$", text, re.MULTILINE | re.IGNORECASE
        ), link


def test_the_pages_are_ascii():
    assert all(section(page).isascii() for page in SECTIONS)
