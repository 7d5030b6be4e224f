"""`unhot train`."""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from unhot.cli.model_options import TrainCommand, model_settings
from unhot.cli.outputs import plugin_option

if TYPE_CHECKING:
    from unhot.cli.show import TrainingBar
    from unhot.models.model import TextModel
    from unhot.models.word_model import WordModel
    from unhot.vectors.store import Vectors

EXAMPLES = """
\b
Examples:
  unhot train corpus.txt -o model
  unhot train news/*.txt.gz -o model --model cbow --dim 300 --threads 8
  unhot train corpus.txt -o model --model fasttext --minn 3 --maxn 6 --buckets 2000000
  unhot train corpus.txt -o model --model fasttext --scheme floret --buckets 50000 --hashes 2
  unhot train corpus.txt -o model --model glove --epochs 25 --x-max 100 --memory 4GB
  unhot train corpus.txt -o model --model svd --window 2
  unhot train corpus.txt -o model --on cells --output softmax --max-vocab 10000 --sample 0 --epochs 30
  unhot train corpus.txt -o model --output nce:k=50,bias=true
  unhot train corpus.txt -o model --output adaptive --engine torch --device cuda:0 --batch 4096
  zcat dump.gz | unhot train - -o model --tokenizer words --min-count 20
  unhot train --resume model
  unhot train more.txt -o model2 --start model --epochs 2
  unhot train corpus.txt -o model --start vectors.bin --freeze known
"""
# options that are no settings of a model, and those of them that --resume accepts
RESUMED = (
    "inputs",
    "target",
    "resume",
    "phrases",
    "plugin",
    "log_json",
    "corpus_dir",
    "checkpoint_minutes",
    "checkpoint_chunks",
    "quiet",
)
OTHERS = (*RESUMED, "model", "start", "freeze", "keep_vocabulary", "column", "overwrite")


@click.command(cls=TrainCommand, epilog=EXAMPLES)
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@click.option(
    "-o", "--model-dir", "target", default=None, metavar="MODEL", help="Directory to write the model to."
)
@click.option(
    "--resume",
    default=None,
    metavar="MODEL",
    help="Go on with a training that was cut off: same text, same settings.",
)
@click.option(
    "--start",
    default=None,
    metavar="VECTORS",
    help="Begin from words' vectors in any format; from a model directory: go on with it, its n-grams and its settings.",
)
@click.option(
    "--freeze",
    default=None,
    metavar="WORDS",
    help="Words whose vectors stay: a file, one a line; known: all of --start.",
)
@click.option("--keep-vocabulary", is_flag=True, help="--start with a model: no new words.")
@click.option(
    "--model",
    type=click.Choice(["skipgram", "cbow", "fasttext", "glove", "svd"]),
    default=None,
    help="skipgram (default): a word predicts those around it; cbow: they predict it; fasttext: either, with words made of n-grams; "
    "glove: logarithms of how often words meet; svd: singular vectors of their PMI.",
)
@model_settings
@click.option(
    "--phrases",
    default=None,
    metavar="FILE",
    help="Join the phrases of this list first; see `unhot phrases`.",
)
@click.option(
    "--column", default=None, help="Parquet: the column with the text  [default: text, or the only one]"
)
@plugin_option
@click.option(
    "--checkpoint-minutes",
    type=float,
    default=10.0,
    show_default=True,
    help="Save the state so often, in MODEL/checkpoint; 0: never.",
)
@click.option(
    "--checkpoint-chunks",
    type=int,
    default=None,
    help="Likewise, every so many chunks (compiled: of about 10 ms).",
)
@click.option(
    "--overwrite", is_flag=True, help="Begin anew although MODEL holds a training that can be resumed."
)
@click.option(
    "--log-json",
    type=click.Path(dir_okay=False),
    default=None,
    help="Write progress as JSON lines to this file.",
)
@click.option(
    "--corpus-dir",
    default=None,
    metavar="DIR",
    help="Keep the encoded text, and cells, here  [default: a temporary directory]",
)
@click.option("-q", "--quiet", is_flag=True, help="Show nothing but errors.")
@click.pass_context
def train(
    context: click.Context, /, inputs: tuple[str, ...], target: str | None, resume: str | None, **options: Any
) -> int:
    """Learn word vectors from text.

    INPUT is a file, a folder, a pattern, or - for standard input; gz, bz2, xz and zst are unpacked, parquet
    is read by its text column. A line is a sentence of any length. glove and svd also take a folder that
    `unhot cooccur` wrote. Ctrl-C stops and saves what there is. A training that was cut off, by Ctrl-C or by
    a power cut, goes on with --resume.
    """
    from unhot.cli.show import TrainingBar

    if resume is not None:
        _refuse(
            context,
            (*RESUMED, "threads", "device"),
            "--resume goes on with the settings that the training began with",
        )
        target = target or resume
    elif not inputs or target is None:
        raise click.UsageError("Missing option '-o'." if inputs else "Missing argument 'INPUT...'.", context)
    source = (
        [name if name == "-" else Path(name) for name in inputs]
        if len(inputs) > 1
        else "".join(inputs) or None
    )
    with contextlib.ExitStack() as stack:
        bar = stack.enter_context(TrainingBar(quiet=options["quiet"]))
        how = _telling(bar, stack, target, options, goes_on=resume is not None)
        # what a resumption must be told once more
        again = f" --phrases {options['phrases']}" if options["phrases"] else ""
        if resume is not None:
            if target != resume:
                _keep_unfinished(target)
            learner: Any = _resumed(resume, options["threads"], options["device"])
            return _finish(
                learner, lambda: learner.resume(source, **_taken(learner.resume, how)), target, bar, again
            )
        learner, begins = _begun(inputs, target, options)
        return _finish(
            learner,
            lambda: learner.fit(source or "", **begins, **_taken(learner.fit, how)),
            target,
            bar,
            again,
        )


