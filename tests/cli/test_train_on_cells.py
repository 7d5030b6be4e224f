"""`unhot train --on cells`: what is kept, and what it goes on from."""

import numpy as np
import pytest
from commands import run

import unhot
from unhot.corpus.cells import Cells

RNG = np.random.default_rng(3)
LINES = [" ".join(f"w{i}" for i in RNG.zipf(1.5, 30) % 40) for _ in range(200)]
SMALL = ("--dim", 5, "--epochs", 2, "--output", "softmax")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("on_cells")
    (folder / "t.txt").write_text("\n".join(LINES))
    how = ("--on", "cells", *SMALL, "--window", 2, "--threads", 100, "--corpus-dir", folder / "kept")
    trained = run("train", folder / "t.txt", "-o", folder / "m", *how)
    assert trained.returncode == 0, trained.stderr
    assert "cells of" in trained.stderr
    return folder


def test_cells_are_kept(folder):
    with Cells.open(folder / "kept" / "cells") as cells:
        assert (cells.settings["window"], cells.settings["weights"], cells.settings["sample"]) == (
            2,
            "dynamic",
            0.001,
        )
    again = run("train", folder / "kept" / "cells", "-o", folder / "again", "--on", "cells", *SMALL)
    assert again.returncode == 0, again.stderr
    assert "window=2: the cells were counted with it, not with 5" in again.stderr
    files = [(folder / name / "v1" / "model.safetensors").read_bytes() for name in ("m", "again")]
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("first", "on", "lr"), [("m", "text", unhot.SkipGram.default_lr), ("t", "cells", 0.05), ("m", None, 0.05)]
)
def test_going_on_in_another_way_has_another_rate(folder, first, on, lr):
    if first == "t":
        assert run("train", folder / "t.txt", "-o", folder / "t", *SMALL, "--quiet").returncode == 0
    chosen = () if on is None else ("--on", on)
    went_on = run(
        "train",
        folder / "t.txt",
        "-o",
        folder / f"{first}{on}",
        "--start",
        folder / first,
        *chosen,
        "--threads",
        1,
        "--quiet",
    )
    assert went_on.returncode == 0, went_on.stderr
    assert unhot.load(folder / f"{first}{on}").lr == lr
