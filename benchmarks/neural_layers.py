"""Training steps of one neural language model with every output layer, beside the full softmax.

    python benchmarks/neural_layers.py --sets DIR [--dim 200] [--threads 1,2] [--rounds 15]

DIR holds ptb.train.txt and wiki2.train.txt. A step is that of `unhot.NeuralLM`: body, head, backward pass,
clipping, optimiser. All layers take turns in one process. Writes docs/results/<name>.csv and .md.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import child, say
from options import new_parser, numbers, results_path
from report import Row, Table, groups, head, markdown_table, origin, ratio, write_page

FULL = "softmax:bias=true"
LAYERS = (
    *(
        FULL,
        "sampled:k=500,bias=true",
        "sampled:k=100,bias=true",
        "nce:k=500,bias=true",
        "nce:k=25,bias=true",
    ),
    *("negative:k=25,bias=true", "in_batch:bias=true", "adaptive:bias=true", "class_based:bias=true"),
    *("hierarchical:bias=true", "differentiated:bias=true"),
)
SETS = ("ptb", "wiki2")
PARTS = ("body", "head", "backward", "optimizer")
COLUMNS = ("set", "words", "dim", "threads", "round", "tool", "ms", *(f"{part}_ms" for part in PARTS))
NOTES = """\
A step of 20 x 35 tokens behind an LSTM. A ratio is the time of the full softmax / that of the layer within a
round: above 1, the layer is quicker; median (least..most) over the rounds. The columns body to optimiser are
medians; the backward pass holds that of the body and that of the layer, except that the full softmax computes
its gradients in the forward pass. Draws are shared by the batch.
"""


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    path = results_path(options)
    with Table(path, [*COLUMNS, "others_cores"], origin(["torch"])) as table:
        for name in SETS:
            for threads in options.threads:
                for row in measured(options, name, threads):
                    table.add(row)
    write_page(path, page)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, rounds=15, name="neural-layers")
    result.add_argument("--sets", type=Path, required=True, metavar="DIR", help="folder with the two texts")
    result.add_argument("--body", default="lstm")
    result.add_argument("--dim", type=int, default=200)
    result.add_argument("--threads", type=numbers, default=[1, 2])
    return result


def measured(options: argparse.Namespace, name: str, threads: int) -> list[dict[str, Any]]:
    """A row for each layer and round."""
    job = {"text": str(options.sets / f"{name}.train.txt"), "layers": list(LAYERS), "body": options.body}
    job |= {"dim": options.dim, "batch": 20, "steps": 35, "threads": threads, "rounds": options.rounds}
    extra = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    done, answer = child("step_language", job, extra=extra)
    common = {"set": name, "words": answer["words"], "dim": options.dim, "threads": threads}
    rows = []
    for layer, taken in answer["seconds"].items():
        middle = statistics.median(map(sum, taken))
        say(f"{name} threads={threads} {layer}  {1000 * middle:.1f} ms, {700 / middle:,.0f} tokens/s")
        for number, parts in enumerate(taken, 1):
            row = {**common, "round": number, "tool": layer, "ms": f"{1000 * sum(parts):.3f}"}
            row |= {f"{part}_ms": f"{1000 * one:.3f}" for part, one in zip(PARTS, parts, strict=True)}
            rows.append({**row, "others_cores": done.others_text()})
    return rows


def page(name: str, rows: Sequence[Row]) -> str:
    """The results as Markdown."""
    count = len({row["round"] for row in rows})
    parts = [head("neural_layers", name, rows, [f"rounds: {count}"], rows), NOTES]
    for (text, words, dim, threads), own in groups(rows, "set", "words", "dim", "threads").items():
        parts.append(f"## {text}: {int(words):,} words, dim {dim}, threads {threads}\n\n{layer_table(own)}")
    return "\n".join(parts)


def layer_table(rows: Sequence[Row]) -> str:
    """Milliseconds by part, and the ratio to the full softmax, for each layer."""
    lines = []
    for (layer,), own in groups(rows, "tool").items():
        middle = [statistics.median(float(row[f"{part}_ms"]) for row in own) for part in PARTS]
        whole = statistics.median(float(row["ms"]) for row in own)
        figures = [f"{each:.1f}" for each in (*middle, whole)]
        lines.append(
            [f"`{layer}`", *figures, f"{700_000 / whole:,.0f}", ratio(rows, "ms", FULL, layer, ".2f")]
        )
    names = [*(f"{part}, ms" for part in PARTS), "step, ms", "tokens/s", "times the softmax's speed"]
    return markdown_table(["layer", *names], lines)


if __name__ == "__main__":
    main()
