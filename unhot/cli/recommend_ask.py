"""The commands `unhot recommend for`, `unhot recommend similar` and `unhot recommend explain`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unhot.cli.options import json_option
from unhot.cli.outputs import plugin_option
from unhot.cli.several import SeveralValues
from unhot.cli.show import note, print_table, show_json
from unhot.errors import ConfigError, DataError

if TYPE_CHECKING:
    from unhot.items.recommender import Recommendation

count_option = click.option("-k", "--count", "k", type=click.IntRange(1), default=10, show_default=True)
seen_option = click.option(
    "--exclude-seen/--keep-seen",
    default=None,
    help="Leave out items of the history, or not  [default: leave out, unless the log's lines are sessions]",
)


def open_recommender(path: str) -> Any:
    """Load a model that recommends; raise a `ConfigError` for other models."""
    from unhot.models.load import load_saved

    model = load_saved(path)
    if model.family != "recommend":
        raise ConfigError(f"{path}: is a {model.name} model, which does not recommend items")
    return model


@click.command("for", cls=SeveralValues)
@click.argument("model")
@click.argument("users", nargs=-1, metavar="USER...")
@click.option("--history", multiple=True, metavar="ITEM...", help="Items, oldest first, instead of users.")
@click.option("--log", metavar="LOG", help="A log with the histories of the users, read as in the training.")
@click.option("--filter", "among", metavar="FILE", help="Recommend only the items of this file, one a line.")
@click.option("--new", metavar="FILE", help="Recommend new items; this file has their side values.")
@click.option("--user-type", metavar="TYPE", help="session: recommend for a type of users, such as new.")
@count_option
@seen_option
@plugin_option
@json_option
def for_users(
    model: str,
    users: tuple[str, ...],
    history: tuple[str, ...],
    log: str | None,
    among: str | None,
    new: str | None,
    user_type: str | None,
    k: int,
    exclude_seen: bool | None,
    as_json: bool,
) -> None:
    """Recommend items for users, or for a history.

    A model holds the histories of users only if it was trained with --with-users; otherwise give --log or
    --history.
    """
    if [bool(users), bool(history), user_type is not None].count(True) != 1:
        raise click.UsageError("give users, or --history with items (or --user-type), and not both")
    found = open_recommender(model)
    if user_type is not None:
        answer = _asked(found, "items_for", "--user-type")(user_type, k)
        show_json({user_type: [each._asdict() for each in answer]}) if as_json else _show("", answer)
        return
    if log is not None:
        from unhot.models.fitting import Tells
        from unhot.models.log_data import EVENTS_ALONE, opened_log

        with opened_log(found, log, Tells(), **EVENTS_ALONE) as opened:
            found.learn_users(opened)
    elif found.learned.record.kept.log is None and any(found.answers.user_row(user) >= 0 for user in users):
        note("the model holds no histories, so items that the users had are not left out: give --log")
    users = tuple(dict.fromkeys(users))
    if unknown := [item for item in history if item not in found.catalogue]:
        note(f"the model does not know {', '.join(unknown)}")
    whom: dict[str, Any] = {user: user for user in users} or {" ".join(history): list(history)}
    if new is not None:
        items, asked = _new_items(found, new), _asked(found, "recommend_new", "--new")
        answers = _each(whom, lambda name: asked(whom[name], items, k))
    else:
        unknown = [name for name, who in whom.items() if not found.answers.knows(who)]
        _say_unknown(unknown, len(whom), lambda name: found.answers.history_of(whom[name]))
        among_items = None if among is None else _lines(among)
        lists = found.recommend_many([*whom.values()], k, exclude_seen=exclude_seen, filter=among_items)
        answers = dict(zip(whom, lists, strict=True))
    _show_all(answers, "for", titled=bool(users), as_json=as_json)


@click.command(cls=SeveralValues)
@click.argument("model")
@click.argument("items", nargs=-1, metavar="ITEM...")
@click.option("--values", multiple=True, metavar="COLUMN=VALUE...", help="Side values of a new item.")
@count_option
@plugin_option
@json_option
def similar(model: str, items: tuple[str, ...], values: tuple[str, ...], k: int, as_json: bool) -> None:
    """Show the items that are most similar to an item, or to a new item that has some side values."""
    if bool(items) == bool(values):
        raise click.UsageError("give items, or --values of a new item, and not both")
    found = open_recommender(model)
    answers = _each(items, lambda item: found.similar(item, k))
    if values:
        given: dict[str, list[str]] = {}
        for pair in values:
            column, equals, value = pair.partition("=")
            if not equals:
                raise click.BadParameter(f"--values {pair}: give COLUMN=VALUE, such as brand=acme")
            given.setdefault(column, []).append(value)
        answers[" ".join(values)] = _asked(found, "similar_to", "--values")(given, k)
    _show_all(answers, "similar to", titled=True, as_json=as_json)


@click.command()
@click.argument("model")
@click.argument("items", nargs=-1, required=True, metavar="ITEM...")
@plugin_option
@json_option
def explain(model: str, items: tuple[str, ...], as_json: bool) -> None:
    """Show what the vectors of items are made of: an item's own part, and its side values (eges)."""
    asked = _asked(open_recommender(model), "explain", "explain")
    answers = _each(items, asked)
    if as_json:
        show_json({item: dict(answer) for item, answer in answers.items()})
    else:
        for item in filter(answers.get, answers):
            rows = [(part, f"{100 * weight:.1f} %") for part, weight in answers[item]]
            print_table(item, ("part", "weight"), rows, "")


