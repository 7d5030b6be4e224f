"""The command `unhot train`, and the commands that train the models of one family."""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import inspect
import os
import tempfile
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import unhot.corpus
from unhot.cli.model_options import TEXT_FAMILIES, TrainCommand, given_settings, listed_models
from unhot.cli.options import named
from unhot.cli.outputs import plugin_option
from unhot.cli.row_options import READING, column_option, format_options, strict_option
from unhot.cli.text_options import force_option
from unhot.errors import ConfigError, DataError, UnhotError
from unhot.leftovers import scratch_folder
from unhot.models.families import FAMILIES
from unhot.rows.remote import as_path, is_address
from unhot.train.bar import TrainingBar
from unhot.train.progress import JsonLog

if TYPE_CHECKING:
    from unhot.cli.declared import Declared
    from unhot.models.model import Model
    from unhot.models.word_model import WordModel

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
# the options of the command, and the settings of models, that may be given with --resume
RESUMED = {"inputs", "target", "resume", "phrases", "plugin", "quiet", "log_json", "corpus_dir"}
RESUMED |= {"checkpoint_minutes", "checkpoint_chunks", "threads", "device", "force"}
# options that only some families have, and these families
TAKEN_BY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("phrases", "keep_vocabulary"), ("words",)),
    "freeze": ("words", "classify"),
    **dict.fromkeys(("start", "corpus_dir", *READING[:-1]), TEXT_FAMILIES),
}


@click.command(cls=TrainCommand, epilog=EXAMPLES)
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@click.option(
    "-o",
    "--model-dir",
    "target",
    metavar="MODEL",
    callback=named,
    help="Directory to write the model to.",
)
@click.option(
    "--resume",
    metavar="MODEL",
    help="Continue an interrupted training, with the same text and the same settings. If it is complete, "
    "nothing is done.",
)
@click.option(
    "--start",
    metavar="VECTORS",
    help="Start from word vectors in any format, whose dim is kept, or from a model directory, whose n-grams "
    "and settings are kept.",
)
@click.option(
    "--freeze",
    metavar="WORDS",
    help="Do not change the vectors of these words: a file with one word per line, or known: all words of "
    "--start.",
)
@click.option("--keep-vocabulary", is_flag=True, help="With --start MODEL: add no new words.")
@click.option("--phrases", metavar="FILE", help="First join the phrases of this list; see `unhot phrases`.")
@column_option
@format_options
@strict_option
@force_option
@plugin_option
@click.option(
    "--checkpoint-minutes",
    type=float,
    default=10.0,
    show_default=True,
    help="Minutes between two saves of the state in MODEL/checkpoint; 0: never save it.",
)
@click.option(
    "--checkpoint-chunks",
    type=int,
    help="Also save the state after this many chunks (with compiled kernels, a chunk takes about 10 ms).",
)
@click.option(
    "--overwrite", is_flag=True, help="Start over even if MODEL holds a training that can be resumed."
)
@click.option(
    "--log-json", type=click.Path(dir_okay=False), help="Write progress as JSON lines to this file."
)
@click.option(
    "--corpus-dir",
    metavar="DIR",
    help="Keep the encoded text and the cells in this directory  [default: a temporary directory]",
)
@click.option("-q", "--quiet", is_flag=True, help="Show nothing but errors and warnings.")
@click.pass_context
def train(
    context: click.Context,
    /,
    inputs: tuple[str, ...],
    target: str | None,
    resume: str | None,
    **options: Any,
) -> int:
    """Learn vectors, or another model, from text.

    INPUT is a file, a folder, a pattern, or - for standard input. gz, bz2, xz and zst files are unpacked; of
    parquet files the text column is read. Each line is a sentence, of any length. glove and svd also take a
    folder that `unhot cooccur` wrote. Ctrl-C stops the training and saves the model as it is. --resume
    continues a training that was interrupted, by Ctrl-C or by a power cut.
    """
    from unhot.vectors.formats.directory import check_exists

    options = dict.fromkeys((*TAKEN_BY, "model", "on", "device")) | options
    if resume is not None:
        _refuse(context, "--resume keeps the settings that the training started with; leave this out")
        check_exists(resume)  # now, before a folder is made to hold it
        target = target or resume
    elif not inputs or target is None:
        raise click.UsageError("Missing option '-o'." if inputs else "Missing argument 'INPUT...'.", context)
    paths = [as_path(name) for name in inputs]
    source: Any = paths if len(inputs) > 1 else "".join(inputs)
    with contextlib.ExitStack() as stack:
        if os.environ.get("RANK", "0") != "0":  # a further process of torchrun: it learns, but tells nobody
            target = str(stack.enter_context(scratch_folder()))
            options["quiet"], options["log_json"] = True, None
        bar = stack.enter_context(TrainingBar(quiet=options["quiet"]))
        stack.enter_context(claimed(target))
        how = _how(bar, stack, target, options, goes_on=resume is not None)
        begins: dict[str, Any] = {}
        if resume is not None:
            learner = _resumed(resume, target, options)
            if learner.complete:
                return _nothing_to_do(learner, inputs, resume, target, bar)
        else:
            learner, begins = _begun(
                context.command, inputs, target, given_settings(context, options), options
            )
            _say_replaced(target, bar)
        before = learner.history.seconds, learner.history.words
        try:
            if resume is not None:
                learner.resume(source or None, **how)
            else:
                learner.fit(source, **_taken(learner, {**begins, **how}))
        except UnhotError as error:
            learner.fit_state = error.state or learner.fit_state  # what was learned is worth saving
            if learner.history.pairs and learner.history.words > before[1]:
                raise type(error)(f"{error}; {_kept(learner, target, options, bar)}") from error
            raise
        if not learner.complete and learner.history.words == before[1]:
            bar.note(f"interrupted before anything was learned: nothing was saved to {target}")
            return 130
        # options that --resume needs again
        again = f" --phrases {options['phrases']}" if options["phrases"] else ""
        again += f" -o {target}" if is_address(target) else ""
        return _finish(learner, before, _save(learner, target, options, bar), bar, again)


