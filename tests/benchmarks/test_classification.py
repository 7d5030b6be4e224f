"""Sets are cut as they should be, both programs are called and understood, and the page shows the rows."""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from pathlib import Path

import classification
import pytest
from classification import SAME, Classification, agreement
from classification_report import COLUMNS, page
from classification_sets import REPEATS, SETS, Example, ancestors, split, words_and_signs, write
from classifiers import FastText, Unhot, printed, translated
from harness import ChildFailed, Run, child
from report import Table, read_rows
from rows import row_of

# Writes its options as the model, is right half of the time, and predicts the first word of each line.
PROGRAM = """\
import sys
command, *rest = sys.argv[1:]
if command == "supervised":
    given = dict(zip(rest[::2], rest[1::2]))
    open(given["-output"] + ".bin", "w").write(" ".join(rest[4:]))
elif command == "quantize":
    open(rest[3] + ".ftz", "w").close()
elif command == "test":
    print("N\\t4\\nP@1\\t0.5\\nR@1\\t0.25" if len(rest) == 2 else "N\\t4\\nP@9\\t0.6\\nR@9\\t0.3")
elif command == "predict":
    print(*("__label__" + line.split()[0] for line in open(rest[1])), sep="\\n")
"""


EXAMPLES = [Example(["a"], ["x", "y"]), Example(["b"], ["z"])]


def pack(path: Path, *lines: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode()))


def program(folder: Path) -> Path:
    script = folder / "fasttext"
    (folder / "program.py").write_text(PROGRAM)
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {folder}/program.py "$@"\n')
    script.chmod(0o755)
    return script


def test_words_and_signs() -> None:
    assert words_and_signs("It's 5-year\nOLD!") == ["it", "'", "s", "5", "-", "year", "old", "!"]


def test_sentences_have_their_own_test_part(tmp_path: Path) -> None:
    folder = tmp_path / "sentence-classification"
    pack(folder / "TREC.train.all.txt.xz", "0 How far ?", "1 Who?")
    pack(folder / "TREC.test.all.txt.xz", "1 Which one? ")
    train, test = SETS["TREC"](tmp_path)
    assert [example.line() for example in train] == ["__label__0 how far ?\n", "__label__1 who ?\n"]
    assert [example.text() for example in test] == ["which one ?\n"]


def test_languages_keep_their_letters_and_are_split(tmp_path: Path) -> None:
    pack(tmp_path / "langid" / "sentences.train.tsv.xz", *(f"x{n}\tÄ  b{n}!" for n in range(20)))
    train, test = SETS["langid"](tmp_path)
    assert (len(train), len(test)) == (18, 2)
    assert sorted(example.line() for example in train + test) == sorted(
        f"__label__x{n} Ä b{n}!\n" for n in range(20)
    )
    assert (train, test) == split(sorted(train + test, key=lambda example: int(example.labels[0][1:])))


def test_newsgroups_are_shuffled_or_sorted_or_below_each_other(tmp_path: Path) -> None:
    letters = [json.dumps({"label": f"a.b{n}", "text": f"Re: {n}"}) for n in range(9)]
    for part in ("train", "test"):
        pack(tmp_path / "20newsgroups" / f"20news-bydate-{part}.jsonl.xz", *letters)
    (mixed, test), (ordered, _), (several, _) = (
        SETS[name](tmp_path) for name in ("20newsgroups", "20newsgroups.sorted", "20newsgroups.hierarchy")
    )
    assert [example.labels for example in test] == [[f"a.b{n}"] for n in range(9)]
    assert mixed != test
    assert sorted(mixed) == sorted(test) == ordered
    assert [list(example.labels) for example in several] == [["a", *example.labels] for example in mixed]
    assert ancestors("comp.sys.mac") == ["comp", "comp.sys", "comp.sys.mac"]


def test_friends_are_words_and_groups_labels(tmp_path: Path) -> None:
    pack(tmp_path / "graphs" / "blogcatalog_adjlist.txt.xz", "5 6 7", "6 5")
    (tmp_path / "graphs" / "blogcatalog_labels.txt").write_text("6 2\n5 21 6\n")
    train, test = SETS["BlogCatalog"](tmp_path)
    lines = {example.line() for example in train + test}
    assert lines == {"__label__21 __label__6 n6 n7\n", "__label__2 n5\n"}


def test_files_of_a_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REPEATS, "tiny", 2)
    write(tmp_path, "tiny", EXAMPLES, EXAMPLES)
    read = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert read["tiny.train.txt"] == read["tiny.test.txt"] == "__label__a x y\n__label__b z\n"
    assert (read["tiny.input.txt"], read["tiny.one.txt"]) == ("x y\nz\n", "x y\n")
    assert read["tiny.many.txt"] == "x y\nz\nx y\nz\n"


