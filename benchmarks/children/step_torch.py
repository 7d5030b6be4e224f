"""Train an output layer in torch for some steps.

Seconds of a step, and the memory that one needs above parameters and their gradients.

A step is forward, backward and SGD; gradients are sparse where the layer touches few rows. `cross_entropy` is
torch's own softmax.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from unhot.nn import OutputHead
from unhot.nn.functional import sampled_softmax_loss
from unhot.outputs import parse_output

job = json.loads(sys.argv[1])
torch.set_num_threads(job["threads"])
torch.manual_seed(1)


class CrossEntropy(nn.Module):
    """What the layers are compared with."""

    def __init__(self, words: int, dim: int) -> None:
        """A linear layer with biases."""
        super().__init__()
        self.linear = nn.Linear(dim, words)

    def forward(self, hidden: Tensor, target: Tensor) -> Tensor:
        """All scores, then the loss."""
        return functional.cross_entropy(self.linear(hidden), target)


class Functional(nn.Module):
    """TensorFlow's own function."""

    def __init__(self, words: int, dim: int, sampled: int) -> None:
        """Weights and biases."""
        super().__init__()
        self.weights, self.biases = (
            nn.Parameter(0.1 * torch.randn(words, dim)),
            nn.Parameter(torch.zeros(words)),
        )
        self.sampled = sampled

    def forward(self, hidden: Tensor, target: Tensor) -> Tensor:
        """With the draws it makes by itself."""
        words = len(self.biases)
        return sampled_softmax_loss(
            self.weights, self.biases, target[:, None], hidden, self.sampled, words, sparse=True
        ).mean()


def make_head(spec: str, counts: Any, dim: int) -> nn.Module:
    """The layer of a spec."""
    if spec == "cross_entropy":
        return CrossEntropy(len(counts), dim)
    if spec.startswith("functional"):
        return Functional(len(counts), dim, int(spec.partition("=")[2]))
    layer = parse_output(spec)
    return OutputHead(spec, dim, counts, sparse=not layer.all_rows)


def status(name: str) -> int:
    """A line of the process's own memory figures, in bytes."""
    line = next(
        line
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        if line.startswith(name)
    )
    return int(line.split()[1]) * 1024


def backward(head: nn.Module, hidden: Tensor, target: Tensor) -> None:
    """Loss and gradients, those of the hidden vectors, too."""
    head.zero_grad(set_to_none=True)
    head(hidden.clone().requires_grad_(), target).backward()


def memory_above(head: nn.Module, hidden: Tensor, target: Tensor) -> int:
    """The most that a step held, without what was there before it and the gradients that it leaves."""
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    backward(head, hidden, target)
    left = sum(
        p.grad.numel() * p.grad.element_size()
        for p in head.parameters()
        if p.grad is not None and not p.grad.is_sparse
    )
    return status("VmHWM") - before - left


rng = np.random.default_rng(1)
counts = (1e7 / np.arange(1, job["words"] + 1)).astype(np.int64) + 5
made = make_head(job["spec"], counts, job["dim"])
vectors = torch.randn(job["batch"], job["dim"])
targets = torch.from_numpy(rng.choice(job["words"], job["batch"], p=counts / counts.sum()))
# what libraries set up at their first use
backward(make_head(job["spec"], counts[:8192], job["dim"]), vectors, targets % 8192)
above = memory_above(made, vectors, targets)
optimizer = torch.optim.SGD(made.parameters(), lr=0.1)
seconds = []
for _ in range(job["steps"] + 2):
    start = time.perf_counter()
    backward(made, vectors, targets)
    optimizer.step()
    seconds.append(time.perf_counter() - start)
sys.stdout.write(json.dumps({"seconds": statistics.median(seconds[2:]), "memory": above}) + "\n")
