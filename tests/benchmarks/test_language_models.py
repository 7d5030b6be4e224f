"""Both makers of language models are called and understood, files compared, and the page shows the rows."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import language_model_tools as tools
import language_models
import pytest
from grids import soak_only
from harness import ChildFailed, Run, child
from language_model_texts import Sets, first_line, lines, repeated
from language_model_tools import KenLM, Perplexity, Unhot, printed, together
from language_models import (
    SMOOTHED_ORDERS,
    SMOOTHINGS,
    LanguageModels,
    built,
    checked,
    parser,
    without_loading,
)
from language_models_report import COLUMNS, page
from report import Table, read_rows
from rows import row_of
from text import Text

import unhot
from unhot.ngrams.smoothing import SMOOTHINGS as KNOWN

# Writes an ARPA file with one word, copies it with its kind in front, and counts words and ends of lines.
PROGRAM = """\
import pathlib, sys
program, *given = sys.argv[1:]
if program == "lmplz":
    text, order = sys.stdin.read(), given[1]
    sys.exit("out of paper") if "paper" in text else None
    print("\\\\data\\\\\\nngram 1=1\\n\\n\\\\1-grams:\\n-" + order + "\\tx\\t-0.5\\n\\n\\\\end\\\\")
elif program == "build_binary":
    pathlib.Path(given[2]).write_text(given[0] + pathlib.Path(given[1]).read_text())
else:
    text = sys.stdin.read()
    tokens = len(text.split()) + text.count("\\n")
    print(f"Perplexity including OOVs:\\t7.5\\nPerplexity excluding OOVs:\\t7")
    print(f"OOVs:\\t2\\nTokens:\\t{tokens}")
"""
PACKAGE = """\
class Model:
    def __init__(self, path): pass
    def score(self, sentence): return -float(len(sentence.split()))
"""


def programs(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    for name in ("lmplz", "build_binary", "query"):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {folder}/program.py {name} "$@"\n')
        script.chmod(0o755)
    return folder


class Tiny(KenLM):
    """Stands for unhot."""

    def train(self, text: Path, model: Path, order: int, more: object = ()) -> dict[str, Run]:
        return {"unhot": super().train(text, model, order)["lmplz"]}

    def convert(self, model: Path, out: Path, *options: str) -> Path:
        out.write_text("".join(options))
        return out


def bench(folder: Path, table: Table) -> LanguageModels:
    """The benchmark on tiny files, whose tools are all KenLM's imitation."""
    sources = folder / "sources"
    sources.mkdir()
    for name in ("ptb", "wiki2"):
        for part in ("train", "valid", "test"):
            (sources / f"{name}.{part}.txt").write_text(f"the {part}  <unk>\n\nof {name}\n")
    text = folder / "large.txt"
    text.write_text("some words\n" * 3)
    usual = {"sets": sources, "kenlm": folder, "kenlm_python": Path(sys.executable), "rounds": 1}
    given = argparse.Namespace(**{**usual, "threads": 2, "gigabytes": 2})
    return LanguageModels(given, Text("large", text, 6, 33), folder, table)


def test_all_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_models, "Unhot", lambda threads, memory: Tiny(programs(tmp_path), memory))
    monkeypatch.setattr(Tiny, "suffix", ".own")
    monkeypatch.setattr(language_models, "SMOOTHINGS", ("katz",))
    monkeypatch.setattr(language_models, "LOADS", 1)
    (tmp_path / "kenlm.py").write_text(PACKAGE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    asked = child

    def answer(name: str, job: dict[str, object], **how: str) -> tuple[Run, dict[str, object]]:
        if name == "perplexities_unhot":
            return Run(1.0, 1.0, "", None), {
                "valid": 5.0,
                "test": float("inf"),
                "test_tokens": 9,
                "test_zero": 4,
            }
        return asked("sentences_kenlm" if name == "sentences_unhot" else name, job, **how)

    monkeypatch.setattr(language_models, "child", answer)
    path = tmp_path / "x.csv"
    with Table(path, COLUMNS, dict.fromkeys(("date", "commit", "machine", "versions"), "?")) as table:
        measured = bench(tmp_path, table)
        for part in language_models.PARTS.values():
            part(measured)
    rows = read_rows(path)
    assert [row["error"] for row in rows if row["error"]] == []
    kinds = [row["kind"] for row in rows]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        **{"train": 4, "quality": 8, "arpa": 4, "scoring": 12, "python": 3, "sizes": 6},
        "smoothings": len(SMOOTHED_ORDERS),
    }
    assert {row["tokens"] for row in rows if row["kind"] == "scoring"} == {"9", str(8 * 8)}
    assert {(row["sentences"], row["log10"]) for row in rows if row["kind"] == "python"} == {("9", "-15.0")}
    assert not list(tmp_path.glob("*large*.arpa"))  # it would be large
    text = page("x", rows)
    assert "on a text of 6 words" in text
    assert "| ptb, order 3: valid | 8 | 7.5000 | 7.5000 | +0.0e+00 |" in text
    assert "| wiki2, order 5 | 1 | all | 0.0e+00 | 0.0e+00 |" in text
    assert "inf (4 of 9)" in text


