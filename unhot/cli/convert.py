"""The command `unhot convert`."""

from __future__ import annotations

from pathlib import Path

import click

import unhot
from unhot.cli.options import json_option, named
from unhot.cli.show import note, show_json
from unhot.cli.streams import STDOUT, descriptor_of, is_stream, is_terminal, open_stream
from unhot.errors import ConfigError, DataError
from unhot.screen.terminal import printable

SHOWN = 10  # how many renamed words are shown
TEXT = ("word2vec-text", "glove")  # formats that a terminal can show

EXAMPLES = """
\b
FORMAT           by the ending      what it is
unhot            (none)             unhot's own folder, with counts
word2vec-text    .txt .vec          word2vec text, also of gensim and fastText
word2vec-binary  .bin               word2vec binary
fasttext         .ftz               fastText's own .bin (--to fasttext) and .ftz, with n-grams
floret           .floret            floret's table: n-grams without words
glove            .glove             GloVe text, without a header; also read from .txt
npy              .npy               NumPy matrix, with the words in X.words.txt
safetensors      .safetensors       one safetensors file, with counts
model2vec        --to model2vec     folder for model2vec and sentence-transformers
parquet          .parquet           columns word, count, vector (extra: arrow)
projector        .tsv               TensorBoard projector, with counts

\b
Examples:
  unhot convert model vectors.bin
  unhot convert glove.6B.100d.txt model --limit 50000
  unhot convert model vectors.bin --to fasttext
  unhot convert model - --to glove | gzip > vectors.txt.gz
"""


@click.command(epilog=EXAMPLES)
@click.argument("source")
@click.argument("out", callback=named)
@click.option(
    "--from",
    "source_format",
    metavar="FORMAT",
    help="Format of SOURCE; default: by its ending or its content.",
)
@click.option("--to", "out_format", metavar="FORMAT", help="Format of OUT; default: by its ending.")
@click.option("--limit", type=click.IntRange(0), metavar="N", help="Convert only the first N words.")
@click.option(
    "--which",
    type=click.Choice(["in", "out"]),
    default="in",
    show_default=True,
    help="Input or output vectors, for a model that has both.",
)
@click.option(
    "--bad-utf8",
    type=click.Choice(["escape", "error", "replace", "ignore"]),
    default="escape",
    show_default=True,
    help="What to do with bytes of words that are not UTF-8; escape keeps them.",
)
@json_option
def convert(
    source: str,
    out: str,
    source_format: str | None,
    out_format: str | None,
    limit: int | None,
    which: str,
    bad_utf8: str,
    as_json: bool,
) -> None:
    """Write the vectors of SOURCE, a model or a file, to OUT in another format.

    OUT may be - for standard output, a named pipe or /dev/fd/N. They take word2vec-text, which is the default
    there, glove and, unless they are a terminal, word2vec-binary.
    """
    from unhot.vectors.formats import stream_table
    from unhot.vectors.formats.remote_folder import local_copy
    from unhot.vectors.formats.table import Table
    from unhot.vectors.store import KEEPING

    name = _format(out, out_format)  # raises an error now, not after a long reading
    if as_json and descriptor_of(out) == 1:
        raise click.UsageError("--json: would be mixed with the vectors on standard output; leave it out")
    if source == STDOUT:
        raise click.UsageError("SOURCE is -: vectors are read from files; write them to a file first")
    source = str(local_copy(source))
    if name == "fasttext" or (out_format is None and Path(out).suffix == ".bin"):
        _refuse_classifier(source)
    vectors = unhot.Vectors.load(source, source_format, limit=limit, bad_utf8=bad_utf8, which=which)
    whole = name == "fasttext" and limit is None and which == "in" and bad_utf8 == "escape"
    if not len(vectors) and vectors.subwords is not None and name not in KEEPING:
        raise DataError(
            f"{source}: has rows of n-grams but no words, so {name}, which holds vectors of words, would be "
            "empty; choose floret or unhot"
        )
    if is_stream(out):
        with open_stream(out) as file:
            renamed = stream_table(file, Table(vectors.words, vectors.vectors, None), name)
    else:
        renamed = {} if whole and _wrote_model(source, out) else vectors.save(out, name)
    _tell(vectors, out, name, renamed, as_json, keeps=name in KEEPING)


def _format(out: str, given: str | None) -> str:
    """Return the format to write; without a name or an ending, standard output and pipes get text."""
    from unhot.vectors.formats import STREAMED, format_name

    path, streams = Path(out), is_stream(out)
    name = format_name(path, "word2vec-text" if streams and not given and not path.suffix else given)
    if streams and name not in STREAMED:
        accepted = ", ".join(STREAMED)
        raise ConfigError(f"{out}: takes {accepted}, but not {name}; choose one with --to, or give a file")
    if streams and name not in TEXT and is_terminal(out):
        raise ConfigError(f"{out}: is a terminal, which cannot show {name}; give a file, or --to with a text")
    return name


def _tell(
    vectors: unhot.Vectors, out: str, name: str, renamed: dict[str, str], as_json: bool, *, keeps: bool
) -> None:
    """Report what was written, and words that the format cannot hold."""
    if as_json:
        kept = {} if vectors.subwords is None else {"ngrams": keeps}
        size = {"words": len(vectors), "dim": vectors.vector_size}
        show_json({"out": out, "format": name, **size, "renamed": renamed, **kept})
        return
    for word, written in list(renamed.items())[:SHOWN]:
        note(f"the format cannot hold the word {printable(word)!r}: wrote {printable(written)!r} instead")
    if len(renamed) > SHOWN:
        note(f"... and {len(renamed) - SHOWN:,} more words")
    held, ngrams = f"{len(vectors):,} words", ""
    if vectors.subwords is not None and name == "floret":
        held = f"{vectors.subwords.buckets:,} rows of n-grams without words"
    elif vectors.subwords is not None and vectors.subwords.maxn:
        ngrams = ", with n-grams" if keeps else ", without n-grams, which this format cannot hold"
    place = "standard output" if out == STDOUT else out
    note(f"wrote {place}: {held}, dim {vectors.vector_size}, {name}{ngrams}")


def _refuse_classifier(source: str) -> None:
    """Raise a `ConfigError` if the source is a trained classifier: a .bin would lose its labels."""
    from unhot.models.load import models_of
    from unhot.vectors.formats.directory import is_model, load_model

    if is_model(source) and load_model(Path(source)).config.get("model") in models_of("classify"):
        raise ConfigError(
            f"{source}: is a classifier, and unhot does not write fastText's classifiers, which have labels: "
            "keep the folder, which unhot classify predict opens; or choose --to word2vec-binary or "
            "word2vec-text for the vectors of its words alone, with --which out for those of its labels"
        )


def _wrote_model(source: str, out: str) -> bool:
    """Write a trained fasttext model as fastText's file, with its output rows and settings.

    Return False, and write nothing, if the source is not such a model.
    """
    from unhot.models.load import is_trained, load_saved
    from unhot.vectors.formats.directory import is_model

    model = load_saved(source) if is_model(source) and is_trained(source) else None
    if not isinstance(model, unhot.FastText) or not model.subwords.own_rows:
        return False
    model.save_fasttext(out)
    return True
