"""The head of hierarchical softmax: a logistic regression for each inner node on the targets' paths."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from unhot.nn.batch import Batch
from unhot.nn.head import OutputHead, head_for
from unhot.nn.links import yes
from unhot.nn.wide import widened
from unhot.outputs.hierarchical import Hierarchical
from unhot.tree.paths import longest
from unhot.types import Counts


@head_for(Hierarchical)
class HierarchicalHead(OutputHead):
    """Paths are read from flat arrays, as long as the longest; what is behind a path's end does not count."""

    layer: Hierarchical

    start: Tensor  # int64 [words + 1]
    node: Tensor  # int32 [all steps]
    code: Tensor  # uint8 [all steps]

    def make(self, counts: Counts) -> None:
        """The tree."""
        super().make(counts)
        paths = self.layer.paths(counts)
        self.longest = longest(paths)
        self.register_buffer("start", torch.from_numpy(paths.start.copy()), persistent=False)
        self.register_buffer("node", torch.from_numpy(paths.node.copy()), persistent=False)
        self.register_buffer("code", torch.from_numpy(paths.code.copy()), persistent=False)

    def losses(self, batch: Batch) -> Tensor:
        """The sum over the path of each target."""
        if self.longest == 0:
            return (batch.hidden * 0.0).sum(dim=1)  # one word: nothing to decide
        ids, known = batch.target.reshape(-1), batch.known.reshape(-1)
        steps = self.start[ids, None] + torch.arange(self.longest, device=ids.device)  # [targets, longest]
        there = (steps < self.start[ids + 1, None]) & known[:, None]
        steps = torch.where(there, steps, 0)
        nodes = self.node[steps].long()
        many = batch.target.shape[1]
        rows = self.rows_of(nodes).reshape(-1, many * self.longest, self.dim)
        scores = widened(torch.bmm(rows, batch.hidden[:, :, None])).reshape(-1, self.longest) + self.bias_of(nodes)
        sign = 1.0 - 2.0 * self.code[steps].to(scores.dtype)
        return (yes(sign * scores) * there).reshape(-1, many * self.longest).sum(dim=1)

    def log_weight(self, hidden: Tensor) -> Tensor:
        """The sum of the log-probabilities of the decisions on each path."""
        scores = self.scores(hidden)
        out = scores.new_zeros(scores.shape[0], self.words)
        if self.longest == 0:
            return out
        sign = 1.0 - 2.0 * self.code.to(scores.dtype)
        steps = functional.logsigmoid(sign * scores[:, self.node.long()])  # [batch, all steps]
        word = torch.repeat_interleave(torch.arange(self.words, device=scores.device), self.start.diff(), output_size=self.node.shape[0])
        return out.index_add(1, word, steps)
