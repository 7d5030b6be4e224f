"""Phrases on disks that are full, and files that others may not lose."""

import errno
import io
import os
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from unhot.corpus.encoding import encode
from unhot.corpus.phrases import Phrases, joining
from unhot.corpus.phrases import joining as phrase_joining
from unhot.corpus.phrases import pair_counts as phrase_counts
from unhot.corpus.phrases import phrases as phrases_module
from unhot.errors import DataError

NEW_YORK = [
    ["new", "york", "times"],
    ["the", "new", "york", "times"],
    ["new", "york"],
    ["new", "house"],
    ["old", "times"],
] * 3


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_explained(tmp_path, monkeypatch):
    phrases = Phrases(min_count=1, threshold=[0, 0], connectors=["the"])
    with encode(NEW_YORK, min_count=1) as corpus:
        phrases.fit(corpus)
        sink = mock.Mock()
        sink.write.side_effect = full
        with pytest.raises(DataError, match="disk full: there is no room for the joined text"):
            phrases.write(corpus, sink)
        sink.write.side_effect = BrokenPipeError
        with pytest.raises(BrokenPipeError):
            phrases.write(corpus, sink)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        calls = (
            phrases.fit,
            lambda text: phrases.encode(text, directory=tmp_path / "kept"),
            lambda text: phrases.write(text, io.BytesIO()),
        )
        for place, name in ((phrase_joining.ShardWriter, "append"), (phrase_counts._Prefixes, "extend")):
            with monkeypatch.context() as patch:
                patch.setattr(place, name, full)
                for call in calls if name == "append" else calls[:1]:
                    message = "text with phrases needs more than the .* .B there: make room"
                    with pytest.raises(DataError, match=f"disk full: the {message}"):
                        call(corpus)
    assert not list(tmp_path.iterdir())


def test_files_are_written_before_they_are_mapped(monkeypatch):
    """What is mapped has no holes: to fill them on a full disk would end the process."""
    mapped, memmap = [], np.memmap

    def watched(path, kind, mode, **how):
        mapped.append((mode, Path(path).suffix, Path(path).stat().st_size))  # an error if it is not there
        return memmap(path, kind, mode, **how)

    with encode(NEW_YORK, min_count=1) as corpus:
        monkeypatch.setattr(np, "memmap", watched)
        found = Phrases(min_count=1, threshold=0, connectors=["the"]).fit(corpus).found
        assert mapped == [("r+", ".lefts", 4 * corpus.ids), ("r", ".lefts", 4 * corpus.ids)]
    monkeypatch.undo()
    assert found == Phrases(min_count=1, threshold=0, connectors=["the"]).fit(NEW_YORK).found


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs Linux")
def test_nothing_is_mapped_when_it_is_removed(monkeypatch):
    """Windows removes no file that is mapped."""
    removed = []

    class Watched(joining.JoiningPlace):
        def __exit__(self, *error):
            assert str(self.work) not in Path("/proc/self/maps").read_text()
            removed.append(self.work)
            super().__exit__(*error)

    monkeypatch.setattr(phrases_module, "JoiningPlace", Watched)
    with encode(NEW_YORK, min_count=1) as corpus:
        phrases = Phrases(min_count=1, threshold=[0, 0], connectors=["the"]).fit(corpus)
        phrases.encode(corpus, min_count=1).close()
        assert phrases.write(corpus, io.BytesIO()) < corpus.ids
    assert len(removed) == 3


def test_text_with_blanks_in_words_is_not_written():
    text = [["new york", "city"]] * 9
    phrases = Phrases(min_count=1, threshold=0).fit(text)
    assert phrases.transform(["new york", "city"]) == ["new york_city"]
    with pytest.raises(DataError, match="'new york' contains white space"):
        phrases.write(text, io.BytesIO())
