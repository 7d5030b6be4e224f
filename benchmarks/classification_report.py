"""The results page of classification.py, made from the rows of its CSV file."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from classifiers import MEASURES, SEVERAL_MEASURES
from report import Row, cells, groups, head, markdown_table, mean, of_tool, ratio

COLUMNS = (
    *(
        "kind",
        "round",
        "set",
        "tool",
        "threads",
        "seed",
        "settings",
        "total_seconds",
        "peak_mb",
        "others_cores",
    ),
    *("model_mb", *MEASURES, "lines", "loading_seconds", "lines_per_second", "same_labels"),
    *("bytes", "one_line_mb", "error"),
)

NOTES = """\
Every run is a process of its own, and the round is the seed; each round runs all tools one after the other.
Seconds and peak memory are those of the whole command `train`, reading and saving included (fastText writes
the vectors of the words, too). Kernels of unhot come from its disk cache. A figure is the median over the
rounds (least..most), a ratio the median of the ratios of each round; accuracy, in percent, is the mean
(least..most). Accuracy is that of the first label: fastText's P@1, which it prints with three digits.
"""

DEFAULTS = """\
## Without settings

unhot has no setting at all (langid: minn 2, maxn 4). fastText has those that it is usually given: wordNgrams
2, epoch 25, lr 0.5, and dim and loss as shown (softmax unless said). The difference is that of the mean
accuracies of unhot and of fastText's best.
"""

SAME = """\
## The same settings

dim 10, wordNgrams 2, 25 epochs, lr 0.5, 2,000,000 buckets, softmax (langid: minn 2, maxn 4). The times are
those that fastText takes of unhot's. The lines of 20newsgroups.sorted come label by label.
"""

PREDICT = """\
## Lines predicted a second

The whole command with many lines, less that with one line; models of the same settings. Threads: one, unless
said.
"""

AGREE = """\
## Models that fastText trained

The first labels of the test lines by unhot and by fastText, both with fastText's file (`.ftz`: quantised, cut
to 100,000 words and n-grams).
"""

SEVERAL = """\
## Several labels on a line

P@1: how many of the first labels are right. Precision, recall and F1 count all labels with a score above 0.5,
over all lines together. unhot has no setting but the layer, fastText the settings of above
(BlogCatalog: single words).
"""

STREAM = """\
## A large file