def _given(context: click.Context, name: str) -> bool:
    """Whether an option stands on the command line."""
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _refuse(context: click.Context, accepted: tuple[str, ...], why: str) -> None:
    """A usage error if options were given that are not accepted now."""
    given = [
        param.opts[-1]
        for param in context.command.params
        if param.name not in accepted and _given(context, str(param.name))
    ]
    if given:
        raise click.UsageError(f"{', '.join(given)}: {why}", context)


def _telling(
    bar: TrainingBar, stack: contextlib.ExitStack, target: str, options: dict[str, Any], goes_on: bool
) -> dict[str, Any]:
    """What `fit` and `resume` both take."""
    from unhot.corpus.phrases import Phrases
    from unhot.train.checkpoint import Checkpoint
    from unhot.train.progress import JsonLog
    from unhot.vectors.formats.directory import check_writable

    checkpoint = Checkpoint(
        path=target, minutes=options["checkpoint_minutes"] or None, chunks=options["checkpoint_chunks"]
    )
    check_writable(Path(target))
    log = [stack.enter_context(JsonLog(options["log_json"], append=goes_on))] if options["log_json"] else []
    callbacks: dict[str, Any] = {
        "callbacks": [bar, *log],
        "reading": bar.reading,
        "counting": bar.counting,
        "note": bar.note,
    }
    if options["phrases"] is not None:
        callbacks["phrases"] = Phrases.load(options["phrases"])
    return {**callbacks, "directory": options["corpus_dir"], "checkpoint": checkpoint}


def _taken(function: Callable[..., Any], how: dict[str, Any]) -> dict[str, Any]:
    """Those of the arguments that a function takes.

    What is not learned in epochs has no checkpoints, what reads text counts no rows.
    """
    return {name: value for name, value in how.items() if name in inspect.signature(function).parameters}


def _resumed(path: str, threads: int | None, device: str | None) -> TextModel:
    """The model of the last checkpoint."""
    from unhot.errors import ConfigError, whole
    from unhot.models.load import load_unfinished

    learner: Any = load_unfinished(path)
    learner.threads = learner.threads if threads is None else whole("threads", threads, 1, 1024)
    if device is not None:
        if not hasattr(learner, "device"):
            raise ConfigError(f"--device: is no setting of --model {learner.name}; leave it out")
        learner.device = device
    return learner  # type: ignore[no-any-return]


