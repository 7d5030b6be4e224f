"""What docs/counts.md shows runs, on a part of the bundled text."""

import lzma
import re
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from unhot import Vectors, data
from unhot.cli.main import main
from unhot.corpus.cells import Cells

PAGE = Path(__file__).resolve().parents[2] / "docs" / "counts.md"


@pytest.fixture
def here(tmp_path, monkeypatch):
    with lzma.open(data.sotu_path(), "rt", encoding="utf-8") as lines:
        text = "".join(islice(lines, 30)).lower()
    (tmp_path / "corpus.txt").write_text(" ".join(re.findall(r"[a-z]+", text)) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_of_the_page_runs(here, capsys):
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        exec(block, names)
    assert Vectors.load("model").most_similar("war") == names["model"].vectors.most_similar("war")
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "soldiers",
        "treaty",
        "nation",
    ]
    assert len(Cells.open("ppmi")) == len(names["ppmi"]) < len(names["cells"])
    assert 0 < names["vectors"].similarity("war", "peace") < 1
    assert names["words"].shape == (len(names["corpus"].vocabulary), 50)
    np.testing.assert_allclose(names["factors"].s[:5], names["model"].singular_values[:5], rtol=1e-3)
    names["corpus"].close()


def test_commands_of_the_page_run(here, capsys):
    lines = "".join(re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)).splitlines()
    assert len(lines) == 2
    for line in lines:
        program, *arguments = line.split()
        assert program == "unhot"
        with pytest.raises(SystemExit) as end:
            main(arguments)
        assert end.value.code == 0, capsys.readouterr().err
    shown = capsys.readouterr().out.splitlines()
    found = Vectors.load("model").most_similar("war")[0][0]
    assert any(found in line.split() for line in shown)


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", PAGE.read_text(encoding="utf-8"))
    assert links
    for link in links:
        assert (PAGE.parent / link).is_file(), link