`predict` of a parquet file in row groups of a gigabyte, and the most memory that took, beside that of one
line.
"""


def page(name: str, rows: Sequence[Row]) -> str:
    """The whole page."""
    parts = [head("classification", name, rows, [f"threads of training: {training_threads(rows)}"]), NOTES]
    failed = sum(bool(row["error"]) for row in rows)
    if failed:
        parts += [f"{failed} of {len(rows)} runs failed and are left out below; the CSV file says why.\n"]
    for kind, section in SECTIONS.items():
        some = [row for row in rows if row["kind"] == kind and not row["error"]]
        if some:
            parts += section(some)
    return "\n".join(parts)


def training_threads(rows: Sequence[Row]) -> str:
    """Their numbers, or a dash."""
    return ", ".join(sorted({row["threads"] for row in rows if row["seed"]})) or "-"


def names(rows: Sequence[Row]) -> list[str]:
    """The tools that ran, those of unhot first."""
    return sorted({row["tool"]: None for row in rows}, key=lambda tool: not tool.startswith("unhot"))


def accuracies(rows: Sequence[Row], tool: str) -> list[float]:
    """Accuracies of one tool."""
    return [float(row["accuracy"]) for row in of_tool(rows, tool) if row["accuracy"]]


def by_set(rows: Sequence[Row], text: Callable[[Sequence[Row], str], str]) -> str:
    """A line a set, a column a tool."""
    tools = names(rows)
    lines = [[name, *(text(some, tool) for tool in tools)] for (name,), some in groups(rows, "set").items()]
    return markdown_table(["set", *tools], lines)


def seconds(rows: Sequence[Row], tool: str) -> str:
    """A cell with the seconds of a tool."""
    return cells(of_tool(rows, tool), {"total_seconds": ".2f"})[0]


def accuracy(rows: Sequence[Row], tool: str) -> str:
    """A cell with the accuracy of a tool."""
    return mean(accuracies(rows, tool))


def defaults(rows: Sequence[Row]) -> list[str]:
    """Accuracy of all tools, the difference to the best; seconds."""
    tools = names(rows)
    lines = []
    for (name,), some in groups(rows, "set").items():
        lines.append([name, *(accuracy(some, tool) for tool in tools), lead(some)])
    table = markdown_table(["set", *tools, "unhot less fastText's best"], lines)
    return [DEFAULTS, table, "Seconds:\n", by_set(rows, seconds)]


def lead(rows: Sequence[Row]) -> str:
    """How far the mean accuracy of unhot is above that of the best other tool."""
    means = {tool: statistics.fmean(accuracies(rows, tool)) for tool in names(rows) if accuracies(rows, tool)}
    ours = means.pop("unhot", None)
    return "-" if ours is None or not means else f"{ours - max(means.values()):+.1f}"


def same(rows: Sequence[Row]) -> list[str]:
    """Seconds, memory and accuracy of both, a line a set and tool."""
    forms = {"total_seconds": ".2f", "peak_mb": ",.0f", "model_mb": ".1f"}
    lines = []
    for (name,), some in groups(rows, "set").items():
        for tool in names(some):
            mine = of_tool(some, tool)
            times = "" if tool != "unhot" else ratio(some, "total_seconds", "fastText", tool, ".2f")
            better = lead(some) if tool == "unhot" else ""
            lines.append([f"{name}: {tool}", *cells(mine, forms), times, accuracy(some, tool), better])
    header = ["set", "seconds", "peak MB", "model MB", "times", "accuracy", "less fastText's"]
    return [SAME, markdown_table(header, lines)]


def predict(rows: Sequence[Row]) -> list[str]:
    """Lines a second of all, unhot's ratio to fastText, two threads beside one; seconds of one line."""
    tools = names(rows)
    lines = []
    for (name,), some in groups(rows, "set").items():
        speeds = [cells(of_tool(some, tool), {"lines_per_second": ",.0f"})[0] for tool in tools]
        pairs = (("unhot", "fastText"), ("unhot, threads 2", "unhot"))
        lines.append([name, *speeds, *(ratio(some, "lines_per_second", *pair, ".2f") for pair in pairs)])
    table = markdown_table(["set", *tools, "unhot / fastText", "threads 2 / 1"], lines)
    return [PREDICT, table, "Seconds with one line:\n", by_set(rows, loading)]


def loading(rows: Sequence[Row], tool: str) -> str:
    """A cell with the seconds that a tool takes for one line."""
    return cells(of_tool(rows, tool), {"loading_seconds": ".2f"})[0]


def agree(rows: Sequence[Row]) -> list[str]:
    """Percent of lines with the same first label, a line a set, a column a kind of file."""

    def text(some: Sequence[Row], tool: str) -> str:
        return " ".join(f"{row['same_labels']} of {int(row['lines']):,} lines" for row in of_tool(some, tool))

    return [AGREE, "Percent of the lines with the same label:\n", by_set(rows, text)]


def several(rows: Sequence[Row]) -> list[str]:
    """All measures, a line a set and tool."""
    lines = []
    for (name,), some in groups(rows, "set").items():
        for tool in names(some):
            mine = of_tool(some, tool)
            figures = [mean([float(row[key]) for row in mine if row[key]]) for key in SEVERAL_MEASURES]
            lines.append([f"{name}: {tool}", *figures, seconds(some, tool)])
    return [SEVERAL, markdown_table(["set", "P@1", "precision", "recall", "F1", "seconds"], lines)]


def stream(rows: Sequence[Row]) -> list[str]:
    """Size, speed and memory."""
    lines = []
    for row in rows:
        size, taken = int(row["bytes"]), float(row["total_seconds"])
        figures = [f"{size / 1e9:.2f}", f"{int(row['lines']):,}", f"{taken:.0f}", f"{size / 1e6 / taken:.0f}"]
        memory = [f"{float(row[key]):,.0f}" for key in ("peak_mb", "one_line_mb")]
        lines.append([f"{row['tool']}, threads {row['threads']}", *figures, *memory])
    header = ["tool", "GB", "lines", "seconds", "MB/s", "peak MB", "peak MB with one line"]
    return [STREAM, markdown_table(header, lines)]


SECTIONS: dict[str, Callable[[Sequence[Row]], list[str]]] = {
    "defaults": defaults,
    "same": same,
    "predict": predict,
    "agree": agree,
    "several": several,
    "stream": stream,
}
