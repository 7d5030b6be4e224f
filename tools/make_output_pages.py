"""Make docs/outputs from the docstrings and settings of the output layers.

A page for each, and README.md with a table of all.

    python tools/make_output_pages.py            write the pages
    python tools/make_output_pages.py --check    change nothing; exit 1 and name the pages that are not what
                                                 they should be

A docstring has a first line ("Name: what it is."), paragraphs, formulas (indented by 4) and facts ("Label"
and its text behind two or more spaces). Pages in that folder that do not carry the mark are written by hand,
and left alone.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from unhot.cli.outputs import TORCH_ONLY, Setting, default_spec, documentation, settings_of
from unhot.outputs import LAYERS, OutputLayer

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "outputs"
MARK = "<!-- Made by tools/make_output_pages.py from"
FACT = re.compile(r"(?P<label>[A-Z][a-z]+(?: [a-z]+)?) {2,}(?P<text>\S.*)")
OVERVIEW = ("Converges to", "Normalised", "Cost", "Wins")  # facts in the table of all layers
INTRODUCTION = """
An output layer turns a hidden vector into probabilities of words, most of them without the full softmax over
a big vocabulary. Choose one by name: `output="nce:k=50"` in Python, `--output nce:k=50` in the shell.
Settings that you do not name keep their defaults. Every model takes every layer, except that fasttext needs a
layer with a compiled kernel. `unhot outputs` shows the same facts in a terminal. All layers work in PyTorch.
Layers that make sense only with batches or with projections have no compiled kernel and train with
`engine="torch"` only.

Every layer is a small file with its formula and a float64 reference. Tests compare its kernel with the
reference, gradient by gradient. Under every layer `model.head` has `log_prob`, `topk` and `sample`,
normalised exactly, so perplexities of different layers compare fairly:
[comparing output layers](../comparing-outputs.md).

In all formulas h is the hidden vector of an input, o_w the output vector of word w, s(w) = h.o_w (plus a
bias, with `bias=true`) its score, t the target, V the number of words, P(w | h) the true probability; K(h) is
any number that does not depend on the word.
"""
OUTRO = "A layer of your own is one file: [writing your own](writing-your-own.md)."


class Document(NamedTuple):
    """A docstring in parts."""

    title: str
    what: str  # the rest of the first line; may be empty
    body: str  # Markdown
    facts: dict[str, str]


def read(text: str) -> Document:
    """Take a docstring to pieces."""
    first, *blocks = re.split(r"\n(?:[ ]*\n)+", text.strip())
    title, _, what = first.rstrip(".").partition(": ")
    facts: dict[str, str] = {}
    body = []
    for block in blocks:
        if FACT.match(block):
            facts.update(_facts(block))
        elif block.startswith("    "):
            body.append(f"```text\n{textwrap.dedent(block)}\n```")
        else:
            body.append(_prose(block))
    return Document(title, what, "\n\n".join(body), facts)


def _facts(block: str) -> dict[str, str]:
    """Labels and their texts; a line that begins with spaces goes on with the text before it."""
    facts: dict[str, str] = {}
    label = ""
    for line in block.splitlines():
        if not line.startswith(" "):
            found = FACT.fullmatch(line)
            if found is None:
                raise SystemExit(f"neither a label nor the rest of one: {line!r}")
            label, line = found["label"], found["text"]
        facts[label] = f"{facts[label]} {line.strip()}" if label in facts else line
    return facts


def _prose(text: str) -> str:
    """Text that Markdown leaves alone; code between backticks stays code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*<\[\]])", r"\\\1", part) for part in parts)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _table(header: list[str], rows: list[list[str]]) -> str:
    return "\n".join(
        [_row(*header), _row(*["---"] * len(header)).replace(" ", ""), *(_row(*row) for row in rows)]
    )


def example(layer: type[OutputLayer]) -> str:
    """A spec that changes k, or the first setting of its own for which another value is evident."""
    own = layer.__annotations__
    for setting in sorted(settings_of(layer), key=lambda each: (each.name != "k", each.name not in own)):
        other = _other_value(setting)
        if other is not None:
            return f"{layer.name}:{setting.name}={other}"
    return layer.name


def _other_value(setting: Setting) -> str | None:
    if setting.type == "bool":
        return {"true": "false", "false": "true"}[setting.default or "false"]
    if setting.type == "int":
        return str(2 * int(setting.default or 1))
    first, *others = setting.meaning.split(" | ")
    choices = [first.rpartition(": ")[2], *others] if others else []
    return next((choice for choice in choices if choice.isidentifier() and choice != setting.default), None)