def test_a_run_that_fails_is_a_row(tmp_path: Path) -> None:
    programs(tmp_path)
    with Table(tmp_path / "x.csv", COLUMNS) as table:
        measured = bench(tmp_path, table)
        (tmp_path / "large.txt").write_text("paper\n")
        measured._tools = {"KenLM": KenLM(tmp_path, "1G")}
        measured.train()
    assert [row["error"] for row in read_rows(tmp_path / "x.csv")] == ["out of paper"] * 2


def test_what_unhot_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = []
    found = '{"perplexity": null, "tokens": 4, "unknown": 1, "zero": 2}'

    def run(command: list[str]) -> Run:
        said.append(" ".join(command[2:]))
        return Run(1.0, 2.0, found, None)

    monkeypatch.setattr(tools, "run", run)
    maker, model, text = Unhot(2, "2GB"), Path("model"), Path("text")
    maker.train(text, model, 3, ["--min-count", "1"])
    assert maker.measure(model, text)[1] == Perplexity(float("inf"), 4, 1, 2)
    assert maker.write_arpa(model) == Path("model.arpa")
    maker.convert(model, Path("small"), "--compact")
    assert said == [
        "unhot lm train text -o model --order 3 --threads 2 --memory 2GB --min-count 1 -q",
        "unhot lm perplexity model text --threads 1 --json",
        "unhot lm convert model model.arpa",
        "unhot lm convert model small --compact",
    ]


def test_what_query_prints() -> None:
    text = "Perplexity including OOVs:\t24.5\nPerplexity excluding OOVs:\t9\nOOVs:\t3\nTokens:\t12\n"
    assert printed(text) == Perplexity(24.5, 12, 3)
    with pytest.raises(ChildFailed, match="query printed no perplexity"):
        printed("Tokens:\t12\n")


def test_programs_one_after_the_other() -> None:
    both = together([Run(3.0, 50.0, "", 0.2), Run(1.0, 70.0, "", None), Run(1.0, 7.0, "", 1.0)])
    assert both == Run(5.0, 70.0, "", pytest.approx(0.4))
    assert together([Run(0.1, 5.0, "", None)]).others_cores is None


def test_texts(tmp_path: Path) -> None:
    text = tmp_path / "x.valid.txt"
    text.write_text(" \n a  <unk> <unk>s\nb\n")
    assert list(lines(text)) == [b"\n", b"a UNKTOK <unk>s\n", b"b\n"]
    assert first_line(text).read_text() == " a  <unk> <unk>s\n"
    assert repeated(text, 3).read_text() == 3 * text.read_text()
    with pytest.raises(SystemExit, match=r"x\.train\.txt: no such file; .* x\.train\.txt, x\.valid\.txt"):
        Sets(tmp_path, tmp_path / "copies").file("x", "train")


def write_arpa(path: Path, *ngrams: str) -> str:
    orders = [[ngram for ngram in ngrams if ngram.split("\t")[1].count(" ") == n] for n in (0, 1)]
    head = "".join(f"ngram {n}={len(found)}\n" for n, found in enumerate(orders, 1))
    body = "".join(
        f"\n\\{n}-grams:\n" + "".join(f"{x}\n" for x in found) for n, found in enumerate(orders, 1)
    )
    path.write_text(f"\\data\\\n{head}{body}\n\\end\\\n")
    return str(path)


def test_arpa_files_are_compared_in_any_order(tmp_path: Path) -> None:
    ours = write_arpa(tmp_path / "a", "-1\ta\t-0.5", "-99\t<s>\t-0.25", "-2\ta a", "-4\t<s> a")
    theirs = write_arpa(tmp_path / "b", "0\t<s>\t-0.5", "-1.125\ta\t-0.5", "-4.5\t<s> a", "-2\ta a")
    assert child("compare_arpa", {"ours": ours, "theirs": theirs})[1] == {
        "ngrams": 4,
        "same_ngrams": 4,
        "log_prob_difference": 0.5,
        "backoff_difference": 0.25,
    }


