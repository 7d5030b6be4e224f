"""Lists of phrases on disk."""

import json
import math
import os
import re

import pytest

from unhot.corpus.phrases import Phrases
from unhot.errors import DataError, FormatError

NEW_YORK = [
    ["new", "york", "times"],
    ["the", "new", "york", "times"],
    ["new", "york"],
    ["new", "house"],
    ["old", "times"],
] * 3


def test_saved_and_loaded(tmp_path):
    path = tmp_path / "phrases.json"
    phrases = Phrases(min_count=1, threshold=[2.5, 2.4], connectors=["the"], delimiter="~", target=99).fit(
        NEW_YORK
    )
    phrases.save(path)
    again = Phrases.load(path)
    assert again.found == phrases.found
    assert again.phrases == phrases.phrases
    assert again.transform(["new", "york", "times"]) == ["new~york~times"]
    assert (again.thresholds, again.inside, again.target, again.min_count) == ((2.5, 2.4), {"the"}, 99, 1)
    assert [entry.name for entry in tmp_path.iterdir()] == ["phrases.json"]
    empty = Phrases().fit(NEW_YORK)
    empty.save(path)
    assert Phrases.load(path).phrases == []


GOOD = {"unhot": "phrases", "version": 1, "settings": {"passes": 1}, "passes": [[[["a", "b"], 1.5, 2]]]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff", "byte 0: is not UTF-8"),
        (b"{", "byte 1: is not valid JSON"),
        (b"[" * 100_000, "is not valid JSON"),
        (b"[]", '"unhot": "phrases" is missing'),
        ({**GOOD, "version": 2}, "version 2: this unhot reads version 1"),
        ({**GOOD, "settings": None}, "settings or passes are missing"),
        ({**GOOD, "passes": [3]}, "settings or passes are missing"),
        ({**GOOD, "passes": []}, "phrases of 0 passes, but settings of 1"),
        ({**GOOD, "settings": {"score": "x"}}, "score='x'"),
        ({**GOOD, "settings": {"colour": 1}}, "colour"),
        *(
            ({**GOOD, "passes": [[entry]]}, "pass 1: ")
            for entry in (3, [["a"], 1, 2], [["a", 3], 1, 2], ["ab", 1, 2])
        ),
        *(
            ({**GOOD, "passes": [[[["a", "b"], *numbers]]]}, "pass 1: ")
            for numbers in ((1, 0), (1, 1.5), (math.nan, 2), (1, True), ("1", 2))
        ),
        (
            {**GOOD, "passes": [[[["a", "b", "c"], 1, 2]]]},
            "must be two words with only connectors between them",
        ),
    ],
)
def test_damaged_files(tmp_path, content, message):
    path = tmp_path / "phrases.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    with pytest.raises(FormatError, match=re.escape(message)):
        Phrases.load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_pipes_and_links_stay(tmp_path):
    phrases = Phrases(min_count=1, threshold=0).fit(NEW_YORK)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="is not a regular file"):
        phrases.save(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    phrases.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert Phrases.load(tmp_path / "target").found == phrases.found
    assert b"\r" not in (tmp_path / "target").read_bytes()


def test_files_that_cannot_be(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        Phrases.load(tmp_path / "none")
    (tmp_path / "good").write_text(json.dumps(GOOD))
    for folder in ("none", "good"):
        with pytest.raises(DataError, match="cannot be written"):
            Phrases().fit(NEW_YORK).save(tmp_path / folder / "file")
    assert Phrases.load(tmp_path / "good").phrases == [("a_b", 1.5, 2)]
