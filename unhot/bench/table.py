"""Show a comparison as a table, and write it as CSV and Markdown files."""

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from unhot.bench.results import Comparison, Measured
from unhot.bench.timed import Point

FROM_EXACT = ("above exact", "train above")  # columns for comparisons with an exact solution
HEADER = (
    *("layer", "engine", "lr", "perplexity", "examples/s"),
    *("learned MB", "training MB", "log Z mean", "log Z var", "s to softmax"),
)
OF_RESULT = ("cross_entropy", "perplexity", "log_z_mean", "log_z_variance")
COLUMNS = (
    *("layer", "spec", "engine", "lr", "seconds", "pairs", "pairs_per_second", *OF_RESULT),
    *("learned_bytes", "training_bytes", "final_loss"),
    *("seconds_to_full", "above_exact", "train_above", "failed"),
)
EXPLAINED = {
    "perplexity": "of the held-out lines, exact: all probabilities are normalised over the whole vocabulary",
    "examples/s": "pairs of input and target trained per second",
    "learned MB": "size of the vectors and biases",
    "training MB": "planned memory of the training: the vectors, a copy of their last good state, tables and "
    "buffers",
    "log Z": "log of the sum of the layer's own probabilities before normalisation: 0 if they sum to one",
    "s to softmax": "seconds of training until the loss was as low as the final loss of the full softmax, "
    "on a part of the held-out lines",
}
EXACT_EXPLAINED = {
    "exact": "the full softmax trained on the counts of all pairs, without random draws or a time limit, "
    "until its loss on the training lines was near its minimum",
    "above exact": "held-out loss minus that of exact, in nats per pair",
    "train above": "loss on all training lines minus that of exact, in nats per pair",
}


def header(comparison: Comparison) -> tuple[str, ...]:
    """Return the names of the columns."""
    return HEADER if comparison.exact is None else (*HEADER, *FROM_EXACT)


def explained(comparison: Comparison) -> dict[str, str]:
    """Return the meanings of the terms in the table."""
    return EXPLAINED if comparison.exact is None else EXPLAINED | EXACT_EXPLAINED


def table(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return a row with the columns of `header` for the exact solution and for each layer."""
    return [_row(each, comparison)[: len(header(comparison))] for each in comparison.rows]


def _row(each: Measured, comparison: Comparison) -> tuple[str, ...]:
    if each.result is None:
        return (each.layer, each.engine, *("-",) * (len(HEADER) + len(FROM_EXACT) - 2))
    return (
        each.layer,
        each.engine,
        f"{each.lr:.3g}",
        f"{each.result.perplexity:,.1f}",
        _figure(each.pairs_per_second, ",.0f"),
        f"{each.learned_bytes / 1e6:,.1f}",
        f"{each.training_bytes / 1e6:,.1f}",
        f"{each.result.log_z_mean:.3f}",
        f"{each.result.log_z_variance:.3f}",
        _figure(comparison.to_full.get(each.layer, math.nan), ",.1f"),
        _figure(comparison.above_exact(each)),
        _figure(each.train_above),
    )


def _figure(value: float, form: str = ".3f") -> str:
    return "-" if math.isnan(value) else f"{value:{form}}"


def summary(comparison: Comparison) -> str:
    """Describe in a few sentences what was measured."""
    given = comparison.settings
    rate = f"lr {given.lr:g} for all" if given.lr else "the best lr of a few for each, chosen on other lines"
    return (
        f"{given.model}, dim {given.dim}, window {given.window}, {comparison.vocabulary:,} words, "
        f"{given.threads} thread{'s' if given.threads > 1 else ''}; "
        f"{given.seconds:g} s of training for each layer, with {rate}; "
        f"trained on {comparison.words:,} words, measured on {comparison.held_out_words:,} others. "
        "Predicting each word by its count alone has a perplexity of "
        f"{comparison.unigram_perplexity:,.1f}.{_exact_said(comparison)}"
        f"{' Interrupted: some layers were not measured.' if comparison.interrupted else ''}"
    )


def _exact_said(comparison: Comparison) -> str:
    exact = comparison.exact
    if exact is None or exact.result is None:
        return ""
    said = f" The exact solution took {exact.seconds:,.1f} s."
    if exact.result.perplexity > comparison.unigram_perplexity:
        said += (
            " It predicts the held-out lines worse than counts alone: "
            "the text is so small that it has memorised the training lines."
        )
    return said


def measured_by(comparison: Comparison) -> str:
    """Return a remark on the full softmax as a reference, if one is needed; otherwise an empty string."""
    if comparison.full and not comparison.to_full:
        return (
            f"s to softmax: left empty, because {comparison.full} itself has not learned more than the "
            "counts in this time"
        )
    if len(comparison.softmaxes) > 1:
        return f"s to softmax: the reference is {comparison.full}, the first in the table"
    return ""


def failures(comparison: Comparison) -> list[str]:
    """Return a line for each layer that failed."""
    return [f"{each.layer}: {each.failed}" for each in comparison.rows if each.failed]


def write_csv(comparison: Comparison, path: Path) -> None:
    """Write a row for the exact solution and each layer; missing numbers are empty."""
    rows = []
    for each in comparison.rows:
        row = {name: getattr(each, name, "") for name in COLUMNS}
        row["seconds_to_full"] = comparison.to_full.get(each.layer, math.nan)
        row["above_exact"] = comparison.above_exact(each)
        if each.result is not None:
            row |= {name: getattr(each.result, name) for name in OF_RESULT}
        rows.append([row[name] for name in COLUMNS])
    write_rows(path, COLUMNS, rows)


def write_curves(comparison: Comparison, path: Path) -> None:
    """Write a row for each point of each layer's curve, and one for the exact solution."""
    rows = [(each.layer, *point) for each in comparison.rows for point in each.curve]
    write_rows(path, ("layer", *Point._fields), rows)


def markdown(comparison: Comparison, name: str, picture: str | None = None) -> str:
    """Return a page with a description, the table and the picture."""
    names = header(comparison)
    sides = (":--", ":--", *("--:",) * (len(names) - 2))
    rows = [(f"`{row[0]}`".replace("|", "\\|"), *row[1:]) for row in table(comparison)]
    lines = [f"| {' | '.join(row)} |" for row in (names, sides, *rows)]
    figures, curves = (f"[{file}]({_link(file)})" for file in (f"{name}.csv", f"{name}-curves.csv"))
    terms = [f"{term}: {meaning}" for term, meaning in explained(comparison).items()]
    said = [*terms, measured_by(comparison)]
    parts = [
        f"# {name}",
        f"Made by `unhot bench outputs`; figures in {figures}, curves in {curves}.",
        summary(comparison),
        "\n".join(lines),
        "\n".join(f"- {line}" for line in said if line),
        "\n".join(f"- failed: {line}" for line in failures(comparison)),
        f"![held-out perplexity against seconds of training]({_link(picture)})" if picture else "",
        "Layers in full:\n\n" + "\n".join(f"- `{each.spec}`" for each in comparison.rows),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _link(file: str) -> str:
    """Return a file name as the target of a link; bytes that are not UTF-8 are kept."""
    return quote(file, errors="surrogateescape")


def _cell(value: object) -> str:
    """Return a value as text for CSV; six digits are more than a measurement needs."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file; missing numbers are empty."""
    # a layer's name may contain bytes that are not UTF-8
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([_cell(value) for value in row] for row in rows)
