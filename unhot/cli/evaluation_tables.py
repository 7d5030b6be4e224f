"""Print the results of `unhot evaluate`: a table for each kind of result, and how it was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unhot.cli.show import print_table

if TYPE_CHECKING:
    from unhot.evaluate import Analogies, Categories, HeldOut, Outliers, Similarity, Stability
    from unhot.evaluate.analogies import Section
    from unhot.evaluate.figures import Interval
    from unhot.evaluate.outliers import OutlierSet

METHODS = {"add": "3CosAdd", "mul": "3CosMul"}


def show_held_out(result: HeldOut) -> None:
    """Print a row for each number, then how they were measured."""
    rows = {
        "cross entropy": f"{result.cross_entropy:.4f} nats",
        "": f"{result.bits:.4f} bits",
        "perplexity": f"{result.perplexity:,.2f}",
        "pairs": f"{result.pairs:,}",
        "unknown words": f"{result.unknown:,}",
        "log Z mean": f"{result.log_z_mean:.4f}",
        "log Z variance": f"{result.log_z_variance:.4f}",
    }
    print_table("", (), rows.items(), str(result))


def show_similarity(results: Sequence[Similarity]) -> None:
    """Print a row for each file."""
    rows = [
        (
            *(_name(each.file), _number(each.spearman), _interval(each.spearman_interval)),
            *(_number(each.pearson), f"{each.pairs:,}", _part(each.unknown, each.pairs)),
        )
        for each in results
    ]
    header = ("", "Spearman", "95 % interval", "Pearson", "pairs", "unknown")
    made = " The vectors of unknown words are made of their n-grams." if results[0].unseen else ""
    words = _words(results[0].restrict_vocab, results[0].case)
    print_table("similarity", header, rows, f"Correlations of cosines with human scores. {words}{made}")


def show_analogies(results: Sequence[Analogies]) -> None:
    """Print a table for each file: its sections, groups of sections, and the total."""
    for number, result in enumerate(results):
        blocks = [result.sections, result.groups, (result.total,)]
        rows = [_section(each) for block in blocks if block for each in (*block, None)][:-1]
        header = ("", "accuracy", "95 % interval", "correct", "asked", "unknown")
        title = f"analogies: {_name(result.file)}, {METHODS[result.method]}"
        how = f"Share of right answers. {_words(result.restrict_vocab, result.case)}"
        print_table(title, header, rows, how, gap=number > 0)


def _section(section: Section | None) -> tuple[str, ...]:
    """Return the row of a section; an empty row for None."""
    if section is None:
        return ("",) * 6
    interval = _interval(section.interval, percent=True)
    counts = (f"{section.correct:,}", f"{section.answered:,}", _part(section.unknown, section.questions))
    return (section.name, _percent(section.accuracy), interval, *counts)


def show_categories(results: Sequence[Categories]) -> None:
    """Print a row for each file."""
    rows = [
        (
            *(_name(each.file), _number(each.purity), _interval(each.interval), _number(each.largest)),
            *(f"{each.categories:,}", f"{each.words:,}", _part(each.unknown, each.words)),
        )
        for each in results
    ]
    header = ("", "purity", "95 % interval", "of one cluster", "categories", "words", "unknown")
    first = results[0]
    how = f"Spherical k-means, the best of {first.restarts} starts (seed {first.seed})."
    print_table("categories", header, rows, f"{how} {_words(first.restrict_vocab, first.case)}")


def show_outliers(results: Sequence[Outliers]) -> None:
    """Print a table for each file or folder: its sets, and the total."""
    for number, result in enumerate(results):
        sets = (*result.sets, result.total) if len(result.sets) > 1 else result.sets
        rows = [_outlier_set(each) for each in sets]
        header = ("", "accuracy", "95 % interval", "OPP", "95 % interval", "asked", "unknown")
        out = f"{result.total.unknown_words:,} unknown words were removed from their sets. "
        words = f"{out if result.total.unknown_words else ''}{_words(result.restrict_vocab, result.case)}"
        how = f"Outliers found, and their mean position. {words}"
        print_table(f"outliers: {_name(result.file)}", header, rows, how, gap=number > 0)


def _outlier_set(each: OutlierSet) -> tuple[str, ...]:
    found = (_percent(each.accuracy), _interval(each.accuracy_interval, percent=True))
    position = (_percent(each.opp), _interval(each.opp_interval, percent=True))
    asked = (f"{each.questions - each.unknown:,}", _part(each.unknown, each.questions))
    return (each.name, *found, *position, *asked)


def show_stability(result: Stability) -> None:
    """Print a row for each pair of models, and one for all pairs."""
    rows = [
        (
            f"models {pair.first + 1} and {pair.second + 1}",
            _percent(pair.share),
            "",
            _number(pair.jaccard),
            "",
        )
        for pair in result.pairs
        if len(result.pairs) > 1
    ]
    share, jaccard = _interval(result.share_interval, percent=True), _interval(result.jaccard_interval)
    rows.append(("all", _percent(result.share), share, _number(result.jaccard), jaccard))
    unknown = f"; {result.unknown:,} words of the list are unknown" if result.unknown else ""
    how = (
        f"Compared {result.words:,} of the {result.common:,} words that all {result.models} models "
        f"know{unknown}."
    )
    header = ("", "shared", "95 % interval", "Jaccard", "95 % interval")
    print_table(f"stability: {result.k} neighbours", header, rows, how)


def _words(restrict_vocab: int | None, case: str) -> str:
    known = "All words" if restrict_vocab is None else f"Only the first {restrict_vocab:,} words"
    how = {"exact": "as spelled", "prefer": "as spelled, else in any case", "ignore": "in any case"}[case]
    return f"{known} are known, looked up {how}; questions with unknown words are skipped."


def _name(file: str) -> str:
    return Path(file).name or file


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.2f} %"


def _interval(interval: Interval, *, percent: bool = False) -> str:
    low, high = interval
    if math.isnan(low):
        return "-"
    return f"{100 * low:.2f} .. {100 * high:.2f}" if percent else f"{low:.4f} .. {high:.4f}"


def _part(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.1%})" if whole else "0"
