"""What one setting does to word vectors: the same models with each of its values, several seeds each.

    python benchmarks/word_grid.py TEXT[:BYTES]... --vary threads=1,2,8,32 --seeds 1,2,3,4,5,6 --name threads
    python benchmarks/word_grid.py TEXT[:BYTES]... --vary lr=0.0125,0.025,0.05,0.1 --name learning-rates
           --models skipgram,skipgram+hierarchical,cbow,fasttext [--gensim] --analogies FILE --wordsim FILE

TEXT:BYTES is the beginning of a text. A model is a kind of word vectors, with `+` an output layer. All other
settings are the defaults, or those of --set epochs=1. With --gensim, gensim trains the same models with the
same value of --vary where it has them (not fasttext; lr is its alpha, threads its workers). Seeds come last,
so an interrupted run has all settings. Writes docs/results/<name>.csv and .md: means over the seeds with
their standard errors.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from harness import ChildFailed, child, say
from options import TESTS, add_tests, evaluation_files, existing, new_parser, numbers, results_path
from report import Row, Table, groups, head, markdown_table, origin, read_rows, write_page
from text import Text, prepare
from trainers import MIN_COUNT, SAMPLE, WINDOW, K

COLUMNS = (
    "tool",
    "text",
    "words",
    "model",
    "varied",
    "value",
    "settings",
    "seed",
    *TESTS,
    "seconds",
    "error",
)
MODELS = ("skipgram", "cbow", "fasttext", "skipgram+hierarchical")
GENSIMS = {
    "skipgram": {"sg": 1},
    "cbow": {"sg": 0},
    "skipgram+hierarchical": {"sg": 1, "hs": 1, "negative": 0},
}
GENSIMS_NAMES = {"lr": "alpha", "threads": "workers"}
NOTES = """\
Analogies in percent / WordSim-353 / SimLex-999: the mean over the seeds +- its standard error. Settings that
are not named are the defaults.
"""


class Vary(NamedTuple):
    """The setting whose values are compared."""

    name: str
    values: list[float]


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    path = results_path(options)
    with tempfile.TemporaryDirectory() as directory:
        texts = list(prepared(options.texts, Path(directory)))
        tools = ("unhot", "gensim") if options.gensim else ("unhot",)
        earlier = read_rows(path) if options.append and path.exists() else []
        with Table(path, COLUMNS, origin(["numba", *tools[1:]])) as table:
            for row in earlier:
                table.add(row)
            for seed, text, model, value, tool in product(
                options.seeds, texts, options.models, options.vary.values, tools
            ):
                if tool == "unhot" or model in GENSIMS:
                    table.add(measure(tool, text, model, value, seed, options))
    write_page(path, page)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, name="word-grid")
    result.add_argument("texts", nargs="+", metavar="TEXT[:BYTES]", type=text_part)
    add_tests(result)
    result.add_argument("--vary", type=varied, required=True, metavar="SETTING=VALUE,VALUE")
    result.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS))
    result.add_argument("--set", type=given, nargs="*", default=[], metavar="SETTING=VALUE", dest="fixed")
    result.add_argument("--seeds", type=numbers, default=[1, 2, 3])
    result.add_argument("--append", action="store_true", help="keep what the file of results has")
    result.add_argument("--gensim", action="store_true", help="gensim trains the same models")
    return result


def text_part(text: str) -> tuple[Path, int | None]:
    """`path:1000` as a path and a number of bytes."""
    path, _, size = text.partition(":")
    return existing(path), int(size) if size else None


def given(text: str) -> tuple[str, Any]:
    """`lr=0.05` as a name and a number, `combine=sum` as a name and a word."""
    name, _, value = text.partition("=")
    return name, value if value.isalpha() else json.loads(value)


def varied(text: str) -> Vary:
    """`threads=1,2` as a name and numbers."""
    name, _, values = text.partition("=")
    return Vary(name, [json.loads(value) for value in values.split(",")])


def prepared(parts: Sequence[tuple[Path, int | None]], directory: Path) -> Iterator[Text]:
    """Copy the texts, each to a folder of its own, in a form that both tools read alike."""
    for number, (path, size) in enumerate(parts):
        folder = directory / str(number)
        folder.mkdir()
        yield prepare(path, folder, limit=size)


def measure(
    tool: str, text: Text, model: str, value: float, seed: int, options: argparse.Namespace
) -> dict[str, Any]:
    """Train once, and score the vectors; a training that fails is a row that says so."""
    settings = {"seed": seed, **dict(options.fixed), options.vary.name: value}
    row = {"tool": tool, "text": text.name, "words": text.words, "model": model, "seed": seed}
    row |= {"varied": options.vary.name, "value": value, "settings": json.dumps(dict(options.fixed))}
    try:
        answer = (unhot if tool == "unhot" else gensim)(text, model, settings, evaluation_files(options))
    except ChildFailed as error:
        say(str(error))
        return {**row, "error": str(error).strip().splitlines()[-1]}
    say(f"{tool} {text.words:,} words, {model}, {options.vary.name}={value}, seed {seed}: {answer}")
    return {**row, **answer}


def unhot(text: Text, model: str, settings: dict[str, Any], files: dict[str, str]) -> dict[str, Any]:
    """Train and score with unhot."""
    family, _, layer = model.partition("+")
    settings = {"threads": 1, "min_count": MIN_COUNT, **({"output": layer} if layer else {}), **settings}
    job = {"family": family, "text": str(text.path), "settings": settings}
    answer = child("train_family", {**job, **files, "words": [], "near": 0, "commonest": 0})[1]
    return {name: answer.get(name, "") for name in (*TESTS, "seconds")}


def gensim(text: Text, model: str, settings: dict[str, Any], files: dict[str, str]) -> dict[str, Any]:
    """Train with gensim, and score with unhot's evaluators, which give the same scores as gensim's."""
    named = {GENSIMS_NAMES.get(name, name): value for name, value in settings.items()}
    fixed = {"window": WINDOW, "negative": K, "min_count": MIN_COUNT, "sample": SAMPLE, "workers": 1}
    job = {"text": str(text.path), "settings": {**fixed, **GENSIMS[model], **named}}
    answer = child("score_gensim", {**job, **files})[1]
    return {name: answer.get(name, "") for name in (*TESTS, "seconds")}


def page(name: str, rows: Sequence[Row]) -> str:
    """One table for each text and each choice of fixed settings: a line for each model and tool."""
    undisturbed = [{**row, "others_cores": ""} for row in rows]  # nothing is timed
    out = [head("word_grid", name, undisturbed, [f"varied: {rows[0]['varied']}"]), "\n", NOTES]
    for (text, words, settings), found in groups(rows, "text", "words", "settings").items():
        fixed = "".join(f", {key} {value}" for key, value in json.loads(settings).items())
        out += [f"\n## {text}, {int(words):,} words{fixed}\n\n", table_of(found)]
    return "".join(out)


def table_of(rows: Sequence[Row]) -> str:
    """A line for each model and tool, a column for each value."""
    values = sorted({row["value"] for row in rows}, key=float)
    lines = []
    for (model, tool), found in groups(rows, "model", "tool").items():
        by_value = groups(found, "value")
        cells = [scores(by_value.get((value,), [])) for value in values]
        lines.append([f"{model}{'' if tool == 'unhot' else ', ' + tool}", *cells])
    return markdown_table(["", *(f"{rows[0]['varied']} {value}" for value in values)], lines)


def scores(rows: Sequence[Row]) -> str:
    """A cell: the mean of each test over the seeds, with its standard error; how many runs failed."""
    failed = sum(bool(row["error"]) for row in rows)
    parts = []
    for test in TESTS:
        found = [float(row[test]) for row in rows if row[test]]
        if found:
            error = statistics.stdev(found) / len(found) ** 0.5 if len(found) > 1 else 0.0
            parts.append(f"{statistics.fmean(found):.1f} +- {error:.1f}")
    if failed:
        parts.append(f"{failed} failed")
    return " / ".join(parts) or "-"


if __name__ == "__main__":
    main()
