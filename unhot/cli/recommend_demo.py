"""The command `unhot recommend demo`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unhot.cli.options import named
from unhot.cli.show import note, print_table
from unhot.train.bar import TrainingBar

if TYPE_CHECKING:
    from unhot.data.shop import Shop
    from unhot.models.item2vec import Item2Vec

NEIGHBOURS = 5


@click.command()
@click.option(
    "-o",
    "--model-dir",
    "target",
    default="unhot-shop",
    show_default=True,
    metavar="DIR",
    callback=named,
    help="Directory to write the log (log.csv, items.csv) and the model (DIR/model) to.",
)
@click.option("--customers", type=click.IntRange(10), default=2000, show_default=True, help="Customers.")
@click.option("--threads", type=int, default=2, show_default=True, help="Number of threads.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of all random numbers.")
def demo(target: str, customers: int, threads: int, seed: int) -> int:
    """Generate a shop whose customers have planted tastes, learn from its log, and find the tastes again.

    The log does not name the tastes. The demo shows how many neighbours of an item share its true taste, and
    recommends for some customers.
    """
    from unhot.data.shop import make_shop, write_shop
    from unhot.models.item2vec import Item2Vec
    from unhot.models.popularity import Popularity
    from unhot.models.skip_markov import SkipMarkov
    from unhot.vectors.formats.model_claim import claimed_model

    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    shop = make_shop(users=customers, seed=seed)
    write_shop(shop, folder / "log.csv")
    how: dict[str, Any] = {"split": "leave-last-out", "threads": threads, "items": str(folder / "items.csv")}
    model = Item2Vec(**how, seed=seed, epochs=20, with_users=True)
    source = str(folder / "log.csv")
    with claimed_model(folder / "model"), TrainingBar() as bar:
        bar.note(f"a shop with {len(shop.items):,} items of {shop.tastes.shape[1]} tastes: {source}")
        model.fit(source, callbacks=[bar], reading=bar.reading, note=bar.note)
        model.save(folder / "model")
    if model.history.interrupted:
        note(f"interrupted: saved the model as it is to {folder / 'model'}")
        return 130
    others = [kind(**how).fit(source, note=lambda line: None) for kind in (Popularity, SkipMarkov)]
    _show_tastes(model, shop)
    _show_figures([model, *others])
    _show_customers(model, shop)
    click.echo(f"\nSaved to {folder / 'model'}. Now type:")
    click.echo(f"  unhot recommend similar {folder / 'model'} {shop.items[0]}")
    click.echo(f"  unhot recommend for {folder / 'model'} {shop.users[0]}")
    click.echo(f"  unhot recommend compare {source}")
    marks = "--session session --booked booked --rejected rejected --market market"
    click.echo(f"  unhot recommend train {source} -o {folder / 'sessions'} --model session {marks}")
    sides = f"--items {folder / 'items.csv'} --side market,price"
    click.echo(f"  unhot recommend train {source} -o {folder / 'eges'} --model eges {sides}")
    click.echo("  unhot recommend train YOUR.csv -o model --user user --item item --time time")
    return 0


def _show_tastes(model: Item2Vec, shop: Shop) -> None:
    """Show for each taste how many neighbours of its items have the same taste."""
    taste = dict(zip(shop.items, shop.taste_of.tolist(), strict=True))
    known = [item for item in shop.items if item in model.catalogue]
    right: dict[int, list[float]] = {}
    for item, found in zip(known, model.vectors.most_similar_each(known, topn=NEIGHBOURS), strict=True):
        shared = [taste[other] == taste[item] for other, _ in found]
        right.setdefault(taste[item], []).append(sum(shared) / NEIGHBOURS)
    rows = []
    for number in sorted(right):
        name = next(n for n, t in zip(shop.item_names, shop.taste_of, strict=True) if t == number)
        rows.append((str(number), name, str(len(right[number])), f"{100 * _mean(right[number]):.0f} %"))
    everything = [share for shares in right.values() for share in shares]
    chance = sum(len(shares) ** 2 for shares in right.values()) / len(everything) ** 2
    print_table(
        "Tastes found again",
        ("taste", "an item", "items", f"of the {NEIGHBOURS} nearest items share it"),
        rows,
        f"all items: {100 * _mean(everything):.0f} % share the true taste; by chance it would be "
        f"{100 * chance:.0f} %",
        gap=True,
    )


def _show_figures(models: list[Any]) -> None:
    """Show how often the last item of a customer is among the first ten."""
    from unhot.evaluate.recommending import evaluate_recommender

    rows = []
    for model in models:
        found = evaluate_recommender(model)
        low, high = found.intervals["recall@10"]
        shown = f"{100 * found.figures['recall@10']:.1f} %", f"{100 * low:.1f} .. {100 * high:.1f}"
        rows.append((model.name, *shown, f"{100 * found.figures['coverage@10']:.0f} %"))
    print_table(
        "The last item of each customer",
        ("", "among the first ten", "95 % interval", "items ever recommended"),
        rows,
        "learned from all but the last two events of each customer",
        gap=True,
    )


def _show_customers(model: Item2Vec, shop: Shop) -> None:
    """Show what is recommended to two customers."""
    names = dict(zip(shop.items, shop.item_names, strict=True))
    click.echo("")
    for customer in shop.users[:2]:
        had = [model.catalogue.words[i] for i in model.answers.user_history(customer)[-3:]]
        click.echo(f"{customer} had {', '.join(names[item] for item in had)}")
        found = model.recommend(customer, 3)
        click.echo(f"{' ' * len(customer)} may like {', '.join(each.name or each.item for each in found)}")


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
