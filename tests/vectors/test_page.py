"""The examples of docs/vectors.md run, and give what the page says."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "vectors.md"


def test_examples_run(tmp_path, monkeypatch):
    pytest.importorskip("usearch")
    pytest.importorskip("ot")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(code, names)
    vectors = names["vectors"]
    assert vectors[1:3].words == ["queen", "man"]
    assert vectors.key_to_index["man"] == 2
    assert vectors.doesnt_match(["king", "queen", "man", "apple"]) == "apple"
    assert vectors.most_similar(positive=["queen", "man"], negative=["woman"], topn=1)[0][0] == "king"
    assert names["ids"].shape == (3, 2)
    assert (tmp_path / "fruit.hnsw").exists()
