"""The commands of `unhot lm`."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import unhot
from tests.ngrams.texts import GOLDEN, LINES
from unhot.cli.main import group


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
    found = json.loads(run("perplexity", tmp_path / "m", tmp_path / "t", "--json"))
    assert found["perplexity"] == "inf"
    assert found["zero"] >= 1


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
    for part in ("Output layers", "Settings of all language models", "Settings of --model ngram", "--body"):
        assert part in shown
    assert "fasttext" not in shown