def _begun(inputs: tuple[str, ...], target: str, options: dict[str, Any]) -> tuple[TextModel, dict[str, Any]]:
    """A new model, and what it begins with."""
    from unhot.errors import ConfigError
    from unhot.models.load import MODELS
    from unhot.models.word_model import WordModel

    start = None if options["start"] is None else _open_start(options["start"])
    settings = {name: value for name, value in options.items() if name not in OTHERS and value is not None}
    kind = options["model"] or (start.name if isinstance(start, WordModel) else "skipgram")
    if isinstance(start, WordModel):
        begun_with = start.config()
        if kind != start.name or options["on"] not in (None, begun_with.get("on")):
            begun_with.pop("lr")  # what is trained in another way has another default
        names = {field.name for field in dataclasses.fields(MODELS[kind])}
        settings = {name: value for name, value in begun_with.items() if name in names} | settings
    elif options["keep_vocabulary"]:
        raise ConfigError("--keep-vocabulary: needs --start with a model")
    _check_owner(kind, settings)
    _check_encoded(inputs, options, on=settings.get("on"))
    learner = MODELS[kind](**settings)
    if not options["overwrite"]:
        _keep_unfinished(target)
    if not isinstance(learner, WordModel):
        for name in ("start", "freeze"):
            if options[name] is not None:
                raise ConfigError(f"--{name}: --model {kind} begins anew every time; leave it out")
        return learner, {"column": options["column"]}
    counts = start.vocabulary if options["keep_vocabulary"] and isinstance(start, WordModel) else None
    if isinstance(start, WordModel) and start.has_bags and kind != start.name:
        start = start.vectors  # its rows are not those of words
    return learner, {
        "start": start,
        "frozen": _frozen(options["freeze"]),
        "counts": counts,
        "column": options["column"],
    }


def _check_owner(kind: str, settings: dict[str, Any]) -> None:
    """An error if a setting is another model's."""
    from unhot.errors import ConfigError
    from unhot.models.load import MODELS

    fields = {name: {field.name for field in dataclasses.fields(model)} for name, model in MODELS.items()}
    for name in settings:
        if name not in fields[kind]:
            owners = ", ".join(model for model in fields if name in fields[model])
            raise ConfigError(
                f"--{name.replace('_', '-')}: is no setting of --model {kind}, but of {owners}; leave it out"
            )


def _check_encoded(inputs: tuple[str, ...], options: dict[str, Any], on: str | None) -> None:
    """An error if a folder is given that was encoded, or counted, and options that come too late for it."""
    from unhot.errors import ConfigError
    from unhot.models.model import holds_cells, holds_corpus

    if len(inputs) != 1 or not (holds_corpus(inputs[0]) or holds_cells(inputs[0])):
        return
    names = ["min_count", "max_vocab", "tokenizer", "column", "phrases"]
    if holds_cells(inputs[0]):
        names += ["window", "weights", "sides", "sample", "shrink", "memory"]
        if on == "cells":
            names.remove("max_vocab")  # how many words are too many
    for name in names:
        if options[name] is not None:
            raise ConfigError(
                f"--{name.replace('_', '-')}: {inputs[0]} was encoded already, with settings of its own; "
                "leave it out"
            )


def _keep_unfinished(target: str) -> None:
    """Refuse to write over a training that can be resumed."""
    from unhot.errors import DataError
    from unhot.models.load import holds_unfinished

    if holds_unfinished(target):
        raise DataError(
            f"{target}: holds a training that was cut off: go on with --resume {target}, or begin anew with "
            "--overwrite"
        )


def _open_start(path: str) -> WordModel | Vectors:
    """A model with its output layer, or vectors alone."""
    from unhot.models.load import is_trained, load_words
    from unhot.vectors.store import Vectors

    return load_words(path) if is_trained(path) else Vectors.load(path)


def _frozen(freeze: str | None) -> str | list[str] | None:
    if freeze is None or freeze == "known":
        return freeze
    from unhot.errors import DataError
    from unhot.vocab.vocabulary import decode_words

    try:
        lines = Path(freeze).read_bytes().removeprefix(codecs.BOM_UTF8).splitlines()
    except OSError as error:
        raise DataError(
            f"--freeze {freeze}: cannot be read ({error.strerror}); give a file with a word a line, or known"
        ) from error
    return decode_words([line for line in lines if line])


def _save(learner: TextModel, target: str) -> str:
    """Save a model, or half a training.

    As a checkpoint where a finished model is, which stays until the next one is complete.
    """
    from unhot.models.load import holds_finished
    from unhot.vectors.formats.directory import checkpoint_of

    place = str(checkpoint_of(target)) if not learner.complete and holds_finished(target) else target
    learner.save(place)
    return place


def _finish(learner: TextModel, run: Callable[[], Any], target: str, bar: TrainingBar, again: str) -> int:
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
    if not learner.complete:
        done, command = f"{history.words:,} {bar.unit}", f"unhot train --resume {target}{again}"
        bar.note(f"interrupted after {done}: saved what there is to {place}; go on with: {command}")
        return 130
    seconds, words = history.seconds - before[0], history.words - before[1]
    if history.losses:
        unit = bar.unit
        bar.note(
            f"trained {words:,} {unit} in {seconds:.1f} s ({words / seconds:,.0f} {unit}/s), loss "
            f"{history.losses[-1]:.4f}"
        )
    bar.note(f"saved to {target}; look at it with: unhot neighbors {target} WORD")
    return 0
