"""The command `unhot lm`: train language models, and ask them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import click

import unhot
from unhot.cli.comparison_report import show_and_write, writable_files
from unhot.cli.demos import lm_demo
from unhot.cli.lm_ask import generate, perplexity, score
from unhot.cli.options import json_option, named
from unhot.cli.outputs import plugin_option
from unhot.cli.row_options import column_option, format_options, strict_option, threads_option
from unhot.cli.several import SeveralValues
from unhot.cli.show import new_bar, note, print_table, show_json
from unhot.cli.text_options import force_option, source_of
from unhot.cli.train import claimed, train_command
from unhot.errors import ConfigError
from unhot.rows.remote import as_path

TRAIN = """\
Learn a language model from text: of n-grams, or neural.

INPUT is a file, a folder, a pattern, or - for standard input; gz, bz2, xz and zst files are unpacked; of
parquet files the text column is read. Each line is a sentence, and empty lines count. The default is modified
Kneser-Ney of order 5, as KenLM's lmplz estimates it. Neural models (--model neural) need PyTorch. Ctrl-C
stops their training and saves the model as it is; --resume continues it.
"""
EXAMPLES = """
\b
Examples:
  unhot lm train corpus.txt -o model
  unhot lm train corpus.txt -o model --order 3 --smoothing katz --min-count 2
  unhot lm train corpus.txt -o model --prune 0,0,1 --memory 4GB --threads 8 --compact
  unhot lm train corpus.txt -o model --model neural --body lstm --validation valid.txt --minutes 45
  unhot lm train corpus.txt -o model --model neural --body gru:layers=2 --output nce:k=25 --dim 400
  unhot lm mix model model2 --validation valid.txt -o mixture
  unhot lm perplexity model test.txt
  unhot lm score model pages.jsonl --column body -o scored.jsonl
  unhot lm generate model "the people"
  unhot lm count corpus.txt --order 3 --top 20
  unhot lm convert model model.arpa.gz
"""
# endings of files that `convert` does not write
FILES = {".bin", ".binary", ".klm", ".kenlm", ".mmap", ".trie", ".lm", ".txt", ".gz", ".bz2", ".xz", ".zst"}
# other help texts of options that `unhot train` has, too
HELP = {
    "corpus_dir": "Keep the encoded text in this directory  [default: a temporary directory]",
    "start": "neural: begin with word vectors in any format, or with those of a model; their dim is kept.",
}


train = train_command("language", TRAIN, EXAMPLES, helps=HELP)


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--order", type=click.IntRange(1, 16), default=3, show_default=True, help="Words of an n-gram.")
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, help="How many to show.")
@click.option("--min-count", type=click.IntRange(1), default=1, help="Rarer words become <unk>.")
@click.option("--memory", default="1GB", show_default=True, help="Memory for counting.")
@column_option
@format_options
@strict_option
@threads_option
@force_option
@json_option
def count(
    inputs: tuple[str, ...],
    order: int,
    top: int,
    memory: str,
    threads: int,
    as_json: bool,
    **how: Any,
) -> None:
    """Count the n-grams of a text, and show the most frequent ones."""
    from unhot.corpus import encode
    from unhot.ngrams.counting import count_ngrams

    how |= {"empty_lines": True, "nulls": False, "unknown": True, "threads": threads}
    bar = new_bar("counting", "{task.percentage:>3.0f}%", transient=True, quiet=as_json)
    tell = functools.partial(bar.show, "counting")
    with (
        bar,
        encode(source_of(inputs), progress=tell, **how) as corpus,
        count_ngrams(corpus, order, memory=memory, threads=threads, on_section=tell) as counts,
    ):
        for line in corpus.report.said:
            bar.say(line)
        sizes = [counts.level(each).counts.size for each in range(1, order + 1)]
        found = counts.most_frequent(order, top)
    if as_json:
        show_json({"order": order, "ngrams": sizes, "top": dict(found)})
    else:
        said = ", ".join(f"{size:,} of order {each}" for each, size in enumerate(sizes, 1))
        print_table(
            "", ("n-gram", "count"), [(ngram, f"{times:,}") for ngram, times in found], f"different: {said}"
        )


@click.command()
@click.argument("model")
@click.argument("out", callback=named)
@click.option("--compact", is_flag=True, help="A folder: write the compact layout.")
@threads_option
@plugin_option
def convert(model: str, out: str, compact: bool, threads: int) -> None:
    """Write MODEL in another form: an ARPA file (.arpa, .arpa.gz, ...) or a folder."""
    found = unhot.load_language_model(model, threads)
    if not isinstance(found, unhot.NGramModel):
        raise ConfigError(
            f"{model}: only models of n-grams have other forms; a binary file of KenLM has only hashes of "
            "its n-grams, so it can be asked, but not converted: give the ARPA file that it was made from"
        )
    suffixes = Path(out).suffixes
    if ".arpa" not in suffixes and FILES.intersection(suffixes):
        raise ConfigError(
            f"{out}: unhot writes models of n-grams as an ARPA file (a name with .arpa, .arpa.gz, .arpa.bz2, "
            ".arpa.xz or .arpa.zst) or as a folder (a name without such an ending); for a binary file of "
            "KenLM, write model.arpa and run: build_binary model.arpa model.bin"
        )
    if ".arpa" in suffixes:
        found.save_arpa(out)
    else:
        found.laid_out(compact=compact).save(out)
    note(f"saved to {out}")


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("--validation", required=True, metavar="TEXT", help="Text that no MODEL was trained on.")
@click.option(
    "-o",
    "--model-dir",
    "target",
    required=True,
    metavar="MODEL",
    callback=named,
    help="Directory to write to.",
)
@click.option(
    "--carry/--alone",
    default=True,
    show_default=True,
    help="Neural models: go on from line to line, or begin each line anew.",
)
@threads_option
@plugin_option
@json_option
def mix(
    models: tuple[str, ...], validation: str, target: str, carry: bool, threads: int, as_json: bool
) -> None:
    """Mix language models: each MODEL counts as much as suits the text of --validation best.

    The weights are learned by expectation maximisation. The mixture is a model of its own: its folder has
    copies of all MODELs.
    """
    with claimed(target):
        found = [unhot.load_language_model(name, threads) for name in models]
        mixture = unhot.Mixture.of(found, as_path(validation), carry=carry)
        alone = [each.perplexity(as_path(validation), carry=carry).perplexity for each in found]
        together = mixture.perplexity(as_path(validation), carry=carry).perplexity
        mixture.save(target)
    if as_json:
        weights = dict(zip(models, mixture.weights, strict=True))
        show_json(
            {"weights": weights, "perplexity": together, "alone": dict(zip(models, alone, strict=True))}
        )
        return
    rows = [
        (name, f"{weight:.4f}", f"{value:,.2f}")
        for name, weight, value in zip(models, mixture.weights, alone, strict=True)
    ]
    print_table("", ("model", "weight", "perplexity"), rows, f"together: {together:,.2f}, on {validation}")
    note(f"saved to {target}")


COMPARE_EXAMPLES = """
\b
Examples:
  unhot lm compare train.txt valid.txt test.txt
  unhot lm compare train.txt valid.txt test.txt --minutes 10 --seeds 3 --body gru --dim 300
  unhot lm compare train.txt valid.txt test.txt --layers softmax sampled:k=500 nce:k=25 --epochs 5
