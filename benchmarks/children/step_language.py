"""Time whole training steps of language models that differ in their output layer, taking turns.

job: text, layers, body, dim, batch, steps (tokens), threads, rounds -> for each layer the seconds of each
round by part: body, head (forward), backward, optimiser
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import torch

from unhot.corpus.encoding import encode
from unhot.models.neural_lm import NeuralLM
from unhot.nn.language_net import LanguageNet
from unhot.train.torch_run import Descent, clip_gradients, make_optimizer

WARM_UP = 3


def part_times(net: LanguageNet, optimizer: torch.optim.Optimizer, ids: Any, target: Any) -> list[float]:
    """The seconds of one step: body, head, backward pass, clipping with the optimiser."""
    marks = [time.perf_counter()]
    hidden, _ = net.body(ids, net.begin(len(ids)))
    marks.append(time.perf_counter())
    loss = net.head(hidden, target)
    marks.append(time.perf_counter())
    optimizer.zero_grad()
    loss.backward()
    marks.append(time.perf_counter())
    clip_gradients(net.parameters(), 0.25)
    optimizer.step()
    marks.append(time.perf_counter())
    return [float(part) for part in np.diff(marks)]


def main() -> None:
    """Measure."""
    given = json.loads(sys.argv[1])
    torch.set_num_threads(given["threads"])
    torch.manual_seed(1)
    how = {"body": given["body"], "dim": given["dim"], "batch": given["batch"], "steps": given["steps"]}
    nets = []
    with encode(given["text"], min_count=1, unknown=True, empty_lines=True) as corpus:
        counts = np.concatenate([[1, corpus.sentences], corpus.vocabulary.counts])
        stream = torch.from_numpy(np.array(corpus.shards[0].ids[: given["batch"] * (given["steps"] + 1)]))
    both = stream.long().view(given["batch"], -1) + 2
    for layer in given["layers"]:
        model = NeuralLM(output=layer, **how)
        net = LanguageNet(model.body, layer, counts, model.dim, dropout=model.dropout).train()
        nets.append((net, make_optimizer(Descent(), net, 1e-4)))
    found: dict[str, list[list[float]]] = {layer: [] for layer in given["layers"]}
    for number in range(WARM_UP + given["rounds"]):
        for layer, (net, optimizer) in zip(given["layers"], nets, strict=True):
            taken = part_times(net, optimizer, both[:, :-1], both[:, 1:])
            if number >= WARM_UP:
                found[layer].append(taken)
    print(json.dumps({"seconds": found, "words": int(counts.size)}))


if __name__ == "__main__":
    main()
