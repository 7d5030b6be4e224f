"""`unhot bench`: measurements on your own text."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unhot.cli.outputs import plugin_option
from unhot.cli.several import SeveralValues
from unhot.cli.show import new_bar, note, print_table, printable, show_json
from unhot.errors import ConfigError, DataError

if TYPE_CHECKING:
    from unhot.bench.outputs import Status, Tell
    from unhot.bench.results import Comparison, Measured

EXAMPLES = """
\b
Examples:
  unhot bench outputs corpus.txt
  unhot bench outputs corpus.txt --seconds 20 --layers softmax negative nce:k=50 sampled:k=500 -o results/mine
  unhot bench outputs corpus.txt --model cbow --max-vocab 50000 --json
"""


@click.group(epilog=EXAMPLES)
def bench() -> None:
    """Measure on your own text."""


@bench.command(cls=SeveralValues, epilog=EXAMPLES)
@click.argument("corpus")
@click.option(
    "--layers",
    metavar="LAYER...",
    multiple=True,
    help="Output layers to compare  [default: all, with bias=true]",
)
@click.option(
    "--model",
    type=click.Choice(["skipgram", "cbow"]),
    default="skipgram",
    show_default=True,
    help="What predicts what.",
)
@click.option("--dim", type=int, default=100, show_default=True, help="Numbers in a vector.")
@click.option("--window", type=int, default=5, show_default=True, help="Words to each side of a centre.")
@click.option("--min-count", type=int, default=5, show_default=True, help="Drop words seen less often.")
@click.option("--max-vocab", type=int, default=10_000, show_default=True, help="Keep at most so many words.")
@click.option(
    "--tokenizer",
    default="whitespace",
    show_default=True,
    help="whitespace, words (lower-cased, any script) or text8.",
)
@click.option(
    "--held-out",
    type=float,
    default=0.05,
    show_default=True,
    help="Share of the lines to measure by, not to train on.",
)
@click.option(
    "--held-out-words", type=int, default=100_000, show_default=True, help="About so many words at most."
)
@click.option("--seconds", type=float, default=60.0, show_default=True, help="Time to train each layer.")
@click.option(
    "--lr",
    type=float,
    default=None,
    help="Learning rate of all layers  [default: the best of a few for each]",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "compiled", "torch"]),
    default="auto",
    show_default=True,
    help="What trains; auto: compiled kernels where the layer has them.",
)
@click.option("--threads", type=int, default=2, show_default=True, help="Threads.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of all random numbers.")
@click.option(
    "--exact/--no-exact",
    default=True,
    show_default=True,
    help="skipgram: find the exact solution first, and how far layers are from it.",
)
@plugin_option
@click.option(
    "-o",
    "prefix",
    default="bench-outputs",
    show_default=True,
    metavar="NAME",
    help="Write NAME.csv, NAME-curves.csv, NAME.md, NAME.svg.",
)
@click.option("--json", "as_json", is_flag=True, help="JSON for machines instead of a table.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def outputs(
    corpus: str, layers: tuple[str, ...], prefix: str, as_json: bool, quiet: bool, **options: Any
) -> int:
    """Compare output layers: the same model, text and time with each.

    CORPUS is a file, a folder, a pattern, or - for standard input. A share of its lines is held out. Every
    layer trains a model for the same time, which stands still while the model is measured: exact held-out
    perplexity, examples trained in a second, memory, log Z, and the time it took to be as good as the full
    softmax at its end. Before that each layer finds its learning rate in some shorter trainings: all in all,
    a layer takes about twice the time of --seconds. For skipgram the exact solution is found first, from the
    counts of all pairs, and every layer is compared with it. Ctrl-C ends it with what there is.
    """
    from unhot.bench import Settings, compare_outputs

    settings = Settings(**options)
    files = _files(prefix)
    with _progress(quiet) as tell:
        comparison = compare_outputs(corpus, layers, settings=settings, tell=tell)
    measured = any(each.result for each in comparison.layers)
    try:
        if as_json:
            show_json(comparison.as_dict())
        else:
            _show(comparison)
    finally:  # a pipe that is closed must not cost the files
        _write(comparison, files, quiet, measured)
    return 130 if comparison.interrupted else 0 if measured else 1


def _files(prefix: str) -> dict[str, Path]:
    """Where results will be written; refused before an hour of work, not after it."""
    if prefix.replace(os.sep, "/").rpartition("/")[2] in ("", ".", ".."):
        raise ConfigError(f"-o {prefix!r}: must end with a name, such as results/mine")
    endings = {"csv": ".csv", "curves": "-curves.csv", "md": ".md", "svg": ".svg"}
    files = {kind: Path(f"{prefix}{ending}") for kind, ending in endings.items()}
    try:
        Path(prefix).parent.mkdir(parents=True, exist_ok=True)
        for file in files.values():
            file.open("ab").close()
            if file.stat().st_size == 0:
                file.unlink()
    except OSError as error:
        raise DataError(
            f"-o {prefix}: cannot be written ({error.strerror}); "
            "give the beginning of the names of files that can"
        ) from error
    return files


def _write(comparison: Comparison, files: dict[str, Path], quiet: bool, measured: bool) -> None:
    """Write all files, the picture last: most can go wrong with it.

    Without any result, those of an earlier run stay.
    """
    from unhot.bench.table import markdown, write_csv, write_curves

    if not measured:
        note("no layer has a result: nothing is written")
        return
    write_csv(comparison, files["csv"])
    write_curves(comparison, files["curves"])
    _write_page(files["md"], markdown(comparison, files["csv"].stem))
    written = [files["csv"], files["curves"], files["md"]]
    if _draw(comparison, files["svg"]):
        _write_page(files["md"], markdown(comparison, files["csv"].stem, files["svg"].name))
        written.append(files["svg"])
    if not quiet:
        note(f"written: {', '.join(map(str, written))}")


def _write_page(path: Path, page: str) -> None:
    path.write_text(page, encoding="utf-8", errors="backslashreplace")


def _draw(comparison: Comparison, path: Path) -> bool:
    """Draw the picture, if it can be drawn; otherwise there is none, also none of an earlier run."""
    from unhot.bench.plot import plot_layers

    try:
        plot_layers(comparison, path)
        return True
    except Exception as error:  # matplotlib is not ours, and the figures are there without it
        path.unlink(missing_ok=True)
        note(f"no picture: {' '.join(str(error).split())}")
        return False


def _show(comparison: Comparison) -> None:
    """The table on stdout, then how it was measured."""
    from unhot.bench.table import explained, failures, header, measured_by, summary, table

    failed = (f"failed: {printable(line)}" for line in failures(comparison))
    terms = (f"{term}: {meaning}" for term, meaning in explained(comparison).items())
    said = (summary(comparison), *terms, printable(measured_by(comparison)), *failed)
    rows = table(comparison)
    if rows:  # none: interrupted before the first layer was done
        print_table("", header(comparison), rows, "\n".join(filter(None, said)))
    else:
        click.echo(summary(comparison))


def _line(measured: Measured) -> str:
    """What came of a layer, in short."""
    if measured.result is None:
        return f"{measured.layer}: {measured.failed}"
    speed = "" if math.isnan(measured.pairs_per_second) else f", {measured.pairs_per_second:,.0f} examples/s"
    perplexity = f"perplexity {measured.result.perplexity:,.1f}"
    return f"{measured.layer}: {perplexity}{speed}, lr {measured.lr:.3g} ({measured.engine})"


@contextmanager
def _progress(quiet: bool) -> Iterator[Tell]:
    """A bar on a terminal, otherwise a line for each layer that is done."""
    with new_bar("{task.description}", "{task.fields[text]}", quiet=quiet, transient=True) as bar:
        task = bar.add_task("reading", total=None, text="")

        def tell(status: Status) -> None:
            at = f"{status.stage} {status.number}/{status.layers} {status.layer}"
            bar.update(
                task,
                description=printable(at if status.number else status.stage),
                completed=max(0, status.number - 1),
                total=status.layers,
                text=f"{status.seconds_left:,.0f} s left" if status.seconds_left else "",
            )
            if status.measured is not None and not quiet:
                line = printable(_line(status.measured))
                bar.console.print(line, markup=False, highlight=False, soft_wrap=True)

        yield tell
