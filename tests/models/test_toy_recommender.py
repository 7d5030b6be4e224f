"""The toy recommender of the docs: its page shows the file, and it is the one that tests of plugins use."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOY = ROOT / "docs" / "models" / "toy_recommender.py"


def test_the_page_shows_the_file():
    page = (TOY.parent / "writing-your-own.md").read_text("utf-8")
    assert f"```python\n{TOY.read_text('utf-8')}```" in page


def test_it_is_the_plugin_of_the_tests():
    assert TOY.read_text("utf-8") == (ROOT / "tests/helpers/plugins/toy_recommender.py").read_text("utf-8")
