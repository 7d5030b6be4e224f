"""The head of hierarchical softmax: a logistic regression for each inner node on the targets' paths."""

import torch
from torch import Tensor
from torch.nn import functional

from unhot.nn.head import OutputHead, head_for
from unhot.nn.head_arguments import FlatBatch
from unhot.nn.links import yes
from unhot.nn.number_types import widened
from unhot.nn.trees import TreePaths, steps_of, tree_paths
from unhot.outputs.hierarchical import Hierarchical
from unhot.types import Counts


@head_for(Hierarchical)
class HierarchicalHead(OutputHead):
    """A logistic loss for each step of a target's path; paths are padded to the longest."""

    exact_loss = True

    layer: Hierarchical

    start: Tensor  # int64 [words + 1]
    node: Tensor  # int32 [all steps]
    code: Tensor  # uint8 [all steps]

    def make(self, counts: Counts) -> None:
        """Make the parameters and the tree."""
        super().make(counts)
        paths = tree_paths(self.layer.paths(counts))
        self.longest = paths.longest
        self.keep(start=paths.start.clone(), node=paths.node.clone(), code=paths.code.clone())

    def losses(self, batch: FlatBatch) -> Tensor:
        """Return the loss of each example: the sum over the paths of its targets."""
        # [batch, true, longest]
        nodes, sign, there = steps_of(TreePaths(self.start, self.node, self.code, self.longest), batch.target)
        nodes = nodes.long().flatten(1)
        scores = torch.bmm(self.rows_of(nodes), batch.hidden[:, :, None]).squeeze(2)
        scores = widened(scores) + self.bias_of(nodes)
        counted = (there & batch.known[:, :, None]).flatten(1)
        return yes(sign.flatten(1) * scores).masked_fill(~counted, 0.0).sum(dim=1)

    def width(self) -> int:
        """Return how many numbers `log_weight` holds for a hidden vector: all steps of all paths."""
        return max(self.words, self.node.shape[0])

    def log_weight(self, hidden: Tensor) -> Tensor:
        """Return log P of all words: the sum of the log-probabilities of the decisions on each path."""
        scores = self.scores(hidden)
        out = scores.new_zeros(scores.shape[0], self.words)
        if self.longest == 0:
            return out
        sign = 1.0 - 2.0 * self.code.to(scores.dtype)
        steps = functional.logsigmoid(sign * scores[:, self.node.long()])  # [batch, all steps]
        word = torch.repeat_interleave(
            torch.arange(self.words, device=scores.device), self.start.diff(), output_size=self.node.shape[0]
        )
        return out.index_add(1, word, steps)