def train_command(
    family: str, text: str, epilog: str, *, metavar: str = "INPUT...", helps: Mapping[str, str] | None = None
) -> TrainCommand:
    """Return the command that trains the models of a family.

    helps  other help texts of options that `unhot train` has, too
    """
    taken = [param for param in train.params if family in TAKEN_BY.get(str(param.name), (family,))]
    params = [copy(param) for param in taken]  # because what a family says about them is its own
    params[0].metavar = metavar
    for param in params:
        if isinstance(param, click.Option):
            param.help = (helps or {}).get(str(param.name), param.help)
    command = TrainCommand("train", callback=train.callback, params=params, help=text, epilog=epilog)
    command.families = (family,)
    return command


def _refuse(context: click.Context, why: str) -> None:
    """Raise a usage error if options were given that --resume does not accept."""
    given = [
        param.opts[-1]
        for param in context.command.get_params(context)
        if context.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
        and param.name not in RESUMED
    ]
    if given:
        raise click.UsageError(f"{', '.join(given)}: {why}", context)


def claimed(target: str) -> contextlib.AbstractContextManager[None]:
    """Hold the folder of a model during a training; at an address, which nobody can hold, only check it."""
    from unhot.vectors.formats.model_claim import claimed_model
    from unhot.vectors.formats.remote_folder import check_remote

    if not is_address(target):
        return claimed_model(Path(target))
    check_remote(as_path(target))
    return contextlib.nullcontext()


def _how(
    bar: TrainingBar, stack: contextlib.ExitStack, target: str, options: dict[str, Any], goes_on: bool
) -> dict[str, Any]:
    """Return the arguments that `fit` and `resume` share."""
    minutes, chunks = options["checkpoint_minutes"] or None, options["checkpoint_chunks"]
    # at an address there are none, and to ask for some is an error
    usual = is_address(target) and chunks is None and minutes in (None, unhot.Checkpoint.minutes)
    checkpoint = None if usual else unhot.Checkpoint(path=target, minutes=minutes, chunks=chunks)
    callbacks: list[Any] = [bar]
    if options["log_json"]:
        callbacks.append(stack.enter_context(JsonLog(options["log_json"], append=goes_on)))
    return {
        "callbacks": callbacks,
        "reading": bar.reading,
        "counting": bar.counting,
        "note": None if options["quiet"] else bar.note,  # None: warnings are logged, to standard error
        "phrases": None if options["phrases"] is None else unhot.corpus.Phrases.load(options["phrases"]),
        "directory": options["corpus_dir"],
        "checkpoint": checkpoint,
    }


