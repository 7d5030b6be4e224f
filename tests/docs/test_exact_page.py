"""What docs/exact.md shows runs, on a part of the bundled text."""

import lzma
import re
from itertools import islice
from pathlib import Path

import pytest

from unhot import data, load
from unhot.cli.main import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "exact.md"


@pytest.fixture
def here(tmp_path, monkeypatch):
    with lzma.open(data.sotu_path(), "rt", encoding="utf-8") as lines:
        text = "".join(islice(lines, 10)).lower()
    (tmp_path / "corpus.txt").write_text(" ".join(re.findall(r"[a-z]+", text)) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_of_the_page_runs(here):
    losses = []
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        names = {}
        exec(block, names)
        losses.append(names["model"].history.losses)
    assert len(losses) == 2
    assert all(len(each) == 30 and each[-1] < each[0] for each in losses)


def test_the_shell_of_the_page_runs(here):
    [line] = re.findall(r"^unhot (train .*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    with pytest.raises(SystemExit) as end:
        main([*line.split(), "--quiet"])
    assert not end.value.code
    model = load("model")
    assert (model.on, model.lr, model.layer.spec()) == ("cells", 0.05, "softmax:bias=true,chunk=4096")
    assert len(model.history.losses) == 30
