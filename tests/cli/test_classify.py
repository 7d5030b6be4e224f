"""`unhot classify` as a shell meets it: every command, with good and with bad input."""

import gzip
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from commands import run
from terminals import on_terminal, through_pipe

import unhot
from unhot.evaluate.labeller import calibrate

GOLDEN = Path(__file__).parents[1] / "golden"
GOOD, BAD = "good great fine lovely".split(), "bad poor awful dull".split()
SMALL = ("--dim", 4, "--threads", 1)


def rows(lines, seed):
    """Texts of filling words and one word that decides; every tenth label is wrong."""
    rng = np.random.default_rng(seed)
    for i in range(lines):
        filling = [f"w{j}" for j in rng.integers(0, 20, 5)]
        label = ("pos", "neg")[i % 2]
        yield (
            " ".join([*filling, str(rng.choice(GOOD if label == "pos" else BAD))]),
            (label if i % 10 else "neg"),
        )


TRAIN, TEST = list(rows(300, 1)), list(rows(100, 2))
NEW = [text for text, _ in TEST]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classify")
    (folder / "train.txt").write_text("".join(f"__label__{label} {text}\n" for text, label in TRAIN))
    (folder / "test.txt").write_text("".join(f"__label__{label} {text}\n" for text, label in TEST))
    (folder / "new.txt").write_text("".join(f"{text}\n" for text in NEW))
    (folder / "new.txt.gz").write_bytes(gzip.compress((folder / "new.txt").read_bytes()))
    (folder / "new.csv").write_text("id,text\n" + "".join(f"{i},{text}\n" for i, text in enumerate(NEW)))
    (folder / "new.tsv").write_text((folder / "new.csv").read_text().replace(",", "\t"))
    (folder / "test.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in TEST))
    (folder / "stars.jsonl").write_text(
        "".join(json.dumps({"body": text, "stars": 1 + 2 * (label == "pos")}) + "\n" for text, label in TEST)
    )
    (folder / "empty.txt").write_text("")
    (folder / "plain.txt").write_text("no label here\nnor here\n")
    (folder / "random.bin").write_bytes(np.random.default_rng(1).bytes(2000))
    for name in ("fasttext_sup_softmax.bin", "fasttext_sup_softmax_pq.ftz"):
        shutil.copy(GOLDEN / name, folder)
    unhot.Classifier(dim=4, threads=1).fit(folder / "train.txt").save(folder / "model")
    unhot.SkipGram(dim=4, epochs=1, min_count=1, threads=1).fit(folder / "new.txt").save(folder / "words")
    return folder


@pytest.fixture(autouse=True)
def there(folder, monkeypatch):
    monkeypatch.chdir(folder)


def answers(text):
    return [line.split("\t") for line in text.splitlines()]


def test_from_training_to_test(tmp_path):
    code, out, err = run("classify", "train", "train.txt", "-o", tmp_path / "model", *SMALL)
    assert (code, out) == (0, "")
    assert "1,800 words" in err
    assert f"predict with: unhot classify predict {tmp_path / 'model'} INPUT -o OUT" in err
    code, out, _ = run("classify", "test", tmp_path / "model", "test.txt")
    assert code == 0
    assert "100 lines; the most probable label of each." in out
    assert "taken for another" in out
    code, out, _ = run("classify", "test", tmp_path / "model", "test.txt", "--json")
    found = json.loads(out)
    assert (found["examples"], found["k"]) == (100, 1)
    assert 0.7 < found["accuracy"] <= 0.95


def test_predictions_are_those_of_python(tmp_path):
    model = unhot.load("model")
    best, probabilities = model.predict(NEW), model.predict_proba(NEW).max(axis=1)
    for source in ("new.txt", "new.txt.gz", "new.csv", "new.tsv"):
        out = tmp_path / source.replace("new", "out")
        told = f"{source}: read as {source[4:].upper()}, text = text\n" * ("txt" not in source)
        assert run("classify", "predict", "model", source, "-o", out) == (0, "", told)
        text = (gzip.decompress(out.read_bytes()) if out.suffix == ".gz" else out.read_bytes()).decode()
        delimiter = "," if source == "new.csv" else "\t"
        found = [line.split(delimiter)[-2:] for line in text.splitlines()]
        if source in ("new.csv", "new.tsv"):
            assert text.splitlines()[0].split(delimiter) == ["id", "text", *found.pop(0)]
        assert [label for label, _ in found] == best.tolist()
        np.testing.assert_allclose([float(score) for _, score in found], probabilities, atol=2e-6)


def test_parquet(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"id": range(len(NEW)), "text": NEW}), tmp_path / "new.parquet")
    out = tmp_path / "out.parquet"
    assert run("classify", "predict", "model", tmp_path / "new.parquet", "-o", out)[0] == 0
    found = parquet.read_table(out)
    assert found.column_names == ["id", "text", "label", "score"]
    assert found["label"].to_pylist() == unhot.load("model").predict(NEW).tolist()
    code, shown, _ = run("classify", "predict", "model", out, "-o", tmp_path / "again.csv")
    assert (code, shown) == (1, "")


