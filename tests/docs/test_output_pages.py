"""docs/outputs is what tools/make_output_pages.py makes of the layers."""

import functools
import importlib.util
import re
import shutil
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from unhot.outputs import LAYERS, parse_output

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "outputs"
PAGES = sorted(FOLDER.glob("*.md"))

_spec = importlib.util.spec_from_file_location("make_output_pages", ROOT / "tools" / "make_output_pages.py")
tool = importlib.util.module_from_spec(_spec)
_path = list(sys.path)
_spec.loader.exec_module(tool)
sys.path[:] = _path


@pytest.fixture(scope="module", autouse=True)
def made_once():
    """Every page takes a training: one is enough for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tool, "pages", functools.cache(tool.pages))
        yield


def test_the_pages_are_fresh(capsys):
    code = tool.main(["--check"])
    assert code == 0, capsys.readouterr().err
    assert {path.stem for path in PAGES} == {"README", "writing-your-own", *tool._layers()}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The pages as the tool writes them, and one that it leaves alone."""
    folder = tmp_path_factory.mktemp("pages")
    tool.main([], folder)
    (folder / "by-hand.md").write_text("# Mine\n")
    assert tool.main(["--check"], folder) == 0
    return folder


def test_the_check_can_fail(written, tmp_path, capsys):
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    page = tmp_path / "nce.md"
    (tmp_path / "gone.md").write_text(page.read_text())
    page.write_text(page.read_text().replace("25", "26"))
    (tmp_path / "README.md").unlink()
    assert tool.main(["--check"], tmp_path) == 1
    *found, advice = capsys.readouterr().err.splitlines()
    for told in ("README.md: missing", "gone.md: left over", "nce.md: differs"):
        assert any(told in line for line in found)
    assert (len(found), "make_output_pages.py" in advice) == (3, True)
    tool.main([], tmp_path)
    assert tool.main(["--check"], tmp_path) == 0
    assert not (tmp_path / "gone.md").exists()
    assert (tmp_path / "by-hand.md").exists()


def test_wrong_usage_changes_nothing(tmp_path):
    assert tool.main(["--chek"], tmp_path) == 2
    assert not list(tmp_path.iterdir())


def test_a_docstring_is_taken_to_pieces():
    text = """Toy: a thing.

Some *words*
and `a*b`:

    L = a*b
        + c

Converges to  s -> P(w | h)
              and more.
Cost          none. Really."""
    assert tool.read(text) == (
        "Toy",
        "a thing",
        "Some \\*words\\*\nand `a*b`:\n\n```text\nL = a*b\n    + c\n```",
        {"Converges to": "s -> P(w | h) and more.", "Cost": "none. Really."},
    )
    with pytest.raises(SystemExit, match="neither a label"):
        tool.read("Toy.\n\nCost  none.\nwithout a label")


@pytest.mark.parametrize("name", sorted(tool._layers()))
def test_examples_are_specs_that_change_something(name):
    example = parse_output(tool.example(LAYERS[name]))
    assert type(example) is LAYERS[name]
    assert example != parse_output(name)


def rendered(path):
    """What a reader sees: text of paragraphs and cells, and code blocks."""
    tokens = MarkdownIt().enable("table").parse(path.read_text())
    lines = [
        "".join(" " if part.type == "softbreak" else part.content for part in token.children)
        for token in tokens
        if token.children
    ]
    text = [" ".join(line.split()) for line in lines]
    return (
        text,
        [token.content for token in tokens if token.type == "fence"],
        {token.type for token in tokens},
    )


@pytest.mark.parametrize("name", sorted(tool._layers()))
def test_a_reader_sees_all_of_the_docstring(name):
    """Nothing is lost to Markdown: facts are cells, paragraphs paragraphs, formulas blocks, as written."""
    docstring = sys.modules[LAYERS[name].__module__].__doc__
    text, code, kinds = rendered(FOLDER / f"{name}.md")
    facts = tool.read(docstring).facts
    assert {"Converges to", "Limits", "Cost", "Normalised", "Wins", "Reference"} <= set(facts)
    assert all(text.count(fact.replace("`", "")) == 1 for fact in facts.values())
    assert all(setting.meaning in text for setting in tool.settings_of(LAYERS[name]))
    assert not kinds & {"bullet_list_open", "ordered_list_open", "blockquote_open", "code_block"}
    indented = [line for line in docstring.splitlines() if re.match(" {4}(?! {8})", line)]
    assert indented
    assert "\n".join(line[4:] for line in indented) in "\n".join(code).replace("\n\n", "\n")
    paragraphs = [
        " ".join(block.split()).replace("`", "")
        for block in docstring.strip().split("\n\n")[1:-1]
        if block[0] != " "
    ]
    assert set(paragraphs) <= set(text)


@pytest.mark.parametrize("name", sorted(tool._layers()))
def test_pages_say_what_trains_a_layer(name):
    compiled = LAYERS[name].compiled
    text, code, _ = rendered(FOLDER / f"{name}.md")
    assert (tool.TORCH_ONLY in text) != compiled
    assert all(("engine" in block) != compiled for block in code[-2:])
    row = next(
        line for line in (FOLDER / "README.md").read_text().splitlines() if line.startswith(f"| [`{name}`]")
    )
    assert row.split(" | ")[1] == ("compiled, torch" if compiled else "torch")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_are_ascii_and_their_links_lead_somewhere(path):
    text = path.read_text(encoding="utf-8")
    assert text.isascii()
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    for link in links:
        assert (path.parent / link).exists(), link


def test_the_layer_of_the_guide_is_the_file_beside_it():
    _, code, _ = rendered(FOLDER / "writing-your-own.md")
    assert code[0] == (FOLDER / "toy_layer.py").read_text()
