"""The toy tower of the docs, which tests of plugins train: its page shows the file."""

from pathlib import Path

TOY = Path(__file__).resolve().parents[2] / "docs" / "models" / "toy_tower.py"


def test_the_page_shows_the_file():
    page = (TOY.parent / "writing-your-own.md").read_text("utf-8")
    assert f"```python\n{TOY.read_text('utf-8')}```" in page
