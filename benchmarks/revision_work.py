"""The work that is timed in two revisions: trainings of some models, and queries of trained ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from checkouts import Checkout
from generated import write_log, write_sentences
from harness import Run
from text import WARM_UP_BYTES, prepare

SEED = 1
LINES, FEW_LINES, LINE_VOCABULARY = 100_000, 2_000, 5_000
SESSIONS, FEW_SESSIONS, ITEMS = 100_000, 2_000, 10_000
MIN_COUNT = 5
ALL_WORDS = {"min_count": 1, "more": {"unknown": True, "empty_lines": True}}  # what language models need


class TimedKind(NamedTuple):
    """A model to train, or to query."""

    model: str  # its public name
    data: str  # what it learns from
    settings: Mapping[str, Any] = {}
    method: str = ""  # of the trained model, which is measured; empty: the training is measured
    repeats: int = 1  # so that it takes a second or two


TIMED = {
    "skip-gram": TimedKind("SkipGram", "words"),
    "cbow": TimedKind("CBOW", "words"),
    "hierarchical": TimedKind("SkipGram", "words", {"output": "hierarchical"}),
    "fasttext": TimedKind("FastText", "words"),
    "glove": TimedKind("GloVe", "words"),
    "classify-train": TimedKind("Classifier", "labeled", {"epochs": 15, "seed": SEED}),
    "classify-predict": TimedKind("Classifier", "labeled", {"epochs": 15, "seed": SEED}, "predict", 20),
    "lm-train": TimedKind("NGramModel", "sentences", repeats=5),
    "lm-score": TimedKind("NGramModel", "sentences", {}, "scores", 20),
    "item2vec": TimedKind("Item2Vec", "log", {"epochs": 5, "seed": SEED}),
}


class Data(NamedTuple):
    """What models learn from: encoded texts, which are folders, or files."""

    few: str  # for the first training, which loads the kernels, and for models that are queried
    source: str
    lines: str  # what models are queried with; empty: they are not
    told: str


class Work(NamedTuple):
    """A kind on its data, with all settings."""

    kind: TimedKind
    data: Data
    settings: Mapping[str, Any]
    model: str  # the folder of the model that is queried

    def begin(self, before: Checkout) -> None:
        """Let `before` train the model that is queried, if one is."""
        if self.kind.method:
            self._train(before, self.data.few, self.model)

    def warm_up(self, checkout: Checkout) -> None:
        """Compile the kernels of a checkout."""
        self._query(checkout) if self.kind.method else self._train(checkout, self.data.few)

    def measure(self, checkout: Checkout) -> dict[str, Any]:
        """The columns of a run."""
        if self.kind.method:
            run, answer = self._query(checkout)
        else:
            run, answer = self._train(checkout, self.data.source)
        return {
            "data": self.data.told,
            "settings": ", ".join(f"{name} {value}" for name, value in self.settings.items()),
            "repeats": self.kind.repeats,
            "cpu_seconds": round(answer["cpu_seconds"], 3),
            "seconds": round(answer["seconds"], 3),
            "peak_mb": round(run.peak_mb, 1),
            "loss": "" if answer["loss"] is None else round(answer["loss"], 6),
            "others_cores": run.others_text(),
        }

    def _train(self, checkout: Checkout, source: str, save: str = "") -> tuple[Run, dict[str, Any]]:
        job = {"model": self.kind.model, "settings": self.settings, "few": self.data.few, "source": source}
        return checkout.ask("train_revision", {**job, "save": save, "repeats": self.kind.repeats})

    def _query(self, checkout: Checkout) -> tuple[Run, dict[str, Any]]:
        job = {"model": self.model, "method": self.kind.method, "lines": self.data.lines}
        return checkout.ask("query_revision", {**job, "repeats": self.kind.repeats})


def prepare_data(name: str, before: Checkout, corpus: Path | None, folder: Path) -> Data:
    """Write the data of some kinds. `before` encodes the corpus, which is the bundled text if None."""
    folder.mkdir()
    if name == "labeled":
        few, source, lines = (folder / f"{part}.txt" for part in ("few", "source", "lines"))
        write_sentences(few, FEW_LINES, words=LINE_VOCABULARY, labeled=True)
        write_sentences(source, LINES, words=LINE_VOCABULARY, seed=2, labeled=True)
        write_sentences(lines, LINES, words=LINE_VOCABULARY, seed=3)
        return Data(str(few), str(source), str(lines), f"{LINES:,} generated lines")
    if name == "log":
        few, source = folder / "few.csv", folder / "source.csv"
        write_log(few, FEW_SESSIONS, items=ITEMS)
        write_log(source, SESSIONS, items=ITEMS, seed=2)
        return Data(str(few), str(source), "", f"{SESSIONS:,} generated sessions")
    more = ALL_WORDS if name == "sentences" else {"min_count": MIN_COUNT}
    few, _, _ = encoded(before, None, WARM_UP_BYTES, folder / "few", more)
    source, lines, told = encoded(before, corpus, None, folder / "source", more)
    return Data(str(few), str(source), str(lines), told)


def encoded(
    before: Checkout, corpus: Path | None, limit: int | None, folder: Path, more: Mapping[str, Any]
) -> tuple[Path, Path, str]:
    """The folder of an encoded text, the text, and its size."""
    folder.mkdir()
    text, ids = prepare(corpus, folder, limit=limit), folder / "ids"
    _, answer = before.ask(
        "encode_unhot", {"text": str(text.path), "threads": 1, "directory": str(ids), **more}
    )
    return ids, text.path, f"{answer['words']:,} words, a vocabulary of {answer['vocabulary']:,}"
