"""Options with several values."""

import json

import click
import pytest
from click.testing import CliRunner

from unhot.cli.several import SeveralValues


@click.command(cls=SeveralValues)
@click.argument("model")
@click.option("--files", multiple=True)
@click.option("--more", "-m", multiple=True)
@click.option("--count", type=int, default=0)
@click.option("--json", is_flag=True)
def command(**values):
    click.echo(json.dumps(values))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            "model --files a b --json -m c d --count 3",
            {"files": ["a", "b"], "more": ["c", "d"], "count": 3, "json": True},
        ),
        ("model --files a --files b c", {"files": ["a", "b", "c"]}),
        ("model --files=a b", {"files": ["a", "b"]}),
        ("--files a model", {"files": ["a"]}),
        ("--files a --files b model -m c -", {"files": ["a", "b"], "more": ["c", "-"]}),
        ("--count 3 --json model --files a", {"files": ["a"], "count": 3, "json": True}),
        ("--files a -- model", {"files": ["a"]}),
    ],
)
def test_values(arguments, expected):
    result = CliRunner().invoke(command, arguments.split())
    assert result.exit_code == 0, result.output
    values = {"model": "model", "files": [], "more": [], "count": 0, "json": False}
    assert json.loads(result.output) == {**values, **expected}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("--files a", "Missing argument"),
        ("model --files", "requires an argument"),
        ("model b", "unexpected extra"),
    ],
)
def test_wrong_usage(arguments, told):
    result = CliRunner().invoke(command, arguments.split())
    assert result.exit_code == 2
    assert told in result.output
