"""The command `unhot graph`: learn vectors of the nodes of a graph, and measure them."""

from typing import Any

import click

import unhot.evaluate
from unhot.cli.options import json_option
from unhot.cli.outputs import plugin_option
from unhot.cli.show import note, percents, print_table, show_json
from unhot.cli.train import train_command
from unhot.errors import DataError

TRAIN = """\
Learn vectors of the nodes of a graph by random walks: DeepWalk, or node2vec with --p and --q.

EDGES is a file with one edge per line: two nodes, and maybe a weight and more columns, with white space
between them; CSV or TSV, with or without a header; Matrix Market, JSON lines or parquet. Or a line holds a
node and then all its neighbors (--format adjacency). The files of networkx, SNAP, KONECT, OGB and Gephi are
recognized; the first line of the output says as what. Lines that start with # or % are comments; gz, bz2, xz
and zst files are unpacked. Edges lead both ways unless --directed is given, and an edge that is listed twice
is one edge. Ctrl-C stops the training and saves the model as it is; --resume continues it.
"""
EXAMPLES = """
\b
Examples:
  unhot graph train edges.txt -o model
  unhot graph train edges.csv -o model --sources start --targets end --weight km --directed
  unhot graph train edges.txt -o model --p 0.25 --q 0.25 --walks 20 --length 80 --dim 64
  unhot graph train neighbours.txt -o model --format adjacency --output hierarchical
  unhot graph train edges.txt -o model --hold-out 0.1
  unhot graph evaluate model edges.txt
  unhot graph evaluate model --labels labels.txt --json
  unhot neighbors model NODE
"""
train = train_command("graph", TRAIN, EXAMPLES, metavar="EDGES...")


@click.command(epilog=EXAMPLES)
@click.argument("model")
@click.argument("graph", required=False)
@click.option("--labels", metavar="FILE", help="Classify nodes: a line holds a node, then its labels.")
@click.option(
    "--share", type=float, default=0.5, show_default=True, help="Share of the nodes whose labels are known."
)
@click.option("--splits", type=click.IntRange(1), default=5, show_default=True, help="Random divisions.")
@click.option("--c", type=float, default=1.0, show_default=True, help="Weight of the data in the regression.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of all random numbers.")
@plugin_option
@json_option
def evaluate(
    model: str,
    graph: str | None,
    labels: str | None,
    share: float,
    splits: int,
    c: float,
    seed: int,
    as_json: bool,
) -> None:
    """Measure the vectors of a graph: classify nodes (--labels), or predict the edges that were held out.

    Nodes are classified by one logistic regression for each label; a node gets as many labels as it has. Held
    out edges (unhot graph train --hold-out 0.1) are compared with random pairs that are no edges; give the
    GRAPH of the training.
    """
    from unhot.evaluate.nodes import read_labels
    from unhot.models.load import load_saved

    if labels is not None:
        vectors, given = unhot.Vectors.load(model), read_labels(labels)
        found = unhot.evaluate.classify_nodes(vectors, given, share=share, splits=splits, c=c, seed=seed)
        node = next(node for node in given if node in vectors)
        note(f"labels of {len(given):,} nodes, such as {node}: {', '.join(given[node])}")
    else:
        opened = load_saved(model)
        if not isinstance(opened, unhot.GraphVectors) or not opened.hold_out:
            raise click.UsageError(
                "nothing to ask: give --labels FILE, or train the graph with --hold-out 0.1"
            )
        edges = None if graph is None else opened.read(graph)
        if edges is not None and not opened.learned_from_graph(edges):
            raise DataError(f"{graph}: is not the graph that {model} learned from; give that graph")
        found = unhot.evaluate.predict_links(opened, edges, seed=seed)  # type: ignore[assignment]
        for line in _link_notes(opened.directed, found.as_dict()):
            note(line)
    figures = found.as_dict()
    if as_json:
        show_json(figures)
    else:
        intervals = {name: getattr(found, f"{name}_interval", None) for name in figures}
        rows = [
            (name.replace("_", " "), f"{100 * value:.2f} %", percents(intervals[name]))
            for name, value in figures.items()
            if isinstance(value, float) and name not in ("share", "c")
        ]
        how = ", ".join(f"{name} {value}" for name, value in figures.items() if isinstance(value, int))
        print_table("", ("", "", "95 % interval"), rows, how)


def _link_notes(directed: bool, figures: dict[str, Any]) -> list[str]:
    """Return lines about what the metrics of link prediction do not say themselves."""
    lines = ["the graph is directed, but cosines are the same in both directions: see inner"] * directed
    if min(figures["cosine_auc"], figures["inner_auc"] or 1.0) < 0.5:
        both = ", or use edges in both directions (--no-directed)" if directed else ""
        lines.append(
            "an AUC below 50 %: held-out edges have lower scores than random pairs. Often there was too "
            f"little to learn from: raise --walks or --epochs{both}"
        )
    return lines


graph = click.Group(
    "graph",
    commands=[train, evaluate],
    help="Vectors of the nodes of a graph: train and measure them.",
    epilog=EXAMPLES,
)
