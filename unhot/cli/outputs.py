"""The command `unhot outputs`, and what all commands need of output layers.

These are their names and settings, and the loading of plugins.

The list for `--help` is read from the source, because importing the layers would load the compiler.
"""

from __future__ import annotations

import functools
import re
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_origin, get_type_hints

import click

from unhot.cli.declared import declared, declared_fields
from unhot.errors import ConfigError, UnhotError

if TYPE_CHECKING:
    from unhot.outputs import OutputLayer

FOLDER = Path(__file__).resolve().parent.parent / "outputs"
TORCH_ONLY = "Only with engine=torch."


class Setting(NamedTuple):
    """A setting of a layer, as text."""

    name: str
    type: str
    default: str | None  # None: there is no default, so it must be given
    meaning: str  # the comment at the field


def listed_layers() -> dict[str, str]:
    """Return the names and summaries of all layers of the package and of loaded plugins."""
    layers = declared(FOLDER, "output", {})
    found = {name: _marked(kind.summary, kind.facts.get("compiled", True)) for name, kind in layers.items()}
    registry = sys.modules.get("unhot.outputs")
    if registry is not None:
        found.update((name, summary(layer)) for name, layer in registry.LAYERS.items())
    return dict(sorted(found.items()))


def documentation(layer: type[OutputLayer]) -> str:
    """Return the docstring of a layer's file, or of its class if the file has none or several layers."""
    import inspect

    from unhot.outputs import LAYERS

    module = sys.modules.get(layer.__module__)
    alone = sum(other.__module__ == layer.__module__ for other in LAYERS.values()) == 1
    own = layer.__doc__ or ""
    generated = own.startswith(f"{layer.__name__}(")  # by @dataclass
    text = (module.__doc__ if module and alone else None) or ("" if generated else own)
    return inspect.cleandoc(text)


def first_line(layer: type[OutputLayer]) -> str:
    """Return the first line of a layer's documentation."""
    return documentation(layer).partition("\n")[0] or layer.__name__


def summary(layer: type[OutputLayer]) -> str:
    """Return the first line of a layer's documentation, and a remark if it has no compiled kernel."""
    return _marked(first_line(layer), layer.compiled)


def _marked(line: str, compiled: bool) -> str:
    return line if compiled else f"{line} {TORCH_ONLY}"


def settings_of(layer: type[OutputLayer]) -> list[Setting]:
    """Return the settings of a layer, in the order of its spec."""
    import dataclasses

    comments, kinds = dict[str, str](), get_type_hints(layer)
    for base in layer.__mro__[-2::-1]:  # a class overrides the comments of its bases
        comments.update(_comments(base))
    out = []
    for field in dataclasses.fields(layer):
        default: Any = (
            field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        )
        text = (
            None
            if default is dataclasses.MISSING
            else str(default).lower()
            if isinstance(default, bool)
            else str(default)
        )
        kind = kinds[field.name]
        kind_name = "str" if get_origin(kind) is Literal else getattr(kind, "__name__", str(kind))
        out.append(Setting(field.name, kind_name, text, comments.get(field.name, "")))
    return out


@functools.cache
def _comments(kind: type) -> dict[str, str]:
    """Return the comments of the annotated fields of a class; none if the source is not available."""
    import inspect
    import textwrap

    try:
        source = textwrap.dedent(inspect.getsource(kind))
    except (OSError, TypeError):
        return {}
    return {name: field.meaning for name, field in declared_fields(source).items()}


def default_spec(layer: type[OutputLayer]) -> str:
    """Return the spec of a layer with all its defaults, as `--output` takes it."""
    text = ",".join(f"{s.name}={'...' if s.default is None else s.default}" for s in settings_of(layer))
    return f"{layer.name}:{text}" if text else layer.name


def load_plugin(plugin: str) -> None:
    """Import a Python file, or a module by name, which registers its output layers and models."""
    import hashlib
    import importlib.util

    path = Path(plugin).resolve()
    is_file = plugin.endswith(".py") or not all(part.isidentifier() for part in plugin.split("."))
    if is_file and not (path.is_file() and path.suffix == ".py"):
        raise ConfigError(
            f"--plugin {plugin}: no such Python file; give FILE.py, or the name of a module that can be "
            "imported"
        )
    # Kernels are chosen by types, and cached kernels find types by module name. So the module needs a unique
    # name that is the same in every process.
    stem, digest = re.sub(r"[^0-9A-Za-z_]", "_", path.stem), hashlib.sha256(str(path).encode()).hexdigest()
    name = f"unhot_plugin_{stem}_{digest[:8]}"
    try:
        if not is_file:
            importlib.import_module(plugin)
        elif name not in sys.modules:
            spec: Any = importlib.util.spec_from_file_location(name, path)
            sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[name])
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if is_file:
            sys.modules.pop(name, None)
        line = _line_in(path, error)
        if isinstance(error, SystemExit):
            raise UnhotError(
                f"--plugin {plugin}: ended by sys.exit({error.code!r}){line}: a plugin must only define "
                "layers and models; put what it runs by itself under if __name__ == '__main__'"
            ) from error
        what = f"{type(error).__name__}{line}: {error}".removesuffix(": ")
        raise ConfigError(f"--plugin {plugin}: cannot be imported ({what})") from error


def _line_in(path: Path, error: BaseException) -> str:
    """Return the line of a file that raised an error, as text; empty if the error comes from elsewhere."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
    ]
    return f" in line {lines[-1]}" if lines else ""


def _load_plugins(context: click.Context, parameter: click.Parameter, plugins: tuple[str, ...]) -> None:
    for plugin in () if context.resilient_parsing else plugins:
        load_plugin(plugin)


plugin_option = click.option(
    "--plugin", multiple=True, is_eager=True, expose_value=False, callback=_load_plugins, metavar="FILE",
    help="Python file or module with layers or models.",
)  # fmt: skip


EXAMPLES = """
\b
Examples:
  unhot outputs
  unhot outputs nce
"""


@click.command(epilog=EXAMPLES)
@click.argument("name", required=False)
@plugin_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def outputs(name: str | None, as_json: bool) -> None:
    """List all output layers with their settings, or explain the layer NAME."""
    from unhot.cli.show import show_json
    from unhot.outputs import LAYERS

    if name is not None and name not in LAYERS:
        raise ConfigError(f"there is no layer {name!r}; choose one of {', '.join(sorted(LAYERS))}")
    if as_json:
        show_json(
            {"outputs": [_facts(LAYERS[key]) for key in sorted(LAYERS)]}
            if name is None
            else _facts(LAYERS[name])
        )
    elif name is not None:
        _explain(LAYERS[name])
    else:
        width = max(map(len, LAYERS)) + 2
        for key in sorted(LAYERS):
            click.echo(f"{key:<{width}}{summary(LAYERS[key])}\n{'':<{width}}{default_spec(LAYERS[key])}")


def _facts(layer: type[OutputLayer]) -> dict[str, Any]:
    settings = [setting._asdict() for setting in settings_of(layer)]
    facts = {"name": layer.name, "description": first_line(layer), "spec": default_spec(layer)}
    return {**facts, "compiled": layer.compiled, "settings": settings, "documentation": documentation(layer)}


def _explain(layer: type[OutputLayer]) -> None:
    click.echo(f"{documentation(layer) or first_line(layer)}\n")
    if not layer.compiled:
        click.echo(f"{TORCH_ONLY}\n")
    click.echo(default_spec(layer))
    rows = [(s.name, s.type, "-" if s.default is None else s.default, s.meaning) for s in settings_of(layer)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo(
            "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        )
