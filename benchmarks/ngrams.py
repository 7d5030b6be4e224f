"""Words made of n-grams: unhot's fasttext model beside fastText.

    python benchmarks/ngrams.py [CORPUS] [--rounds 3] [--limit 30000000] [--analogies FILE --wordsim FILE
    --simlex FILE]

Speed: rounds on the first `--limit` bytes of the text. Then, once, the whole text: time, memory, the file
that each tool writes, its quality (also on words that are not in the vocabulary, and as if none were), and
how long it takes to open it. fastText's own parameters of these for all. Writes docs/results/<name>.csv and
.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import (
    ORIGIN,
    RESULTS,
    Row,
    Table,
    child,
    markdown_table,
    origin,
    origin_lines,
    others_line,
    ratios,
    read_rows,
    rounds,
    run,
    say,
    spread,
)
from text import Text, prepare
from trainers import read_log

SETTINGS = {
    "window": 5,
    "k": 5,
    "min_count": 5,
    "sample": 1e-3,
    "minn": 3,
    "maxn": 6,
    "buckets": 2_000_000,
    "dim": 100,
    "epochs": 1,
}
TOOLS = {"fastText": [], "unhot": [], "unhot float16": ["--float16"]}
SCORES = ("analogies", "wordsim", "wordsim_all", "wordsim_ngrams", "simlex", "simlex_all", "simlex_ngrams")
COLUMNS = (
    *ORIGIN, "round", "tool", "model", "threads", "bytes", "words", "vocabulary", "lr", "train_seconds", "total_seconds",
    "words_per_second", "peak_mb", "file_mb", "open_seconds", "ask_seconds", *SCORES, "others_cores",
)  # fmt: skip
UNSEEN = "unseenwordish"

NOTES = """\
Skip-gram or CBOW with n-grams of 3 to 6 characters, 2,000,000 buckets, dim 100, window 5, 5 negatives, min count 5, sub-sampling 1e-3, one
epoch, each tool with its default learning rate. Each line is a process of its own, round by round. Words a second are those of the text
over the seconds of training; of fastText also those of counting words, which its Python function does not take apart (about a twentieth).
Peak memory is that of the whole process. Figures are medians (least..most) over the rounds; the ratio is the median of the ratios of each
round. In the second table the whole text is trained once; the file is fastText's own .bin, read by the fasttext package for both tools;
`open` is the time to open it, `first word` the time until a seen and an unseen word have their vectors (of unhot this loads the compiler),
each tool opening what it wrote. Analogies in percent; word pairs: 100 x Spearman's correlation, over the pairs with both words in the
vocabulary, over all pairs (unseen words from their n-grams), and with all words from their n-grams alone.
"""


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    path = options.results / f"{options.name}.csv"
    common = origin(["numpy", "numba", "fasttext"])
    with tempfile.TemporaryDirectory() as folder, Table(path, COLUMNS) as table:
        corpus = None if options.corpus is None else Path(options.corpus)
        part, whole = (
            prepare(corpus, made(Path(folder) / name), limit=limit)
            for name, limit in (("part", options.limit), ("whole", None))
        )
        for model in options.models:
            for tool in TOOLS:  # compiles the kernels, once on a machine
                if tool != "fastText":
                    warm_up(tool, model, Path(folder))
            for number, tool in rounds(options.rounds, list(TOOLS)):
                add(table, common, number, train(tool, model, part, Path(folder), options.threads))
            files = {name: getattr(options, name) for name in ("analogies", "wordsim", "simlex")}
            for tool in TOOLS if options.whole else ():
                row = train(tool, model, whole, Path(folder), options.threads)
                add(table, common, 0, {**row, **look(tool, Path(folder), whole, files)})
    path.with_suffix(".md").write_text(page(options.name, read_rows(path)), encoding="utf-8")


def made(folder: Path) -> Path:
    """A folder that is there."""
    folder.mkdir()
    return folder


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("corpus", nargs="?", help="text, plain or gz, bz2, xz; default: the bundled one")
    result.add_argument("--rounds", type=int, default=3)
    result.add_argument(
        "--limit", type=int, default=30_000_000, help="bytes of the text that rounds are trained on"
    )
    result.add_argument("--threads", type=int, default=2)
    result.add_argument("--models", nargs="*", default=["skipgram"], choices=["skipgram", "cbow"])
    result.add_argument("--no-whole", dest="whole", action="store_false", help="only the rounds")
    for name in ("analogies", "wordsim", "simlex"):
        result.add_argument(f"--{name}", default="", help="file of questions or word pairs")
    result.add_argument("--name", default="ngrams", help="of the results")
    result.add_argument("--results", type=Path, default=RESULTS, help="directory")
    return result


def add(table: Table, common: dict[str, str], number: int, row: dict[str, Any]) -> None:
    """A row, also on the screen."""
    table.add({**common, "round": number, **row})
    say(
        f"round {number}  {row['tool']:14}{row['model']:10}{row['words_per_second']:>11,} words/s  "
        f"{row['peak_mb']:>7} MB"
    )


def warm_up(tool: str, model: str, folder: Path) -> None:
    """Train a few words."""
    text = folder / "few.txt"
    text.write_text("some few words that are enough for all kernels\n" * 10, encoding="utf-8")
    run(command(tool, model, text, folder / "few", 2))


def command(
    tool: str, model: str, text: Path, saved: Path, threads: int, log: Path | None = None
) -> list[str]:
    """Unhot's command line."""
    given = {
        "--model": "fasttext", "--architecture": model, "--dim": SETTINGS["dim"], "--window": SETTINGS["window"],
        "--output": f"negative:k={SETTINGS['k']}", "--min-count": SETTINGS["min_count"], "--sample": SETTINGS["sample"],
        "--epochs": SETTINGS["epochs"], "--minn": SETTINGS["minn"], "--maxn": SETTINGS["maxn"], "--buckets": SETTINGS["buckets"],
        "--threads": threads, **({} if log is None else {"--log-json": log}),
    }  # fmt: skip
    parts = [str(part) for pair in given.items() for part in pair]
    return [
        sys.executable,
        "-m",
        "unhot",
        "train",
        str(text),
        "-o",
        str(saved),
        "--overwrite",
        *parts,
        *TOOLS[tool],
    ]


