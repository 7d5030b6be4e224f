"""The commands `unhot info` and `unhot verify`: what a model holds, and whether its bytes are intact."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import unhot
from unhot.cli.model_options import listed_models
from unhot.cli.options import json_option
from unhot.cli.show import show_facts, show_json, size_of
from unhot.errors import DataError, FormatError
from unhot.models.families import FAMILIES
from unhot.screen.terminal import printable, shown

if TYPE_CHECKING:
    from unhot.vectors.formats.directory import SavedModel

FIRST = 10  # the number of words shown
EXAMPLES = """
\b
Examples:
  unhot info model
  unhot info vectors.bin --json
  unhot info fasttext.bin --ngrams where
  unhot info cells
"""
VERIFY_EXAMPLES = """
\b
Examples:
  unhot verify model
  unhot verify model --json && echo intact
"""


@click.command(epilog=EXAMPLES)
@click.argument("model")
@click.option(
    "--ngrams",
    metavar="WORD",
    default=None,
    help="Show the n-grams of WORD, seen or not, and their rows.",
)
@json_option
def info(model: str, ngrams: str | None, as_json: bool) -> None:
    """Show what MODEL holds.

    For a model directory: settings, size, losses, most frequent words and labels; for a recommender, which
    part of its log it learned from, and what it holds of users. For a file of vectors in
    another format: format, size, first words. If words are made of n-grams, also: how words are split, how
    many buckets have a row, and the bytes of the rows. For a directory of co-occurrence cells (`unhot
    cooccur`): how they were counted, their number, and the largest.
    """
    from unhot.vectors.formats.directory import is_model
    from unhot.vectors.formats.remote_folder import local_copy

    path = local_copy(model)
    if ngrams is not None:
        _show_ngrams(path, ngrams, as_json)
        return
    if (path / "cells.json").is_file():
        _show_cells(path, as_json)
        return
    own = is_model(path)
    facts = _of_model(path) if own else _of_vectors(path)
    if as_json:
        show_json(facts)
    elif not own:
        show_facts({**facts, "first": ", ".join(map(shown, facts["first"]))})
    else:
        _show_model(facts, model)


def _show_model(facts: dict[str, Any], model: str) -> None:
    if "training" in facts:
        where = "interrupted after {epoch} epochs and {chunk} chunks".format(**facts["training"])
        found = [name for name in FAMILIES if facts.get("model") in listed_models([name])]
        train = FAMILIES[
            found[0] if found else "words"
        ].train  # any such command goes on with a plugin's model
        facts["training"] = f"{where}; continue with: {train} --resume {model}"
    losses = facts.get("losses", [])
    if not isinstance(losses, list) or not all(isinstance(loss, (int, float)) for loss in losses):
        raise FormatError(f"{model}: config.json: losses={losses!r:.80}: must be a list of numbers")
    facts["losses"] = ", ".join(f"{loss:.4f}" for loss in losses) or "-"
    shapes = [f"{shown(name)} {' x '.join(map(str, shape))}" for name, shape in facts["tensors"].items()]
    for name in {"commonest", "commonest_labels"} & facts.keys():
        facts[name] = ", ".join(f"{shown(word)} ({count:,})" for word, count in facts[name].items())
    if isinstance(facts.get("log"), dict):
        learned_from, holds = facts["log"].get("learned_from"), facts.pop("holds")
        facts["log"] = f"learned from {learned_from} (split {facts.get('split')}); holds {holds}"
    show_facts({**facts, "tensors": ", ".join(shapes)})


def _show_cells(path: Path, as_json: bool) -> None:
    """Show a directory of cells."""
    from unhot.cli.cooccur import cells_facts, pair_lines
    from unhot.corpus.cells import Cells

    with Cells.open(path) as cells:
        facts = {"format": "cells", **cells_facts(cells, FIRST), "bytes": size_of(path)}
    if as_json:
        show_json(facts)
    else:
        pairs, settings = facts.pop("heaviest"), facts.pop("settings")
        show_facts({**settings, **facts, "density": f"{facts['density']:.3%}", "sum": f"{facts['sum']:,.1f}"})
        for line in pair_lines(pairs):
            click.echo(line)


def _of_model(path: Path) -> dict[str, Any]:
    from unhot.vectors.formats.directory import load_model
    from unhot.vectors.formats.model_folder import has_ngrams

    saved = load_model(path)
    tensors = {name: list(tensor.shape) for name, tensor in saved.tensors.items()}
    commonest = dict(
        zip(saved.vocabulary.words[:FIRST], saved.vocabulary.counts[:FIRST].tolist(), strict=True)
    )
    ngrams = _of_ngrams(unhot.Vectors.load(path)) if has_ngrams(saved) else {}
    facts = {**saved.config, "vocabulary": len(saved.vocabulary), "tensors": tensors, **ngrams}
    more = {**_of_labels(saved), **_of_log(saved)}
    return {**facts, "commonest": commonest, **more, "bytes": size_of(path)}


def _of_log(saved: SavedModel) -> dict[str, Any]:
    """Return what a recommender holds of users; nothing for other models."""
    log, sessions = saved.config.get("log"), saved.config.get("sessions")
    if not isinstance(log, dict):
        return {}
    if log.get("holds_users"):
        return {"holds": f"the log of {log.get('users')} users"}
    if saved.out_vocabulary is not None:  # the inputs behind the items are users
        number = len(saved.vocabulary) - len(saved.out_vocabulary)
        return {"holds": f"the names and vectors of {number} users, but not their histories"}
    return {"holds": "no users" if sessions is None else f"{sessions} sessions without names of users"}


def _of_labels(saved: SavedModel) -> dict[str, Any]:
    """Return the number of labels of a classifier, and the most frequent ones; nothing for other models."""
    labels = saved.out_vocabulary
    if labels is None or "log" in saved.config:
        return {}
    first = zip(labels.words[:FIRST], labels.counts[:FIRST].tolist(), strict=True)
    return {"labels": len(labels), "commonest_labels": dict(first)}


def _of_vectors(path: Path) -> dict[str, Any]:
    from unhot.vectors.formats import existing_format

    vectors = unhot.Vectors.load(path)
    facts = {
        "format": existing_format(path),
        "words": len(vectors),
        "dim": vectors.vector_size,
        **_of_ngrams(vectors),
    }
    return {**facts, "bytes": size_of(path), "first": vectors.words[:FIRST]}


def _of_ngrams(vectors: unhot.Vectors) -> dict[str, Any]:
    """Return how words are split and how many rows they have; nothing if words have no n-grams."""
    subwords = vectors.subwords
    if subwords is None:
        return {}
    from unhot.vectors.subword_vectors import SubwordVectors

    facts = {name: getattr(subwords, name) for name in ("minn", "maxn", "buckets", "scheme", "hashes")}
    if isinstance(vectors, SubwordVectors):
        facts |= {"used_buckets": vectors.rows.used_buckets, "rows": vectors.rows.matrix.shape[0]}
        size = getattr(vectors.rows.matrix, "nbytes", None)  # quantised rows have no nbytes
        facts |= {} if size is None else {"row_bytes": size}
    return facts


def _show_ngrams(path: Path, word: str, as_json: bool) -> None:
    """Show each piece of a word: text, length of its vector, cosine with the word, buckets, rows."""
    from unhot.vectors.subword_vectors import SubwordVectors

    vectors = unhot.Vectors.load(path)
    if not isinstance(vectors, SubwordVectors):
        raise DataError(
            f"{path}: its words are not made of n-grams; "
            "give a model that `unhot train --model fasttext` or fastText wrote"
        )
    whole = vectors[word]  # raises an error if neither the word nor its n-grams are known
    lines = [
        {
            "piece": piece.text,
            "length": round(float((piece.vector @ piece.vector) ** 0.5), 6),
            "cosine": round(float(vectors.cosine_similarities(whole, piece.vector[None])[0]), 6),
            "buckets": piece.buckets,
            "rows": [None if row < 0 else row for row in piece.rows],
        }
        for piece in vectors.pieces(word)
    ]
    seen = vectors.has_index_for(word)
    if as_json:
        show_json({"word": word, "seen": seen, "pieces": lines})
        return
    click.echo(f"{printable(word)}: {'' if seen else 'not '}in the vocabulary, {len(lines)} pieces")
    width = max(len(printable(str(line["piece"]))) for line in lines)
    for line in lines:
        where = f"bucket {_listed(line['buckets'])}," if line["buckets"] else "its own"
        click.echo(
            f"{printable(str(line['piece'])):<{width}}  length {line['length']:.4f}  "
            f"cosine {line['cosine']:7.4f}  {where} row {_listed(line['rows'])}"
        )


def _listed(numbers: Any) -> str:
    return " ".join("-" if number is None else str(number) for number in numbers)


@click.command(epilog=VERIFY_EXAMPLES)
@click.argument("model")
@json_option
def verify(model: str, as_json: bool) -> None:
    """Read every byte of MODEL and compare it with the saved checksums.

    MODEL is a model directory. A file of vectors in another format has no checksums: it is read, and its
    format is checked. The exit code is 0 if nothing is wrong. Otherwise it is 1, and the message names the
    damaged file.
    """
    from unhot.vectors.formats.remote_folder import local_copy

    began = time.perf_counter()
    try:
        facts: dict[str, Any] = {"model": model, "ok": True, **_check(local_copy(model))}
    except FormatError as error:
        if not as_json:
            raise FormatError(f"{error}; restore MODEL from a copy, or make it again") from error
        show_json({"model": model, "ok": False, "error": str(error)})
        raise click.exceptions.Exit(1) from error
    facts["seconds"] = round(time.perf_counter() - began, 3)
    if as_json:
        show_json(facts)
    else:
        plain = "read without errors (this format has no checksums)"
        click.echo(
            f"OK: {model}: {'all checksums are right' if facts['checksums'] else plain}; "
            f"{facts['words']:,} words, {facts['bytes']:,} bytes, {facts['seconds']:.3f} s"
        )


def _check(path: Path) -> dict[str, Any]:
    from unhot.vectors.formats.directory import is_model, load_model

    own = is_model(path)
    words = len(load_model(path, verify=True).vocabulary if own else unhot.Vectors.load(path).vectors)
    return {"checksums": own, "words": words, "bytes": size_of(path)}