def page(layer: type[OutputLayer]) -> str:
    """The page of one layer."""
    document, source = read(documentation(layer)), f"{layer.__module__.replace('.', '/')}.py"
    settings = [
        [f"`{s.name}`", s.type, "-" if s.default is None else f"`{s.default}`", _prose(s.meaning)]
        for s in settings_of(layer)
    ]
    engine, option = ("", "") if layer.compiled else (', engine="torch"', " --engine torch")
    slow = "" if layer.compiled else " slow"  # see tools/run_docs.py
    parts = [
        f"{MARK} {source}: change that file, then run the tool again. -->",
        f"# {document.title}",
        f"`{layer.name}`, [{source}](../../{source}) ([all layers](README.md))",
        *([f"{_prose(document.what[0].upper() + document.what[1:])}."] if document.what else []),
        *([TORCH_ONLY] if not layer.compiled else []),
        document.body,
        _table(["", ""], [[f"**{label}**", _prose(text)] for label, text in document.facts.items()]),
        "## Settings",
        _table(["setting", "type", "default", "meaning"], settings) if settings else "None.",
        "## Examples",
        "With its defaults written out:",
        f"```text\n{default_spec(layer)}\n```",
        "```python\nimport unhot\n\nmodel = "
        f"unhot.SkipGram(output=\"{example(layer)}\"{engine}).fit(\"corpus.txt\")\n"
        "model.predict_word([\"good\"])  # the words most likely beside it, with their probabilities\n```",
        f"```sh{slow}\nunhot train corpus.txt -o model --output {example(layer)}{option}\n```",
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def index() -> str:
    """The page of all layers."""
    documents = {name: read(documentation(layer)) for name, layer in _layers().items()}
    rows = []
    for name, document in documents.items():
        missing = [label for label in OVERVIEW if label not in document.facts]
        if missing:
            raise SystemExit(f"{name}: its docstring does not say: {', '.join(missing)}")
        # the first of each
        sentences = [re.split(r"\.(?: |$)", document.facts[label])[0] for label in OVERVIEW]
        engines = "compiled, torch" if LAYERS[name].compiled else "torch"
        rows.append([f"[`{name}`]({name}.md)", engines, *map(_prose, sentences)])
    lines = [
        f"- [`{name}`]({name}.md): {_prose(d.title + (': ' + d.what if d.what else ''))}"
        for name, d in documents.items()
    ]
    table = _table(["layer", "engines", *(label.lower() for label in OVERVIEW)], rows)
    mark = f"{MARK} the pages' own sources: change those, then run the tool again. -->"
    return "\n\n".join([mark, "# Output layers", INTRODUCTION.strip(), "\n".join(lines), table, OUTRO]) + "\n"


def _layers() -> dict[str, type[OutputLayer]]:
    """The layers of the package."""
    return {name: LAYERS[name] for name in sorted(LAYERS) if LAYERS[name].__module__.startswith("unhot.")}


def pages() -> dict[str, str]:
    """All pages by the name of their file."""
    return {"README.md": index(), **{f"{name}.md": page(layer) for name, layer in _layers().items()}}


def differences(folder: Path, wanted: dict[str, str]) -> list[str]:
    """What is wrong with the pages in a folder, a line each."""
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    missing = [f"{name}: missing" for name in wanted if name not in there]
    changed = [f"{name}: differs" for name, text in wanted.items() if there.get(name, text) != text]
    left = [
        f"{name}: left over, there is no such layer"
        for name, text in there.items()
        if name not in wanted and text.startswith(MARK)
    ]
    return sorted(missing + changed + left)


def write(folder: Path, wanted: dict[str, str]) -> None:
    """Write all pages, and remove those of layers that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.md"):
        if path.name not in wanted and path.read_text(encoding="utf-8").startswith(MARK):
            path.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def main(arguments: list[str], folder: Path = FOLDER) -> int:
    """Write, or check."""
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    wanted = pages()
    if not arguments:
        write(folder, wanted)
        return 0
    wrong = differences(folder, wanted)
    for line in wrong:
        print(f"{folder.name}/{line}", file=sys.stderr)
    if wrong:
        print("run: python tools/make_output_pages.py", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