def train(tool: str, model: str, text: Text, folder: Path, threads: int) -> dict[str, Any]:
    """One process; what it writes stays in the folder."""
    if tool == "fastText":
        job = {
            "text": str(text.path),
            "vectors": str(folder / "fasttext.bin"),
            "model": model,
            "threads": threads,
            "seed": 1,
        }
        done, answer = child("train_fasttext", {**job, "output": "", **SETTINGS})
    else:
        log = folder / "log.jsonl"
        done = run(command(tool, model, text.path, folder / "model", threads, log))
        answer = read_log(log, text.words)
    return {
        "tool": tool,
        "model": model,
        "threads": threads,
        "bytes": text.bytes,
        "words": text.words,
        "vocabulary": answer["vocabulary"],
        "lr": answer["lr"],
        "train_seconds": round(answer["seconds"], 2),
        "total_seconds": round(done.seconds, 2),
        "words_per_second": round(text.words / answer["seconds"]),
        "peak_mb": round(done.peak_mb),
        "others_cores": done.others_text(),
    }


def look(tool: str, folder: Path, text: Text, files: dict[str, str]) -> dict[str, Any]:
    """The file of a tool: its size, how long it takes to open it, its quality."""
    file = folder / "fasttext.bin"
    if tool != "fastText":
        file = folder / "unhot.bin"
        run([sys.executable, "-m", "unhot", "convert", str(folder / "model"), str(file), "--to", "fasttext"])
    with text.path.open(encoding="utf-8") as lines:
        seen = lines.readline().split()[0]
    opener = {
        "tool": "fasttext" if tool == "fastText" else "unhot",
        "vectors": str(file),
        "words": [seen, UNSEEN],
    }
    opened = child("open_fasttext_file", opener)[1]
    scores = child("evaluate_ngrams", {"vectors": str(file), **files})[1]
    return {
        "file_mb": round(file.stat().st_size / 1e6, 1),
        "open_seconds": round(opened["opened"], 3),
        "ask_seconds": round(opened["asked"], 3),
        **scores,
    }


def page(name: str, rows: Sequence[Row]) -> str:
    """The results page."""
    speed, whole = [], []
    for model in dict.fromkeys(row["model"] for row in rows):
        here = [row for row in rows if row["model"] == model and row["round"] != "0"]
        for tool in TOOLS:
            mine = [row for row in here if row["tool"] == tool]
            quick, peak = (
                spread(float(row[column]) for row in mine) for column in ("words_per_second", "peak_mb")
            )
            ratio = spread(ratios(here, "words_per_second", tool, "fastText"))
            if quick and peak and ratio:
                speed.append([f"{model}, {tool}", quick.text(",.0f"), ratio.text(".1f"), peak.text(",.0f")])
        for row in rows:
            if row["model"] == model and row["round"] == "0":
                columns = (
                    "lr",
                    "train_seconds",
                    "words_per_second",
                    "peak_mb",
                    "file_mb",
                    "open_seconds",
                    "ask_seconds",
                    *SCORES,
                )
                whole.append([f"{model}, {row['tool']}", *(row[column] for column in columns)])
    head = f"# {name}\n\nGenerated by `benchmarks/ngrams.py` from [{name}.csv]({name}.csv).\n"
    first = rows[0]
    facts = f"- text of the rounds: {int(first['words']):,} words, {int(first['bytes']):,} bytes; {first['threads']} threads\n"
    parts = [head, f"{origin_lines(rows)}{facts}{others_line(rows)}", NOTES]
    parts.append(markdown_table(["rounds", "words/s", "times fastText", "peak MB"], speed))
    if whole:
        text = next(row for row in rows if row["round"] == "0")
        parts.append(
            f"Whole text: {int(text['words']):,} words, {int(text['bytes']):,} bytes, a vocabulary of "
            f"{int(text['vocabulary']):,}.\n"
        )
        header = [
            "whole text",
            "lr",
            "seconds",
            "words/s",
            "peak MB",
            "file MB",
            "open s",
            "first word s",
            *(s.replace("_", ", ") for s in SCORES),
        ]
        parts.append(markdown_table(header, whole))
    return "\n".join(parts)


if __name__ == "__main__":
    main()
