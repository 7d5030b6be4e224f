"""The commands `unhot fasttext skipgram` and `cbow`, with fastText's options, and those not supported."""

from __future__ import annotations

import difflib
import functools
import itertools
import os
import tempfile
from pathlib import Path
from typing import Any, NoReturn

import click

import unhot
from unhot.compat.fasttext.settings import Unsupervised
from unhot.errors import ConfigError, DataError
from unhot.train.bar import TrainingBar
from unhot.train.progress import Progress

EXAMPLES = """
\b
Examples:
  unhot fasttext {verb} -input corpus.txt -output model
  unhot fasttext {verb} -input corpus.txt.gz -output model -dim 300 -lr 0.025 -epoch 10 -thread 8
  zcat dump.gz | unhot fasttext {verb} -input - -output model -minCount 20 -t 1e-4
"""
NUMBER = 9  # bytes of a number in a text file, about
MOST_THREADS = 12  # fastText's default number of threads on any machine
LOSSES = ("ns", "hs", "softmax", "ova", "one-vs-all")
# name, type, help
OPTIONS: tuple[tuple[str, Any, str], ...] = (
    ("lr", float, "Initial learning rate."),
    ("dim", int, "Length of each vector."),
    ("ws", int, "Words on each side of the centre word."),
    ("epoch", int, "Number of passes over the text."),
    ("minCount", int, "Drop words that occur less often than this."),
    ("neg", int, "Number of negative samples, with -loss ns."),
    ("loss", click.Choice(LOSSES), "ns: negative sampling, hs: hierarchical softmax, softmax, one-vs-all."),
    ("bucket", int, "Number of rows that n-grams are hashed to."),
    ("minn", int, "Length of the shortest n-grams, in characters."),
    ("maxn", int, "Length of the longest n-grams, in characters; 0: no n-grams."),
    ("t", float, "Threshold of sub-sampling frequent words."),
    ("seed", int, "Seed of all random numbers."),
    ("verbose", int, "0: show nothing but errors."),
    ("pretrainedVectors", str, "Start from the vectors in this file, in any format."),
    ("wordNgrams", int, "Accepted but not used."),
    ("lrUpdateRate", int, "Accepted but not used."),
    ("label", str, "Accepted but not used."),
    ("minCountLabel", int, "Accepted but not used."),
)


class FastTextCommand(click.Command):
    """A command whose options have one dash and a full name.

    Click's short forms, such as -ab for -a -b or -n5 for -n 5, are not recognised.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse options; refuse unknown names, and accept `-t=1e-4` as well as `-t 1e-4`."""
        known = {name: param for param in self.get_params(ctx) for name in param.opts}
        rest = iter(args)
        split: list[str] = []
        for arg in rest:
            name, equals, value = arg.partition("=")
            if name.startswith("-") and name not in known:
                raise click.NoSuchOption(name, possibilities=difflib.get_close_matches(name, known), ctx=ctx)
            split += [name, value] if equals and name in known else [arg]
            if name in known and not equals and not getattr(known[name], "is_flag", False):
                split += itertools.islice(rest, 1)
        try:
            return super().parse_args(ctx, split)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # a missing value's error lacks the context for the hint
            raise


def _training(verb: str, about: str) -> click.Command:
    """Make the command that trains skipgram or cbow."""
    where = "A file, a folder, a pattern, or - for standard input; gz, bz2, xz and zst are unpacked."
    usual = Unsupervised._field_defaults
    threads = f"Number of threads  [default: the machine's cores, at most {MOST_THREADS}]"
    params: list[click.Parameter] = [
        click.Option(["-input"], required=True, metavar="TEXT", help=where),
        click.Option(
            ["-output"],
            required=True,
            metavar="OUTPUT",
            help="Path of the files to write, without their extensions.",
        ),
        *(
            click.Option([f"-{n}", n], type=kind, default=usual[n], show_default=usual[n] != "", help=text)
            for n, kind, text in OPTIONS
        ),
        click.Option(["-thread"], type=int, default=None, help=threads),
        click.Option(
            ["-saveOutput", "save_output"], is_flag=True, help="Also write OUTPUT.output, the output vectors."
        ),
        click.Option(
            ["-force"], is_flag=True, help="Not in fastText: read files even if they do not look like text."
        ),
    ]
    made = "Words are made of their n-grams, so unseen words have vectors, too."
    writes = (
        "Writes OUTPUT.bin, the model, and OUTPUT.vec, the word vectors. "
        "An existing file is replaced when the new one is complete."
    )
    return FastTextCommand(
        verb,
        callback=functools.partial(_train, verb),
        params=params,
        help=f"{about}\n\n{made} {writes}",
        epilog=EXAMPLES.format(verb=verb),
    )


