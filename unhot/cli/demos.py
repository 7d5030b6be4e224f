"""The demos: each learns from data that comes with unhot, shows the result, and says what to type next."""

from __future__ import annotations

import lzma
import re
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click

import unhot.evaluate
from unhot.cli.options import named
from unhot.cli.show import note, print_table
from unhot.cli.signals import INTERRUPTED
from unhot.data import sotu_path, udhr_path
from unhot.train.bar import TrainingBar

if TYPE_CHECKING:
    from unhot.data.shop import Shop

QUERIES = ("war", "president", "gold", "farmers", "health")
ANALOGIES = (("mexico", "mexican", "spain"), ("army", "soldiers", "navy"), ("great", "greater", "large"))
BEGINNINGS = ("the state of the union", "our people", "we must", "")
HELD_OUT = 20  # one of so many addresses is held out
NEIGHBOURS = 5  # of an item of the shop
TESTED = 300  # sentences of the demo that it is tested on; as many others calibrate it
SENTENCES = (
    "the cat sat on the mat",
    "le chat est assis sur le tapis",
    "die Katze sitzt auf der Matte",
    "el gato se sienta en la alfombra",
    "kissa istuu matolla",
    "il gatto è seduto sul tappeto",
    "мы живём в большом городе",
    "γάτα κάθεται στο χαλί",
)


def model_option(folder: str) -> Callable[[Any], Any]:
    """Return the option that says where a demo writes its model."""
    return click.option(
        "-o",
        "--model-dir",
        "target",
        default=folder,
        show_default=True,
        metavar="MODEL",
        callback=named,
        help="Directory to write the model to.",
    )


threads_option = click.option("--threads", type=int, default=2, show_default=True, help="Number of threads.")
seed_option = click.option(
    "--seed", type=int, default=1, show_default=True, help="Seed of all random numbers."
)


@click.command()
@model_option("unhot-demo")
@click.option("--epochs", type=int, default=20, show_default=True, help="Number of passes over the text.")
@threads_option
def demo(target: str, epochs: int, threads: int) -> None:
    """Train on the State of the Union addresses, which come with unhot, and show the result."""
    model = unhot.SkipGram(
        dim=100, window=5, output="negative:k=5", epochs=epochs, threads=threads, tokenizer="words"
    )
    _learn(model, target, "233 State of the Union addresses, 1790 on: 1.8 million words", sotu_path())
    click.echo("\nNearest words")
    for word in QUERIES:
        found = model.vectors.most_similar(word, topn=6)
        click.echo(f"  {word:<10} {', '.join(other for other, _ in found)}")
    click.echo("\nAnalogies")
    for a, b, c in ANALOGIES:
        found = model.vectors.most_similar(positive=[b, c], negative=[a], topn=3)
        click.echo(f"  {a} is to {b} as {c} is to   {', '.join(other for other, _ in found)}")
    _say_next(
        target,
        f"unhot neighbors {target} peace        words near any word",
        f"unhot info {target}                   what the model holds",
        f"unhot convert {target} vectors.bin    for gensim and others",
        "unhot train YOUR.txt -o model         vectors of your own text",
    )


@click.command("demo")
@model_option("unhot-languages")
@threads_option
def classify_demo(target: str, threads: int) -> None:
    """Learn to tell 60 languages apart, from a text that comes with the package.

    The text is the Universal Declaration of Human Rights. Its sentences are cut into pieces of six words,
    because a model that learns from long lines is unsure about short ones.
    """
    model = unhot.Classifier(minn=1, maxn=4, word_ngrams=1, threads=threads)
    rows = list(model.rows_of(udhr_path()))
    learned, calibrating, tested = (
        _pieces(part) for part in (rows[: -2 * TESTED], rows[-2 * TESTED : -TESTED], rows[-TESTED:])
    )
    about = f"{len(learned):,} pieces of six words to learn from, {len(tested):,} others to test"
    texts, labels = [text for text, _ in learned], [names for _, names in learned]
    _learn(model, target, about, texts, labels, then=lambda: unhot.evaluate.calibrate(model, calibrating))
    labeller = unhot.evaluate.labeller_of(model)
    figures = unhot.evaluate.measure_labels(labeller, tested).figures
    click.echo(f"\nright for {figures.accuracy:.1%} of {figures.examples:,} other pieces of six words\n")
    for sentence in SENTENCES:
        found = model.predictor.predict([sentence], 2)
        guesses = zip(found.labels, found.probabilities, strict=True)
        shown = ", ".join(f"{model.labels[label]} {p:.0%}" for label, p in guesses)
        click.echo(f"  {sentence:<46} {shown}")
    _say_next(
        target,
        f'unhot classify explain {target} "your own sentence"',
        f"unhot classify predict {target} TEXT.txt -o -",
        "unhot classify train YOUR.txt -o model          a classifier of your own lines",
    )


