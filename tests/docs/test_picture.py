"""docs/seconds.svg is what tools/make_picture.py makes of the measurements."""

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("make_picture", ROOT / "tools" / "make_picture.py")
tool = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tool)


def test_the_picture_is_fresh(capsys):
    code = tool.main(["--check"])
    assert code == 0, capsys.readouterr().err


def test_the_check_can_fail(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tool, "PICTURE", tmp_path / "seconds.svg")
    tool.main([])
    assert tool.main(["--check"]) == 0
    tool.PICTURE.write_text("<svg/>\n")
    assert tool.main(["--check"]) == 1
    assert "run: python tools/make_picture.py" in capsys.readouterr().err


def test_every_pair_has_two_bars_and_their_times():
    svg = ElementTree.fromstring(tool.picture())
    bars = [rect for rect in svg.findall("{*}rect") if rect.get("rx")]
    labels = [text.text for text in svg.findall("{*}text")]
    assert len(bars) == 2 * len(tool.PAIRS)
    for pair in tool.PAIRS:
        assert tool.seconds(pair, "unhot") < tool.seconds(pair, pair.tool)
        assert any(label.startswith(f"{pair.other} ") for label in labels)
