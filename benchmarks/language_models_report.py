"""The results page of language_models.py, made from the rows of its CSV file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from report import Row, cells, groups, head, markdown_table, of_tool, ratio

COLUMNS = (
    *(
        "kind",
        "round",
        "set",
        "order",
        "tool",
        "threads",
        "gigabytes",
        "smoothing",
        "words",
        "tokens",
        "unknown",
    ),
    *("lmplz_seconds", "build_binary_seconds", "loading_seconds", "score_seconds", "total_seconds"),
    *("peak_mb", "others_cores", "bytes", "perplexity", "valid", "valid_tokens", "valid_zero"),
    *("test", "test_tokens", "test_zero", "ngrams", "same_ngrams", "log_prob_difference"),
    *("backoff_difference", "sentences", "repeats", "best_seconds", "median_seconds", "log10", "error"),
)
TWO_THREADS = "unhot, threads 2"

NOTES = """\
Modified Kneser-Ney unless said. Every run is a process of its own, round by round, each round starting with
another tool. A figure is the median over the rounds (least..most), a ratio the median of the ratios of each
round. Seconds are those of whole commands: of unhot with Python's start and its kernels, which come from its
disk cache. Peak MB: the most that a process held; pages of mapped files count.
"""

TRAIN = """\
## Training

From a text to a model that can be asked: `unhot lm train`, and `lmplz` followed by `build_binary probing`,
on a text of {words} words. Memory for counting: {gigabytes} GB (unhot), {gigabytes} GiB (lmplz). Threads of
unhot: {threads}; lmplz has no such setting and starts as many as it likes, build_binary has one. Times: both
programs of KenLM together / unhot. The peak of KenLM is that of its larger program.
"""

QUALITY = """\
## The same model

Perplexity of the valid and the test file, unknown words included, by `unhot lm perplexity` and by `query`.
Difference: unhot / KenLM - 1.
"""

ARPA = """\
Every n-gram of lmplz's ARPA file beside that of `unhot lm convert`. The largest differences are those of
log10 p (that of <s> apart, which is never predicted) and of log10 of the back-off weight. Both files hold
float32 numbers as decimals, and two neighbours of these between 4 and 8 are 4.8e-07 apart.
"""

SCORING = """\
## Scoring a text

`unhot lm perplexity` and `query -v summary` with a text, less the median of three runs with its first line
(loading). A dash: not longer than those three runs differ. The models are those of the training text; they
have not seen wiki2. query has one thread, and brings its whole file into memory when it loads it, whereas
unhot takes pages of its file as it needs them, which counts as scoring.
"""

PYTHON = """\
## From Python

{sentences} sentences of Penn Treebank, all of valid and test and the first ones of train, under its model of
order {order}: `model.scores(list)` beside `[model.score(s) for s in list]` of KenLM's package, which has one
thread. Best and median of {repeats} calls behind a first one. Sum: log10 of all probabilities.
"""

SIZES = """\
## Sizes

A model of {set}, order {order}, on disk.
"""

SMOOTHINGS = """\
## Smoothings

