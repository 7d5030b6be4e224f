"""All tools must get the same words."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
import text
from hypothesis import given
from hypothesis import strategies as st


@given(st.text(alphabet="ab\u00e9 \t\n\r\0\u00a0"), st.integers(1, 9), st.integers(1, 4))
def test_sentences(source: str, chunk: int, limit: int) -> None:
    expected = []
    for line in source.replace("\0", " ").split("\n"):
        words = line.split()
        expected += [words[i : i + limit] for i in range(0, len(words), limit)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "LINE_WORDS", limit)
        assert list(text.sentences(io.StringIO(source, newline="\n"), str.split, chunk)) == expected


def test_prepare_unpacks_and_counts(tmp_path: Path) -> None:
    source = tmp_path / "news.txt.gz"
    source.write_bytes(gzip.compress("\ufeffone two\n\n  three\u00a0four\0five\n".encode()))
    (tmp_path / "out").mkdir()
    done = text.prepare(source, tmp_path / "out")
    assert (done.name, done.words, done.bytes) == ("news", 5, 24)
    assert done.path.read_bytes() == b"one two\nthree four five\n"


def test_the_bundled_text_is_cut_at_the_limit(tmp_path: Path) -> None:
    done = text.prepare(None, tmp_path, limit=50_000)
    content = done.path.read_text(encoding="utf-8")
    assert 50_000 <= done.bytes == len(content.encode()) < 60_000
    assert content == content.lower()
    assert len(content.split()) == done.words


def test_a_text_without_words_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "blank.txt"
    source.write_text(" \n\n")
    (tmp_path / "out").mkdir()
    with pytest.raises(SystemExit, match="no words"):
        text.prepare(source, tmp_path / "out")
