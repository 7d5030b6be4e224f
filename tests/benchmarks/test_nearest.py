"""The overlap counts words, whatever their order."""

from __future__ import annotations

from pathlib import Path

from grids import soak_only
from harness import child
from nearest import nearest_by_ppmi, overlap

LINES = [["cat", "sat", "mat"], ["dog", "sat", "mat"], ["cat", "ate", "fish"], ["dog", "ate", "fish"]] * 5


def test_overlap() -> None:
    theirs = {"a": ["b", "c"], "b": ["a", "c"]}
    assert overlap({"a": ["c", "b"], "b": ["c", "a"]}, theirs) == 100
    assert overlap({"a": ["b", "x"], "b": ["x", "y"]}, theirs) == 25
    assert overlap({}, {}) == 0


@soak_only
def test_ppmi_beside_vectors_of_the_same_words(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(" ".join(line) for line in LINES), encoding="utf-8")
    theirs = nearest_by_ppmi(text, 1, 1)
    assert set(theirs) == {"cat", "sat", "mat", "dog", "ate", "fish"}
    assert theirs["cat"][0] == "dog"
    (tmp_path / "vectors.txt").write_text(
        "6 2\ncat 1 0\ndog 1 .1\nsat -1 0\nmat -1 .1\nate 0 1\nfish 0 -1\n", encoding="utf-8"
    )
    job = {"vectors": str(tmp_path / "vectors.txt"), "analogies": "", "wordsim": "", "simlex": ""}
    answer = child("score_vectors", {**job, "asked": list(theirs)})[1]
    assert answer["nearest"]["cat"][0] == "dog"
    assert overlap(theirs, theirs) == 100
    assert overlap(answer["nearest"], theirs) == 100  # there are no other words