def test_pipes():
    lines = "\n".join(NEW[:3]).encode() + b"\n"
    code, out = through_pipe("classify", "predict", "model", "-", "-o", "-", text=lines)
    assert (code, len(out.splitlines())) == (0, 3)
    code, out = through_pipe(
        "classify", "predict", "model", "-", "-o", "-", "--format", "csv", "-q", text=b"text\na good one\n"
    )
    assert (code, out.splitlines()[0]) == (0, b"text,label,score")
    code, out, _ = run("classify", "test", "model", "-", text=b"__label__pos good\n")
    assert (code, "1 lines" in out) == (0, True)


def test_several_labels(tmp_path):
    both = [f"__label__{label} __label__{'odd' if 'w1' in text else 'even'} {text}" for text, label in TRAIN]
    (tmp_path / "tags.txt").write_text("\n".join(both))
    code, _, err = run(
        "classify", "train", tmp_path / "tags.txt", "-o", tmp_path / "m", "--output", "one_vs_all", *SMALL
    )
    assert code == 0, err
    asked = ("-k", -1, "--threshold", 0.5)
    _, out = through_pipe("classify", "predict", tmp_path / "m", "new.txt", "-o", "-", *asked)
    found = answers(out.decode())
    assert {len(line) % 2 for line in found} == {0}
    assert max(map(len, found)) == 4
    code, out, _ = run("classify", "test", tmp_path / "m", tmp_path / "tags.txt", *asked)
    assert "all labels of each, with a probability of at least 0.5." in out
    code, out, _ = run("classify", "explain", tmp_path / "m", "w1 good", "--json")
    assert json.loads(out)["label"] in ("pos", "neg", "odd", "even")


def test_tables_with_other_columns(tmp_path):
    how = ("--column", "body", "--label-column", "stars")
    assert run("classify", "train", "stars.jsonl", "-o", tmp_path / "m", *how, *SMALL, "-q") == (0, "", "")
    code, out, _ = run("classify", "test", tmp_path / "m", "stars.jsonl", "--column", "body", "--json")
    assert (code, {each["label"] for each in json.loads(out)["labels"]}) == (
        0,
        {"1", "3"},
    )  # keeps the column
    out = tmp_path / "o.csv"
    assert run("classify", "predict", "model", "test.csv", "-o", out, "--rename", "label=guess") == (
        0,
        "",
        "test.csv: read as CSV, text = text\n",
    )
    assert out.read_text().splitlines()[0] == "text,label,guess,score"