def _each(names: Collection[str], ask: Callable[[str], Any]) -> dict[str, Any]:
    """Ask for each name; a name that the model does not know gets an empty answer."""
    from unhot.vocab.vocabulary import UnknownWord

    answers: dict[str, Any] = {}
    for name in names:
        with contextlib.suppress(UnknownWord):
            answers[name] = ask(name)
    _say_unknown([name for name in names if name not in answers], len(names), ask)
    return {name: answers.get(name, ()) for name in names}


def _say_unknown(unknown: list[str], number: int, ask: Callable[[str], Any]) -> None:
    """Say which names the model does not know; if it knows none of so many, ask again, which raises."""
    if unknown and len(unknown) == number:
        ask(unknown[0])
    if unknown:
        note(f"left out, because the model does not know them: {', '.join(unknown)}")


def _asked(model: Any, name: str, option: str) -> Any:
    """Return a method that only some models have; raise a `ConfigError` if this one has not."""
    if not hasattr(model, name):
        raise ConfigError(f"{option}: a {model.name} model cannot answer this; train another model")
    return getattr(model, name)


def _new_items(model: Any, path: str) -> dict[str, dict[str, list[str]]]:
    """Return the side values of the items of a file that a model does not know."""
    from unhot.logs.item_facts import read_item_facts

    columns = [*dict.fromkeys(word.partition("=")[0] for word in model.learned.record.kept.sides.words)]
    sides = read_item_facts(path, item=model.item, side=columns).sides
    names = dict.fromkeys(item for values in sides.values() for item in values)
    new = [item for item in names if item not in model.catalogue]
    if not new:
        raise DataError(f"--new {path}: the model knows all {len(names)} items of this file")
    return {item: {column: of[item] for column, of in sides.items() if item in of} for item in new}


def _show_all(
    answers: Mapping[str, Sequence[Recommendation]], word: str, *, titled: bool, as_json: bool
) -> None:
    """Print lists of recommendations by their names; raise a `DataError` if all lists are empty."""
    if as_json:
        show_json({name: [each._asdict() for each in answer] for name, answer in answers.items()})
        return
    if not any(answers.values()):
        raise DataError("nothing to recommend: all items are excluded, or the filter leaves none")
    for name, answer in answers.items():
        if answer:
            _show(f"{word} {name}" if titled else "", answer)
        else:
            note(f"nothing to recommend {word} {name}")


def _show(title: str, answer: Sequence[Recommendation]) -> None:
    """Print recommendations as a table."""
    rows = [(each.item, each.name, f"{each.score:.4g}") for each in answer]
    named = any(each.name for each in answer)
    shown = rows if named else [(item, score) for item, _, score in rows]
    print_table(title, ("item", "name", "score") if named else ("item", "score"), shown, "")


def _lines(path: str) -> list[str]:
    """Return the lines of a file of items."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise DataError(
            f"--filter {path}: cannot be read ({error.strerror}); give a file of items"
        ) from error
    return [line.strip() for line in text.splitlines() if line.strip()]
