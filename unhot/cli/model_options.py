"""Make the settings of all models options of `unhot train`, from the models' fields and comments.

An option that is not given gets the default of the chosen model. The fields of a model also say which options
belong to it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from unhot.cli.completion import TEXT
from unhot.cli.declared import Declared, DeclaredField, declared
from unhot.cli.outputs import listed_layers, load_plugin

FOLDER = Path(__file__).resolve().parent.parent / "models"
USUAL = "skipgram"
KINDS = {"int": click.INT, "float": click.FLOAT}  # all other types are text


def listed_models(group: str | None = "") -> dict[str, Declared]:
    """Return the models that a group of commands trains, the default one first, then the most similar ones.

    The group "" is `unhot train`; None: the models of all groups.
    """
    registry = sys.modules.get("unhot.models.model")
    known = declared(FOLDER, "model", {} if registry is None else registry.MODELS)
    found = {
        name: kind
        for name, kind in known.items()
        if "made_by" not in kind.facts and group in (None, kind.facts.get("group", ""))
    }
    usual = known[USUAL]
    return dict(sorted(found.items(), key=lambda item: (-_alike(item[1], usual), item[0] != USUAL)))


def _alike(some: Declared, usual: Declared) -> int:
    """Return the number of settings that two models share."""
    return len(some.settings.keys() & usual.settings.keys())


class ModelOption(click.Option):
    """An option for a setting of one or more models."""

    def __init__(self, fields: Mapping[str, DeclaredField], defaults: Mapping[str, Any], of: str) -> None:
        """Make the option from the field of each model; `of` names these models in words."""
        first = next(iter(fields.values()))
        flag = "--" + first.name.replace("_", "-")
        words = list(dict.fromkeys(word for field in fields.values() for word in field.choices))
        kind: Any = click.Choice(words) if words else KINDS.get(first.type, TEXT)
        if first.type == "bool":
            flag, kind = f"{flag}/--no-{flag[2:]}", None
        super().__init__([flag, first.name], type=kind, default=None, help=_help(first, fields, defaults))
        self.of = of


def model_options(models: Mapping[str, Declared]) -> list[ModelOption]:
    """Return an option for each setting of any model; settings that most models have come first."""
    owners: dict[str, dict[str, DeclaredField]] = {}
    for name, kind in models.items():
        for field in kind.settings.values():
            owners.setdefault(field.name, {})[name] = field
    options = []
    for fields in sorted(owners.values(), key=len, reverse=True):
        defaults = {owner: _default(models[owner], field) for owner, field in fields.items()}
        of = "all models" if len(fields) == len(models) else ", ".join(fields)
        options.append(ModelOption(fields, defaults, of))
    return options


def _default(kind: Declared, field: DeclaredField) -> Any:
    """Return the default of a setting: that of its field or, if it is None, the class's default_NAME."""
    value = kind.facts.get(f"default_{field.name}") if field.default is None else field.default
    if isinstance(value, bool):
        name = field.name.replace("_", "-")
        return name if value else f"no-{name}"
    return value


def _help(first: DeclaredField, fields: Mapping[str, DeclaredField], defaults: Mapping[str, Any]) -> str:
    """Return the help text of an option: the comments of all models, each once, and the defaults."""
    meanings = _grouped((owner, field.meaning) for owner, field in fields.items())
    if len(meanings) == 1:
        text = first.meaning
    else:
        text = "; ".join(f"{owners}: {meaning}" for meaning, owners in meanings.items())
    if first.name == "output":
        text += f": {', '.join(listed_layers())}; give settings after a colon, as NAME:setting=value,..."
    head, colon, _ = text.partition(": ")
    text = text if colon and head.isidentifier() else text[:1].upper() + text[1:]
    return f"{text}{'' if text.endswith('.') else '.'}{_shown(defaults)}"


def _shown(defaults: Mapping[str, Any]) -> str:
    """Return the text that shows the default, or the defaults by model; empty if there is none."""
    values = _grouped((owner, f"{v:g}" if isinstance(v, float) else str(v)) for owner, v in defaults.items())
    if set(values) == {"None"}:
        return ""
    (usual, owners), *others = values.items()
    first = f"{owners} {usual}" if others and "," not in owners else usual
    return "".join([f"  [default: {first}", *(f"; {owners} {value}" for value, owners in others), "]"])


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Group owners by value; return for each value its owners, joined by commas."""
    out: dict[str, list[str]] = {}
    for owner, value in pairs:
        out.setdefault(value, []).append(owner)
    return {value: ", ".join(owners) for value, owners in out.items()}


def plugins_in(arguments: list[str]) -> Iterator[str]:
    """Yield the plugins named on a command line; they must be loaded before options are parsed."""
    for option, value in zip(arguments, [*arguments[1:], ""], strict=False):
        if option == "--plugin" and value:
            yield value
        elif option.startswith("--plugin="):
            yield option.removeprefix("--plugin=")


class TrainCommand(click.Command):
    """A command with options for the settings of all models; its help also lists models and layers."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Load plugins first, because their models may have settings of their own; then parse.

        A shell that completes a command runs no plugin.
        """
        for plugin in () if ctx.resilient_parsing else plugins_in(args):
            load_plugin(plugin)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options and those of the models."""
        models = listed_models()
        choice = click.Option(
            ["--model"],
            type=click.Choice(list(models)),
            help=f"The model to train; all models are listed below.  [default: {USUAL}]",
        )
        return [*super().get_params(ctx), choice, *model_options(models)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then those of the models by group, then models and layers."""
        models = [(name, kind.summary) for name, kind in listed_models().items()]
        self.format_groups(ctx, formatter, {"Models": models})

    def format_groups(
        self,
        ctx: click.Context,
        formatter: click.HelpFormatter,
        more: dict[str, list[tuple[str, str]]],
        layers: Mapping[str, str] | None = None,
    ) -> None:
        """Write the options by group, then other groups, then the output layers."""
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                title = f"Settings of {param.of}" if isinstance(param, ModelOption) else "Options"
                groups.setdefault(title, []).append(record)
        groups |= more
        layers = listed_layers() if layers is None else layers
        if layers:
            groups["Output layers (more: unhot outputs NAME)"] = list(layers.items())
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)
