"""Every quick command and snippet of README.md and docs/ runs; the tool that runs them finds what fails."""

import sys
from pathlib import Path

import pytest
from commands import plugins_forgotten

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "run_docs.py"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FEW = 15  # blocks that may be left out altogether


@pytest.fixture(scope="module")
def tool():
    sys.path.insert(0, str(TOOL.parent))
    import run_docs

    yield run_docs  # processes that it starts need the path, too
    sys.path.remove(str(TOOL.parent))


@pytest.mark.filterwarnings("ignore")  # pages are short: they leave files open
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_page_runs(page, tool):
    with plugins_forgotten():
        assert tool.run_page(page, quick=True) == []


def test_few_blocks_are_left_out(tool):
    skipped = [
        block for page in PAGES for block in tool.blocks(page.read_text("utf-8")) if "skip" in block.mark
    ]
    assert 0 < len(skipped) <= FEW


def write(folder, text):
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


@pytest.mark.parametrize("quick", [True, False])
def test_what_fails_is_found_with_its_line_and_output(tool, tmp_path, capsys, quick):
    page = write(
        tmp_path,
        """# A page

```python
number = 1
```

```sh
echo fine
echo broken \\
    && exit 3
unhot outputs no_such_layer
```

- in a list:
  ```python
  assert number == 1
  number.missing
  ```

```console
$ ls no-such-file
what it prints
```
""",
    )
    assert tool.main([*(["--quick"] if quick else []), str(page)]) == 1
    lines = capsys.readouterr().out.splitlines()
    found = [line.split("page.md:")[1] for line in lines if "exit code" in line]
    assert [line.split(":")[0] for line in found] == ["9", "11", "16", "21"]
    assert found[0].endswith("exit code 3")
    assert "broken" in lines
    assert any("no_such_layer" in line for line in lines)
    assert any(line.endswith('page.md", line 17, in <module>') for line in lines)
    assert any("no-such-file" in line and "cannot access" in line for line in lines)
    assert lines[-1] == "1 pages, 4 failures"


def test_what_is_skipped_is_listed_and_slow_blocks_wait(tool, tmp_path, capsys):
    page = write(
        tmp_path,
        "```sh skip: it needs a moon\nexit 1\n```\n```python slow\nraise ValueError\n```\n```text\nx\n```\n",
    )
    assert tool.main(["--quick", str(page)]) == 0
    assert "page.md:2: not run: it needs a moon\n" in capsys.readouterr().out
    assert tool.main([str(page)]) == 1
    assert "page.md:5: exit code 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n```sh\necho\n", 2),  # not closed
        ("```\necho\n```\n", 1),  # no language
        ("```rust\nfn\n```\n", 1),
        ("```sh later\necho\n```\n", 1),
        ("```sh skip\necho\n```\n", 1),  # no reason
    ],
)
def test_a_wrong_fence_is_an_error(tool, text, line):
    with pytest.raises(tool.PageError, match=f"line {line}: "):
        tool.blocks(text)


def test_a_page_has_the_files_that_it_names(tool, tmp_path):
    (tmp_path / "beside.py").write_text("here = True\n")
    page = write(
        tmp_path,
        """`vocab.txt`, but not my-words.txt

```sh
test -s corpus.txt
test -s beside.py
test -s vocab.txt
test $(ls | wc -l) = 3
```

```python
import beside

assert beside.here
```
""",
    )
    assert tool.run_page(page, quick=False) == []
