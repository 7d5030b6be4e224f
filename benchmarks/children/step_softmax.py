"""Time a step of the full softmax in torch beside the usual way, in turns, in one process.

A step is forward and backward, to the gradients of weight, bias and hidden vectors, or of the body.
`cross_entropy` is `cross_entropy(linear(hidden, weight, bias), target)` with the head's own parameters. With
`tool`, only the memory of one step of that tool is measured: what it held above what was there before it and
the gradients that it leaves.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from unhot.nn import OutputHead

LENGTH, ROWS = 35, 20

job = json.loads(sys.argv[1])
torch.set_num_threads(job["threads"])
torch.manual_seed(1)
words, dim = job["words"], job["dim"]
head = OutputHead("softmax", dim, words, bias=job["bias"])
body = nn.LSTM(dim, dim) if job["body"] else None
given = torch.randn(LENGTH, ROWS, dim)
target = torch.randint(words, (LENGTH, ROWS))


def loss_of(tool: str, hidden: Tensor) -> Tensor:
    """The mean loss."""
    if tool == "unhot":
        loss: Tensor = head(hidden, target)
        return loss
    scores = functional.linear(hidden.reshape(-1, dim), head.weight, head.bias)
    return functional.cross_entropy(scores, target.reshape(-1))


def step(tool: str) -> float:
    """Seconds of a forward and a backward pass."""
    head.zero_grad(set_to_none=True)
    inputs = given.clone().requires_grad_(body is None)
    start = time.perf_counter()
    if body is None:
        hidden = inputs
    else:
        body.zero_grad(set_to_none=True)
        hidden = body(inputs)[0]
    loss_of(tool, hidden).backward()
    return time.perf_counter() - start


def status(name: str) -> int:
    """A line of the process's own memory figures, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1]) * 1024


def memory(tool: str) -> int:
    """The most that a first step held, in bytes."""
    small = OutputHead("softmax", dim, 64)  # what libraries set up at their first use
    small(given.clone().requires_grad_(), target % 64).backward()
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    step(tool)
    made = (parameter.grad for parameter in head.parameters())
    left = sum(one.numel() * one.element_size() for one in made if one is not None)
    return status("VmHWM") - before - left


if job["tool"]:
    answer: dict[str, object] = {"memory": memory(job["tool"])}
else:
    tools = ("unhot", "cross_entropy")
    for tool in tools * 2:
        step(tool)
    times: dict[str, list[float]] = {tool: [] for tool in tools}
    for number in range(job["steps"]):
        for tool in tools if number % 2 else reversed(tools):
            times[tool].append(step(tool))
    answer = {"seconds": times}
sys.stdout.write(json.dumps(answer) + "\n")
