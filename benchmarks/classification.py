"""Classifiers of unhot beside those of fastText: accuracy, seconds, memory, prediction.

    python benchmarks/classification_sets.py DATA WORK
    python benchmarks/classification.py WORK --fasttext PROGRAM [--rounds 3] [--parts defaults,same]
    python benchmarks/classification.py WORK --parts stream --gigabytes 0.5     # a short one

WORK holds the files of classification_sets.py, PROGRAM is fastText's, built by its Makefile; without it unhot
is measured alone. The parts:

    defaults  unhot without any setting beside fastText with three of them, on six sets: accuracy, seconds
    same      both with the same settings on the two larger sets, and on one that is sorted by label
    predict   lines a second on one thread, and on two
    agree     unhot with models that fastText trained: how many first labels are the same
    several   lines with several labels: softmax beside one_vs_all
    stream    most memory while a parquet file of many gigabytes is predicted

The round is the seed. Writes docs/results/<name>.csv and .md. POSIX only; `stream` needs pyarrow and the
gigabytes in the temporary folder.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from classification_report import COLUMNS, page
from classification_sets import PREFIX
from classifiers import LOSSES, MEASURES, Classifier, FastText, Settings, Unhot
from harness import ChildFailed, Run, child, rounds, say
from options import existing, new_parser, results_path, words_of
from report import Table, origin, write_page

SIX = ("TREC", "SST-2", "SST-5", "subj", "langid", "20newsgroups")
LARGE = ("langid", "20newsgroups")
SORTED = "20newsgroups.sorted"
PREDICTED = ("SST-2", "20newsgroups", "langid")
SEVERAL = ("BlogCatalog", "20newsgroups.hierarchy")
OUTPUTS = ("softmax", "one_vs_all")
STREAMED = "20newsgroups"

SAME: Settings = {
    "dim": 10,
    "word-ngrams": 2,
    "epochs": 25,
    "lr": 0.5,
    "buckets": 2_000_000,
    "min-count": 1,
    "output": "softmax",
}
# What a set cannot do without: languages are told by n-grams of letters, and friends have no order.
OF_SET: dict[str, Settings] = {"langid": {"minn": 2, "maxn": 4}, "BlogCatalog": {"word-ngrams": 1}}
FASTTEXTS: dict[str, Settings] = {
    "fastText, dim 10": SAME,
    "fastText, dim 100": {**SAME, "dim": 100},
    "fastText, dim 10, ova": {**SAME, "output": "one_vs_all"},
}


class Entry(NamedTuple):
    """A classifier that takes part, and its settings."""

    classifier: Classifier
    settings: Settings


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    path = results_path(options)
    packages = ["numpy", "numba", *(["pyarrow"] if "stream" in options.parts else [])]
    with tempfile.TemporaryDirectory() as directory:
        try:
            with Table(path, COLUMNS, origin(packages)) as table:
                bench = Classification(options, Path(directory), table)
                for part in options.parts:
                    PARTS[part](bench)
        finally:  # a page of what there is, also after Ctrl-C
            write_page(path, page)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, rounds=3, name="classification")
    add = result.add_argument
    add("work", type=Path, help="folder with the files of classification_sets.py")
    add("--fasttext", type=existing, metavar="PROGRAM")
    add("--parts", type=words_of(*PARTS), default=list(PARTS), help="default: all")
    add("--threads", type=int, default=2, help="of training")
    add("--gigabytes", type=float, default=5.0, help="of the parquet file")
    return result


class Classification:
    """The sets, the classifiers, and where everything goes."""

    def __init__(self, options: argparse.Namespace, folder: Path, table: Table) -> None:
        self._options = options
        self._folder = folder
        self._table = table
        self._unhot = Unhot()
        self._fasttext = FastText(options.fasttext.resolve()) if options.fasttext else None
        self._out = folder / "out"

    def defaults(self) -> None:
        """Accuracy of unhot without settings beside the best of fastText."""
        for name in SIX:
            self._train("defaults", name, self._entries({"unhot": {}}, FASTTEXTS))

    def same(self) -> None:
        """Seconds and accuracy of the same settings."""
        for name in (*LARGE, SORTED):
            self._train("same", name, self._entries({"unhot": SAME}, {"fastText": SAME}))

    def several(self) -> None:
        """Lines with several labels."""
        ours: dict[str, Settings] = {f"unhot, {output}": {"output": output} for output in OUTPUTS}
        theirs: dict[str, Settings] = {
            f"fastText, {LOSSES[output]}": {**SAME, "output": output} for output in OUTPUTS
        }
        for name in SEVERAL:
            self._train("several", name, self._entries(ours, theirs))

    def predict(self) -> None:
        """Lines a second, loading taken off."""
        tools: dict[str, tuple[Classifier, int]] = {
            "unhot": (self._unhot, 1),
            "unhot, threads 2": (self._unhot, 2),
        }
        if self._fasttext:
            tools["fastText"] = self._fasttext, 1
        for name in PREDICTED:
            for tool in tools:
                self._warm_up(partial(self._predict_all, name, *tools[tool], "input"))
            for number, tool in rounds(self._options.rounds, list(tools)):
                self._add("predict", number, name, tool, partial(self._speed, name, *tools[tool]))

    def agree(self) -> None:
        """First labels of models that fastText trained, and of their small copies."""
        if self._fasttext is None:
            return
        for name in SIX:
            for suffix in (".bin", ".ftz"):
                measure = partial(self._agreement, self._fasttext, name, suffix)
                self._add("agree", 1, name, f"unhot, {suffix}", measure)

    def stream(self) -> None:
        """Most memory while a large parquet file is predicted."""
        self._add("stream", 1, STREAMED, "unhot", self._stream)

    def _entries(self, ours: Mapping[str, Settings], theirs: Mapping[str, Settings]) -> dict[str, Entry]:
        """Those that take part, by the name of the tool; fastText only if the program is there."""
        entries = {tool: Entry(self._unhot, settings) for tool, settings in ours.items()}
        if self._fasttext:
            entries |= {tool: Entry(self._fasttext, settings) for tool, settings in theirs.items()}
        return entries

    def _train(self, kind: str, name: str, entries: Mapping[str, Entry]) -> None:
        """Every entry in every round, on one set. An epoch before compiles the kernels of unhot."""
        for entry in entries.values():
            if entry.classifier is self._unhot:
                few = Entry(entry.classifier, {**entry.settings, "epochs": 1})
                self._warm_up(partial(self._score, few, name, 1))
        for number, tool in rounds(self._options.rounds, list(entries)):
            self._add(kind, number, name, tool, partial(self._score, entries[tool], name, number))

    def _score(self, entry: Entry, name: str, seed: int) -> dict[str, Any]:
        """Train once, and test."""
        with tempfile.TemporaryDirectory(dir=self._folder) as directory:
            model = Path(directory, f"model{entry.classifier.suffix}")
            row = self._fit(entry, name, seed, model)
            test = entry.classifier.test_several if name in SEVERAL else entry.classifier.test
            measures = test(model, self._file(name, "test"))
            return {**row, "model_mb": megabytes(model), **rounded(measures)}

    def _fit(self, entry: Entry, name: str, seed: int, model: Path) -> dict[str, Any]:
        """Train once; what that took."""
        settings = {**entry.settings, **OF_SET.get(name, {}), "threads": self._options.threads, "seed": seed}
        done = entry.classifier.train(self._file(name, "train"), model, settings)
        told = ", ".join(f"{key} {value}" for key, value in settings.items())
        return {"settings": told, "threads": self._options.threads, "seed": seed, **done.columns()}

    def _model(self, classifier: Classifier, name: str) -> Path:
        """A model of the same settings, trained when it is first asked for."""
        model = self._folder / f"{type(classifier).__name__}-{name}{classifier.suffix}"
        if not model.exists():
            self._fit(Entry(classifier, SAME), name, 1, model)
        return model

    def _predict_all(self, name: str, classifier: Classifier, threads: int, kind: str) -> Run:
        """Predict the lines of a file of a set."""
        model = self._model(classifier, name)
        return classifier.predict(model, self._file(name, kind), self._out, threads)

    def _speed(self, name: str, classifier: Classifier, threads: int) -> dict[str, Any]:
        """Predict one line, then many."""
        one, many = (self._predict_all(name, classifier, threads, kind) for kind in ("one", "many"))
        lines = line_count(self._file(name, "many"))
        speed = (lines - 1) / max(many.seconds - one.seconds, 1e-9)
        found = {"lines": lines, "loading_seconds": round(one.seconds, 3), "lines_per_second": round(speed)}
        return {"threads": threads, **many.columns(), **found}

    def _agreement(self, fasttext: FastText, name: str, suffix: str) -> dict[str, Any]:
        """Predict twice with the same model."""
        model, lines = self._model(fasttext, name), self._file(name, "input")
        if suffix == ".ftz":
            model = fasttext.quantize(self._file(name, "train"), model)
        theirs = self._folder / "theirs"
        fasttext.predict(model, lines, theirs)
        done = self._unhot.predict(model, lines, self._out)
        same = agreement(self._out, theirs)
        return {"lines": line_count(lines), **done.columns(), "same_labels": round(same, 3)}

    def _stream(self) -> dict[str, Any]:
        """Predict one line, then a large file."""
        large = self._folder / "large.parquet"
        asked = {"lines": str(self._file(STREAMED, "input")), "gigabytes": self._options.gigabytes}
        made = child("write_parquet", {**asked, "out": str(large)})[1]
        threads = self._options.threads
        one = self._predict_all(STREAMED, self._unhot, threads, "one")
        out = self._folder / "out.parquet"
        done = self._unhot.predict(self._model(self._unhot, STREAMED), large, out, threads)
        rows = parquet_rows(out)
        large.unlink()
        out.unlink()
        if rows != made["lines"]:
            raise ChildFailed(f"{rows} labels for {made['lines']} lines")
        return {"threads": threads, **made, **done.columns(), "one_line_mb": round(one.peak_mb, 1)}

    def _file(self, name: str, kind: str) -> Path:
        """A file of a set."""
        path: Path = self._options.work / f"{name}.{kind}.txt"
        if not path.is_file():
            raise SystemExit(f"{path}: no such file; make it with benchmarks/classification_sets.py")
        return path

    def _warm_up(self, action: Callable[[], object]) -> None:
        """Do something once that compiles kernels. The rows tell what fails."""
        with contextlib.suppress(ChildFailed):
            action()

    def _add(
        self, kind: str, number: int, name: str, tool: str, measure: Callable[[], dict[str, Any]]
    ) -> None:
        """Measure a row. A run that fails becomes a row that says so: it must not end hours of measuring."""
        try:
            row = measure()
        except ChildFailed as error:
            say(str(error))
            row = {"error": str(error).strip().splitlines()[-1]}
        self._table.add({"kind": kind, "round": number, "set": name, "tool": tool, **row})
        keys = ("total_seconds", "peak_mb", "lines_per_second", "same_labels", *MEASURES, "error")
        told = ", ".join(f"{key} {row[key]}" for key in keys if key in row)
        say(f"{kind} {number}  {name}  {tool}  {told}")


def rounded(measures: Mapping[str, float]) -> dict[str, float]:
    """Measures with two decimals."""
    return {name: round(value, 2) for name, value in measures.items()}


def line_count(path: Path) -> int:
    """How many lines a file has."""
    with path.open("rb") as file:
        return sum(1 for _ in file)


def parquet_rows(path: Path) -> int:
    """How many rows a parquet file has."""
    import pyarrow.parquet

    return int(pyarrow.parquet.ParquetFile(path).metadata.num_rows)


def megabytes(path: Path) -> float:
    """Size of a file, or of all files of a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return round(sum(file.stat().st_size for file in files if file.is_file()) / 1e6, 1)


def agreement(ours: Path, theirs: Path) -> float:
    """Percent of lines that have the same first label in two files; a score may stand behind it."""
    with ours.open(encoding="utf-8") as mine, theirs.open(encoding="utf-8") as others:
        pairs = zip_longest(map(first_label, mine), map(first_label, others))
        found = [bool(one == other) for one, other in pairs]
    return 100 * sum(found) / max(len(found), 1)


def first_label(line: str) -> str:
    """The label at the start of a line, without fastText's prefix."""
    return line.rstrip("\n").partition("\t")[0].removeprefix(PREFIX)


PARTS: dict[str, Callable[[Classification], None]] = {
    "defaults": Classification.defaults,
    "same": Classification.same,
    "predict": Classification.predict,
    "agree": Classification.agree,
    "several": Classification.several,
    "stream": Classification.stream,
}


if __name__ == "__main__":
    main()