def _train(
    verb: str, input: str, output: str, thread: int | None, save_output: bool, force: bool, **options: Any
) -> int:
    """Train, and write the files."""
    from unhot.claims import CLAIM, claimed
    from unhot.compat.fasttext.training import learned
    from unhot.index.exact import usable_cores

    threads = min(usable_cores(), MOST_THREADS) if thread is None else thread
    given = Unsupervised(model=verb, thread=threads, **options)
    path = _checked(input, output, save_output, given)
    claim = path.with_name(f"{CLAIM}-{path.name}")
    with TrainingBar(quiet=given.verbose < 1) as bar, claimed(claim, path):
        for line in given.notes():
            bar.note(f"-{line}")
        callbacks = [bar, functools.partial(_check_room, path, save_output)]
        model = learned(input, given, force=force, callbacks=callbacks, reading=bar.reading, note=bar.note)
        if model.history.position.epoch < model.epochs:
            bar.note(f"interrupted after {model.history.words:,} words: no file was written")
            return 130
        _save(model, path, save_output, bar)
    return 0


def _files(path: Path, save_output: bool) -> dict[str, Path]:
    """Return the files to write, by extension."""
    endings = ("bin", "vec", "output") if save_output else ("bin", "vec")
    return {ending: Path(f"{path}.{ending}") for ending in endings}


def _checked(input: str, output: str, save_output: bool, given: Unsupervised) -> Path:
    """Return the path to write to; raise an error now, not after training, if files cannot be written."""
    from unhot.rows.paths import find_files

    given.settings()
    if save_output and given.loss == "hs":
        raise ConfigError(
            "-saveOutput with -loss hs: its output vectors belong to a tree's inner nodes, "
            "not to words; leave -saveOutput out"
        )
    if os.path.basename(output) in ("", ".", ".."):  # noqa: PTH119 (a Path forgets the slash at the end)
        raise ConfigError(
            f"-output {output!r}: is a folder; "
            "give the path of the files without their extensions, such as folder/model"
        )
    files = _files(Path(output), save_output)
    _check_writable(files, output)
    texts = [text for text in find_files(input) if text is not None]
    for file in files.values():
        if file.exists() and any(map(file.samefile, texts)):
            raise ConfigError(
                f"-output {output}: would replace {file}, which is part of -input; choose another -output"
            )
    return Path(output)


def _check_room(path: Path, save_output: bool, progress: Progress) -> None:
    """Raise a `DataError` when a training starts if its files will not fit the disk."""
    from unhot.train.checkpoint import DiskPlan

    if progress.event == "start":
        words, dim, buckets = (progress.details[name] for name in ("vocabulary", "dim", "buckets"))
        binary, text = 4 * dim * (2 * words + buckets), NUMBER * dim * words
        DiskPlan(path, binary + text * (2 if save_output else 1), 0).check()


def _check_writable(files: dict[str, Path], output: str) -> None:
    """Raise a `DataError` unless the files can be written."""
    folder = Path(output).parent
    if not folder.is_dir():
        raise DataError(f"-output {output}: there is no folder {folder}; make it first")
    for file in files.values():
        if file.exists() and not file.is_file():
            raise DataError(f"{file}: is not a regular file; choose another -output")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise DataError(
            f"-output {output}: cannot be written ({error.strerror or error}); choose another folder"
        ) from error


def _save(model: unhot.FastText, path: Path, save_output: bool, bar: TrainingBar) -> None:
    """Write the files, to the path or to another one that has room for them."""
    from unhot.cli.rescue import save_somewhere

    def save(place: str) -> None:
        # in a folder that is there, the files have the name of the output
        files = _files(Path(place, path.name) if Path(place).is_dir() else Path(place), save_output)
        model.save_fasttext(files["bin"])
        model.vectors.save(files["vec"], "word2vec-text")
        if "output" in files:
            model.out_vectors.save(files["output"], "word2vec-text")

    place = Path(save_somewhere(save, str(path), Path(tempfile.gettempdir()), bar.stop))
    files = _files(place / path.name if place.is_dir() else place, save_output)
    history = model.history
    speed = f"{history.words / history.seconds:,.0f} words/s"
    bar.note(
        f"trained {history.words:,} words in {history.seconds:.1f} s ({speed}), loss {history.losses[-1]:.4f}"
    )
    bar.note(
        f"saved to {', '.join(map(str, files.values()))}; query it with: unhot fasttext nn {files['bin']}"
    )


skipgram = _training("skipgram", "Learn vectors: each word predicts the words around it.")
cbow = _training("cbow", "Learn vectors: the words around a word together predict it.")


def _missing(verb: str, why: str) -> click.Command:
    """Make a command that says that unhot does not support this command of fastText."""

    @click.command(
        verb,
        short_help=f"Not supported yet: {why}.",
        context_settings={"ignore_unknown_options": True, "help_option_names": []},
    )
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def command(arguments: tuple[str, ...]) -> NoReturn:
        raise ConfigError(f"unhot fasttext {verb}: is not supported yet: {why}")

    return command


supervised = _missing(
    "supervised", "unhot can read and use classifiers that fastText trained, but cannot train them"
)
quantize = _missing("quantize", "unhot can read and use quantised files, but cannot make them")
