"""The command line: output, files and exit codes."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import run

import unhot
from unhot.cli.main import group
from unhot.cli.model_options import listed_models, model_options
from unhot.errors import ConfigError
from unhot.models.families import FAMILIES
from unhot.models.load import all_models, models_of, word_models
from unhot.models.model import model as registered
from unhot.outputs import LAYERS

RNG = np.random.default_rng(3)
LINES = [" ".join(f"w{i}" for i in RNG.integers(0, 20, 30)) for _ in range(200)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "text.txt").write_text("\n".join(LINES))
    arguments = "--model skipgram --dim 10 --window 5 --output negative:k=5 --min-count 5 --sample 1e-3 "
    arguments += "--epochs 3 --lr 0.05 --threads 2 --seed 1"
    log = ("--tokenizer", "whitespace", "--log-json", folder / "log.jsonl")
    result = run("train", folder / "text.txt", "-o", folder / "model", *arguments.split(), *log)
    assert result.returncode == 0, result.stderr
    return folder, result


def test_train(trained):
    folder, result = trained
    assert "6,000 words" in result.stderr
    assert "memory:" in result.stderr
    assert "epoch 3/3: loss" in result.stderr
    assert f"unhot neighbors {folder / 'model'} WORD" in result.stderr
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert log[0]["event"] == "start"
    assert log[-1]["event"] == "done"
    assert log[-1]["words"] == 18_000
    assert log[0]["lr"] == 0.05


def test_neighbors(trained):
    folder, _ = trained
    result = run("neighbors", folder / "model", "w1", "-n", 3)
    assert result.returncode == 0
    assert len(result.stdout.splitlines()) == 3
    found = json.loads(run("neighbors", folder / "model", "w1", "-n", 3, "--json").stdout)
    expected = unhot.load(folder / "model").vectors.most_similar("w1", topn=3)
    assert [entry["word"] for entry in found["neighbors"]] == [word for word, _ in expected]


def test_info(trained):
    folder, _ = trained
    facts = json.loads(run("info", folder / "model", "--json").stdout)
    assert (facts["model"], facts["dim"], facts["vocabulary"], len(facts["losses"])) == (
        "skipgram",
        10,
        20,
        3,
    )
    assert facts["output"] == "negative:k=5,noise=unigram,power=0.75,unique=false,bias=false,hits=drop"
    shown = run("info", folder / "model").stdout
    assert "in_vectors 20 x 10" in shown


@pytest.mark.parametrize(
    ("out", "to"), [("v.txt", None), ("v.vec", None), ("v.bin", None), ("v.dat", "word2vec-binary")]
)
def test_convert(trained, out, to):
    folder, _ = trained
    result = run("convert", folder / "model", folder / out, *(["--to", to] if to else []))
    assert result.returncode == 0, result.stderr
    copy = unhot.Vectors.load(folder / out, to)
    model = unhot.load(folder / "model").vectors
    assert copy.words == model.words
    np.testing.assert_array_equal(copy.vectors, model.vectors)


def test_standard_input(tmp_path):
    result = run(
        "train", "-", "-o", tmp_path / "m", "--dim", 8, "--epochs", 1, "--quiet", text="\n".join(LINES)
    )
    assert (result.returncode, result.stderr, result.stdout) == (0, "", "")
    assert len(unhot.load(tmp_path / "m").vectors) == 20


def test_cbow_and_its_own_settings(tmp_path):
    (tmp_path / "t.txt").write_text("\n".join(LINES))
    result = run(
        "train",
        tmp_path / "t.txt",
        "-o",
        tmp_path / "m",
        "--model",
        "cbow",
        "--combine",
        "sum",
        "--dim",
        8,
        "--epochs",
        1,
    )
    assert result.returncode == 0
    assert json.loads(run("info", tmp_path / "m", "--json").stdout)["lr"] == 0.025


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["train"], 2, "Missing argument 'INPUT...'"),
        (["train", "nothing.txt", "-o", "m"], 1, "nothing.txt"),
        (["train", "nothing.txt", "neither.txt", "-o", "m"], 1, "nothing.txt: no such file"),
        (["train", "nothing.txt", "-o", "m", "--dim", "0"], 2, "dim=0: must be >= 1"),
        (["train", "nothing.txt", "-o", "m", "--dim", "x"], 2, "'x' is not a valid integer"),
        (["train", "nothing.txt", "-o", "m", "--output", "soft"], 2, "there is no layer 'soft'"),
        (
            ["train", "nothing.txt", "-o", "m", "--model", "cbow", "--predict", "contexts"],
            2,
            "--predict: is a setting of skipgram, not of --model cbow",
        ),
        (
            ["train", "nothing.txt", "-o", "m", "--output", "softmax", "--predict", "centre"],
            2,
            "softmax scores all words",
        ),
        (["train", "nothing.txt", "-o", "m", "--tokenizer", "tok"], 2, "tok"),
        (["train", "nothing.txt", "-o", "m", "--model", "cube"], 2, "'cube' is not one of"),
        (
            ["train", "nothing.txt", "-o", "m", "--combine", "sum"],
            2,
            "--combine: is a setting of cbow",
        ),
        (["train", "nothing.txt", "-o", "/dev/null"], 1, "is not an unhot model"),
        (["train", "nothing.txt", "-o", "/proc/m"], 1, "/proc/m: a model cannot be saved here"),
        (["neighbors", "nowhere", "king"], 1, "nowhere"),
        (["info", "nowhere"], 1, "nowhere"),
        (["convert", "nowhere", "out.bin"], 1, "nowhere: there is no such file"),
        (["convert", "nowhere", "out.xyz"], 2, "out.xyz: the ending '.xyz' does not stand for a format"),
        (["convert", "nowhere", ""], 2, "'OUT': the name is empty; give a path to write to"),
        (["train", "nothing.txt", "-o", ""], 2, "'--model-dir': the name is empty"),
        (["demo", "-o", ""], 2, "'--model-dir': the name is empty"),
        (["cooccur", "nothing.txt", "-o", ""], 2, "'--cells-dir': the name is empty"),
        (
            ["train", "nothing.txt", "-o", "m", "--log-json", "no/log"],
            1,
            "unhot: no/log: No such file or directory",
        ),
        (["fly"], 2, "No such command 'fly'"),
        (["train", "--fly"], 2, "No such option"),
    ],
)
def test_errors_are_one_line(arguments, code, told, tmp_path):
    result = run(*arguments, cwd=tmp_path)
    assert result.returncode == code
    assert len(result.stderr.splitlines()) == 1
    assert told in result.stderr
    assert not list(tmp_path.iterdir())


def test_unknown_word(trained):
    folder, _ = trained
    result = run("neighbors", folder / "model", "w111")
    assert result.returncode == 1
    assert "'w111'" in result.stderr
    assert "w11" in result.stderr  # what it might have been


def test_without_a_command_the_help_is_shown():
    result = run()
    assert result.returncode == 2
    assert len(result.stdout.splitlines()) > 10


def test_debug_shows_the_traceback():
    assert "Traceback" in run("info", "nowhere", "--debug").stderr


def test_a_diverging_run_says_what_to_do(tmp_path):
    (tmp_path / "t.txt").write_text("\n".join(LINES))
    result = run("train", tmp_path / "t.txt", "-o", tmp_path / "m", "--lr", "1e9", "--quiet")
    assert result.returncode == 1
    assert "try a lower lr, for example 0.05" in result.stderr
    assert not (tmp_path / "m").exists()


def told(default, option):
    """A default as the help of an option tells it."""
    if isinstance(default, bool):
        word = f"{'' if default else 'no-'}{option.opts[0].removeprefix('--')}"
        alone, several = f"[default: {word}]", f" {word};"
        return alone if alone in option.help else several if several in option.help else f" {word}]"
    return f"{default:g}" if isinstance(default, float) else str(default)


def test_every_model_has_a_family_whose_command_trains_it():
    assert {name for name, kind in all_models().items() if kind.family not in FAMILIES} == {"mixture"}
    for name, family in FAMILIES.items():
        assert [*models_of(name)][0] == family.usual
    with pytest.raises(ConfigError, match="family of x='songs': must be one of words, classify"):
        registered("x", family="songs")


def stop(progress):
    if progress.event == "progress":
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("model", "source", "command"),
    [
        (unhot.Classifier(dim=8), (["good film", "bad film"] * 9, ["pos", "neg"] * 9), "classify train"),
        (unhot.GraphVectors(dim=8, epochs=2), ([("a", "b"), ("b", "c")],), "graph train"),
        (unhot.SkipGram(dim=8, min_count=1), (["a b c"] * 9,), "train"),
    ],
    ids=["classify", "graph", "words"],
)
def test_info_names_the_command_that_goes_on(model, source, command, tmp_path):
    model.fit(*source, callbacks=[stop]).save(tmp_path / "m")
    shown = " ".join(run("info", tmp_path / "m").stdout.split())
    assert f"continue with: unhot {command} --resume {tmp_path / 'm'}" in shown


@pytest.mark.parametrize("of", FAMILIES)
def test_defaults_are_those_of_the_library(of):
    options = {option.name: option for option in model_options(listed_models([of]))}
    assert [*models_of(of)] == [*listed_models([of])]
    for kind, model in models_of(of).items():
        settings = {field.name: field.default for field in dataclasses.fields(model)}
        assert set(options) >= set(settings)
        for name, option in options.items():
            assert option.default is None
            assert (name in settings) == (kind in option.of.split(", ") or option.of == "all models"), (
                kind,
                name,
            )
            if name in settings and settings[name] is not None:
                assert told(settings[name], option) in option.help, (kind, name)
    if of != "words":
        return
    helps = {name: option.help for name, option in options.items()}
    assert all(str(model.default_lr) in helps["lr"] for model in word_models().values())
    assert all(layer in helps["output"] for layer in LAYERS)


@pytest.mark.parametrize("name", sorted(group.commands))
def test_every_help_is_laid_out_and_has_examples(name):
    shown = run(name, "--help").stdout
    assert "\\b" not in shown
    assert name == "demo" or f"\n    unhot {name}" in shown


def test_help_and_import_do_not_load_the_compiler():
    code = "import sys, unhot, unhot.cli.main; assert not {'numba', 'rich', 'safetensors'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert "train" in run("--help").stdout


def test_a_process_of_its_own(tmp_path):
    """All other tests of commands run in this process."""
    text = "\n".join(LINES)
    small = ["-m", "unhot", "train", "-", "-o", tmp_path / "m", "--dim", "8", "--epochs", "1"]
    done = subprocess.run([sys.executable, *small], capture_output=True, text=True, input=text, timeout=300)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert f"unhot neighbors {tmp_path / 'm'} WORD" in done.stderr
    script = [Path(sys.executable).parent / "unhot", "info", "nowhere"]
    failed = subprocess.run(script, capture_output=True, text=True, timeout=300)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert len(failed.stderr.splitlines()) == 1


def test_warmup():
    result = run("warmup", "--dim", 8)
    assert result.returncode == 0
    assert "kernels ready" in result.stderr
