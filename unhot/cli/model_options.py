"""Make the settings of models options of the commands that train them, from fields and comments.

An option that is not given gets the default of the chosen model. The fields of a model also say which options
belong to it.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from unhot.cli.completion import TEXT
from unhot.cli.declared import Declared, DeclaredField, declared
from unhot.cli.outputs import TORCH_ONLY, listed_layers, load_plugin
from unhot.models.families import FAMILIES, in_order

FOLDER = Path(__file__).resolve().parent.parent / "models"
ALL = "all models"
TEXT_FAMILIES = ("words", "classify", "language")  # those that learn from text
KINDS = {"int": click.INT, "float": click.FLOAT}  # all other types are text


def listed_models(families: Sequence[str] = tuple(FAMILIES)) -> dict[str, Declared]:
    """Return the models of families as their sources declare them, in the order of the first family.

    This loads no model; `models_of` of unhot/models/load.py returns the classes.
    """
    registry = sys.modules.get("unhot.models.model")
    known = declared(FOLDER, "model", {} if registry is None else registry.MODELS)
    found = {
        name: kind.settings for name, kind in known.items() if kind.facts.get("family", "words") in families
    }
    return {name: known[name] for name in in_order(found, families[0])}


class ModelOption(click.Option):
    """An option for a setting of one or more models."""

    def __init__(
        self,
        fields: Mapping[str, DeclaredField],
        defaults: Mapping[str, Any],
        of: str,
        layers: Iterable[str],
    ) -> None:
        """Make the option from the field of each model; `of` names these models in words."""
        first = next(iter(fields.values()))
        flag = "--" + first.name.replace("_", "-")
        words = list(dict.fromkeys(word for field in fields.values() for word in field.choices))
        kind: Any = click.Choice(words) if words else KINDS.get(first.type, TEXT)
        if first.type == "bool":
            flag, kind = f"{flag}/--no-{flag[2:]}", None
        super().__init__([flag, first.name], type=kind, default=None, help=_help(fields, defaults, layers))
        self.of = of


def model_options(models: Mapping[str, Declared]) -> list[ModelOption]:
    """Return an option for each setting of any model; settings that most models have come first."""
    layers = model_layers(models)
    owners: dict[str, dict[str, DeclaredField]] = {}
    for name, kind in models.items():
        for field in kind.settings.values():
            owners.setdefault(field.name, {})[name] = field
    options = []
    for fields in sorted(owners.values(), key=len, reverse=True):
        defaults = {owner: _default(models[owner], field) for owner, field in fields.items()}
        of = ALL if len(fields) == len(models) > 1 else ", ".join(fields)
        options.append(ModelOption(fields, defaults, of, layers))
    return options


def given_settings(context: click.Context, options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of models that were given on the command line."""
    names = [param.name for param in context.command.get_params(context) if isinstance(param, ModelOption)]
    return {str(name): options[str(name)] for name in names if options[str(name)] is not None}


def model_layers(models: Mapping[str, Declared]) -> dict[str, str]:
    """Return the names and summaries of the output layers that any of the models takes.

    Without compiled code, a layer needs a model that PyTorch trains, which has a device.
    """
    torch = any("device" in kind.settings for kind in models.values())
    return {name: text for name, text in listed_layers().items() if torch or not text.endswith(TORCH_ONLY)}


def _default(kind: Declared, field: DeclaredField) -> Any:
    """Return the default of a setting: that of its field or, if it is None, the class's default_NAME."""
    value = kind.facts.get(f"default_{field.name}") if field.default is None else field.default
    if isinstance(value, bool):
        name = field.name.replace("_", "-")
        return name if value else f"no-{name}"
    return value


def _help(fields: Mapping[str, DeclaredField], defaults: Mapping[str, Any], layers: Iterable[str]) -> str:
    """Return the help text of an option: the comments of all models, each once, and the defaults."""
    first = next(iter(fields.values()))
    meanings = _grouped((owner, field.meaning) for owner, field in fields.items())
    if len(meanings) == 1:
        text = first.meaning
    else:
        text = "; ".join(f"{owners}: {meaning}" for meaning, owners in meanings.items())
    if first.name == "output":
        text += f": {', '.join(layers)}; give settings after a colon, as NAME:setting=value,..."
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


class PluginsFirst(click.Command):
    """A command that loads plugins before it parses, because their models have options of their own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Load the plugins, then parse; a shell that completes a command runs no plugin."""
        for plugin in () if ctx.resilient_parsing else plugins_in(args):
            load_plugin(plugin)
        return super().parse_args(ctx, args)


class TrainCommand(PluginsFirst):
    """A command with options for the settings of all its models; its help also lists models and layers."""

    families: tuple[str, ...] = TEXT_FAMILIES  # whose models it trains, the usual one of the first by default

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options and those of the models."""
        models, usual = listed_models(self.families), FAMILIES[self.families[0]].usual
        choice = click.Option(
            ["--model"], type=click.Choice(list(models)), help=f"The model.  [default: {usual}]"
        )
        choices = [choice] if len(models) > 1 else []
        return [*super().get_params(ctx), *choices, *model_options(models)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then those of the models by owner, then models and layers."""
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                title = f"Settings of {param.of}" if isinstance(param, ModelOption) else "Options"
                groups.setdefault(title, []).append(record)
        models = listed_models(self.families)
        if len(models) > 1:
            groups["Models"] = [(name, kind.summary) for name, kind in models.items()]
        groups["Output layers (more: unhot outputs NAME)"] = list(model_layers(models).items())
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)
