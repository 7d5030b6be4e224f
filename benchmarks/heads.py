"""How fast and how big a step of every output layer is in torch.

Beside it: torch's own softmax, and TensorFlow's sampled one.

    python benchmarks/heads.py [--rounds 5] [--threads 2] [--tensorflow /path/to/python]

A step is forward, backward and SGD. --tensorflow names the Python of an environment that has tensorflow.
Writes docs/results/<name>.csv and .md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

from harness import child, rounds, say
from options import new_parser, results_path
from report import Row, Table, cells, head, markdown_table, of_tool, origin, ratio, ratios, write_page

PLAIN = "cross_entropy"
TENSORFLOW = "tensorflow sampled_softmax_loss:k=1000"
FUNCTIONAL = "functional sampled_softmax_loss:k=1000"
LAYERS = (
    "softmax",
    "sampled:k=1000",
    "nce:k=25",
    "hierarchical",
    "class_based",
    "negative:k=5",
    "adaptive",
    "in_batch",
    "mixed:k=1000",
    "differentiated",
)
COLUMNS = ("tensorflow", "size", "round", "tool", "threads", "ms", "memory_mb", "others_cores")
FIGURES = {"ms": ",.2f", "memory_mb": ",.1f"}

NOTES = """\
A step of `unhot.nn.OutputHead`: forward, backward (gradients of the hidden vectors included) and SGD,
gradients of the weight sparse where the layer does not score all words. Words are distributed as Zipf has it.
`cross_entropy` is `torch.nn.functional.cross_entropy(linear(hidden), target)`; `softmax` makes its scores
4,096 words at a time. Memory: the most that a step held, without parameters and their dense gradients.
TensorFlow runs in a graph, with sparse updates. Every figure is the median over the rounds, a process each
(least..most), a ratio the median of each round's ratios.
"""


class Size(NamedTuple):
    """A problem."""

    words: int
    dim: int
    batch: int
    steps: int
    tools: tuple[str, ...]

    def text(self) -> str:
        """In a line."""
        return f"{self.words:,} words, dim {self.dim}, batch {self.batch:,}"


SIZES = (
    Size(100_000, 128, 512, 9, (PLAIN, *LAYERS, "one_vs_all", FUNCTIONAL, TENSORFLOW)),
    Size(200_000, 128, 1024, 5, (PLAIN, "softmax", "softmax:chunk=1024", "softmax:chunk=0")),
)


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    path = results_path(options)
    with Table(path, COLUMNS, origin(["torch", "numpy"])) as table:
        for size in SIZES:
            tools = [tool for tool in size.tools if tool != TENSORFLOW or options.tensorflow]
            for number, tool in rounds(options.rounds, tools):
                row = measure(tool, size, options)
                table.add({"size": size.text(), "round": number, "tool": tool, **row})
                say(f"{size.text()}  round {number}  {tool:24}  {row['ms']} ms  {row['memory_mb']} MB")
    write_page(path, page)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, rounds=5, name="heads")
    result.add_argument("--threads", type=int, default=2)
    result.add_argument("--tensorflow", default=None, help="the Python of an environment with tensorflow")
    return result


def measure(tool: str, size: Size, options: argparse.Namespace) -> dict[str, Any]:
    """One process."""
    job = {
        "words": size.words,
        "dim": size.dim,
        "batch": size.batch,
        "steps": size.steps,
        "threads": options.threads,
    }
    extra = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(options.threads))
    if tool == TENSORFLOW:
        given = {**job, "sampled": 1000}
        done, answer = child("step_tensorflow", given, extra=extra, python=options.tensorflow)
    else:
        done, answer = child("step_torch", {**job, "spec": tool}, extra=extra)
    return {
        "tensorflow": answer.get("version", ""),
        "threads": options.threads,
        "ms": f"{1000 * answer['seconds']:.3f}",
        "memory_mb": f"{answer['memory'] / 1e6:.1f}" if "memory" in answer else "",
        "others_cores": done.others_text(),
    }


def page(name: str, rows: Sequence[Row]) -> str:
    """The results as Markdown."""
    facts = [
        f"tensorflow: {max(row['tensorflow'] for row in rows) or 'not there'}",
        f"threads: {rows[0]['threads']}",
    ]
    header = ["layer", "ms a step", "MB above parameters and gradients"]
    header += ["times as fast as cross_entropy", "as softmax"]
    parts = [head("heads", name, rows, facts), NOTES]
    for size in SIZES:
        own = [row for row in rows if row["size"] == size.text()]
        count = len({row["round"] for row in own})
        table = markdown_table(header, [line(own, tool) for tool in size.tools if of_tool(own, tool)])
        told = tensorflow_line(own) + memory_line(own)
        parts.append(f"## {size.text()}, {count} rounds\n\n{table}{told}")
    return "\n".join(parts)


def line(rows: Sequence[Row], tool: str) -> list[str]:
    """A layer's figures."""
    times = [ratio(rows, "ms", other, tool, ".3g") for other in (PLAIN, "softmax")]
    return [f"`{tool}`", *cells(of_tool(rows, tool), FIGURES), *times]


def tensorflow_line(rows: Sequence[Row]) -> str:
    """The same layer in TensorFlow, by ratio."""
    if not of_tool(rows, TENSORFLOW):
        return ""
    layer, same = (ratio(rows, "ms", TENSORFLOW, tool, ".2f") for tool in ("sampled:k=1000", FUNCTIONAL))
    return (
        f"\nBeside TensorFlow's `sampled_softmax_loss`, `sampled:k=1000` is {layer} times as fast, and "
        "`unhot.nn.functional.sampled_softmax_loss`, which draws and masks as TensorFlow does, "
        f"{same} times.\n"
    )


def memory_line(rows: Sequence[Row]) -> str:
    """The share of the memory that torch's own softmax needs."""
    if not ratios(rows, "memory_mb", "softmax", PLAIN):
        return ""
    share = ratio(rows, "memory_mb", "softmax", PLAIN, ".3f")
    return f"\n`softmax` needs {share} of the memory of `cross_entropy`.\n"


if __name__ == "__main__":
    main()
