"""The commands of `unhot lm`."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from commands import run as ended

import unhot
from tests.ngrams.texts import GOLDEN, LINES
from unhot.cli.main import group
from unhot.models.load import load_language_model


def run(*arguments: object, code: int = 0, given: str | None = None) -> str:
    result = CliRunner().invoke(group, ["lm", *map(str, arguments)], input=given)
    if code == 0 and result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lm") / "text.txt"
    path.write_text("\n".join(LINES) + "\n")
    return path


@pytest.fixture(scope="module")
def model(text: Path) -> Path:
    target = text.parent / "model"
    run("train", text, "-o", target, "--order", "3", "-q")
    return target


def test_train_writes_a_model_that_python_opens(model: Path, text: Path) -> None:
    found = unhot.load(model)
    assert found.order == 3
    assert found.score("the cat") == unhot.NGramModel(order=3).fit(text).score("the cat")


def test_train_takes_settings(text: Path, tmp_path: Path) -> None:
    options = [
        "--smoothing",
        "add_k:k=0.5",
        "--prune",
        "0,1",
        "--min-count",
        "2",
        "--memory",
        "1MB",
        "--compact",
    ]
    run("train", text, "-o", tmp_path / "m", "--order", "2", "--threads", "1", *options)
    found = unhot.load(tmp_path / "m")
    assert (found.smoothing, found.prune, found.compact) == ("add_k:k=0.5", "0,1", True)


def test_progress_names_the_orders(text: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(group, ["lm", "train", str(text), "-o", str(tmp_path / "m"), "--order", "3"])
    assert "n-grams/s" in result.stderr
    assert "order 3:" in result.stderr


def test_perplexity(model: Path, text: Path) -> None:
    found = json.loads(run("perplexity", model, text, "--json"))
    expected = unhot.load(model).perplexity(text)
    assert found == json.loads(json.dumps(expected.as_json()))
    assert {"tokens", "unknown", "perplexity", "perplexity_without_unknown", "log10"} <= found.keys()
    assert f"{expected.perplexity:,.2f}" in run("perplexity", model, text)


def test_perplexity_of_other_files(model: Path, text: Path, tmp_path: Path) -> None:
    same = json.loads(run("perplexity", GOLDEN / "kn_modified.arpa", text, "--json"))
    binary = json.loads(run("perplexity", GOLDEN / "kenlm_probing.bin", text, "--json"))
    assert same["perplexity"] == pytest.approx(binary["perplexity"], rel=1e-5)
    pq.write_table(pa.table({"id": range(len(LINES)), "body": LINES}), tmp_path / "t.parquet")
    table = json.loads(run("perplexity", model, tmp_path / "t.parquet", "--json", "--column", "body"))
    assert table == json.loads(run("perplexity", model, text, "--json"))


def test_infinite_perplexity_is_said(text: Path, tmp_path: Path) -> None:
    run("train", text, "-o", tmp_path / "m", "--order", "2", "--smoothing", "maximum_likelihood", "-q")
    (tmp_path / "t").write_text("cat the\n")
    assert "of probability zero" in run("perplexity", tmp_path / "m", tmp_path / "t")
    code, out, said = ended("lm", "perplexity", tmp_path / "m", tmp_path / "t", "--json")
    found = json.loads(out)
    assert (code, found["perplexity"]) == (0, None)
    assert found["zero"] >= 1
    infinite = [name for name, value in found.items() if value is None]
    assert f"numbers that are not finite: {len(infinite)}; the JSON has null for them" in said


def test_symbols_in_a_text_are_unknown_words(model: Path, tmp_path: Path) -> None:
    """No score is infinite; `</s>` is the end of a line, as in KenLM, and `<s>` is never predicted."""
    found, binary = unhot.load(model), load_language_model(GOLDEN / "kenlm_probing.bin")
    for each in (found, binary):
        assert each.score("the <s> cat") == each.score("the <unk> cat") > -100
        assert each.scores(["the <s> cat", "a"])[0] == pytest.approx(each.score("the <s> cat"))
        assert each.full_scores("the <s>")[1].unknown
        state = each.state("the")
        assert each.advance(state, "<s>")[0] == each.advance(state, "<unk>")[0]
    assert found.score("the </s> cat") > -100


def test_an_empty_cell_is_a_row_without_a_text_like_null(model: Path, tmp_path: Path) -> None:
    """CSV has no other way to write null; in JSON lines, an empty string is an empty text."""
    (tmp_path / "in.csv").write_text(f'id,text\n1,{LINES[0]}\n2,\n3,""\n')
    code, out, said = ended("lm", "score", model, tmp_path / "in.csv", "-o", "-")
    assert (code, out.splitlines()[2:]) == (0, ["2,,,", '3,"",,'])
    assert "2 of 3 rows have no text and were copied without a score" in said
    assert "perplexities of 1 texts" in said
    (tmp_path / "in.jsonl").write_text('{"text": ""}\n')
    empty = json.loads(run("score", model, tmp_path / "in.jsonl", "-o", "-", "-q"))["score"]
    assert empty == pytest.approx(unhot.load(model).score(""))


def test_scores_that_are_not_there_are_null_and_counted(text: Path, tmp_path: Path) -> None:
    """Rows without a text and texts of probability zero: null, counted, not in the percentiles."""
    made = unhot.NGramModel(order=2, smoothing="maximum_likelihood", threads=1).fit(text)
    made.save(tmp_path / "m")
    rows = [{"text": LINES[0]}, {"text": None}, {"text": "cat the"}, {"text": None}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, said = ended("lm", "score", tmp_path / "m", tmp_path / "in.jsonl", "-o", "-")
    found = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert found[0]["score"] == pytest.approx(made.score(LINES[0]))
    assert [(row["score"], row["perplexity"]) for row in found[1:]] == [(None, None)] * 3
    assert "2 of 4 rows have no text and were copied without a score" in said
    assert "texts of probability zero: 1; they have no score" in said
    assert f"perplexities of 1 texts, percentiles: 1%: {found[0]['perplexity']:,.1f}" in said


def test_documents_are_one_sentence_or_several(model: Path, tmp_path: Path) -> None:
    found, document = unhot.load(model), f"{LINES[0]}\n\n{LINES[1]}\n"
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": document}) + "\n")
    (whole,) = run("score", model, tmp_path / "in.jsonl", "-o", "-", "-q").splitlines()
    assert json.loads(whole)["score"] == pytest.approx(found.score(f"{LINES[0]} {LINES[1]}"))
    (summed,) = run("score", model, tmp_path / "in.jsonl", "-o", "-", "-q", "--by-line").splitlines()
    sums = found.perplexity([LINES[0], "", LINES[1]])
    assert json.loads(summed)["score"] == pytest.approx(sums.log10)
    assert json.loads(summed)["perplexity"] == pytest.approx(sums.perplexity)
    assert found.document_scores([document, LINES[2]])[1] == pytest.approx(found.score(LINES[2]))


@pytest.mark.parametrize("more", [(), ("--model", "neural", "--dim", "4", "--epochs", "1")])
def test_symbols_in_a_training_text(tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "t").write_text("a b\n\na <unk> b\n<s> a b </s>\n")
    (tmp_path / "plain").write_text("a b\n\na b\na b\n")
    code, _, said = ended("lm", "train", tmp_path / "t", "-o", tmp_path / "m", *more)
    assert code == 1
    assert "line 4 of the text has the word <s>" in said
    assert "--skip-symbols" in said
    code, _, said = ended("lm", "train", tmp_path / "t", "-o", tmp_path / "m", "--skip-symbols", *more)
    assert code == 0
    assert "3 words such as <s> and </s> were read as white space" in said
    assert ended("lm", "train", tmp_path / "plain", "-o", tmp_path / "p", *more).returncode == 0
    assert unhot.load(tmp_path / "m").score("a b") == unhot.load(tmp_path / "p").score("a b")


@pytest.mark.parametrize("name", ["m.bin", "m.gz", "m.klm"])
def test_convert_refuses_files_that_it_does_not_write(model: Path, tmp_path: Path, name: str) -> None:
    code, _, said = ended("lm", "convert", model, tmp_path / name)
    assert code == 2
    assert "as an ARPA file (a name with .arpa" in said
    assert not (tmp_path / name).exists()


def test_score_text(model: Path, text: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        group, ["lm", "score", str(model), str(text), "-o", str(tmp_path / "out.txt")]
    )
    assert "percentiles" in result.stderr
    rows = [line.split("\t") for line in (tmp_path / "out.txt").read_text().splitlines()]
    found = unhot.load(model)
    assert [float(score) for score, _ in rows] == found.scores(LINES).tolist()
    words = len(LINES[0].split()) + 1
    assert float(rows[0][1]) == pytest.approx(10 ** (-float(rows[0][0]) / words))


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "csv", "parquet"])
def test_score_keeps_columns(model: Path, tmp_path: Path, ending: str) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"id": i, "body": line}) + "\n" for i, line in enumerate(LINES)))
    out = tmp_path / f"out.{ending}"
    run("score", model, source, "--column", "body", "-o", out, "--rename", "perplexity=ppl", "-q")
    if ending == "parquet":
        rows = pq.read_table(out).to_pylist()
    elif ending == "csv":
        head, *lines = out.read_text().splitlines()
        rows = [dict(zip(head.split(","), line.split(","), strict=True)) for line in lines]
    else:
        data = gzip.decompress(out.read_bytes()) if ending.endswith("gz") else out.read_bytes()
        rows = [json.loads(line) for line in data.splitlines()]
    assert list(rows[0]) == ["id", "body", "score", "ppl"]
    assert [row["body"] for row in rows] == LINES
    assert float(rows[3]["score"]) == pytest.approx(unhot.load(model).score(LINES[3]))


def test_score_never_replaces_its_input(model: Path, text: Path) -> None:
    before = text.read_bytes()
    result = CliRunner().invoke(group, ["lm", "score", str(model), str(text), "-o", str(text)])
    assert result.exit_code != 0
    assert text.read_bytes() == before


def test_generate(model: Path) -> None:
    drawn = run("generate", model, "-n", "3", "--seed", "1").splitlines()
    assert len(drawn) == 3
    assert drawn == json.loads(run("generate", model, "-n", "3", "--seed", "1", "--json"))
    assert drawn[1] == run("generate", model, "--seed", "2").strip()
    assert run("generate", model, "the cat", "--seed", "1").startswith("the cat")
    first, *_ = run("generate", model, "the cat", "--next", "3").splitlines()
    best = unhot.load(model).next_words("the cat", 1)[0]
    assert first == f"{best.probability:.6f}  {best.word}"
    assert json.loads(run("generate", model, "the cat", "--next", "1", "--json"))[0]["word"] == best.word


def test_count(text: Path) -> None:
    shown = run("count", text, "--order", "2", "--top", "3")
    assert shown.splitlines()[0].split() == ["n-gram", "count"]
    found = json.loads(run("count", text, "--order", "2", "--top", "3", "--json"))
    assert list(found["top"].values()) == sorted(found["top"].values(), reverse=True)
    assert found["top"]["<s> the"] == sum(line.startswith("the ") for line in LINES)


def test_convert(model: Path, text: Path, tmp_path: Path) -> None:
    run("convert", model, tmp_path / "x.arpa.gz")
    run("convert", tmp_path / "x.arpa.gz", tmp_path / "compact", "--compact")
    run("convert", tmp_path / "compact", tmp_path / "quick")
    found = {
        json.loads(run("perplexity", each, text, "--json"))["perplexity"]
        for each in (model, tmp_path / "x.arpa.gz", tmp_path / "compact", tmp_path / "quick")
    }
    assert len(found) == 1
    result = CliRunner().invoke(
        group, ["lm", "convert", str(GOLDEN / "kenlm_probing.bin"), str(tmp_path / "y.arpa")]
    )
    assert "only hashes" in str(result.exception)


def test_info(model: Path) -> None:
    shown = CliRunner().invoke(group, ["info", str(model)]).stdout
    assert "modified_kneser_ney" in shown
    assert "ngrams" in shown


def test_help_lists_both_models_and_output_layers() -> None:
    shown = run("train", "--help")
    for part in ("Output layers", "Settings of all models", "Settings of ngram", "--body"):
        assert part in shown
    assert "fasttext" not in shown
