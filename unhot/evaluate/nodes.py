"""Classify the nodes of a graph by their vectors: one logistic regression for each label.

    L(w, b) = C sum over the known nodes of softplus(-y (w . x + b)) + |w|^2 / 2,    y = 1 or -1

A share of the nodes is known; the others are asked for. A node that has m labels is given the m labels with
the highest scores, as in the papers on DeepWalk and node2vec. F1 is measured for all labels together (micro)
and as the mean over the labels that occur (macro).

The curvature of the loss is at most that of C |X w|^2 / 8 + |w|^2 / 2, whatever w is. So each step solves
that quadratic problem, whose matrix is the same in all steps and for all labels, and the loss always falls.
"""

import csv
import dataclasses
import os
import re
from collections.abc import Mapping, Sequence

import numpy as np

from unhot.errors import ConfigError, DataError, at_least, whole
from unhot.evaluate.figures import Figures
from unhot.evaluate.files import numbered_lines, question_file
from unhot.types import Doubles
from unhot.vectors.store import Vectors

HEADS = (
    "id",
    "node",
    "nodeid",
    "paper",
    "paperid",
    "user",
    "userid",
    "vertex",
    "name",
)  # of a column of nodes
FEATURES = 8  # cells of zeros and ones between a node and its label that are no labels
STEPS, SMALL = 1_000, 1e-3  # steps of a regression, at most; it ends when no weight moves further than this


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeClassification(Figures):
    """How well labels of nodes are found, and how it was measured."""

    nodes: int
    labels: int
    unknown: int  # nodes with labels that have no vector, which are left out
    share: float  # of the nodes whose labels are known
    splits: int
    seed: int
    micro_f1: float  # means over the splits
    macro_f1: float
    micro_f1_deviation: float  # standard deviations over the splits
    macro_f1_deviation: float


def read_labels(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Read the labels of nodes: a line holds a node, then its labels; a node may stand in several lines.

    The separator after the node also separates labels: after a comma, semicolon or tab, labels may contain
    spaces; after a space, labels have spaces or commas between them. Lines that start with # or % are
    comments. A first line such as `id,label` is a header. If zeros and ones stand between all nodes and their
    last cells, as in Cora's .content files, they are features, and the last cell is the label.
    """
    lines = [line for _, line in numbered_lines(question_file(path)) if line and line[0] not in "#%"]
    rows = [_node_and_labels(line) for line in lines]
    if rows and "".join(filter(str.isalnum, rows[0][0].lower())) in HEADS:
        node, names = rows.pop(0)
        if len(names) > 1:
            raise DataError(
                f"{path}: the columns are {node}, {', '.join(names)}: give a file with a column of nodes and "
                "a column of labels"
            )
    if rows and all(len(labels) > FEATURES and {*labels[:-1]} <= {"0", "1"} for _, labels in rows):
        rows = [(node, labels[-1:]) for node, labels in rows]
    found: dict[str, list[str]] = {}
    for node, labels in rows:
        if node and labels:
            found[node] = [*dict.fromkeys([*found.get(node, ()), *labels])]
    if not found:
        raise DataError(f"{path}: no line holds a node and a label: give lines such as `node label label`")
    return found


def _node_and_labels(line: str) -> tuple[str, list[str]]:
    """Return the node and the labels of a line."""
    if "\t" in line:
        cells = line.split("\t")
    elif '"' in line:
        cells = next(csv.reader([line], delimiter="," if "," in line else " ", skipinitialspace=True))
    else:
        separator = re.search(r"[\s,;]+", line)
        cuts = [each for each in ",;" if separator is not None and each in separator[0]]
        cells = line.split(cuts[0]) if cuts else re.split(r"[\s,]+", line)
    node, *labels = [cell.strip() for cell in cells]
    return node, [label for label in labels if label]


def classify_nodes(
    vectors: Vectors,
    labels: str | os.PathLike[str] | Mapping[str, Sequence[str]],
    *,
    share: float = 0.5,
    splits: int = 5,
    c: float = 1.0,
    seed: int = 1,
) -> NodeClassification:
    """Measure how well the labels of nodes follow from their vectors.

    labels   node -> its labels, or a file of them (`read_labels`)
    share    of the nodes whose labels are known
    splits   so often nodes are divided at random
    c        how much the data count against the penalty of the weights
    """
    if not 0 < share < 1:
        raise ConfigError(f"share={share}: must be between 0 and 1")
    whole("splits", splits, 1)
    at_least("c", c, 1e-12)
    given = labels if isinstance(labels, Mapping) else read_labels(labels)
    nodes = [node for node in given if node in vectors and given[node]]
    kinds = sorted({label for node in nodes for label in given[node]})
    if len(nodes) < 4:
        raise DataError(
            f"{len(nodes)} of {len(given)} nodes with labels have a vector: must be 4 or more; check how "
            f"nodes are written, such as {next(iter(given), ''):.60}"
        )
    place = {kind: k for k, kind in enumerate(kinds)}
    truth = np.zeros((len(nodes), len(kinds)), bool)
    for i, node in enumerate(nodes):
        truth[i, [place[label] for label in given[node]]] = True
    features = np.asarray(vectors.vectors[[vectors.key_to_index[node] for node in nodes]], np.float64)
    figures, known = [], max(1, int(share * len(nodes)))
    for split in range(splits):
        order = np.random.default_rng([seed, split]).permutation(len(nodes))
        train, test = order[:known], order[known:]
        weights = logistic_weights(features[train], truth[train], c)
        figures.append(_f1(truth[test], features[test] @ weights[:-1] + weights[-1]))
    means, deviations = np.mean(figures, axis=0).tolist(), np.std(figures, axis=0).tolist()
    return NodeClassification(
        nodes=len(nodes),
        labels=len(kinds),
        unknown=len(given) - len(nodes),
        share=share,
        splits=splits,
        seed=seed,
        micro_f1=means[0],
        macro_f1=means[1],
        micro_f1_deviation=deviations[0],
        macro_f1_deviation=deviations[1],
    )


def logistic_weights(features: Doubles, truth: np.ndarray, c: float) -> Doubles:
    """Return the weights of one logistic regression for each column of `truth`, biases in the last row."""
    x = np.hstack([features, np.ones((len(features), 1))])
    penalty = np.append(np.ones(features.shape[1]), 1e-9)  # the bias is free
    solve = np.linalg.inv(c / 4 * x.T @ x + np.diag(penalty))
    weights = last = np.zeros((x.shape[1], truth.shape[1]))
    for step in range(STEPS):
        ahead = weights + step / (step + 3) * (weights - last)  # Nesterov: the next step begins further on
        chance = 0.5 * (1.0 + np.tanh(0.5 * (x @ ahead)))
        gradient = c * x.T @ (chance - truth) + penalty[:, None] * ahead
        last, weights = weights, ahead - solve @ gradient
        if np.abs(weights - last).max() < SMALL:
            break
    return weights


def _f1(truth: np.ndarray, scores: Doubles) -> tuple[float, float]:
    """Return micro-F1 and macro-F1 if each node gets as many labels as it has."""
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    said = ranks < truth.sum(axis=1, keepdims=True)
    right, both = (said & truth).sum(axis=0), said.sum(axis=0) + truth.sum(axis=0)
    return 2 * right.sum() / both.sum(), float((2 * right[both > 0] / both[both > 0]).mean())
