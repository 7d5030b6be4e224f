"""The two makers of language models: the command lines of unhot and of KenLM, and what they print."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from harness import ChildFailed, Run, run

PROGRAMS = ("lmplz", "build_binary", "query")
SUMMARY = re.compile(r"^(Perplexity including OOVs|OOVs|Tokens):\t(\S+)$", re.M)


class Perplexity(NamedTuple):
    """How well a model predicts a text."""

    perplexity: float  # unknown words included
    tokens: int  # words and ends of lines
    unknown: int
    zero: int = 0  # tokens of probability zero


class Tool(Protocol):
    """Makes models from text, and measures texts with them, each in a process of its own."""

    suffix: str  # of its models

    def train(self, text: Path, model: Path, order: int) -> dict[str, Run]:
        """Make a model that can be asked; return what each program took."""

    def measure(self, model: Path, text: Path, threads: int = 1) -> tuple[Run, Perplexity]:
        """Measure how well a model predicts a text."""

    def write_arpa(self, model: Path) -> Path:
        """Return an ARPA file of a model."""


class Unhot:
    """`unhot lm` of this working copy."""

    suffix = ""

    def __init__(self, threads: int, memory: str) -> None:
        self._settings = ["--threads", str(threads), "--memory", memory]

    def train(self, text: Path, model: Path, order: int, more: Sequence[str] = ()) -> dict[str, Run]:
        """Make a model; `more` are further options."""
        options = ["-o", str(model), "--order", str(order), *self._settings, *more, "-q"]
        return {"unhot": run([*self._command("train"), str(text), *options])}

    def measure(self, model: Path, text: Path, threads: int = 1) -> tuple[Run, Perplexity]:
        """Measure how well a model predicts a text, by `perplexity --json`."""
        done = run([*self._command("perplexity"), str(model), str(text), "--threads", str(threads), "--json"])
        said = json.loads(done.output)
        counts = (int(said[name]) for name in ("tokens", "unknown", "zero"))
        perplexity = said["perplexity"]  # null: it is infinite
        return done, Perplexity(math.inf if perplexity is None else perplexity, *counts)

    def write_arpa(self, model: Path) -> Path:
        """Write an ARPA file beside a model."""
        return self.convert(model, model.with_name(f"{model.name}.arpa"))

    def convert(self, model: Path, out: Path, *options: str) -> Path:
        """Write a model in another form."""
        run([*self._command("convert"), str(model), str(out), *options])
        return out

    def _command(self, name: str) -> list[str]:
        return [sys.executable, "-m", "unhot", "lm", name]


class KenLM:
    """The programs of KenLM."""

    suffix = ".bin"

    def __init__(self, folder: Path, memory: str) -> None:
        self._lmplz, self._build_binary, self._query = (str(folder / name) for name in PROGRAMS)
        self._memory = memory

    def train(self, text: Path, model: Path, order: int) -> dict[str, Run]:
        """Estimate an ARPA file, which stays beside the model, and build hash tables from it."""
        arpa = self.write_arpa(model)
        script = 'exec "$0" -o "$1" -S "$2" -T "$3" < "$4" > "$5"'
        files = (f"{model.parent}/", str(text), str(arpa))
        estimated = run(["sh", "-c", script, self._lmplz, str(order), self._memory, *files])
        return {"lmplz": estimated, "build_binary": self._build("probing", arpa, model)}

    def build_trie(self, model: Path, out: Path) -> Path:
        """Build the smaller kind of binary file from the ARPA file of a model."""
        self._build("trie", self.write_arpa(model), out)
        return out

    def measure(self, model: Path, text: Path, threads: int = 1) -> tuple[Run, Perplexity]:
        """Measure how well a model predicts a text. The program has one thread for that."""
        script = 'exec "$0" -v summary "$1" < "$2"'
        done = run(["sh", "-c", script, self._query, str(model), str(text)])
        return done, printed(done.output)

    def write_arpa(self, model: Path) -> Path:
        """Return the ARPA file that `train` wrote."""
        return model.with_suffix(".arpa")

    def _build(self, kind: str, arpa: Path, out: Path) -> Run:
        return run([self._build_binary, kind, str(arpa), str(out)])


def printed(text: str) -> Perplexity:
    """What `query -v summary` prints."""
    found = dict(SUMMARY.findall(text))
    if len(found) != 3:
        raise ChildFailed(f"query printed no perplexity, tokens and OOVs: {text!r}")
    return Perplexity(float(found["Perplexity including OOVs"]), int(found["Tokens"]), int(found["OOVs"]))


def together(runs: Sequence[Run]) -> Run:
    """Programs that ran one after the other, as one: all seconds, and the most memory."""
    known = [(one.others_cores, one.seconds) for one in runs if one.others_cores is not None]
    long = sum(seconds for _, seconds in known)
    others = sum(cores * seconds for cores, seconds in known) / long if known else None
    return Run(sum(one.seconds for one in runs), max(one.peak_mb for one in runs), "", others)


def size(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def remove(path: Path) -> None:
    """Remove a file or a folder that may be there."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
