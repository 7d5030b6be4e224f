"""Hierarchical softmax: a word is a path of left-or-right decisions through a binary tree.

    P(w | h) = product over nodes n on w's path of sigmoid(h.o_n) to the left, sigmoid(-h.o_n) to the right
    L = -log P(t | h)
    dL/do_n = (sigmoid(h.o_n) - y_n) h,   y_n = 1 where the path goes left (code bit 0), else 0

There is one output vector for each of the V - 1 inner nodes. In a Huffman tree (`tree=huffman`) frequent
words have short paths. `tree=word2vec` is also a Huffman tree, with ties broken as in word2vec.c and
fastText; fastText's files need it. `tree=balanced` has paths of length log2 V. `tree=file:PATH` reads any
full binary tree: line i of the file ends with the code of id i.

Converges to  the conditional log odds of left against right at every node, so log_prob -> log P(w | h).
Limits        with two words it is a logistic regression.
Cost          O(L dim) per target, L the length of its path: on average about the entropy of the words, in
              bits.
Normalised    yes, exactly, for any tree. topk searches the most likely branches first.
Wins          where probabilities must sum to one, and for rare words.
Reference     Morin & Bengio, Hierarchical probabilistic neural network language model, 2005; Mikolov et al.,
              2013 (Huffman).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from unhot.errors import ConfigError
from unhot.kernels.columns import candidates, find, put
from unhot.kernels.linking import logistic_link
from unhot.kernels.steps import link
from unhot.outputs.layer import FILE, OutputLayer, output
from unhot.tree.given import from_codes, read_codes
from unhot.tree.huffman import huffman, word2vec_tree
from unhot.tree.paths import Paths, balanced, children, longest
from unhot.tree.search import best_first, found_words
from unhot.types import Counts, Doubles, Ids


@output("hierarchical")
@dataclass(frozen=True, kw_only=True)
class Hierarchical(OutputLayer):
    """Hierarchical softmax over a binary tree."""

    tree: str = "huffman"  # huffman | word2vec | balanced | file:PATH
    bias: bool = False  # learn a bias for each node

    rows_are_words = False
    own_columns = True
    readers = {"tree": (read_codes, np.uint8)}

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        if self.tree not in ("huffman", "word2vec", "balanced") and not (
            self.tree.startswith(FILE) and self.tree != FILE
        ):
            raise ConfigError(
                f"hierarchical:tree={self.tree!r}: must be huffman, word2vec, balanced or file:PATH"
            )

    def paths(self, counts: Counts) -> Paths:
        """Return the tree as the paths of all words."""
        codes = self.read_file("tree").tobytes() if self.tree.startswith(FILE) else b""
        return _paths(self.tree, codes, counts.tobytes())

    def columns(self, counts: Counts, targets: int) -> int:
        """Return the most columns of a step: the longest path for each target."""
        return max(1, targets * longest(self.paths(counts)))

    def rows(self, counts: Counts) -> int:
        """Return the number of inner nodes; 1 for a single word, where that row is never used."""
        return max(1, counts.size - 1)

    def tables(self, counts: Counts) -> Paths:
        """Return the paths, which are the tables of the kernel."""
        return self.paths(counts)

    def sketch(self) -> Paths:
        """Return the tree of one word, to compile with."""
        return huffman(np.ones(1, np.int64))

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """Compute the loss by the formula above."""
        paths = self.paths(counts)
        path = slice(paths.start[target], paths.start[target + 1])
        sign = 1.0 - 2.0 * paths.code[path]
        return float(np.logaddexp(0.0, -sign * scores[paths.node[path]]).sum())

    def decisions(self, target: int, counts: Counts) -> list[tuple[str, int, float]]:
        """Return the nodes on a word's path; a node's score counts with a minus where the path goes right."""
        paths = self.paths(counts)
        path = range(paths.start[target], paths.start[target + 1])
        return [(f"node {paths.node[at]}", int(paths.node[at]), 1.0 - 2.0 * paths.code[at]) for at in path]

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """Return log P of all words: the sum of the log-probabilities of the decisions on each path."""
        paths = self.paths(counts)
        if paths.node.size == 0:
            return np.zeros((*scores.shape[:-1], 1))
        left, right = -np.logaddexp(0.0, -scores), -np.logaddexp(0.0, scores)
        steps = np.where(paths.code == 0, left[..., paths.node], right[..., paths.node])  # [..., all steps]
        return np.add.reduceat(steps, paths.start[:-1], axis=-1)

    def pairs_log_prob(
        self, scores: Doubles, which: Ids, targets: Ids, counts: Counts
    ) -> tuple[Doubles, Doubles]:
        """Return log P of pairs, from only the nodes on the targets' paths; log Z is 0."""
        paths = self.paths(counts)
        log_z = np.zeros(len(scores))
        if paths.node.size == 0 or targets.size == 0:
            return np.zeros(targets.size), log_z
        lengths = np.diff(paths.start)[targets]
        begins = np.cumsum(lengths) - lengths
        steps = np.arange(lengths.sum()) + np.repeat(paths.start[targets] - begins, lengths)
        sign = 1.0 - 2.0 * paths.code[steps]
        log_p = -np.logaddexp(0.0, -sign * scores[np.repeat(which, lengths), paths.node[steps]])
        return np.add.reduceat(log_p, begins), log_z

    def topk(self, score: Callable[..., Doubles], k: int, counts: Counts) -> tuple[Ids, Doubles]:
        """Find the k most likely words, and score only the nodes of the most likely branches."""
        tree = children(self.paths(counts))

        def expand(node: int) -> tuple[Ids, Doubles]:
            s = score(slice(node, node + 1))[0]
            return tree[node], -np.logaddexp(0.0, [-s, s])

        return found_words(best_first(0 if len(tree) else -1, expand, k))


@lru_cache(maxsize=2)
def _paths(tree: str, codes: bytes, counts: bytes) -> Paths:
    """Build the tree; cached, because it is asked for several times while a model is set up."""
    given = np.frombuffer(counts, np.int64)
    if tree == "huffman":
        return huffman(given)
    if tree == "word2vec":
        return word2vec_tree(given)[0]
    return balanced(given) if tree == "balanced" else from_codes(codes.decode("latin-1").split("\n"), given)


@candidates.register(Paths)
def _candidates(tables: Any, targets: Any, state: Any, columns: Any, first: Any) -> Any:
    """Write down the nodes of all targets' paths; a shared node gets the sum of labels and weights."""
    n = 0
    for i in range(targets.n):
        word, times = targets.word[targets.at + i], targets.times[targets.times_at + i]
        known = n
        for place in range(tables.start[word], tables.start[word + 1]):
            node, label = tables.node[place], times * np.float32(1 - tables.code[place])
            at = find(columns, first, known, node)
            if at < 0:
                put(columns, first + n, node, label, times, 0.0)
                n += 1
            else:
                columns.label[first + at] += label
                columns.weight[first + at] += times
    return n, state


link.register(Paths)(logistic_link)
