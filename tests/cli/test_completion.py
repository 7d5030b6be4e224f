"""What the Tab key gives: in bash itself, and by the answers that zsh and fish get."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run

from unhot.cli.completion import VALUES
from unhot.corpus.reading.tokenizers import NAMES
from unhot.models.load import models_of
from unhot.outputs import LAYERS
from unhot.vectors.formats import FORMATS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a text, and a command `unhot` on its own."""
    folder = tmp_path_factory.mktemp("tab")
    (folder / "corpus.txt").write_text("a b\n")
    command = folder / "bin" / "unhot"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m unhot "$@"\n')
    command.chmod(0o755)
    return folder


def in_a_shell(folder, *command, **more):
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    root = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": root, **more}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def tab(folder):
    """Return what click answers to a shell for a line that ends with the word to complete."""

    def press(line, shell="bash"):
        words = line.split(" ")
        given = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
        if shell == "fish":
            given = {"COMP_WORDS": " ".join(words[:-1]), "COMP_CWORD": words[-1]}
        ended = run(cwd=folder, env={"_UNHOT_COMPLETE": f"{shell}_complete", **given})
        assert (ended.returncode, ended.stderr) == (0, "")
        return ended.stdout.split()

    return press


def plain(names, start=""):
    return [f"plain,{name}" for name in names if name.startswith(start)]


def test_commands_and_options(tab):
    assert tab("unhot tra") == ["plain,train"]
    assert tab("unhot bench ") == ["plain,outputs"]
    assert tab("unhot classify p") == ["plain,predict"]
    assert tab("unhot recommend f") == ["plain,for"]
    assert tab("unhot recommend train log.csv --with") == ["plain,--with-users"]
    assert "plain,--word-ngrams" in tab("unhot classify train --wo")
    assert tab("unhot classify train --wind") == []  # the classifier has no window
    assert {"plain,--model", "plain,--model-dir"} == set(tab("unhot train --mod"))
    assert tab("unhot train corpus.txt --min") == [  # settings, too
        *("plain,--min-count", "plain,--minn", "plain,--minutes")
    ]


def test_values(tab):
    models = [line.removeprefix("plain,") for line in tab("unhot train --model ")]
    assert set(models) == {*models_of("words"), *models_of("classify"), *models_of("language")}
    assert models[0] == "skipgram"
    assert tab("unhot recommend train --model ") == plain(models_of("recommend"))
    assert tab("unhot lm train --model ") == plain(models_of("language"))
    assert tab("unhot train corpus.txt --output hi") == plain(["hierarchical"])
    assert tab("unhot train --output ") == plain(sorted(LAYERS))
    assert tab("unhot train --tokenizer w") == plain(["whitespace", "words"])
    assert tab("unhot bench outputs corpus.txt --layers n") == plain(sorted(LAYERS), "n")
    assert tab("unhot bench outputs corpus.txt --tokenizer ") == plain(NAMES)
    assert tab("unhot outputs n") == plain(sorted(LAYERS), "n")
    assert tab("unhot classify train labelled.txt --output hi") == plain(["hierarchical"])
    assert tab("unhot classify predict model new.txt --format p") == plain(["parquet"])
    assert tab("unhot classify train labelled.txt --class-weights b") == plain(["balanced"])
    assert tab("unhot convert model vectors.bin --to word") == plain(FORMATS, "word")


@pytest.mark.parametrize(
    "line",
    [
        "train ",
        "train corpus.txt -o ",
        "train --resume ",
        "train --start ",
        "neighbors ",
        "convert ",
        "evaluate ",
    ]
    + ["classify train ", "classify train corpus.txt -o ", "classify train corpus.txt --validation "]
    + ["classify predict ", "classify predict m ", "classify test m ", "classify test m t --plot "]
    + ["recommend train ", "recommend train corpus.txt --items ", "recommend for m --log "]
    + ["evaluate m --text ", "bench outputs ", "cooccur ", "fasttext nn ", "fasttext skipgram -output "],
)
def test_files(tab, line):
    assert tab(f"unhot {line}cor") == ["file,cor"]


def test_words_are_not_files(tab):
    assert tab("unhot neighbors model cor") == []
    assert tab("unhot analogy model cor") == []
    assert tab("unhot recommend for model cor") == []
    assert tab("unhot recommend similar model cor") == []
    assert tab("unhot recommend train corpus.txt --user cor") == []
    assert tab("unhot classify explain model cor") == []
    assert tab("unhot classify explain model text --label cor") == []


def test_no_plugin_runs(tab, folder):
    (folder / "plugin.py").write_text("raise SystemExit(3)\n")
    assert tab("unhot train --plugin plugin.py --tok") == ["plain,--tokenizer"]


def test_values_are_of_parameters_that_exist():
    from unhot.cli.main import group

    def names(command):
        for below in getattr(command, "commands", {}).values():
            yield from names(below)
        yield from (param.opts[-1] for param in command.get_params(group.context_class(command)))

    assert VALUES.keys() <= set(names(group))


def test_other_shells(tab, folder):
    assert tab("unhot train --output hi", "zsh")[:2] == ["plain", "hierarchical"]
    assert tab("unhot train --output hi", "fish")[0].startswith("plain")
    assert "hierarchical" in " ".join(tab("unhot train --output hi", "fish"))
    for shell in ("zsh", "fish"):
        assert "_UNHOT_COMPLETE" in run(env={"_UNHOT_COMPLETE": f"{shell}_source"}).stdout


BASH = """
source script.bash
COMP_WORDS=({words}) COMP_CWORD={last}
compopt() {{ echo compopt "$@"; }}  # bash has it only while it completes
_unhot_completion unhot
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_itself(folder):
    (folder / "script.bash").write_text(in_a_shell(folder, "unhot", _UNHOT_COMPLETE="bash_source"))
    for line, found in (
        ("unhot tra", "train"),
        ("unhot train --outp", "--output"),
        ("unhot train --output hi", "hierarchical"),
        ("unhot train corp", "compopt -o default"),
    ):
        words = line.split()
        script = BASH.format(words=line, last=len(words) - 1)
        assert in_a_shell(folder, "bash", "-c", script).split("\n")[0] == found
