"""One text, one vocabulary, every kind of word vectors that unhot makes.

Skip-gram, CBOW, fastText, GloVe, PPMI, SVD of PPMI.

    python benchmarks/families.py                       # the bundled text: a minute or two
    python benchmarks/families.py CORPUS --analogies FILE --wordsim FILE --simlex FILE [--seeds 1,2,3]

Each model is a process of its own, from text to vectors: seconds, peak memory, analogies, word pairs,
neighbours of some words, and how many of the nearest words are PPMI's as well. Then the table of ratios that
GloVe starts from. Writes docs/results/<name>.csv and .md; with analogies and the extra `plot` also a picture.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

from families_report import COLUMNS, page, plot
from harness import ChildFailed, child, say
from nearest import COMMONEST, PPMI, Nearest, nearest_by_ppmi, overlap
from options import TESTS, add_corpus, add_tests, evaluation_files, new_parser, numbers, words_of
from report import Table, origin, read_rows
from text import WARM_UP_BYTES, Text, prepare

FAMILIES: dict[str, dict[str, Any]] = {
    "skipgram": {"dim": 100, "window": 5, "epochs": 5},
    "cbow": {"dim": 100, "window": 5, "epochs": 5},
    "fasttext": {"dim": 100, "window": 5, "epochs": 5},
    "glove": {"dim": 100, "window": 10, "epochs": 15, "x_max": 10.0},
    "ppmi": PPMI,
    "svd": {"dim": 100, **PPMI},
}
SEEDED = ("skipgram", "cbow", "fasttext", "glove", "svd")  # PPMI has nothing random
MIN_COUNT = 5
NEAR = 5  # neighbours shown
NAMES = {"bundled": "families-bundled", "given": "families"}  # of the results
# on the page: words whose neighbours are shown; two words, and what stands near one, the other, both, neither
ASKED = {"bundled": "war,tax,ships,gold", "given": "king,river,computer,blue"}
RATIOS = {"bundled": "navy,army,ships,troops,war,schools", "given": "ice,steam,solid,gas,water,fashion"}


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    kind = "bundled" if options.corpus is None else "given"
    path = options.results / f"{options.name or NAMES[kind]}.csv"
    with tempfile.TemporaryDirectory() as directory:
        text = prepare(options.corpus, Path(directory), limit=options.limit)
        say(f"{text.words:,} words -> {path}")
        Path(directory, "few").mkdir()
        few = prepare(None, Path(directory, "few"), limit=WARM_UP_BYTES)
        facts = {"threads": options.threads, "words": text.words}
        asked = options.words or ASKED[kind]
        ratios = options.ratios or RATIOS[kind]
        try:
            with Table(path, COLUMNS, origin(["numpy", "numba"])) as table:
                for family in options.families:
                    measure(family, few, 1, options, "", {})  # compiles the kernels, once on a machine
                theirs = nearest_by_ppmi(text.path, MIN_COUNT, options.threads)
                for family, seed in product(options.families, options.seeds):
                    if seed == options.seeds[0] or family in SEEDED:
                        table.add({**facts, **measure(family, text, seed, options, asked, theirs)})
                table.add({**facts, **ratio_row(text, options.threads, ratios.split(","))})
        finally:  # a page of what there is, also after Ctrl-C
            rows = read_rows(path)
            if rows:
                picture = plot(rows, path.with_suffix(".svg"))
                path.with_suffix(".md").write_text(page(path.stem, rows, picture), encoding="utf-8")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, name="")
    add_corpus(result)
    add_tests(result)
    result.add_argument("--limit", type=int, help="bytes of the text; default: all")
    result.add_argument("--families", type=words_of(*FAMILIES), default=list(FAMILIES))
    result.add_argument("--seeds", type=numbers, default=[1])
    result.add_argument("--threads", type=int, default=2)
    result.add_argument("--words", help="whose neighbours are shown, separated by commas")
    near = "two words, and words that may stand near them"
    result.add_argument("--ratios", metavar="A,B,PROBE...", help=near)
    return result


def measure(
    family: str, text: Text, seed: int, options: argparse.Namespace, words: str, theirs: Nearest
) -> dict[str, Any]:
    """Run one model, and compare its nearest words with `theirs`; a run that fails is a row that says so."""
    seeds = {"seed": seed} if family in SEEDED else {}
    settings = {**FAMILIES[family], **seeds, "min_count": MIN_COUNT, "threads": options.threads}
    files = evaluation_files(options) if words else dict.fromkeys(TESTS, "")
    row = {"family": family, "seed": seed, "settings": json.dumps(FAMILIES[family])}
    job = {
        "family": family,
        "text": str(text.path),
        "settings": settings,
        "words": list(filter(None, words.split(","))),
        "near": NEAR,
        "commonest": COMMONEST if theirs else 0,
    }
    try:
        done, answer = child("train_family", {**job, **files})
        nearest = answer.pop("nearest")
        if words:
            answer["overlap"] = overlap(nearest, theirs)
            figures = ("seconds", "peak_mb", *TESTS, "overlap")
            told = [f"{name} {answer[name]}" for name in figures if name in answer]
            say(f"{family}, seed {seed}: {', '.join(told)}")
        return {**row, **answer, "total_seconds": round(done.seconds, 2), "others_cores": done.others_text()}
    except ChildFailed as error:
        say(str(error))
        return {**row, "error": str(error).strip().splitlines()[-1]}


def ratio_row(text: Text, threads: int, words: list[str]) -> dict[str, Any]:
    """Probabilities of words near two others, and their ratios."""
    job = {
        "text": str(text.path),
        "threads": threads,
        "min_count": MIN_COUNT,
        "window": FAMILIES["glove"]["window"],
        "words": words,
    }
    return {"family": "", "settings": json.dumps(words), "ratios": json.dumps(child("ratio_table", job)[1])}


if __name__ == "__main__":
    main()