def test_explain():
    model = unhot.load("model")
    code, out, _ = run("classify", "explain", "model", "a good film", "--json")
    found = json.loads(out)
    assert (code, found["label"], found["words"]) == (0, "pos", ["a", "good", "film", "</s>"])
    decision = found["decisions"][0]
    total = sum(piece["share"] for piece in decision["shares"]) + decision["bias"]
    assert decision["score"] == pytest.approx(total)
    assert found["probability"] == pytest.approx(model.predict_proba(["a good film"]).max())
    code, out, _ = run("classify", "explain", "model", "a good film", "--label", "neg")
    assert (code, out.startswith("neg, probability ")) == (0, True)
    code, out = on_terminal("classify", "explain", "model", "a good film")
    assert b"\x1b[" in out  # words have colours
    assert b"\x1b[" not in through_pipe("classify", "explain", "model", "a good film")[1]
    many = " ".join(f"w{i}" for i in range(20))
    assert "others" in run("classify", "explain", "model", many)[1]
    assert "others" not in run("classify", "explain", "model", many, "--all")[1]


def test_calibrate(tmp_path):
    shutil.copytree("model", tmp_path / "model")
    code, out, _ = run("classify", "calibrate", tmp_path / "model", "test.txt", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["log_loss"]["after"] <= found["log_loss"]["before"]
    model = unhot.load("model")
    assert found["temperature"] == pytest.approx(calibrate(model, [(text, [label]) for text, label in TEST]))
    saved = unhot.load(tmp_path / "model")
    assert saved.temperature == found["temperature"]
    assert (saved.predict(NEW) == unhot.load("model").predict(NEW)).all()
    code, out, _ = run("classify", "calibrate", tmp_path / "model", "test.txt")
    assert f"Temperature {saved.temperature:.4f}, fitted on 100 lines" in out
    (tmp_path / "easy.txt").write_text("__label__pos good\n__label__neg bad\n")
    code, _, err = run("classify", "calibrate", tmp_path / "model", tmp_path / "easy.txt")
    assert (code, "no temperature fits its 2 lines" in err) == (1, True)
    assert unhot.load(tmp_path / "model").temperature == saved.temperature


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    code, out, err = run("classify", "test", "model", "test.txt", "--plot", tmp_path / "p.png")
    assert (code, err) == (0, f"wrote {tmp_path / 'p.png'}\n")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["fasttext_sup_softmax.bin", "fasttext_sup_softmax_pq.ftz"])
def test_files_of_fasttext(name, tmp_path):
    import unhot.compat.fasttext as fasttext

    theirs = fasttext.load_model(str(GOLDEN / name))
    _, out = through_pipe("classify", "predict", name, "new.txt", "-o", "-")
    labels, scores = zip(*answers(out.decode()), strict=True)
    for text, label, score in zip(NEW, labels, scores, strict=True):
        (best,), (probability,) = theirs.predict(text)
        assert best == f"__label__{label}"
        assert float(score) == pytest.approx(probability, abs=2e-6)
    code, out, _ = run("classify", "test", name, GOLDEN / "fasttext_sup_train.txt", "--json")
    assert (code, json.loads(out)["accuracy"] > 0.9) == (0, True)
    for command in (("explain", name, "a text"), ("calibrate", name, "test.txt")):
        code, _, err = run("classify", *command)
        assert (code, "is a file of fastText" in err) == (2, True)