def _resumed(path: str, target: str, options: dict[str, Any]) -> Model[Any, Any]:
    """Load the model of the last checkpoint, and set threads and device if they were given."""
    from unhot.models.settings import checked_setting

    if target != path:
        _keep_unfinished(target)
    learner = unhot.load_unfinished(path)
    for name in ("threads", "device"):
        if options[name] is not None:
            if not hasattr(learner, name):
                raise ConfigError(f"--{name}: --model {learner.name} has no such setting; leave it out")
            setattr(learner, name, checked_setting(learner, name, options[name]))
    return learner


def _nothing_to_do(
    learner: Model[Any, Any], inputs: tuple[str, ...], resume: str, target: str, bar: TrainingBar
) -> int:
    """Say that a training is complete; raise a `DataError` if more was asked for than to resume it."""
    goes_on = learner.starts and learner.family == "words"  # others take no more than vectors from a model
    more = f"; to learn from more text: unhot train TEXT -o NEW --start {resume}" if goes_on else ""
    if inputs or target != resume:
        given = " ".join([*inputs, *([] if target == resume else ["-o", target])])
        raise DataError(f"{resume}: its training is complete, so {given} would have no effect{more}")
    bar.note(f"{resume}: its training is complete, nothing is left to do{more}")
    return 0


def _begun(
    command: click.Command,
    inputs: tuple[str, ...],
    target: str,
    settings: dict[str, Any],
    options: dict[str, Any],
) -> tuple[Model[Any, Any], dict[str, Any]]:
    """Return a new model, and the arguments of `fit` that say what it starts from."""
    from unhot.models.load import all_models
    from unhot.models.word_model import WordModel

    assert isinstance(command, TrainCommand)
    start = None if options["start"] is None else _open_start(options["start"])
    name = options["model"] or (
        start.name
        if isinstance(start, WordModel) and start.family in command.families
        else FAMILIES[command.families[0]].usual
    )
    kind = all_models()[name]
    if isinstance(start, WordModel) and not issubclass(kind, WordModel):
        start = start.vectors[:]
    if isinstance(start, WordModel):
        settings = _start_settings(start, kind, options["on"]) | settings
    elif options["keep_vocabulary"]:
        raise ConfigError("--keep-vocabulary: needs --start with a model")
    elif start is not None and hasattr(kind, "dim"):
        settings = {"dim": start.vector_size} | settings
    _check_owner(name, settings, listed_models(command.families))
    if kind.family != "graph":
        _check_encoded(inputs, options, on=settings.get("on"))
    learner = kind(**settings)
    if not options["overwrite"]:
        _keep_unfinished(target)
    for option in ("start", "freeze"):
        if options[option] is not None and not kind.starts:
            raise ConfigError(f"--{option}: --model {name} always starts from scratch; leave it out")
    counts = start.vocabulary if options["keep_vocabulary"] and isinstance(start, WordModel) else None
    if isinstance(start, WordModel) and start.learned.keys.size and name != start.name:
        start = start.vectors  # its rows are those of n-grams, which the other model does not have
    frozen = _frozen(options["freeze"])
    reads = {name: options[name] for name in READING if options[name] is not None}
    return learner, {"start": start, "frozen": frozen, "counts": counts, **reads}


