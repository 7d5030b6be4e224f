"""Language models of unhot beside those of KenLM: training, probabilities, scoring, sizes; all smoothings.

    python benchmarks/language_models.py [CORPUS] --sets DIR --kenlm BIN --kenlm-python PYTHON [--rounds 3]
    python benchmarks/language_models.py --kenlm BIN --parts train,scoring --rounds 1     # a short one

DIR holds ptb.train.txt, ptb.valid.txt, ptb.test.txt and the three files of wiki2, a sentence a line. BIN
holds KenLM's programs lmplz, build_binary and query; PYTHON is a Python that has its package. Without them
unhot is measured alone. The parts:

    train       from CORPUS to a model that can be asked, orders 3 and 5: seconds and memory
    quality     perplexity on the valid and test files; every probability and weight beside lmplz's
    scoring     CORPUS under its models, on one thread and on two, and wiki2, which these have not seen
    python      10,000 sentences from Python
    sizes       bytes of a model in every form
    smoothings  perplexity of each smoothing, orders 1 to 5

Writes docs/results/<name>.csv and .md. POSIX only. 100 MB of text need 6 GB of temporary space, of which half
is in the cache of files; so 8 GB of memory should be free.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from harness import ChildFailed, Run, child, commit, rounds, run, say
from language_model_texts import Sets, first_line, repeated
from language_model_tools import PROGRAMS, KenLM, Perplexity, Tool, Unhot, remove, size, together
from language_models_report import COLUMNS, page
from options import add_corpus, existing, new_parser, results_path, words_of
from report import Table, origin, write_page
from text import WARM_UP_BYTES, Text, prepare

ORDERS = (3, 5)
SETS = ("ptb", "wiki2")
UNSEEN, UNSEEN_TIMES = "wiki2", 8  # so often, since 2 million words take hardly longer than a start
LOADS = 3  # runs with one line, of which the median counts
SENTENCES, REPEATS = 10_000, 7
SMOOTHINGS = (
    *("maximum_likelihood", "add_k", "jelinek_mercer", "witten_bell", "absolute_discounting"),
    *("katz", "stupid_backoff", "kneser_ney", "modified_kneser_ney"),
)
SMOOTHED_ORDERS = (1, 2, 3, 4, 5)
TOLD = (
    *("lmplz_seconds", "build_binary_seconds", "total_seconds", "score_seconds", "median_seconds", "peak_mb"),
    *("perplexity", "valid", "test", "log_prob_difference", "backoff_difference", "bytes", "error"),
)


def main() -> None:
    """Parse, measure, write the page."""
    options = checked(parser())
    path = results_path(options)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        text = prepare(options.corpus, folder, limit=options.limit)
        say(f"{text.words:,} words -> {path}")
        try:
            with Table(path, COLUMNS, with_kenlm(origin(["numpy", "numba"]), options)) as table:
                bench = LanguageModels(options, text, folder, table)
                bench.warm_up()
                for part in options.parts:
                    PARTS[part](bench)
        finally:  # a page of what there is, also after Ctrl-C
            write_page(path, page)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, rounds=3, name="language-models")
    add_corpus(result)
    add = result.add_argument
    add("--sets", type=Path, metavar="DIR", help="folder with the files of ptb and wiki2")
    add("--kenlm", type=built, metavar="BIN", help=f"folder with {', '.join(PROGRAMS)}")
    add("--kenlm-python", type=existing, metavar="PYTHON", help="a Python that has KenLM's package")
    add("--parts", type=words_of(*PARTS), default=list(PARTS), help="default: all")
    add("--limit", type=int, help="bytes of CORPUS; default: all")
    add("--threads", type=int, default=2, help="of training")
    add("--gigabytes", type=int, default=2, help="memory of training: unhot's --memory, lmplz's -S")
    return result


def checked(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The options, if they go together."""
    options = parser.parse_args()
    if options.sets is None and not set(options.parts) <= {"train", "scoring"}:
        parser.error("without --sets there are only --parts train,scoring")
    if options.kenlm_python and not options.kenlm:
        parser.error("--kenlm-python needs --kenlm, whose programs make its model")
    return options


