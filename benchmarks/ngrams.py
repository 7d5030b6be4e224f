"""Words made of n-grams: unhot's fasttext model beside fastText.

    python benchmarks/ngrams.py [CORPUS] [--rounds 3] [--limit 30000000]
                                [--analogies FILE --wordsim FILE --simlex FILE]

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

from harness import child, rounds, run, say
from options import add_corpus, add_tests, evaluation_files, new_parser, results_path
from report import Row, Table, cells, groups, head, markdown_table, of_tool, origin, ratio, write_page
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
    *("round", "tool", "model", "threads", "bytes", "words", "vocabulary", "lr", "train_seconds"),
    *("total_seconds", "words_per_second", "peak_mb", "file_mb", "open_seconds", "ask_seconds"),
    *(*SCORES, "others_cores"),
)
FIGURES = {"words_per_second": ",.0f", "peak_mb": ",.0f"}  # of the rounds
WHOLE = {  # column of the whole text -> its header
    "lr": "lr",
    "train_seconds": "seconds",
    "words_per_second": "words/s",
    "peak_mb": "peak MB",
    "file_mb": "file MB",
    "open_seconds": "open s",
    "ask_seconds": "first word s",
    **{score: score.replace("_", ", ") for score in SCORES},
}
UNSEEN = "unseenwordish"

NOTES = """\
Skip-gram or CBOW with n-grams of 3 to 6 characters, 2,000,000 buckets, dim 100, window 5, 5 negatives, min
count 5, sub-sampling 1e-3, one epoch, each tool with its default learning rate. Each line is a process of its
own, round by round. Words a second are those of the text over the seconds of training; of fastText also those
of counting words, which its Python function does not take apart (about a twentieth). Peak memory is that of
the whole process. Figures are medians (least..most) over the rounds; the ratio is the median of the ratios of
each round. In the second table the whole text is trained once; the file is fastText's own .bin, read by the
fasttext package for both tools; `open` is the time to open it, `first word` the time until a seen and an
unseen word have their vectors (of unhot this loads the compiler), each tool opening what it wrote. Analogies
in percent; word pairs: 100 x Spearman's correlation, over the pairs with both words in the vocabulary, over
all pairs (unseen words from their n-grams), and with all words from their n-grams alone.
"""


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    path = results_path(options)
    common = origin(["numpy", "numba", "fasttext"])
    with tempfile.TemporaryDirectory() as directory, Table(path, COLUMNS, common) as table:
        folder = Path(directory)
        part = prepare(options.corpus, made(folder / "part"), limit=options.limit)
        whole = prepare(options.corpus, made(folder / "whole"))
        files = evaluation_files(options)
        for model in options.models:
            for tool in TOOLS:  # compiles the kernels, once on a machine
                if tool != "fastText":
                    warm_up(tool, model, folder)
            for number, tool in rounds(options.rounds, list(TOOLS)):
                add(table, number, train(tool, model, part, folder, options.threads))
            for tool in TOOLS if options.whole else ():
                row = train(tool, model, whole, folder, options.threads)
                add(table, 0, {**row, **look(tool, folder, whole, files)})
    write_page(path, page)


def made(folder: Path) -> Path:
    """A folder that is there."""
    folder.mkdir()
    return folder


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, rounds=3, name="ngrams")
    add_corpus(result)
    add_tests(result)
    rounds_of = "bytes of the text that rounds are trained on"
    result.add_argument("--limit", type=int, default=30_000_000, help=rounds_of)
    result.add_argument("--threads", type=int, default=2)
    result.add_argument("--models", nargs="*", default=["skipgram"], choices=["skipgram", "cbow"])
    result.add_argument("--no-whole", dest="whole", action="store_false", help="only the rounds")
    return result


def add(table: Table, number: int, row: dict[str, Any]) -> None:
    """A row, also on the screen."""
    table.add({"round": number, **row})
    speed = f"{row['words_per_second']:>11,} words/s"
    say(f"round {number}  {row['tool']:14}{row['model']:10}{speed}  {row['peak_mb']:>7} MB")


def warm_up(tool: str, model: str, folder: Path) -> None:
    """Train a few words."""
    text = folder / "few.txt"
    text.write_text("some few words that are enough for all kernels\n" * 10, encoding="utf-8")
    run(command(tool, model, text, folder / "few", 2))


def command(
    tool: str, model: str, text: Path, saved: Path, threads: int, log: Path | None = None
) -> list[str]:
    """Unhot's command line."""
    given: dict[str, Any] = {
        "model": "fasttext",
        "architecture": model,
        "output": f"negative:k={SETTINGS['k']}",
        "threads": threads,
        **{name.replace("_", "-"): value for name, value in SETTINGS.items() if name != "k"},
    }
    if log is not None:
        given["log-json"] = log
    parts = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    start = [sys.executable, "-m", "unhot", "train", str(text), "-o", str(saved), "--overwrite"]
    return [*start, *parts, *TOOLS[tool]]


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
    speed: list[list[str]] = []
    whole: list[list[str]] = []
    for (model,), here in groups(rows, "model").items():
        in_rounds = [row for row in here if row["round"] != "0"]
        for tool in TOOLS:
            mine = of_tool(in_rounds, tool)
            if mine:
                times = ratio(in_rounds, "words_per_second", tool, "fastText", ".1f")
                quick, peak = cells(mine, FIGURES)
                speed.append([f"{model}, {tool}", quick, times, peak])
        for row in here:
            if row["round"] == "0":
                whole.append([f"{model}, {row['tool']}", *(row[column] for column in WHOLE)])
    first = rows[0]
    size = f"{int(first['words']):,} words, {int(first['bytes']):,} bytes"
    facts = [f"text of the rounds: {size}; {first['threads']} threads"]
    parts = [head("ngrams", name, rows, facts), NOTES]
    parts.append(markdown_table(["rounds", "words/s", "times fastText", "peak MB"], speed))
    if whole:
        text = next(row for row in rows if row["round"] == "0")
        size = f"{int(text['words']):,} words, {int(text['bytes']):,} bytes"
        parts.append(f"Whole text: {size}, a vocabulary of {int(text['vocabulary']):,}.\n")
        parts.append(markdown_table(["whole text", *WHOLE.values()], whole))
    return "\n".join(parts)


if __name__ == "__main__":
    main()