WRONG = [
    (("predict", "nowhere", "new.txt", "-o", "-"), 1, "nowhere: there is no such file or folder"),
    (("predict", "model", "nowhere.txt", "-o", "o.txt"), 1, "nowhere.txt: no such file or folder"),
    (("predict", "words", "new.txt", "-o", "-"), 1, "words: is a model of kind 'skipgram', not a classifier"),
    (("test", "words", "test.txt"), 1, "give a folder that `unhot classify train` wrote"),
    (("predict", "new.txt", "new.txt", "-o", "-"), 1, "new.txt: this is not an unhot model"),
    (("predict", "random.bin", "new.txt", "-o", "-"), 1, "random.bin: this is not an unhot model"),
    (("predict", "model", "random.bin", "-o", "o.txt"), 1, "it does not look like text"),
    (("predict", "model", "new.txt"), 2, "Missing option '-o'"),
    (("predict", "model", "new.txt", "-o", ""), 2, "the name is empty"),
    (("predict", "model", "new.txt", "-o", "-", "-k", 0), 2, "k=0: must be 1 or more, or -1 for all labels"),
    (("predict", "model", "new.txt", "-o", "-", "-k", -2), 2, "k=-2"),
    (("predict", "model", "new.txt", "-o", "-", "--threshold", "x"), 2, "'x' is not a valid float"),
    (("predict", "model", "new.txt", "-o", "-", "--threshold", 2), 2, "is not in the range"),
    (("predict", "model", "new.txt", "-o", "-", "--threshold", "nan"), 2, "must be a finite number"),
    (("predict", "model", "new.txt", "-o", "new.txt"), 2, "new.txt: is the input, and would be replaced"),
    (("predict", "model", "new.csv", "-o", "new.csv"), 2, "new.csv: is the input, and would be replaced"),
    (("predict", "model", "new.txt", "-o", "no/x.txt"), 1, "no/x.txt: cannot be written"),
    (("predict", "model", ".", "-o", "o.txt"), 1, "is a folder or a pattern: give one file"),
    (("predict", "model", "test.csv", "-o", "o.csv"), 1, "(--rename label=predicted)"),
    (("predict", "model", "test.csv", "-o", "o.csv", "--rename", "label"), 2, "must be OLD=NEW"),
    (
        ("predict", "model", "test.csv", "-o", "o.csv", "--rename", "a=b"),
        2,
        "the new columns are label, score",
    ),
    (("predict", "model", "new.csv", "-o", "o.csv", "--column", "x"), 1, "the columns are id"),
    (("train", "empty.txt", "-o", "m"), 1, "there are no rows: the input is empty"),
    (("train", "plain.txt", "-o", "m"), 1, "none of the 2 rows has a label"),
    (("train", "nowhere.txt", "-o", "m"), 1, "nowhere.txt: no such file or folder"),
    (("train", "train.txt"), 2, "Missing option '-o'"),
    (("train", "-o", "m"), 2, "Missing argument 'INPUT...'"),
    (("train", "train.txt", "-o", "train.txt"), 1, "train.txt: this exists and is not an unhot model"),
    (("train", "test.csv", "-o", "m", "--label-column", "x"), 1, "the columns are text, label"),
    (
        ("train", "train.txt", "-o", "m", "--output", "adaptive"),
        2,
        "a classifier cannot use it; choose one of",
    ),
    (("train", "train.txt", "-o", "m", "--output", "nope"), 2, "there is no layer 'nope'"),
    (("train", "train.txt", "-o", "m", "--window", 3), 2, "No such option '--window'"),
    (("train", "train.txt", "-o", "m", "--validation", 2), 2, "must be above 0 and below 1"),
    (("train", "train.txt", "-o", "m", "--validation", "x.txt"), 1, "x.txt: no such file or folder"),
    (("train", "train.txt", "-o", "m", "--class-weights", "x"), 2, "must be none, balanced, or weights"),
    (("train", "train.txt", "-o", "m", "--class-weights", "x=2"), 1, "'x' is none of the 2 labels"),
    (("test", "model", "empty.txt"), 1, "empty.txt: there are no rows"),
    (("test", "model", "plain.txt"), 1, "plain.txt: none of the 2 rows has a label"),
    (("test", "model", "test.txt", "-k", 0), 2, "k=0: must be 1 or more"),
    (("test", "model", "stars.jsonl"), 1, "there is no column label or labels"),
    (("test", "model", "test.txt", "--plot", "x.nope"), 2, "the ending must be one of"),
    (("test", "model", "test.txt", "--plot", "no/x.png"), 2, "the folder no does not exist"),
    (("calibrate", "model", "empty.txt"), 1, "empty.txt: there are no rows"),
    (("calibrate", "words", "test.txt"), 1, "not a classifier"),
    (("explain", "model", "good", "--label", "x"), 1, "'x' is none of the 2 labels: they are 'neg', 'pos'"),
    (("explain", "words", "good"), 1, "not a classifier"),
    (("demo", "-o", "new.txt"), 1, "new.txt: this exists and is not an unhot model"),
]