def _taken(learner: Model[Any, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that a model's `fit` has; options that its command does not have are not given."""
    taken = inspect.signature(learner.fit).parameters
    return given if "options" in taken else {name: given[name] for name in given if name in taken}


def _start_settings(start: WordModel, kind: type[Model[Any, Any]], on: str | None) -> dict[str, Any]:
    """Return the settings of the model to start from; without lr if the new model is trained differently.

    `combine` is not taken over by another model, because each model combines something else.
    """
    names = {field.name for field in dataclasses.fields(kind)}
    theirs = start.config()
    if kind.name != start.name or on not in (None, theirs.get("on")):
        names.discard("lr")
    if kind.name != start.name:
        names.discard("combine")
    return {name: value for name, value in theirs.items() if name in names}


def _check_owner(name: str, settings: dict[str, Any], models: Mapping[str, Declared]) -> None:
    """Raise a `ConfigError` if a setting does not belong to the model."""
    for setting in settings:
        if setting not in models[name].settings:
            owners = ", ".join(model for model in models if setting in models[model].settings)
            option = setting.replace("_", "-")
            raise ConfigError(f"--{option}: is a setting of {owners}, not of --model {name}; leave it out")


def _check_encoded(inputs: tuple[str, ...], options: dict[str, Any], on: str | None) -> None:
    """Raise a `ConfigError` if INPUT is an encoded text or cells, and options for reading text are given."""
    from unhot.models.fitting import holds_cells, holds_corpus

    if len(inputs) != 1 or not (holds_corpus(inputs[0]) or holds_cells(inputs[0])):
        return
    names = ["min_count", "max_vocab", "tokenizer", "column", "kind", "header", "separator", "phrases"]
    if holds_cells(inputs[0]):
        names += ["window", "weights", "sides", "sample", "shrink", "memory"]
        if on == "cells":
            names.remove("max_vocab")  # here it raises the limit on the number of words
    for name in names:
        if options.get(name) is not None:
            option = "format" if name == "kind" else name.replace("_", "-")
            raise ConfigError(
                f"--{option}: {inputs[0]} is already encoded, with its own settings; leave this option out"
            )


def _keep_unfinished(target: str) -> None:
    """Raise a `DataError` if a folder holds a training that can be resumed."""
    from unhot.models.load import holds_unfinished

    if holds_unfinished(target):
        raise DataError(
            f"{target}: holds an interrupted training: continue it with --resume {target}, or start over "
            "with --overwrite"
        )


def _say_replaced(target: str, bar: TrainingBar) -> None:
    """Say that a finished model will be replaced."""
    from unhot.models.load import holds_finished

    if holds_finished(target):
        bar.note(f"{target}: holds a finished model, which the new one replaces when it is saved whole")


def _open_start(path: str) -> WordModel | unhot.Vectors:
    """Open a model with its output layer, or vectors alone."""
    from unhot.models.load import is_trained, load_words

    return load_words(path) if is_trained(path) else unhot.Vectors.load(path)


def _frozen(freeze: str | None) -> str | list[str] | None:
    if freeze is None or freeze == "known":
        return freeze
    from unhot.vocab.vocabulary import decode_words

    try:
        lines = Path(freeze).read_bytes().removeprefix(codecs.BOM_UTF8).splitlines()
    except OSError as error:
        raise DataError(
            f"--freeze {freeze}: cannot be read ({error.strerror}); give a file of words, one per line, or "
            "known"
        ) from error
    return decode_words([line for line in lines if line])


def _save(learner: Model[Any, Any], target: str, options: dict[str, Any], bar: TrainingBar) -> str:
    """Save a model, or an interrupted training, and return the model's folder: the target, if it has room."""
    from unhot.cli.rescue import save_somewhere

    beside = Path(options["corpus_dir"] or tempfile.gettempdir())
    if is_address(target) and not learner.complete:  # --resume needs it here
        target = f"{Path(target).name}-interrupted"
    return save_somewhere(lambda folder: learner.save(_place(learner, folder)), target, beside, bar.stop)


def _place(learner: Model[Any, Any], folder: str) -> Path:
    """Return where a model is saved: in its folder, or as a checkpoint.

    If the folder holds a finished model, an interrupted training is saved as a checkpoint: the finished model
    stays until the new one is complete.
    """
    from unhot.models.load import holds_finished
    from unhot.vectors.formats.directory import checkpoint_of

    return checkpoint_of(folder) if not learner.complete and holds_finished(folder) else as_path(folder)


def _kept(learner: Model[Any, Any], target: str, options: dict[str, Any], bar: TrainingBar) -> str:
    """Save the state of a training that failed, and say where it is."""
    try:
        return f"saved that state to {_place(learner, _save(learner, target, options, bar))}"
    except DataError as error:
        return str(error)


def _finish(
    learner: Model[Any, Any], before: tuple[float, int], target: str, bar: TrainingBar, again: str
) -> int:
    """Report what was trained since `before` (seconds, words), and where the model was saved."""
    history, unit = learner.history, learner.unit
    if not learner.complete:
        done = f"{history.words:,} {unit}"
        command = f"{FAMILIES[learner.family].train} --resume {target}{again}"
        place = _place(learner, target)
        bar.note(f"interrupted after {done}: saved the model as it is to {place}; continue with: {command}")
        return 130
    if history.losses:
        seconds, words = history.seconds - before[0], history.words - before[1]
        speed = f"{words / seconds:,.0f} {unit}/s"
        bar.note(f"trained {words:,} {unit} in {seconds:.1f} s ({speed}), loss {history.losses[-1]:.4f}")
    look = f"; {learner.use.format(target)}" if learner.use else ""
    bar.note(f"saved to {target}{look}")
    return 0