def test_ngrams_of_one_arpa_file_alone_are_seen(tmp_path: Path) -> None:
    ours = write_arpa(tmp_path / "a", "-1\ta\t-0.5", "-2\ta a")
    theirs = write_arpa(tmp_path / "b", "-1\ta\t-0.5", "-2\ta b", "-2\tb a")
    found = child("compare_arpa", {"ours": ours, "theirs": theirs})[1]
    assert (found["ngrams"], found["same_ngrams"]) == (4, 1)


@soak_only
def test_unhot_answers_from_python(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a b\na c\n\n")
    unhot.NGramModel(order=2, smoothing="witten_bell").fit(text).save(tmp_path / "model")
    model = str(tmp_path / "model")
    job = {"model": model, "sentences": str(text), "threads": 1, "repeats": 2}
    answer = child("sentences_unhot", job)[1]
    assert (answer["sentences"], len(answer["seconds"])) == (3, 2)
    found = child("perplexities_unhot", {"model": model, "texts": {"valid": str(text)}})[1]
    assert (found["valid_tokens"], found["valid_zero"]) == (7, 0)
    assert found["valid"] == pytest.approx(10 ** (-answer["log10"] / 7))


def test_every_smoothing_is_measured() -> None:
    assert sorted(SMOOTHINGS) == sorted(set(KNOWN) - {"given"})


def test_options_must_go_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="no lmplz, build_binary, query there"):
        built(str(tmp_path))
    for given in ([], ["--kenlm-python", sys.executable, "--parts", "train"]):
        monkeypatch.setattr(sys, "argv", ["x", *given])
        with pytest.raises(SystemExit):
            checked(parser())


def row(kind: str, number: int, tool: str, **columns: object) -> dict[str, str]:
    usual = {"kind": kind, "round": number, "set": "text8", "order": 5, "tool": tool, "threads": 2}
    return row_of(COLUMNS, usual, columns)


def test_times_are_taken_within_rounds() -> None:
    ours, theirs = (1, 2, 4), (8, 6, 40)
    rows = []
    for at in range(3):
        rows.append(row("train", at + 1, "unhot", total_seconds=ours[at], words=9, peak_mb=300))
        parts = {"lmplz_seconds": theirs[at] - 1, "build_binary_seconds": 1, "total_seconds": theirs[at]}
        rows.append(row("train", at + 1, "KenLM", **parts, peak_mb=900))
    text = page("x", [*rows, row("train", 4, "unhot", error="out of paper")])
    assert (
        "| text8, order 5 | 2.00 (1.00..4.00) | 7.00 (5.00..39.00) | 1.00 (1.00..1.00) | 8.00 (3.00..10.00) "
        "| 300 (300..300) | 900 (900..900) |" in text
    )
    assert "1 of 7 runs failed" in text


def test_scoring_shows_both_ratios() -> None:
    figures = {"tokens": 17_000, "unknown": 3, "perplexity": 9.5, "total_seconds": 4, "peak_mb": 100}
    taken = {"unhot": 2, "unhot, threads 2": 1, "KenLM": 5}
    rows = [row("scoring", 1, tool, score_seconds=value, **figures) for tool, value in taken.items()]
    text = page("x", rows)
    assert "| KenLM / unhot | threads 1 / 2 |" in text
    assert "| 5.00 (5.00..5.00) | 2.50 (2.50..2.50) | 2.00 (2.00..2.00) |" in text
    alone = page("x", [row("scoring", 1, "unhot", score_seconds="", **figures)])
    assert "| text8, order 5 | 17,000 | - | - | - |" in alone


def test_loading_is_taken_off_if_it_is_steady() -> None:
    assert without_loading(5.0, [2.0, 1.75, 2.25]) == 3.0
    assert without_loading(2.5, [2.0, 1.75, 2.25]) == ""  # the loads differ by as much
    assert without_loading(1.0, [2.0, 2.0, 2.0]) == ""
    assert without_loading(2.00001, [2.0]) == ""  # a ratio to nothing would be infinite


def test_models_that_differ_are_marked() -> None:
    apart = {"log_prob_difference": 0.5, "backoff_difference": 1e-7}
    text = page("x", [row("arpa", 1, "unhot", ngrams=4000, same_ngrams=3999, **apart)])
    assert "| text8, order 5 | 4,000 | **3,999** | 5.0e-01 | 1.0e-07 |" in text
