"""`unhot train`."""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from unhot.cli.outputs import listed_layers, plugin_option

if TYPE_CHECKING:
    from unhot.cli.show import TrainingBar
    from unhot.models.words import WordModel
    from unhot.vectors.store import Vectors

EXAMPLES = """
\b
Examples:
  unhot train corpus.txt -o model
  unhot train news/*.txt.gz -o model --model cbow --dim 300 --threads 8
  unhot train corpus.txt -o model --model fasttext --minn 3 --maxn 6 --buckets 2000000
  unhot train corpus.txt -o model --model fasttext --scheme floret --buckets 50000 --hashes 2
  unhot train corpus.txt -o model --output nce:k=50,bias=true
  unhot train corpus.txt -o model --output adaptive --engine torch --device cuda:0 --batch 4096
  zcat dump.gz | unhot train - -o model --tokenizer words --min-count 20
  unhot train --resume model
  unhot train more.txt -o model2 --start model --epochs 2
  unhot train corpus.txt -o model --start vectors.bin --freeze known
"""
OUTPUT_HELP = f"Output layer: {', '.join(listed_layers())}; settings behind a colon, as NAME:setting=value,..."

# options that are no settings of a model, and those of them that --resume accepts
RESUMED = ("inputs", "target", "resume", "plugin", "log_json", "corpus_dir", "checkpoint_minutes", "checkpoint_chunks", "quiet")
OTHERS = (*RESUMED, "model", "start", "freeze", "keep_vocabulary", "column", "overwrite")


class TrainCommand(click.Command):
    """A command whose help ends with a list of the output layers."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, then the layers."""
        super().format_options(ctx, formatter)
        with formatter.section("Output layers (more: unhot outputs NAME)"):
            formatter.write_dl(list(listed_layers().items()))


