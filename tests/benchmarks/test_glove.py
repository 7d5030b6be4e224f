"""Counts are compared with a file of records; a folder without the programs is refused."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest
from glove import built
from harness import child

from unhot.corpus.cells import Cells
from unhot.vocab.vocabulary import Vocabulary

RECORDS = [(1, 2, 0.5), (2, 1, 0.5), (2, 3, 4.0), (3, 2, 4.0)]


def compare(
    folder: Path, records: list[tuple[int, int, float]], words: str = "a 9\nb 5\nc 2\n"
) -> dict[str, object]:
    """Cells a-b 0.5 and b-c 4.0 beside other ones."""
    Cells.from_arrays(
        Vocabulary(["a", "b", "c"], [9, 5, 2]),
        [0, 1, 3, 4],
        [1, 0, 2, 1],
        [0.5, 0.5, 4.0, 4.0],
        directory=folder / "ours",
    )
    np.array(records, [("row", "<i4"), ("column", "<i4"), ("value", "<f8")]).tofile(folder / "theirs.bin")
    (folder / "vocab.txt").write_text(words, encoding="utf-8")
    files = {"ours": folder / "ours", "theirs": folder / "theirs.bin", "vocabulary": folder / "vocab.txt"}
    return child("compare_cells", {name: str(path) for name, path in files.items()})[1]


def test_the_largest_difference_is_found(tmp_path: Path) -> None:
    answer = compare(tmp_path, [*RECORDS[:3], (3, 2, 4.0004)])
    assert (answer["same_words"], answer["same_cells"]) == (True, True)
    assert answer["largest_difference"] == pytest.approx(1e-4)


@pytest.mark.parametrize(
    "records", [RECORDS[:3], [*RECORDS[:3], (3, 1, 4.0)], [(1, 2, 0.5), (1, 3, 0.5), *RECORDS[2:]]]
)
def test_other_cells_are_seen(tmp_path: Path, records: list[tuple[int, int, float]]) -> None:
    assert compare(tmp_path, records) == {"same_words": True, "same_cells": False, "largest_difference": None}


def test_other_words_are_seen(tmp_path: Path) -> None:
    assert compare(tmp_path, RECORDS, "a 9\nc 5\nb 2\n") == {
        "same_words": False,
        "same_cells": False,
        "largest_difference": None,
    }


def test_a_folder_without_the_programs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "glove").touch()
    with pytest.raises(
        argparse.ArgumentTypeError, match="no vocab_count, cooccur, shuffle there; give the folder"
    ):
        built(str(tmp_path))