@pytest.mark.parametrize(("arguments", "code", "told"), WRONG, ids=lambda given: str(given)[:60])
def test_what_is_wrong_is_said(folder, arguments, code, told):
    before = sorted(folder.iterdir())
    found, out, err = run("classify", *arguments)
    assert (found, out) == (code, "")
    assert told in err.splitlines()[-1]
    assert "this is a bug" not in err
    assert sorted(folder.iterdir()) == before


def test_a_damaged_model(tmp_path):
    shutil.copytree("model", tmp_path / "model")
    path = tmp_path / "model" / "v1" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4] + b"\xff" * 4)
    for command in (
        ("predict", tmp_path / "model", "new.txt", "-o", "-"),
        ("test", tmp_path / "model", "test.txt"),
    ):
        code, _, err = run("classify", *command)
        assert (code, "the sha256 differs" in err) == (1, True)
    code, _, err = run("verify", tmp_path / "model")
    assert (code, "restore MODEL from a copy" in err) == (1, True)


def test_a_result_is_complete_or_absent(tmp_path):
    (tmp_path / "bad.csv").write_text("text\na good one\n" + '"never closed\n')
    code, _, _ = run("classify", "predict", "model", tmp_path / "bad.csv", "-o", tmp_path / "o.csv")
    assert (code, (tmp_path / "o.csv").exists()) == (1, False)


def test_other_commands_on_a_classifier(tmp_path):
    code, out, _ = run("info", "model")
    facts = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert (code, facts["model"], facts["labels"]) == (0, "classifier", "2")
    assert facts["commonest_labels"].startswith("neg (")
    assert {"temperature", "vocabulary", "word_ngrams", "used_buckets"} <= facts.keys()
    assert json.loads(run("info", "model", "--json")[1])["commonest_labels"].keys() == {"pos", "neg"}
    assert run("verify", "model")[0] == 0
    assert run("neighbors", "model", "good")[0] == 0
    assert run("convert", "model", tmp_path / "v.txt")[0] == 0
    assert "good" in unhot.Vectors.load(tmp_path / "v.txt")
    code, _, err = run("evaluate", "model", "--text", "new.txt")
    assert (code, "with `unhot classify test`" in err) == (2, True)
    code, _, err = run("classify", "train", "--resume", "model")
    assert (code, err) == (0, "model: its training is complete, nothing is left to do\n")


def test_help():
    shown = run("classify", "train", "--help")[1]
    assert "Settings of classifier:" in shown
    for absent in ("--layer", "--label-kind", "--window", "--device", "adaptive", "Parquet"):
        assert absent not in shown
    for command in ("train", "predict", "test", "explain", "calibrate", "demo"):
        assert run("classify", command, "--help")[0] == 0
        assert f"  {command} " in run("classify", "--help")[1]
    assert "unhot classify demo" in " ".join(run("--help")[1].split())


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_ctrl_c_saves_the_model(tmp_path):
    long = ("classify", "train", "train.txt", "-o", tmp_path / "m", "--epochs", 1_000_000, *SMALL)
    code, _, said = run(*long, interrupt="epoch 3/")
    assert code == 130
    assert f"--resume {tmp_path / 'm'}" in said
    code, out, _ = run("info", tmp_path / "m")
    assert "interrupted after" in out
    assert run("classify", "predict", tmp_path / "m", "new.txt", "-o", tmp_path / "o.txt")[0] == 0


def test_demo(tmp_path):
    code, out, err = run("classify", "demo", "-o", tmp_path / "languages")
    assert code == 0, err
    assert "\\n" not in out
    assert "English" in out
    assert unhot.load(tmp_path / "languages").predict(["die Würde des Menschen"]).tolist() == ["German"]


@pytest.mark.parametrize("more", [(), ("--to", "fasttext"), ("--which", "out")])
def test_convert_never_drops_the_labels_of_a_classifier(tmp_path, more):
    code, _, said = run("convert", "model", tmp_path / "x.bin", *more)
    assert code == 2
    assert "unhot does not write fastText's classifiers" in said
    assert "--to word2vec-binary" in said
    assert not (tmp_path / "x.bin").exists()
    assert run("convert", "model", tmp_path / "x.bin", "--to", "word2vec-binary").returncode == 0