@click.command(cls=TrainCommand, epilog=EXAMPLES)
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@click.option("-o", "--model-dir", "target", default=None, metavar="MODEL", help="Directory to write the model to.")
@click.option("--resume", default=None, metavar="MODEL", help="Go on with a training that was cut off: same text, same settings.")
@click.option(
    "--start",
    default=None,
    metavar="VECTORS",
    help="Begin from words' vectors in any format; from a model directory: go on with it, its n-grams and its settings.",
)
@click.option("--freeze", default=None, metavar="WORDS", help="Words whose vectors stay: a file, one a line; known: all of --start.")
@click.option("--keep-vocabulary", is_flag=True, help="--start with a model: no new words.")
@click.option(
    "--model",
    type=click.Choice(["skipgram", "cbow", "fasttext"]),
    default="skipgram",
    show_default=True,
    help="skipgram: a word predicts those around it; cbow: they predict it; fasttext: either, with words made of n-grams.",
)
@click.option("--dim", type=int, default=100, show_default=True, help="Numbers in a vector.")
@click.option("--window", type=int, default=5, show_default=True, help="Words to each side of a centre.")
@click.option(
    "--shrink/--no-shrink", default=True, show_default=True, help="Draw each centre's reach from 1 to the window, or always use all of it."
)
@click.option(
    "--combine", type=click.Choice(["mean", "sum"]), default="mean", show_default=True, help="cbow: how context vectors become one."
)
@click.option(
    "--predict",
    type=click.Choice(["auto", "centre", "contexts"]),
    default="auto",
    show_default=True,
    help="skipgram: which word of a pair predicts the other; auto: what is cheaper for the output layer.",
)
@click.option(
    "--architecture",
    type=click.Choice(["skipgram", "cbow"]),
    default="skipgram",
    show_default=True,
    help="fasttext: what predicts what, as above.",
)
@click.option("--minn", type=int, default=3, show_default=True, help="fasttext: characters of the shortest n-gram.")
@click.option("--maxn", type=int, default=6, show_default=True, help="fasttext: characters of the longest n-gram; 0: none, words alone.")
@click.option(
    "--buckets", type=int, default=2_000_000, show_default=True, help="fasttext: rows that n-grams share; those in use take memory."
)
@click.option(
    "--scheme",
    type=click.Choice(["fasttext", "floret"]),
    default="fasttext",
    show_default=True,
    help="fasttext: how n-grams find their rows; floret: words have none of their own, so few buckets do.",
)
@click.option("--hashes", type=int, default=1, show_default=True, help="floret: rows of an n-gram, 1 to 4.")
@click.option("--float16/--no-float16", default=False, help="fasttext: input rows of 16-bit floats, half the size.")
@click.option("--output", default="negative:k=5", show_default=True, metavar="LAYER", help=OUTPUT_HELP)
@click.option("--min-count", type=int, default=5, show_default=True, help="Drop words seen less often.")
@click.option("--max-vocab", type=int, default=None, help="Keep at most so many words.")
@click.option("--sample", type=float, default=1e-3, show_default=True, help="Threshold of sub-sampling frequent words; 0: none.")
@click.option("--epochs", type=int, default=5, show_default=True, help="Passes over the text.")
@click.option("--lr", type=float, default=None, help="First learning rate  [default: skipgram 0.025, cbow 0.1, fasttext 0.05]")
@click.option("--threads", type=int, default=2, show_default=True, help="Threads; with 1, the same seed gives the same bytes.")
@click.option(
    "--engine",
    type=click.Choice(["compiled", "torch"]),
    default="compiled",
    show_default=True,
    help="What trains: compiled kernels on the CPU, or PyTorch, for any layer and device; fasttext: compiled only.",
)
@click.option("--device", default="cpu", show_default=True, help="torch: where to compute, such as cuda:0.")
@click.option("--batch", type=int, default=1024, show_default=True, help="torch: pairs of a step; cbow: centres.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of all random numbers.")
@click.option("--tokenizer", default="whitespace", show_default=True, help="whitespace, words (lower-cased, any script) or text8.")
@click.option("--column", default=None, help="Parquet: the column with the text  [default: text, or the only one]")
@plugin_option
@click.option(
    "--checkpoint-minutes", type=float, default=10.0, show_default=True, help="Save the state so often, in MODEL/checkpoint; 0: never."
)
@click.option("--checkpoint-chunks", type=int, default=None, help="Likewise, every so many chunks (compiled: of about 10 ms).")
@click.option("--overwrite", is_flag=True, help="Begin anew although MODEL holds a training that can be resumed.")
@click.option("--log-json", type=click.Path(dir_okay=False), default=None, help="Write progress as JSON lines to this file.")
@click.option("--corpus-dir", default=None, metavar="DIR", help="Keep the encoded text here  [default: a temporary directory]")
@click.option("-q", "--quiet", is_flag=True, help="Show nothing but errors.")
@click.pass_context
def train(context: click.Context, /, inputs: tuple[str, ...], target: str | None, resume: str | None, **options: Any) -> int:
    """Learn word vectors from text.

    INPUT is a file, a folder, a pattern, or - for standard input; gz, bz2, xz and zst are unpacked, parquet is read by its text column. A
    line is a sentence of any length. Ctrl-C stops and saves what there is. A training that was cut off, by Ctrl-C or by a power cut, goes
    on with --resume.
    """
    from unhot.cli.show import TrainingBar

    if resume is not None:
        _refuse(context, (*RESUMED, "threads", "device"), "--resume goes on with the settings that the training began with")
        target = target or resume
    elif not inputs or target is None:
        raise click.UsageError("Missing option '-o'." if inputs else "Missing argument 'INPUT...'.", context)
    source = [name if name == "-" else Path(name) for name in inputs] if len(inputs) > 1 else "".join(inputs) or None
    with contextlib.ExitStack() as stack:
        bar = stack.enter_context(TrainingBar(quiet=options["quiet"]))
        how = _telling(bar, stack, target, options, goes_on=resume is not None)
        if resume is not None:
            if target != resume:
                _keep_unfinished(target)
            changed = {name: options[name] for name in ("threads", "device") if _given(context, name)}
            learner, run = _resumed(resume, **changed)
            return _finish(learner, lambda: run(source, **how), target, bar)
        learner, begins = _begun(context, target, options)
        return _finish(learner, lambda: learner.fit(source or "", **begins, **how), target, bar)


def _given(context: click.Context, name: str) -> bool:
    """Whether an option stands on the command line."""
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _refuse(context: click.Context, accepted: tuple[str, ...], why: str) -> None:
    """A usage error if options were given that are not accepted now."""
    given = [param.opts[-1] for param in context.command.params if param.name not in accepted and _given(context, str(param.name))]
    if given:
        raise click.UsageError(f"{', '.join(given)}: {why}", context)


def _telling(bar: TrainingBar, stack: contextlib.ExitStack, target: str, options: dict[str, Any], goes_on: bool) -> dict[str, Any]:
    """What `fit` and `resume` both take."""
    from unhot.train.checkpoint import Checkpoint
    from unhot.train.progress import JsonLog
    from unhot.vectors.formats.directory import check_writable

    checkpoint = Checkpoint(path=target, minutes=options["checkpoint_minutes"] or None, chunks=options["checkpoint_chunks"])
    check_writable(Path(target))
    log = [stack.enter_context(JsonLog(options["log_json"], append=goes_on))] if options["log_json"] else []
    callbacks = {"callbacks": [bar, *log], "reading": bar.reading, "note": bar.note}
    return {**callbacks, "directory": options["corpus_dir"], "checkpoint": checkpoint}