def built(text: str) -> Path:
    """A folder with the programs of KenLM."""
    missing = [name for name in PROGRAMS if not Path(text, name).is_file()]
    if missing:
        raise argparse.ArgumentTypeError(
            f"{text}: no {', '.join(missing)} there; give the folder with the programs of KenLM, build/bin"
        )
    return Path(text).resolve()


def with_kenlm(found: dict[str, str], options: argparse.Namespace) -> dict[str, str]:
    """Where rows come from, with the versions of KenLM: the commit of its checkout, that of its package."""
    versions = [found["versions"]]
    if options.kenlm:
        versions.append(f"KenLM {commit(options.kenlm)}")
    if options.kenlm_python:
        script = "import platform, importlib.metadata as found; print(found.version('kenlm'), 'for Python', "
        told = run([str(options.kenlm_python), "-c", f"{script} platform.python_version())"])
        versions.append(f"package kenlm {told.output.strip()}")
    return {**found, "versions": ", ".join(versions)}


class LanguageModels:
    """The texts, the programs, and where everything goes."""

    def __init__(self, options: argparse.Namespace, text: Text, folder: Path, table: Table) -> None:
        self._options = options
        self._text = text
        self._folder = folder
        self._table = table
        self._sets = Sets(options.sets or Path(), folder)
        self._unhot = Unhot(options.threads, f"{options.gigabytes}GB")
        self._kenlm = KenLM(options.kenlm, f"{options.gigabytes}G") if options.kenlm else None
        self._tools: dict[str, Tool] = {"unhot": self._unhot}
        if self._kenlm:
            self._tools["KenLM"] = self._kenlm

    def warm_up(self) -> None:
        """Compile the kernels of unhot, once on a machine: also those that bring temporary files together."""
        few = self._new("few")
        text = prepare(None, few, limit=WARM_UP_BYTES).path
        for memory in ("1MB", "1GB"):
            for order in ORDERS:
                model = few / f"{memory}-{order}"
                Unhot(self._options.threads, memory).train(text, model, order)
                for threads in (1, 2):
                    self._unhot.measure(model, text, threads)

    def train(self) -> None:
        """From text to a model that can be asked."""
        for order in ORDERS:
            for number, tool in rounds(self._options.rounds, list(self._tools)):
                facts = {"set": self._text.name, "order": order, "words": self._text.words}
                self._add("train", number, tool, facts, partial(self._train, tool, self._text.path, order))

    def quality(self) -> None:
        """Perplexities, and all numbers of the models."""
        for name in SETS:
            for order in ORDERS:
                facts = {"set": name, "order": order}
                for tool in self._tools:
                    self._add("quality", 1, tool, facts, partial(self._quality, tool, name, order))
                if self._kenlm:
                    self._add("arpa", 1, "unhot", facts, partial(self._compare, name, order))

    def scoring(self) -> None:
        """Tokens a second, loading taken off."""
        entries: dict[str, tuple[str, int]] = {"unhot": ("unhot", 1), "unhot, threads 2": ("unhot", 2)}
        if self._kenlm:
            entries["KenLM"] = "KenLM", 1
        texts = {self._text.name: self._text.path}
        if self._options.sets:
            texts[f"{UNSEEN}, {UNSEEN_TIMES} times"] = repeated(
                self._sets.file(UNSEEN, "train"), UNSEEN_TIMES
            )
        for order in ORDERS:
            for name, text in texts.items():
                one = first_line(text)
                for tool, threads in entries.values():
                    with contextlib.suppress(ChildFailed):  # the rows tell what fails
                        self._tools[tool].measure(self._model(tool, self._text.path, order), one, threads)
                for number, entry in rounds(self._options.rounds, list(entries)):
                    facts = {"set": name, "order": order, "threads": entries[entry][1]}
                    measure = partial(self._speed, *entries[entry], order, text, one)
                    self._add("scoring", number, entry, facts, measure)

    def python(self) -> None:
        """Sentences from Python."""
        sentences, order = self._sets.sentences("ptb", SENTENCES), ORDERS[-1]
        entries = {"unhot": ("unhot", 1), "unhot, threads 2": ("unhot", 2)}
        if self._options.kenlm_python:
            entries["KenLM"] = "KenLM", 1
        for number, entry in rounds(self._options.rounds, list(entries)):
            facts = {"set": "ptb", "order": order, "threads": entries[entry][1], "repeats": REPEATS}
            self._add("python", number, entry, facts, partial(self._call, *entries[entry], sentences, order))

    def sizes(self) -> None:
        """Bytes of every form of a model."""
        forms = ["unhot, quick", "unhot, compact", "unhot, ARPA"]
        if self._kenlm:
            forms += ["KenLM, probing", "KenLM, trie", "KenLM, ARPA"]
        for form in forms:
            facts = {"set": "wiki2", "order": ORDERS[-1]}
            tool, _, layout = form.partition(", ")
            self._add("sizes", 1, form, facts, partial(self._size, tool, layout, ORDERS[-1]))

    def smoothings(self) -> None:
        """Perplexities of all smoothings."""
        few = prepare(None, self._new("few"), limit=WARM_UP_BYTES).path
        for smoothing in SMOOTHINGS:
            with contextlib.suppress(ChildFailed):  # compiles the kernels; the rows tell what fails
                self._smooth(smoothing, few, 2)
            for order in SMOOTHED_ORDERS:
                facts = {"set": "ptb", "order": order, "smoothing": smoothing}
                measure = partial(self._smooth, smoothing, self._sets.file("ptb", "train"), order)
                self._add("smoothings", 1, "unhot", facts, measure)

    def _train(self, tool: str, text: Path, order: int) -> dict[str, Any]:
        """Train once. What an earlier run wrote goes to the disk before, so that this one need not wait."""
        model = self._path(tool, text, order)
        remove(model)
        os.sync()
        try:
            runs = self._tools[tool].train(text, model, order)
        except ChildFailed:
            remove(model)
            raise
        if text == self._text.path:  # of gigabytes, and nobody asks for it any more
            model.with_suffix(".arpa").unlink(missing_ok=True)
        parts = {f"{name}_seconds": round(run.seconds, 3) for name, run in runs.items() if name != "unhot"}
        whole = together(list(runs.values())).columns()
        settings = {"threads": self._options.threads, "gigabytes": self._options.gigabytes}
        return {**settings, **parts, **whole, "bytes": size(model)}

    def _model(self, tool: str, text: Path, order: int) -> Path:
        """A model, trained when it is first asked for."""
        model = self._path(tool, text, order)
        if not model.exists():
            self._train(tool, text, order)
        return model

    def _path(self, tool: str, text: Path, order: int) -> Path:
        return self._folder / f"{tool}-{text.stem}-{order}{self._tools[tool].suffix}"

    def _quality(self, tool: str, name: str, order: int) -> dict[str, Any]:
        """Perplexities of the valid and the test file of a set."""
        model = self._model(tool, self._sets.file(name, "train"), order)
        row: dict[str, Any] = {}
        for part in ("valid", "test"):
            found = self._tools[tool].measure(model, self._sets.file(name, part))[1]
            row |= {part: found.perplexity, f"{part}_tokens": found.tokens}
        return row

    def _compare(self, name: str, order: int) -> dict[str, Any]:
        """All n-grams of both models of a set."""
        files = {}
        for side, tool in (("ours", "unhot"), ("theirs", "KenLM")):
            model = self._model(tool, self._sets.file(name, "train"), order)
            files[side] = str(self._tools[tool].write_arpa(model))
        return child("compare_arpa", files)[1]

    def _speed(self, tool: str, threads: int, order: int, text: Path, one: Path) -> dict[str, Any]:
        """Measure one line, then all lines."""
        model = self._model(tool, self._text.path, order)

        def measured(path: Path) -> tuple[Run, Perplexity]:
            return self._tools[tool].measure(model, path, threads)

        loads = [measured(one)[0].seconds for _ in range(LOADS)]
        done, found = measured(text)
        return {
            "tokens": found.tokens,
            "unknown": found.unknown,
            "perplexity": found.perplexity,
            "loading_seconds": round(statistics.median(loads), 3),
            "score_seconds": without_loading(done.seconds, loads),
            **done.columns(),
        }

    def _call(self, tool: str, threads: int, sentences: Path, order: int) -> dict[str, Any]:
        """Score sentences from Python."""
        model = self._model(tool, self._sets.file("ptb", "train"), order)
        job = {"model": str(model), "sentences": str(sentences), "threads": threads, "repeats": REPEATS}
        if tool == "unhot":
            done, answer = child("sentences_unhot", job)
        else:
            done, answer = child("sentences_kenlm", job, python=str(self._options.kenlm_python))
        seconds = answer["seconds"]
        best, middle = (round(value, 6) for value in (min(seconds), statistics.median(seconds)))
        row = {"sentences": answer["sentences"], "best_seconds": best, "median_seconds": middle}
        return {**row, "log10": answer["log10"], **done.columns()}

    def _size(self, tool: str, layout: str, order: int) -> dict[str, Any]:
        """Write a model in some layout, if it has another one."""
        model = self._model(tool, self._sets.file("wiki2", "train"), order)
        if layout == "ARPA":
            return {"bytes": size(self._tools[tool].write_arpa(model))}
        other = self._folder / layout
        if layout == "compact":
            model = self._unhot.convert(model, other, "--compact")
        if layout == "trie" and self._kenlm:
            model = self._kenlm.build_trie(model, other)
        return {"bytes": size(model)}

    def _smooth(self, smoothing: str, text: Path, order: int) -> dict[str, Any]:
        """Train a model with a smoothing, and measure it."""
        model = self._folder / "smoothed"
        remove(model)
        more = ["--smoothing", smoothing, "--min-count", "1"]
        done = self._unhot.train(text, model, order, more)["unhot"]
        row = {"threads": self._options.threads, **done.columns(), "bytes": size(model)}
        texts = {part: str(self._sets.file("ptb", part)) for part in ("valid", "test")}
        return {**row, **child("perplexities_unhot", {"model": str(model), "texts": texts})[1]}

    def _new(self, name: str) -> Path:
        """An empty folder."""
        folder = self._folder / name
        remove(folder)
        folder.mkdir()
        return folder

    def _add(
        self, kind: str, number: int, tool: str, facts: dict[str, Any], measure: Callable[[], dict[str, Any]]
    ) -> None:
        """Measure a row. A run that fails becomes a row that says so."""
        try:
            row = measure()
        except ChildFailed as error:
            say(str(error))
            row = {"error": str(error).strip().splitlines()[-1]}
        self._table.add({"kind": kind, "round": number, "tool": tool, **facts, **row})
        about = ", ".join(str(facts[key]) for key in ("set", "order", "smoothing") if key in facts)
        told = ", ".join(f"{key} {row[key]}" for key in TOLD if key in row)
        say(f"{kind} {number}  {about}  {tool}  {told}")


def without_loading(seconds: float, loads: Sequence[float]) -> float | str:
    """Seconds less the median of the loads; nothing if the loads differ by as much, or no tick is left."""
    taken = round(seconds - statistics.median(loads), 4)
    return taken if taken > max(loads) - min(loads) else ""


PARTS: dict[str, Callable[[LanguageModels], None]] = {
    "train": LanguageModels.train,
    "quality": LanguageModels.quality,
    "scoring": LanguageModels.scoring,
    "python": LanguageModels.python,
    "sizes": LanguageModels.sizes,
    "smoothings": LanguageModels.smoothings,
}


if __name__ == "__main__":
    main()
