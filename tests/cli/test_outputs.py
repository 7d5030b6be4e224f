"""`unhot outputs`, `--plugin`, and the list of layers in `unhot train --help`."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from commands import run

from unhot.cli.main import group
from unhot.cli.outputs import (
    TORCH_ONLY,
    default_spec,
    documentation,
    first_line,
    listed_layers,
    load_plugin,
    settings_of,
    summary,
)
from unhot.errors import ConfigError
from unhot.outputs import LAYERS, OutputLayer, output, parse_output

TOY = Path(__file__).resolve().parents[2] / "docs" / "outputs" / "toy_layer.py"


def shown(*arguments):
    result = CliRunner().invoke(group, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_help_lists_all_layers_without_the_compiler():
    code = """if True:
        import json, sys
        from unhot.cli.main import group
        from unhot.cli.outputs import listed_layers
        group.main(["train", "--help"], standalone_mode=False)
        print("numba" in sys.modules)
        print(json.dumps(listed_layers()))
    """
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    help_text, _, found = result.stdout.rstrip().rpartition("\n")
    help_text, _, compiler = help_text.rpartition("\n")
    assert compiler == "False"
    assert json.loads(found) == listed_layers() == {name: summary(LAYERS[name]) for name in sorted(LAYERS)}
    section = " ".join(help_text.partition("Output layers")[2].split())
    for name, line in listed_layers().items():
        assert f"{name} {line}" in section


def test_every_layer_is_listed_with_its_defaults():
    lines = shown("outputs").splitlines()
    assert len(lines) == 2 * len(LAYERS)
    for name, first, second in zip(sorted(LAYERS), lines[::2], lines[1::2], strict=True):
        assert first.split(maxsplit=1) == [name, summary(LAYERS[name])]
        assert second.strip() == parse_output(name).spec() == default_spec(LAYERS[name])


@pytest.fixture(scope="module")
def listed():
    return json.loads(shown("outputs", "--json"))["outputs"]


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_one_layer_is_explained(name, listed):
    text = shown("outputs", name)
    assert documentation(LAYERS[name]) in text
    facts = json.loads(shown("outputs", name, "--json"))
    assert facts in listed
    assert (facts["name"], facts["description"], facts["spec"]) == (
        name,
        first_line(LAYERS[name]),
        parse_output(name).spec(),
    )
    assert facts["compiled"] == LAYERS[name].compiled == (f"\n\n{TORCH_ONLY}\n\n" not in text)
    for setting in facts["settings"]:
        assert setting["meaning"], setting
        assert f"{setting['default']}  " in text
        assert setting["meaning"] in text


def test_layers_for_torch_alone_are_marked():
    marked = {"adaptive", "differentiated", "in_batch", "infrequent", "mixed", "partition"}
    assert {name for name, line in listed_layers().items() if line.endswith(f" {TORCH_ONLY}")} == marked
    assert {
        layer["name"] for layer in json.loads(shown("outputs", "--json"))["outputs"] if not layer["compiled"]
    } == marked
    assert summary(LAYERS["nce"]) == first_line(LAYERS["nce"])


def test_settings_are_inherited_and_the_nearest_class_has_the_last_word():
    settings = {setting.name: setting for setting in settings_of(LAYERS["nce"])}
    assert settings["unique"] == ("unique", "bool", "false", "draw until k different words are found")
    assert settings["power"].default == "1.0"
    assert settings_of(LAYERS["negative"])[2].default == "0.75"


@dataclass(frozen=True, kw_only=True)
class Odd(OutputLayer):
    """Without defaults."""

    name = "odd"
    a: int  # must be given
    b: "int | str" = "x # y"  # has a hash
    c: float = 1.5
    d: tuple[int, ...] = (
        1,
        2,
    )  # over several lines


def test_odd_settings():
    expected = [("a", "int", None, "must be given"), ("b", "int | str", "x # y", "has a hash")]
    expected += [("c", "float", "1.5", ""), ("d", "tuple", "(1, 2)", "over several lines")]
    assert settings_of(Odd) == expected
    assert default_spec(Odd) == "odd:a=...,b=x # y,c=1.5,d=(1, 2)"
    assert (
        settings_of(
            dataclass(frozen=True, kw_only=True)(
                type("Made", (OutputLayer,), {"__annotations__": {"a": int}})
            )
        )[0].meaning
        == ""
    )


def test_two_layers_of_a_file_have_their_own_lines():
    try:
        output("odd")(Odd)
        assert (
            first_line(Odd) == "`unhot outputs`, `--plugin`, and the list of layers in `unhot train --help`."
        )
        other = output("odder")(
            dataclass(frozen=True, kw_only=True)(type("Odder", (OutputLayer,), {"__module__": __name__}))
        )
        assert first_line(Odd) == "Without defaults."
        assert first_line(other) == "Odder"
        assert listed_layers()["odd"] == "Without defaults."
    finally:
        LAYERS.pop("odd")
        LAYERS.pop("odder", None)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["outputs", "soft"], "there is no layer 'soft'; choose one of adaptive, "),
        (["outputs", "--plugin", "nowhere.py"], "--plugin nowhere.py: no such Python file"),
        (["outputs", "--plugin", "./nowhere"], "--plugin ./nowhere: no such Python file"),
        (
            ["outputs", "--plugin", "no_such_module"],
            "--plugin no_such_module: cannot be imported (ModuleNotFoundError",
        ),
        (
            ["train", "t.txt", "-o", "m", "--plugin", "broken.py"],
            "--plugin broken.py: cannot be imported (ZeroDivisionError",
        ),
    ],
)
def test_errors_are_one_line(arguments, told, tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    result = run(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert told in result.stderr


@pytest.mark.parametrize(
    ("source", "code", "told"),
    [
        ("import sys\nsys.exit(3)", 1, "ended by sys.exit(3) in line 2: a plugin must only define"),
        ("raise SystemExit('bye')", 1, "ended by sys.exit('bye') in line 1"),
        ("exit()", 1, "ended by sys.exit(None) in line 1"),
        ("x = 1\nassert x > 1", 2, "cannot be imported (AssertionError in line 2)"),
        ("def f(:", 2, "cannot be imported (SyntaxError: invalid syntax (plug.py, line 1))"),
        ("class Odd(BaseException): ...\nraise Odd(7)", 2, "cannot be imported (Odd in line 2: 7)"),
    ],
)
def test_a_plugin_that_ends_or_fails(source, code, told, tmp_path):
    (tmp_path / "plug.py").write_text(source)
    ended, out, err = run("outputs", "--plugin", tmp_path / "plug.py")
    assert (ended, out) == (code, "")
    assert not any("plugin_plug" in name for name in sys.modules)
    assert err.startswith(f"unhot: --plugin {tmp_path / 'plug.py'}: {told}")
    assert len(err.splitlines()) == 1


def test_a_module_is_a_plugin_too():
    command = [sys.executable, "-m", "unhot", "outputs", "--plugin", "toy_layer", "ring"]
    path = f"{TOY.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "PYTHONPATH": path}
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Ring: ")
    assert result.stdout.endswith("ring:bias=false\n  bias  bool  false  learn a bias for each word\n")


def test_a_file_is_loaded_once_and_leaves_nothing_when_it_fails(tmp_path):
    (tmp_path / "a-b.py").write_text(
        "import pathlib\nwith pathlib.Path(__file__).with_suffix('.log').open('a') as f:\n    f.write('x')\n"
    )
    before = set(sys.modules)
    load_plugin(str(tmp_path / "a-b.py"))
    load_plugin(str(tmp_path / "." / "a-b.py"))
    assert (tmp_path / "a-b.log").read_text() == "x"
    (name,) = set(sys.modules) - before
    assert name.isidentifier()
    assert name.split(".")[0] != "unhot"  # kernels of such types are not kept on disk
    del sys.modules[name]
    (tmp_path / "bad.py").write_text("1 / 0")
    with pytest.raises(ConfigError, match="ZeroDivisionError"):
        load_plugin(str(tmp_path / "bad.py"))
    assert set(sys.modules) == before
