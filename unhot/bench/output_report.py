"""The report of a comparison of output layers."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from unhot.bench.report import MEGABYTE, ComparisonReport, FigureColumn, Picture
from unhot.bench.results import Comparison, Measured
from unhot.plots.curves import SteadyLine, curves

SIZE = (9.0, 5.6)  # inches of the picture
ABOVE = 2.0  # perplexities above this multiple of that of the counts alone are cut off
COLUMNS = (
    FigureColumn("layer", "layer", code=True),
    FigureColumn("engine", "engine"),
    FigureColumn("lr", "lr", ".3g"),
    FigureColumn("perplexity", "perplexity", ",.1f"),
    FigureColumn("examples/s", "pairs_per_second", ",.0f"),
    FigureColumn("learned MB", "learned_bytes", ",.1f", MEGABYTE, zero=False),
    FigureColumn("training MB", "training_bytes", ",.1f", MEGABYTE, zero=False),
    FigureColumn("log Z mean", "log_z_mean", ".3f"),
    FigureColumn("log Z var", "log_z_variance", ".3f"),
    FigureColumn("s to softmax", "seconds_to_full", ",.1f"),
)
FROM_EXACT = (  # for comparisons with an exact solution
    FigureColumn("above exact", "above_exact", ".3f"),
    FigureColumn("train above", "train_above", ".3f"),
)
OF_RESULT = ("cross_entropy", "perplexity", "log_z_mean", "log_z_variance")
FIGURES = (
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


def output_report(comparison: Comparison) -> ComparisonReport:
    """Return the report, with a row for the exact solution, if there is one, and for each layer."""
    exact, rows = comparison.exact is not None, comparison.rows
    records = [_record(each, comparison) for each in rows]
    picture = "held-out perplexity against seconds of training"
    return ComparisonReport(
        command="unhot bench outputs",
        summary=summary(comparison),
        columns=(*COLUMNS, *FROM_EXACT) if exact else COLUMNS,
        records=records,
        terms=EXPLAINED | EXACT_EXPLAINED if exact else EXPLAINED,
        remarks=[measured_by(comparison)],
        failures=[f"{each.layer}: {each.failed}" for each in rows if each.failed],
        files={
            ".csv": records,
            "-curves.csv": [
                {"layer": each.layer, **point._asdict()} for each in rows for point in each.curve
            ],
        },
        pictures={".svg": Picture(picture, _curves(comparison), SIZE)},
        data=comparison.as_dict(),
        measured=any(each.result for each in comparison.layers),
        interrupted=comparison.interrupted,
        more="Layers in full:\n\n" + "\n".join(f"- `{each.spec}`" for each in rows),
    )


def _record(each: Measured, comparison: Comparison) -> dict[str, Any]:
    record = {name: getattr(each, name, getattr(each.result, name, None)) for name in FIGURES}
    record["seconds_to_full"] = comparison.to_full.get(each.layer, math.nan)
    return record | {"above_exact": comparison.above_exact(each)}


def _curves(comparison: Comparison) -> Callable[[Any], Any]:
    """Return what draws the curves of the layers."""
    counts, exact = comparison.curve_unigram_perplexity, comparison.exact
    levels = [SteadyLine("counts alone", counts)]
    if exact is not None and exact.result is not None:
        levels.append(SteadyLine("exact", _perplexity(exact.final_loss), "black", (6, 3)))
    points = {
        f"{each.layer}{'' if each.engine == 'compiled' else f' ({each.engine})'}": [
            (point.seconds, _perplexity(point.loss)) for point in each.curve
        ]
        for each in comparison.layers
        if each.curve and each.result is not None
    }
    text = f"{comparison.curve_words:,} held-out words"
    return partial(curves, points=points, levels=levels, highest=ABOVE * counts, text=text)


def _perplexity(loss: float) -> float:
    return math.exp(loss if loss < 300.0 else 300.0)  # NaN becomes exp(300), too


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
