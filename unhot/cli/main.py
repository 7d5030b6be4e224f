"""The command `unhot`: the group of all commands, and the handling of their errors.

An error is one line on stderr. Exit codes: 2 for wrong usage, 1 for any other failure, 130 after Ctrl-C, 143
after SIGTERM, 129 after SIGHUP.
`--debug` anywhere on the command line shows the traceback instead. If the reader of a pipe has gone, as after
`unhot outputs | head -1`, the command ends without a word and with 0: no one wants the rest.
"""

import os
import re
import sys
import traceback

import click
from click.shell_completion import shell_complete

from unhot.cli.bench import bench
from unhot.cli.classify import classify
from unhot.cli.completion import complete_text
from unhot.cli.convert import convert
from unhot.cli.cooccur import cooccur
from unhot.cli.demos import demo
from unhot.cli.evaluate import evaluate
from unhot.cli.fasttext import fasttext
from unhot.cli.graph import graph
from unhot.cli.info import info, verify
from unhot.cli.lm import lm
from unhot.cli.neighbors import analogy, neighbors
from unhot.cli.outputs import outputs
from unhot.cli.phrases import phrases
from unhot.cli.recommend import recommend
from unhot.cli.show import note
from unhot.cli.signals import INTERRUPTED, exit_code, interrupting_signals
from unhot.cli.train import train
from unhot.cli.warmup import warmup
from unhot.errors import ConfigError, UnhotError, without_secrets
from unhot.rows.remote import hidden
from unhot.screen.terminal import escaped_terminals, silence
from unhot.sizes import readable
from unhot.version import __version__

NAME = "unhot"
# an address of the web without anything secret, which may be a word or a text
PUBLIC = re.compile(r"(?i)https?://(?![^/]*@)(?!.*\?.*(?:pass|key|token|sig|secret|cred))")
COMPLETE = "_UNHOT_COMPLETE"  # set by a shell that completes a command line
EPILOG = (
    "Begin with `unhot demo`, or `unhot train TEXT -o MODEL` and then `unhot neighbors MODEL WORD`. "
    "To classify texts, begin with `unhot classify demo`; for language models, with `unhot lm train`; "
    "for recommendations, with `unhot recommend demo`; for graphs, with `unhot graph train`. "
    "Add --debug to see tracebacks."
)


group = click.Group(
    commands=[
        *(train, phrases, cooccur, outputs, neighbors, analogy, evaluate, classify, lm, recommend, graph),
        *(bench, info, verify, convert, fasttext, demo, warmup),
    ],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="""Learn vectors from data with a big vocabulary.

    Fast, exact, and with an exchangeable softmax.
    """,
    epilog=EPILOG,
)
click.version_option(__version__, message="unhot %(version)s")(group)
complete_text(group)


def main(arguments: list[str] | None = None) -> None:
    """Run a command and end the process with its exit code."""
    arguments = _shown(sys.argv[1:] if arguments is None else arguments)
    sys.argv[1:] = map(without_secrets, _shown(sys.argv[1:]))  # which claims of folders hold
    debug = "--debug" in arguments
    with escaped_terminals(), interrupting_signals() as came:
        code = _flushed(_run([a for a in arguments if a != "--debug"], debug))
    sys.exit(exit_code(code, came))


def _shown(arguments: list[str]) -> list[str]:
    """Return arguments with addresses as they may be shown; what is secret in them is remembered."""
    return [each if PUBLIC.match(each) else hidden(each) for each in arguments]


def _run(arguments: list[str], debug: bool) -> int:
    try:
        return _called(arguments)
    except BrokenPipeError:
        return 0
    except SystemExit as ended:
        _fail(f"ended by sys.exit({ended.code!r}), which unhot never calls: look for it in your plugin")
        return 1
    except click.ClickException as error:
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "unhot"
        hint = f" (see {where} --help)" if isinstance(error, click.UsageError) else ""
        _fail(f"{error.format_message()}{hint}")
        return error.exit_code
    except KeyboardInterrupt:
        note("")  # ends the line in which a terminal shows ^C
        _fail("interrupted")
        return INTERRUPTED
    except Exception as error:
        if debug:
            note(without_secrets(traceback.format_exc()))
            return 1
        bug = f"{type(error).__name__}: {error} (this is a bug: please report it with the output of --debug)"
        from unhot.train.memory_plan import out_of_memory

        if out_of_memory(error):
            _fail(_memory_advice())
        else:
            _fail(_told(error) if isinstance(error, (UnhotError, OSError)) else bug)
        return 2 if isinstance(error, ConfigError) else 1


def _memory_advice() -> str:
    from unhot.train.memory_plan import available_memory

    free = available_memory()
    left = "" if free is None else f": this process can take {readable(free)} more"
    return (
        f"not enough memory{left}; raise the limit of the container, the scheduler or ulimit -v, or ask for "
        "less: a smaller model (dim, max_vocab, min_count), fewer threads, a smaller batch or --memory"
    )


def _told(error: Exception) -> str:
    """Return the message of an error; an error of the system without its number, and the file first."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return str(error)


def _called(arguments: list[str]) -> int:
    """Call a command and return its exit code.

    This does what click's `main` does. That would end the process if the reader of a pipe has gone.
    """
    completing = os.environ.get(COMPLETE)
    if completing:
        return shell_complete(group, {}, NAME, COMPLETE, completing)
    try:
        with group.make_context(NAME, arguments) as context:
            code = group.invoke(context)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.exceptions.Exit as ended:
        return ended.exit_code
    return code if isinstance(code, int) else 0


def _flushed(code: int) -> int:
    """Flush the standard streams, so that Python need not do it after the end; return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError as error:
            silence(stream)
            if code == 0 and stream is sys.stdout and not isinstance(error, BrokenPipeError):
                _fail(f"standard output: cannot be written ({error.strerror})")
                code = 1
    return code


def _fail(message: str) -> None:
    line = " ".join(without_secrets(message).split())
    note(f"unhot: {line.encode('utf-8', 'backslashreplace').decode()}")