def _resumed(path: str, threads: int | None = None, device: str | None = None) -> tuple[WordModel, Callable[..., Any]]:
    """The model of the last checkpoint, and what goes on with it."""
    from unhot.errors import whole
    from unhot.models.load import load_unfinished

    learner = load_unfinished(path)
    learner.threads = learner.threads if threads is None else whole("threads", threads, 1, 1024)
    learner.device = learner.device if device is None else device
    return learner, learner.resume


def _begun(context: click.Context, target: str, options: dict[str, Any]) -> tuple[WordModel, dict[str, Any]]:
    """A new model, and what it begins with."""
    from unhot.errors import ConfigError
    from unhot.models.load import MODELS
    from unhot.models.words import WordModel

    start = None if options["start"] is None else _open_start(options["start"])
    kind, settings = options["model"], {name: value for name, value in options.items() if name not in OTHERS}
    if isinstance(start, WordModel):
        begun_with = start.config()
        kind = kind if _given(context, "model") else start.name
        if kind != start.name:
            begun_with.pop("lr")
        settings = {name: value if _given(context, name) else begun_with.get(name, value) for name, value in settings.items()}
    elif options["keep_vocabulary"]:
        raise ConfigError("--keep-vocabulary: needs --start with a model")
    learner = MODELS[kind](**_settings_of(context, kind, settings))
    if not options["overwrite"]:
        _keep_unfinished(target)
    counts = start.vocabulary if options["keep_vocabulary"] and isinstance(start, WordModel) else None
    if isinstance(start, WordModel) and start.has_bags and kind != start.name:
        start = start.vectors  # its rows are not those of words
    return learner, {"start": start, "frozen": _frozen(options["freeze"]), "counts": counts, "column": options["column"]}


def _settings_of(context: click.Context, kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that are settings of a model; a usage error if one was given that is another model's."""
    from unhot.errors import ConfigError
    from unhot.models.load import MODELS

    names = {name: {field.name for field in dataclasses.fields(model)} for name, model in MODELS.items()}
    for name in options:
        if name not in names[kind] and _given(context, name):
            owners = ", ".join(model for model in names if name in names[model])
            raise ConfigError(f"--{name}: is no setting of --model {kind}, but of {owners}; leave it out")
    return {name: value for name, value in options.items() if name in names[kind]}


def _keep_unfinished(target: str) -> None:
    """Refuse to write over a training that can be resumed."""
    from unhot.errors import DataError
    from unhot.models.load import holds_unfinished

    if holds_unfinished(target):
        raise DataError(f"{target}: holds a training that was cut off: go on with --resume {target}, or begin anew with --overwrite")


def _open_start(path: str) -> WordModel | Vectors:
    """A model with its output layer, or vectors alone."""
    from unhot.models.load import is_trained, load
    from unhot.vectors.store import Vectors

    return load(path) if is_trained(path) else Vectors.load(path)


def _frozen(freeze: str | None) -> str | list[str] | None:
    if freeze is None or freeze == "known":
        return freeze
    from unhot.errors import DataError
    from unhot.vocab.vocabulary import decode_words

    try:
        lines = Path(freeze).read_bytes().removeprefix(codecs.BOM_UTF8).splitlines()
    except OSError as error:
        raise DataError(f"--freeze {freeze}: cannot be read ({error.strerror}); give a file with a word a line, or known") from error
    return decode_words([line for line in lines if line])


def _save(learner: WordModel, target: str) -> str:
    """Save a model, or half a training: as a checkpoint where a finished model is, which stays until the next one is complete."""
    from unhot.models.load import holds_finished
    from unhot.vectors.formats.directory import checkpoint_of

    half = learner.history.position.epoch < learner.epochs
    place = str(checkpoint_of(target)) if half and holds_finished(target) else target
    learner.save(place)
    return place


def _finish(learner: WordModel, run: Callable[[], Any], target: str, bar: TrainingBar) -> int:
    """Train, save, and say what came of it."""
    from unhot.errors import Diverged

    before = learner.history.seconds, learner.history.words
    try:
        run()
    except Diverged as error:
        if learner.history.losses:
            raise Diverged(f"{error}; saved that to {_save(learner, target)}") from error
        raise
    place, history = _save(learner, target), learner.history
    if history.position.epoch < learner.epochs:
        bar.note(f"interrupted after {history.words:,} words: saved what there is to {place}; go on with: unhot train --resume {target}")
        return 130
    seconds, words = history.seconds - before[0], history.words - before[1]
    bar.note(f"trained {words:,} words in {seconds:.1f} s ({words / seconds:,.0f} words/s), loss {history.losses[-1]:.4f}")
    bar.note(f"saved to {target}; look at it with: unhot neighbors {target} WORD")
    return 0
