"""The bundled text with labels is there and is what its README says."""

from __future__ import annotations

import lzma
import unicodedata
from collections import Counter

from unhot.data import udhr_path


def test_udhr() -> None:
    with lzma.open(udhr_path(), "rt", encoding="utf-8", newline="\n") as file:
        text = file.read()
    lines = text.split("\n")
    assert lines.pop() == ""
    assert len(lines) == 3_472
    assert all(line == " ".join(line.split()) for line in lines)
    assert unicodedata.is_normalized("NFC", text)
    labels, paragraphs = zip(*(line.split(" ", 1) for line in lines), strict=True)
    assert all(label.startswith("__label__") and label[9:].isalpha() for label in labels)
    assert "__label__" not in "".join(paragraphs)
    assert len(set(paragraphs)) == len(paragraphs)
    times = Counter(labels)
    assert len(times) == 60
    assert min(times.values()) > 50
    assert len(set(labels[: len(times)])) == len(set(labels[-600:])) == 60  # round the languages
    by_language = dict(zip(labels, paragraphs, strict=True))  # the last one of each
    assert by_language["__label__English"].startswith("Nothing in this Declaration may be interpreted as")
    assert by_language["__label__French"].startswith("Aucune disposition de la présente Déclaration")
    assert any(line.startswith("__label__English All human beings are born free and equal") for line in lines)
    scripts = {unicodedata.name(letter).split()[0] for letter in set("".join(paragraphs)) if letter.isalpha()}
    assert len(scripts - {"IDEOGRAPHIC"}) == 21
    assert udhr_path().stat().st_size < 400_000