@click.command("demo")
@model_option("unhot-lm-demo")
@click.option("--minutes", type=float, default=1.0, show_default=True, help="Minutes of training.")
@threads_option
@seed_option
def lm_demo(target: str, minutes: float, threads: int, seed: int) -> None:
    """Train on the State of the Union addresses, which come with unhot, then write sentences like them."""
    addresses = lzma.decompress(sotu_path().read_bytes()).decode().splitlines()
    held_out = _sentences(addresses[::HELD_OUT])
    learned = _sentences([line for i, line in enumerate(addresses) if i % HELD_OUT])
    model = unhot.NeuralLM(
        body="lstm",
        output="sampled:k=500",
        dim=200,
        dropout=0.2,
        min_count=5,
        tokenizer="words",
        minutes=minutes,
        threads=threads,
        seed=seed,
    )
    about = f"{len(learned):,} sentences of State of the Union addresses, 1790 on; {minutes:g} minutes"
    _learn(model, target, about, learned)
    found = model.perplexity(held_out)
    click.echo(f"\nPerplexity of {found.tokens:,} tokens of other addresses: {found.perplexity:,.1f}")
    click.echo("\nSentences that it wrote")
    for number, beginning in enumerate(BEGINNINGS):
        click.echo(f"  {model.generate(beginning, words=40, temperature=0.7, seed=seed + number)}")
    _say_next(
        target,
        f'unhot lm generate {target} "my fellow"     more sentences',
        f"unhot lm perplexity {target} TEXT --details  how well it predicts a text",
        "unhot lm train YOUR.txt -o model             a model of n-grams of your own text",
    )


@click.command("demo")
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
@threads_option
@seed_option
def recommend_demo(target: str, customers: int, threads: int, seed: int) -> None:
    """Generate a shop whose customers have planted tastes, learn from its log, and find the tastes again.

    The log does not name the tastes. The demo shows how many neighbours of an item share its true taste, and
    recommends for some customers.
    """
    from unhot.data.shop import make_shop, write_shop

    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    shop = make_shop(users=customers, seed=seed)
    write_shop(shop, folder / "log.csv")
    how: dict[str, Any] = {"split": "leave-last-out", "threads": threads, "items": str(folder / "items.csv")}
    model = unhot.Item2Vec(**how, seed=seed, epochs=20, with_users=True)
    log, place = str(folder / "log.csv"), str(folder / "model")
    about = f"a shop with {len(shop.items):,} items of {shop.tastes.shape[1]} tastes: {log}"
    _learn(model, place, about, log)
    kinds = unhot.Popularity, unhot.SkipMarkov
    others = [kind(**how).fit(log, note=lambda line: None) for kind in kinds]
    _show_tastes(model, shop)
    _show_figures([model, *others])
    _show_customers(model, shop)
    marks = "--session session --booked booked --rejected rejected --market market"
    sides = f"--items {folder / 'items.csv'} --side market,price"
    _say_next(
        place,
        f"unhot recommend similar {place} {shop.items[0]}",
        f"unhot recommend for {place} {shop.users[0]}",
        f"unhot recommend compare {log}",
        f"unhot recommend train {log} -o {folder / 'sessions'} --model session {marks}",
        f"unhot recommend train {log} -o {folder / 'eges'} --model eges {sides}",
        "unhot recommend train YOUR.csv -o model --user user --item item --time time",
    )


def _learn(
    model: Any, target: str, about: str, *data: Any, then: Callable[[], object] = lambda: None
) -> None:
    """Train a model and save it; after Ctrl-C save it as it is, and end the command.

    then  is called before a model that learned to the end is saved
    """
    from unhot.vectors.formats.model_claim import claimed_model

    with claimed_model(Path(target)), TrainingBar() as bar:
        bar.note(about)
        model.fit(*data, callbacks=[bar], reading=bar.reading, note=bar.note)
        if not model.history.interrupted:
            then()
        model.save(target)
    if model.history.interrupted:
        note(f"interrupted: saved the model as it is to {target}")
        raise click.exceptions.Exit(INTERRUPTED)


def _say_next(target: str, *commands: str) -> None:
    """Say where the model is, and which commands to type next."""
    click.echo(f"\nSaved to {target}. Now type:")
    for command in commands:
        click.echo(f"  {command}")


def _pieces(rows: list[tuple[str, list[str]]], words: int = 6) -> list[tuple[str, list[str]]]:
    """Return texts cut into pieces of so many words, with their labels."""
    cut = [(text.split(), names) for text, names in rows]
    return [
        (" ".join(text[first : first + words]), names)
        for text, names in cut
        for first in range(0, len(text), words)
    ]


def _sentences(texts: list[str]) -> list[str]:
    """Cut texts into sentences, roughly."""
    return [each for text in texts for each in re.split(r"(?<=[.!?;])\s+", text) if each]


def _show_tastes(model: unhot.Item2Vec, shop: Shop) -> None:
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
        rows.append((str(number), name, str(len(right[number])), f"{100 * fmean(right[number]):.0f} %"))
    everything = [share for shares in right.values() for share in shares]
    chance = sum(len(shares) ** 2 for shares in right.values()) / len(everything) ** 2
    print_table(
        "Tastes found again",
        ("taste", "an item", "items", f"of the {NEIGHBOURS} nearest items share it"),
        rows,
        f"all items: {100 * fmean(everything):.0f} % share the true taste; by chance it would be "
        f"{100 * chance:.0f} %",
        gap=True,
    )


def _show_figures(models: list[Any]) -> None:
    """Show how often the last item of a customer is among the first ten."""
    rows = []
    for model in models:
        found = unhot.evaluate.evaluate_recommender(model)
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


def _show_customers(model: unhot.Item2Vec, shop: Shop) -> None:
    """Show what is recommended to two customers."""
    names = dict(zip(shop.items, shop.item_names, strict=True))
    click.echo("")
    for customer in shop.users[:2]:
        had = [model.catalogue.words[i] for i in model.answers.history_of(customer).ids[-3:]]
        click.echo(f"{customer} had {', '.join(names[item] for item in had)}")
        found = model.recommend(customer, 3)
        click.echo(f"{' ' * len(customer)} may like {', '.join(each.name or each.item for each in found)}")