def test_settings_of_fasttext() -> None:
    options = " ".join(translated({**SAME, "minn": 2, "threads": 2, "seed": 3, "output": "one_vs_all"}))
    assert options == (
        "-dim 10 -wordNgrams 2 -epoch 25 -lr 0.5 -bucket 2000000 -minCount 1 -loss ova "
        "-minn 2 -thread 2 -seed 3"
    )


def test_what_fasttext_prints() -> None:
    assert printed("N\t500\nP@1\t0.9\nR@1\t0.45\n") == {"P": 90.0, "R": 45.0}
    assert printed("N\t500\nP@-1\t-nan\nR@-1\t0\n") == {"P": 0.0, "R": 0.0}
    with pytest.raises(ChildFailed, match="neither P@ nor R@"):
        printed("Model file cannot be opened")


def test_fasttext_is_called(tmp_path: Path) -> None:
    fasttext, lines = FastText(program(tmp_path)), tmp_path / "lines.txt"
    lines.write_text("x y\nz\n")
    model = tmp_path / "20newsgroups.sorted.bin"
    fasttext.train(lines, model, {"dim": 3})
    assert model.read_text() == "-dim 3"
    assert fasttext.test(model, lines) == {"accuracy": 50.0}
    assert fasttext.test_several(model, lines) == pytest.approx(
        {"precision_at_1": 50.0, "precision": 60.0, "recall": 30.0, "f1": 40.0}
    )
    fasttext.predict(model, lines, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "__label__x\n__label__z\n"
    assert fasttext.quantize(lines, model) == tmp_path / "20newsgroups.sorted.ftz"


def test_unhot_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def run(command: list[str]) -> Run:
        commands.append(command[2:])
        said = '{"examples": 4, "accuracy": 0.75, "precision": 0.5, "recall": 0.25, "f1": NaN}'
        return Run(1.0, 2.0, said, None)

    monkeypatch.setattr("classifiers.run", run)
    unhot, file, model = Unhot(), Path("lines.txt"), Path("model")
    unhot.train(file, model, {"dim": 10, "word-ngrams": 2})
    assert unhot.test(model, file) == {"accuracy": 75.0}
    figures = {"precision_at_1": 50.0, "precision": 50.0, "recall": 25.0, "f1": 0.0}
    assert unhot.test_several(model, file) == figures
    unhot.predict(model, file, Path("out"), 2)
    assert [" ".join(command) for command in commands] == [
        "unhot classify train lines.txt -o model --dim 10 --word-ngrams 2",
        "unhot classify test model lines.txt --json",
        "unhot classify test model lines.txt --json",
        "unhot classify test model lines.txt -k 1000 --threshold 0.5 --json",
        "unhot classify predict model lines.txt -o out --threads 2",
    ]


def test_agreement_is_that_of_first_labels(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.write_text("a\t0.9\nb\t0.5\n__label__c d\t1\n")
    theirs.write_text("__label__a\n__label__c\n__label__c d\n")
    assert agreement(ours, theirs) == pytest.approx(200 / 3)
    theirs.write_text("__label__a\n")  # lines that are missing are not the same
    assert agreement(ours, theirs) == pytest.approx(100 / 3)


def test_all_that_trains_and_predicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = program(tmp_path)
    for name in ("SIX", "LARGE", "PREDICTED"):
        monkeypatch.setattr(classification, name, ("tiny",))
    monkeypatch.setattr(classification, "SORTED", "sorted")
    monkeypatch.setattr(classification, "SEVERAL", ("several",))
    monkeypatch.setattr(classification, "Unhot", lambda: FastText(fake))
    monkeypatch.setitem(REPEATS, "tiny", 3)
    for name in ("tiny", "sorted", "several"):
        write(tmp_path, name, EXAMPLES, EXAMPLES)
    options = argparse.Namespace(work=tmp_path, fasttext=fake, rounds=2, threads=2)
    path = tmp_path / "x.csv"
    with Table(path, COLUMNS, dict.fromkeys(("date", "commit", "machine", "versions"), "?")) as table:
        bench = Classification(options, tmp_path, table)
        for part in (bench.defaults, bench.same, bench.predict, bench.agree, bench.several):
            part()
    rows = read_rows(path)
    counts = {kind: sum(row["kind"] == kind for row in rows) for kind in classification.PARTS}
    assert counts == {"defaults": 8, "same": 8, "predict": 6, "agree": 2, "several": 8, "stream": 0}
    assert not any(row["error"] for row in rows)
    assert {row["seed"] for row in rows if row["kind"] == "defaults"} == {"1", "2"}
    assert {row["settings"] for row in rows if row["tool"] == "unhot" and row["kind"] == "defaults"} == {
        f"threads 2, seed {seed}" for seed in (1, 2)
    }
    text = page("x", rows)
    assert "| tiny | 50.0 (50.0..50.0) | 50.0 (50.0..50.0) |" in text
    assert "| tiny | 100.0 of 2 lines | 100.0 of 2 lines |" in text


def test_a_run_that_fails_is_a_row(tmp_path: Path) -> None:
    options = argparse.Namespace(work=tmp_path, fasttext=None, rounds=1, threads=1)
    with Table(tmp_path / "x.csv", COLUMNS) as table:
        bench = Classification(options, tmp_path, table)
        with pytest.raises(SystemExit, match="make it with benchmarks/classification_sets.py"):
            bench.same()
        broken = FastText(tmp_path / "no-program")
        (tmp_path / "tiny.input.txt").write_text("x\n")
        (tmp_path / "no-program").write_text("#!/bin/sh\necho out of paper >&2\nexit 1\n")
        (tmp_path / "no-program").chmod(0o755)
        bench._add(
            "same", 1, "tiny", "fastText", lambda: broken.test(tmp_path / "m", tmp_path / "tiny.input.txt")
        )
    assert [row["error"] for row in read_rows(tmp_path / "x.csv")] == ["out of paper"]


def test_a_parquet_file_has_the_size_that_is_asked_for(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "lines.txt").write_text("some words\nsome more words\n" * 50)
    job = {"lines": str(tmp_path / "lines.txt"), "gigabytes": 1e-4, "out": str(tmp_path / "x.parquet")}
    made = child("write_parquet", job)[1]
    table = parquet.read_table(tmp_path / "x.parquet")
    assert len(table) == made["lines"]
    assert table["text"][:2].to_pylist() == ["some words", "some more words"]
    assert 100_000 < made["bytes"] == (tmp_path / "x.parquet").stat().st_size < 150_000


def row(kind: str, number: int, tool: str, **columns: object) -> dict[str, str]:
    usual = {"kind": kind, "round": number, "set": "TREC", "tool": tool, "threads": 2, "seed": number}
    return row_of(COLUMNS, usual, columns)


def test_unhot_is_compared_with_the_best_of_fasttext() -> None:
    figures = {"unhot": (90, 92), "fastText, dim 10": (88, 90), "fastText, dim 100": (80, 93)}
    rows = [
        row("defaults", number, tool, accuracy=value, total_seconds=2)
        for tool, values in figures.items()
        for number, value in enumerate(values, start=1)
    ]
    text = page("x", rows)
    assert "| set | unhot | fastText, dim 10 | fastText, dim 100 | unhot less fastText's best |" in text
    assert "| TREC | 91.0 (90.0..92.0) | 89.0 (88.0..90.0) | 86.5 (80.0..93.0) | +2.0 |" in text
    assert "| TREC | 2.00 (2.00..2.00) | 2.00" in text


def test_times_are_taken_within_rounds() -> None:
    ours, theirs = (1, 2, 4), (8, 6, 40)
    rows = [
        row("same", at + 1, tool, total_seconds=seconds[at], accuracy=70 + 5 * (tool == "unhot"), peak_mb=90)
        for at in range(3)
        for tool, seconds in (("fastText", theirs), ("unhot", ours))
    ]
    text = page("x", [*rows, row("same", 4, "unhot", error="out of paper")])
    assert "| TREC: unhot | 2.00 (1.00..4.00) | 90 (90..90) | - | 8.00 (3.00..10.00) |" in text
    assert "| 75.0 (75.0..75.0) | +5.0 |" in text
    assert "| TREC: fastText | 8.00 (6.00..40.00) | 90 (90..90) | - |  | 70.0 (70.0..70.0) |  |" in text
    assert "1 of 7 runs failed" in text


def test_predicted_lines_and_a_stream() -> None:
    speeds = {"fastText": 1000, "unhot": 3000, "unhot, threads 2": 5400}
    rows = [row("predict", 1, tool, lines_per_second=n, loading_seconds=0.5) for tool, n in speeds.items()]
    large = {"bytes": 5_000_000_000, "lines": 2_000_000, "total_seconds": 100, "one_line_mb": 180}
    text = page("x", [*rows, row("stream", 1, "unhot", **large, peak_mb=250.4)])
    assert "| set | unhot | unhot, threads 2 | fastText | unhot / fastText | threads 2 / 1 |" in text
    assert "| 1,000 (1,000..1,000) | 3.00 (3.00..3.00) | 1.80 (1.80..1.80) |" in text
    assert "| unhot, threads 2 | 5.00 | 2,000,000 | 100 | 50 | 250 | 180 |" in text


def test_several_labels() -> None:
    figures = {"precision_at_1": 40.0, "precision": 30.0, "recall": 20.0, "f1": 24.0, "total_seconds": 3}
    text = page("x", [row("several", 1, "unhot, softmax", **figures)])
    assert "| TREC: unhot, softmax | 40.0 | 30.0 | 20.0 | 24.0 | 3.00 (3.00..3.00) |" in text
