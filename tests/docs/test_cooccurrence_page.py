"""What docs/cooccurrence.md says runs, and its table has every option."""

import inspect
import re
import shutil
from pathlib import Path

import pytest

from unhot.cli.main import main
from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "cooccurrence.md").read_text(encoding="utf-8")
GOLDEN = ROOT / "tests" / "golden"


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the files that the page names."""
    (tmp_path / "corpus.txt").write_bytes((GOLDEN / "fasttext_unsup_train.txt").read_bytes() * 5)
    shutil.copy(GOLDEN / "glove_shuffled.bin", tmp_path / "cooccurrence.bin")
    shutil.copy(GOLDEN / "glove_vocab.txt", tmp_path / "vocab.txt")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_runs(here):
    for block in blocks("python"):
        exec(block, {})
    with Cells.open(here / "cells") as cells:
        assert cells.settings["window"] == 10


def test_commands_run(here, capsys):
    lines = "".join(blocks("sh")).splitlines()
    assert len(lines) == 4
    for line in lines:
        with pytest.raises(SystemExit) as end:
            main(line.split()[1:])
        assert end.value.code == 0, capsys.readouterr().err
    assert (here / "ours.bin").stat().st_size % 16 == 0
    assert (here / "ours.vocab.txt").is_file()
    with Cells.open(here / "theirs") as cells:
        assert cells.settings == {"window": 15, "sides": "both"}


def test_every_option_is_in_the_table():
    for name, parameter in inspect.signature(cooccurrences).parameters.items():
        if name not in ("corpus", "directory", "progress"):
            default = (
                f'"{parameter.default}"' if isinstance(parameter.default, str) else f"{parameter.default:g}"
            )
            assert name == "seed" or f"`{name}={default}`" in PAGE, name


def test_a_sparse_matrix_of_scipy_becomes_cells():
    sparse = pytest.importorskip("scipy.sparse")
    from unhot.vocab.vocabulary import Vocabulary

    matrix = sparse.random_array((30, 30), density=0.2, rng=1, format="csr")
    matrix.sort_indices()
    cells = Cells.from_arrays(
        Vocabulary([str(i) for i in range(30)], [1] * 30), matrix.indptr, matrix.indices, matrix.data
    )
    assert cells.row_sums().tolist() == pytest.approx(matrix.sum(axis=1).tolist())
    assert cells.column_sums().tolist() == pytest.approx(matrix.sum(axis=0).tolist())