"""
COMPARISON_FILES = (".csv", "-curves.csv", ".md", "-time.svg", "-bands.svg")


@click.command(cls=SeveralValues, epilog=COMPARE_EXAMPLES)
@click.argument("train")
@click.argument("valid")
@click.argument("test")
@click.option("--layers", metavar="LAYER...", multiple=True, help="Output layers  [default: all]")
@click.option("--body", default="lstm", show_default=True, help="The body of all models.")
@click.option("--dim", type=int, default=200, show_default=True, help="Length of the word vectors.")
@click.option("--dropout", type=float, default=0.2, show_default=True, help="Share that is dropped.")
@click.option("--batch", type=int, default=20, show_default=True, help="Parts of the text, side by side.")
@click.option("--steps", type=int, default=35, show_default=True, help="Tokens that gradients go back.")
@click.option("--min-count", type=int, default=1, show_default=True, help="Rarer words become <unk>.")
@click.option(
    "--minutes", type=float, default=3.0, show_default=True, help="Training time of each layer and seed."
)
@click.option("--epochs", type=int, help="Epochs of each layer and seed, instead of --minutes.")
@click.option("--seeds", type=int, default=1, show_default=True, help="Trainings of each layer.")
@click.option("--lr", type=float, help="Learning rate of all layers  [default: the best of a few for each]")
@click.option("--order", type=int, default=5, show_default=True, help="Order of the n-grams.")
@click.option("--threads", type=int, default=2, show_default=True, help="Number of threads.")
@plugin_option
@click.option(
    "-o",
    "prefix",
    default="lm-compare",
    show_default=True,
    metavar="NAME",
    help="Write NAME.csv, NAME-curves.csv, NAME.md, NAME-time.svg, NAME-bands.svg.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def compare(
    train: str,
    valid: str,
    test: str,
    layers: tuple[str, ...],
    prefix: str,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Compare output layers on one neural language model.

    Every layer trains the same body on TRAIN for the same time. Its learning rate is chosen on VALID, in
    short trainings that take about as long again. The figures are of TEST, normalised over all words.
    n-grams, mixtures of them with each layer, and language models of plugins come beside. Ctrl-C stops and
    shows the results so far.
    """
    from unhot.bench.language import LanguageSettings, compare_language
    from unhot.bench.language_report import language_report
    from unhot.regular import named_size

    settings, files = LanguageSettings(**options), writable_files(prefix, COMPARISON_FILES)
    for path in (train, valid, test):
        if not Path(path).exists():
            raise click.BadParameter(f"{path}: no such file")
        named_size(Path(path))  # each is read several times
    tell = (lambda line: None) if quiet else note
    found = compare_language(train, valid, test, layers, settings=settings, tell=tell)
    return show_and_write(language_report(found), files, as_json=as_json, quiet=quiet)


lm = click.Group(
    "lm",
    commands=[train, perplexity, score, generate, mix, compare, count, convert, lm_demo],
    help="""Language models: train, ask, mix and compare them.

    MODEL is a folder that `train` wrote, an ARPA file, compressed or not, or a binary file of KenLM
    (probing).
    """,
    epilog=EXAMPLES,
)
