"""Command-line options that several benchmarks take."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from harness import RESULTS

TESTS = ("analogies", "wordsim", "simlex")  # files of questions or word pairs


def new_parser(
    doc: str | None, *, rounds: int | None = None, name: str | None = None
) -> argparse.ArgumentParser:
    """A parser that shows a script's docstring.

    rounds  default of the option `--rounds`; None: there is no such option
    name    default of `--name`, of a benchmark that writes results; CORPUS in it stands for the text's name.
            Empty: it depends on other options
    """
    result = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if rounds is not None:
        result.add_argument("--rounds", type=int, default=rounds, help=f"default: {rounds}")
    if name is not None:
        result.add_argument(
            "--name", default=name, help=f"of the results; default: {name or 'by the corpus'}"
        )
        result.add_argument("--results", type=Path, default=RESULTS, help="directory")
    return result


def results_path(options: argparse.Namespace, corpus: str = "") -> Path:
    """The CSV file of the results."""
    file: Path = options.results / f"{options.name.replace('CORPUS', corpus)}.csv"
    return file


def add_corpus(result: argparse.ArgumentParser) -> None:
    """The text to measure on."""
    told = "text, words separated by white space, plain or gz, bz2, xz; default: the bundled text"
    result.add_argument("corpus", nargs="?", type=existing, help=told)


def add_tests(result: argparse.ArgumentParser) -> None:
    """Files that vectors are scored with."""
    for name in TESTS:
        result.add_argument(f"--{name}", type=existing, help="evaluation file")


def evaluation_files(options: argparse.Namespace) -> dict[str, str]:
    """The evaluation files that were given; an empty string for one that was not."""
    return {name: str(getattr(options, name) or "") for name in TESTS}


def numbers(text: str) -> list[int]:
    """`1,2` as a list of positive numbers."""
    parts = text.split(",")
    if not all(part.isdecimal() and int(part) >= 1 for part in parts):
        raise argparse.ArgumentTypeError(f"{text}: must be whole numbers >= 1, separated by commas")
    return [int(part) for part in parts]


def words_of(*accepted: str) -> Callable[[str], list[str]]:
    """A parser of `a,b` that takes only the accepted words."""

    def parse(text: str) -> list[str]:
        wrong = [part for part in text.split(",") if part not in accepted]
        if wrong:
            raise argparse.ArgumentTypeError(
                f"{', '.join(wrong)}: must be one or more of {','.join(accepted)}"
            )
        return text.split(",")

    return parse


def existing(text: str) -> Path:
    """The path of a file that is there."""
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"{text}: no such file")
    return Path(text)
