"""The bundled text is there and is what its README says."""

from __future__ import annotations

import lzma

from unhot.data import sotu_path


def test_sotu() -> None:
    with lzma.open(sotu_path(), "rt", encoding="utf-8", newline="\n") as file:
        text = file.read()
    lines = text.split("\n")
    assert lines.pop() == ""
    assert len(lines) == 233
    assert all(line == " ".join(line.split()) and line for line in lines)
    assert len(text.split()) == 1_794_884
    assert text.startswith("Fellow-Citizens of the Senate and House of Representatives")