Penn Treebank, its <unk> a word like others, all words kept; one run each. maximum_likelihood gives
probability zero to n-grams that it has not seen, so its perplexity is infinite; behind it: how many tokens
that are. The scores of stupid_backoff do not sum to one, so that its figure is no perplexity.
"""


def page(name: str, rows: Sequence[Row]) -> str:
    """The whole page."""
    parts = [head("language_models", name, rows, []), NOTES]
    failed = sum(bool(row["error"]) for row in rows)
    if failed:
        parts += [f"{failed} of {len(rows)} runs failed and are left out below; the CSV file says why.\n"]
    for kind, section in SECTIONS.items():
        some = [row for row in rows if row["kind"] == kind and not row["error"]]
        if some:
            parts += section(some)
    return "\n".join(parts)


def names(rows: Sequence[Row]) -> list[str]:
    """The tools that ran, those of unhot first."""
    return sorted({row["tool"]: None for row in rows}, key=lambda tool: not tool.startswith("unhot"))


def told(row: Row) -> str:
    """A set, and the order of its model."""
    return f"{row['set']}, order {row['order']}"


def figure(rows: Sequence[Row], tool: str, column: str, form: str) -> str:
    """A cell with the values of a tool."""
    return cells(of_tool(rows, tool), {column: form})[0]


def train(rows: Sequence[Row]) -> list[str]:
    """Seconds, their ratio, memory; a line an order."""
    lines = []
    for some in groups(rows, "set", "order").values():
        taken = [
            figure(some, "unhot", "total_seconds", ".2f"),
            *cells(of_tool(some, "KenLM"), dict.fromkeys(("lmplz_seconds", "build_binary_seconds"), ".2f")),
            ratio(some, "total_seconds", "KenLM", "unhot", ".2f"),
        ]
        peaks = [figure(some, tool, "peak_mb", ",.0f") for tool in ("unhot", "KenLM")]
        lines.append([told(some[0]), *taken, *peaks])
    header = ["text", "unhot, s", "lmplz, s", "build_binary, s", "times", "unhot, peak MB", "KenLM, peak MB"]
    facts = {name: rows[0][name] for name in ("gigabytes", "threads")}
    said = TRAIN.format(words=f"{int(rows[0]['words']):,}", **facts)
    return [said, markdown_table(header, lines)]


def quality(rows: Sequence[Row]) -> list[str]:
    """Perplexities of both and their relative difference; a line a file and order."""
    lines = []
    for some in groups(rows, "set", "order").values():
        found = {row["tool"]: row for row in some}
        for part in ("valid", "test"):
            values = [float(found[tool][part]) for tool in ("unhot", "KenLM") if tool in found]
            apart = f"{values[0] / values[1] - 1:+.1e}" if len(values) == 2 else "-"
            shown = [
                f"{float(found[tool][part]):.4f}" if tool in found else "-" for tool in ("unhot", "KenLM")
            ]
            lines.append([f"{told(some[0])}: {part}", f"{int(some[0][f'{part}_tokens']):,}", *shown, apart])
    return [QUALITY, markdown_table(["file", "tokens", "unhot", "KenLM", "difference"], lines)]


def arpa(rows: Sequence[Row]) -> list[str]:
    """How far all numbers are apart; a line a model."""
    lines = []
    for row in rows:
        ngrams, same = (int(row[key]) for key in ("ngrams", "same_ngrams"))
        shared = "all" if ngrams == same else f"**{same:,}**"
        apart = [f"{float(row[key]):.1e}" for key in ("log_prob_difference", "backoff_difference")]
        lines.append([told(row), f"{ngrams:,}", shared, *apart])
    header = ["model", "n-grams", "in both files", "largest difference of log10 p", "of log10 of a weight"]
    return [ARPA, markdown_table(header, lines)]


def scoring(rows: Sequence[Row]) -> list[str]:
    """Seconds less loading and their ratios, a line a text and order; then whole commands, a line a tool."""
    lines, whole = [], []
    tools = names(rows)
    for some in groups(rows, "set", "order").values():
        taken = [figure(some, tool, "score_seconds", ".2f") for tool in tools]
        pairs = (("KenLM", "unhot"), ("unhot", TWO_THREADS))
        times = [ratio(some, "score_seconds", *pair, ".2f") for pair in pairs]
        lines.append([told(some[0]), f"{int(some[0]['tokens']):,}", *taken, *times])
        for tool in tools:
            forms = {"loading_seconds": ".3f", "total_seconds": ".2f", "peak_mb": ",.0f"}
            last = of_tool(some, tool)[-1:]
            found = [f"{float(row['perplexity']):.4f}" for row in last] or ["-"]
            unknown = [f"{int(row['unknown']):,}" for row in last] or ["-"]
            whole.append([f"{told(some[0])}: {tool}", *cells(of_tool(some, tool), forms), *found, *unknown])
    header = ["text, model", "tokens", *(f"{tool}, s" for tool in tools), "KenLM / unhot", "threads 1 / 2"]
    figures = ["text, model: tool", "one line, s", "whole command, s", "peak MB", "perplexity", "unknown"]
    return [SCORING, markdown_table(header, lines), "The commands:\n", markdown_table(figures, whole)]


def python(rows: Sequence[Row]) -> list[str]:
    """Milliseconds of a call, the ratio of each tool to unhot on one thread; a line a tool."""
    lines = []
    for tool in names(rows):
        mine = in_milliseconds(of_tool(rows, tool))
        taken = cells(mine, {"best_seconds": ".1f", "median_seconds": ".1f"})
        times = [ratio(rows, column, tool, "unhot", ".2f") for column in ("best_seconds", "median_seconds")]
        lines.append([tool, *taken, *times, f"{float(mine[-1]['log10']):,.2f}"])
    header = ["tool", "best, ms", "median, ms", "best / unhot's", "median / unhot's", "sum"]
    facts = {name: rows[0][name] for name in ("order", "repeats")}
    said = PYTHON.format(sentences=f"{int(rows[0]['sentences']):,}", **facts)
    return [said, markdown_table(header, lines)]


def in_milliseconds(rows: Sequence[Row]) -> list[Row]:
    """Rows with the seconds of calls in milliseconds."""
    columns = ("best_seconds", "median_seconds")
    return [{**row, **{name: str(1000 * float(row[name])) for name in columns}} for row in rows]


def sizes(rows: Sequence[Row]) -> list[str]:
    """Megabytes, a line a form."""
    lines = [[row["tool"], f"{int(row['bytes']) / 1e6:,.1f}"] for row in rows]
    said = SIZES.format(set=rows[0]["set"], order=rows[0]["order"])
    return [said, markdown_table(["form", "MB"], lines)]


def smoothings(rows: Sequence[Row]) -> list[str]:
    """A table of perplexities for each file, and one of seconds: a line a smoothing, a column an order."""
    parts = [SMOOTHINGS]
    columns = {"Perplexity of test:": "test", "Perplexity of valid:": "valid"}
    orders = sorted({row["order"] for row in rows}, key=int)
    for title, column in {**columns, "Seconds of training:": "total_seconds"}.items():
        lines = []
        for (smoothing,), some in groups(rows, "smoothing").items():
            found = {row["order"]: smoothed(row, column) for row in some}
            lines.append([smoothing, *(found.get(order, "-") for order in orders)])
        header = ["smoothing", *(f"order {order}" for order in orders)]
        parts += [f"{title}\n", markdown_table(header, lines)]
    return parts


def smoothed(row: Row, column: str) -> str:
    """A figure; behind a perplexity the share of tokens of probability zero, if there are any."""
    zero = int(row.get(f"{column}_zero") or 0)
    share = f" ({zero:,} of {int(row[f'{column}_tokens']):,})" if zero else ""
    return f"{float(row[column]):.2f}{share}"


SECTIONS: dict[str, Callable[[Sequence[Row]], list[str]]] = {
    "train": train,
    "quality": quality,
    "arpa": arpa,
    "scoring": scoring,
    "python": python,
    "sizes": sizes,
    "smoothings": smoothings,
}
