"""Links and pictures of the pages lead somewhere, and tables of settings are complete."""

import dataclasses
import inspect
import re
from pathlib import Path

import click
import pytest

import unhot
from unhot.cli.main import group
from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.corpus.phrases.phrases import ENGLISH, Phrases
from unhot.vocab.vocabulary import Vocabulary

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
DRAWN = ("architecture.md", "counts.md")  # pages with a drawing, whose lines are not ASCII


def text(page):
    return (ROOT / page).read_text(encoding="utf-8")


def section(page, heading):
    return re.search(rf"\n## {heading}\n(.*?)(\n## |$)", text(page), re.DOTALL).group(1)


def slug(heading):
    """A heading as the place that a link names."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def options(command):
    command = group.commands[command]
    params = command.get_params(click.Context(command))
    return {option for param in params for option in param.opts}


def written(default):
    return f'"{default}"' if isinstance(default, str) else str(default)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    content = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)]+)\)", content):
        path, _, place = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        if place:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert place in map(slug, headings), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_are_ascii_but_for_drawings(page):
    assert page.name in DRAWN or page.read_text(encoding="utf-8").isascii()


def test_the_readme_shows_one_picture_and_one_table():
    readme = text("README.md")
    assert readme.count("![") == 1
    assert len(re.findall(r"^\|[ :|-]+\|$", readme, re.MULTILINE)) == 1
    assert "`make test`" in readme


def test_every_page_is_in_the_list():
    listed = text("docs/README.md")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"]({page.name})" in listed, page.name


def test_every_setting_of_glove_and_svd_is_in_a_table():
    rows = dict(
        re.findall(
            r"^\| `(\w+=[^`]*)` \| `(--[\w-]+)` \|",
            section("docs/training.md", "Models of counts: GloVe, SVD"),
            re.MULTILINE,
        )
    )
    assert set(rows.values()) <= options("train")
    shared = {field.name: field.default for field in dataclasses.fields(unhot.SkipGram)}
    for model in (unhot.GloVe, unhot.SVD):
        for field in dataclasses.fields(model):
            if field.name not in shared or shared[field.name] != field.default:
                assert rows[f"{field.name}={written(field.default)}"] == f"--{field.name.replace('_', '-')}"


def test_every_setting_of_fasttext_is_in_the_table():
    plain = {field for model in (unhot.SkipGram, unhot.CBOW) for field in model.__dataclass_fields__}
    rows = re.findall(r"^\| `(.*?) \|", section("docs/training.md", "Words made of n-grams"), re.MULTILINE)
    for name, field in unhot.FastText.__dataclass_fields__.items():
        if name not in plain:
            said = next(row for row in rows if f"{name}=" in row).replace("_", "")
            assert f"{name.replace('_', '')}={written(field.default)}" in said


def test_every_option_of_counting_is_in_the_table():
    page = text("docs/cooccurrence.md")
    for name, parameter in inspect.signature(cooccurrences).parameters.items():
        if name not in ("corpus", "directory", "progress", "seed"):
            default = parameter.default
            value = f'"{default}"' if isinstance(default, str) else f"{default:g}"
            assert f"`{name}={value}`" in page, name


def test_every_setting_of_phrases_is_in_the_table():
    page = text("docs/phrases.md")
    for field in dataclasses.fields(Phrases):
        assert re.search(rf"^\| .*`{field.name}`.* \|", page, re.MULTILINE), field.name
    assert {f"--{field.name.replace('_', '-')}" for field in dataclasses.fields(Phrases)} <= options(
        "phrases"
    )
    assert " ".join(sorted(ENGLISH)) in page


def test_the_long_command_of_glove_is_the_default():
    """So the page may leave its settings out."""
    page = text("docs/moving-from-glove.md").replace("\\\n", " ")
    first = re.search(r"```sh\n(.*?)\n", page).group(1).split()
    given = dict(zip(first[5::2], first[6::2], strict=True))
    plain = unhot.GloVe().config()
    assert given.pop("--model") == "glove"
    assert given.pop("--memory") == "4GB"
    for option, value in given.items():
        assert plain[option[2:].replace("-", "_")] == float(value), option


def test_the_options_beside_those_of_glove_are_there():
    """With their defaults; the defaults of GloVe's programs are not asked for."""
    table = section("docs/moving-from-glove.md", "Options")
    known, plain = options("cooccur") | options("train"), unhot.GloVe().config()
    cells = "\n".join(row.split("|")[2] for row in table.splitlines() if row.startswith("| `"))
    found = re.findall(r"`(--[a-z-]+)(?: ([^`]+))?`", cells)
    assert len(found) > 15
    for option, value in found:
        assert option in known, option
        name = option[2:].replace("-", "_")
        if value and name in plain and name not in ("combine", "max_vocab"):
            default = plain[name]
            assert default == (value if isinstance(default, str) else float(value)), option


def test_a_sparse_matrix_of_scipy_becomes_cells():
    """As docs/cooccurrence.md says."""
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.random_array((30, 30), density=0.2, rng=1, format="csr")
    matrix.sort_indices()
    vocabulary = Vocabulary([str(i) for i in range(30)], [1] * 30)
    cells = Cells.from_arrays(vocabulary, matrix.indptr, matrix.indices, matrix.data)
    assert cells.row_sums().tolist() == pytest.approx(matrix.sum(axis=1).tolist())
    assert cells.column_sums().tolist() == pytest.approx(matrix.sum(axis=0).tolist())
