"""CPU time of training, one revision of unhot against another.

    python benchmarks/revisions.py --before OLD --after NEW [--rounds 5] [--epochs 5] [--dim 100]

OLD and NEW are checkouts: folders with the package `unhot` in them. Both train the same encoded text with
every model, in turns. Only the training itself is measured: not reading, counting cells or loading kernels.
Writes docs/results/<name>.csv and .md.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from harness import child, commit, rounds, say
from options import existing, new_parser, results_path, words_of
from report import Row, Table, cells, groups, head, markdown_table, of_tool, origin, ratio, ratios, write_page
from text import WARM_UP_BYTES, prepare

COLUMNS = (
    *("round", "tool", "revision", "kind", "dim", "threads", "epochs", "words", "vocabulary"),
    *("cpu_seconds", "seconds", "loss", "others_cores"),
)
TOOLS = ("before", "after")
FIGURES = {"cpu_seconds": ".2f"}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "skip-gram": ("SkipGram", {}),
    "cbow": ("CBOW", {}),
    "hierarchical": ("SkipGram", {"output": "hierarchical"}),
    "fasttext": ("FastText", {}),
    "glove": ("GloVe", {}),
}
SEED = 1
MIN_COUNT = 5

NOTES = """\
Settings that are not named here are the defaults. A figure is CPU time, of all threads
together, from the training's beginning to its end: the median over the rounds (least..most). A ratio above 1
means that `after` takes less. It is the median of the ratios of each round (least..most); those of the single
rounds stand behind it. Each training is a process of its own. The two of a round run one behind the other,
and take turns at being the first. Losses are those of the last round.
"""


class Revision(NamedTuple):
    """A checkout, and where its compiled kernels are kept."""

    checkout: Path
    kernels: Path

    def ask(self, name: str, job: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """The answer of a child that imports this checkout, and how busy others kept the machine."""
        extra = {"PYTHONPATH": str(self.checkout), "NUMBA_CACHE_DIR": str(self.kernels)}
        done, answer = child(name, job, extra=extra)
        return answer, done.others_text()


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    path = results_path(options)
    common = origin(["numpy", "numba"])
    with tempfile.TemporaryDirectory() as directory, Table(path, COLUMNS, common) as table:
        folder = Path(directory)
        kernels = options.kernels or folder
        revisions = {
            "before": Revision(options.before, kernels / "before"),
            "after": Revision(options.after, kernels / "after"),
        }
        texts = {
            "few": encoded(revisions["before"], folder / "few", None, WARM_UP_BYTES),
            "corpus": encoded(revisions["before"], folder / "corpus", options.corpus, None),
        }
        commits = {tool: commit(revision.checkout) for tool, revision in revisions.items()}
        for kind in options.kinds:
            for tool in TOOLS:  # compiles the kernels
                measure(kind, revisions[tool], {**texts, "corpus": texts["few"]}, options)
            for number, tool in rounds(options.rounds, TOOLS):
                row = measure(kind, revisions[tool], texts, options)
                table.add({"round": number, "tool": tool, "revision": commits[tool], **row})
                say(f"round {number}  {kind:14}{tool:8}{row['cpu_seconds']} s of CPU  loss {row['loss']}")
    write_page(path, page)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, rounds=5, name="revisions")
    result.add_argument("--before", type=checkout, required=True, help="folder with the package unhot")
    result.add_argument("--after", type=checkout, required=True, help="folder with the package unhot")
    result.add_argument(
        "--corpus", type=existing, help="text, words separated by white space; default: bundled"
    )
    result.add_argument("--kinds", type=words_of(*KINDS), default=list(KINDS))
    result.add_argument("--epochs", type=int, default=5)
    result.add_argument("--threads", type=int, default=2)
    result.add_argument("--dim", type=int, default=100)
    result.add_argument(
        "--kernels", type=Path, help="directory to keep compiled kernels in; default: a new one"
    )
    return result


def checkout(text: str) -> Path:
    """A folder that holds the package."""
    path = Path(text).resolve()
    if not (path / "unhot" / "__init__.py").is_file():
        raise argparse.ArgumentTypeError(f"{text}: no package unhot in it")
    return path


def encoded(revision: Revision, folder: Path, corpus: Path | None, limit: int | None) -> str:
    """The folder of an encoded text; the bundled one if None."""
    folder.mkdir()
    text = prepare(corpus, folder, limit=limit)
    job = {"text": str(text.path), "min_count": MIN_COUNT, "threads": 1, "directory": str(folder / "ids")}
    revision.ask("encode_unhot", job)
    return str(folder / "ids")


def measure(
    kind: str, revision: Revision, texts: dict[str, str], options: argparse.Namespace
) -> dict[str, Any]:
    """One training."""
    model, given = KINDS[kind]
    settings = {
        "dim": options.dim,
        "seed": SEED,
        "epochs": options.epochs,
        "threads": options.threads,
        **given,
    }
    answer, others = revision.ask("train_revision", {**texts, "model": model, "settings": settings})
    package = revision.checkout / "unhot"
    if not package.samefile(answer["package"]):
        raise SystemExit(f"{answer['package']} was imported instead of {package}")
    return {
        "kind": kind,
        "dim": options.dim,
        "threads": options.threads,
        "epochs": options.epochs,
        "words": answer["words"],
        "vocabulary": answer["vocabulary"],
        "cpu_seconds": round(answer["cpu_seconds"], 3),
        "seconds": round(answer["seconds"], 3),
        "loss": round(answer["loss"], 6),
        "others_cores": others,
    }


def page(name: str, rows: Sequence[Row]) -> str:
    """The results page."""
    lines = []
    for (kind,), some in groups(rows, "kind").items():
        own = [of_tool(some, tool) for tool in TOOLS]
        seconds = [*cells(own[0], FIGURES), *cells(own[1], FIGURES)]
        single = " ".join(f"{value:.3f}" for value in ratios(some, "cpu_seconds", *TOOLS))
        losses = [mine[-1]["loss"] if mine else "-" for mine in own]
        lines.append([kind, *seconds, ratio(some, "cpu_seconds", *TOOLS, ".3f"), single, *losses])
    first = rows[0]
    revisions = {row["tool"]: row["revision"] for row in rows}
    facts = [
        "; ".join(f"{tool}: {revision}" for tool, revision in revisions.items()),
        f"corpus: {int(first['words']):,} words, a vocabulary of {int(first['vocabulary']):,}",
        f"dim: {first['dim']}; threads: {first['threads']}; epochs: {first['epochs']}",
    ]
    header = ["model", "before, CPU s", "after, CPU s", "before / after", "round by round"]
    table = markdown_table([*header, "loss before", "loss after"], lines)
    return "\n".join([head("revisions", name, rows, facts), NOTES, table])


if __name__ == "__main__":
    main()
