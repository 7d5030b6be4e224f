"""Formats of several files: if the disk is full, all old files are as they were."""

import errno

import numpy as np
import pytest

import unhot
from unhot.errors import DataError
from unhot.vectors.formats import npy, projector


@pytest.mark.parametrize(("module", "name"), [(npy, "x.npy"), (projector, "x.tsv")])
def test_a_full_disk_leaves_old_words_with_old_vectors(module, name, tmp_path, monkeypatch):
    words = ["a", "b", "c"]
    vectors = np.eye(3, dtype=np.float32)
    unhot.Vectors(words, vectors).save(tmp_path / name)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(rows):
        yield 0, rows[:1]
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "blocks", full)
    with pytest.raises(DataError, match="what was there before is untouched"):
        unhot.Vectors(words[::-1], vectors).save(tmp_path / name)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
