"""The command `unhot phrases`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import unhot.corpus
from unhot.cli.row_options import READING, column_option, format_options, strict_option
from unhot.cli.show import show_json
from unhot.cli.streams import STDOUT, descriptor_of, is_stream, open_stream
from unhot.cli.text_options import (
    force_option,
    given_options,
    quiet_option,
    source_of,
    tokenizer_option,
)
from unhot.errors import ConfigError, DataError
from unhot.screen.terminal import printable
from unhot.train.bar import TrainingBar

EXAMPLES = """
\b
Examples:
  unhot phrases corpus.txt -o joined.txt
  unhot phrases corpus.txt --phrases phrases.json --threshold 200,100 --connectors english
  unhot phrases news/*.txt.gz -o joined.txt.gz --score npmi --target 10000
  unhot phrases more.txt -o more-joined.txt --apply phrases.json
  unhot phrases corpus.txt -o - | unhot train - -o model
"""
SETTINGS = ("score", "threshold", "target", "min_count", "passes", "connectors", "delimiter", "memory")


@click.command(epilog=EXAMPLES)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "-o",
    "--out",
    default=None,
    metavar="TEXT",
    help="Write the text with joined phrases to this file; .gz, .bz2 and .xz are compressed; -: stdout.",
)
@click.option(
    "--phrases",
    "list_path",
    default=None,
    metavar="FILE",
    help="Write the list of phrases to this file, as JSON.",
)
@click.option(
    "--apply", default=None, metavar="FILE", help="Join the phrases of this list instead of finding phrases."
)
@click.option(
    "--score",
    type=click.Choice(["word2vec", "gensim", "npmi"]),
    default="word2vec",
    show_default=True,
    help="Score of a pair of words: that of word2phrase, gensim's default, or normalised pointwise mutual "
    "information.",
)
@click.option(
    "--threshold",
    default=None,
    metavar="SCORE",
    help="Join pairs with a higher score; 200,100 gives one threshold for each pass  [default: word2vec 100, "
    "gensim 10, npmi 0.5; with --target 0]",
)
@click.option(
    "--target",
    type=int,
    default=None,
    metavar="N",
    help="Find at most N phrases, the best ones, in each pass.",
)
@click.option(
    "--min-count",
    type=int,
    default=5,
    show_default=True,
    help="Skip pairs that occur at most this often; with --score npmi, pairs that occur less often.",
)
@click.option(
    "--passes",
    type=int,
    default=None,
    help="Number of passes; the second also joins phrases of the first: new_york + times  [default: 1]",
)
@click.option(
    "--connectors",
    default="none",
    show_default=True,
    metavar="WORDS",
    help="Words that may stand inside a phrase: english, none, or a file of words.",
)
@click.option("--delimiter", default="_", show_default=True, help="Text between joined words.")
@tokenizer_option
@column_option
@format_options
@strict_option
@force_option
@click.option("--threads", type=int, default=2, show_default=True, help="Number of threads.")
@click.option(
    "--memory",
    default="1GB",
    show_default=True,
    metavar="BYTES",
    help="Memory for counting pairs; if it is not enough, pairs are counted in several turns.",
)
@click.option(
    "-n", "shown", type=click.IntRange(0), default=20, show_default=True, help="Number of phrases to show."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@quiet_option
@click.pass_context
def phrases(
    context: click.Context, /, inputs: tuple[str, ...], out: str | None, list_path: str | None, **options: Any
) -> None:
    """Find phrases in text, such as new_york, and join each to one word.

    INPUT is any text that `unhot train` reads. The joined text has a line for each sentence. Train a model on
    the joined text, or on INPUT with the list of phrases: `unhot train INPUT --phrases FILE`.
    """
    from unhot.corpus.phrases.joining import check_delimiter

    _check_outputs(inputs, out, list_path, options)
    found = _begun(context, options)
    if out is not None:
        check_delimiter(found.delimiter)
    bar = TrainingBar(quiet=options["quiet"] or options["as_json"])
    reads = {name: options[name] for name in ("tokenizer", "threads", *READING)}
    with bar, unhot.corpus.encode(source_of(inputs), min_count=1, progress=bar.reading, **reads) as corpus:
        for line in str(corpus.report).splitlines():
            bar.note(line)
        if options["apply"] is None:
            found.fit(corpus, note=bar.note)
        if list_path is not None:
            found.save(list_path)
            bar.note(f"wrote {list_path}: {len(found.phrases):,} phrases")
        words = None if out is None else _write(found, corpus, out)
        if words is not None and out != STDOUT:
            bar.note(f"wrote {out}: {words:,} words, {corpus.words - words:,} fewer than before")
    if out is None or descriptor_of(out) != 1:
        _show(found, {"words": corpus.words, "joined_words": words, "out": out, "list": list_path}, options)


def _begun(context: click.Context, options: dict[str, Any]) -> unhot.corpus.Phrases:
    """Return the phrases of a list, or settings to find new phrases with."""
    if options["apply"] is None:
        settings = {name: options[name] for name in (*SETTINGS, "threads")}
        settings["threshold"] = _thresholds(options["threshold"])
        settings["connectors"] = _connectors(options["connectors"])
        return unhot.corpus.Phrases(**settings)
    given = given_options(context, SETTINGS)
    if given:
        raise click.UsageError(
            f"{', '.join(given.values())}: --apply uses a list that was made with its own settings; leave "
            "this out",
            context,
        )
    found = unhot.corpus.Phrases.load(options["apply"])
    found.threads = options["threads"]
    return found


def _thresholds(text: str | None) -> list[float] | float | None:
    """Parse `200,100` as one number for each pass."""
    if text is None:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(
            f"--threshold {text}: must be a number, or one for each pass with commas between them, such as "
            "200,100"
        ) from None
    return numbers if len(numbers) > 1 else numbers[0]


def _connectors(name: str) -> str | list[str]:
    """Return the name of a list of connectors, or the words of a file."""
    from unhot.corpus.phrases.phrases import NAMED
    from unhot.vocab.vocabulary import decode_words

    if name in NAMED:
        return name
    try:
        return decode_words(Path(name).read_bytes().split())
    except OSError as error:
        raise DataError(
            f"--connectors {name}: cannot be read ({error.strerror}); give {', '.join(NAMED)}, or a file of "
            "words"
        ) from error


def _check_outputs(
    inputs: tuple[str, ...], out: str | None, list_path: str | None, options: dict[str, Any]
) -> None:
    """Raise an error now, not after a long reading, if the results cannot be written."""
    from unhot.corpus.phrases.phrases import NAMED
    from unhot.rows.paths import find_files

    if out is not None and descriptor_of(out) == 1 and options["as_json"]:
        raise ConfigError(
            f"-o {out} and --json: both would go to standard output; give a file for one of them"
        )
    read = [file for name in inputs for file in find_files(name) if file is not None]
    read += [
        Path(name)
        for name in (options["apply"], options["connectors"])
        if name is not None and name not in NAMED
    ]
    written = [Path(name) for name in (out, list_path) if name is not None and not is_stream(name)]
    for path in written:
        if not path.parent.is_dir():
            raise DataError(f"{path}: there is no folder {path.parent}; make it first")
        if path.suffix == ".zst":
            raise ConfigError(
                f"{path}: unhot reads zst but does not write it; use .gz, .bz2, .xz or another ending"
            )
        if path.is_dir():
            raise DataError(f"{path}: is a folder; give the name of a file")
        if any(_is_same(path, other) for other in read):
            raise ConfigError(f"{path}: is an input that would be replaced; choose another name")
    if len(written) == 2 and _is_same(*written):
        raise ConfigError(
            f"-o {out} and --phrases {list_path}: are the same file; choose another name for one of them"
        )


def _is_same(a: Path, b: Path) -> bool:
    """Return whether two paths are the same file, which need not exist yet."""
    return a.resolve() == b.resolve() or (a.exists() and b.exists() and a.samefile(b))


def _write(found: unhot.corpus.Phrases, corpus: unhot.Corpus, out: str) -> int:
    """Write the joined text and return its number of words."""
    from unhot.rows.copied import opened_result

    with open_stream(out) if is_stream(out) else opened_result(out) as sink:
        return found.write(corpus, sink)


def _show(found: unhot.corpus.Phrases, facts: dict[str, Any], options: dict[str, Any]) -> None:
    """Show the best phrases, as a table or as JSON."""
    best = found.phrases[: options["shown"]]
    if options["as_json"]:
        each = [{"phrase": phrase, "score": score, "count": count} for phrase, score, count in best]
        show_json({**facts, "found": [len(entries) for entries in found.found], "phrases": each})
    elif not options["quiet"]:
        width = max((len(printable(phrase)) for phrase, _, _ in best), default=0)
        for phrase, score, count in best:
            click.echo(f"{printable(phrase):<{width}}  {score:>14,.4g}  {count:>10,}")
